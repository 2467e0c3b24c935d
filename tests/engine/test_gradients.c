/*
 * tests/engine/test_gradients.c - the gradients of every op against central differences in float64, on the CPU kernels.
 *
 * Tolerance: with steps of 1e-6 and values around 1 the difference quotient is accurate to about 1e-9; a gradient must
 * agree to 1e-6. The same rows are run in the other floating dtypes and on meta, where the events must be the same.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/engine/op_case.h"
#include "tests/engine/rig.h"

#define STEP 1e-6
/* Tolerance for rows that round to float32 on the way: its last bit divided by this step is 6e-5. */
#define CAST_STEP 0x1p-10

static char *describe(const struct op_case *oc)
{
    static char text[600];

    snprintf(text, sizeof(text), "%s(%s) %s", eng_op_get(oc->op)->name, oc->args, oc->options);
    return text;
}

static enum vs_dtype widest(const struct op_case *oc)
{
    return op_case_has(oc, "half") ? VS_F32 : VS_F64;
}

/* Reports what failed in this row; the rows after it are still run. */
static int complain(const struct op_case *oc, struct rig *rig, const char *what)
{
    struct vs_error err = VS_ERROR_INIT;

    print_error("%s: %s%s%s\n", describe(oc), what, eng_failed(rig->e) ? ": " : "",
                eng_failed(rig->e) ? eng_failed(rig->e)->text : "");
    eng_failure_take(rig->e, &err);
    return 1;
}

/* ---- against central differences ---- */

/* d loss / d element i of a leaf; NAN if the engine failed. */
static double difference(struct rig *rig, struct op_run *run, struct eng_tensor *leaf, int64_t i)
{
    double before = rig_value(leaf, i);
    double loss[2] = {(double)NAN, (double)NAN};
    double step = op_case_has(run->oc, "cast") ? CAST_STEP : STEP;
    bool grad = eng_set_grad_enabled(rig->e, false);

    for (int side = 0; side < 2; side++) {
        eng_rng_set(rig->e, (struct eng_rng_state){.seed = 7});
        rig_set_value(leaf, i, before + (side ? step : -step));
        if (op_run_forward(run))
            loss[side] = op_run_loss(run);
        op_run_drop_outs(run);
    }
    rig_set_value(leaf, i, before);
    eng_set_grad_enabled(rig->e, grad);
    return (loss[1] - loss[0]) / (2 * step);
}

static int check_leaf(struct rig *rig, struct op_run *run, int k)
{
    struct eng_tensor *leaf = run->leaves[k];
    double tolerance = op_case_has(run->oc, "cast") ? 1e-3 : 1e-6;

    for (int64_t i = 0; i < eng_numel(leaf); i++) {
        double want = difference(rig, run, leaf, i);
        double got = leaf->grad ? rig_value(leaf->grad, i) : 0;

        if (fabs(got - want) <= tolerance * fmax(1, fabs(want)))
            continue;
        print_error("%s: tensor %d, element %" PRId64
                    ": the gradient is %.9g, the difference quotient %.9g%s\n",
                    describe(run->oc), k, i, got, want, leaf->grad ? "" : " (no gradient)");
        return 1;
    }
    return 0;
}

static int check_gradients(const struct op_case *oc)
{
    struct op_run run;
    struct rig rig;
    int bad = 0;

    rig_init(&rig, false);
    op_run_begin(&run, rig.e, oc, VS_F64);
    if (op_run_forward(&run)) {
        op_run_make_weights(&run, false);
        op_run_backward(&run);
    }
    op_run_drop_outs(&run);
    if (eng_failed(rig.e))
        bad = complain(oc, &rig, "failed");
    for (int k = 0; k < run.leaf_count && !bad; k++) {
        if (eng_requires_grad(run.leaves[k]))
            bad = check_leaf(&rig, &run, k);
        else if (run.leaves[k]->grad)
            bad = complain(oc, &rig, "a tensor that needs no gradient got one");
    }
    op_run_end(&run);
    rig_release(&rig);
    return bad;
}

