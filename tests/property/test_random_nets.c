/*
 * tests/property/test_random_nets.c - random nets satisfy the invariants that every net must satisfy.
 *
 * For each seed: the net gives the same events on meta and on cpu; every event balances; each step ends with the memory
 * with which the one before ended, unless a leak is reported; a what-if equals recording again; and both refuse the
 * same toggles. A failure names its seed: SEED=17 runs only that one, SEEDS=500 runs that many, WRITE=folder writes the
 * nets there instead of running them. STRESS=1 builds run more seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/report/report.h"
#include "tests/facts/balance.h"
#include "tests/facts/facts.h"
#include "tests/facts/record.h"
#include "tests/property/netgen.h"

#ifdef VS_STRESS
#define SEEDS 400
#else
#define SEEDS 40
#endif

struct subject {
    uint64_t seed;
    struct facts_net net;
    char name[40];
    char toggles[NETGEN_TOGGLES_MAX];
    char asked[NETGEN_TOGGLES_MAX]; /* of the what-if */
    char what[NETGEN_TOGGLES_MAX + 64];
};

static void subject_init(struct subject *s, uint64_t seed)
{
    char *text = netgen_net(seed);

    s->seed = seed;
    snprintf(s->name, sizeof(s->name), "SEED=%" PRIu64, seed);
    s->net = facts_net_of(s->name, text);
    vs_free(text);
    netgen_toggles(seed, s->toggles);
    netgen_toggles(seed + UINT64_C(1000003), s->asked);
    snprintf(s->what, sizeof(s->what), "%s [%s]", s->name, s->toggles);
}

/* Run on both; false where both refuse it, in the same words. */
static bool run_on_both(const struct subject *s, struct facts_run *cpu, struct facts_run *meta)
{
    struct vs_error cpu_err = VS_ERROR_INIT, meta_err = VS_ERROR_INIT;
    bool on_cpu = facts_try_net(&s->net, s->toggles, true, NULL, cpu, &cpu_err);
    bool on_meta = facts_try_net(&s->net, s->toggles, false, on_cpu ? cpu : NULL, meta, &meta_err);

    if (on_cpu != on_meta || strcmp(cpu_err.text, meta_err.text) != 0)
        fail_msg("%s: cpu says \"%s\", meta \"%s\"\n%s", s->what, cpu_err.text, meta_err.text,
                 s->net.text);
    return on_cpu;
}

static const char *conf_of(const char *toggles)
{
    static const char WORD[] = "alloc-conf=";
    const char *conf = strstr(toggles, WORD);

    return conf ? conf + strlen(WORD) : "";
}

/* An in-place op on a tensor that autograd has saved can make a reference cycle, which leaks in PyTorch as well. */
static bool reports_leak(const struct subject *s, const struct facts_run *run)
{
    struct rpl_report report = {.trace = NULL};
    struct vs_error err = VS_ERROR_INIT;
    bool leaks;

    if (rpl_report_fill(&report, run->trace, 4, &err))
        fail_msg("%s: %s", s->what, err.text);
    leaks = report.leak.bytes > 0;
    rpl_report_release(&report);
    return leaks;
}

static void check_run(const struct subject *s, const struct facts_run *run)
{
    uint64_t ends[8];
    size_t count = facts_step_ends(run, ends, 8);
    bool grows = false;

    facts_balances(s->what, run, conf_of(s->toggles));
    /* an optimizer step that was skipped makes no state: it comes with a later one */
    for (size_t i = 1; i < count; i++)
        grows = grows || (ends[i] != ends[i - 1] && !run->result.steps[i - 1].skipped &&
                          !run->result.steps[i].skipped);
    if (grows && !reports_leak(s, run))
        fail_msg("%s: steps end with different amounts, and no leak is reported\n%s", s->what,
                 s->net.text);
}

static void check_question(const struct subject *s)
{
    struct rpl_trace *base = facts_record(&s->net, s->toggles, false);
    struct vs_error asked_err = VS_ERROR_INIT, again_err = VS_ERROR_INIT;
    struct rpl_trace *answer = facts_whatif(base, s->asked, &asked_err);
    char toggles[2 * NETGEN_TOGGLES_MAX], what[3 * NETGEN_TOGGLES_MAX];
    struct facts_run again;
    bool ran;

    snprintf(toggles, sizeof(toggles), "%s %s", s->toggles, s->asked);
    snprintf(what, sizeof(what), "%s, what if [%s]", s->what, s->asked);
    ran = facts_try_net(&s->net, toggles, false, NULL, &again, &again_err);
    if (strcmp(asked_err.text, again_err.text) != 0)
        fail_msg("%s: asked \"%s\", again \"%s\"", what, asked_err.text, again_err.text);
    if (answer && ran)
        facts_same(what, answer, "what-if", again.trace, "again");
    rpl_trace_free(answer);
    rpl_trace_free(base);
    if (ran)
        facts_run_release(&again);
}

/* ---- tests ---- */

/* From the environment, or `otherwise`. */
static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static void write_net(const char *folder, const struct subject *s)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/seed%" PRIu64 ".py", folder, s->seed);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(s->net.text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void random_nets_satisfy_the_invariants_of_all_nets(void **state)
{
    const char *folder = getenv("WRITE");
    uint64_t first = number("SEED", 1), count = getenv("SEED") ? 1 : number("SEEDS", SEEDS);
    size_t ran = 0;

    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct subject s;
        struct facts_run cpu, meta;

        subject_init(&s, seed);
        if (folder) {
            write_net(folder, &s);
        } else if (run_on_both(&s, &cpu, &meta)) {
            facts_same(s.what, meta.trace, "meta", cpu.trace, "cpu");
            check_run(&s, &meta);
            check_question(&s);
            facts_run_release(&meta);
            facts_run_release(&cpu);
            ran++;
        }
        facts_net_release(&s.net);
    }
    print_message("%zu of %" PRIu64 " nets ran with their toggles, the others were refused alike\n",
                  ran, count);
    assert_true(folder || count < 10 || 2 * ran > count);
}

static void a_seed_determines_the_random_net(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        char *a = netgen_net(seed), *b = netgen_net(seed), *other = netgen_net(seed + 1);

        assert_string_equal(a, b);
        assert_string_not_equal(strchr(a, '\n'), strchr(other, '\n'));
        vs_free(other);
        vs_free(b);
        vs_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_determines_the_random_net),
        cmocka_unit_test(random_nets_satisfy_the_invariants_of_all_nets),
    };

    return cmocka_run_group_tests_name("property/random_nets", tests, NULL, NULL);
}
