/*
 * engine/device/cpu/cpu_norm_batch.c - batch normalisation: x [N,C,L], statistics of each channel over N and L.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  autograd.
 * Invariant:      one task per channel; the variance takes two passes. invstd = 1/sqrt(var + eps), var biased; the
 *                 running variance uses the unbiased one.
 */
#include <math.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_norm.h"

struct bn_job {
    const struct cpu_num *num;
    const struct eng_view *g;
    const struct eng_view *x;
    const struct eng_view *w;
    const struct eng_view *b;
    const struct eng_view *running_mean;
    const struct eng_view *running_var;
    const struct eng_view *mean;
    const struct eng_view *invstd;
    const struct eng_view *out; /* or the gradient of x */
    const struct eng_view *gw;
    const struct eng_view *gb;
    double momentum;
    double eps;
    bool train;
};

/* A piece of a channel: chunk by chunk through all (n, l). */
struct walk {
    int64_t n;
    int64_t l;
    int64_t count; /* numbers of this piece; 0: the end */
};

/* Next piece of x's channels; at most CPU_CHUNK numbers of one row unless the row is plain. */
static bool walk_next(struct walk *k, const struct eng_view *x)
{
    k->l += k->count;
    if (k->l >= x->sizes[2]) {
        k->l = 0;
        k->n++;
    }
    k->count = cpu_min(CPU_CHUNK, x->sizes[2] - k->l);
    return k->n < x->sizes[0] && k->count > 0;
}

static char *place(const struct eng_view *v, const struct walk *k, int64_t channel)
{
    return (char *)v->data + k->n * cpu_stride(v, 0) + channel * cpu_stride(v, 1) +
           k->l * cpu_stride(v, 2);
}

static const void *read_piece(const struct bn_job *j, const struct eng_view *v,
                              const struct walk *k, int64_t channel, void *buf)
{
    return cpu_read(j->num, v->dtype, place(v, k, channel), cpu_stride(v, 2), k->count, buf);
}

static const struct walk walk_start = {.n = 0, .l = 0, .count = 0};

static void channel_stats(const struct bn_job *j, int64_t c, double *mean, double *var_sum)
{
    int64_t buf[CPU_CHUNK];
    double n = (double)(j->x->sizes[0] * j->x->sizes[2]);
    double sum = 0.0;
    double sq = 0.0;

    for (struct walk k = walk_start; walk_next(&k, j->x);)
        sum += j->num->sum(k.count, read_piece(j, j->x, &k, c, buf));
    *mean = sum / n;
    for (struct walk k = walk_start; walk_next(&k, j->x);)
        sq += j->num->sq_dev(k.count, read_piece(j, j->x, &k, c, buf), *mean);
    *var_sum = sq;
}

/* out = x*a + b over the channel */
static void channel_affine(const struct bn_job *j, int64_t c, double a, double b)
{
    int64_t buf[2][CPU_CHUNK];

    for (struct walk k = walk_start; walk_next(&k, j->x);) {
        const void *x = read_piece(j, j->x, &k, c, buf[0]);
        char *dst = place(j->out, &k, c);
        void *y = x == dst ? buf[1]
                           : cpu_write(j->num, j->out->dtype, dst, cpu_stride(j->out, 2), buf[1]);

        j->num->affine(k.count, x, a, b, y);
        if (y == buf[1])
            j->num->store(y, k.count, j->out->dtype, dst, cpu_stride(j->out, 2));
    }
}

static void update(const struct eng_view *running, int64_t c, double momentum, double value)
{
    if (running)
        cpu_vec_set(running, c, (1.0 - momentum) * cpu_vec_get(running, c, 0.0) + momentum * value);
}

static void train_channel(void *ctx, int64_t c)
{
    const struct bn_job *j = ctx;
    double n = (double)(j->x->sizes[0] * j->x->sizes[2]);
    double mean;
    double sq;
    double invstd;
    double a;

    channel_stats(j, c, &mean, &sq);
    invstd = 1.0 / sqrt(sq / n + j->eps);
    cpu_vec_set(j->mean, c, mean);
    cpu_vec_set(j->invstd, c, invstd);
    update(j->running_mean, c, j->momentum, mean);
    update(j->running_var, c, j->momentum, sq / (n - 1.0));
    a = invstd * cpu_vec_get(j->w, c, 1.0);
    channel_affine(j, c, a, cpu_vec_get(j->b, c, 0.0) - mean * a);
}

