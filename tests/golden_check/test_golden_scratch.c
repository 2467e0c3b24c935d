/*
 * tests/golden_check/test_golden_scratch.c - library workspaces and kernel scratch of every op, on several GPUs,
 * compared with the requests of PyTorch's own launch code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"

static bool events_are_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *events = json_get(line, "events");
    const struct json *toggles = json_get(line, "toggles");
    struct golden_run run;
    bool equal;

    golden_run_net(json_str(json_get(line, "net")), toggles, 1, false, &run);
    if (!events || !events->count) {
        equal = run.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (run.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", run.error.text);
        for (char *p = why; *p; p++)
            *p = *p == '\n' ? '|' : *p;
    } else {
        equal = golden_events_equal(&run, events, json_get(toggles, "amp") != NULL, why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static void each_op_uses_the_scratch_memory_of_pytorch(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/ops_scratch.jsonl.gz", events_are_equal, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_op_uses_the_scratch_memory_of_pytorch),
    };

    return cmocka_run_group_tests_name("golden_check/scratch", tests, NULL, NULL);
}
