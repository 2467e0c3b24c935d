/*
 * tests/golden_check/test_golden_events.c - whole runs of small nets, event by event, against PyTorch's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"

static bool events_are_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *events = json_get(line, "events");
    const struct json *toggles = json_get(line, "toggles");
    struct golden_run run;
    bool equal;

    golden_run_net(json_str(json_get(line, "net")), toggles, 0, false, &run);
    if (!events || !events->count) {
        equal = run.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (run.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", run.error.text);
        for (char *p = why; *p; p++)
            *p = *p == '\n' ? '|' : *p;
    } else {
        equal = golden_events_equal(&run, events,
                                    json_get(toggles, "amp") != NULL ||
                                        strstr(json_str(json_get(line, "net")), "amp") != NULL,
                                    why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static void runs_are_equal_event_by_event(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/events.jsonl.gz", events_are_equal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_equal_event_by_event),
    };

    return cmocka_run_group_tests_name("golden_check/events", tests, NULL, NULL);
}
