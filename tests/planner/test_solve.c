/*
 * tests/planner/test_solve.c - placements of checkpoints on a chain: the solver compared with every legal placement.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "planner/curve.h"
#include "planner/solve.h"
#include "tests/planner/random_chain.h"

#define BUDGETS 256

/* The least cost of all plans of a chain, for budgets of 0 … BUDGETS - 1. */
struct best {
    const struct pln_chain *chain;
    double cost[BUDGETS];
    size_t plans;
};

static void best_note(void *user, const struct pln_plan *plan)
{
    struct best *best = user;
    struct pln_plan copy = *plan;
    int64_t peak;
    double cost;

    carry_out(best->chain, plan, &peak, &cost);
    pln_plan_measure(best->chain, &copy);
    assert_int_equal(copy.peak, peak);
    assert_float_equal(copy.cost, cost, 0);
    for (int64_t m = peak; m < BUDGETS; m++)
        best->cost[m] = cost < best->cost[m] ? cost : best->cost[m];
    best->plans++;
}

static void best_fill(struct best *best, const struct pln_chain *chain)
{
    best->chain = chain;
    best->plans = 0;
    for (int m = 0; m < BUDGETS; m++)
        best->cost[m] = HUGE_VAL;
    each_plan(chain, best_note, best);
}

/* Compares the table with the best of all plans, and carries the table's plans out. */
static void check_chain(const struct pln_chain *chain, size_t *plans)
{
    struct pln_table *table = pln_table_new(chain, 1, BUDGETS - 1, false);
    struct best *best = vs_alloc(sizeof(*best));

    best_fill(best, chain);
    *plans += best->plans;
    for (uint32_t m = 0; m < BUDGETS; m++) {
        struct pln_plan plan = {.count = 0};
        double found = pln_table_cost(table, m);
        int64_t peak;
        double cost;

        if (found != best->cost[m])
            fail_msg("%zu stages, budget %u: cost %g, the best plan has %g", chain->count, m, found,
                     best->cost[m]);
        if (isinf(found) || (m > 0 && pln_table_cost(table, m - 1) == found))
            continue;
        pln_table_plan(table, m, &plan);
        assert_true(pln_plan_is_legal(chain, &plan));
        carry_out(chain, &plan, &peak, &cost);
        assert_true(peak <= (int64_t)m);
        assert_float_equal(cost, found, 0);
        pln_plan_release(&plan);
    }
    vs_free(best);
    pln_table_free(table);
}

static void the_table_has_the_cheapest_of_all_plans(void **state)
{
    uint64_t seed = 1;
    size_t plans = 0;

    (void)state;
    for (size_t i = 0; i < 10000; i++) {
        struct pln_chain chain = random_chain(&seed, 1 + i % 6, 9, i / 6 % 4 >= 2, i / 6 % 2 == 1);

        if (i % 5 == 0)
            random_saved(&chain, &seed, 9);
        check_chain(&chain, &plans);
        pln_chain_release(&chain);
    }
    /* The six lengths have 1, 2, 6, 22, 90 and 394 plans where every cut may be used. */
    assert_true(plans > 4998 / 6 * (1 + 2 + 6 + 22 + 90 + 394));
}

static void count_plan(void *user, const struct pln_plan *plan)
{
    (void)plan;
    ++*(size_t *)user;
}

static void chains_of_six_stages_have_394_plans(void **state)
{
    static const size_t EXPECTED[] = {1, 2, 6, 22, 90, 394};
    uint64_t seed = 7;

    (void)state;
    for (size_t n = 1; n <= 6; n++) {
        struct pln_chain chain = random_chain(&seed, n, 9, false, false);
        size_t count = 0;

        each_plan(&chain, count_plan, &count);
        assert_int_equal(count, EXPECTED[n - 1]);
        pln_chain_release(&chain);
    }
}

static void a_plan_fits_its_budget_whatever_the_unit(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        struct pln_chain chain = random_chain(&seed, 12, 1000, i % 2 == 0, i % 3 == 0);
        struct pln_table *table = pln_table_new(&chain, 61, 200, false);
        size_t found = 0;

        for (uint32_t m = 0; m <= 200; m++) {
            struct pln_plan plan = {.count = 0};

            if (isinf(pln_table_cost(table, m)))
                continue;
            found++;
            pln_table_plan(table, m, &plan);
            assert_true(plan.peak <= m * UINT64_C(61));
            assert_true(fabs(plan.cost - pln_table_cost(table, m)) <= 1e-5 * plan.cost);
            pln_plan_release(&plan);
        }
        assert_true(found > 0);
        pln_table_free(table);
        pln_chain_release(&chain);
    }
}

/* n equal stages that keep their output of one unit, in any regions: what is kept is cuts and one region. */
static struct pln_chain uniform(size_t n)
{
    struct pln_chain chain = {vs_calloc(n, sizeof(*chain.stages)), n,
                              vs_calloc(1, sizeof(*chain.runs)), 1};

