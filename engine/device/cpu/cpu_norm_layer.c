/*
 * engine/device/cpu/cpu_norm_layer.c - layer norm and rms norm: x [M,N], each row by its own statistics.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  autograd.
 * Invariant:      gradients of w and b are sums in double over at most MAX_SUMS blocks of rows, the blocks added in
 *                 order. rms norm is layer norm with mean 0, without b.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_norm.h"

#define FEW 16     /* rows added up before the sum goes to double */
#define MAX_SUMS 8 /* partial sums of the gradients of w and b: bounds the scratch */

struct cpu_vec cpu_vec_open(const struct cpu_num *num, const struct eng_view *v)
{
    struct cpu_vec r = {NULL, NULL, 0};

    if (!v)
        return r;
    if (v->dtype == num->dtype && (v->strides[0] == 1 || v->sizes[0] == 1)) {
        r.p = v->data;
        return r;
    }
    r.bytes = (uint64_t)cpu_max(1, v->sizes[0]) * num->size;
    r.buf = cpu_mem_get(r.bytes);
    num->load(v->dtype, v->data, cpu_stride(v, 0), v->sizes[0], r.buf);
    r.p = r.buf;
    return r;
}

void cpu_vec_close(struct cpu_vec *vec)
{
    if (vec->buf)
        cpu_mem_put(vec->buf, vec->bytes);
}

struct ln_job {
    const struct cpu_num *num;
    const struct eng_view *g;
    const struct eng_view *x;
    const struct eng_view *mean; /* NULL: rms norm */
    const struct eng_view *rstd;
    const struct eng_view *out; /* or the gradient of x, NULL where not wanted */
    struct cpu_vec w;
    struct cpu_vec b;
    double eps;
    int64_t rows; /* of a task */
    double *gw;   /* [tasks][N], NULL where not wanted */
    double *gb;
};

static void forward_rows(void *ctx, int64_t task)
{
    const struct ln_job *j = ctx;
    const struct cpu_num *num = j->num;
    int64_t n = j->x->sizes[1];
    int64_t end = cpu_min((task + 1) * j->rows, j->x->sizes[0]);
    size_t bytes = 2 * (size_t)n * num->size;
    char *buf = cpu_mem_get(bytes);
    char *spare = buf + bytes / 2;

    for (int64_t r = task * j->rows; r < end; r++) {
        const char *src = (const char *)j->x->data + r * cpu_stride(j->x, 0);
        char *dst = (char *)j->out->data + r * cpu_stride(j->out, 0);
        const void *x = cpu_read(num, j->x->dtype, src, cpu_stride(j->x, 1), n, buf);
        void *y =
            x == dst ? spare : cpu_write(num, j->out->dtype, dst, cpu_stride(j->out, 1), spare);
        double mean = j->mean ? num->sum(n, x) / (double)n : 0.0;
        double rstd = 1.0 / sqrt(num->sq_dev(n, x, mean) / (double)n + j->eps);

        num->ln_apply(n, x, mean, rstd, j->w.p, j->b.p, y);
        if (y == spare)
            num->store(y, n, j->out->dtype, dst, cpu_stride(j->out, 1));
        if (j->mean)
            cpu_vec_set(j->mean, r, mean);
        cpu_vec_set(j->rstd, r, rstd);
    }
    cpu_mem_put(buf, bytes);
}

static void forward(struct ln_job *j, const struct eng_view *w, const struct eng_view *b)
{
    VS_ASSERT(j->x->ndim == 2 && vs_dtype_is_floating(j->x->dtype));
    if (cpu_numel(j->x) == 0)
        return;
    j->w = cpu_vec_open(j->num, w);
    j->b = cpu_vec_open(j->num, b);
    j->rows = cpu_max(1, 32768 / j->x->sizes[1]);
    cpu_parallel((j->x->sizes[0] + j->rows - 1) / j->rows, forward_rows, j);
    cpu_vec_close(&j->w);
    cpu_vec_close(&j->b);
}

/* Rows of a task, and the sums for the parameters: of a few rows in the type of arithmetic, of all in double. */
struct back {
    const struct ln_job *j;
    int64_t n;
    char *few_w; /* NULL where not wanted */
    char *few_b;
    double *gw;
    double *gb;
    char *rows; /* three */
};

static void flush(const struct back *b)
{
    const struct cpu_num *num = b->j->num;
    size_t row = (size_t)b->n * num->size;

    if (b->few_w) {
        num->fold_cols(CPU_FOLD_SUM, b->n, b->few_w, NULL, b->gw);
        memset(b->few_w, 0, row);
    }
    if (b->few_b) {
        num->fold_cols(CPU_FOLD_SUM, b->n, b->few_b, NULL, b->gb);
        memset(b->few_b, 0, row);
    }
}

