/*
 * engine/ops/reduction/prod.c - products along a dim, and the gradients of all products.
 *
 * Must not know:  models.
 * Invariant:      memory equals PyTorch's if no factor is zero: result / input is allocated. If some are zero, PyTorch
 *                 allocates other temporaries, which depend on values that `meta` does not have; here only the values
 *                 differ.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/reduction/reduce_internal.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

/* (input, dim, keepdim, dtype) */
void eng_f_prod(struct eng_op_call *c)
{
    int64_t dim = eng_c_int(c, ARG_prod_dim);
    struct eng_arg dims = eng_aints(&dim, 1);

    eng_reduce(c, eng_c_tensor(c, ARG_prod_input), &dims, eng_c_bool(c, ARG_prod_keepdim),
               &c->a[ARG_prod_dtype]);
}

/* Host scratch memory that is not counted: a view with the sizes of `like`, of size 1 along `dims`. */
static struct eng_view scratch_get(const struct eng *e, const struct eng_view *like, uint32_t dims,
                                   enum vs_dtype dtype, uint64_t *bytes)
{
    struct eng_view v = *like;
    int64_t count = 1;

    v.dtype = dtype;
    for (int d = v.ndim - 1; d >= 0; d--) {
        v.sizes[d] = dims >> d & 1 ? 1 : v.sizes[d];
        v.strides[d] = count;
        count *= v.sizes[d];
    }
    *bytes = (uint64_t)count * vs_dtype_bytes(dtype);
    v.data = e->kernels->mem_get(*bytes);
    return v;
}

/* A view of size 1 along `dims`, seen with all of the sizes of `like`. */
static struct eng_view spread(struct eng_view v, const struct eng_view *like, uint32_t dims)
{
    for (int d = 0; d < v.ndim; d++) {
        v.sizes[d] = like->sizes[d];
        v.strides[d] = dims >> d & 1 ? 0 : v.strides[d];
    }
    return v;
}

/* ratio[i] = the product over `dims` of all elements of x but i, right where elements are zero. */
static void products_of_others(const struct eng *e, const struct eng_view *x,
                               const struct eng_view *ratio, uint32_t dims)
{
    static const double P[4] = {1};
    const struct eng_kernels *k = e->kernels;
    uint64_t bytes[4];
    struct eng_view is_zero = scratch_get(e, x, 0, VS_BOOL, &bytes[0]);
    struct eng_view filled = scratch_get(e, x, 0, x->dtype, &bytes[1]); /* ones where zero */
    struct eng_view product = scratch_get(e, x, dims, x->dtype, &bytes[2]);
    struct eng_view zeros = scratch_get(e, x, dims, VS_I64, &bytes[3]);
    struct eng_view wide_product = spread(product, x, dims), wide_zeros = spread(zeros, x, dims);
    struct eng_cell one_cell, none_cell;
    struct eng_view one = {.data = &one_cell.f, .dtype = VS_F64, .ndim = x->ndim};
    struct eng_view none = {.data = &none_cell.f, .dtype = VS_F64, .ndim = x->ndim};

    one_cell.f = 1;
    none_cell.f = 0;
    memcpy(one.sizes, x->sizes, sizeof(one.sizes));
    memcpy(none.sizes, x->sizes, sizeof(none.sizes));
    k->binary(ENG_B_EQ, x->dtype, x, &none, &is_zero, P);
    k->ternary(ENG_T_WHERE, x->dtype, &is_zero, &one, x, &filled, P);
    k->reduce(ENG_R_PROD, &filled, &product, dims, P);
    k->reduce(ENG_R_SUM, &is_zero, &zeros, dims, P);
    k->binary(ENG_B_DIV, x->dtype, &wide_product, &filled, ratio, P);
    /* all other zeros: none but the element itself */
    k->binary(ENG_B_EQ, VS_I64, &is_zero, &wide_zeros, &is_zero, P);
    k->ternary(ENG_T_WHERE, ratio->dtype, &is_zero, ratio, &none, &filled, P);
    k->copy(&filled, ratio);
    k->mem_put(zeros.data, bytes[3]);
    k->mem_put(product.data, bytes[2]);
    k->mem_put(filled.data, bytes[1]);
    k->mem_put(is_zero.data, bytes[0]);
}

