/*
 * engine/ops/common.c - what ops share: outputs, broadcasting, promotion, views for kernels, and ops as C functions.
 *
 * Must not know:  any single op's formula.
 * Invariant:      the strides of an elementwise result are those that PyTorch's TensorIterator chooses, because later
 *                 copies (contiguous, reshape, gradient accumulation) depend on them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/op_internal.h"

/* ---- outputs ---- */

struct eng_tensor *eng_c_empty(struct eng_op_call *c, const int64_t *sizes, int ndim,
                               enum vs_dtype dtype, const struct eng_tensor *like)
{
    return eng_empty(c->e, sizes, ndim, dtype, like->storage->on_host);
}

struct eng_tensor *eng_c_empty_like(struct eng_op_call *c, const struct eng_tensor *like,
                                    enum vs_dtype dtype)
{
    if (!like)
        return NULL;
    if (eng_is_non_overlapping_and_dense(like))
        return eng_empty_strided(c->e, like->sizes, like->strides, like->ndim, dtype,
                                 like->storage->on_host);
    return eng_c_elementwise_out(c, (struct eng_tensor *[]){(struct eng_tensor *)(uintptr_t)like},
                                 1, dtype);
}

struct eng_tensor *eng_c_empty_suggested(struct eng_op_call *c, const struct eng_tensor *like,
                                         const int64_t *sizes, enum vs_dtype dtype)
{
    int64_t strides[VS_MAX_DIMS];

    if (!eng_suggests_channels_last(like))
        return eng_c_empty(c, sizes, like->ndim, dtype, like);
    eng_channels_last_strides(sizes, like->ndim, strides);
    return eng_empty_strided(c->e, sizes, strides, like->ndim, dtype, like->storage->on_host);
}

/* Sizes of the broadcast of all inputs; false (and failed) where two do not fit. */
static bool broadcast_all(struct eng *e, struct eng_tensor *const *inputs, int count,
                          int64_t *sizes, int *ndim)
{
    const struct eng_tensor *first = NULL;

    *ndim = 0;
    for (int i = 0; i < count; i++) {
        const struct eng_tensor *t = inputs[i];
        int64_t merged[VS_MAX_DIMS];
        int n;

        if (!t)
            continue;
        n = t->ndim > *ndim ? t->ndim : *ndim;
        for (int d = 0; d < n; d++) {
            int from_a = d - (n - *ndim);
            int from_t = d - (n - t->ndim);
            int64_t a = from_a >= 0 ? sizes[from_a] : 1;
            int64_t b = from_t >= 0 ? t->sizes[from_t] : 1;

            if (a != b && a != 1 && b != 1) {
                char ta[ENG_SHAPE_TEXT_MAX], tb[ENG_SHAPE_TEXT_MAX];

                eng_fail(e, VS_E_SHAPE,
                         "shapes %s and %s cannot be broadcast: %" PRId64 " and %" PRId64
                         " at dimension %d",
                         eng_shape_text(first, ta), eng_shape_text(t, tb), a, b, d);
                return false;
            }
            merged[d] = a == 1 ? b : a;
        }
        memcpy(sizes, merged, sizeof(*sizes) * (size_t)n);
        *ndim = n;
        if (!first || first->ndim < t->ndim)
            first = t;
    }
    return true;
}

bool eng_broadcast(struct eng *e, const struct eng_tensor *a, const struct eng_tensor *b,
                   int64_t *sizes, int *ndim)
{
    struct eng_tensor *both[] = {(struct eng_tensor *)(uintptr_t)a,
                                 (struct eng_tensor *)(uintptr_t)b}; /* only read */

    return broadcast_all(e, both, 2, sizes, ndim);
}

/* Stride of input t along dim d of a result with n dims: 0 where it is broadcast. */
static int64_t broadcast_stride(const struct eng_tensor *t, const int64_t *sizes, int n, int d)
{
    int own = d - (n - t->ndim);

    if (own < 0 || (t->sizes[own] == 1 && sizes[d] != 1))
        return 0;
    return t->strides[own];
}

/*
 * Order of two dims in the result's memory, as the inputs' strides suggest: > 0: a is the slower one; < 0: b is; 0: no
 * input decides.
 */
static int compare_dims(struct eng_tensor *const *inputs, int count, const int64_t *sizes, int n,
                        int a, int b)
{
    for (int i = 0; i < count; i++) {
        int64_t sa, sb;

        if (!inputs[i])
            continue;
        sa = broadcast_stride(inputs[i], sizes, n, a);
        sb = broadcast_stride(inputs[i], sizes, n, b);
        if (!sa || !sb)
            continue;
        if (sa != sb)
            return sa < sb ? -1 : 1;
        if (sizes[a] > sizes[b])
            return 1;
    }
    return 0;
}

