/*
 * tests/facts/test_devices.c - the same net and toggles give the same events on `meta` and on `cpu`: every event of
 * every kind.
 *
 * FACTS_FULL=1 (`make test FACTS_FULL=1`) runs the language models in full size: minutes, and gigabytes of memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/facts/facts.h"
#include "tests/facts/grid.h"

static void each_sample_net_gives_the_same_events_on_both(void **state)
{
    (void)state;
    for (size_t i = 0; i < FACTS_SAMPLE_COUNT; i++) {
        const struct facts_sample *sample = &FACTS_SAMPLES[i];
        struct facts_net net = facts_sample_read(sample);
        struct facts_run cpu = facts_run_net(&net, sample->toggles, true, NULL);
        struct facts_run meta = facts_run_net(&net, sample->toggles, false, &cpu);

        facts_same(sample->path, meta.trace, "meta", cpu.trace, "cpu");
        print_message("%s [%s]: %" PRIu64 " events the same\n", sample->path, sample->toggles,
                      rpl_trace_event_count(meta.trace));
        facts_run_release(&meta);
        facts_run_release(&cpu);
        facts_net_release(&net);
    }
}

static void every_sample_net_has_a_row(void **state)
{
    DIR *dir = opendir("sample_nets");
    struct dirent *entry;
    size_t files = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        bool found = false;

        if (len < 3 || strcmp(entry->d_name + len - 3, ".py") != 0)
            continue;
        files++;
        for (size_t i = 0; i < FACTS_SAMPLE_COUNT; i++)
            found |= strcmp(FACTS_SAMPLES[i].path + strlen("sample_nets/"), entry->d_name) == 0;
        if (!found)
            fail_msg("sample_nets/%s has no row in tests/facts/grid.c", entry->d_name);
    }
    closedir(dir);
    assert_int_equal(files, FACTS_SAMPLE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_net_has_a_row),
        cmocka_unit_test(each_sample_net_gives_the_same_events_on_both),
    };

    return cmocka_run_group_tests_name("facts/devices", tests, NULL, NULL);
}