void cpu_batch_norm_train(const struct eng_view *x, const struct eng_view *w,
                          const struct eng_view *b, const struct eng_view *running_mean,
                          const struct eng_view *running_var, double momentum, double eps,
                          const struct eng_view *out, const struct eng_view *save_mean,
                          const struct eng_view *save_invstd)
{
    struct bn_job j = {.num = cpu_num_of(x->dtype),
                       .x = x,
                       .w = w,
                       .b = b,
                       .running_mean = running_mean,
                       .running_var = running_var,
                       .mean = save_mean,
                       .invstd = save_invstd,
                       .out = out,
                       .momentum = momentum,
                       .eps = eps};

    VS_ASSERT(x->ndim == 3 && out->ndim == 3 && vs_dtype_is_floating(x->dtype));
    if (cpu_numel(x) == 0)
        return;
    cpu_parallel(x->sizes[1], train_channel, &j);
}

static void eval_channel(void *ctx, int64_t c)
{
    const struct bn_job *j = ctx;
    double invstd = 1.0 / sqrt(cpu_vec_get(j->running_var, c, 1.0) + j->eps);
    double a = invstd * cpu_vec_get(j->w, c, 1.0);

    channel_affine(j, c, a, cpu_vec_get(j->b, c, 0.0) - cpu_vec_get(j->running_mean, c, 0.0) * a);
}

void cpu_batch_norm_eval(const struct eng_view *x, const struct eng_view *w,
                         const struct eng_view *b, const struct eng_view *running_mean,
                         const struct eng_view *running_var, double eps, const struct eng_view *out)
{
    struct bn_job j = {.num = cpu_num_of(x->dtype),
                       .x = x,
                       .w = w,
                       .b = b,
                       .running_mean = running_mean,
                       .running_var = running_var,
                       .out = out,
                       .eps = eps};

    VS_ASSERT(x->ndim == 3 && out->ndim == 3 && vs_dtype_is_floating(x->dtype));
    if (cpu_numel(x) == 0)
        return;
    cpu_parallel(x->sizes[1], eval_channel, &j);
}

/* gw = sum g*(x-mean)*invstd, gb = sum g; gx = (g - gb/n - (x-mean)*invstd*gw/n) * invstd*w, or g*invstd*w. */
static void backward_channel(void *ctx, int64_t c)
{
    const struct bn_job *j = ctx;
    int64_t buf[3][CPU_CHUNK];
    double n = (double)(j->x->sizes[0] * j->x->sizes[2]);
    double mean = cpu_vec_get(j->mean, c, 0.0);
    double invstd = cpu_vec_get(j->invstd, c, 1.0);
    double sum = 0.0;
    double dot = 0.0;
    double scale = invstd * cpu_vec_get(j->w, c, 1.0);

    for (struct walk k = walk_start; walk_next(&k, j->x);) {
        const void *g = read_piece(j, j->g, &k, c, buf[0]);

        sum += j->num->sum(k.count, g);
        dot += j->num->dot_dev(k.count, g, read_piece(j, j->x, &k, c, buf[1]), mean);
    }
    if (j->gw)
        cpu_vec_set(j->gw, c, dot * invstd);
    if (j->gb)
        cpu_vec_set(j->gb, c, sum);
    if (!j->out)
        return;
    for (struct walk k = walk_start; walk_next(&k, j->x);) {
        const void *g = read_piece(j, j->g, &k, c, buf[0]);
        const void *x = read_piece(j, j->x, &k, c, buf[1]);
        char *dst = place(j->out, &k, c);
        void *y = g == dst || x == dst
                      ? buf[2]
                      : cpu_write(j->num, j->out->dtype, dst, cpu_stride(j->out, 2), buf[2]);

        if (j->train)
            j->num->bn_back(k.count, g, x, mean, dot * invstd * invstd / n, sum / n, scale, y);
        else
            j->num->scale(k.count, g, scale, y);
        if (y == buf[2])
            j->num->store(y, k.count, j->out->dtype, dst, cpu_stride(j->out, 2));
    }
}

void cpu_batch_norm_backward(const struct eng_view *g, const struct eng_view *x,
                             const struct eng_view *w, const struct eng_view *mean,
                             const struct eng_view *invstd, bool train, const struct eng_view *gx,
                             const struct eng_view *gw, const struct eng_view *gb)
{
    struct bn_job j = {.num = cpu_num_of(x->dtype),
                       .g = g,
                       .x = x,
                       .w = w,
                       .mean = mean,
                       .invstd = invstd,
                       .out = gx,
                       .gw = gw,
                       .gb = gb,
                       .train = train};

    VS_ASSERT(x->ndim == 3 && g->ndim == 3 && vs_dtype_is_floating(x->dtype));
    cpu_parallel(x->sizes[1], backward_channel, &j);
}
