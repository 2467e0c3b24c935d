/*
 * engine/ops/attention.c - scaled_dot_product_attention: which kernel PyTorch would take, and what that kernel keeps.
 *
 * Must not know:  models.
 * Invariant:      flash for half types without a mask, memory-efficient otherwise where the head dimension is aligned, else composed
 *                 ("math"); the sizes are those of compute capability 8.0.
 */
#include <math.h>
#include <string.h>

#include "engine/op_internal.h"
#include "engine/ops/ops.h"
#include "engine/rooms.h"
#include "engine/scratch.h"

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static bool is_half(const struct eng_tensor *t)
{
    return t->dtype == VS_F16 || t->dtype == VS_BF16;
}

static bool check_shapes(struct eng_op_call *c, const struct eng_tensor *q,
                         const struct eng_tensor *k, const struct eng_tensor *v)
{
    char tq[ENG_SHAPE_TEXT_MAX], tk[ENG_SHAPE_TEXT_MAX], tv[ENG_SHAPE_TEXT_MAX];

    if (q->ndim >= 2 && q->ndim == k->ndim && k->ndim == v->ndim &&
        q->sizes[q->ndim - 1] == k->sizes[k->ndim - 1] &&
        k->sizes[k->ndim - 2] == v->sizes[v->ndim - 2] && q->dtype == k->dtype &&
        k->dtype == v->dtype)
        return true;
    eng_fail(c->e, VS_E_SHAPE,
             "scaled_dot_product_attention: query %s, key %s and value %s do not fit together",
             eng_shape_text(q, tq), eng_shape_text(k, tk), eng_shape_text(v, tv));
    return false;
}

/* ---- the composed form ---- */

static struct eng_tensor *mask_of_causal(struct eng_op_call *c, const struct eng_tensor *q,
                                         const struct eng_tensor *k)
{
    struct eng *e = c->e;
    int64_t sizes[2] = {q->sizes[q->ndim - 2], k->sizes[k->ndim - 2]};
    struct eng_arg ones[] = {eng_aints(sizes, 2), eng_ad(VS_BOOL), eng_ahost(q->storage->on_host)};
    struct eng_tensor *full = eng_call1(e, ENG_OP_ones, ones);
    struct eng_arg args[] = {eng_at(full), eng_ai(0)};
    struct eng_tensor *lower = full ? eng_call1(e, ENG_OP_tril, args) : NULL;

    eng_unref(full);
    return lower;
}

/* A bool mask as numbers to add: 0 where it takes part, -inf elsewhere. A new reference. */
static struct eng_tensor *additive(struct eng_op_call *c, struct eng_tensor *mask,
                                   const struct eng_tensor *q)
{
    struct eng_tensor *zero, *minus, *out;

    if (!mask || mask->dtype != VS_BOOL)
        return eng_ref(mask);
    zero = eng_full(c->e, NULL, 0, 0, (enum vs_dtype)q->dtype, q->storage->on_host);
    minus = eng_full(c->e, NULL, 0, -HUGE_VAL, (enum vs_dtype)q->dtype, q->storage->on_host);
    {
        struct eng_arg args[] = {eng_at(mask), eng_at(zero), eng_at(minus)};

        out = zero && minus ? eng_call1(c->e, ENG_OP_where, args) : NULL;
    }
    eng_unref(minus);
    eng_unref(zero);
    return out;
}

