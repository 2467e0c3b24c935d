/*
 * tests/facts/test_memory.c - recording takes as much memory for a long run as for a short one.
 *
 * What is compared is the highest resident memory of the whole command: recording, and computing the index when the run
 * has ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "tests/e2e/program.h"
#include "tests/sanitizer.h"
#include "tests/skip.h"

/*
 * A step of it has 1,000 events: 4,800,000 and 19,200,000. Some million events fill what is kept between two commits,
 * and the parts of the index that are in memory.
 */
#define NET "sample_nets/lenet.py"
#define STEPS "4800"
#define STEPS_4 "19200"

#define MIB 1024 /* in KiB, the unit of ru_maxrss */
#define MOST (128 * MIB)
/* The index alone took 15 bytes an event when it was computed in memory: 216 MB more for the longer run. */
#define MOST_MORE (16 * MIB)

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* The highest memory of any program run so far, in KiB. */
static long memory_after(const char *steps)
{
    struct program p = program_run("record", NET, "--device", "meta", "--batch", "1", "--steps",
                                   steps, "--force", "-o", program_path("trace.db"), NULL);
    struct rusage used;

    assert_int_equal(p.status, 0);
    program_release(&p);
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
    return used.ru_maxrss;
}

static void four_times_the_steps_take_no_more_memory(void **state)
{
    long first;
    long second;

    (void)state;
    if (HAS_SANITIZER)
        tests_skip("a sanitizer's own memory grows with the run");
#ifdef VS_STRESS
    tests_skip("with STRESS=1 a chunk has 64 events: these runs would write 90,000 of them");
#endif
    first = memory_after(STEPS);
    second = memory_after(STEPS_4);
    print_message("%ld KiB, of four times the steps %ld KiB\n", first, second);
    if (second > MOST)
        fail_msg("%ld KiB of memory, more than %d", second, MOST);
    if (second - first > MOST_MORE)
        fail_msg("%ld KiB of memory, of four times the steps %ld", first, second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(four_times_the_steps_take_no_more_memory, cleanup)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
