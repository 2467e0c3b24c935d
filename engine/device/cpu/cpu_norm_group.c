/*
 * engine/device/cpu/cpu_norm_group.c - group norm: x [N,C,L], statistics of each (n, group) of C/groups channels.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  autograd.
 * Invariant:      per channel: y = x*a + b with a = rstd*w, b = bias - mean*a. The gradients need for every (n,
 *                 channel) the sums of g and of g*(x-mean); those are computed first, in double.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_norm.h"

struct gn_job {
    const struct cpu_num *num;
    const struct eng_view *g;
    const struct eng_view *x;
    const struct eng_view *w;
    const struct eng_view *b;
    const struct eng_view *mean;
    const struct eng_view *rstd;
    const struct eng_view *out; /* or the gradient of x */
    int64_t groups;
    int64_t channels; /* of a group */
    double eps;
    double *sums; /* [N][C][2]: of g, of g*(x-mean) */
};

static double stat_get(const struct eng_view *v, int64_t n, int64_t group)
{
    return cpu_get_f64(v->dtype,
                       (const char *)v->data + n * cpu_stride(v, 0) + group * cpu_stride(v, 1));
}

static void stat_set(const struct eng_view *v, int64_t n, int64_t group, double value)
{
    cpu_set_f64(v->dtype, (char *)v->data + n * cpu_stride(v, 0) + group * cpu_stride(v, 1), value);
}

static char *place(const struct eng_view *v, int64_t n, int64_t c, int64_t l)
{
    return (char *)v->data + n * cpu_stride(v, 0) + c * cpu_stride(v, 1) + l * cpu_stride(v, 2);
}

static const void *read_piece(const struct gn_job *j, const struct eng_view *v, int64_t n,
                              int64_t c, int64_t l, int64_t count, void *buf)
{
    return cpu_read(j->num, v->dtype, place(v, n, c, l), cpu_stride(v, 2), count, buf);
}

static void forward_group(void *ctx, int64_t task)
{
    const struct gn_job *j = ctx;
    const struct cpu_num *num = j->num;
    int64_t buf[2][CPU_CHUNK];
    int64_t n = task / j->groups;
    int64_t c0 = task % j->groups * j->channels;
    int64_t length = j->x->sizes[2];
    double count = (double)(j->channels * length);
    double mean = 0.0;
    double sq = 0.0;
    double rstd;

    for (int64_t c = c0; c < c0 + j->channels; c++) {
        for (int64_t l = 0; l < length; l += CPU_CHUNK) {
            int64_t m = cpu_min(CPU_CHUNK, length - l);

            mean += num->sum(m, read_piece(j, j->x, n, c, l, m, buf[0]));
        }
    }
    mean /= count;
    for (int64_t c = c0; c < c0 + j->channels; c++) {
        for (int64_t l = 0; l < length; l += CPU_CHUNK) {
            int64_t m = cpu_min(CPU_CHUNK, length - l);

            sq += num->sq_dev(m, read_piece(j, j->x, n, c, l, m, buf[0]), mean);
        }
    }
    rstd = 1.0 / sqrt(sq / count + j->eps);
    stat_set(j->mean, n, task % j->groups, mean);
    stat_set(j->rstd, n, task % j->groups, rstd);
    for (int64_t c = c0; c < c0 + j->channels; c++) {
        double a = rstd * cpu_vec_get(j->w, c, 1.0);
        double b = cpu_vec_get(j->b, c, 0.0) - mean * a;

        for (int64_t l = 0; l < length; l += CPU_CHUNK) {
            int64_t m = cpu_min(CPU_CHUNK, length - l);

            num->affine(m, read_piece(j, j->x, n, c, l, m, buf[0]), a, b, buf[1]);
            num->store(buf[1], m, j->out->dtype, place(j->out, n, c, l), cpu_stride(j->out, 2));
        }
    }
}

void cpu_group_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                    int64_t groups, double eps, const struct eng_view *out,
                    const struct eng_view *mean, const struct eng_view *rstd)
{
    struct gn_job j = {.num = cpu_num_of(x->dtype),
                       .x = x,
                       .w = w,
                       .b = b,
                       .mean = mean,
                       .rstd = rstd,
                       .out = out,
                       .groups = groups,
                       .channels = x->sizes[1] / groups,
                       .eps = eps};

    VS_ASSERT(x->ndim == 3 && vs_dtype_is_floating(x->dtype) && j.channels * groups == x->sizes[1]);
    if (cpu_numel(x) == 0)
        return;
    cpu_parallel(x->sizes[0] * groups, forward_group, &j);
}

