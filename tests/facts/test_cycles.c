/*
 * tests/facts/test_cycles.c - nets with reference cycles: PyTorch would not free their memory, here it is freed at the
 * end of the run.
 *
 * Each net in tests/nets/cycles keeps something of every step. The test compares what a run allocates on the host and
 * on the device with what it frees; under a leak checker, that finds everything else that is not freed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>

#include "engine/device/cpu/cpu_internal.h"
#include "tests/facts/balance.h"
#include "tests/facts/facts.h"

static uint64_t host_memory(void)
{
    uint64_t in_use, cached;

    cpu_mem_stats(&in_use, &cached);
    return in_use;
}

/* Each step of a run ends with more than the one before. */
static void check_grows(const char *path, const struct facts_run *run)
{
    uint64_t ends[4];

    assert_int_equal(facts_step_ends(run, ends, 4), 3);
    if (ends[1] <= ends[0] || ends[2] <= ends[1])
        fail_msg("%s: no step leaves anything: there is no circle", path);
}

static void reference_cycles_are_freed_with_the_run(void **state)
{
    uint64_t before = host_memory();
    glob_t found;

    (void)state;
    assert_int_equal(glob("tests/nets/cycles/*.py", 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct facts_net net = facts_net_read(found.gl_pathv[i]);
        struct facts_run cpu = facts_run_net(&net, "", true, NULL);
        struct facts_run meta = facts_run_net(&net, "", false, NULL);
        struct eng_device device = facts_twin_open();
        struct facts_run cuda = facts_run_net_on(&net, "", &device);

        check_grows(net.path, &cpu);
        facts_same(net.path, cpu.trace, "cpu", meta.trace, "meta");
        check_grows(net.path, &cuda);
        device.close(); /* ends the program where segments are left */
        if (host_memory() != before)
            fail_msg("%s: %llu bytes of the host are left", net.path,
                     (unsigned long long)(host_memory() - before));
        facts_run_release(&cuda);
        facts_run_release(&meta);
        facts_run_release(&cpu);
        facts_net_release(&net);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_cycles_are_freed_with_the_run),
    };

    return cmocka_run_group_tests_name("facts/cycles", tests, NULL, NULL);
}
