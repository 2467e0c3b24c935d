/*
 * engine/ops/calls.c - ops as C functions, for formulas.
 *
 * Must not know:  any single op's formula.
 * Invariant:      each function is one eng_call of one op, and does nothing after a failure; NULL operands are allowed
 *                 and give NULL.
 */
#include "engine/core/op_internal.h"

/* ---- ops as C functions ---- */

struct eng_tensor *eng_op1(struct eng *e, enum eng_op_id id, struct eng_tensor *a)
{
    struct eng_arg args[ENG_MAX_ARGS] = {eng_at(a)};

    return a ? eng_call1(e, id, args) : NULL;
}

struct eng_tensor *eng_op2(struct eng *e, enum eng_op_id id, struct eng_tensor *a,
                           struct eng_tensor *b)
{
    struct eng_arg args[ENG_MAX_ARGS] = {eng_at(a), eng_at(b)};

    return a && b ? eng_call1(e, id, args) : NULL;
}

struct eng_tensor *eng_op2s(struct eng *e, enum eng_op_id id, struct eng_tensor *a, double value)
{
    struct eng_arg args[ENG_MAX_ARGS] = {eng_at(a), eng_af(value)};

    return a ? eng_call1(e, id, args) : NULL;
}

static struct eng_tensor *with_alpha(struct eng *e, enum eng_op_id id, struct eng_tensor *a,
                                     struct eng_arg b, bool inplace)
{
    struct eng_arg args[] = {eng_at(a), b, eng_ai(1)};
    struct eng_ret ret;
    bool ok;

    if (!a || (b.kind == ENG_A_TENSOR && !b.v.tensor))
        return NULL;
    ok = inplace ? eng_call_inplace(e, id, args, &ret) : eng_call(e, id, args, &ret);
    return ok ? ret.few[0] : NULL;
}

struct eng_tensor *eng_add(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return with_alpha(e, ENG_OP_add, a, eng_at(b), false);
}

struct eng_tensor *eng_add_(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return with_alpha(e, ENG_OP_add, a, eng_at(b), true);
}

struct eng_tensor *eng_add_scalar(struct eng *e, struct eng_tensor *a, double value)
{
    return with_alpha(e, ENG_OP_add, a, eng_af(value), false);
}

struct eng_tensor *eng_sub(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return with_alpha(e, ENG_OP_sub, a, eng_at(b), false);
}

struct eng_tensor *eng_mul(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return eng_op2(e, ENG_OP_mul, a, b);
}

struct eng_tensor *eng_mul_scalar(struct eng *e, struct eng_tensor *a, double value)
{
    return eng_op2s(e, ENG_OP_mul, a, value);
}

struct eng_tensor *eng_div(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return eng_op2(e, ENG_OP_div, a, b);
}

struct eng_tensor *eng_div_scalar(struct eng *e, struct eng_tensor *a, double value)
{
    return eng_op2s(e, ENG_OP_div, a, value);
}

struct eng_tensor *eng_neg(struct eng *e, struct eng_tensor *a)
{
    return eng_op1(e, ENG_OP_neg, a);
}

struct eng_tensor *eng_pow_scalar(struct eng *e, struct eng_tensor *a, double exponent)
{
    return eng_op2s(e, ENG_OP_pow, a, exponent);
}

struct eng_tensor *eng_to_dtype(struct eng *e, struct eng_tensor *a, enum vs_dtype dtype)
{
    struct eng_arg args[] = {eng_at(a), eng_ad(dtype), eng_anone()};

    if (!a || a->dtype == dtype)
        return eng_ref(a);
    return eng_call1(e, ENG_OP_to_copy, args);
}

struct eng_tensor *eng_to_side(struct eng *e, struct eng_tensor *a, bool on_host)
{
    struct eng_arg args[] = {eng_at(a), eng_anone(), eng_ahost(on_host)};

    if (!a || a->storage->on_host == on_host)
        return eng_ref(a);
    return eng_call1(e, ENG_OP_to_copy, args);
}

struct eng_tensor *eng_contiguous(struct eng *e, struct eng_tensor *a)
{
    if (!a || eng_is_contiguous(a))
        return eng_ref(a);
    return eng_op1(e, ENG_OP_contiguous, a);
}

struct eng_tensor *eng_clone(struct eng *e, struct eng_tensor *a)
{
    return eng_op1(e, ENG_OP_clone, a);
}

struct eng_tensor *eng_mm(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return eng_op2(e, ENG_OP_mm, a, b);
}

struct eng_tensor *eng_bmm(struct eng *e, struct eng_tensor *a, struct eng_tensor *b)
{
    return eng_op2(e, ENG_OP_bmm, a, b);
}

struct eng_tensor *eng_t(struct eng *e, struct eng_tensor *a)
{
    return eng_op1(e, ENG_OP_t, a);
}

struct eng_tensor *eng_transpose(struct eng *e, struct eng_tensor *a, int64_t d0, int64_t d1)
{
    struct eng_arg args[] = {eng_at(a), eng_ai(d0), eng_ai(d1)};

