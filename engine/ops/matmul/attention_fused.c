/*
 * engine/ops/matmul/attention_fused.c - the fused attention kernels: flash and memory-efficient, and what each keeps
 * and needs for backward.
 *
 * Must not know:  models; how one of the two kernels is chosen (attention.c).
 * Invariant:      the sizes of saved tensors and of scratch memory are those of compute capability 8.0.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/device/workspace_sizes.h"
#include "engine/ops/functions.h"
#include "engine/workspace/workspace.h"

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static bool is_half(const struct eng_tensor *t)
{
    return t->dtype == VS_F16 || t->dtype == VS_BF16;
}

static struct eng_rng_key take_key(struct eng *e, double dropout_p)
{
    struct eng_rng_key key = {e->rng.seed ^ UINT64_C(0xA0761D6478BD642F), e->rng.device_offset};

    if (dropout_p > 0)
        e->rng.device_offset++;
    return key;
}

/*
 * Stores the random key for backward in an RNG state tensor. These tensors have the size of PyTorch's; only the CPU
 * device writes the key.
 */
static void store_key(struct eng_op_call *c, struct eng_tensor *state, struct eng_rng_key key)
{
    if (state && eng_c_computes(c)) {
        struct eng_view v = eng_v(state);

        v.dtype = VS_I64;
        v.ndim = 0;
        c->e->kernels->fill(&v, (struct eng_scalar){true, (int64_t)key.offset, (double)key.offset});
    }
}

static void compute_forward(struct eng_op_call *c, struct eng_tensor *const *qkv,
                            const struct eng_tensor *mask, double dropout_p, bool causal,
                            double scale, struct eng_rng_key key, const struct eng_tensor *out,
                            const struct eng_tensor *lse)
{
    struct eng_view vq, vk, vv, vo, vm, vl;
    struct eng_workspace workspace;

    if (!eng_runs(c->e))
        return;
    vq = eng_v(qkv[0]);
    vk = eng_v(qkv[1]);
    vv = eng_v(qkv[2]);
    vo = eng_v(out);
    if (mask)
        vm = eng_v(mask);
    if (lse) {
        vl = eng_v(lse);
        vl.sizes[2] = out->sizes[2]; /* the rest is padding */
    }
    workspace = eng_workspace_open(c->e, out->storage->on_host,
                                   eng_workspace_numel(&vo) ? eng_workspace_sdpa(&vq, &vk) : 0);
    if (c->e->kernels && !c->e->failed)
        c->e->kernels->sdpa(&vq, &vk, &vv, mask ? &vm : NULL, causal, scale, dropout_p, key, &vo,
                            lse && eng_numel(lse) ? &vl : NULL);
    eng_workspace_close(&workspace);
}

/* An output of [B,H,L,D] laid out as [B,L,H,D]. */
static struct eng_tensor *heads_inside(struct eng *e, int64_t b, int64_t h, int64_t l, int64_t d,
                                       enum vs_dtype dtype, bool on_host)
{
    int64_t sizes[4] = {b, h, l, d}, strides[4] = {l * h * d, d, h * d, 1};

    return eng_empty_strided(e, sizes, strides, 4, dtype, on_host);
}

