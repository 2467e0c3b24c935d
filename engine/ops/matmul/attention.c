/*
 * engine/ops/matmul/attention.c - scaled_dot_product_attention: which kernel PyTorch would take, and what that kernel
 * keeps.
 *
 * Must not know:  models.
 * Invariant:      flash attention for half types without a mask, otherwise memory-efficient attention if the head
 *                 dimension is aligned, otherwise composed ("math"), also if batch sizes differ or head counts do not
 *                 divide; sizes match compute capability 8.0.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

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

/* Whether the key and value must be repeated: enable_gqa is set and their head counts differ from the query's. */
static bool has_fewer_heads(struct eng_op_call *c, const struct eng_tensor *q,
                            const struct eng_tensor *k, const struct eng_tensor *v)
{
    int head = q->ndim - 3;

    return eng_c_bool(c, ARG_sdpa_enable_gqa) && head >= 0 &&
           (q->sizes[head] != k->sizes[head] || k->sizes[head] != v->sizes[head]);
}

static bool check_groups(struct eng_op_call *c, const struct eng_tensor *q,
                         const struct eng_tensor *k, const struct eng_tensor *v)
{
    int head = q->ndim - 3;

    if (eng_c_bool(c, ARG_sdpa_enable_gqa) && head < 0) {
        eng_fail(c->e, VS_E_SHAPE,
                 "scaled_dot_product_attention: enable_gqa=True needs a dim of heads: query, key "
                 "and value of 3 or more dims");
        return false;
    }
    if (!has_fewer_heads(c, q, k, v))
        return true;
    if (k->sizes[head] > 0 && v->sizes[head] > 0 && q->sizes[head] % k->sizes[head] == 0 &&
        q->sizes[head] % v->sizes[head] == 0)
        return true;
    eng_fail(c->e, VS_E_SHAPE,
             "scaled_dot_product_attention: the number of heads in key (%" PRId64
             ") and value (%" PRId64 ") must divide the number of heads in query (%" PRId64 ")",
             k->sizes[head], v->sizes[head], q->sizes[head]);
    return false;
}

/* ---- the composed form ---- */

/* A bool mask as additive() has it, by PyTorch 2.4: zeros, of which some are filled. */
static struct eng_tensor *additive_filled(struct eng *e, struct eng_tensor *mask,
                                          const struct eng_tensor *q)
{
    struct eng_arg like[] = {eng_at(mask), eng_ad((enum vs_dtype)q->dtype), eng_anone()};
    struct eng_tensor *out = eng_call1(e, ENG_OP_zeros_like, like);
    struct eng_tensor *others = out ? eng_op1(e, ENG_OP_logical_not, mask) : NULL;
    struct eng_ret ret;

    if (others) {
        struct eng_arg args[] = {eng_at(out), eng_at(others), eng_af(-HUGE_VAL)};

        if (eng_call_inplace(e, ENG_OP_masked_fill, args, &ret))
            eng_ret_release(&ret);
    }
    eng_unref(others);
    return out;
}

