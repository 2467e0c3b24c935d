/*
 * engine/ops/loss/similarity.c - cosine_similarity.
 *
 * Must not know:  models.
 * Invariant:      composed of other ops as in PyTorch: each side is divided by its norm first.
 */
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* A copy of the norm along dim, clamped from below without recording autograd history. */
static struct eng_tensor *norm_copy(struct eng *e, struct eng_tensor *x, int64_t dim)
{
    struct eng_arg args[] = {eng_at(x), eng_aints(&dim, 1), eng_ab(true), eng_anone()};
    struct eng_tensor *norm = x ? eng_call1(e, ENG_OP_norm, args) : NULL;
    struct eng_tensor *copy = eng_clone(e, norm);

    eng_unref(norm);
    return copy;
}

static void bound(struct eng *e, struct eng_tensor *norm, double eps)
{
    struct eng_arg args[] = {eng_at(norm), eng_af(eps)};
    bool grad = eng_set_grad_enabled(e, false);
    struct eng_ret ret;

    if (norm && eng_call_inplace(e, ENG_OP_clamp_min, args, &ret))
        eng_ret_release(&ret);
    eng_set_grad_enabled(e, grad);
}

/* (x1, x2, dim, eps). eps is a float32 of one element on the device. */
void eng_f_cosine_similarity(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *a = eng_c_tensor(c, ARG_cosine_similarity_x1),
                      *z = eng_c_tensor(c, ARG_cosine_similarity_x2);
    int64_t sizes[VS_MAX_DIMS], dim = eng_c_int(c, ARG_cosine_similarity_dim);
    struct eng_tensor *norm_a, *norm_z, *least, *unit_a, *unit_z, *product;
    int n;

    if (!eng_broadcast(e, a, z, sizes, &n))
        return;
    if (eng_same_sizes(a, z)) {
        eng_ref(z);
        eng_ref(a);
    } else {
        z = eng_expand(e, z, sizes, n); /* the second first */
        a = eng_expand(e, a, sizes, n);
    }
    norm_a = norm_copy(e, a, dim);
    norm_z = norm_copy(e, z, dim);
    /* the bound became a tensor after PyTorch 2.8 */
    least = norm_z && eng_torch(e) > 8
                ? eng_full(e, NULL, 0, eng_c_float(c, ARG_cosine_similarity_eps), VS_F32,
                           norm_z->storage->on_host)
                : NULL;
    bound(e, norm_a, eng_c_float(c, ARG_cosine_similarity_eps));
    bound(e, norm_z, eng_c_float(c, ARG_cosine_similarity_eps));
    unit_z = eng_div(e, z, norm_z); /* the right operand first */
    unit_a = eng_div(e, a, norm_a);
    product = eng_mul(e, unit_a, unit_z);
    eng_c_give(c, eng_sum_dims(e, product, &dim, 1, false));
    eng_unref(product);
    eng_unref(unit_a);
    eng_unref(unit_z);
    eng_unref(least);
    eng_unref(norm_z);
    eng_unref(norm_a);
    eng_unref(z);
    eng_unref(a);
}