/* (out, logsumexp, rng_state, unused): out has the query's strides; up to PyTorch 2.6 seed and offset, on the host */
void eng_f_sdpa_flash(struct eng_op_call *c)
{
    struct eng_tensor *q = eng_c_tensor(c, ARG_sdpa_flash_query),
                      *k = eng_c_tensor(c, ARG_sdpa_flash_key),
                      *v = eng_c_tensor(c, ARG_sdpa_flash_value);
    double dropout_p = eng_c_float(c, ARG_sdpa_flash_dropout_p);
    struct eng_rng_key key = take_key(c->e, dropout_p);
    struct eng_tensor *out = eng_c_empty_like(c, q, (enum vs_dtype)q->dtype), *lse, *state, *unused;
    const bool has_offset = eng_torch(c->e) <= 6;
    const bool state_on_host = q->storage->on_host || has_offset;
    int64_t two = 2;

    lse = out ? eng_c_empty(c, q->sizes, 3, VS_F32, q) : NULL;
    state = lse ? eng_empty(c->e, &two, has_offset ? 0 : 1, VS_I64, state_on_host) : NULL;
    unused = state ? eng_empty(c->e, NULL, 0, VS_I64, state_on_host) : NULL;
    if (unused) {
        store_key(c, state, key);
        compute_forward(c, (struct eng_tensor *[]){q, k, v}, NULL, dropout_p,
                        eng_c_bool(c, ARG_sdpa_flash_is_causal),
                        eng_c_float(c, ARG_sdpa_flash_scale), key, out, lse);
        /* the kernel writes its state into a new tensor, which takes the first one's place */
        if (dropout_p > 0 && !has_offset) {
            struct eng_tensor *written = eng_c_empty(c, &two, 1, VS_I64, q);

            store_key(c, written, key);
            eng_slot_set(&state, written);
        }
    }
    eng_c_give(c, out);
    eng_c_give(c, lse);
    eng_c_give(c, state);
    eng_c_give(c, unused);
}

static struct eng_rng_key load_key(const struct eng *e, const struct eng_tensor *state)
{
    struct eng_rng_key key = {e->rng.seed ^ UINT64_C(0xA0761D6478BD642F), 0};

    if (state && state->storage->data) {
        struct eng_view v = eng_v(state);

        v.dtype = VS_I64;
        v.ndim = 0;
        key.offset = (uint64_t)e->kernels->item(&v).i;
    }
    return key;
}

struct sdpa_bw {
    struct eng_tensor *g, *q, *k, *v, *mask, *out, *lse;
    struct eng_tensor *gq, *gk, *gv;
    bool causal;
    double scale, dropout_p;
    struct eng_rng_key key;
};

static void compute_backward(struct eng *e, const struct sdpa_bw *s)
{
    struct eng_view g, q, k, v, m, o, l, gq, gk, gv;
    struct eng_workspace workspace;

    if (!eng_runs(e) || !s->gv)
        return;
    g = eng_v(s->g);
    q = eng_v(s->q);
    k = eng_v(s->k);
    v = eng_v(s->v);
    o = eng_v(s->out);
    l = eng_v(s->lse);
    l.sizes[2] = s->out->sizes[2];
    gq = eng_v(s->gq);
    gk = eng_v(s->gk);
    gv = eng_v(s->gv);
    if (s->mask)
        m = eng_v(s->mask);
    workspace = eng_workspace_open(e, s->gv->storage->on_host, eng_workspace_sdpa_backward(&q, &k));
    if (e->kernels && !e->failed)
        e->kernels->sdpa_backward(&g, &q, &k, &v, s->mask ? &m : NULL, s->causal, s->scale,
                                  s->dropout_p, s->key, &o, &l, &gq, &gk, &gv);
    eng_workspace_close(&workspace);
}

/* t seen as [B,L,H,D] made dense; NULL where it is dense already. The copy is scratch of the op. */
static struct eng_tensor *rows_copy(struct eng *e, struct eng_tensor *t)
{
    int64_t sizes[4] = {t->sizes[0], t->sizes[2], t->sizes[1], t->sizes[3]};
    struct eng_tensor turned = *t;

    memcpy(turned.sizes, sizes, sizeof(sizes));
    turned.strides[1] = t->strides[2];
    turned.strides[2] = t->strides[1];
    if (eng_is_contiguous(&turned))
        return NULL;
    return eng_empty(e, sizes, 4, (enum vs_dtype)t->dtype, t->storage->on_host);
}

/* Heads that share a key and a value: their gradients side by side, summed at the end. Scratch of the op. */
static void share_heads(struct eng *e, const struct sdpa_bw *s, struct eng_tensor *shared[2])
{
    int64_t h = s->q->sizes[1];

    if (s->k->sizes[1] == h)
        return;
    shared[0] = heads_inside(e, s->k->sizes[0], h, s->k->sizes[2], s->k->sizes[3],
                             (enum vs_dtype)s->k->dtype, s->k->storage->on_host);
    shared[1] = heads_inside(e, s->v->sizes[0], h, s->v->sizes[2], s->v->sizes[3],
                             (enum vs_dtype)s->v->dtype, s->v->storage->on_host);
}

