/*
 * engine/ops/reduction/histc.c - counts of elements by equal intervals.
 *
 * Must not know:  models.
 * Invariant:      the counts have the dtype of the input; what lies outside of [min, max] is not counted.
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* The smallest and the largest of n values, as torch.histc takes them if min and max are equal. */
static void range_of(const double *values, int64_t n, double *low, double *high)
{
    *low = *high = n ? values[0] : 0;
    for (int64_t i = 1; i < n; i++) {
        *low = fmin(*low, values[i]);
        *high = fmax(*high, values[i]);
    }
}

static void count(const double *values, int64_t n, double low, double high, int64_t bins,
                  double *counts)
{
    for (int64_t i = 0; i < bins; i++)
        counts[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t bin;

        if (!(values[i] >= low && values[i] <= high))
            continue;
        bin = (int64_t)((values[i] - low) / (high - low) * (double)bins);
        counts[bin < bins ? bin : bins - 1] += 1;
    }
}

/*
 * Without a range the smallest and the largest element are found on the device, and read; up to PyTorch 2.11 one after
 * the other.
 */
static void extrema_pass(struct eng *e, struct eng_tensor *x)
{
    const bool is_apart = eng_torch(e) <= 11;
    struct eng_tensor *found[2] = {NULL};

    for (int i = 0; i < 2; i++) {
        found[i] = eng_empty(e, NULL, 0, (enum vs_dtype)x->dtype, x->storage->on_host);
        if (is_apart || i == 1)
            eng_unref(eng_contiguous(e, x));
        if (is_apart) {
            eng_unref(found[i]);
            found[i] = NULL;
        }
    }
    eng_unref(found[0]);
    eng_unref(found[1]);
}

/* (input, bins, min, max) */
void eng_f_histc(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_histc_input), *out;
    int64_t bins = eng_c_int(c, ARG_histc_bins);
    double low = eng_c_float(c, ARG_histc_min), high = eng_c_float(c, ARG_histc_max);

    if (bins <= 0) {
        eng_fail(c->e, VS_E_VALUE, "bins must be > 0");
        return;
    }
    if (low > high) {
        eng_fail(c->e, VS_E_VALUE, "max must be larger than min");
        return;
    }
    if (x->dtype == VS_F16 || x->dtype == VS_BF16 || x->dtype == VS_BOOL) {
        eng_fail(c->e, VS_E_TYPE, "histc is not implemented for %s: convert with .float()",
                 vs_dtype_name((enum vs_dtype)x->dtype));
        return;
    }
    out = eng_c_empty(c, &bins, 1, (enum vs_dtype)x->dtype, x);
    if (low == high && eng_numel(x))
        extrema_pass(c->e, x);
    if (out && eng_c_computes(c)) {
        struct eng_tensor *values = eng_empty(c->e, x->sizes, x->ndim, VS_F64, true);
        struct eng_tensor *counts = eng_empty(c->e, &bins, 1, VS_F64, true);

        if (values && counts) {
            struct eng_view from = eng_v(x), to = eng_v(values), of = eng_v(counts),
                            vo = eng_v(out);

            c->e->kernels->copy(&from, &to);
            if (low == high)
                range_of(to.data, eng_numel(x), &low, &high);
            if (low == high) {
                low -= 1;
                high += 1;
            }
            count(to.data, eng_numel(x), low, high, bins, of.data);
            c->e->kernels->copy(&of, &vo);
        }
        eng_unref(counts);
        eng_unref(values);
    }
    eng_c_give(c, out);
}
