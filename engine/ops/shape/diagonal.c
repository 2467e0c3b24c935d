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
