/*
 * tests/engine/core/test_grouped_mm.c - products of groups of rows: values and gradients.
 *
 * By hand, as PyTorch has no kernel for float64: a[i][k] = i + k, and matrix g of b is g + 1 everywhere. Groups end at
 * rows 1 and 4 of 4.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/core/op_internal.h"
#include "tests/engine/rig.h"

#define N 4

static const int64_t MATRIX[] = {N, N}, MATRICES[] = {2, N, N};

struct operands {
    struct eng_tensor *a, *b, *offs;
};

static struct operands operands_make(struct rig *rig)
{
    double left[N * N], right[2 * N * N];
    struct operands o;
    struct eng_tensor *ends;

    for (int i = 0; i < N * N; i++) {
        left[i] = i / N + i % N;
        right[i] = 1;
        right[N * N + i] = 2;
    }
    o.a = rig_tensor(rig, VS_F32, 2, MATRIX, left);
    o.b = rig_tensor(rig, VS_F32, 3, MATRICES, right);
    ends = rig_tensor(rig, VS_I64, 1, (int64_t[]){2}, (double[]){1, N});
    o.offs = eng_to_dtype(rig->e, ends, VS_I32);
    eng_unref(ends);
    return o;
}

static void operands_release(struct operands *o)
{
    eng_unref(o->a);
    eng_unref(o->b);
    eng_unref(o->offs);
}

static struct eng_tensor *product(struct rig *rig, struct eng_tensor *a, struct eng_tensor *b,
                                  struct eng_tensor *offs)
{
    struct eng_arg args[] = {eng_at(a), eng_at(b), eng_at(offs)};

    return eng_call1(rig->e, ENG_OP_grouped_mm, args);
}

static void check(const char *what, const struct eng_tensor *t, int64_t i, double want)
{
    if (rig_value(t, i) != want)
        fail_msg("element %" PRId64 " of %s is %g, expected %g", i, what, rig_value(t, i), want);
}

static void rows_are_multiplied_by_the_matrix_of_their_group(void **state)
{
    struct rig rig;
    struct operands o;
    struct eng_tensor *out, *ones;

    (void)state;
    rig_init(&rig, false);
    o = operands_make(&rig);
    eng_set_requires_grad(rig.e, o.a, true);
    eng_set_requires_grad(rig.e, o.b, true);
    out = product(&rig, o.a, o.b, o.offs);
    for (int i = 0; i < N * N; i++)
        check("the product", out, i, (4 * (i / N) + 6) * (i / N < 1 ? 1 : 2));
    ones = eng_full(rig.e, MATRIX, 2, 1, VS_F32, false);
    eng_backward(rig.e, &out, &ones, 1, false);
    for (int i = 0; i < N * N; i++) {
        int k = i / N;

        check("the gradient of the rows", o.a->grad, i, i / N < 1 ? 4 : 8);
        check("the gradient of matrix 0", o.b->grad, i, k);
        check("the gradient of matrix 1", o.b->grad, N * N + i, 1 + 2 + 3 + 3 * k);
    }
    eng_unref(ones);
    eng_unref(out);
    operands_release(&o);
    rig_release(&rig);
}

static void a_group_sums_over_its_own_columns(void **state)
{
    struct rig rig;
    struct operands o;
    struct eng_tensor *out;

    (void)state;
    rig_init(&rig, false);
    o = operands_make(&rig);
    out = product(&rig, o.a, o.a, o.offs);
    /* matrix 0: a[i][0] * a[0][j]; matrix 1: the sum over k = 1, 2, 3 */
    for (int i = 0; i < N * N; i++) {
        int row = i / N, column = i % N, rest = 0;

        for (int k = 1; k < N; k++)
            rest += (row + k) * (k + column);
        check("matrix 0", out, i, row * column);
        check("matrix 1", out, N * N + i, rest);
    }
    eng_unref(out);
    operands_release(&o);
    rig_release(&rig);
}

static void what_pytorch_refuses_is_refused(void **state)
{
    struct rig rig;
    struct operands o;
    struct eng_tensor *odd;

    (void)state;
    rig_init(&rig, false);
    o = operands_make(&rig);
    odd = rig_tensor(&rig, VS_F32, 2, (int64_t[]){N, 3}, NULL);
    assert_null(product(&rig, o.a, odd, o.offs));
    assert_int_equal(rig_take_failure(&rig, "multiple of 16 bytes"), VS_E_SHAPE);
    assert_null(product(&rig, o.b, o.b, o.offs));
    assert_int_equal(rig_take_failure(&rig, "no offset if both matrices are 3d"), VS_E_VALUE);
    assert_null(product(&rig, o.a, o.b, o.a));
    assert_int_equal(rig_take_failure(&rig, "1-D tensor of dtype int32"), VS_E_VALUE);
    eng_unref(odd);
    operands_release(&o);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_multiplied_by_the_matrix_of_their_group),
        cmocka_unit_test(a_group_sums_over_its_own_columns),
        cmocka_unit_test(what_pytorch_refuses_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
