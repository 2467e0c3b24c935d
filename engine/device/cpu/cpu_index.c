/*
 * engine/device/cpu/cpu_index.c - reading and writing along one dim by index: gather, scatter, index_select, index_add.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  embedding, advanced indexing.
 * Invariant:      indices are checked before anything is written; elements with the same destination are added
 *                 in order of their position, on one thread.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_index.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

struct check {
    enum vs_dtype dtype;
    int64_t low;
    int64_t high;
    bool ok;
};

static void check_row(void *ctx, int64_t index, int64_t n, char *const *data,
                      const int64_t *strides)
{
    struct check *c = ctx;
    int64_t buf[CPU_CHUNK];

    (void)index;
    for (int64_t at = 0; at < n && c->ok; at += CPU_CHUNK) {
        int64_t m = cpu_min(CPU_CHUNK, n - at);

        cpu_rows()->i64->load(c->dtype, data[0] + at * strides[0], strides[0], m, buf);
        for (int64_t i = 0; i < m; i++)
            c->ok = c->ok && buf[i] >= c->low && buf[i] < c->high;
    }
}

bool cpu_index_check(const struct eng_view *index, int64_t low, int64_t high)
{
    const struct eng_view *views[] = {index};
    struct check c = {index->dtype, low, high, true};
    struct cpu_iter it;

    cpu_iter_init(&it, 1, views, CPU_ORDER_ANY);
    cpu_iter_range(&it, 0, it.total, check_row, &c);
    return c.ok;
}

void cpu_element_add(const struct cpu_num *num, enum vs_dtype to, char *dst, enum vs_dtype from,
                     const char *src)
{
    int64_t a;
    int64_t b;
    int64_t y;

    num->load(to, dst, 0, 1, &a);
    num->load(from, src, 0, 1, &b);
    num->binary(ENG_B_ADD, 1, &a, &b, &y, NULL);
    num->store(&y, 1, to, dst, 0);
}

/* Elements of `index` visited with the element that it refers to: x or out at [..., index, ...]. */
struct along {
    int64_t stride; /* of the indexed dim of the indexed view, bytes */
    enum vs_dtype index_dtype;
    enum vs_dtype dtype; /* of the indexed view */
    enum vs_dtype src_dtype;
    const struct cpu_num *num; /* for accumulation */
    bool accumulate;
    size_t size;
};

/* operands: out, index, x without the dim */
static void gather_row(void *ctx, int64_t at, int64_t n, char *const *data, const int64_t *strides)
{
    const struct along *a = ctx;

    (void)at;
    for (int64_t i = 0; i < n; i++) {
        int64_t idx = cpu_get_i64(a->index_dtype, data[1] + i * strides[1]);

        memcpy(data[0] + i * strides[0], data[2] + i * strides[2] + idx * a->stride, a->size);
    }
}

/* operands: index, src, out without the dim */
static void scatter_row(void *ctx, int64_t at, int64_t n, char *const *data, const int64_t *strides)
{
    const struct along *a = ctx;

    (void)at;
    for (int64_t i = 0; i < n; i++) {
        int64_t idx = cpu_get_i64(a->index_dtype, data[0] + i * strides[0]);
        char *dst = data[2] + i * strides[2] + idx * a->stride;
        const char *src = data[1] + i * strides[1];

        if (a->accumulate)
            cpu_element_add(a->num, a->dtype, dst, a->src_dtype, src);
        else
            memcpy(dst, src, a->size);
    }
}

/* v seen through `index`: its sizes, and stride 0 along dim, whose stride goes to *stride. */
static struct eng_view without_dim(const struct eng_view *v, int dim, const struct eng_view *index,
                                   int64_t *stride)
{
    struct eng_view r = *v;

    *stride = v->ndim == 0 ? (int64_t)vs_dtype_bytes(v->dtype) : cpu_stride(v, dim);
    for (int d = 0; d < r.ndim; d++) {
        VS_ASSERT(d == dim || index->sizes[d] <= v->sizes[d]);
        r.sizes[d] = index->sizes[d];
    }
    if (r.ndim > 0)
        r.strides[dim] = 0;
    return r;
}

