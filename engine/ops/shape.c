/*
 * engine/ops/shape.c - views: ops that show the same memory with other sizes and strides.
 *
 * Must not know:  values.
 * Invariant:      a view never copies; where PyTorch's op may copy (reshape, flatten) it is a composite of a view and a clone.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/op_internal.h"
#include "engine/ops/ops.h"

/* Sizes with one -1 filled in; false (failed) when they do not hold numel elements. */
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

static void give_view(struct eng_op_call *c, const int64_t *sizes, const int64_t *strides, int ndim,
                      uint64_t offset)
{
    eng_c_give(c, eng_as_strided(eng_c_tensor(c, 0), sizes, strides, ndim, offset));
}

void eng_f_view(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int ndim = (int)c->a[1].count;

    if (!infer_sizes(c->e, x, c->a[1].v.ints, ndim, sizes))
        return;
    if (!view_strides(x, sizes, ndim, strides)) {
        eng_fail(c->e, VS_E_SHAPE,
                 "view size is not compatible with input tensor's size and stride (at least one "
                 "dimension spans across two contiguous "
                 "subspaces): use .reshape(...) instead");
        return;
    }
    give_view(c, sizes, strides, ndim, x->offset);
}

/* g.reshape(sizes of the input) */
void eng_b_reshape(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);

    eng_b_give(b, 0, eng_reshape(b->e, b->g[0], edge->sizes, edge->ndim));
}

/* g with the squeezed dims back, one at a time; g itself where none was of size 1 */
void eng_b_squeeze(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *t = eng_ref(b->g[0]);
    uint32_t wanted = b->node->op == ENG_OP_squeeze_all ? UINT32_MAX : 0;

    for (uint32_t i = 0; b->node->op == ENG_OP_squeeze && i < b->a[1].count; i++) {
        int64_t d = b->a[1].v.ints[i];

        wanted |= 1U << (d < 0 ? d + (edge->ndim ? edge->ndim : 1) : d);
    }
    for (int d = 0; d < edge->ndim && t; d++) {
        if (edge->sizes[d] == 1 && (wanted >> d & 1))
            eng_slot_set(&t, eng_unsqueeze(b->e, t, d));
    }
    eng_b_give(b, 0, t);
}

/* A view where one is possible, else a dense copy seen with the new sizes. */
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
    eng_c_give(c, reshaped(c->e, eng_c_tensor(c, 0), c->a[1].v.ints, (int)c->a[1].count));
}

void eng_f_flatten(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS];
    int first, last, n = 0;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &first) ||
        !eng_wrap_dim(c->e, eng_c_int(c, 2), x->ndim, &last))
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
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS];
    int dim, n = 0;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim))
        return;
    if (x->ndim - 1 + (int)c->a[2].count > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported",
                 VS_MAX_DIMS);
        return;
    }
    for (int d = 0; d < x->ndim; d++) {
        if (d != dim) {
            sizes[n++] = x->sizes[d];
            continue;
        }
        for (uint32_t k = 0; k < c->a[2].count; k++)
            sizes[n++] = c->a[2].v.ints[k];
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_aints(sizes, n)};

        eng_c_give(c, eng_call1(c->e, ENG_OP_view, args));
    }
}

void eng_f_as_strided(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);

    give_view(c, c->a[1].v.ints, c->a[2].v.ints, (int)c->a[1].count,
              x->offset + (uint64_t)eng_c_int(c, 3));
}

/* Zeros of the input's shape with g written where the view lies. The input is dense (the base of an in-place op on a view). */
void eng_b_as_strided(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    struct eng_tensor *slot;

    if (!zeros)
        return;
    slot = eng_as_strided(zeros, b->a[1].v.ints, b->a[2].v.ints, (int)b->a[1].count,
                          (uint64_t)b->a[3].v.scalar.i);
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, 0, zeros);
}

void eng_f_transpose(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int a, z;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &a) ||
        !eng_wrap_dim(c->e, eng_c_int(c, 2), x->ndim, &z))
        return;
    memcpy(sizes, x->sizes, sizeof(sizes));
    memcpy(strides, x->strides, sizeof(strides));
    sizes[a] = x->sizes[z];
    sizes[z] = x->sizes[a];
    strides[a] = x->strides[z];
    strides[z] = x->strides[a];
    give_view(c, sizes, strides, x->ndim, x->offset);
}

void eng_b_transpose(struct eng_bw *b)
{
    eng_b_give(b, 0, eng_transpose(b->e, b->g[0], b->a[1].v.scalar.i, b->a[2].v.scalar.i));
}