static void gradients_agree_with_central_differences(void **state)
{
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        if (!op_case_has(&OP_CASES[i], "half") && !op_case_has(&OP_CASES[i], "ruled"))
            bad += check_gradients(&OP_CASES[i]);
    }
    assert_int_equal(bad, 0);
}

/* ---- independence of the memory layout of incoming gradients ---- */

/* Gradients of all leaves one after the other, as doubles, owned by the caller. Zeros where there is none. */
static double *gradients_of(const struct op_case *oc, struct rig *rig, enum vs_dtype dtype,
                            bool turned, size_t *count, int *bad)
{
    struct op_run run;
    double *out = NULL;
    size_t cap = 0;

    *count = 0;
    op_run_begin(&run, rig->e, oc, dtype);
    if (op_run_forward(&run)) {
        op_run_make_weights(&run, turned);
        op_run_backward(&run);
    }
    if (eng_failed(rig->e))
        *bad += complain(oc, rig, vs_dtype_name(dtype));
    for (int k = 0; k < run.leaf_count; k++) {
        const struct eng_tensor *leaf = run.leaves[k];

        if (leaf->grad && (leaf->grad->dtype != leaf->dtype || !eng_same_sizes(leaf->grad, leaf)))
            *bad += complain(oc, rig, "a gradient has another dtype or shape than its tensor");
        for (int64_t i = 0; eng_requires_grad(leaf) && i < eng_numel(leaf); i++) {
            out = vs_grow(out, *count, &cap, sizeof(*out));
            out[(*count)++] = leaf->grad ? rig_value(leaf->grad, i) : 0;
        }
    }
    op_run_end(&run);
    return out;
}

/* Runs a row twice; 1 if the gradients differ by more than `tolerance`, else 0. */
static int compare_runs(const struct op_case *oc, enum vs_dtype da, bool turned_a, enum vs_dtype db,
                        bool turned_b, double tolerance)
{
    struct rig rig;
    size_t na, nb;
    double *a, *b;
    int bad = 0;

    rig_init(&rig, false);
    a = gradients_of(oc, &rig, da, turned_a, &na, &bad);
    eng_rng_set(rig.e, (struct eng_rng_state){.seed = 7});
    b = gradients_of(oc, &rig, db, turned_b, &nb, &bad);
    rig_release(&rig);
    if (na != nb && !bad) {
        print_error("%s: %zu and %zu gradients\n", describe(oc), na, nb);
        bad = 1;
    }
    for (size_t i = 0; i < na && !bad; i++) {
        if (fabs(a[i] - b[i]) <= tolerance * fmax(1, fabs(a[i])))
            continue;
        print_error("%s: gradient %zu is %.9g and %.9g\n", describe(oc), i, a[i], b[i]);
        bad = 1;
    }
    vs_free(b);
    vs_free(a);
    return bad;
}

static void gradients_do_not_depend_on_the_layout_of_what_comes_in(void **state)
{
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        const struct op_case *oc = &OP_CASES[i];

        if (!op_case_has(oc, "matrices"))
            bad += compare_runs(oc, widest(oc), false, widest(oc), true,
                                op_case_has(oc, "half") ? 1e-5 : 1e-12);
    }
    assert_int_equal(bad, 0);
}

static void float32_gradients_agree_with_float64(void **state)
{
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        if (!op_case_has(&OP_CASES[i], "half"))
            bad += compare_runs(&OP_CASES[i], VS_F64, false, VS_F32, false, 1e-4);
    }
    assert_int_equal(bad, 0);
}

static void half_gradients_are_finite(void **state)
{
    static const enum vs_dtype HALF[] = {VS_F16, VS_BF16};
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        for (int k = 0; k < 2; k++) {
            struct rig rig;
            size_t n;
            double *g;
            int row = 0;

            rig_init(&rig, false);
            g = gradients_of(&OP_CASES[i], &rig, HALF[k], false, &n, &row);
            for (size_t j = 0; j < n && !row; j++) {
                if (!isfinite(g[j]))
                    row = complain(&OP_CASES[i], &rig, "a gradient is not finite");
            }
            bad += row;
            vs_free(g);
            rig_release(&rig);
        }
    }
    assert_int_equal(bad, 0);
}

