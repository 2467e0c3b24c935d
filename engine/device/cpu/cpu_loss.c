/*
 * engine/device/cpu/cpu_loss.c - negative log likelihood: x [N,C,L], target [N,L].
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  softmax.
 * Invariant:      sums in double, in row-major order of the targets. An ignored target counts neither in the sum nor in
 *                 the total weight, and its gradient is 0.
 */
#include "base/error.h"
#include "engine/device/cpu/cpu_index.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_norm.h"

static int64_t target_at(const struct eng_view *target, int64_t n, int64_t l)
{
    return cpu_get_i64(target->dtype, (const char *)target->data + n * cpu_stride(target, 0) +
                                          l * cpu_stride(target, 1));
}

static char *element(const struct eng_view *x, int64_t n, int64_t c, int64_t l)
{
    return (char *)x->data + n * cpu_stride(x, 0) + c * cpu_stride(x, 1) + l * cpu_stride(x, 2);
}

static bool targets_fit(const struct eng_view *target, int64_t classes, int64_t ignore_index)
{
    for (int64_t n = 0; n < target->sizes[0]; n++) {
        for (int64_t l = 0; l < target->sizes[1]; l++) {
            int64_t t = target_at(target, n, l);

            if (t != ignore_index && (t < 0 || t >= classes))
                return false;
        }
    }
    return true;
}

bool cpu_nll_loss(const struct eng_view *x, const struct eng_view *target,
                  const struct eng_view *weight, int reduction, int64_t ignore_index,
                  const struct eng_view *out, const struct eng_view *total_weight)
{
    double sum = 0.0;
    double total = 0.0;

    VS_ASSERT(x->ndim == 3 && target->ndim == 2 && vs_dtype_is_floating(x->dtype));
    if (!targets_fit(target, x->sizes[1], ignore_index))
        return false;
    for (int64_t n = 0; n < target->sizes[0]; n++) {
        for (int64_t l = 0; l < target->sizes[1]; l++) {
            int64_t t = target_at(target, n, l);
            bool counts = t != ignore_index;
            double w = counts ? cpu_vec_get(weight, t, 1.0) : 0.0;
            double v = counts ? -w * cpu_get_f64(x->dtype, element(x, n, t, l)) : 0.0;

            sum += v;
            total += w;
            if (reduction == 0)
                cpu_set_f64(out->dtype,
                            (char *)out->data + n * cpu_stride(out, 0) + l * cpu_stride(out, 1), v);
        }
    }
    if (reduction != 0)
        cpu_set_f64(out->dtype, out->data, reduction == 1 ? sum / total : sum);
    if (total_weight)
        cpu_set_f64(total_weight->dtype, total_weight->data, reduction == 0 ? 0.0 : total);
    return true;
}

void cpu_nll_loss_backward(const struct eng_view *g, const struct eng_view *target,
                           const struct eng_view *weight, int reduction, int64_t ignore_index,
                           const struct eng_view *total_weight, const struct eng_view *gx)
{
    struct eng_scalar zero = {.is_int = false};
    double scale = 1.0;

    VS_ASSERT(gx->ndim == 3 && target->ndim == 2 && vs_dtype_is_floating(gx->dtype));
    cpu_fill(gx, zero);
    if (reduction == 1)
        scale = 1.0 / cpu_get_f64(total_weight->dtype, total_weight->data);
    if (reduction != 0)
        scale *= cpu_get_f64(g->dtype, g->data);
    for (int64_t n = 0; n < target->sizes[0]; n++) {
        for (int64_t l = 0; l < target->sizes[1]; l++) {
            int64_t t = target_at(target, n, l);
            double v = scale;

            if (t == ignore_index)
                continue;
            VS_ASSERT(t >= 0 && t < gx->sizes[1]);
            if (reduction == 0)
                v = cpu_get_f64(g->dtype, (const char *)g->data + n * cpu_stride(g, 0) +
                                              l * cpu_stride(g, 1));
            cpu_set_f64(gx->dtype, element(gx, n, t, l), -v * cpu_vec_get(weight, t, 1.0));
        }
    }
}
