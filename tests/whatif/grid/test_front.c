/*
 * tests/whatif/grid/test_front.c - the Pareto front beside its definition, on random results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/mem.h"
#include "whatif/grid/front.h"

#define COUNT 400

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

/* Few values of each figure, so that many results are equal in some. */
static void random_fill(struct sto_result *results, uint64_t seed)
{
    for (size_t i = 0; i < COUNT; i++) {
        results[i] = (struct sto_result){.fits = random_next(&seed) % 8 > 0,
                                         .is_refused = random_next(&seed) % 16 == 0,
                                         .batch = UINT64_C(1) << random_next(&seed) % 3,
                                         .processes = UINT64_C(1) << random_next(&seed) % 3,
                                         .sharing = 1 + random_next(&seed) % 2,
                                         .allocated = 10 + random_next(&seed) % 12,
                                         .steps = 3};
        results[i].total_flops = 3 * results[i].batch * (1 + random_next(&seed) % 4);
        results[i].collective_count = 1;
        results[i].collectives[0].sent = results[i].batch * (random_next(&seed) % 4);
    }
}

static bool counts(const struct sto_result *a)
{
    return a->fits && !a->is_refused;
}

/* Integers, because all figures are multiples of the batch, which at most two processes share. */
static bool dominates(const struct sto_result *a, const struct sto_result *b)
{
    const uint64_t fa = a->total_flops / a->batch * a->sharing;
    const uint64_t fb = b->total_flops / b->batch * b->sharing;
    const uint64_t sa = a->collectives[0].sent / a->batch * a->sharing;
    const uint64_t sb = b->collectives[0].sent / b->batch * b->sharing;
    const uint64_t na = a->batch * 2 / a->sharing, nb = b->batch * 2 / b->sharing;

    return na >= nb && a->processes <= b->processes && a->allocated <= b->allocated && fa <= fb &&
           sa <= sb &&
           (na > nb || a->processes < b->processes || a->allocated < b->allocated || fa < fb ||
            sa < sb);
}

static void the_front_is_what_nothing_that_fits_dominates(void **state)
{
    struct sto_result *results = vs_calloc(COUNT, sizeof(*results));
    const struct sto_result **given = vs_calloc(COUNT, sizeof(*given));
    bool *is_on = vs_calloc(COUNT, sizeof(*is_on));

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_fill(results, seed);
        for (size_t i = 0; i < COUNT; i++)
            given[i] = &results[i];
        wif_grid_front(given, COUNT, is_on);
        for (size_t i = 0; i < COUNT; i++) {
            bool wanted = counts(&results[i]);

            for (size_t k = 0; k < COUNT && wanted; k++)
                wanted = !counts(&results[k]) || !dominates(&results[k], &results[i]);
            assert_int_equal(is_on[i], wanted);
        }
    }
    vs_free(is_on);
    vs_free(given);
    vs_free(results);
}

static void figures_are_for_each_sample(void **state)
{
    struct sto_result result = {.batch = 4,
                                .sharing = 1,
                                .steps = 2,
                                .total_flops = 80,
                                .collectives = {{.sent = 12}, {.sent = 28}},
                                .collective_count = 2};

    (void)state;
    assert_true(wif_grid_flops(&result) == 10.0); /* 80 / 2 steps / 4 samples */
    assert_true(wif_grid_sent(&result) == 10.0);  /* 40 a step / 4 samples */
    assert_int_equal(wif_grid_step_sent(&result), 40);
    result.sharing = 2; /* another process does as much for the same samples */
    assert_true(wif_grid_flops(&result) == 20.0);
    assert_true(wif_grid_sent(&result) == 20.0);
    assert_int_equal(wif_grid_step_sent(&result), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_front_is_what_nothing_that_fits_dominates),
        cmocka_unit_test(figures_are_for_each_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
