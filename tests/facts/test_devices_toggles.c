/*
 * tests/facts/test_devices_toggles.c - each toggle gives the same events on `meta` and on `cpu`: every event of every
 * kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/facts/facts.h"
#include "tests/facts/grid.h"
#include "tests/share.h"

/* Of every run, unless its toggles say otherwise. */
#define SIZE "batch=4 steps=2"

/* Both run and are the same, or both are refused in the same words. */
static bool compare_devices(const struct facts_net *net, const char *toggles)
{
    struct vs_error cpu_err = VS_ERROR_INIT;
    struct vs_error meta_err = VS_ERROR_INIT;
    struct facts_run cpu;
    struct facts_run meta;
    char what[FACTS_PAIRS_MAX + 128];
    bool cpu_ran = facts_try_net(net, toggles, true, NULL, &cpu, &cpu_err);
    bool meta_ran = facts_try_net(net, toggles, false, cpu_ran ? &cpu : NULL, &meta, &meta_err);

    snprintf(what, sizeof(what), "%s [%s]", net->path, toggles);
    if (strcmp(cpu_err.text, meta_err.text) != 0)
        fail_msg("%s: on cpu \"%s\", on meta \"%s\"", what, cpu_err.text, meta_err.text);
    if (cpu_ran && meta_ran)
        facts_same(what, meta.trace, "meta", cpu.trace, "cpu");
    if (meta_ran)
        facts_run_release(&meta);
    if (cpu_ran)
        facts_run_release(&cpu);
    return cpu_ran;
}

static void each_toggle_gives_the_same_events_on_both(void **state)
{
    const size_t share = tests_share(FACTS_SHARE);
    char pairs[FACTS_PAIRS_MAX];
    char toggles[FACTS_PAIRS_MAX + 32];
    size_t ran = 0;
    size_t tried = 0;

    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i]);

        for (size_t n = i % share; facts_pairs(n, pairs); n += share) {
            snprintf(toggles, sizeof(toggles), "%s %s", SIZE, pairs);
            tried++;
            ran += compare_devices(&net, toggles);
        }
        facts_net_release(&net);
    }
    print_message("%zu of %zu cells ran (the others are refused), all the same\n", ran, tried);
    assert_true(ran * 4 > tried * 3);
}

/* What a stage receives has values where there is data. */
static void each_stage_of_a_pipeline_gives_the_same_events_on_both(void **state)
{
    static const char *const STAGES[] = {
        "world=3 pp-split=1,3 rank=0",
        "world=3 pp-split=1,3 rank=1",
        "world=3 pp-split=1,3 rank=2 pp-schedule=gpipe",
        "world=2 pp-split=1,2,3 rank=1 pp-schedule=interleaved1f1b",
    };
    struct facts_net net = facts_net_read("tests/nets/pp/mlp.py");
    char toggles[FACTS_PAIRS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(STAGES) / sizeof(STAGES[0]); i++) {
        snprintf(toggles, sizeof(toggles), SIZE " shard=pp %s", STAGES[i]);
        assert_true(compare_devices(&net, toggles));
    }
    facts_net_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_toggle_gives_the_same_events_on_both),
        cmocka_unit_test(each_stage_of_a_pipeline_gives_the_same_events_on_both),
    };

    return cmocka_run_group_tests_name("facts/devices toggles", tests, NULL, NULL);
}
