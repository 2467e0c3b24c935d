/*
 * engine/device/cpu/cpu_softmax.c - softmax and log_softmax along one dim, and their gradients.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  attention, losses.
 * Invariant:      computed in double where x or the result is f64, else in float with sums in double.
 */
#include <math.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_lines.h"

struct softmax_job {
    const struct cpu_num *num;
    enum vs_dtype dtype[3];
    int64_t n;
    bool is_log;
};

static void softmax_line(void *ctx, const struct cpu_line *line)
{
    const struct softmax_job *j = ctx;
    const struct cpu_num *num = j->num;
    char *a = line->scratch;
    char *b = a + (size_t)j->n * num->size;
    const void *x = cpu_read(num, j->dtype[0], line->p[0], line->stride[0], j->n, a);
    void *y = cpu_write(num, j->dtype[1], line->p[1], line->stride[1], a);
    double max = (double)-INFINITY;
    double sum;

    /* x is in place or in a; what follows reads it into b, and from b into y, which may be x */
    num->fold_row(CPU_FOLD_MAX, j->n, x, NULL, &max);
    if (j->is_log) {
        sum = num->exp_sub(j->n, x, max, NULL);
        num->affine(j->n, x, 1.0, -max, b);
        num->affine(j->n, b, 1.0, -log(sum), y);
    } else {
        sum = num->exp_sub(j->n, x, max, b);
        num->scale(j->n, b, 1.0 / sum, y);
    }
    cpu_write_end(num, j->dtype[1], line->p[1], line->stride[1], j->n, y);
}

static const struct cpu_num *softmax_num(enum vs_dtype a, enum vs_dtype b)
{
    return a == VS_F64 || b == VS_F64 ? cpu_rows()->f64 : cpu_rows()->f32;
}

void cpu_softmax(const struct eng_view *x, int dim, bool is_log, const struct eng_view *out)
{
    const struct eng_view *views[] = {x, out};
    struct softmax_job j = {.num = softmax_num(x->dtype, out->dtype),
                            .dtype = {x->dtype, out->dtype},
                            .n = x->ndim == 0 ? 1 : x->sizes[dim],
                            .is_log = is_log};

    VS_ASSERT(vs_dtype_is_floating(out->dtype));
    if (j.n == 0)
        return;
    cpu_lines_run(2, views, dim, 8 * j.n, (size_t)(2 * j.n) * j.num->size, softmax_line, &j);
}

static void softmax_back_line(void *ctx, const struct cpu_line *line)
{
    const struct softmax_job *j = ctx;
    const struct cpu_num *num = j->num;
    char *scratch = line->scratch;
    size_t row = (size_t)j->n * num->size;
    const void *g = cpu_read(num, j->dtype[0], line->p[0], line->stride[0], j->n, scratch);
    const void *o = cpu_read(num, j->dtype[1], line->p[1], line->stride[1], j->n, scratch + row);
    bool aliased = line->p[2] == line->p[0] || line->p[2] == line->p[1];
    void *out = scratch + 2 * row;

    if (!aliased)
        out = cpu_write(num, j->dtype[2], line->p[2], line->stride[2], out);
    if (j->is_log)
        num->log_softmax_back(j->n, g, o, num->sum(j->n, g), out);
    else
        num->softmax_back(j->n, g, o, num->dot(j->n, g, o), out);
    if (out != line->p[2])
        num->store(out, j->n, j->dtype[2], line->p[2], line->stride[2]);
}

void cpu_softmax_backward(const struct eng_view *g, const struct eng_view *y, int dim, bool is_log,
                          const struct eng_view *gx)
{
    const struct eng_view *views[] = {g, y, gx};
    struct softmax_job j = {.num = softmax_num(g->dtype, gx->dtype),
                            .dtype = {g->dtype, y->dtype, gx->dtype},
                            .n = g->ndim == 0 ? 1 : g->sizes[dim],
                            .is_log = is_log};

    VS_ASSERT(vs_dtype_is_floating(gx->dtype));
    if (j.n == 0)
        return;
    cpu_lines_run(3, views, dim, 8 * j.n, (size_t)(3 * j.n) * j.num->size, softmax_back_line, &j);
}