/* A bool mask as numbers to add: 0 where it takes part, -inf elsewhere. A new reference. */
static struct eng_tensor *additive(struct eng_op_call *c, struct eng_tensor *mask,
                                   const struct eng_tensor *q)
{
    struct eng_tensor *zero, *minus, *out;

    if (!mask || mask->dtype != VS_BOOL)
        return eng_ref(mask);
    if (eng_torch(c->e) <= 4)
        return additive_filled(c->e, mask, q);
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

/* The lower triangle as numbers to add. A new reference. */
static struct eng_tensor *additive_causal(struct eng_op_call *c, const struct eng_tensor *q,
                                          const struct eng_tensor *k)
{
    struct eng *e = c->e;
    int64_t sizes[2] = {q->sizes[q->ndim - 2], k->sizes[k->ndim - 2]};
    struct eng_arg ones[] = {eng_aints(sizes, 2), eng_ad(VS_BOOL), eng_ahost(q->storage->on_host)};
    struct eng_tensor *full = eng_call1(e, ENG_OP_ones, ones);
    struct eng_arg args[] = {eng_at(full), eng_ai(0)};
    struct eng_tensor *lower = full ? eng_call1(e, ENG_OP_tril, args) : NULL;
    struct eng_tensor *bias;

    eng_unref(full);
    bias = lower ? additive(c, lower, q) : NULL;
    eng_unref(lower);
    return bias;
}

/* Softmax that gives zeros for fully masked rows; the tensors of that test are temporaries of the op. */
void eng_f_safe_softmax(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_safe_softmax_input);
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

/* t with each of its heads as often as the query has more; t itself without enable_gqa. A new reference. */
static struct eng_tensor *heads_repeated(struct eng_op_call *c, const struct eng_tensor *q,
                                         struct eng_tensor *t, bool repeats)
{
    if (!repeats || !t)
        return eng_ref(t);
    {
        struct eng_arg args[] = {eng_at(t), eng_ai(q->sizes[q->ndim - 3] / t->sizes[t->ndim - 3]),
                                 eng_ai(-3), eng_anone()};

        return eng_call1(c->e, ENG_OP_repeat_interleave, args);
    }
}

/* PyTorch 2.4 has no _safe_softmax. */
static struct eng_tensor *plain_softmax(struct eng *e, struct eng_tensor *scores)
{
    struct eng_arg args[] = {eng_at(scores), eng_ai(-1), eng_anone()};

    return scores ? eng_call1(e, ENG_OP_softmax, args) : NULL;
}

/* dropout(softmax(q k^T + bias)), q scaled; a new reference. */
static struct eng_tensor *attention_weights(struct eng_op_call *c, struct eng_tensor *qs,
                                            struct eng_tensor *k, struct eng_tensor *bias,
                                            double factor)
{
    struct eng *e = c->e;
    double dropout_p = eng_c_float(c, ARG_sdpa_dropout_p);
    struct eng_tensor *kt = eng_transpose(e, k, -2, -1);
    struct eng_tensor *ks = eng_mul_scalar(e, kt, factor);
    struct eng_tensor *scores = eng_op2(e, ENG_OP_matmul, qs, ks), *attn;

    eng_unref(ks);
    eng_unref(kt);
    if (bias && scores) {
        struct eng_tensor *same = eng_add_(e, scores, bias);

        eng_unref(same);
    }
    attn = eng_torch(e) <= 4 ? plain_softmax(e, scores) : eng_op1(e, ENG_OP_safe_softmax, scores);
    eng_unref(scores);
    if (dropout_p > 0 && attn) {
        struct eng_arg args[] = {eng_at(attn), eng_af(dropout_p), eng_ab(true)};

        eng_slot_set(&attn, eng_call1(e, ENG_OP_dropout, args));
    }
    return attn;
}

/*
 * The composed form. Half types are computed in float32. A given mask is converted to numbers first, in the query's
 * dtype, and freed last; a causal mask is created when the query is scaled.
 */
static void attention_math(struct eng_op_call *c, struct eng_tensor *q, struct eng_tensor *k,
                           struct eng_tensor *v, struct eng_tensor *mask, double scale)
{
    struct eng *e = c->e;
    bool low = is_half(q), repeats = has_fewer_heads(c, q, k, v);
    double factor = sqrt(fabs(scale));
    struct eng_tensor *given = additive(c, mask, q);
    struct eng_tensor *q32 = low ? eng_to_dtype(e, q, VS_F32) : eng_ref(q);
    struct eng_tensor *k32 = low ? eng_to_dtype(e, k, VS_F32) : eng_ref(k);
    struct eng_tensor *v32 = low ? eng_to_dtype(e, v, VS_F32) : eng_ref(v);
    struct eng_tensor *qs = eng_mul_scalar(e, q32, scale < 0 ? -factor : factor);
    struct eng_tensor *causal =
        qs && eng_c_bool(c, ARG_sdpa_is_causal) ? additive_causal(c, qs, k) : NULL;
    struct eng_tensor *kr = heads_repeated(c, q, k32, repeats);
    struct eng_tensor *vr = heads_repeated(c, q, v32, repeats);
    struct eng_tensor *attn, *attn_low, *out;

    attn = qs && kr && vr ? attention_weights(c, qs, kr, causal ? causal : given, factor) : NULL;
    /* PyTorch builds its result pair in reverse: first the attention weights, which are not used */
    attn_low = attn ? eng_to_dtype(e, attn, (enum vs_dtype)q->dtype) : NULL;
    out = attn_low ? eng_op2(e, ENG_OP_matmul, attn, vr) : NULL;
    if (low)
        eng_slot_set(&out, eng_to_dtype(e, out, (enum vs_dtype)q->dtype));
    eng_unref(attn);
    eng_unref(kr);
    eng_unref(vr);
    eng_unref(qs);
    eng_unref(causal);
    eng_unref(v32);
    eng_unref(k32);
    eng_unref(q32);
    eng_unref(attn_low);
    eng_unref(given);
    eng_c_give(c, out);
}

/* ---- the choice ---- */

/* The fused kernels need stride 1 in the last dim of query, key, value and mask. */
static bool rows_are_dense(const struct eng_tensor *q, const struct eng_tensor *k,
                           const struct eng_tensor *v, const struct eng_tensor *mask)
{
    return q->strides[q->ndim - 1] == 1 && k->strides[k->ndim - 1] == 1 &&
           v->strides[v->ndim - 1] == 1 &&
           (!mask || mask->ndim == 0 || mask->strides[mask->ndim - 1] == 1);
}

/*
 * One batch size, no empty sequence, and key heads that divide the query's: as many, one, or any number with
 * enable_gqa.
 */
static bool fits_fused(struct eng_op_call *c, const struct eng_tensor *q,
                       const struct eng_tensor *k, const struct eng_tensor *v,
                       const struct eng_tensor *mask)
{
    int64_t heads = q->ndim == 4 ? k->sizes[1] : 0;

    if (q->ndim != 4 || q->storage->on_host || !rows_are_dense(q, k, v, mask))
        return false;
    if (q->sizes[0] != k->sizes[0] || q->sizes[0] != v->sizes[0] || heads != v->sizes[1])
        return false;
    if (q->sizes[1] != heads && (heads == 0 || q->sizes[1] % heads != 0 ||
                                 (heads != 1 && !eng_c_bool(c, ARG_sdpa_enable_gqa))))
        return false;
    return q->sizes[2] > 0 && k->sizes[2] > 0;
}

/* Up to PyTorch 2.11 this kernel had as many heads of keys as of queries. */
static bool fits_efficient(const struct eng *e, const struct eng_tensor *q,
                           const struct eng_tensor *v)
{
    int64_t align = is_half(q) ? 8 : 4;

    return (q->sizes[1] == v->sizes[1] || eng_torch(e) > 11) && q->dtype != VS_F64 &&
           q->sizes[3] % align == 0 && v->sizes[3] % align == 0;
}

static bool fits_flash(struct eng_op_call *c, const struct eng_tensor *q,
                       const struct eng_tensor *k, const struct eng_tensor *v,
                       const struct eng_tensor *mask)
{
    return is_half(q) && !mask && q->sizes[3] <= 256 && q->sizes[3] == v->sizes[3] &&
           (!eng_c_bool(c, ARG_sdpa_is_causal) || q->sizes[2] == k->sizes[2]);
}

static void attention_flash(struct eng_op_call *c, double scale)
{
    struct eng *e = c->e;
    static const int PADDED[] = {ARG_sdpa_query, ARG_sdpa_key, ARG_sdpa_value};
    struct eng_tensor *t[3];
    struct eng_ret ret;
    int64_t width = eng_c_tensor(c, ARG_sdpa_query)->sizes[3];
    int64_t pad[2] = {0, round_up(width, 8) - width};

    for (int i = 0; i < 3; i++) {
        struct eng_arg args[] = {c->a[PADDED[i]], eng_aints(pad, 2), eng_ai(0)};

        t[i] = pad[1] ? eng_call1(e, ENG_OP_pad, args) : eng_ref(eng_c_tensor(c, PADDED[i]));
    }
    {
        struct eng_arg args[] = {eng_at(t[0]),
                                 eng_at(t[1]),
                                 eng_at(t[2]),
                                 c->a[ARG_sdpa_dropout_p],
                                 c->a[ARG_sdpa_is_causal],
                                 eng_af(scale)};

        if (t[2] && !e->failed && eng_call(e, ENG_OP_sdpa_flash, args, &ret)) {
            struct eng_tensor *out = ret.few[0];

            ret.few[0] = NULL;
            eng_ret_release(&ret);
            if (pad[1])
                eng_slot_set(&out, eng_narrow(e, out, 3, 0, width));
            eng_c_give(c, out);
        }
    }
    for (int i = 2; i >= 0; i--)
        eng_unref(t[i]);
}

/*
 * The kernel reads the mask in steps of 8 elements: a mask whose width is not a multiple of 8 is padded. A new
 * reference, expanded to [B,H,L,S].
 */
static struct eng_tensor *aligned_mask(struct eng_op_call *c, struct eng_tensor *mask,
                                       const struct eng_tensor *q, const struct eng_tensor *k)
{
    struct eng *e = c->e;
    struct eng_tensor *bias = additive(c, mask, q), *out;
    int64_t sizes[4] = {q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2]};
    int64_t width;

    if (!bias)
        return NULL;
    /* a mask without dimensions: pad refuses it, as PyTorch does */
    width = bias->ndim ? bias->sizes[bias->ndim - 1] : 1;
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
    struct eng_tensor *bias =
        aligned_mask(c, mask, eng_c_tensor(c, ARG_sdpa_query), eng_c_tensor(c, ARG_sdpa_key));
    bool needs_grad = e->grad_enabled && (eng_requires_grad(eng_c_tensor(c, ARG_sdpa_query)) ||
                                          eng_requires_grad(eng_c_tensor(c, ARG_sdpa_key)) ||
                                          eng_requires_grad(eng_c_tensor(c, ARG_sdpa_value)) ||
                                          eng_requires_grad(bias));
    struct eng_arg args[] = {c->a[ARG_sdpa_query],     c->a[ARG_sdpa_key],
                             c->a[ARG_sdpa_value],     bias ? eng_at(bias) : eng_anone(),
                             eng_ab(needs_grad),       c->a[ARG_sdpa_dropout_p],
                             c->a[ARG_sdpa_is_causal], eng_af(scale)};
    struct eng_ret ret;

    if (bias && bias->strides[3] != 1)
        eng_fail(e, VS_E_SHAPE,
                 "scaled_dot_product_attention: attn_mask has one column for %" PRId64
                 " keys, which the fused kernel refuses: the last dimension of the mask must be "
                 "contiguous (expand it first)",
                 bias->sizes[3]);
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
    struct eng_tensor *q = eng_c_tensor(c, ARG_sdpa_query), *k = eng_c_tensor(c, ARG_sdpa_key),
                      *v = eng_c_tensor(c, ARG_sdpa_value),
                      *mask = eng_c_tensor(c, ARG_sdpa_attn_mask);

    bool fused = fits_fused(c, q, k, v, mask);

    if (fused && fits_flash(c, q, k, v, mask))
        attention_flash(c, scale);
    else if (fused && fits_efficient(c->e, q, v))
        attention_efficient(c, mask, scale);
    else
        attention_math(c, q, k, v, mask, scale);
}