/* softmax whose fully masked rows give zeros: the checks for them are temporaries of the op */
void eng_f_safe_softmax(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int dim = x->ndim - 1;
    struct eng_tensor *out = eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    struct eng_tensor *masked = out ? eng_c_empty(c, x->sizes, x->ndim, VS_BOOL, x) : NULL;
    int64_t rows[VS_MAX_DIMS];
    struct eng_tensor *all, *zero;

    memcpy(rows, x->sizes, sizeof(rows));
    rows[dim] = 1;
    all = masked ? eng_c_empty(c, rows, x->ndim, VS_BOOL, x) : NULL;
    eng_scratch_reduce(c->e, ENG_SR_VALUE, masked, all, 1U << dim, true);
    zero = all ? eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x) : NULL;
    if (zero && eng_runs(c->e)) {
        const struct eng_kernels *kernels = c->e->kernels;
        struct eng_tensor *dense = eng_contiguous(c->e, x);
        struct eng_cell cell;
        double none[4] = {0};

        if (dense) {
            struct eng_view vx = eng_v(dense), vo = eng_v(out), vm = eng_v(masked), va = eng_v(all),
                            vr, vz;
            struct eng_view inf =
                eng_v_scalar((struct eng_scalar){false, 0, -HUGE_VAL}, masked, &cell);

            if (kernels) {
                kernels->softmax(&vx, dim, false, &vo);
                kernels->binary(ENG_B_EQ, (enum vs_dtype)x->dtype, &vx, &inf, &vm, none);
            }
            eng_run_reduce(c->e, out->storage->on_host, ENG_R_ALL, &vm, &va, 1U << dim, none);
            vr = eng_v_expand(all, out);
            vz = eng_v_scalar((struct eng_scalar){true, 0, 0}, out, &cell);
            if (kernels && !c->e->failed)
                kernels->ternary(ENG_T_WHERE, vo.dtype, &vr, &vz, &vo, &vo, none);
        }
        eng_unref(dense);
    }
    eng_unref(zero);
    eng_unref(all);
    eng_unref(masked);
    eng_c_give(c, out);
}

static void attention_math(struct eng_op_call *c, struct eng_tensor *q, struct eng_tensor *k,
                           struct eng_tensor *v, struct eng_tensor *mask, double scale)
{
    struct eng *e = c->e;
    double dropout_p = eng_c_float(c, 4);
    bool low = is_half(q);
    struct eng_tensor *q32 = low ? eng_to_dtype(e, q, VS_F32) : eng_ref(q);
    struct eng_tensor *k32 = low ? eng_to_dtype(e, k, VS_F32) : eng_ref(k);
    struct eng_tensor *v32 = low ? eng_to_dtype(e, v, VS_F32) : eng_ref(v);
    struct eng_tensor *causal = eng_c_bool(c, 5) ? mask_of_causal(c, q, k) : NULL;
    struct eng_tensor *bias, *qs, *kt, *ks, *scores, *attn, *attn_low, *out;

    qs = eng_mul_scalar(e, q32, sqrt(scale));
    bias = additive(c, causal ? causal : mask, q32);
    kt = eng_transpose(e, k32, -2, -1);
    ks = eng_mul_scalar(e, kt, sqrt(scale));
    scores = eng_op2(e, ENG_OP_matmul, qs, ks);
    eng_unref(ks);
    eng_unref(kt);
    if (bias && scores) {
        struct eng_tensor *same = eng_add_(e, scores, bias);

        eng_unref(same);
    }
    attn = eng_op1(e, ENG_OP_safe_softmax, scores);
    eng_unref(scores);
    if (dropout_p > 0 && attn) {
        struct eng_arg args[] = {eng_at(attn), eng_af(dropout_p), eng_ab(true)};

        eng_slot_set(&attn, eng_call1(e, ENG_OP_dropout, args));
    }
    attn_low =
        eng_to_dtype(e, attn, (enum vs_dtype)q->dtype); /* the second result, which nobody takes */
    out = eng_op2(e, ENG_OP_matmul, attn, v32);
    if (low)
        eng_slot_set(&out, eng_to_dtype(e, out, (enum vs_dtype)q->dtype));
    eng_unref(attn);
    eng_unref(bias);
    eng_unref(qs);
    eng_unref(causal);
    eng_unref(v32);
    eng_unref(k32);
    eng_unref(q32);
    eng_unref(attn_low);
    eng_c_give(c, out);
}

