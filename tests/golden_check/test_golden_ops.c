/*
 * tests/golden_check/test_golden_ops.c - the allocations and frees of every op, forward and backward, compared with
 * PyTorch's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"

/* "error", "refused": PyTorch did not run it, so ours must not either. */
static bool events_are_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *events = json_get(line, "events");
    const struct json *toggles = json_get(line, "toggles");
    const struct json *amp = json_get(toggles, "amp");
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
        equal = golden_events_equal(&run, events, amp != NULL, why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static void each_op_allocates_and_frees_as_pytorch_does(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/ops.jsonl", events_are_equal, NULL));
}

static void each_op_allocates_as_pytorch_does_under_amp_and_half(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/ops_amp.jsonl.gz", events_are_equal, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_op_allocates_and_frees_as_pytorch_does),
        cmocka_unit_test(each_op_allocates_as_pytorch_does_under_amp_and_half),
    };

    return cmocka_run_group_tests_name("golden_check/ops", tests, NULL, NULL);
}
