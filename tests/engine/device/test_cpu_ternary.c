/*
 * tests/engine/device/test_cpu_ternary.c - ternary kernels and the unscaling of gradients compared with formulas in
 * double precision; batched calls compared with single ones.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/many.h"
#include "tests/engine/device/cpu_elements.h"
#include "tests/engine/device/cpu_views.h"

#define INF ((double)INFINITY)

static double ternary(enum eng_ternary op, double a, double b, double c, const double *p)
{
    double d = b - c;

    switch (op) {
    case ENG_T_WHERE:
        return a != 0 ? b : c;
    case ENG_T_ADDCMUL:
        return a + p[0] * b * c;
    case ENG_T_ADDCDIV:
        return a + p[0] * b / c;
    case ENG_T_LERP:
        return a + p[0] * (b - a);
    case ENG_T_MSE_BACKWARD:
        return p[0] * d * a;
    case ENG_T_L1_BACKWARD:
        return p[0] * ((d > 0) - (d < 0)) * a;
    case ENG_T_SMOOTH_L1_BACKWARD:
        return fabs(d) < p[1] ? p[0] * d * a / p[1] : (d > 0 ? 1 : -1) * p[0] * a;
    case ENG_T_BCE_LOGITS:
        return (1 - c) * b + log1p(exp(-fabs(b))) + fmax(-b, 0);
    case ENG_T_BCE_LOGITS_BACKWARD:
        return p[0] * a * (tv_sigmoid(b) - c);
    case ENG_T_HUBER_BACKWARD:
        return p[0] * fmax(-p[1], fmin(p[1], d)) * a;
    case ENG_T_BCE_BACKWARD:
        return a * d / fmax((1 - b) * b, 1e-12);
    case ENG_T_GLU_BACKWARD:
        return (1 - tv_sigmoid(c)) * tv_sigmoid(c) * a * b;
    case ENG_T_PRELU_BACKWARD:
        return b > 0 ? a : c * a;
    case ENG_T_COUNT:
        break;
    }
    return 0;
}

static void every_ternary_agrees_on_any_strides(void **state)
{
    struct tv_rng r = {31337};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int op = 0; op < ENG_T_COUNT; op++) {
        for (int t = 0; t < 12; t++) {
            enum vs_dtype dtype = tv_floats[t % 4];
            enum vs_dtype first = op == ENG_T_WHERE ? VS_BOOL : dtype;
            int64_t sizes[VS_MAX_DIMS];
            int ndim = tv_any_sizes(&r, sizes);
            struct tv a =
                tv_make_broadcast(&r, first, ndim, sizes, tv_any_layout(&r), tv_any_mask(&r, ndim));
            struct tv b =
                tv_make_broadcast(&r, dtype, ndim, sizes, tv_any_layout(&r), tv_any_mask(&r, ndim));
            struct tv c = tv_make(&r, dtype, ndim, sizes, tv_any_layout(&r));
            struct tv y = tv_make(&r, dtype, ndim, sizes, tv_any_layout(&r));
            double *want = vs_calloc((size_t)tv_numel(&y.v) + 1, sizeof(double));
            double p[4] = {t % 3 ? 0.6 : 0.2, 1.3, 0, 0};
            char what[32];

            tv_fill(&r, &a.v, -3, 3);
            tv_fill(&r, &b.v, op == ENG_T_BCE_BACKWARD ? 0.1 : -3,
                    op == ENG_T_BCE_BACKWARD ? 0.9 : 3);
            tv_fill(&r, &c.v, 0.5, 2);
            for (int64_t i = 0; i < tv_numel(&y.v); i++)
                want[i] = ternary((enum eng_ternary)op, tv_get(&a.v, i), tv_get(&b.v, i),
                                  tv_get(&c.v, i), p);
            k->ternary((enum eng_ternary)op, dtype, &a.v, &b.v, &c.v, &y.v, p);
            snprintf(what, sizeof(what), "ternary %d", op);
            tv_assert_near(what, &y.v, want, tv_rel_of(dtype), tv_abs_of(dtype) * 10);
            assert_true(tv_padding_is_intact(&y));
            tv_free(&a);
            tv_free(&b);
            tv_free(&c);
            tv_free(&y);
            vs_free(want);
        }
    }
}

static void unscale_multiplies_and_reports_what_is_not_finite(void **state)
{
    struct tv_rng r = {3};
    int64_t sizes[] = {70, 1000};
    float inv = 0.25f;
    float found = 0;
    struct eng_view vi = {&inv, VS_F32, 0, {0}, {0}};
    struct eng_view vf = {&found, VS_F32, 0, {0}, {0}};
    static const double bad[] = {0, INF, -INF, (double)NAN};

    (void)state;
    for (int t = 0; t < 8; t++) {
        struct tv g = tv_make(&r, t % 2 ? VS_F16 : VS_F32, 2, sizes, tv_any_layout(&r));
        double *want = vs_calloc(70000, sizeof(double));

        found = 0;
        tv_fill(&r, &g.v, -2, 2);
        if (t / 2)
            tv_set(&g.v, 69000, bad[t / 2]);
        for (int64_t i = 0; i < 70000; i++)
            want[i] = tv_get(&g.v, i) * 0.25;
        eng_kernels_cpu()->unscale(&g.v, &vi, &vf);
        tv_assert_near("unscale", &g.v, want, tv_rel_of(g.v.dtype), 1e-6);
        assert_true(found == (t / 2 ? 1.0f : 0.0f));
        assert_true(tv_padding_is_intact(&g));
        tv_free(&g);
        vs_free(want);
    }
}

/* Of many sizes, some of them strided, each with a tensor, a number, or one element for all as its second operand. */
static void a_batched_call_equals_its_single_calls(void **state)
{
    static const struct {
        enum eng_many_kind kind;
        int op;
    } calls[] = {{ENG_MANY_UNARY, ENG_U_SQRT},
                 {ENG_MANY_BINARY, ENG_B_ADD},
                 {ENG_MANY_BINARY, ENG_B_MUL},
                 {ENG_MANY_TERNARY, ENG_T_ADDCDIV},
                 {ENG_MANY_TERNARY, ENG_T_LERP}};
    static const int64_t lengths[] = {1, 3, 4, 5, 64, 1000, 4099};
    struct tv_rng r = {11};

    (void)state;
    for (int t = 0; t < 60; t++) {
        struct eng_many_item items[ENG_MANY_MAX], alone[ENG_MANY_MAX];
        struct tv kept[ENG_MANY_MAX][5];
        enum vs_dtype dtype = t % 4 == 3 ? VS_F64 : t % 4 == 2 ? VS_F16 : VS_F32;
        struct eng_many m = {calls[t % 5].kind, calls[t % 5].op, 1 + t % ENG_MANY_MAX, items};
        double number = 1.5;

        for (int k = 0; k < m.count; k++) {
            int64_t n = lengths[tv_next(&r) % 7];
            enum tv_layout layout = k % 6 == 5 ? tv_any_layout(&r) : TV_PLAIN;

            for (int o = 0; o < 5; o++) {
                kept[k][o] = o == 1 && t % 3 == 1 ? tv_make_broadcast(&r, dtype, 1, &n, TV_PLAIN, 1)
                                                  : tv_make(&r, dtype, 1, &n, layout);
                tv_fill(&r, &kept[k][o].v, 0.5, 2);
            }
            items[k] = (struct eng_many_item){kept[k][0].v, kept[k][1].v, kept[k][2].v,
                                              kept[k][3].v, 0.25 * (k + 1)};
            if (t % 3 == 2) {
                items[k].a.data = &number;
                items[k].a.dtype = VS_F64;
                items[k].a.strides[0] = 0;
            }
            alone[k] = items[k];
            alone[k].out = kept[k][4].v;
            eng_many_item_run(eng_kernels_cpu(), &m, &alone[k]);
        }
        eng_kernels_cpu()->many(&m);
        for (int k = 0; k < m.count; k++) {
            for (int64_t i = 0; i < tv_numel(&items[k].out); i++)
                assert_true(tv_get(&items[k].out, i) == tv_get(&alone[k].out, i));
            for (int o = 0; o < 5; o++) {
                assert_true(tv_padding_is_intact(&kept[k][o]));
                tv_free(&kept[k][o]);
            }
        }
    }
}