void eng_f_t(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[2] = {x->sizes[1], x->sizes[0]};
    int64_t strides[2] = {x->strides[1], x->strides[0]};

    if (x->ndim > 2) {
        eng_fail(c->e, VS_E_SHAPE, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                 x->ndim);
        return;
    }
    give_view(c, x->ndim == 2 ? sizes : x->sizes, x->ndim == 2 ? strides : x->strides, x->ndim,
              x->offset);
}

void eng_b_t(struct eng_bw *b)
{
    eng_b_give(b, 0, eng_t(b->e, b->g[0]));
}

void eng_f_permute(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    uint32_t seen = 0;

    if (c->a[1].count != x->ndim) {
        eng_fail(c->e, VS_E_SHAPE, "permute: %u dims given for a tensor of %d dimensions",
                 c->a[1].count, x->ndim);
        return;
    }
    for (int i = 0; i < x->ndim; i++) {
        int d;

        if (!eng_wrap_dim(c->e, c->a[1].v.ints[i], x->ndim, &d))
            return;
        seen |= 1U << d;
        sizes[i] = x->sizes[d];
        strides[i] = x->strides[d];
    }
    if (seen != (1U << x->ndim) - 1) {
        eng_fail(c->e, VS_E_VALUE, "permute: a dim is repeated");
        return;
    }
    give_view(c, sizes, strides, x->ndim, x->offset);
}

void eng_b_permute(struct eng_bw *b)
{
    int64_t back[VS_MAX_DIMS];
    int n = (int)b->a[1].count;

    for (int i = 0; i < n; i++) {
        int64_t d = b->a[1].v.ints[i];

        back[d < 0 ? d + n : d] = i;
    }
    eng_b_give(b, 0, eng_permute(b->e, b->g[0], back, n));
}

void eng_f_expand(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int n = (int)c->a[1].count;
    int lead = n - x->ndim;

    if (lead < 0 || n > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_SHAPE, "expand: %d sizes given for a tensor of %d dimensions", n,
                 x->ndim);
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t have = i >= lead ? x->sizes[i - lead] : 1;
        int64_t want = c->a[1].v.ints[i];

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
    give_view(c, sizes, strides, n, x->offset);
}

void eng_b_expand(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);

    eng_b_give(b, 0, eng_sum_to(b->e, b->g[0], edge->sizes, edge->ndim));
}

void eng_f_expand_as(struct eng_op_call *c)
{
    struct eng_tensor *other = eng_c_tensor(c, 1);

    eng_c_give(c, eng_expand(c->e, eng_c_tensor(c, 0), other->sizes, other->ndim));
}

/* Dims of size 1 gone: all, or those named. */
void eng_f_squeeze(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    uint32_t wanted = c->id == ENG_OP_squeeze_all ? UINT32_MAX : 0;
    int n = 0;

    for (uint32_t i = 0; c->id == ENG_OP_squeeze && i < c->a[1].count; i++) {
        int d;

        if (!eng_wrap_dim(c->e, c->a[1].v.ints[i], x->ndim, &d))
            return;
        wanted |= 1U << d;
    }
    for (int d = 0; d < x->ndim; d++) {
        if (x->sizes[d] == 1 && (wanted >> d & 1))
            continue;
        sizes[n] = x->sizes[d];
        strides[n++] = x->strides[d];
    }
    give_view(c, sizes, strides, n, x->offset);
}

void eng_f_unsqueeze(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int dim, n = 0;

    if (x->ndim == VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported",
                 VS_MAX_DIMS);
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim + 1, &dim))
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
    give_view(c, sizes, strides, n, x->offset);
}

void eng_b_unsqueeze(struct eng_bw *b)
{
    int64_t dim = b->a[1].v.scalar.i;

    eng_b_give(b, 0, eng_squeeze(b->e, b->g[0], dim < 0 ? dim + b->g[0]->ndim : dim));
}

void eng_f_movedim(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t order[VS_MAX_DIMS];
    int from, to, n = 0;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &from) ||
        !eng_wrap_dim(c->e, eng_c_int(c, 2), x->ndim, &to))
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

/* ---- parts ---- */

static struct eng_tensor *part(struct eng_tensor *x, int dim, int64_t start, int64_t length,
                               int64_t step)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];

    memcpy(sizes, x->sizes, sizeof(sizes));
    memcpy(strides, x->strides, sizeof(strides));
    sizes[dim] = length;
    strides[dim] *= step;
    return eng_as_strided(x, sizes, strides, x->ndim,
                          x->offset + (uint64_t)(start * x->strides[dim]));
}

