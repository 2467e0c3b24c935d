/*
 * tests/whatif/test_price.c - the cost of a change, as a class; the search for the largest batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "whatif/batch.h"
#include "whatif/price.h"

static enum wif_price price(const char *recorded, const char *pairs, bool recomputes)
{
    struct rpl_trace *base = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *words = vs_strdup(pairs);
    char *rest = words;
    char *word;
    enum wif_price got;

    rpl_trace_set_toggle(base, "grad", recorded, false);
    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        assert_int_equal(vs_toggles_set_pair(&set, word, &err), VS_OK);
    got = wif_price(base, &set, recomputes);
    vs_toggles_release(&set);
    vs_free(words);
    rpl_trace_free(base);
    return got;
}

static void the_most_expensive_toggle_decides_the_price(void **state)
{
    (void)state;
    assert_int_equal(price("train", "", false), WIF_PRICE_NONE);
    assert_int_equal(price("train", "inplace=on", false), WIF_PRICE_NONE);
    assert_int_equal(price("train", "checkpoint=blocks inplace=on", true), WIF_PRICE_TIME);
    assert_int_equal(price("train", "empty-cache=step", false), WIF_PRICE_TIME);
    assert_int_equal(price("train", "amp=bf16 checkpoint=blocks", true), WIF_PRICE_NUMBERS);
    assert_int_equal(price("train", "amp=bf16 freeze=half", false), WIF_PRICE_TRAINING);
    assert_int_equal(price("train", "grad=no_grad", false), WIF_PRICE_TRAINING);
}

static void a_recorded_toggle_value_has_no_price(void **state)
{
    (void)state;
    assert_int_equal(price("train", "optimizer=sgd amp=off", false), WIF_PRICE_NONE);
}

static void no_grad_has_no_price_in_an_evaluation(void **state)
{
    (void)state;
    assert_int_equal(price("eval", "grad=no_grad", false), WIF_PRICE_NONE);
}

/* What fits, and how often it was tried. */
struct device {
    uint64_t most;
    size_t calls;
};

static bool fits(void *user, uint64_t batch)
{
    struct device *device = user;

    device->calls++;
    return batch <= device->most;
}

static void the_largest_batch_equals_a_linear_search(void **state)
{
    (void)state;
    for (uint64_t most = 0; most < 70; most++)
        for (uint64_t now = 1; now < 40; now += 3)
            for (uint64_t unit = 1; unit <= 3; unit++) {
                struct device device = {most, 0};
                bool is_max;
                uint64_t got =
                    wif_batch_largest(now, unit, now / unit * unit <= most, fits, &device, &is_max);

                assert_false(is_max);
                assert_int_equal(got, now < unit ? 0 : most / unit * unit);
                assert_true(device.calls < 20);
            }
}

static void the_batch_search_ends_at_its_maximum(void **state)
{
    struct device device = {UINT64_MAX, 0};
    bool is_max = false;

    (void)state;
    assert_int_equal(wif_batch_largest(8, 1, true, fits, &device, &is_max), WIF_BATCH_MAX);
    assert_true(is_max);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_expensive_toggle_decides_the_price),
        cmocka_unit_test(a_recorded_toggle_value_has_no_price),
        cmocka_unit_test(no_grad_has_no_price_in_an_evaluation),
        cmocka_unit_test(the_largest_batch_equals_a_linear_search),
        cmocka_unit_test(the_batch_search_ends_at_its_maximum),
    };

    return cmocka_run_group_tests_name("whatif/price", tests, NULL, NULL);
}