/* ---- the choice ---- */

/* The fused kernels want the last dim of all three to lie densely, and of the mask too. */
static bool rows_are_dense(const struct eng_tensor *q, const struct eng_tensor *k,
                           const struct eng_tensor *v)
{
    return q->strides[q->ndim - 1] == 1 && k->strides[k->ndim - 1] == 1 &&
           v->strides[v->ndim - 1] == 1;
}

static bool fits_efficient(const struct eng_tensor *q, const struct eng_tensor *k,
                           const struct eng_tensor *v)
{
    int64_t align = is_half(q) ? 8 : 4;

    return q->ndim == 4 && rows_are_dense(q, k, v) && !q->storage->on_host && q->dtype != VS_F64 &&
           q->sizes[3] % align == 0 && v->sizes[3] % align == 0;
}

static bool fits_flash(const struct eng_tensor *q, const struct eng_tensor *k,
                       const struct eng_tensor *v, const struct eng_tensor *mask)
{
    return q->ndim == 4 && rows_are_dense(q, k, v) && !q->storage->on_host && is_half(q) && !mask &&
           q->sizes[3] <= 256 && q->sizes[3] == v->sizes[3];
}

static void attention_flash(struct eng_op_call *c, double scale)
{
    struct eng *e = c->e;
    struct eng_tensor *t[3];
    struct eng_ret ret;
    int64_t width = eng_c_tensor(c, 0)->sizes[3];
    int64_t pad[2] = {0, round_up(width, 8) - width};

    for (int i = 0; i < 3; i++) {
        struct eng_arg args[] = {c->a[i], eng_aints(pad, 2), eng_ai(0)};

        t[i] = pad[1] ? eng_call1(e, ENG_OP_pad, args) : eng_ref(eng_c_tensor(c, i));
    }
    {
        struct eng_arg args[] = {eng_at(t[0]), eng_at(t[1]), eng_at(t[2]),
                                 c->a[4],      c->a[5],      eng_af(scale)};

        if (t[2] && !e->failed && eng_call(e, ENG_OP_sdpa_flash, args, &ret)) {
            struct eng_tensor *out = ret.few[0];

            ret.few[0] = NULL;
            eng_ret_release(&ret);
            if (pad[1])
                eng_slot_set(&out, eng_narrow(e, out, 3, 0, width));
            eng_c_give(c, out);
        }
    }
    for (int i = 0; i < 3; i++)
        eng_unref(t[i]);
}

/* The kernel reads the mask in steps of 8 elements: one that is not so wide is padded. A new reference, expanded to [B,H,L,S]. */
static struct eng_tensor *aligned_mask(struct eng_op_call *c, struct eng_tensor *mask,
                                       const struct eng_tensor *q, const struct eng_tensor *k)
{
    struct eng *e = c->e;
    struct eng_tensor *bias = additive(c, mask, q), *out;
    int64_t sizes[4] = {q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2]};
    int64_t width;

    if (!bias)
        return NULL;
    width = bias->sizes[bias->ndim - 1];
    if (width % 8) {
        int64_t pad[2] = {0, 8 - width % 8};
        struct eng_arg args[] = {eng_at(bias), eng_aints(pad, 2), eng_ai(0)};
        struct eng_tensor *padded = eng_call1(e, ENG_OP_pad, args);

        eng_slot_set(&bias, eng_narrow(e, padded, -1, 0, width));
        eng_unref(padded);
    }
    out = eng_expand(e, bias, sizes, 4);
    eng_unref(bias);
    return out;
}