/* gx = (g*w - mean(g*w) - (x-mean)*rstd^2*mean(g*w*(x-mean))) * rstd; without a mean the second term is 0. */
static void backward_row(const struct back *b, int64_t r)
{
    const struct ln_job *j = b->j;
    const struct cpu_num *num = j->num;
    int64_t n = b->n;
    size_t row = (size_t)n * num->size;
    const void *g = cpu_read(num, j->g->dtype, (const char *)j->g->data + r * cpu_stride(j->g, 0),
                             cpu_stride(j->g, 1), n, b->rows);
    const void *x = cpu_read(num, j->x->dtype, (const char *)j->x->data + r * cpu_stride(j->x, 0),
                             cpu_stride(j->x, 1), n, b->rows + row);
    char *spare = b->rows + 2 * row;
    double mean = j->mean ? cpu_vec_get(j->mean, r, 0.0) : 0.0;
    double rstd = cpu_vec_get(j->rstd, r, 1.0);
    double sums[2] = {0.0, 0.0};
    char *dst;
    void *y;

    num->ln_params(n, g, x, mean, rstd, b->few_w, b->few_b);
    if (!j->out)
        return;
    dst = (char *)j->out->data + r * cpu_stride(j->out, 0);
    y = x == dst || g == dst ? spare
                             : cpu_write(num, j->out->dtype, dst, cpu_stride(j->out, 1), spare);
    num->ln_sums(n, g, x, j->w.p, mean, sums);
    num->ln_back(n, g, x, j->w.p, mean, rstd, j->mean ? sums[1] / (double)n : 0.0,
                 sums[0] * rstd * rstd / (double)n, y);
    if (y == spare)
        num->store(y, n, j->out->dtype, dst, cpu_stride(j->out, 1));
}

static void backward_rows(void *ctx, int64_t task)
{
    const struct ln_job *j = ctx;
    int64_t n = j->x->sizes[1];
    int64_t first = task * j->rows;
    int64_t end = cpu_min(first + j->rows, j->x->sizes[0]);
    size_t row = (size_t)n * j->num->size;
    struct back b = {.j = j, .n = n, .rows = cpu_mem_get(5 * row)};

    memset(b.rows + 3 * row, 0, 2 * row);
    b.few_w = j->gw ? b.rows + 3 * row : NULL;
    b.few_b = j->gb ? b.rows + 4 * row : NULL;
    b.gw = j->gw ? j->gw + task * n : NULL;
    b.gb = j->gb ? j->gb + task * n : NULL;
    for (int64_t r = first; r < end; r++) {
        backward_row(&b, r);
        if ((r - first) % FEW == FEW - 1 || r == end - 1)
            flush(&b);
    }
    cpu_mem_put(b.rows, 5 * row);
}

/* Adds up the tasks' sums and writes them. */
static void finish(double *sums, int64_t tasks, int64_t n, const struct eng_view *out)
{
    const struct cpu_num *num = cpu_rows()->f64;

    if (!out)
        return;
    for (int64_t t = 1; t < tasks; t++)
        num->axpy(n, sums + t * n, 1.0, sums);
    num->store(sums, n, out->dtype, out->data, cpu_stride(out, 0));
}

static void backward(struct ln_job *j, const struct eng_view *w, const struct eng_view *gw,
                     const struct eng_view *gb)
{
    int64_t m = j->x->sizes[0];
    int64_t n = j->x->sizes[1];
    int64_t tasks;
    size_t bytes;
    double *sums;

    VS_ASSERT(j->x->ndim == 2 && vs_dtype_is_floating(j->x->dtype));
    if (n == 0)
        return;
    j->rows = cpu_max(cpu_max(1, 32768 / n), (m + MAX_SUMS - 1) / MAX_SUMS);
    tasks = cpu_max(1, (m + j->rows - 1) / j->rows);
    bytes = 2 * (size_t)(tasks * n) * sizeof(double);
    sums = cpu_mem_get(bytes);
    memset(sums, 0, bytes);
    j->gw = gw ? sums : NULL;
    j->gb = gb ? sums + tasks * n : NULL;
    j->w = cpu_vec_open(j->num, w);
    cpu_parallel((m + j->rows - 1) / j->rows, backward_rows, j);
    cpu_vec_close(&j->w);
    finish(j->gw, tasks, n, gw);
    finish(j->gb, tasks, n, gb);
    cpu_mem_put(sums, bytes);
}

void cpu_layer_norm(const struct eng_view *x, const struct eng_view *w, const struct eng_view *b,
                    double eps, const struct eng_view *out, const struct eng_view *mean,
                    const struct eng_view *rstd)
{
    struct ln_job j = {
        .num = cpu_num_of(x->dtype), .x = x, .mean = mean, .rstd = rstd, .out = out, .eps = eps};

    forward(&j, w, b);
}

void cpu_layer_norm_backward(const struct eng_view *g, const struct eng_view *x,
                             const struct eng_view *w, const struct eng_view *mean,
                             const struct eng_view *rstd, const struct eng_view *gx,
                             const struct eng_view *gw, const struct eng_view *gb)
{
    struct ln_job j = {
        .num = cpu_num_of(x->dtype), .g = g, .x = x, .mean = mean, .rstd = rstd, .out = gx};

    backward(&j, w, gw, gb);
}

void cpu_rms_norm(const struct eng_view *x, const struct eng_view *w, double eps,
                  const struct eng_view *out, const struct eng_view *rstd)
{
    struct ln_job j = {.num = cpu_num_of(x->dtype), .x = x, .rstd = rstd, .out = out, .eps = eps};

    forward(&j, w, NULL);
}

void cpu_rms_norm_backward(const struct eng_view *g, const struct eng_view *x,
                           const struct eng_view *w, const struct eng_view *rstd,
                           const struct eng_view *gx, const struct eng_view *gw)
{
    struct ln_job j = {.num = cpu_num_of(x->dtype), .g = g, .x = x, .rstd = rstd, .out = gx};

    backward(&j, w, gw, NULL);
}