/* ---- the fused attention kernels, which exist for single and half precision ---- */

static void fused_attention_agrees_with_the_composed_form(void **state)
{
    static const struct op_case PAIRS[][2] = {
        {{ENG_OP_sdpa_flash,
          "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,8] dropout_p=0.0 is_causal=False scale=0.25",
          ""},
         {ENG_OP_sdpa, "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,8] scale=0.25", ""}},
        {{ENG_OP_sdpa_flash,
          "query=[2,2,5,8]t key=[2,2,5,8] value=[2,2,5,8]t dropout_p=0.0 is_causal=True scale=0.25",
          ""},
         {ENG_OP_sdpa, "query=[2,2,5,8]t key=[2,2,5,8] value=[2,2,5,8]t is_causal=True scale=0.25",
          ""}},
        {{ENG_OP_sdpa_efficient,
          "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,4] attn_bias=None compute_log_sumexp=True "
          "dropout_p=0.0 is_causal=False scale=0.25",
          ""},
         {ENG_OP_sdpa, "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,4] scale=0.25", ""}},
        {{ENG_OP_sdpa_efficient,
          "query=[2,2,3,8] key=[2,2,5,8]t value=[2,2,5,8] attn_bias=[2,2,3,5] "
          "compute_log_sumexp=True dropout_p=0.0 is_causal=False scale=0.25",
          ""},
         {ENG_OP_sdpa,
          "query=[2,2,3,8] key=[2,2,5,8]t value=[2,2,5,8] attn_mask=[2,2,3,5] scale=0.25", ""}},
        {{ENG_OP_sdpa, "query=[2,2,5,8] key=[2,2,5,8] value=[2,2,5,8] is_causal=True", ""},
         {ENG_OP_sdpa, "query=[2,2,5,8] key=[2,2,5,8] value=[2,2,5,8] is_causal=True", ""}},
        {{ENG_OP_sdpa, "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,8] attn_mask=[3,5]b", ""},
         {ENG_OP_sdpa, "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,8] attn_mask=[3,5]b", ""}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        struct rig rig;
        size_t na, nb;
        double *a, *b;
        int bad = 0;

        rig_init(&rig, false);
        a = gradients_of(&PAIRS[i][0], &rig, VS_F32, false, &na, &bad); /* the fused kernel */
        b = gradients_of(&PAIRS[i][1], &rig, VS_F64, false, &nb,
                         &bad); /* float64 always uses the composed ops */
        assert_int_equal(bad, 0);
        assert_int_equal(na, nb);
        for (size_t k = 0; k < na; k++) {
            if (fabs(a[k] - b[k]) > 1e-5 * fmax(1, fabs(b[k])))
                fail_msg("%s: gradient %zu is %.9g, composed %.9g", describe(&PAIRS[i][0]), k, a[k],
                         b[k]);
        }
        vs_free(b);
        vs_free(a);
        rig_release(&rig);
    }
}

/*
 * The mask's gradient is not computed by the kernel; scale * (it k) is the query's, which the kernel computes with the
 * dropout of its own forward.
 */
static void
the_gradient_of_an_attention_mask_is_consistent_with_the_querys_under_dropout(void **state)
{
    static const struct op_case ROW = {
        ENG_OP_sdpa_efficient,
        "query=[2,2,3,8] key=[2,2,5,8] value=[2,2,5,8] attn_bias=[2,2,3,5] "
        "compute_log_sumexp=True dropout_p=0.4 is_causal=False scale=0.25",
        ""};
    struct op_run run;
    struct rig rig;

    (void)state;
    rig_init(&rig, false);
    op_run_begin(&run, rig.e, &ROW, VS_F32);
    assert_true(op_run_forward(&run));
    op_run_make_weights(&run, false);
    op_run_backward(&run);
    assert_false(eng_failed(rig.e));
    for (int64_t row = 0; row < 2 * 2 * 3; row++)
        for (int64_t d = 0; d < 8; d++) {
            const double of_query = rig_value(run.leaves[0]->grad, row * 8 + d);
            double sum = 0;

            for (int64_t k = 0; k < 5; k++)
                sum += 0.25 * rig_value(run.leaves[3]->grad, row * 5 + k) *
                       rig_value(run.leaves[1], (row / 3 * 5 + k) * 8 + d);
            assert_true(fabs(of_query - sum) <= 1e-5);
            assert_true(fabs(of_query) > 0);
        }
    op_run_end(&run);
    rig_release(&rig);
}

/* ---- meta emits the events that cpu does ---- */

static void record(const struct op_case *oc, enum vs_dtype dtype, struct rig *rig)
{
    struct op_run run;

    op_run_begin(&run, rig->e, oc, dtype);
    if (op_run_forward(&run)) {
        op_run_make_weights(&run, false);
        op_run_backward(&run);
    }
    op_run_end(&run);
}

static int compare_events(const struct op_case *oc, enum vs_dtype dtype)
{
    struct rig cpu, meta;
    int bad = 0;

    rig_init(&cpu, false);
    rig_init(&meta, true);
    record(oc, dtype, &cpu);
    record(oc, dtype, &meta);
    if (eng_failed(cpu.e))
        bad = complain(oc, &cpu, "failed on cpu");
    if (eng_failed(meta.e))
        bad = complain(oc, &meta, "failed on meta");
    for (size_t i = 0; !bad && (i < cpu.count || i < meta.count); i++) {
        const struct vs_event *a = &cpu.events[i], *b = &meta.events[i];

        if (i < cpu.count && i < meta.count && !memcmp(a, b, sizeof(*a)))
            continue;
        print_error("%s %s: event %zu of %zu on cpu (%s, block %" PRIu64
                    ") and of %zu on meta (%s, block %" PRIu64 ") differ\n",
                    describe(oc), vs_dtype_text(dtype), i, cpu.count,
                    i < cpu.count ? vs_event_kind_name((enum vs_event_kind)a->kind) : "none",
                    i < cpu.count ? vs_event_block(a) : 0, meta.count,
                    i < meta.count ? vs_event_kind_name((enum vs_event_kind)b->kind) : "none",
                    i < meta.count ? vs_event_block(b) : 0);
        bad = 1;
    }
    rig_release(&meta);
    rig_release(&cpu);
    return bad;
}

static void meta_and_cpu_give_the_same_events(void **state)
{
    static const enum vs_dtype DTYPES[] = {VS_F64, VS_F32, VS_F16};
    int bad = 0;

    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        for (size_t k = 0; k < sizeof(DTYPES) / sizeof(DTYPES[0]); k++) {
            if (k || !op_case_has(&OP_CASES[i], "half"))
                bad += compare_events(&OP_CASES[i], DTYPES[k]);
        }
    }
    assert_int_equal(bad, 0);
}

/* ---- every op has a row ---- */

static void every_differentiable_op_has_a_row(void **state)
{
    int missing = 0;

    (void)state;
    for (int id = 0; id < ENG_OP_COUNT; id++) {
        const struct eng_op *op = eng_op_get((enum eng_op_id)id);
        bool found = false;

        if (op->kind == ENG_NODIFF)
            continue;
        for (size_t i = 0; i < OP_CASE_COUNT && !found; i++)
            found = OP_CASES[i].op == (enum eng_op_id)id;
        if (!found)
            print_error("no row for %s\n", op->name);
        missing += !found;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_differentiable_op_has_a_row),
        cmocka_unit_test(gradients_agree_with_central_differences),
        cmocka_unit_test(gradients_do_not_depend_on_the_layout_of_what_comes_in),
        cmocka_unit_test(float32_gradients_agree_with_float64),
        cmocka_unit_test(half_gradients_are_finite),
        cmocka_unit_test(fused_attention_agrees_with_the_composed_form),
        cmocka_unit_test(
            the_gradient_of_an_attention_mask_is_consistent_with_the_querys_under_dropout),
        cmocka_unit_test(meta_and_cpu_give_the_same_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
