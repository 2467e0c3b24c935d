/*
 * tests/base/test_toggle.c - the table of toggles, and sets of toggle values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/toggle.h"

static void every_toggle_is_complete_and_has_a_legal_default(void **state)
{
    (void)state;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;
        const struct vs_toggle_info *info = vs_toggle_info(toggle);
        struct vs_error err = VS_ERROR_INIT;
        enum vs_toggle found = VS_TOGGLE_COUNT;
        char buf[VS_TOGGLE_VALUE_MAX];

        assert_true(info->name[0] && info->help[0] && info->cost[0]);
        assert_true(vs_toggle_find(info->name, &found));
        assert_int_equal(found, toggle);
        assert_int_equal(vs_toggle_check(toggle, info->initial, buf, &err), VS_OK);
        assert_string_equal(buf, info->initial);
    }
}

static void every_offered_value_is_legal(void **state)
{
    char value[VS_TOGGLE_VALUE_MAX];
    char again[VS_TOGGLE_VALUE_MAX];
    struct vs_error err = VS_ERROR_INIT;
    size_t candidates = 0;

    (void)state;
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;
        const char *now = vs_toggle_info(toggle)->initial;

        for (size_t n = 0; vs_toggle_choice(toggle, n, value); n++)
            assert_int_equal(vs_toggle_check(toggle, value, again, &err), VS_OK);
        for (size_t n = 0; vs_toggle_try(toggle, now, n, value); n++, candidates++) {
            assert_int_equal(vs_toggle_check(toggle, value, again, &err), VS_OK);
            assert_string_not_equal(value, now);
        }
    }
    assert_true(candidates > 15);
}

static void a_toggle_of_words_or_a_count_offers_the_count_1(void **state)
{
    char value[VS_TOGGLE_VALUE_MAX];

    (void)state;
    assert_true(vs_toggle_choice(VS_TOGGLE_PREFETCH, 0, value));
    assert_string_equal(value, "off");
    assert_true(vs_toggle_choice(VS_TOGGLE_PREFETCH, 1, value));
    assert_string_equal(value, "1");
    assert_false(vs_toggle_choice(VS_TOGGLE_PREFETCH, 2, value));
    assert_false(vs_toggle_choice(VS_TOGGLE_BATCH, 0, value));
}

static void offered_values_depend_on_the_current_value(void **state)
{
    char value[VS_TOGGLE_VALUE_MAX];

    (void)state;
    assert_true(vs_toggle_try(VS_TOGGLE_BATCH, "7", 0, value));
    assert_string_equal(value, "3");
    assert_true(vs_toggle_try(VS_TOGGLE_BATCH, "7", 1, value));
    assert_string_equal(value, "14");
    assert_false(vs_toggle_try(VS_TOGGLE_BATCH, "7", 2, value));
    assert_true(vs_toggle_try(VS_TOGGLE_BATCH, "1", 0, value));
    assert_string_equal(value, "2");
    assert_true(vs_toggle_try(VS_TOGGLE_OPTIMIZER, "adam", 2, value));
    assert_string_equal(value, "adamw");
    assert_false(vs_toggle_try(VS_TOGGLE_OPTIMIZER, "adam", 3, value));
}

/* The message for `name` set to `value`, which must be refused with `status`. */
static void assert_refused(const char *name, const char *value, enum vs_status status,
                           const char *message)
{
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(vs_toggles_set_named(&set, name, value, &err), status);
    assert_string_equal(err.text, message);
    vs_toggles_release(&set);
}

static void an_illegal_value_is_refused_with_the_legal_ones(void **state)
{
    (void)state;
    assert_refused("batch", "0", VS_E_VALUE, "toggle `batch` cannot be `0`; legal: a count from 1");
    assert_refused("batch", "99999999999", VS_E_VALUE,
                   "toggle `batch` cannot be `99999999999`; legal: a count from 1 to 2147483647");
    assert_refused("batch", "", VS_E_VALUE, "toggle `batch` cannot be ``; legal: a count from 1");
    assert_refused("amp", "fp8", VS_E_VALUE,
                   "toggle `amp` cannot be `fp8`; legal: off, fp16, bf16, O0, O1, O2 or O3");
    assert_refused(
        "checkpoint", "segments=0", VS_E_VALUE,
        "toggle `checkpoint` cannot be `segments=0`; legal: off, blocks, selective, segments=K, "
        "sqrt, auto, auto:SIZE, or module paths");
    assert_refused(
        "checkpoint", "auto:0", VS_E_VALUE,
        "toggle `checkpoint` cannot be `auto:0`; legal: off, blocks, selective, segments=K, "
        "sqrt, auto, auto:SIZE, or module paths");
    assert_refused("shard", "zero2", VS_E_VALUE,
                   "toggle `shard` cannot be `zero2`; legal: off, ddp, zero1, fsdp, tp, pp, "
                   "deepspeed-zero1, deepspeed-zero2 or deepspeed-zero3; PyTorch's is shard=fsdp "
                   "with reshard=off");
    assert_refused("shard", "zero3", VS_E_VALUE,
                   "toggle `shard` cannot be `zero3`; legal: off, ddp, zero1, fsdp, tp, pp, "
                   "deepspeed-zero1, deepspeed-zero2 or deepspeed-zero3; PyTorch's is "
                   "shard=fsdp");
    assert_refused("freeze", "a,,b", VS_E_VALUE,
                   "toggle `freeze` cannot be `a,,b`; legal: none, half, or module paths");
    assert_refused("freeze", "a,", VS_E_VALUE,
                   "toggle `freeze` cannot be `a,`; legal: none, half, or module paths");
}