/* Python's bounds: negative ones count from the end, all are clamped. */
static void slice_bounds(const struct eng_arg *start_arg, const struct eng_arg *end_arg,
                         int64_t size, int64_t step, int64_t *start, int64_t *length)
{
    int64_t first = start_arg->kind == ENG_A_NONE ? 0 : start_arg->v.scalar.i;
    int64_t end = end_arg->kind == ENG_A_NONE ? size : end_arg->v.scalar.i;

    if (first < 0)
        first = first + size < 0 ? 0 : first + size;
    if (first > size)
        first = size;
    if (end < 0)
        end += size;
    if (end < first)
        end = first;
    if (end > size)
        end = size;
    *start = first;
    *length = (end - first + step - 1) / step;
}

void eng_f_slice(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t step = eng_c_int(c, 4);
    int64_t start, length;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim))
        return;
    if (step <= 0 || !x->ndim) {
        eng_fail(c->e, VS_E_VALUE,
                 x->ndim ? "slice: the step must be greater than zero"
                         : "slice() cannot be applied to a 0-dim tensor");
        return;
    }
    slice_bounds(&c->a[2], &c->a[3], x->sizes[dim], step, &start, &length);
    eng_c_give(c, part(x, dim, start, length, step));
}

/* Zeros of the input's size with g in its place. */
void eng_b_slice(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int64_t dim = b->a[1].v.scalar.i;
    int64_t step = b->a[4].v.scalar.i;
    struct eng_tensor *slot;
    int64_t start, length;

    if (!zeros)
        return;
    dim = dim < 0 ? dim + edge->ndim : dim;
    slice_bounds(&b->a[2], &b->a[3], edge->sizes[dim], step, &start, &length);
    slot = part(zeros, (int)dim, start, length, step);
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, 0, zeros);
}

static struct eng_tensor *selected(struct eng_tensor *x, int dim, int64_t index)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int n = 0;

    for (int d = 0; d < x->ndim; d++) {
        if (d == dim)
            continue;
        sizes[n] = x->sizes[d];
        strides[n++] = x->strides[d];
    }
    return eng_as_strided(x, sizes, strides, n, x->offset + (uint64_t)(index * x->strides[dim]));
}

void eng_f_select(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t index = eng_c_int(c, 2);
    int dim;

    if (!x->ndim) {
        eng_fail(c->e, VS_E_VALUE, "select() cannot be applied to a 0-dim tensor");
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim))
        return;
    if (index < -x->sizes[dim] || index >= x->sizes[dim]) {
        eng_fail(c->e, VS_E_VALUE,
                 "index %" PRId64 " is out of bounds for dimension %d with size %" PRId64, index,
                 dim, x->sizes[dim]);
        return;
    }
    eng_c_give(c, selected(x, dim, index < 0 ? index + x->sizes[dim] : index));
}

void eng_b_select(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int64_t dim = b->a[1].v.scalar.i;
    int64_t index = b->a[2].v.scalar.i;
    struct eng_tensor *slot;

    if (!zeros)
        return;
    dim = dim < 0 ? dim + edge->ndim : dim;
    slot = selected(zeros, (int)dim, index < 0 ? index + edge->sizes[dim] : index);
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, 0, zeros);
}

void eng_f_narrow(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t start = eng_c_int(c, 2);
    int64_t length = eng_c_int(c, 3);
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim))
        return;
    start = start < 0 ? start + x->sizes[dim] : start;
    if (start < 0 || length < 0 || start + length > x->sizes[dim]) {
        eng_fail(c->e, VS_E_VALUE,
                 "narrow: start (%" PRId64 ") + length (%" PRId64
                 ") exceeds dimension size (%" PRId64 ")",
                 start, length, x->sizes[dim]);
        return;
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_ai(dim), eng_ai(start), eng_ai(start + length),
                                 eng_ai(1)};

        eng_c_give(c, eng_call1(c->e, ENG_OP_slice, args));
    }
}

/* ---- lists of parts ---- */

static void give_parts(struct eng_op_call *c, int dim, const int64_t *lengths, uint32_t count)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor **parts = vs_calloc(count ? count : 1, sizeof(*parts));
    int64_t start = 0;

    for (uint32_t i = 0; i < count; i++) {
        parts[i] = part(x, dim, start, lengths[i], 1);
        start += lengths[i];
    }
    eng_c_give_list(c, parts, count);
    vs_free(parts);
}

