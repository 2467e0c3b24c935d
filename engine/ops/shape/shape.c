/*
 * engine/ops/shape/shape.c - view ops: the same memory with other sizes and strides.
 *
 * Must not know:  values.
 * Invariant:      a view never copies; where PyTorch's op may copy (reshape, flatten) it is a composite of a view and
 *                 a clone.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* Replaces the one -1 in the sizes; returns false (and fails the call) if they do not give numel elements. */
static bool infer_sizes(struct eng *e, const struct eng_tensor *x, const int64_t *asked, int ndim,
                        int64_t *sizes)
{
    int64_t numel = eng_numel(x);
    int64_t known = 1;
    int hole = -1;

    if (ndim > VS_MAX_DIMS) {
        eng_fail(e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported",
                 VS_MAX_DIMS);
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        sizes[i] = asked[i];
        if (asked[i] == -1 && hole < 0)
            hole = i;
        else if (asked[i] >= 0)
            known *= asked[i];
        else
            goto bad;
    }
    if (hole >= 0 && known > 0 && numel % known == 0)
        sizes[hole] = numel / known;
    else if (hole >= 0 || known != numel)
        goto bad;
    return true;
bad : {
    struct eng_tensor wanted = {.ndim = (uint8_t)ndim};
    char have[ENG_SHAPE_TEXT_MAX], want[ENG_SHAPE_TEXT_MAX];

    memcpy(wanted.sizes, asked, sizeof(*asked) * (size_t)ndim);
    eng_fail(e, VS_E_SHAPE, "shape %s is invalid for a tensor of shape %s (%" PRId64 " elements)",
             eng_shape_text(&wanted, want), eng_shape_text(x, have), numel);
    return false;
}
}

/* Strides under which x can be seen with `sizes` without a copy. */
static bool view_strides(const struct eng_tensor *x, const int64_t *sizes, int ndim,
                         int64_t *strides)
{
    int view_d = ndim - 1;
    int64_t base_stride, tensor_numel = 1, view_numel = 1;

    if (!eng_numel(x)) {
        if (x->ndim == ndim && !memcmp(x->sizes, sizes, sizeof(*sizes) * (size_t)ndim))
            memcpy(strides, x->strides, sizeof(*strides) * (size_t)ndim);
        else
            eng_contiguous_strides(sizes, ndim, strides);
        return true;
    }
    if (!x->ndim) {
        for (int i = 0; i < ndim; i++)
            strides[i] = 1;
        return true;
    }
    base_stride = x->strides[x->ndim - 1];
    for (int d = x->ndim - 1; d >= 0; d--) {
        tensor_numel *= x->sizes[d];
        /* the end of a run of dims that lie one after the other in memory */
        if (d == 0 || (x->sizes[d - 1] != 1 && x->strides[d - 1] != tensor_numel * base_stride)) {
            while (view_d >= 0 && (view_numel < tensor_numel || sizes[view_d] == 1)) {
                strides[view_d] = view_numel * base_stride;
                view_numel *= sizes[view_d];
                view_d--;
            }
            if (view_numel != tensor_numel)
                return false;
            if (d > 0) {
                base_stride = x->strides[d - 1];
                tensor_numel = 1;
                view_numel = 1;
            }
        }
    }
    return view_d == -1;
}

static void give_view(struct eng_op_call *c, struct eng_tensor *x, const int64_t *sizes,
                      const int64_t *strides, int ndim, uint64_t offset)
{
    eng_c_give(c, eng_as_strided(x, sizes, strides, ndim, offset));
}

void eng_f_view(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_view_input);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int ndim = (int)c->a[ARG_view_size].count;

    if (!infer_sizes(c->e, x, c->a[ARG_view_size].v.ints, ndim, sizes))
        return;
    if (!view_strides(x, sizes, ndim, strides)) {
        eng_fail(c->e, VS_E_SHAPE,
                 "view size is not compatible with input tensor's size and stride (at least one "
                 "dimension spans across two contiguous "
                 "subspaces): use .reshape(...) instead");
        return;
    }
    give_view(c, x, sizes, strides, ndim, x->offset);
}

