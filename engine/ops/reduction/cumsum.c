/*
 * engine/ops/reduction/cumsum.c - cumulative sums along a dim, and their gradient.
 *
 * Must not know:  models.
 * Invariant:      the result is allocated before the input is cast to the result's dtype.
 */
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"

void eng_f_cumsum(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_cumsum_input);
    enum vs_dtype dtype =
        vs_dtype_is_floating((enum vs_dtype)x->dtype) ? (enum vs_dtype)x->dtype : VS_I64;
    struct eng_tensor *out, *cast, *dense;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_cumsum_dim), x->ndim, &dim))
        return;
    if (c->a[ARG_cumsum_dtype].kind == ENG_A_DTYPE)
        dtype = c->a[ARG_cumsum_dtype].v.dtype;
    out = eng_c_empty(c, x->sizes, x->ndim, dtype, x);
    cast = out ? eng_to_dtype(c->e, x, dtype) : NULL;
    dense = cast ? eng_contiguous(c->e, cast) : NULL;
    if (dense && !x->storage->on_host && x->ndim && eng_numel(x) == x->sizes[dim])
        eng_scratch_scan(c->e, (uint64_t)eng_numel(x), dtype);
    if (dense && eng_c_computes(c)) {
        struct eng_view vx = eng_v(dense), vo = eng_v(out);

        c->e->kernels->cumsum(&vx, dim, &vo);
    }
    eng_unref(dense);
    eng_unref(cast);
    eng_c_give(c, out);
}

/* In the input's dtype: flip, cumsum, flip */
void eng_b_cumsum(struct eng_bw *b)
{
    int64_t dim = b->a[ARG_cumsum_dim].v.scalar.i;
    struct eng_tensor *g =
        eng_to_dtype(b->e, b->g[0], (enum vs_dtype)eng_b_edge(b, ARG_cumsum_input, 0)->dtype);
    struct eng_arg flip[] = {eng_at(g), eng_aints(&dim, 1)};
    struct eng_tensor *flipped = g ? eng_call1(b->e, ENG_OP_flip, flip) : NULL;
    struct eng_arg sum[] = {eng_at(flipped), eng_ai(dim), eng_anone()};
    struct eng_tensor *summed = flipped ? eng_call1(b->e, ENG_OP_cumsum, sum) : NULL;
    struct eng_arg back[] = {eng_at(summed), eng_aints(&dim, 1)};

    eng_b_give(b, ARG_cumsum_input, summed ? eng_call1(b->e, ENG_OP_flip, back) : NULL);
    eng_unref(summed);
    eng_unref(flipped);
    eng_unref(g);
}