void eng_f_split(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t *lengths;
    int64_t size, total = 0;
    uint32_t count;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 2), x->ndim, &dim))
        return;
    if (c->id == ENG_OP_split_sizes) {
        for (uint32_t i = 0; i < c->a[1].count; i++)
            total += c->a[1].v.ints[i];
        if (total != x->sizes[dim])
            eng_fail(c->e, VS_E_SHAPE,
                     "split: the sizes sum to %" PRId64 ", dimension %d has %" PRId64, total, dim,
                     x->sizes[dim]);
        else
            give_parts(c, dim, c->a[1].v.ints, c->a[1].count);
        return;
    }
    size = eng_c_int(c, 1);
    if (size <= 0) {
        eng_fail(c->e, VS_E_VALUE, "split: split_size must be positive, got %" PRId64, size);
        return;
    }
    count = (uint32_t)(x->sizes[dim] ? (x->sizes[dim] + size - 1) / size : 1);
    lengths = vs_alloc(sizeof(*lengths) * count);
    for (uint32_t i = 0; i < count; i++)
        lengths[i] = i + 1 < count ? size : x->sizes[dim] - size * (int64_t)i;
    give_parts(c, dim, lengths, count);
    vs_free(lengths);
}

/* cat of the pieces' gradients; absent ones become zeros */
void eng_b_split(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    int count = b->node->output_count;
    struct eng_tensor **pieces = vs_calloc((size_t)count, sizeof(*pieces));
    int64_t dim = b->a[2].v.scalar.i;
    const struct eng_tensor *like = NULL;

    dim = dim < 0 ? dim + edge->ndim : dim;
    for (int i = 0; i < count && !like; i++)
        like = b->g[i];
    for (int i = 0; i < count; i++) {
        int64_t sizes[VS_MAX_DIMS];
        int64_t size = b->a[1].kind == ENG_A_INTS ? b->a[1].v.ints[i] : b->a[1].v.scalar.i;

        if (b->g[i]) {
            pieces[i] = eng_ref(b->g[i]);
            continue;
        }
        memcpy(sizes, edge->sizes, sizeof(sizes));
        sizes[dim] =
            b->a[1].kind == ENG_A_INTS || i + 1 < count ? size : edge->sizes[dim] - size * i;
        pieces[i] =
            eng_zeros(b->e, sizes, edge->ndim, (enum vs_dtype)like->dtype, like->storage->on_host);
    }
    if (!b->e->failed) {
        struct eng_arg args[] = {eng_atensors(pieces, count), eng_ai(dim)};

        eng_b_give(b, 0, eng_call1(b->e, ENG_OP_cat, args));
    }
    for (int i = 0; i < count; i++)
        eng_unref(pieces[i]);
    vs_free(pieces);
}

void eng_f_chunk(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t chunks = eng_c_int(c, 1);
    struct eng_ret ret;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 2), x->ndim, &dim))
        return;
    if (chunks <= 0) {
        eng_fail(c->e, VS_E_VALUE, "chunk: expects `chunks` to be greater than 0, got %" PRId64,
                 chunks);
        return;
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_ai((x->sizes[dim] + chunks - 1) / chunks),
                                 eng_ai(dim)};

        if (eng_call(c->e, ENG_OP_split, args, &ret)) {
            eng_c_give_list(c, ret.tensors, ret.count);
            ret.count = 0; /* handed over */
            eng_ret_release(&ret);
        }
    }
}

void eng_f_unbind(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor **parts;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim))
        return;
    parts = vs_calloc((size_t)x->sizes[dim] + 1, sizeof(*parts));
    for (int64_t i = 0; i < x->sizes[dim]; i++)
        parts[i] = selected(x, dim, i);
    eng_c_give_list(c, parts, (uint32_t)x->sizes[dim]);
    vs_free(parts);
}

/* stack of the pieces' gradients; absent ones become zeros */
void eng_b_unbind(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    int count = b->node->output_count;
    struct eng_tensor **pieces = vs_calloc((size_t)count, sizeof(*pieces));
    const struct eng_tensor *like = NULL;

    for (int i = 0; i < count && !like; i++)
        like = b->g[i];
    for (int i = 0; i < count; i++) {
        struct eng_tensor *zero;

        if (b->g[i]) {
            pieces[i] = eng_ref(b->g[i]);
            continue;
        }
        zero = eng_zeros(b->e, NULL, 0, (enum vs_dtype)like->dtype, like->storage->on_host);
        pieces[i] = eng_expand(b->e, zero, like->sizes, like->ndim);
        eng_unref(zero);
    }
    if (!b->e->failed) {
        int64_t dim = b->a[1].v.scalar.i;
        struct eng_arg args[] = {eng_atensors(pieces, count),
                                 eng_ai(dim < 0 ? dim + edge->ndim : dim)};

        eng_b_give(b, 0, eng_call1(b->e, ENG_OP_stack, args));
    }
    for (int i = 0; i < count; i++)
        eng_unref(pieces[i]);
    vs_free(pieces);
}