/* g.reshape(sizes of the input) */
void eng_b_view(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_view_input, 0);

    eng_b_give(b, ARG_view_input, eng_reshape(b->e, b->g[0], edge->sizes, edge->ndim));
}

/* Unsqueezes g at the dims of size 1 in the bit mask `wanted`, one at a time; g itself if there are none. */
static struct eng_tensor *unsqueezed(struct eng_bw *b, const struct eng_edge *edge, uint32_t wanted)
{
    struct eng_tensor *t = eng_ref(b->g[0]);

    for (int d = 0; d < edge->ndim && t; d++) {
        if (edge->sizes[d] == 1 && (wanted >> d & 1))
            eng_slot_set(&t, eng_unsqueeze(b->e, t, d));
    }
    return t;
}

void eng_b_squeeze(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_squeeze_input, 0);
    const struct eng_arg *dim = &b->a[ARG_squeeze_dim];
    uint32_t wanted = 0;

    for (uint32_t i = 0; i < dim->count; i++) {
        int64_t d = dim->v.ints[i];

        wanted |= 1U << (d < 0 ? d + (edge->ndim ? edge->ndim : 1) : d);
    }
    eng_b_give(b, ARG_squeeze_input, unsqueezed(b, edge, wanted));
}

void eng_b_squeeze_all(struct eng_bw *b)
{
    eng_b_give(b, ARG_squeeze_all_input,
               unsqueezed(b, eng_b_edge(b, ARG_squeeze_all_input, 0), UINT32_MAX));
}

/* A view if one is possible, otherwise a dense copy with the new sizes. */
static struct eng_tensor *reshaped(struct eng *e, struct eng_tensor *x, const int64_t *asked,
                                   int ndim)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    struct eng_tensor *copy, *out;
    struct eng_arg args[2];

    if (!infer_sizes(e, x, asked, ndim, sizes))
        return NULL;
    args[1] = eng_aints(sizes, ndim);
    if (view_strides(x, sizes, ndim, strides)) {
        args[0] = eng_at(x);
        return eng_call1(e, ENG_OP_view, args);
    }
    copy = eng_op1(e, ENG_OP_clone_contiguous, x);
    if (!copy)
        return NULL;
    args[0] = eng_at(copy);
    out = eng_call1(e, ENG_OP_unsafe_view, args);
    eng_unref(copy);
    return out;
}

void eng_f_reshape(struct eng_op_call *c)
{
    eng_c_give(c, reshaped(c->e, eng_c_tensor(c, ARG_reshape_input), c->a[ARG_reshape_shape].v.ints,
                           (int)c->a[ARG_reshape_shape].count));
}

void eng_f_flatten(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_flatten_input);
    int64_t sizes[VS_MAX_DIMS];
    int first, last, n = 0;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_flatten_start_dim), x->ndim, &first) ||
        !eng_wrap_dim(c->e, eng_c_int(c, ARG_flatten_end_dim), x->ndim, &last))
        return;
    if (first > last) {
        eng_fail(c->e, VS_E_VALUE,
                 "flatten() has invalid args: start_dim cannot come after end_dim");
        return;
    }
    if (!x->ndim) {
        sizes[0] = 1;
        eng_c_give(c, reshaped(c->e, x, sizes, 1));
        return;
    }
    if (first == last) {
        eng_c_give(c, eng_ref(x));
        return;
    }
    for (int d = 0; d < x->ndim; d++) {
        if (d > first && d <= last)
            sizes[n - 1] *= x->sizes[d];
        else
            sizes[n++] = x->sizes[d];
    }
    eng_c_give(c, reshaped(c->e, x, sizes, n));
}

void eng_f_unflatten(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_unflatten_input);
    int64_t sizes[VS_MAX_DIMS];
    int dim, n = 0;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_unflatten_dim), x->ndim, &dim))
        return;
    if (x->ndim - 1 + (int)c->a[ARG_unflatten_sizes].count > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported",
                 VS_MAX_DIMS);
        return;
    }
    for (int d = 0; d < x->ndim; d++) {
        if (d != dim) {
            sizes[n++] = x->sizes[d];
            continue;
        }
        for (uint32_t k = 0; k < c->a[ARG_unflatten_sizes].count; k++)
            sizes[n++] = c->a[ARG_unflatten_sizes].v.ints[k];
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_aints(sizes, n)};

        eng_c_give(c, eng_call1(c->e, ENG_OP_view, args));
    }
}