    for (size_t i = 0; i < n; i++)
        chain.stages[i] = (struct pln_stage){.crossing = 1 << 20,
                                             .kept = 1 << 20,
                                             .kept_peak = 1 << 20,
                                             .dropped_peak = 1 << 20,
                                             .backward_peak = 3 << 20,
                                             .cost = 1};
    chain.runs[0] = (struct pln_run){vs_calloc(n, sizeof(uint32_t)), n};
    for (size_t i = 0; i < n; i++)
        chain.runs[0].cuts[i] = (uint32_t)i;
    return chain;
}

static void along_the_curve_the_peak_falls_and_the_cost_rises(void **state)
{
    struct pln_chain chain = uniform(100);
    struct pln_curve curve;

    (void)state;
    pln_curve_fill(&curve, &chain);
    assert_true(curve.count > 20);
    assert_int_equal(curve.points[0].count, 0);
    assert_float_equal(curve.points[0].cost, 0, 0);
    assert_int_equal(curve.points[0].peak, 102 << 20);
    for (size_t i = 1; i < curve.count; i++) {
        assert_true(pln_plan_is_legal(&chain, &curve.points[i]));
        assert_true(curve.points[i].peak < curve.points[i - 1].peak);
        assert_true(curve.points[i].cost > curve.points[i - 1].cost);
    }
    pln_curve_release(&curve);
    pln_chain_release(&chain);
}

/*
 * Ten segments of ten hold 10 cuts and 10 stages, and run 90 stages again: one of a hundred stages is kept anyway.
 * Every budget from there on must be used at least as well, and one more stage kept is one less to run.
 */
static void a_uniform_chain_beats_equal_segments(void **state)
{
    struct pln_chain chain = uniform(100);
    struct pln_curve curve;

    (void)state;
    pln_curve_fill(&curve, &chain);
    for (uint32_t size = 2; size <= 50; size++) {
        struct pln_plan equal = {.count = 0};
        size_t at;

        for (uint32_t i = 0; i + size < 100; i += size)
            pln_plan_add(&equal, (struct pln_region){i, i + size, false});
        assert_true(pln_plan_is_legal(&chain, &equal));
        pln_plan_measure(&chain, &equal);
        at = pln_curve_find(&curve, equal.peak);
        assert_true(at < curve.count);
        assert_true(curve.points[at].cost <= equal.cost);
        pln_plan_release(&equal);
    }
    /* Nested regions go below anything that equal segments reach: the least of those is 2 sqrt(100) and 3 more. */
    assert_true(curve.points[curve.count - 1].peak < 15 << 20);
    pln_curve_release(&curve);
    pln_chain_release(&chain);
}

static void a_budget_selects_the_cheapest_point_within_it(void **state)
{
    struct pln_chain chain = uniform(30);
    struct pln_curve curve;
    size_t last;

    (void)state;
    pln_curve_fill(&curve, &chain);
    last = curve.count;
    for (uint64_t i = 0; i < 200; i++) {
        uint64_t bytes = i * (40 << 20) / 200;
        size_t at = pln_curve_find(&curve, bytes);

        assert_true(at <= last);
        assert_true(at == curve.count || curve.points[at].peak <= bytes);
        assert_true(at == 0 || curve.points[at - 1].peak > bytes);
        last = at;
    }
    assert_int_equal(last, 0);
    pln_curve_release(&curve);
    pln_chain_release(&chain);
}

static void plans_that_checkpoint_cannot_express_are_refused(void **state)
{
    static const struct {
        struct pln_region regions[2];
        size_t count;
        bool is_legal;
    } CASES[] = {
        {{{0, 3, false}}, 1, true},
        {{{0, 3, true}}, 1, true},
        {{{0, 3, true}, {0, 2, false}}, 2, false}, /* inside a selective one */
        {{{0, 3, false}, {0, 2, true}}, 2, true},
        {{{0, 3, false}, {0, 2, false}}, 2, true},
        {{{0, 3, false}, {1, 2, false}}, 2, true},
        {{{0, 3, false}, {3, 5, false}}, 2, true},
        {{{0, 3, false}, {1, 3, false}}, 2, false}, /* ends where the outer one ends */
        {{{0, 3, false}, {2, 4, false}}, 2, false}, /* crosses it */
        {{{0, 2, false}, {0, 3, false}}, 2, false}, /* not sorted */
        {{{2, 2, false}}, 1, false},
        {{{0, 6, false}}, 1, false}, /* the loss */
    };
    struct pln_chain chain = uniform(6);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct pln_plan plan = {.count = 0};

        for (size_t r = 0; r < CASES[i].count; r++)
            pln_plan_add(&plan, CASES[i].regions[r]);
        if (pln_plan_is_legal(&chain, &plan) != CASES[i].is_legal)
            fail_msg("case %zu is %slegal", i, CASES[i].is_legal ? "not " : "");
        pln_plan_release(&plan);
    }
    pln_chain_release(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_the_cheapest_of_all_plans),
        cmocka_unit_test(chains_of_six_stages_have_394_plans),
        cmocka_unit_test(a_plan_fits_its_budget_whatever_the_unit),
        cmocka_unit_test(along_the_curve_the_peak_falls_and_the_cost_rises),
        cmocka_unit_test(a_uniform_chain_beats_equal_segments),
        cmocka_unit_test(a_budget_selects_the_cheapest_point_within_it),
        cmocka_unit_test(plans_that_checkpoint_cannot_express_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