static void a_list_of_gradients_is_unscaled_in_one_call(void **state)
{
    struct tv_rng r = {13};
    int64_t sizes[] = {1001};

    (void)state;
    for (int t = 0; t < 4; t++) {
        struct eng_many_item items[5];
        struct tv g[5];
        struct eng_many m = {ENG_MANY_UNSCALE, 0, 5, items};
        float inv = 0.5f;
        float found = 0;

        for (int k = 0; k < 5; k++) {
            g[k] = tv_make(&r, k == 3 ? VS_F16 : VS_F32, 1, sizes,
                           k == 4 ? tv_any_layout(&r) : TV_PLAIN);
            for (int64_t i = 0; i < sizes[0]; i++)
                tv_set(&g[k].v, i, (double)(i % 7));
            items[k] = (struct eng_many_item){
                .x = g[k].v, .a = {&inv, VS_F32, 0, {0}, {0}}, .b = {&found, VS_F32, 0, {0}, {0}}};
        }
        if (t)
            tv_set(&g[t].v, 1000, INF);
        eng_kernels_cpu()->many(&m);
        assert_true(found == (t ? 1.0f : 0.0f));
        for (int k = 0; k < 5; k++) {
            for (int64_t i = 0; i < 1000; i++)
                assert_true(tv_get(&g[k].v, i) == 0.5 * (double)(i % 7));
            tv_free(&g[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ternary_agrees_on_any_strides),
        cmocka_unit_test(unscale_multiplies_and_reports_what_is_not_finite),
        cmocka_unit_test(a_batched_call_equals_its_single_calls),
        cmocka_unit_test(a_list_of_gradients_is_unscaled_in_one_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