void eng_f_as_strided(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_as_strided_input);

    give_view(c, x, c->a[ARG_as_strided_size].v.ints, c->a[ARG_as_strided_stride].v.ints,
              (int)c->a[ARG_as_strided_size].count,
              x->offset + (uint64_t)eng_c_int(c, ARG_as_strided_storage_offset));
}

/*
 * Zeros of the input's shape with g written at the view's elements. The input is dense (the base of an in-place op on
 * a view).
 */
void eng_b_as_strided(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_as_strided_input, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    struct eng_tensor *slot;

    if (!zeros)
        return;
    slot = eng_as_strided(zeros, b->a[ARG_as_strided_size].v.ints,
                          b->a[ARG_as_strided_stride].v.ints, (int)b->a[ARG_as_strided_size].count,
                          (uint64_t)b->a[ARG_as_strided_storage_offset].v.scalar.i);
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, ARG_as_strided_input, zeros);
}

void eng_f_transpose(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_transpose_input);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int a, z;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_transpose_dim0), x->ndim, &a) ||
        !eng_wrap_dim(c->e, eng_c_int(c, ARG_transpose_dim1), x->ndim, &z))
        return;
    memcpy(sizes, x->sizes, sizeof(sizes));
    memcpy(strides, x->strides, sizeof(strides));
    sizes[a] = x->sizes[z];
    sizes[z] = x->sizes[a];
    strides[a] = x->strides[z];
    strides[z] = x->strides[a];
    give_view(c, x, sizes, strides, x->ndim, x->offset);
}

void eng_b_transpose(struct eng_bw *b)
{
    eng_b_give(b, ARG_transpose_input,
               eng_transpose(b->e, b->g[0], b->a[ARG_transpose_dim0].v.scalar.i,
                             b->a[ARG_transpose_dim1].v.scalar.i));
}

void eng_f_t(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_t_input);
    int64_t sizes[2] = {x->sizes[1], x->sizes[0]};
    int64_t strides[2] = {x->strides[1], x->strides[0]};

    if (x->ndim > 2) {
        eng_fail(c->e, VS_E_SHAPE, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                 x->ndim);
        return;
    }
    give_view(c, x, x->ndim == 2 ? sizes : x->sizes, x->ndim == 2 ? strides : x->strides, x->ndim,
              x->offset);
}

void eng_b_t(struct eng_bw *b)
{
    eng_b_give(b, ARG_t_input, eng_t(b->e, b->g[0]));
}

void eng_f_permute(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_permute_input);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    uint32_t seen = 0;

    if (c->a[ARG_permute_dims].count != x->ndim) {
        eng_fail(c->e, VS_E_SHAPE, "permute: %u dims given for a tensor of %d dimensions",
                 c->a[ARG_permute_dims].count, x->ndim);
        return;
    }
    for (int i = 0; i < x->ndim; i++) {
        int d;

        if (!eng_wrap_dim(c->e, c->a[ARG_permute_dims].v.ints[i], x->ndim, &d))
            return;
        seen |= 1U << d;
        sizes[i] = x->sizes[d];
        strides[i] = x->strides[d];
    }
    if (seen != (1U << x->ndim) - 1) {
        eng_fail(c->e, VS_E_VALUE, "permute: a dim is repeated");
        return;
    }
    give_view(c, x, sizes, strides, x->ndim, x->offset);
}

void eng_b_permute(struct eng_bw *b)
{
    int64_t back[VS_MAX_DIMS];
    int n = (int)b->a[ARG_permute_dims].count;

    for (int i = 0; i < n; i++) {
        int64_t d = b->a[ARG_permute_dims].v.ints[i];

        back[d < 0 ? d + n : d] = i;
    }
    eng_b_give(b, ARG_permute_input, eng_permute(b->e, b->g[0], back, n));
}