    return a ? eng_call1(e, ENG_OP_transpose, args) : NULL;
}

static struct eng_tensor *with_ints(struct eng *e, enum eng_op_id id, struct eng_tensor *a,
                                    const int64_t *ints, int count)
{
    struct eng_arg args[ENG_MAX_ARGS] = {eng_at(a), eng_aints(ints, count)};

    return a ? eng_call1(e, id, args) : NULL;
}

struct eng_tensor *eng_reshape(struct eng *e, struct eng_tensor *a, const int64_t *sizes, int ndim)
{
    return with_ints(e, ENG_OP_reshape, a, sizes, ndim);
}

struct eng_tensor *eng_expand(struct eng *e, struct eng_tensor *a, const int64_t *sizes, int ndim)
{
    return with_ints(e, ENG_OP_expand, a, sizes, ndim);
}

struct eng_tensor *eng_permute(struct eng *e, struct eng_tensor *a, const int64_t *dims, int ndim)
{
    return with_ints(e, ENG_OP_permute, a, dims, ndim);
}

struct eng_tensor *eng_squeeze(struct eng *e, struct eng_tensor *a, int64_t dim)
{
    return with_ints(e, ENG_OP_squeeze, a, &dim, 1);
}

struct eng_tensor *eng_unsqueeze(struct eng *e, struct eng_tensor *a, int64_t dim)
{
    struct eng_arg args[] = {eng_at(a), eng_ai(dim)};

    return a ? eng_call1(e, ENG_OP_unsqueeze, args) : NULL;
}

struct eng_tensor *eng_narrow(struct eng *e, struct eng_tensor *a, int64_t dim, int64_t start,
                              int64_t length)
{
    struct eng_arg args[] = {eng_at(a), eng_ai(dim), eng_ai(start), eng_ai(length)};

    return a ? eng_call1(e, ENG_OP_narrow, args) : NULL;
}

struct eng_tensor *eng_sum_dims(struct eng *e, struct eng_tensor *a, const int64_t *dims, int count,
                                bool keepdim)
{
    struct eng_arg args[] = {eng_at(a), eng_aints(dims, count), eng_ab(keepdim), eng_anone()};

    return a ? eng_call1(e, ENG_OP_sum, args) : NULL;
}

struct eng_tensor *eng_sum_to(struct eng *e, struct eng_tensor *a, const int64_t *sizes, int ndim)
{
    int64_t dims[VS_MAX_DIMS];
    struct eng_tensor *sum;
    int lead, count = 0;

    if (!a)
        return NULL;
    lead = a->ndim - ndim;
    if (!ndim && a->ndim) { /* sum() of everything */
        struct eng_arg args[] = {eng_at(a), eng_anone()};

        return eng_call1(e, ENG_OP_sum_all, args);
    }
    for (int d = 0; d < a->ndim; d++) {
        if (d < lead || (sizes[d - lead] == 1 && a->sizes[d] != 1))
            dims[count++] = d;
    }
    sum = count ? eng_sum_dims(e, a, dims, count, true) : eng_ref(a);
    if (lead > 0 && sum) {
        struct eng_arg args[] = {eng_at(sum), eng_aints(sizes, ndim)};
        struct eng_tensor *shaped = eng_call1(e, ENG_OP_view, args);

        eng_unref(sum);
        return shaped;
    }
    return sum;
}

struct eng_tensor *eng_full(struct eng *e, const int64_t *sizes, int ndim, double value,
                            enum vs_dtype dtype, bool on_host)
{
    struct eng_arg args[] = {eng_aints(sizes, ndim), eng_af(value), eng_ad(dtype),
                             eng_ahost(on_host)};

    return eng_call1(e, ENG_OP_full, args);
}

struct eng_tensor *eng_zeros(struct eng *e, const int64_t *sizes, int ndim, enum vs_dtype dtype,
                             bool on_host)
{
    struct eng_arg args[] = {eng_aints(sizes, ndim), eng_ad(dtype), eng_ahost(on_host)};

    return eng_call1(e, ENG_OP_zeros, args);
}

struct eng_tensor *eng_ones_like(struct eng *e, struct eng_tensor *a)
{
    struct eng_arg args[] = {eng_at(a), eng_anone(), eng_anone()};

    return a ? eng_call1(e, ENG_OP_ones_like, args) : NULL;
}

static void inplace2(struct eng *e, enum eng_op_id id, struct eng_tensor *a, struct eng_arg b)
{
    struct eng_arg args[] = {eng_at(a), b};
    struct eng_ret ret;

    if (a && eng_call_inplace(e, id, args, &ret))
        eng_ret_release(&ret);
}

void eng_copy_into(struct eng *e, struct eng_tensor *dst, struct eng_tensor *src)
{
    if (src)
        inplace2(e, ENG_OP_copy_, dst, eng_at(src));
}

void eng_fill_zero(struct eng *e, struct eng_tensor *t)
{
    inplace2(e, ENG_OP_zero_, t, eng_anone());
}