/* A 3-D input is a batch of one. */
static void attend_unbatched(struct eng_op_call *c, double scale)
{
    static const int BATCHED[] = {ARG_sdpa_query, ARG_sdpa_key, ARG_sdpa_value, ARG_sdpa_attn_mask};
    struct eng *e = c->e;
    struct eng_ret ret = {.tensors = ret.few};
    struct eng_arg args[ENG_MAX_ARGS];
    struct eng_op_call inner = *c;
    struct eng_tensor *batch[4] = {0};

    memcpy(args, c->a, sizeof(*args) * (size_t)c->e->signatures[c->id].count);
    for (int i = 0; i < 4; i++) {
        struct eng_tensor *t = eng_c_tensor(c, BATCHED[i]);

        batch[i] = t && t->ndim == 3 ? eng_unsqueeze(e, t, 0) : eng_ref(t);
        if (t)
            args[BATCHED[i]] = eng_at(batch[i]);
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
    struct eng_tensor *q = eng_c_tensor(c, ARG_sdpa_query), *k = eng_c_tensor(c, ARG_sdpa_key),
                      *v = eng_c_tensor(c, ARG_sdpa_value),
                      *mask = eng_c_tensor(c, ARG_sdpa_attn_mask);
    double scale;

    if (!check_shapes(c, q, k, v))
        return;
    if (mask && eng_c_bool(c, ARG_sdpa_is_causal)) {
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
    if (!check_groups(c, q, k, v))
        return;
    scale = eng_c_has(c, ARG_sdpa_scale) ? eng_c_float(c, ARG_sdpa_scale)
                                         : 1.0 / sqrt((double)q->sizes[q->ndim - 1]);
    if (q->ndim == 3)
        attend_unbatched(c, scale);
    else
        attend(c, scale);
}
