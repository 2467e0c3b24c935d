/*
 * tests/engine/autograd/test_autograd_refused.c - what autograd refuses, and with which messages: freed graphs,
 * overwritten tensors, leaves, wrong shapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/core/op_internal.h"
#include "tests/engine/rig.h"
#include "tests/engine/short_ops.h"

static void a_second_backward_is_refused_where_something_was_saved(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *loss, *plain;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    loss = sum_of(rig.e, op(rig.e, ENG_OP_exp, x));
    plain = sum_of(rig.e, eng_add_scalar(rig.e, x, 1)); /* saves nothing */
    rig_backward(&rig, loss);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "a second time"), VS_E_AUTOGRAD);
    rig_backward(&rig, plain);
    rig_backward(&rig, plain);
    eng_unref(plain);
    eng_unref(loss);
    eng_unref(x);
    rig_release(&rig);
}

static void a_second_backward_through_a_written_view_is_refused(void **state)
{
    static const int64_t SIZES[] = {2, 2};
    struct rig rig;
    T *x, *a, *row, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, SIZES, 1);
    a = eng_mul_scalar(rig.e, x, 1);
    row = select0(rig.e, a, 0);
    in_place(rig.e, ENG_OP_exp, row, eng_anone());
    loss = sum(rig.e, a);
    rig_backward(&rig, loss);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "a second time"), VS_E_AUTOGRAD);
    eng_unref(loss);
    eng_unref(row);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void a_saved_tensor_that_was_overwritten_is_refused_with_both_versions(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    eng_location_func(rig.e, "Net.forward");
    eng_location_line(rig.e, 7);
    a = op(rig.e, ENG_OP_sigmoid, x);
    in_place(rig.e, ENG_OP_add, a, eng_af(1));
    eng_location_line(rig.e, 9);
    in_place(rig.e, ENG_OP_mul, a, eng_af(2));
    eng_location_func(rig.e, "");
    eng_location_line(rig.e, 0);
    loss = sum(rig.e, a);
    backward(rig.e, loss);
    assert_int_equal(
        rig_take_failure(&rig, "a tensor [2] that sigmoid in line 7 of Net.forward saved for its "
                               "gradient was overwritten by the in-place operation mul_ in line 9 "
                               "of Net.forward: it is at version 2, version 0 was saved"),
        VS_E_INPLACE);
    eng_unref(loss);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void an_overwrite_by_the_training_loop_is_reported_without_a_line(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *loss;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = op(rig.e, ENG_OP_sigmoid, x);
    in_place(rig.e, ENG_OP_add, a, eng_af(1));
    loss = sum(rig.e, a);
    backward(rig.e, loss);
    assert_int_equal(rig_take_failure(&rig, "sigmoid in the training loop saved for its gradient "
                                            "was overwritten by the in-place operation add_ in the "
                                            "training loop"),
                     VS_E_INPLACE);
    eng_unref(loss);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void a_write_through_a_view_or_a_detached_alias_is_detected(void **state)
{
    static const int64_t SIZES[] = {2, 2};
    struct rig rig;

    (void)state;
    rig_init(&rig, false);
    for (int k = 0; k < 2; k++) {
        T *x = rig_leaf(&rig, 2, SIZES, 1);
        T *a = op(rig.e, ENG_OP_exp, x);
        T *other = k ? eng_op1(rig.e, ENG_OP_detach, a) : select0(rig.e, a, 1);
        T *loss = sum(rig.e, a);
        bool grad = eng_set_grad_enabled(rig.e, false);

        in_place(rig.e, ENG_OP_zero_, other, eng_anone());
        eng_set_grad_enabled(rig.e, grad);
        backward(rig.e, loss);
        assert_int_equal(rig_take_failure(&rig, "version 1, version 0 was saved"), VS_E_INPLACE);
        eng_unref(loss);
        eng_unref(other);
        eng_unref(a);
        eng_unref(x);
    }
    rig_release(&rig);
}

static void a_leaf_or_a_view_of_it_cannot_be_written_to(void **state)
{
    static const int64_t SIZES[] = {2, 2};
    struct rig rig;
    bool grad;
    T *x, *row;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, SIZES, 1);
    in_place(rig.e, ENG_OP_add, x, eng_af(1));
    assert_int_equal(rig_take_failure(&rig, "a leaf"), VS_E_AUTOGRAD);
    row = select0(rig.e, x, 0);
    in_place(rig.e, ENG_OP_add, row, eng_af(1));
    assert_int_equal(rig_take_failure(&rig, "a view of a leaf"), VS_E_AUTOGRAD);
    assert_int_equal(x->version->value, 0);
    grad = eng_set_grad_enabled(rig.e, false); /* as an optimizer does */
    in_place(rig.e, ENG_OP_add, x, eng_af(1));
    eng_set_grad_enabled(rig.e, grad);
    assert_int_equal(x->version->value, 1);
    eng_unref(row);
    eng_unref(x);
    rig_release(&rig);
}

static void backward_needs_a_scalar_that_requires_grad(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *plain;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = eng_mul_scalar(rig.e, x, 2);
    backward(rig.e, a);
    assert_int_equal(rig_take_failure(&rig, "[2]"), VS_E_AUTOGRAD);
    plain = rig_tensor(&rig, VS_F64, 0, NULL, NULL);
    backward(rig.e, plain);
    assert_int_equal(rig_take_failure(&rig, "does not require grad"), VS_E_AUTOGRAD);
    assert_null(x->grad);
    eng_unref(plain);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void requires_grad_needs_a_floating_point_leaf(void **state)
{
    static const int64_t SIZES[] = {2};
    struct rig rig;
    T *x, *a, *i;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, SIZES, 1);
    a = eng_mul_scalar(rig.e, x, 2);
    eng_set_requires_grad(rig.e, a, false);
    assert_int_equal(rig_take_failure(&rig, "leaf"), VS_E_AUTOGRAD);
    i = rig_tensor(&rig, VS_I64, 1, SIZES, NULL);
    eng_set_requires_grad(rig.e, i, true);
    assert_int_equal(rig_take_failure(&rig, "int64"), VS_E_AUTOGRAD);
    eng_set_requires_grad(rig.e, x, false);
    assert_false(eng_requires_grad(x));
    eng_unref(i);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

static void a_gradient_of_a_wrong_shape_is_refused(void **state)
{
    struct rig rig;
    T *x, *index, *src, *out;
    struct eng_arg args[4];

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 2, (int64_t[]){3, 4}, 1);
    src = rig_leaf(&rig, 2, (int64_t[]){3, 2}, 2);
    index = rig_tensor(&rig, VS_I64, 2, (int64_t[]){3, 1}, NULL);
    args[0] = eng_at(x);
    args[1] = eng_ai(1);
    args[2] = eng_at(index);
    args[3] = eng_at(src);
    out = eng_call1(rig.e, ENG_OP_scatter,
                    args); /* reads a part of src, so its gradient has the index's shape */
    eng_slot_set(&out, sum(rig.e, out));
    backward(rig.e, out);
    assert_int_equal(rig_take_failure(&rig, "got [3, 1], expected a shape compatible with [3, 2]"),
                     VS_E_AUTOGRAD);
    eng_unref(out);
    eng_unref(index);
    eng_unref(src);
    eng_unref(x);
    rig_release(&rig);
}

static void an_output_of_a_multi_output_view_cannot_be_written_in_place(void **state)
{
    struct rig rig;
    struct eng_ret parts;
    T *x, *a;

    (void)state;
    rig_init(&rig, false);
    x = rig_leaf(&rig, 1, (int64_t[]){4}, 1);
    a = eng_mul_scalar(rig.e, x, 2);
    {
        struct eng_arg args[] = {eng_at(a), eng_ai(2), eng_ai(0)};

        assert_true(eng_call(rig.e, ENG_OP_split, args, &parts));
    }
    in_place(rig.e, ENG_OP_add, parts.tensors[0], eng_af(1));
    assert_int_equal(rig_take_failure(&rig, "split"), VS_E_AUTOGRAD);
    eng_ret_release(&parts);
    eng_unref(a);
    eng_unref(x);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_backward_is_refused_where_something_was_saved),
        cmocka_unit_test(a_second_backward_through_a_written_view_is_refused),
        cmocka_unit_test(a_saved_tensor_that_was_overwritten_is_refused_with_both_versions),
        cmocka_unit_test(an_overwrite_by_the_training_loop_is_reported_without_a_line),
        cmocka_unit_test(a_write_through_a_view_or_a_detached_alias_is_detected),
        cmocka_unit_test(a_leaf_or_a_view_of_it_cannot_be_written_to),
        cmocka_unit_test(backward_needs_a_scalar_that_requires_grad),
        cmocka_unit_test(requires_grad_needs_a_floating_point_leaf),
        cmocka_unit_test(a_gradient_of_a_wrong_shape_is_refused),
        cmocka_unit_test(an_output_of_a_multi_output_view_cannot_be_written_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
