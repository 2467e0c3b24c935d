/*
 * tests/golden_check/test_golden_versions.c - nets under the toggle `torch`, compared event by event with what that
 * PyTorch does; tests/oracle/versions.py made the files.
 *
 * Where a PyTorch does what the newest does, our run must be that of the newest; the other golden files hold that one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"

static bool runs_are_equal(const struct golden_run *a, const struct golden_run *b)
{
    if (a->status != b->status || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->events[i].is_alloc != b->events[i].is_alloc || a->events[i].id != b->events[i].id ||
            a->events[i].bytes != b->events[i].bytes)
            return false;
    return true;
}

static bool line_is_equal(const struct json *line, char *why, size_t why_size)
{
    const char *net = json_str(json_get(line, "net"));
    const struct json *toggles = json_get(line, "toggles");
    const struct json *newest = json_get(line, "newest");
    const int64_t steps = strstr(net, "/ops/") ? 1 : 0;
    struct golden_run run;
    struct golden_run other;
    bool equal;

    golden_run_net(net, toggles, steps, false, &run);
    if (newest) {
        golden_run_net(net, newest, steps, false, &other);
        equal = runs_are_equal(&run, &other);
        snprintf(why, why_size, "PyTorch does what the newest does, ours does not");
        golden_run_release(&other);
    } else if (!json_get(line, "events")) {
        equal = run.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (run.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", run.error.text);
    } else {
        equal = golden_events_equal(&run, json_get(line, "events"),
                                    json_get(toggles, "amp") != NULL, why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static void each_version_has_its_events(void **state)
{
    static const char *const FILES[] = {"2.4", "2.6", "2.8", "2.11"};
    char path[128];
    bool ok = true;

    (void)state;
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        snprintf(path, sizeof(path), "tests/golden/oracle/versions/torch-%s.jsonl.gz", FILES[i]);
        ok = golden_file(path, line_is_equal, NULL) && ok;
    }
    assert_true(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_its_events),
    };

    return cmocka_run_group_tests_name("golden_check/versions", tests, NULL, NULL);
}