static void attention_efficient(struct eng_op_call *c, struct eng_tensor *mask, double scale)
{
    struct eng *e = c->e;
    struct eng_tensor *bias = aligned_mask(c, mask, eng_c_tensor(c, 0), eng_c_tensor(c, 1));
    bool needs_grad =
        e->grad_enabled &&
        (eng_requires_grad(eng_c_tensor(c, 0)) || eng_requires_grad(eng_c_tensor(c, 1)) ||
         eng_requires_grad(eng_c_tensor(c, 2)) || eng_requires_grad(bias));
    struct eng_arg args[] = {
        c->a[0], c->a[1], c->a[2],      bias ? eng_at(bias) : eng_anone(), eng_ab(needs_grad),
        c->a[4], c->a[5], eng_af(scale)};
    struct eng_ret ret;

    if (!e->failed && eng_call(e, ENG_OP_sdpa_efficient, args, &ret)) {
        struct eng_tensor *out = ret.few[0];

        ret.few[0] = NULL;
        eng_ret_release(&ret);
        eng_c_give(c, out);
    }
    eng_unref(bias);
}

static void attend(struct eng_op_call *c, double scale)
{
    struct eng_tensor *q = eng_c_tensor(c, 0), *k = eng_c_tensor(c, 1), *v = eng_c_tensor(c, 2),
                      *mask = eng_c_tensor(c, 3);

    if (fits_flash(q, k, v, mask))
        attention_flash(c, scale);
    else if (fits_efficient(q, k, v))
        attention_efficient(c, mask, scale);
    else
        attention_math(c, q, k, v, mask, scale);
}

/* Three dims are a batch of one. */
static void attend_unbatched(struct eng_op_call *c, double scale)
{
    struct eng *e = c->e;
    struct eng_ret ret = {.tensors = ret.few};
    struct eng_arg args[ENG_MAX_ARGS];
    struct eng_op_call inner = *c;
    struct eng_tensor *batch[4] = {0};

    memcpy(args, c->a, sizeof(*args) * 8);
    for (int i = 0; i < 4; i++) {
        struct eng_tensor *t = eng_c_tensor(c, i);

        batch[i] = t && t->ndim == 3 ? eng_unsqueeze(e, t, 0) : eng_ref(t);
        if (t)
            args[i] = eng_at(batch[i]);
    }
    inner.a = args;
    inner.ret = &ret;
    if (!e->failed)
        attend(&inner, scale);
    if (!e->failed && ret.count)
        eng_c_give(c, eng_squeeze(e, ret.few[0], 0));
    eng_ret_release(&ret);
    for (int i = 0; i < 4; i++)
        eng_unref(batch[i]);
}

/* (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa) */
void eng_f_sdpa(struct eng_op_call *c)
{
    struct eng_tensor *q = eng_c_tensor(c, 0), *k = eng_c_tensor(c, 1), *v = eng_c_tensor(c, 2),
                      *mask = eng_c_tensor(c, 3);
    double scale;

    if (!check_shapes(c, q, k, v))
        return;
    if (mask && eng_c_bool(c, 5)) {
        eng_fail(c->e, VS_E_VALUE,
                 "scaled_dot_product_attention: explicit attn_mask should not be set when "
                 "is_causal=True");
        return;
    }
    if (mask && mask->dtype != VS_BOOL && mask->dtype != q->dtype) {
        eng_fail(
            c->e, VS_E_TYPE,
            "scaled_dot_product_attention: attn_mask is %s and query is %s: expected attn_mask "
            "to be bool or of query's dtype",
            vs_dtype_name((enum vs_dtype)mask->dtype), vs_dtype_name((enum vs_dtype)q->dtype));
        return;
    }
    if (eng_c_bool(c, 7)) {
        eng_fail(c->e, VS_E_UNSUPPORTED,
                 "scaled_dot_product_attention: enable_gqa=True is not supported: repeat the key "
                 "and value heads");
        return;
    }
    scale = eng_c_has(c, 6) ? eng_c_float(c, 6) : 1.0 / sqrt((double)q->sizes[q->ndim - 1]);
    if (q->ndim == 3)
        attend_unbatched(c, scale);
    else
        attend(c, scale);
}
