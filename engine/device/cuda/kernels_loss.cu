/*
 * engine/device/cuda/kernels_loss.cu - negative log likelihood loss and its gradient.
 *
 * For:            the table.
 * Must not know:  softmax.
 * Invariant:      sums are computed in double, by one team.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_views.cuh"

struct nll {
    cuda_view x; /* or its gradient */
    cuda_view target, weight, g, out, total;
    int64_t length, count, ignore;
    int reduction;
};

VS_GPU static int64_t target_at(const nll &j, int64_t i)
{
    return cuda_get<int64_t>(j.target, i / j.length * j.target.strides[0] +
                                           i % j.length * j.target.strides[1]);
}

VS_GPU static double weight_of(const nll &j, int64_t t)
{
    if (t == j.ignore)
        return 0.0;
    return j.weight.ndim >= 0 ? cuda_get<double>(j.weight, t * j.weight.strides[0]) : 1.0;
}

VS_GPU static int64_t place(const nll &j, int64_t i, int64_t t)
{
    return i / j.length * j.x.strides[0] + t * j.x.strides[1] + i % j.length * j.x.strides[2];
}

VS_GPU static double term(const nll &j, int64_t i)
{
    int64_t t = target_at(j, i);

    return t == j.ignore ? 0.0 : -weight_of(j, t) * cuda_get<double>(j.x, place(j, i, t));
}

static bool targets_fit(const nll &j, int64_t classes)
{
    int *flag = cuda_flag();

    cuda_each(j.count, VS_BODY(int64_t i) {
        int64_t t = target_at(j, i);

        if (t != j.ignore && (t < 0 || t >= classes))
            *flag = 1;
    });
    return !cuda_flag_raised();
}

bool cuda_nll_loss(const struct eng_view *x, const struct eng_view *target,
                   const struct eng_view *weight, int reduction, int64_t ignore_index,
                   const struct eng_view *out, const struct eng_view *total_weight)
{
    if (cuda_all_host(x, target, weight, out))
        return cuda_host()->nll_loss(x, target, weight, reduction, ignore_index, out, total_weight);
    cuda_call call;
    nll j;

    j.x = call.in(x, true);
    j.target = call.in(target, true);
    j.weight = call.in(weight, true);
    j.g = call.in(NULL);
    j.out = call.out(out, true);
    j.total = call.out(total_weight, true);
    j.length = target->sizes[1];
    j.count = cuda_numel(target);
    j.ignore = ignore_index;
    j.reduction = reduction;
    if (!targets_fit(j, x->sizes[1]))
        return false;
    if (reduction == 0)
        cuda_each(j.count, VS_BODY(int64_t i) {
            cuda_put<double>(j.out,
                             i / j.length * j.out.strides[0] + i % j.length * j.out.strides[1],
                             term(j, i));
        });
    cuda_lines(1, VS_BODY(int64_t, cuda_team & team) {
        double sum = team.sum(j.count, [&](int64_t i) { return term(j, i); });
        double total = team.sum(j.count, [&](int64_t i) { return weight_of(j, target_at(j, i)); });

        team.each(1, [&](int64_t) {
            if (j.reduction != 0)
                cuda_put<double>(j.out, 0, j.reduction == 1 ? sum / total : sum);
            if (j.total.data)
                cuda_put<double>(j.total, 0, j.reduction == 0 ? 0.0 : total);
        });
    });
    return true;
}

void cuda_nll_loss_backward(const struct eng_view *g, const struct eng_view *target,
                            const struct eng_view *weight, int reduction, int64_t ignore_index,
                            const struct eng_view *total_weight, const struct eng_view *gx)
{
    struct eng_scalar zero = {false, 0, 0.0};

    if (cuda_all_host(g, target, gx)) {
        cuda_host()->nll_loss_backward(g, target, weight, reduction, ignore_index, total_weight,
                                       gx);
        return;
    }
    cuda_fill(gx, zero);
    cuda_call call;
    nll j;

    j.x = call.out(gx, true);
    j.target = call.in(target, true);
    j.weight = call.in(weight, true);
    j.g = call.in(g, true);
    j.out = call.in(NULL);
    j.total = call.in(reduction == 1 ? total_weight : NULL, true);
    j.length = target->sizes[1];
    j.count = cuda_numel(target);
    j.ignore = ignore_index;
    j.reduction = reduction;
    cuda_each(j.count, VS_BODY(int64_t i) {
        int64_t t = target_at(j, i);
        double v = j.reduction == 1 ? 1.0 / cuda_get<double>(j.total, 0) : 1.0;

        if (t == j.ignore)
            return;
        v *= cuda_get<double>(j.g, j.reduction != 0 ? 0
                                                    : i / j.length * j.g.strides[0] +
                                                          i % j.length * j.g.strides[1]);
        cuda_put<double>(j.x, place(j, i, t), -v * weight_of(j, t));
    });
}