bool cpu_gather(const struct eng_view *x, int dim, const struct eng_view *index,
                const struct eng_view *out)
{
    struct along a = {
        .index_dtype = index->dtype, .dtype = x->dtype, .size = (size_t)vs_dtype_bytes(x->dtype)};
    struct eng_view rest;
    const struct eng_view *views[] = {out, index, &rest};
    struct cpu_iter it;

    VS_ASSERT(x->dtype == out->dtype && x->ndim == index->ndim);
    if (!cpu_index_check(index, 0, x->ndim == 0 ? 1 : x->sizes[dim]))
        return false;
    rest = without_dim(x, dim, index, &a.stride);
    cpu_iter_init(&it, 3, views, CPU_ORDER_ANY);
    cpu_iter_run(&it, 16384, gather_row, &a);
    return true;
}

/* out[..., index, ...] = or += src, element by element in row-major order */
static bool scatter_view(const struct eng_view *out, int dim, const struct eng_view *index,
                         const struct eng_view *src, bool accumulate)
{
    struct along a = {.index_dtype = index->dtype,
                      .dtype = out->dtype,
                      .src_dtype = src->dtype,
                      .num = cpu_num_of(out->dtype),
                      .accumulate = accumulate,
                      .size = (size_t)vs_dtype_bytes(out->dtype)};
    struct eng_view rest;
    const struct eng_view *views[] = {index, src, &rest};
    struct cpu_iter it;

    VS_ASSERT(out->ndim == index->ndim && (accumulate || src->dtype == out->dtype));
    if (!cpu_index_check(index, 0, out->ndim == 0 ? 1 : out->sizes[dim]))
        return false;
    rest = without_dim(out, dim, index, &a.stride);
    cpu_iter_init(&it, 3, views, CPU_ORDER_ROW_MAJOR);
    cpu_iter_range(&it, 0, it.total, scatter_row, &a);
    return true;
}

bool cpu_scatter(const struct eng_view *out, int dim, const struct eng_view *index,
                 const struct eng_view *src, struct eng_scalar value, bool accumulate)
{
    uint64_t one = 0;
    struct eng_view v = *index;

    if (src) {
        v = *src; /* may be larger than index: only its first part is read */
        for (int d = 0; d < v.ndim; d++) {
            VS_ASSERT(index->sizes[d] <= v.sizes[d]);
            v.sizes[d] = index->sizes[d];
        }
        return scatter_view(out, dim, index, &v, accumulate);
    }
    if (value.is_int && !vs_dtype_is_floating(out->dtype))
        cpu_set_i64(out->dtype, (char *)&one, value.i);
    else
        cpu_set_f64(out->dtype, (char *)&one, value.f);
    v.data = &one;
    v.dtype = out->dtype;
    for (int d = 0; d < v.ndim; d++)
        v.strides[d] = 0;
    return scatter_view(out, dim, index, &v, accumulate);
}

/* index (one dim) spread over the sizes of `like` along dim. */
static struct eng_view spread(const struct eng_view *index, const struct eng_view *like, int dim)
{
    struct eng_view r = *like;

    VS_ASSERT(index->ndim == 1 || (index->ndim == 0 && (like->ndim == 0 || like->sizes[dim] == 1)));
    r.data = index->data;
    r.dtype = index->dtype;
    for (int d = 0; d < r.ndim; d++)
        r.strides[d] = 0;
    if (r.ndim > 0 && index->ndim == 1) {
        VS_ASSERT(index->sizes[0] == like->sizes[dim]);
        r.strides[dim] = index->strides[0];
    }
    return r;
}

bool cpu_index_select(const struct eng_view *x, int dim, const struct eng_view *index,
                      const struct eng_view *out)
{
    struct eng_view idx = spread(index, out, dim);

    return cpu_gather(x, dim, &idx, out);
}

bool cpu_index_add(const struct eng_view *out, int dim, const struct eng_view *index,
                   const struct eng_view *src)
{
    struct eng_view idx = spread(index, src, dim);

    return scatter_view(out, dim, &idx, src, true);
}