/* Makes the gradients of flash attention: s->gq, gk and gv. */
static void flash_backward(struct eng_op_call *c, struct sdpa_bw *s)
{
    struct eng *e = c->e;
    struct eng_tensor *g_copy, *out_copy, *sums, *accumulator, *shared[2] = {0};
    int64_t sum_sizes[3], acc_sizes[4];

    g_copy = rows_copy(e, s->g);
    out_copy = rows_copy(e, s->out);
    s->gq = eng_c_empty_like(c, s->q, (enum vs_dtype)s->q->dtype);
    s->gk = eng_c_empty_like(c, s->k, (enum vs_dtype)s->k->dtype);
    s->gv = eng_c_empty_like(c, s->v, (enum vs_dtype)s->v->dtype);
    memcpy(sum_sizes, (int64_t[]){s->q->sizes[0], s->q->sizes[1], round_up(s->q->sizes[2], 128)},
           sizeof(sum_sizes));
    memcpy(acc_sizes,
           (int64_t[]){s->q->sizes[0], round_up(s->q->sizes[2], 128), s->q->sizes[1],
                       round_up(s->q->sizes[3], 32)},
           sizeof(acc_sizes));
    sums = eng_empty(e, sum_sizes, 3, VS_F32, s->q->storage->on_host);
    accumulator = eng_empty(e, acc_sizes, 4, VS_F32, s->q->storage->on_host);
    share_heads(e, s, shared);
    compute_backward(e, s);
    eng_unref(shared[1]);
    eng_unref(shared[0]);
    eng_unref(accumulator);
    eng_unref(sums);
    eng_unref(out_copy);
    eng_unref(g_copy);
}

/* saved: key, query, value, logsumexp, out, rng_state, unused */
void eng_b_sdpa_flash(struct eng_bw *b)
{
    struct sdpa_bw s = {.g = b->g[0],
                        .k = b->saved[SAVED_sdpa_flash_key],
                        .q = b->saved[SAVED_sdpa_flash_query],
                        .v = b->saved[SAVED_sdpa_flash_value],
                        .lse = b->saved[SAVED_sdpa_flash_result1],
                        .out = b->saved[SAVED_sdpa_flash_result]};
    struct eng_op_call c = {.e = b->e, .id = b->node->op};

    if (!s.q || !s.k || !s.v || !s.out || !s.lse)
        return;
    s.dropout_p = b->a[ARG_sdpa_flash_dropout_p].v.scalar.f;
    s.causal = b->a[ARG_sdpa_flash_is_causal].v.flag;
    s.scale = b->a[ARG_sdpa_flash_scale].v.scalar.f;
    s.key = load_key(b->e, b->saved[SAVED_sdpa_flash_result2]);
    flash_backward(&c, &s);
    eng_b_give(b, ARG_sdpa_flash_query, s.gq);
    eng_b_give(b, ARG_sdpa_flash_key, s.gk);
    eng_b_give(b, ARG_sdpa_flash_value, s.gv);
}

/* (gradients of query, key and value) */
void eng_f_sdpa_flash_backward(struct eng_op_call *c)
{
    struct sdpa_bw s = {.g = eng_c_tensor(c, ARG_sdpa_flash_backward_grad_out),
                        .q = eng_c_tensor(c, ARG_sdpa_flash_backward_query),
                        .k = eng_c_tensor(c, ARG_sdpa_flash_backward_key),
                        .v = eng_c_tensor(c, ARG_sdpa_flash_backward_value),
                        .out = eng_c_tensor(c, ARG_sdpa_flash_backward_out),
                        .lse = eng_c_tensor(c, ARG_sdpa_flash_backward_logsumexp),
                        .dropout_p = eng_c_float(c, ARG_sdpa_flash_backward_dropout_p),
                        .causal = eng_c_bool(c, ARG_sdpa_flash_backward_is_causal),
                        .scale = eng_c_float(c, ARG_sdpa_flash_backward_scale)};

    s.key = load_key(c->e, eng_c_tensor(c, ARG_sdpa_flash_backward_rng_state));
    flash_backward(c, &s);
    eng_c_give(c, s.gq);
    eng_c_give(c, s.gk);
    eng_c_give(c, s.gv);
}