static void an_unknown_name_gets_the_nearest_one_as_a_suggestion(void **state)
{
    (void)state;
    assert_refused("chekpoint", "off", VS_E_NOT_FOUND,
                   "there is no toggle `chekpoint`; did you mean `checkpoint`?");
    assert_refused("zero_grad", "none", VS_E_NOT_FOUND,
                   "there is no toggle `zero_grad`; did you mean `zero-grad`?");
    assert_refused("colour", "red", VS_E_NOT_FOUND,
                   "there is no toggle `colour`; `vramscope toggles` lists them");
}

static void values_are_normalized(void **state)
{
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(vs_toggles_set_pair(&set, "batch=0032", &err), VS_OK);
    assert_string_equal(vs_toggles_get(&set, VS_TOGGLE_BATCH), "32");
    assert_int_equal(vs_toggles_count(&set, VS_TOGGLE_BATCH), 32);
    assert_int_equal(vs_toggles_set_pair(&set, "checkpoint=segments=04", &err), VS_OK);
    assert_string_equal(vs_toggles_get(&set, VS_TOGGLE_CHECKPOINT), "segments=4");
    assert_false(vs_toggles_is_paths(&set, VS_TOGGLE_CHECKPOINT));
    assert_int_equal(vs_toggles_set_pair(&set, "checkpoint=layer1.0, layer2 ", &err), VS_OK);
    assert_string_equal(vs_toggles_get(&set, VS_TOGGLE_CHECKPOINT), "layer1.0,layer2");
    assert_true(vs_toggles_is_paths(&set, VS_TOGGLE_CHECKPOINT));
    assert_int_equal(vs_toggles_set_pair(&set, "batch", &err), VS_E_VALUE);
    assert_string_equal(err.text, "`batch` is not of the form TOGGLE=VALUE");
    vs_toggles_release(&set);
}

static void a_refused_value_leaves_the_toggles_unchanged(void **state)
{
    struct vs_toggles set = {{NULL}};
    struct vs_toggles copy = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(vs_toggles_set(&set, VS_TOGGLE_AMP, "bf16", &err), VS_OK);
    assert_int_equal(vs_toggles_set(&set, VS_TOGGLE_AMP, "int4", &err), VS_E_VALUE);
    assert_true(vs_toggles_is(&set, VS_TOGGLE_AMP, "bf16"));
    assert_true(vs_toggles_is_set(&set, VS_TOGGLE_AMP));
    assert_false(vs_toggles_is_set(&set, VS_TOGGLE_HALF));
    assert_true(vs_toggles_is(&set, VS_TOGGLE_HALF, "off"));
    vs_toggles_copy(&copy, &set);
    vs_toggles_release(&set);
    assert_true(vs_toggles_is(&copy, VS_TOGGLE_AMP, "bf16"));
    vs_toggles_release(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_toggle_is_complete_and_has_a_legal_default),
        cmocka_unit_test(every_offered_value_is_legal),
        cmocka_unit_test(a_toggle_of_words_or_a_count_offers_the_count_1),
        cmocka_unit_test(offered_values_depend_on_the_current_value),
        cmocka_unit_test(an_illegal_value_is_refused_with_the_legal_ones),
        cmocka_unit_test(an_unknown_name_gets_the_nearest_one_as_a_suggestion),
        cmocka_unit_test(values_are_normalized),
        cmocka_unit_test(a_refused_value_leaves_the_toggles_unchanged),
    };

    return cmocka_run_group_tests_name("base/toggle", tests, NULL, NULL);
}
