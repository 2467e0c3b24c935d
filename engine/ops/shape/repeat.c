/*
 * engine/ops/shape/repeat.c - repeat_interleave, tile and ravel, composed of views and copies.
 *
 * Must not know:  values.
 * Invariant:      the same ops in the same order as PyTorch's composites.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* (input, repeats, dim): each element `repeats` times in a row; without a dim of the flattened input */
void eng_f_repeat_interleave(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_arg flatten[] = {c->a[ARG_repeat_interleave_input], eng_ai(0), eng_ai(-1)};
    struct eng_tensor *x = eng_c_has(c, ARG_repeat_interleave_dim)
                               ? eng_ref(eng_c_tensor(c, ARG_repeat_interleave_input))
                               : eng_call1(e, ENG_OP_flatten, flatten);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *wide, *expanded, *copy;
    int dim;

    if (!x || !eng_wrap_dim(e,
                            eng_c_has(c, ARG_repeat_interleave_dim)
                                ? eng_c_int(c, ARG_repeat_interleave_dim)
                                : 0,
                            x->ndim, &dim)) {
        eng_unref(x);
        return;
    }
    wide = eng_unsqueeze(e, x, dim + 1);
    memcpy(sizes, wide ? wide->sizes : x->sizes, sizeof(sizes));
    sizes[dim + 1] = eng_c_int(c, ARG_repeat_interleave_repeats);
    expanded = eng_expand(e, wide, sizes, x->ndim + 1);
    copy = eng_op1(e, ENG_OP_clone_contiguous, expanded);
    eng_unref(expanded);
    eng_unref(wide);
    eng_unref(x);
    {
        struct eng_arg join[] = {eng_at(copy), eng_ai(dim), eng_ai(dim + 1)};

        eng_c_give(c, copy ? eng_call1(e, ENG_OP_flatten, join) : NULL);
    }
    eng_unref(copy);
}

/* (input, dims): repeat, with ones in front where dims are fewer */
void eng_f_tile(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_tile_input);
    int64_t dims[VS_MAX_DIMS];
    int given = (int)c->a[ARG_tile_dims].count;
    int n = given < x->ndim ? x->ndim : given;
    struct eng_arg args[2];

    if (n > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "tile: more than %d dimensions", VS_MAX_DIMS);
        return;
    }
    for (int i = 0; i < n; i++)
        dims[i] = i < n - given ? 1 : c->a[ARG_tile_dims].v.ints[i - (n - given)];
    args[0] = c->a[ARG_tile_input];
    args[1] = eng_aints(dims, n);
    eng_c_give(c, eng_call1(c->e, ENG_OP_repeat, args));
}

void eng_f_ravel(struct eng_op_call *c)
{
    struct eng_tensor *dense = eng_contiguous(c->e, eng_c_tensor(c, ARG_ravel_input));
    int64_t all = -1;
    struct eng_arg args[] = {eng_at(dense), eng_aints(&all, 1)};

    eng_c_give(c, dense ? eng_call1(c->e, ENG_OP_view, args) : NULL);
    eng_unref(dense);
}