/*
 * (out [B,H,L,D] laid out [B,L,H,D], logsumexp [B,H,L rounded to 32], seed, offset); without dropout seed and offset
 * are made first
 */
void eng_f_sdpa_efficient(struct eng_op_call *c)
{
    struct eng_tensor *q = eng_c_tensor(c, ARG_sdpa_efficient_query),
                      *k = eng_c_tensor(c, ARG_sdpa_efficient_key),
                      *v = eng_c_tensor(c, ARG_sdpa_efficient_value);
    double dropout_p = eng_c_float(c, ARG_sdpa_efficient_dropout_p);
    bool with_lse = eng_c_bool(c, ARG_sdpa_efficient_compute_log_sumexp);
    int64_t lse_sizes[3] = {q->sizes[0], q->sizes[1], with_lse ? round_up(q->sizes[2], 32) : 0};
    struct eng_rng_key key = take_key(c->e, dropout_p);
    /* up to PyTorch 2.11 it was there without dropout, too */
    bool state_on_host = q->storage->on_host || dropout_p > 0 || eng_torch(c->e) <= 11;
    struct eng_tensor *seed, *offset, *out, *lse;
    /* in half precision a head that does not fit into registers is summed up in memory */
    bool in_memory = is_half(q) && v->sizes[3] > 128;

    seed = eng_empty(c->e, NULL, 0, VS_I64, state_on_host);
    offset = seed ? eng_empty(c->e, NULL, 0, VS_I64, state_on_host) : NULL;
    out = offset ? heads_inside(c->e, q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[3],
                                (enum vs_dtype)q->dtype, q->storage->on_host)
                 : NULL;
    lse = out ? eng_c_empty(c, lse_sizes, 3, VS_F32, q) : NULL;
    if (lse) {
        struct eng_tensor *sum = in_memory ? eng_c_empty_like(c, out, VS_F32) : NULL;

        store_key(c, offset, key);
        compute_forward(c, (struct eng_tensor *[]){q, k, v},
                        eng_c_tensor(c, ARG_sdpa_efficient_attn_bias), dropout_p,
                        eng_c_bool(c, ARG_sdpa_efficient_is_causal),
                        eng_c_float(c, ARG_sdpa_efficient_scale), key, out, lse);
        eng_unref(sum);
    }
    eng_c_give(c, out);
    eng_c_give(c, lse);
    eng_c_give(c, seed);
    eng_c_give(c, offset);
}

/*
 * Scratch of the memory-efficient backward, for each batch and head: what the query's gradient is summed in, a tile of
 * floats and a lock of 16 bytes for each block of queries and of columns of the head; and in half types, where a head
 * is wider than 128, the gradients of key and value in float32. Measured for heads of 8 to 256 columns, see
 * docs/internals/oracle-findings.md.
 */
static int64_t efficient_workspace(const struct eng_tensor *q, const struct eng_tensor *k,
                                   const struct eng_tensor *v)
{
    bool narrow = q->sizes[3] <= 64, middle = is_half(q) && !narrow && q->sizes[3] <= 128;
    int64_t rows = narrow ? 64 : 128, columns = middle ? 128 : 64;
    int64_t tiles =
        (round_up(q->sizes[2], rows) / rows) * (round_up(q->sizes[3], columns) / columns);
    int64_t bytes = tiles * (rows * columns * 4 + 16);

    if (is_half(q) && q->sizes[3] > 128)
        bytes += round_up(k->sizes[2], 64) *
                 (round_up(q->sizes[3], 128) + round_up(v->sizes[3], 128)) * 4;
    return q->sizes[0] * q->sizes[1] * bytes;
}

/* ---- the gradient of an additive mask ---- */

