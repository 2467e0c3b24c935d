/*
 * engine/device/cpu/cpu_dim.c - kernels that work along one dim: max_dim, cumsum, sort.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  anything beyond one line at a time.
 * Invariant:      floating lines are handled in double, integer lines in int64_t, so no comparison is inexact; NaN is
 *                 greater than everything, and equal elements are ordered by index.
 */
#include <stdlib.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_lines.h"

union value {
    double f;
    int64_t i;
};

struct dim_job {
    const struct cpu_num *num; /* of double or int64_t */
    enum vs_dtype dtype[3];
    int64_t n;
    bool flag; /* is_max, descending */
};

static const struct cpu_num *wide(enum vs_dtype dtype)
{
    return vs_dtype_is_floating(dtype) ? cpu_rows()->f64 : cpu_rows()->i64;
}

static int64_t line_size(const struct eng_view *x, int dim)
{
    return x->ndim == 0 ? 1 : x->sizes[dim];
}

/* a before b in ascending order */
static bool is_less(bool is_int, union value a, union value b)
{
    if (is_int)
        return a.i < b.i;
    return a.f < b.f || (b.f != b.f && a.f == a.f);
}

static void max_line(void *ctx, const struct cpu_line *line)
{
    const struct dim_job *j = ctx;
    bool is_int = j->num->dtype == VS_I64;
    union value buf[CPU_CHUNK];
    union value best = {0};
    int64_t best_idx = -1;

    for (int64_t at = 0; at < j->n; at += CPU_CHUNK) {
        int64_t c = cpu_min(CPU_CHUNK, j->n - at);

        j->num->load(j->dtype[0], line->p[0] + at * line->stride[0], line->stride[0], c, buf);
        for (int64_t i = 0; i < c; i++) {
            bool nan = !is_int && buf[i].f != buf[i].f;
            bool had_nan = best_idx >= 0 && !is_int && best.f != best.f;
            bool better = best_idx < 0 || nan ||
                          (j->flag ? is_less(is_int, best, buf[i]) : is_less(is_int, buf[i], best));

            if (better && !had_nan) {
                best = buf[i];
                best_idx = at + i;
            }
        }
    }
    j->num->store(&best, 1, j->dtype[1], line->p[1], 0);
    cpu_set_i64(j->dtype[2], line->p[2], best_idx);
}

void cpu_max_dim(const struct eng_view *x, int dim, bool is_max, const struct eng_view *values,
                 const struct eng_view *indices)
{
    const struct eng_view *views[] = {x, values, indices};
    struct dim_job j = {
        wide(x->dtype), {x->dtype, values->dtype, indices->dtype}, line_size(x, dim), is_max};

    if (j.n == 0)
        return;
    cpu_lines_run(3, views, dim, j.n, 0, max_line, &j);
}

static void cumsum_line(void *ctx, const struct cpu_line *line)
{
    const struct dim_job *j = ctx;
    bool is_int = j->num->dtype == VS_I64;
    union value buf[CPU_CHUNK];
    union value acc = {0};

    if (!is_int)
        acc.f = 0.0;
    for (int64_t at = 0; at < j->n; at += CPU_CHUNK) {
        int64_t c = cpu_min(CPU_CHUNK, j->n - at);

        j->num->load(j->dtype[0], line->p[0] + at * line->stride[0], line->stride[0], c, buf);
        for (int64_t i = 0; i < c; i++) {
            if (is_int)
                acc.i = (int64_t)((uint64_t)acc.i + (uint64_t)buf[i].i);
            else
                acc.f += buf[i].f;
            buf[i] = acc;
        }
        j->num->store(buf, c, j->dtype[1], line->p[1] + at * line->stride[1], line->stride[1]);
    }
}

void cpu_cumsum(const struct eng_view *x, int dim, const struct eng_view *out)
{
    const struct eng_view *views[] = {x, out};
    struct dim_job j = {wide(vs_dtype_is_floating(out->dtype) ? out->dtype : x->dtype),
                        {x->dtype, out->dtype, VS_I64},
                        line_size(x, dim),
                        false};

    cpu_lines_run(2, views, dim, j.n, 0, cumsum_line, &j);
}

struct item {
    union value v;
    int64_t idx;
};

/* Stable merge of neighbouring sorted runs, doubling: from a into b and back. Returns where the result is. */
static struct item *merge_sort(struct item *a, struct item *b, int64_t n, bool is_int,
                               bool descending)
{
    for (int64_t w = 1; w < n; w *= 2) {
        struct item *t = a;

        for (int64_t lo = 0; lo < n; lo += 2 * w) {
            int64_t mid = cpu_min(lo + w, n);
            int64_t hi = cpu_min(lo + 2 * w, n);
            int64_t l = lo;
            int64_t r = mid;

            for (int64_t k = lo; k < hi; k++) {
                bool right = l >= mid || (r < hi && (descending ? is_less(is_int, a[l].v, a[r].v)
                                                                : is_less(is_int, a[r].v, a[l].v)));

                b[k] = right ? a[r++] : a[l++];
            }
        }
        a = b;
        b = t;
    }
    return a;
}

static void sort_line(void *ctx, const struct cpu_line *line)
{
    const struct dim_job *j = ctx;
    struct item *a = line->scratch;

    for (int64_t i = 0; i < j->n; i++) {
        j->num->load(j->dtype[0], line->p[0] + i * line->stride[0], 0, 1, &a[i].v);
        a[i].idx = i;
    }
    a = merge_sort(a, a + j->n, j->n, j->num->dtype == VS_I64, j->flag);
    for (int64_t i = 0; i < j->n; i++) {
        j->num->store(&a[i].v, 1, j->dtype[1], line->p[1] + i * line->stride[1], 0);
        cpu_set_i64(j->dtype[2], line->p[2] + i * line->stride[2], a[i].idx);
    }
}

void cpu_sort(const struct eng_view *x, int dim, bool descending, const struct eng_view *values,
              const struct eng_view *indices)
{
    const struct eng_view *views[] = {x, values, indices};
    struct dim_job j = {
        wide(x->dtype), {x->dtype, values->dtype, indices->dtype}, line_size(x, dim), descending};

    if (j.n == 0)
        return;
    cpu_lines_run(3, views, dim, 16 * j.n, (size_t)(2 * j.n) * sizeof(struct item), sort_line, &j);
}