static bool has_zero(struct eng *e, bool on_host, const struct eng_view *mask)
{
    static const double P[4] = {0};
    struct eng_view one = *mask;
    unsigned char found = 0;

    for (int d = 0; d < one.ndim; d++) {
        one.sizes[d] = 1;
        one.strides[d] = 0;
    }
    one.data = &found;
    eng_run_reduce(e, on_host, ENG_R_ANY, mask, &one, (1U << mask->ndim) - 1, P);
    return found != 0;
}

/* Whether any element of mask is true. On `meta`, which has no values, the answer is false. */
static bool finds_zero(struct eng *e, const struct eng_tensor *mask)
{
    struct eng_view v;

    if (!mask || !eng_runs(e) || !eng_numel(mask))
        return false;
    v = eng_v(mask);
    return has_zero(e, mask->storage->on_host, &v);
}

/* result / x, or, where x has zeros, what that stands for. */
static struct eng_tensor *ratio_of(struct eng *e, struct eng_tensor *result, struct eng_tensor *x,
                                   bool with_zeros, uint32_t dims)
{
    struct eng_tensor *ratio = eng_div(e, result, x);

    if (ratio && with_zeros) {
        struct eng_view vx = eng_v(x), vr = eng_v(ratio);

        products_of_others(e, &vx, &vr, dims);
    }
    return ratio;
}

/* g * (result / input). saved: input, result */
void eng_b_prod_all(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x, *mask, *dense, *ratio;
    bool with_zeros;

    if (b->saved[SAVED_prod_all_input] && !b->saved[SAVED_prod_all_input]->ndim) {
        eng_b_give(b, ARG_prod_all_input, eng_mul(e, b->g[0], b->saved[SAVED_prod_all_result]));
        return;
    }
    x = eng_to_dtype(e, b->saved[SAVED_prod_all_input], (enum vs_dtype)b->g[0]->dtype);
    mask = eng_op2s(e, ENG_OP_eq, x, 0);
    with_zeros = finds_zero(e, mask);
    dense = eng_contiguous(e, mask); /* the mask that nonzero() reads */
    if (dense && !dense->storage->on_host)
        eng_scratch_nonzero(e, (uint64_t)eng_numel(dense));
    eng_unref(dense);
    eng_unref(mask);
    ratio =
        x ? ratio_of(e, b->saved[SAVED_prod_all_result], x, with_zeros, (1U << x->ndim) - 1) : NULL;
    eng_b_give(b, ARG_prod_all_input, eng_mul(e, b->g[0], ratio));
    eng_unref(ratio);
    eng_unref(x);
}

/* As above along one dim, after zeros have been counted: per line, and all. saved: input, result */
void eng_b_prod(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[SAVED_prod_input];
    struct eng_tensor *g = eng_ref(b->g[0]), *result = eng_ref(b->saved[SAVED_prod_result]);
    struct eng_tensor *mask, *count, *ratio;
    int64_t dim = b->a[ARG_prod_dim].v.scalar.i;

    if (x && !x->ndim) {
        eng_unref(result);
        eng_b_give(b, ARG_prod_input, g);
        return;
    }
    x = eng_to_dtype(e, x, (enum vs_dtype)b->g[0]->dtype);
    dim = x && dim < 0 ? dim + x->ndim : dim;
    if (!b->a[ARG_prod_keepdim].v.flag) {
        eng_slot_set(&g, eng_unsqueeze(e, g, dim));
        eng_slot_set(&result, eng_unsqueeze(e, result, dim));
    }
    mask = eng_op2s(e, ENG_OP_eq, x, 0);
    count = eng_sum_dims(e, mask, &dim, 1, true);
    eng_unref(eng_sum_to(e, count, NULL, 0));
    ratio = x ? ratio_of(e, result, x, finds_zero(e, mask), 1U << dim) : NULL;
    eng_b_give(b, ARG_prod_input, eng_mul(e, g, ratio));
    eng_unref(ratio);
    eng_unref(count);
    eng_unref(mask);
    eng_unref(result);
    eng_unref(g);
    eng_unref(x);
}