/* [B,H,L,S], each row rounded up to 16 elements */
static struct eng_tensor *bias_empty(struct eng *e, const struct sdpa_bw *s)
{
    int64_t sizes[4] = {s->q->sizes[0], s->q->sizes[1], s->q->sizes[2], s->k->sizes[2]};
    int64_t padded[4] = {sizes[0], sizes[1], sizes[2], round_up(sizes[3], 16)};
    struct eng_tensor *whole =
        eng_empty(e, padded, 4, (enum vs_dtype)s->q->dtype, s->q->storage->on_host);
    struct eng_tensor *part = whole ? eng_as_strided(whole, sizes, whole->strides, 4, 0) : NULL;

    eng_unref(whole);
    return part;
}

/* t in float32 on the host, each of its heads as often as it is shared; dense. */
static struct eng_tensor *float_copy(struct eng *e, const struct eng_tensor *t, int64_t heads)
{
    int64_t sizes[4] = {t->sizes[0], heads, t->sizes[2], t->sizes[3]};
    struct eng_tensor *copy = eng_empty(e, sizes, 4, VS_F32, true);

    if (copy) {
        struct eng_view from = eng_v(t), to = eng_v(copy);
        int64_t share = t->sizes[1] ? heads / t->sizes[1] : 1;

        from.ndim = to.ndim = 5;
        for (int d = 4; d > 2; d--) {
            from.sizes[d] = to.sizes[d] = t->sizes[d - 1];
            from.strides[d] = t->strides[d - 1];
            to.strides[d] = copy->strides[d - 1];
        }
        to.sizes[1] = from.sizes[1];
        from.sizes[2] = to.sizes[2] = share;
        from.strides[2] = 0;
        to.strides[2] = copy->strides[1];
        to.strides[1] = copy->strides[1] * share;
        e->kernels->copy(&from, &to);
    }
    return copy;
}

/* Batch n of a dense [B,H,M,N] as [H,M,N], or as [H,N,M] turned. */
static struct eng_view batch_of(const struct eng_tensor *t, int64_t n, bool turned)
{
    struct eng_view v = eng_v(t);

    v.data = (float *)v.data + n * t->strides[0];
    v.ndim = 3;
    for (int d = 0; d < 3; d++) {
        int from = d == 0 ? 1 : turned ? 4 - d : d + 1;

        v.sizes[d] = t->sizes[from];
        v.strides[d] = t->strides[from];
    }
    return v;
}

/* a b^T over the last dim of both, for every batch and head */
static struct eng_tensor *outer_products(struct eng *e, const struct eng_tensor *a,
                                         const struct eng_tensor *b, double factor)
{
    int64_t sizes[4] = {a->sizes[0], a->sizes[1], a->sizes[2], b->sizes[2]};
    struct eng_tensor *out = eng_empty(e, sizes, 4, VS_F32, true);

    for (int64_t n = 0; out && n < sizes[0]; n++) {
        struct eng_view va = batch_of(a, n, false), vb = batch_of(b, n, true),
                        vo = batch_of(out, n, false);

        e->kernels->matmul(&va, &vb, &vo, factor, 0);
    }
    return out;
}

/* dp *= keep / (1 - p): an element was kept where the random number, in double, of its key is at least p. */
static void drop_out(struct eng *e, const struct sdpa_bw *s, struct eng_tensor *dp)
{
    const double times = s->dropout_p < 1 ? 1 / (1 - s->dropout_p) : 0;
    struct eng_tensor *keep = eng_empty(e, dp->sizes, 4, VS_F64, true);

    if (keep) {
        struct eng_view vk = eng_v(keep), vdp = eng_v(dp);
        struct eng_cell cells[2];
        struct eng_view one = eng_v_scalar((struct eng_scalar){false, 0, 1}, keep, &cells[0]);
        struct eng_view vt = eng_v_scalar((struct eng_scalar){false, 0, times}, dp, &cells[1]);
        double p[4] = {1};

        e->kernels->random_bernoulli(&vk, s->dropout_p, s->key);
        e->kernels->binary(ENG_B_SUB, VS_F64, &one, &vk, &vk, p);
        e->kernels->binary(ENG_B_MUL, VS_F32, &vdp, &vk, &vdp, p);
        e->kernels->binary(ENG_B_MUL, VS_F32, &vdp, &vt, &vdp, p);
    }
    eng_unref(keep);
}