/* Sums of one (n, group), then the gradient of x there. */
static void backward_group(void *ctx, int64_t task)
{
    const struct gn_job *j = ctx;
    const struct cpu_num *num = j->num;
    int64_t buf[3][CPU_CHUNK];
    int64_t n = task / j->groups;
    int64_t c0 = task % j->groups * j->channels;
    int64_t length = j->x->sizes[2];
    double mean = stat_get(j->mean, n, task % j->groups);
    double rstd = stat_get(j->rstd, n, task % j->groups);
    double count = (double)(j->channels * length);
    double gsum = 0.0;
    double gdot = 0.0;

    for (int64_t c = c0; c < c0 + j->channels; c++) {
        double *sums = j->sums + 2 * (n * j->x->sizes[1] + c);
        double w = cpu_vec_get(j->w, c, 1.0);

        for (int64_t l = 0; l < length; l += CPU_CHUNK) {
            int64_t m = cpu_min(CPU_CHUNK, length - l);
            const void *g = read_piece(j, j->g, n, c, l, m, buf[0]);

            sums[0] += num->sum(m, g);
            sums[1] += num->dot_dev(m, g, read_piece(j, j->x, n, c, l, m, buf[1]), mean);
        }
        gsum += w * sums[0];
        gdot += w * sums[1];
    }
    if (!j->out)
        return;
    for (int64_t c = c0; c < c0 + j->channels; c++) {
        double w = cpu_vec_get(j->w, c, 1.0);

        /* ((g*w - gsum/count) - (x-mean)*rstd^2*gdot/count) * rstd, with w taken out of the bracket */
        for (int64_t l = 0; l < length; l += CPU_CHUNK) {
            int64_t m = cpu_min(CPU_CHUNK, length - l);

            num->scale(m, read_piece(j, j->g, n, c, l, m, buf[0]), w, buf[2]);
            num->bn_back(m, buf[2], read_piece(j, j->x, n, c, l, m, buf[1]), mean,
                         gdot * rstd * rstd / count, gsum / count, rstd, buf[0]);
            num->store(buf[0], m, j->out->dtype, place(j->out, n, c, l), cpu_stride(j->out, 2));
        }
    }
}

static void write_params(const struct gn_job *j, const struct eng_view *gw,
                         const struct eng_view *gb)
{
    for (int64_t c = 0; c < j->x->sizes[1]; c++) {
        double w = 0.0;
        double b = 0.0;

        for (int64_t n = 0; n < j->x->sizes[0]; n++) {
            const double *sums = j->sums + 2 * (n * j->x->sizes[1] + c);

            b += sums[0];
            w += sums[1] * stat_get(j->rstd, n, c / j->channels);
        }
        if (gw)
            cpu_vec_set(gw, c, w);
        if (gb)
            cpu_vec_set(gb, c, b);
    }
}

void cpu_group_norm_backward(const struct eng_view *g, const struct eng_view *x,
                             const struct eng_view *w, const struct eng_view *mean,
                             const struct eng_view *rstd, int64_t groups, const struct eng_view *gx,
                             const struct eng_view *gw, const struct eng_view *gb)
{
    struct gn_job j = {.num = cpu_num_of(x->dtype),
                       .g = g,
                       .x = x,
                       .w = w,
                       .mean = mean,
                       .rstd = rstd,
                       .out = gx,
                       .groups = groups,
                       .channels = x->sizes[1] / groups};
    size_t bytes = 2 * (size_t)cpu_max(1, x->sizes[0] * x->sizes[1]) * sizeof(double);

    VS_ASSERT(x->ndim == 3 && vs_dtype_is_floating(x->dtype) && j.channels * groups == x->sizes[1]);
    j.sums = cpu_mem_get(bytes);
    memset(j.sums, 0, bytes);
    if (cpu_numel(x) > 0)
        cpu_parallel(x->sizes[0] * groups, backward_group, &j);
    write_params(&j, gw, gb);
    cpu_mem_put(j.sums, bytes);
}
