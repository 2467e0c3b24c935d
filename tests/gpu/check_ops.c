/*
 * tests/gpu/check_ops.c - each row of tests/engine/op_cases.def on the device and on the CPU: results and gradients.
 *
 * Every row in f32, f16 and bf16, on the device twice: the second run must repeat the bits of the first.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/engine/op_case.h"
#include "tests/engine/rig.h"
#include "tests/gpu/check.h"

#define FEW_EVERY 20

/*
 * What an element may be off by, as a part of the largest of its tensor. Half types are summed in float on both sides,
 * in another order.
 */
static const struct {
    enum vs_dtype dtype;
    double bound;
} DTYPES[] = {{VS_F32, 1e-4}, {VS_F16, 4.0 / 2048}, {VS_BF16, 4.0 / 256}};
#define DTYPE_COUNT (sizeof(DTYPES) / sizeof(DTYPES[0]))

/*
 * Values of one run: of results, then of gradients. is_refused: the engine says no to the row, and `why` what it says.
 */
struct outcome {
    double *values[OP_CASE_OUTS + OP_CASE_TENSORS];
    int64_t counts[OP_CASE_OUTS + OP_CASE_TENSORS];
    int count;
    bool is_refused;
    char why[256];
};

static void keep(struct outcome *out, const struct eng_tensor *t)
{
    int64_t n = t ? eng_numel(t) : 0;

    out->values[out->count] = vs_calloc((size_t)n + 1, sizeof(double));
    for (int64_t i = 0; i < n; i++)
        out->values[out->count][i] = rig_value(t, i);
    out->counts[out->count++] = t ? n : -1;
}

static void outcome_release(struct outcome *out)
{
    for (int i = 0; i < out->count; i++)
        vs_free(out->values[i]);
}

static struct outcome run_row(const struct op_case *oc, enum vs_dtype dtype,
                              const struct eng_device *device)
{
    struct outcome out = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct op_run run;
    struct rig rig;

    if (device)
        rig_init_on(&rig, device);
    else
        rig_init(&rig, false);
    op_run_begin(&run, rig.e, oc, dtype);
    if (op_run_forward(&run)) {
        op_run_make_weights(&run, false);
        op_run_backward(&run);
    }
    eng_device_wait(rig.e);
    out.is_refused = eng_failure_take(rig.e, &err) != VS_OK;
    snprintf(out.why, sizeof(out.why), "%.250s", err.text);
    for (int k = 0; k < run.out_count && !out.is_refused; k++)
        keep(&out, run.outs[k]);
    for (int k = 0; k < run.leaf_count && !out.is_refused; k++)
        keep(&out, run.leaves[k]->grad);
    op_run_end(&run);
    rig_release(&rig);
    return out;
}

static bool is_same_value(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

/* The largest distance as a part of the largest value; infinite where one is finite and the other not. */
static double distance(const double *a, const double *b, int64_t n)
{
    double scale = 0;
    double far = 0;

    for (int64_t i = 0; i < n; i++)
        if (isfinite(b[i]))
            scale = fmax(scale, fabs(b[i]));
    for (int64_t i = 0; i < n; i++) {
        if (is_same_value(a[i], b[i]))
            continue;
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return (double)INFINITY;
        far = fmax(far, fabs(a[i] - b[i]));
    }
    return far > 0 ? far / fmax(scale, 1e-6) : 0;
}

/* Puts what differs into why, or nothing; `far` is the largest distance. */
static void compare(const struct outcome *ours, const struct outcome *again,
                    const struct outcome *cpu, double bound, double *far, char *why, size_t size)
{
    *far = 0;
    why[0] = '\0';
    if (ours->is_refused || cpu->is_refused) {
        if (ours->is_refused != cpu->is_refused)
            snprintf(why, size, "%s: %s", ours->is_refused ? "the device fails" : "the CPU fails",
                     ours->is_refused ? ours->why : cpu->why);
        return;
    }
    for (int k = 0; k < cpu->count && !*why; k++) {
        double d;

        if (k >= ours->count || ours->counts[k] != cpu->counts[k]) {
            snprintf(why, size, "tensor %d is not there on both", k);
            return;
        }
        d = distance(ours->values[k], cpu->values[k], cpu->counts[k]);
        *far = fmax(*far, d);
        if (!(d <= bound))
            snprintf(why, size, "tensor %d differs by %.3g of its largest value", k, d);
        for (int64_t i = 0; i < cpu->counts[k] && !*why; i++)
            if (!is_same_value(ours->values[k][i], again->values[k][i]))
                snprintf(why, size, "tensor %d is another one the second time", k);
    }
}

static const char *const IDS[] = {
/* clang-format off */
#define OP(id, ...) #id,
#include "engine/core/op.def"
#undef OP
    /* clang-format on */
};

static void check_row(struct check *c, const struct op_case *oc, size_t d)
{
    struct outcome ours = run_row(oc, DTYPES[d].dtype, &c->device);
    struct outcome again = run_row(oc, DTYPES[d].dtype, &c->device);
    struct outcome cpu = run_row(oc, DTYPES[d].dtype, NULL);
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    char name[600];
    char why[400];
    double far;

    compare(&ours, &again, &cpu, DTYPES[d].bound, &far, why, sizeof(why));
    snprintf(name, sizeof(name), "%s %s%s%s %s", IDS[oc->op], oc->args, *oc->options ? " " : "",
             oc->options, vs_dtype_name(DTYPES[d].dtype));
    check_begin(&json, &text, name);
    vs_json_put_double(&json, "distance", far);
    if (cpu.is_refused)
        vs_json_put_string(&json, "refused", cpu.why);
    check_end(c, &json, &text, name, why);
    outcome_release(&ours);
    outcome_release(&again);
    outcome_release(&cpu);
}

void check_ops(struct check *c)
{
    for (size_t d = 0; d < DTYPE_COUNT; d++)
        for (size_t i = 0; i < OP_CASE_COUNT; i++)
            if ((!c->is_few || i % FEW_EVERY == 0) && check_wants(c, IDS[OP_CASES[i].op]))
                check_row(c, &OP_CASES[i], d);
}