/*
 * p * (keep * (g v^T) - sum(g * out)), p = exp(q k^T * scale + mask - logsumexp). Host scratch memory: PyTorch's kernel
 * computes it without storing it.
 */
static void bias_gradient(struct eng *e, const struct sdpa_bw *s, struct eng_tensor *gm)
{
    const struct eng_kernels *kernels = e->kernels;
    int64_t h = s->q->sizes[1];
    struct eng_tensor *q, *k, *v, *g, *o, *p, *dp, *sums;
    int64_t row[4] = {s->q->sizes[0], h, s->q->sizes[2], 1};

    if (!kernels || e->failed)
        return;
    q = float_copy(e, s->q, h);
    k = float_copy(e, s->k, h);
    v = float_copy(e, s->v, h);
    g = float_copy(e, s->g, h);
    o = float_copy(e, s->out, h);
    sums = eng_empty(e, row, 4, VS_F32, true);
    p = outer_products(e, q, k, s->scale);
    dp = outer_products(e, g, v, 1);
    if (s->dropout_p > 0 && !e->failed)
        drop_out(e, s, dp);
    if (!e->failed) {
        struct eng_view vp = eng_v(p), vdp = eng_v(dp), vg = eng_v(g), vo = eng_v(o),
                        vs = eng_v(sums), vm = eng_v(s->mask), vl, vr, to = eng_v(gm);
        double one[4] = {1};

        vl = eng_v(s->lse);
        vl.ndim = 4;
        memcpy(vl.sizes, p->sizes, sizeof(vl.sizes));
        vl.strides[3] = 0;
        kernels->binary(ENG_B_ADD, VS_F32, &vp, &vm, &vp, one);
        kernels->binary(ENG_B_SUB, VS_F32, &vp, &vl, &vp, one);
        kernels->unary(ENG_U_EXP, &vp, &vp, one);
        kernels->binary(ENG_B_MUL, VS_F32, &vg, &vo, &vg, one);
        kernels->reduce(ENG_R_SUM, &vg, &vs, 8, one);
        vr = eng_v_expand(sums, p);
        kernels->binary(ENG_B_SUB, VS_F32, &vdp, &vr, &vdp, one);
        kernels->binary(ENG_B_MUL, VS_F32, &vp, &vdp, &vp, one);
        kernels->copy(&vp, &to);
    }
    eng_unref(dp);
    eng_unref(p);
    eng_unref(sums);
    eng_unref(o);
    eng_unref(g);
    eng_unref(v);
    eng_unref(k);
    eng_unref(q);
}

/*
 * Makes the gradients of memory-efficient attention: s->gq, gk and gv. With `wants_mask` returns that of the mask, a
 * new reference; else NULL.
 */
static struct eng_tensor *efficient_backward(struct eng *e, struct sdpa_bw *s, bool wants_mask)
{
    struct eng_tensor *g_copy, *product, *sum, *delta, *workspace, *shared[2] = {0}, *gm = NULL;
    const bool on_host = s->q->storage->on_host;
    const int64_t l = s->q->sizes[2], h = s->q->sizes[1];