void eng_f_expand(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_expand_input);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int n = (int)c->a[ARG_expand_size].count;
    int lead = n - x->ndim;

    if (lead < 0 || n > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_SHAPE, "expand: %d sizes given for a tensor of %d dimensions", n,
                 x->ndim);
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t have = i >= lead ? x->sizes[i - lead] : 1;
        int64_t want = c->a[ARG_expand_size].v.ints[i];

        sizes[i] = want == -1 && i >= lead ? have : want;
        strides[i] = i >= lead && sizes[i] == have ? x->strides[i - lead] : 0;
        if (sizes[i] < 0 || (sizes[i] != have && have != 1)) {
            char shape[ENG_SHAPE_TEXT_MAX];

            eng_fail(c->e, VS_E_SHAPE,
                     "expand: a tensor of shape %s cannot be expanded to %" PRId64
                     " at dimension %d",
                     eng_shape_text(x, shape), want, i);
            return;
        }
    }
    give_view(c, x, sizes, strides, n, x->offset);
}

void eng_b_expand(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_expand_input, 0);

    eng_b_give(b, ARG_expand_input, eng_sum_to(b->e, b->g[0], edge->sizes, edge->ndim));
}

void eng_f_expand_as(struct eng_op_call *c)
{
    struct eng_tensor *other = eng_c_tensor(c, ARG_expand_as_other);

    eng_c_give(c,
               eng_expand(c->e, eng_c_tensor(c, ARG_expand_as_input), other->sizes, other->ndim));
}

/* The view without the dims of size 1 in the bit mask `wanted`. */
static void give_squeezed(struct eng_op_call *c, struct eng_tensor *x, uint32_t wanted)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int n = 0;

    for (int d = 0; d < x->ndim; d++) {
        if (x->sizes[d] == 1 && (wanted >> d & 1))
            continue;
        sizes[n] = x->sizes[d];
        strides[n++] = x->strides[d];
    }
    give_view(c, x, sizes, strides, n, x->offset);
}

void eng_f_squeeze(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_squeeze_input);
    const struct eng_arg *dim = &c->a[ARG_squeeze_dim];
    uint32_t wanted = 0;

    for (uint32_t i = 0; i < dim->count; i++) {
        int d;

        if (!eng_wrap_dim(c->e, dim->v.ints[i], x->ndim, &d))
            return;
        wanted |= 1U << d;
    }
    give_squeezed(c, x, wanted);
}

void eng_f_squeeze_all(struct eng_op_call *c)
{
    give_squeezed(c, eng_c_tensor(c, ARG_squeeze_all_input), UINT32_MAX);
}

void eng_f_unsqueeze(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_unsqueeze_input);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int dim, n = 0;

    if (x->ndim == VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported",
                 VS_MAX_DIMS);
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_unsqueeze_dim), x->ndim + 1, &dim))
        return;
    for (int d = 0; d <= x->ndim; d++) {
        if (d == dim) {
            sizes[n] = 1;
            strides[n++] = d < x->ndim ? x->sizes[d] * x->strides[d] : 1;
        }
        if (d < x->ndim) {
            sizes[n] = x->sizes[d];
            strides[n++] = x->strides[d];
        }
    }
    give_view(c, x, sizes, strides, n, x->offset);
}

void eng_b_unsqueeze(struct eng_bw *b)
{
    int64_t dim = b->a[ARG_unsqueeze_dim].v.scalar.i;

    eng_b_give(b, ARG_unsqueeze_input,
               eng_squeeze(b->e, b->g[0], dim < 0 ? dim + b->g[0]->ndim : dim));
}

void eng_f_movedim(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_movedim_input);
    int64_t order[VS_MAX_DIMS];
    int from, to, n = 0;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_movedim_source), x->ndim, &from) ||
        !eng_wrap_dim(c->e, eng_c_int(c, ARG_movedim_destination), x->ndim, &to))
        return;
    for (int d = 0; n < x->ndim; d++) {
        if (n == to) {
            order[n++] = from;
            d--;
        } else if (d != from) {
            order[n++] = d;
        }
    }
    eng_c_give(c, eng_permute(c->e, x, order, x->ndim));
}
