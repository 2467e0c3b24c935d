/*
 * engine/ops/shape/diagonal.c - the view of a diagonal, and the ops built on it.
 *
 * Must not know:  models.
 * Invariant:      a view never copies; the gradient is zeros of the input's size with g written on the diagonal.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/*
 * The diagonal of dims d1 and d2 as the last dim; `offset` counts from the main diagonal, positive above it and
 * negative below.
 */
static struct eng_tensor *diagonal_of(struct eng_tensor *x, int64_t offset, int d1, int d2)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    int64_t rows = x->sizes[d1] - down, cols = x->sizes[d2] - right;
    int64_t length = rows < cols ? rows : cols;
    uint64_t start = x->offset;
    int n = 0;

    for (int d = 0; d < x->ndim; d++) {
        if (d == d1 || d == d2)
            continue;
        sizes[n] = x->sizes[d];
        strides[n++] = x->strides[d];
    }
    sizes[n] = length > 0 ? length : 0;
    strides[n++] = x->strides[d1] + x->strides[d2];
    if (length > 0)
        start += (uint64_t)(down * x->strides[d1] + right * x->strides[d2]);
    return eng_as_strided(x, sizes, strides, n, start);
}

/* (input, offset, dim1, dim2) */
void eng_f_diagonal(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_diagonal_input);
    int d1, d2;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_diagonal_dim1), x->ndim, &d1) ||
        !eng_wrap_dim(c->e, eng_c_int(c, ARG_diagonal_dim2), x->ndim, &d2))
        return;
    if (d1 == d2) {
        eng_fail(c->e, VS_E_VALUE, "diagonal dimensions cannot be identical %d, %d", d1, d2);
        return;
    }
    eng_c_give(c, diagonal_of(x, eng_c_int(c, ARG_diagonal_offset), d1, d2));
}

void eng_b_diagonal(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_diagonal_input, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int64_t d1 = b->a[ARG_diagonal_dim1].v.scalar.i, d2 = b->a[ARG_diagonal_dim2].v.scalar.i;
    struct eng_tensor *slot;

    if (!zeros)
        return;
    slot = diagonal_of(zeros, b->a[ARG_diagonal_offset].v.scalar.i,
                       (int)(d1 < 0 ? d1 + edge->ndim : d1), (int)(d2 < 0 ? d2 + edge->ndim : d2));
    eng_copy_into(b->e, slot, b->g[0]);
    eng_unref(slot);
    eng_b_give(b, ARG_diagonal_input, zeros);
}

/* The same as a new tensor. */
void eng_f_diagonal_copy(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_diagonal_copy_input), *view, *out;
    int d1, d2;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_diagonal_copy_dim1), x->ndim, &d1) ||
        !eng_wrap_dim(c->e, eng_c_int(c, ARG_diagonal_copy_dim2), x->ndim, &d2))
        return;
    if (d1 == d2) {
        eng_fail(c->e, VS_E_VALUE, "diagonal dimensions cannot be identical %d, %d", d1, d2);
        return;
    }
    view = diagonal_of(x, eng_c_int(c, ARG_diagonal_copy_offset), d1, d2);
    out = eng_empty(c->e, view->sizes, view->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    if (out)
        eng_copy_into(c->e, out, view);
    eng_unref(view);
    eng_c_give(c, out);
}

/* x [.., n] as the diagonal of dims dim1 and dim2 of zeros [.., n + |offset|, n + |offset|] */
void eng_f_diag_embed(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_diag_embed_input), *out, *slot;
    int64_t offset = eng_c_int(c, ARG_diag_embed_offset);
    int64_t sizes[VS_MAX_DIMS];
    int d1, d2, from = 0;

    if (x->ndim == 0 || x->ndim + 1 > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_SHAPE, "diag_embed: a tensor of 1 to %d dimensions is needed",
                 VS_MAX_DIMS - 1);
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_diag_embed_dim1), x->ndim + 1, &d1) ||
        !eng_wrap_dim(c->e, eng_c_int(c, ARG_diag_embed_dim2), x->ndim + 1, &d2))
        return;
    if (d1 == d2) {
        eng_fail(c->e, VS_E_VALUE, "diagonal dimensions cannot be identical %d, %d", d1, d2);
        return;
    }
    for (int d = 0; d <= x->ndim; d++)
        sizes[d] = d == d1 || d == d2 ? x->sizes[x->ndim - 1] + (offset < 0 ? -offset : offset)
                                      : x->sizes[from++];
    out = eng_zeros(c->e, sizes, x->ndim + 1, (enum vs_dtype)x->dtype, x->storage->on_host);
    if (!out)
        return;
    slot = diagonal_of(out, offset, d1, d2);
    eng_copy_into(c->e, slot, x);
    eng_unref(slot);
    eng_c_give(c, out);
}

/* The diagonal of the gradient, a view. */
void eng_b_diag_embed(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), b->a[ARG_diag_embed_offset],
                             b->a[ARG_diag_embed_dim1], b->a[ARG_diag_embed_dim2]};

    eng_b_give(b, ARG_diag_embed_input, eng_call1(b->e, ENG_OP_diagonal, args));
}

/* A vector on the diagonal of a matrix, or the diagonal of a matrix as a new vector. */
void eng_f_diag(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_diag_input);
    int64_t offset = eng_c_int(c, ARG_diag_diagonal);
    struct eng_arg embed[] = {eng_at(x), eng_ai(offset), eng_ai(-2), eng_ai(-1)};
    struct eng_arg copy[] = {eng_at(x), eng_ai(offset), eng_ai(0), eng_ai(1)};

    if (x->ndim != 1 && x->ndim != 2) {
        eng_fail(c->e, VS_E_SHAPE, "diag(): Supports 1D or 2D tensors. Got %dD", x->ndim);
        return;
    }
    eng_c_give(c, x->ndim == 1 ? eng_call1(c->e, ENG_OP_diag_embed, embed)
                               : eng_call1(c->e, ENG_OP_diagonal_copy, copy));
}