static bool all_alike(struct eng_tensor *const *inputs, int count, const int64_t *sizes, int n,
                      bool (*test)(const struct eng_tensor *))
{
    for (int i = 0; i < count; i++) {
        const struct eng_tensor *t = inputs[i];

        if (t &&
            (t->ndim != n || memcmp(t->sizes, sizes, sizeof(*sizes) * (size_t)n) != 0 || !test(t)))
            return false;
    }
    return true;
}

static void result_strides(struct eng_tensor *const *inputs, int count, const int64_t *sizes, int n,
                           int64_t *strides)
{
    int perm[VS_MAX_DIMS];
    int64_t stride = 1;

    if (all_alike(inputs, count, sizes, n, eng_is_contiguous)) {
        eng_contiguous_strides(sizes, n, strides);
        return;
    }
    for (int i = 0; i < n; i++)
        perm[i] = n - 1 - i; /* dims from the fastest to the slowest */
    for (int i = 1; i < n; i++) {
        int moving = i;

        for (int k = i - 1; k >= 0; k--) {
            int order = compare_dims(inputs, count, sizes, n, perm[k], perm[moving]);

            if (order > 0) {
                int swap = perm[k];

                perm[k] = perm[moving];
                perm[moving] = swap;
                moving = k;
            } else if (order < 0) {
                break;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        strides[perm[i]] = stride;
        stride *= sizes[perm[i]] > 1 ? sizes[perm[i]] : 1;
    }
}

/*
 * Where the result is allocated: on the device if any input with dimensions is there. Returns false if host and device
 * inputs are mixed.
 */
static bool result_side(struct eng *e, struct eng_tensor *const *inputs, int count, bool *on_host)
{
    bool host_dims = false;
    bool device = false;

    for (int i = 0; i < count; i++) {
        if (!inputs[i])
            continue;
        if (!inputs[i]->storage->on_host)
            device = true;
        else if (inputs[i]->ndim)
            host_dims = true;
    }
    if (device && host_dims) {
        eng_fail(e, VS_E_VALUE,
                 "expected all tensors to be on the same device, but found at least two devices, "
                 "cuda:0 and cpu: move one with .to()");
        return false;
    }
    *on_host = !device;
    return true;
}

static struct eng_tensor *inplace_out(struct eng_op_call *c, const int64_t *sizes, int ndim,
                                      enum vs_dtype dtype)
{
    struct eng_tensor *t = c->inplace;
    char have[ENG_SHAPE_TEXT_MAX];

    if (t->ndim != ndim || memcmp(t->sizes, sizes, sizeof(*sizes) * (size_t)ndim) != 0)
        return eng_fail(c->e, VS_E_SHAPE,
                        "%s_: the result's shape does not fit the tensor it is written to, %s",
                        eng_op_get(c->id)->name, eng_shape_text(t, have));
    if (vs_dtype_is_floating(dtype) && !vs_dtype_is_floating((enum vs_dtype)t->dtype))
        return eng_fail(
            c->e, VS_E_TYPE, "%s_: a result of type %s cannot be written to a tensor of type %s",
            eng_op_get(c->id)->name, vs_dtype_name(dtype), vs_dtype_name((enum vs_dtype)t->dtype));
    return eng_ref(t);
}

struct eng_tensor *eng_c_elementwise_out(struct eng_op_call *c, struct eng_tensor *const *inputs,
                                         int count, enum vs_dtype dtype)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    bool on_host;
    int ndim;

    if (!broadcast_all(c->e, inputs, count, sizes, &ndim) ||
        !result_side(c->e, inputs, count, &on_host))
        return NULL;
    if (c->inplace)
        return inplace_out(c, sizes, ndim, dtype);
    result_strides(inputs, count, sizes, ndim, strides);
    return eng_empty_strided(c->e, sizes, strides, ndim, dtype, on_host);
}

/* ---- images ---- */

void eng_channels_last_strides(const int64_t *sizes, int ndim, int64_t *strides)
{
    int64_t step = sizes[1];

    strides[1] = 1;
    for (int d = ndim - 1; d >= 2; d--) {
        strides[d] = step;
        step *= sizes[d];
    }
    strides[0] = step;
}

struct eng_tensor *eng_to_channels_last(struct eng *e, struct eng_tensor *t)
{
    int64_t strides[VS_MAX_DIMS];
    struct eng_tensor *copy;

    if (!t || eng_is_channels_last(t))
        return eng_ref(t);
    eng_channels_last_strides(t->sizes, t->ndim, strides);
    copy = eng_empty_strided(e, t->sizes, strides, t->ndim, (enum vs_dtype)t->dtype,
                             t->storage->on_host);
    if (copy && e->kernels) {
        struct eng_view from = eng_v(t), to = eng_v(copy);

        e->kernels->copy(&from, &to);
    }
    return copy;
}

/* ---- promotion ---- */

enum vs_dtype eng_result_dtype(struct eng_tensor *const *inputs, int count,
                               const struct eng_arg *scalar)
{
    int dims = -1, zero = -1, number = -1;
    int lower;

    for (int i = 0; i < count; i++) {
        const struct eng_tensor *t = inputs[i];
        int *slot;

        if (!t)
            continue;
        slot = t->ndim ? &dims : &zero;
        *slot = *slot < 0 ? t->dtype
                          : (int)vs_dtype_promote((enum vs_dtype) * slot, (enum vs_dtype)t->dtype);
    }
    if (scalar && scalar->kind == ENG_A_BOOL)
        number = VS_BOOL;
    else if (scalar && scalar->kind == ENG_A_SCALAR)
        number = scalar->v.scalar.is_int ? VS_I64 : VS_F32;
    /*
     * a 0-dim tensor or a number only counts if its category (bool < integer < floating) is higher than that of the
     * others
     */
    for (int step = 0; step < 2; step++) {
        int *higher = step ? &dims : &zero;

        lower = step ? zero : number;
        if (*higher < 0)
            *higher = lower;
        else if (lower >= 0 && !vs_dtype_is_floating((enum vs_dtype) * higher) &&
                 (*higher == VS_BOOL || vs_dtype_is_floating((enum vs_dtype)lower)))
            *higher = (int)vs_dtype_promote((enum vs_dtype) * higher, (enum vs_dtype)lower);
    }
    return dims < 0 ? VS_F32 : (enum vs_dtype)dims;
}

/* ---- views for kernels ---- */

struct eng_view eng_v(const struct eng_tensor *t)
{
    struct eng_view v;

    eng_view_of(t, &v);
    return v;
}

struct eng_view eng_v_expand(const struct eng_tensor *t, const struct eng_tensor *out)
{
    struct eng_view v;

    eng_view_of(t, &v);
    v.ndim = out->ndim;
    memcpy(v.sizes, out->sizes, sizeof(v.sizes));
    for (int d = 0; d < out->ndim; d++)
        v.strides[d] = broadcast_stride(t, out->sizes, out->ndim, d);
    return v;
}

struct eng_view eng_v_scalar(struct eng_scalar value, const struct eng_tensor *out,
                             struct eng_cell *cell)
{
    struct eng_view v = {.ndim = out->ndim};

    cell->f = value.f;
    cell->i = value.i;
    v.dtype = value.is_int ? VS_I64 : VS_F64;
    v.data = value.is_int ? (void *)&cell->i : (void *)&cell->f;
    memcpy(v.sizes, out->sizes, sizeof(v.sizes));
    return v;
}

struct eng_view eng_v_operand(const struct eng_arg *arg, const struct eng_tensor *out,
                              struct eng_cell *cell)
{
    if (arg->kind == ENG_A_TENSOR)
        return eng_v_expand(arg->v.tensor, out);
    if (arg->kind == ENG_A_BOOL)
        return eng_v_scalar((struct eng_scalar){true, arg->v.flag, (double)arg->v.flag}, out, cell);
    return eng_v_scalar(arg->v.scalar, out, cell);
}

bool eng_c_computes(const struct eng_op_call *c)
{
    return c->e->kernels && !c->e->failed;
}

bool eng_wrap_dim(struct eng *e, int64_t dim, int ndim, int *out)
{
    int64_t n = ndim ? ndim : 1;

    if (dim < -n || dim >= n) {
        eng_fail(e, VS_E_VALUE,
                 "dimension out of range (expected to be in range of [%" PRId64 ", %" PRId64
                 "], but got %" PRId64 ")",
                 -n, n - 1, dim);
        return false;
    }
    *out = (int)(dim < 0 ? dim + n : dim);
    return true;
}

void eng_add_flops(struct eng *e, uint64_t flops)
{
    e->counters.total_flops += flops;
    if (e->recompute_depth && !e->backward_depth)
        e->counters.recompute_flops += flops;
}

struct eng_tensor *eng_workspace(struct eng *e, uint64_t bytes)
{
    enum vs_category before;
    struct eng_tensor *t;
    int64_t size = (int64_t)bytes;

    if (!bytes)
        return NULL;
    before = eng_category_default(e, VS_CAT_WORKSPACE);
    t = eng_empty(e, &size, 1, VS_U8, false);
    eng_category_default(e, before);
    return t;
}
