/*
 * engine/ops/shape/parts.c - views of parts of a tensor, one (slice, select, narrow) or several (split, chunk,
 * unbind), and their gradients.
 *
 * Must not know:  models.
 * Invariant:      a part is a view; the gradient of one part is zeros of the input's size with the part's gradient
 *                 copied in; the gradient of all parts concatenates theirs.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

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
    struct eng_tensor *x = eng_c_tensor(c, ARG_slice_input);
    int64_t step = eng_c_int(c, ARG_slice_step);
    int64_t start, length;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_slice_dim), x->ndim, &dim))
        return;
    if (step <= 0 || !x->ndim) {
        eng_fail(c->e, VS_E_VALUE,
                 x->ndim ? "slice: the step must be greater than zero"
                         : "slice() cannot be applied to a 0-dim tensor");
        return;
    }
    slice_bounds(&c->a[ARG_slice_start], &c->a[ARG_slice_end], x->sizes[dim], step, &start,
                 &length);
    eng_c_give(c, part(x, dim, start, length, step));
}

/* Zeros of the input's size with g written at the part's elements. */
void eng_b_slice(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_slice_input, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int64_t dim = b->a[ARG_slice_dim].v.scalar.i;
    int64_t step = b->a[ARG_slice_step].v.scalar.i;
    struct eng_tensor *slot;
    int64_t start, length;

    if (!zeros)
        return;
    dim = dim < 0 ? dim + edge->ndim : dim;
    slice_bounds(&b->a[ARG_slice_start], &b->a[ARG_slice_end], edge->sizes[dim], step, &start,
                 &length);
    slot = part(zeros, (int)dim, start, length, step);
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, ARG_slice_input, zeros);
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
    struct eng_tensor *x = eng_c_tensor(c, ARG_select_input);
    int64_t index = eng_c_int(c, ARG_select_index);
    int dim;

    if (!x->ndim) {
        eng_fail(c->e, VS_E_VALUE, "select() cannot be applied to a 0-dim tensor");
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_select_dim), x->ndim, &dim))
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
    const struct eng_edge *edge = eng_b_edge(b, ARG_select_input, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int64_t dim = b->a[ARG_select_dim].v.scalar.i;
    int64_t index = b->a[ARG_select_index].v.scalar.i;
    struct eng_tensor *slot;

    if (!zeros)
        return;
    dim = dim < 0 ? dim + edge->ndim : dim;
    slot = selected(zeros, (int)dim, index < 0 ? index + edge->sizes[dim] : index);
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, ARG_select_input, zeros);
}

void eng_f_narrow(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_narrow_input);
    int64_t start = eng_c_int(c, ARG_narrow_start);
    int64_t length = eng_c_int(c, ARG_narrow_length);
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_narrow_dim), x->ndim, &dim))
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
    struct eng_tensor *x = eng_c_tensor(c, ARG_split_input);
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
    struct eng_tensor *x = eng_c_tensor(c, ARG_split_input);
    int64_t *lengths;
    int64_t size, total = 0;
    uint32_t count;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_split_dim), x->ndim, &dim))
        return;
    if (c->id == ENG_OP_split_sizes) {
        for (uint32_t i = 0; i < c->a[ARG_split_split_size_or_sections].count; i++)
            total += c->a[ARG_split_split_size_or_sections].v.ints[i];
        if (total != x->sizes[dim])
            eng_fail(c->e, VS_E_SHAPE,
                     "split: the sizes sum to %" PRId64 ", dimension %d has %" PRId64, total, dim,
                     x->sizes[dim]);
        else
            give_parts(c, dim, c->a[ARG_split_split_size_or_sections].v.ints,
                       c->a[ARG_split_split_size_or_sections].count);
        return;
    }
    size = eng_c_int(c, ARG_split_split_size_or_sections);
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
    const struct eng_edge *edge = eng_b_edge(b, ARG_split_input, 0);
    int count = b->node->output_count;
    struct eng_tensor **pieces = vs_calloc((size_t)count, sizeof(*pieces));
    int64_t dim = b->a[ARG_split_dim].v.scalar.i;
    const struct eng_tensor *like = NULL;

    dim = dim < 0 ? dim + edge->ndim : dim;
    for (int i = 0; i < count && !like; i++)
        like = b->g[i];
    for (int i = 0; i < count; i++) {
        int64_t sizes[VS_MAX_DIMS];
        int64_t size = b->a[ARG_split_split_size_or_sections].kind == ENG_A_INTS
                           ? b->a[ARG_split_split_size_or_sections].v.ints[i]
                           : b->a[ARG_split_split_size_or_sections].v.scalar.i;

        if (b->g[i]) {
            pieces[i] = eng_ref(b->g[i]);
            continue;
        }
        memcpy(sizes, edge->sizes, sizeof(sizes));
        sizes[dim] = b->a[ARG_split_split_size_or_sections].kind == ENG_A_INTS || i + 1 < count
                         ? size
                         : edge->sizes[dim] - size * i;
        pieces[i] =
            eng_zeros(b->e, sizes, edge->ndim, (enum vs_dtype)like->dtype, like->storage->on_host);
    }
    if (!b->e->failed) {
        struct eng_arg args[] = {eng_atensors(pieces, count), eng_ai(dim)};

        eng_b_give(b, ARG_split_input, eng_call1(b->e, ENG_OP_cat, args));
    }
    for (int i = 0; i < count; i++)
        eng_unref(pieces[i]);
    vs_free(pieces);
}

void eng_f_chunk(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_chunk_input);
    int64_t chunks = eng_c_int(c, ARG_chunk_chunks);
    struct eng_ret ret;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_chunk_dim), x->ndim, &dim))
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
    struct eng_tensor *x = eng_c_tensor(c, ARG_unbind_input);
    struct eng_tensor **parts;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_unbind_dim), x->ndim, &dim))
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
    const struct eng_edge *edge = eng_b_edge(b, ARG_unbind_input, 0);
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
        int64_t dim = b->a[ARG_unbind_dim].v.scalar.i;
        struct eng_arg args[] = {eng_atensors(pieces, count),
                                 eng_ai(dim < 0 ? dim + edge->ndim : dim)};

        eng_b_give(b, ARG_unbind_input, eng_call1(b->e, ENG_OP_stack, args));
    }
    for (int i = 0; i < count; i++)
        eng_unref(pieces[i]);
    vs_free(pieces);
}
