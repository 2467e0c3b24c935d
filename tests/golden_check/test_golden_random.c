/*
 * tests/golden_check/test_golden_random.c - random nets (tests/property/netgen.h) compared with PyTorch event by event;
 * and which of their modules work in place under the toggle `inplace`: those that PyTorch's in-place check allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"

static bool inplace_is_equal(const struct lang_result *ours, const struct json *theirs, char *why,
                             size_t why_size)
{
    size_t i = 0;

    for (const struct json *path = theirs->first; path; path = path->next, i++) {
        const char *mine = i < ours->inplace_count ? ours->inplace[i] : "nothing";

        if (strcmp(mine, json_str(path)) != 0) {
            snprintf(why, why_size, "in place: PyTorch has %s where ours has %s", json_str(path),
                     mine);
            return false;
        }
    }
    if (i < ours->inplace_count)
        snprintf(why, why_size, "in place: ours has %s, PyTorch not", ours->inplace[i]);
    return i == ours->inplace_count;
}

static bool net_is_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *events = json_get(line, "events"), *inplace = json_get(line, "inplace");
    const struct json *toggles = json_get(line, "toggles");
    struct golden_run run;
    const char *net = json_str(json_get(line, "net"));
    bool equal;

    golden_run_net(net, toggles, 0, false, &run);
    if (!events || !events->count) {
        equal = run.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (run.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", run.error.text);
        for (char *p = why; *p; p++)
            *p = *p == '\n' ? '|' : *p;
    } else {
        equal =
            (!inplace || inplace_is_equal(&run.result, inplace, why, why_size)) &&
            golden_events_equal(&run, events,
                                json_get(toggles, "amp") != NULL || strstr(net, "amp") != NULL ||
                                    strstr(net, "autocast") != NULL,
                                why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static void random_nets_are_equal_event_by_event(void **state)
{
    (void)state;
    assert_true(golden_file("tests/golden/oracle/random.jsonl.gz", net_is_equal, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_nets_are_equal_event_by_event),
    };

    return cmocka_run_group_tests_name("golden_check/random", tests, NULL, NULL);
}