    g_copy = rows_copy(e, s->g);
    s->gq =
        heads_inside(e, s->q->sizes[0], h, l, s->q->sizes[3], (enum vs_dtype)s->q->dtype, on_host);
    s->gk = heads_inside(e, s->k->sizes[0], s->k->sizes[1], s->k->sizes[2], s->k->sizes[3],
                         (enum vs_dtype)s->k->dtype, on_host);
    s->gv = heads_inside(e, s->v->sizes[0], s->v->sizes[1], s->v->sizes[2], s->v->sizes[3],
                         (enum vs_dtype)s->v->dtype, on_host);
    share_heads(e, s, shared);
    if (wants_mask)
        gm = bias_empty(e, s);
    /* in half precision the kernel computes delta; in float32 separate ops multiply, sum and copy */
    product = is_half(s->q) ? NULL
                            : eng_empty(e, (int64_t[]){s->q->sizes[0], l, h, s->v->sizes[3]}, 4,
                                        VS_F32, on_host);
    sum =
        is_half(s->q) ? NULL : eng_empty(e, (int64_t[]){s->q->sizes[0], l, h}, 3, VS_F32, on_host);
    /* one head, or one query: the sums turned are dense as they are */
    delta = sum && (h == 1 || l == 1)
                ? eng_ref(sum)
                : eng_empty(e, (int64_t[]){s->q->sizes[0], h, l}, 3, VS_F32, on_host);
    eng_unref(sum);
    eng_unref(product);
    workspace = on_host ? NULL : eng_workspace(e, (uint64_t)efficient_workspace(s->q, s->k, s->v));
    compute_backward(e, s);
    if (gm)
        bias_gradient(e, s, gm);
    eng_unref(delta);
    eng_unref(workspace);
    eng_unref(shared[1]);
    eng_unref(shared[0]);
    eng_unref(g_copy);
    return gm;
}

/* saved: attn_bias, key, query, value, logsumexp, out, offset, seed */
void eng_b_sdpa_efficient(struct eng_bw *b)
{
    struct sdpa_bw s = {.g = b->g[0],
                        .mask = b->saved[SAVED_sdpa_efficient_attn_bias],
                        .k = b->saved[SAVED_sdpa_efficient_key],
                        .q = b->saved[SAVED_sdpa_efficient_query],
                        .v = b->saved[SAVED_sdpa_efficient_value],
                        .lse = b->saved[SAVED_sdpa_efficient_result1],
                        .out = b->saved[SAVED_sdpa_efficient_result]};
    struct eng_tensor *gm;

    if (!s.q || !s.k || !s.v || !s.out || !s.lse)
        return;
    s.dropout_p = b->a[ARG_sdpa_efficient_dropout_p].v.scalar.f;
    s.causal = b->a[ARG_sdpa_efficient_is_causal].v.flag;
    s.scale = b->a[ARG_sdpa_efficient_scale].v.scalar.f;
    s.key = load_key(b->e, b->saved[SAVED_sdpa_efficient_result3]);
    gm = efficient_backward(b->e, &s, s.mask && eng_b_needs(b, ARG_sdpa_efficient_attn_bias));
    eng_b_give(b, ARG_sdpa_efficient_query, s.gq);
    eng_b_give(b, ARG_sdpa_efficient_key, s.gk);
    eng_b_give(b, ARG_sdpa_efficient_value, s.gv);
    if (gm)
        eng_b_give(b, ARG_sdpa_efficient_attn_bias, gm);
}

/* (gradients of query, key and value), without a mask */
void eng_f_sdpa_efficient_backward(struct eng_op_call *c)
{
    struct sdpa_bw s = {.g = eng_c_tensor(c, ARG_sdpa_efficient_backward_grad_out),
                        .q = eng_c_tensor(c, ARG_sdpa_efficient_backward_query),
                        .k = eng_c_tensor(c, ARG_sdpa_efficient_backward_key),
                        .v = eng_c_tensor(c, ARG_sdpa_efficient_backward_value),
                        .out = eng_c_tensor(c, ARG_sdpa_efficient_backward_out),
                        .lse = eng_c_tensor(c, ARG_sdpa_efficient_backward_logsumexp),
                        .dropout_p = eng_c_float(c, ARG_sdpa_efficient_backward_dropout_p),
                        .causal = eng_c_bool(c, ARG_sdpa_efficient_backward_is_causal),
                        .scale = eng_c_float(c, ARG_sdpa_efficient_backward_scale)};

    s.key = load_key(c->e, eng_c_tensor(c, ARG_sdpa_efficient_backward_offset));
    eng_unref(efficient_backward(c->e, &s, false));
    eng_c_give(c, s.gq);
    eng_c_give(c, s.gk);
    eng_c_give(c, s.gv);
}
