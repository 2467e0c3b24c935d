/*
 * engine/ops/norm.c - batch, layer, group and rms normalisation, and dropout.
 *
 * Must not know:  models.
 * Invariant:      the statistics are saved in float32 (float64 for float64 inputs); which of PyTorch's two batch norms runs decides in which
 *                 order the gradients are made.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/op_internal.h"
#include "engine/ops/ops.h"

static enum vs_dtype stat_dtype(const struct eng_tensor *x)
{
    return x->dtype == VS_F64 ? VS_F64 : VS_F32;
}

/* Can t be seen as [N, C, L]: do its image dims lie one after the other in memory? */
static bool is_mergeable(const struct eng_tensor *t)
{
    for (int d = 2; d + 1 < t->ndim; d++) {
        if (t->sizes[d] != 1 && t->strides[d] != t->strides[d + 1] * t->sizes[d + 1])
            return false;
    }
    return true;
}

/* [N, C, ...] as [N, C, L], t being mergeable. */
static struct eng_view channels(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);
    int64_t rest = 1;

    for (int d = 2; d < t->ndim; d++)
        rest *= t->sizes[d];
    v.sizes[2] = rest;
    v.strides[2] = t->ndim > 2 ? t->strides[t->ndim - 1] : 1;
    v.ndim = 3;
    return v;
}

static struct eng_tensor *dense(struct eng *e, struct eng_tensor *t)
{
    return t && t->ndim == 4 && eng_is_channels_last(t) ? eng_ref(t) : eng_contiguous(e, t);
}

/* t, or a row-major copy on the host where it is not mergeable: the kernels of this device ask for it, PyTorch's do not. A new reference. */
static struct eng_tensor *merged(struct eng *e, struct eng_tensor *t)
{
    struct eng_tensor *copy;

    if (!t || is_mergeable(t))
        return eng_ref(t);
    copy = eng_empty(e, t->sizes, t->ndim, (enum vs_dtype)t->dtype, true);
    if (copy && e->kernels) {
        struct eng_view from = eng_v(t), to = eng_v(copy);

        e->kernels->copy(&from, &to);
    }
    return copy;
}

/* What was computed into the copy goes to where it belongs. */
static void merged_store(struct eng *e, const struct eng_tensor *copy, struct eng_tensor *t)
{
    if (copy && t && copy != t && e->kernels) {
        struct eng_view from = eng_v(copy), to = eng_v(t);

        e->kernels->copy(&from, &to);
    }
}

/* ---- batch norm ---- */

/* PyTorch's choice between cuDNN and its own kernels. */
static bool uses_cudnn(const struct eng_op_call *c, const struct eng_tensor *x)
{
    const struct eng_tensor *w = eng_c_tensor(c, 1), *b = eng_c_tensor(c, 2), *mean = eng_c_tensor(c, 3), *var = eng_c_tensor(c, 4);
    bool training = eng_c_bool(c, 5);

    if (x->storage->on_host || !w || !b || x->ndim < 3 || !eng_c_bool(c, 8))
        return false;
    if (x->dtype == VS_BF16 || w->dtype == VS_BF16 || (x->dtype == VS_F16 && w->dtype != VS_F32))
        return false;
    if (!(mean && var) && !(!mean && !var && training))
        return false;
    if (x->sizes[0] > (training ? 880801 : 65535) || eng_c_float(c, 7) < 1e-5)
        return false;
    return eng_numel(x) <= INT32_MAX;
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled) */
void eng_f_batch_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    bool cudnn;
    struct eng_tensor *input;
    struct eng_ret ret;

    if (x->ndim < 2) {
        eng_fail(c->e, VS_E_SHAPE, "batch_norm: expected an input of at least 2 dimensions, got %d", x->ndim);
        return;
    }
    for (int i = 1; i <= 4; i++) {
        const struct eng_tensor *t = eng_c_tensor(c, i);
        char tx[ENG_SHAPE_TEXT_MAX];

        if (t && eng_numel(t) != x->sizes[1]) {
            eng_fail(c->e, VS_E_SHAPE, "batch_norm: the input %s has %" PRId64 " channels, but the module is made for %" PRId64, eng_shape_text(x, tx),
                     x->sizes[1], eng_numel(t));
            return;
        }
    }
    cudnn = uses_cudnn(c, x);
    input = cudnn ? dense(c->e, x) : eng_ref(x);
    {
        struct eng_arg args[] = {eng_at(input), c->a[1], c->a[2], c->a[3], c->a[4], c->a[5], c->a[6], c->a[7]};

        if (input && eng_call(c->e, cudnn ? ENG_OP_cudnn_batch_norm : ENG_OP_native_batch_norm, args, &ret)) {
            struct eng_tensor *out = ret.few[0];

            ret.few[0] = NULL;
            eng_ret_release(&ret);
            eng_c_give(c, out);
        }
    }
    eng_unref(input);
}

static const struct eng_view *opt_view(const struct eng_tensor *t, struct eng_view *v)
{
    if (!t)
        return NULL;
    *v = eng_v(t);
    return v;
}

/* (out, save_mean, save_invstd); statistics are empty where the running ones are used */
void eng_f_batch_norm_leaf(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    bool training = eng_c_bool(c, 5);
    bool native = c->id == ENG_OP_native_batch_norm;
    int64_t stats = training || native ? x->sizes[1] : 0;
    struct eng_tensor *out, *mean, *invstd, *mx, *mo;

    out = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    mean = out ? eng_c_empty(c, &stats, 1, stat_dtype(x), x) : NULL;
    invstd = mean ? eng_c_empty(c, &stats, 1, stat_dtype(x), x) : NULL;
    mx = merged(c->e, x);
    mo = merged(c->e, out);
    if (invstd && mx && mo && eng_c_computes(c)) {
        struct eng_view vx = channels(mx), vo = channels(mo), vm = eng_v(mean), vi = eng_v(invstd), w, b, rm, rv;

        if (training)
            c->e->kernels->batch_norm_train(&vx, opt_view(eng_c_tensor(c, 1), &w), opt_view(eng_c_tensor(c, 2), &b),
                                            opt_view(eng_c_tensor(c, 3), &rm), opt_view(eng_c_tensor(c, 4), &rv), eng_c_float(c, 6),
                                            eng_c_float(c, 7), &vo, &vm, &vi);
        else
            c->e->kernels->batch_norm_eval(&vx, opt_view(eng_c_tensor(c, 1), &w), opt_view(eng_c_tensor(c, 2), &b),
                                           opt_view(eng_c_tensor(c, 3), &rm), opt_view(eng_c_tensor(c, 4), &rv), eng_c_float(c, 7), &vo);
        merged_store(c->e, mo, out);
    }
    eng_unref(mo);
    eng_unref(mx);
    eng_c_give(c, out);
    eng_c_give(c, mean);
    eng_c_give(c, invstd);
}

struct bn_bw {
    struct eng_bw *b;
    struct eng_tensor *x, *g, *w, *mean, *var; /* var: the saved inverse deviation in training, the running variance else */
    struct eng_tensor *gx, *gw, *gb;
    enum vs_dtype param;
    bool training, want_x, want_w, want_b;
};

/* 1/sqrt(var + eps) of the running variance, on the host. */
static struct eng_tensor *running_invstd(struct bn_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_tensor *invstd = eng_empty(e, k->var->sizes, 1, (enum vs_dtype)k->var->dtype, true);
    double none[4] = {1};
    struct eng_cell cell;

    if (invstd) {
        struct eng_view vi = eng_v(invstd), vv = eng_v(k->var);
        struct eng_view ve = eng_v_scalar((struct eng_scalar){false, 0, k->b->a[7].v.scalar.f}, invstd, &cell);

        e->kernels->binary(ENG_B_ADD, vi.dtype, &vv, &ve, &vi, none);
        e->kernels->unary(ENG_U_RSQRT, &vi, &vi, none);
    }
    return invstd;
}

static void bn_compute(struct bn_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_tensor *x, *g, *gx, *invstd;

    if (!e->kernels || e->failed)
        return;
    invstd = k->training ? eng_ref(k->var) : running_invstd(k);
    x = merged(e, k->x);
    g = merged(e, k->g);
    gx = merged(e, k->gx);
    if (!e->failed) {
        struct eng_view vx = channels(x), vg = channels(g), vm = eng_v(k->mean), vi = eng_v(invstd), vw, vgx, vgw, vgb;

        if (gx)
            vgx = channels(gx);
        e->kernels->batch_norm_backward(&vg, &vx, opt_view(k->w, &vw), &vm, &vi, k->training, gx ? &vgx : NULL, opt_view(k->gw, &vgw),
                                        opt_view(k->gb, &vgb));
        merged_store(e, gx, k->gx);
    }
    eng_unref(gx);
    eng_unref(g);
    eng_unref(x);
    eng_unref(invstd);
}

static struct eng_tensor *channel_sums(struct bn_bw *k, enum vs_dtype dtype)
{
    return eng_empty(k->b->e, &k->x->sizes[1], 1, dtype, k->x->storage->on_host);
}

static struct eng_tensor *input_like(struct bn_bw *k, bool keeps_layout)
{
    struct eng_op_call c = {.e = k->b->e, .id = k->b->node->op};

    if (keeps_layout)
        return eng_c_empty_like(&c, k->x, (enum vs_dtype)k->x->dtype);
    return eng_c_empty(&c, k->x->sizes, k->x->ndim, (enum vs_dtype)k->x->dtype, k->x);
}

/* t seen as [N, C, L]: itself or a row-major copy. */
static struct eng_tensor *flattened(struct eng *e, struct eng_tensor *t)
{
    return is_mergeable(t) ? eng_ref(t) : eng_contiguous(e, t);
}

/* Does PyTorch take its kernels for channels-last tensors? */
static bool runs_channels_last(const struct eng_tensor *t)
{
    return eng_is_channels_last(t) || (eng_is_contiguous(t) && t->strides[1] == 1);
}

/* cuDNN makes all three gradients whatever is asked for, from a gradient laid out as the input is. */
static void bn_cudnn(struct bn_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_tensor *g = eng_is_contiguous(k->x) || !eng_is_channels_last(k->x) ? eng_contiguous(e, k->g) : eng_to_channels_last(e, k->g);

    k->gx = input_like(k, true);
    k->gw = channel_sums(k, k->param);
    k->gb = channel_sums(k, k->param);
    k->g = g;
    if (g)
        bn_compute(k);
    eng_unref(g);
}

/* One pass that makes what is asked for; copies of what cannot be seen as [N, C, L] live as long as it runs. */
static void bn_fused(struct bn_bw *k)
{
    struct eng_tensor *x = flattened(k->b->e, k->x), *g = flattened(k->b->e, k->g);

    k->gx = input_like(k, false);
    k->gw = k->want_w ? channel_sums(k, k->param) : NULL;
    k->gb = k->want_b ? channel_sums(k, k->param) : NULL;
    if (x && g) {
        k->x = x;
        k->g = g;
        bn_compute(k);
    }
    eng_unref(g);
    eng_unref(x);
}

/* Two channel sums and the parameters' gradients first, then the input's. */
static void bn_two_passes(struct bn_bw *k)
{
    struct eng *e = k->b->e;
    bool both_last = runs_channels_last(k->x) && runs_channels_last(k->g);
    struct eng_tensor *x = both_last ? NULL : flattened(e, k->x), *g = both_last ? NULL : flattened(e, k->g);
    struct eng_tensor *sums[2] = {0}, *one = NULL;

    if (both_last || k->want_x) {
        sums[0] = channel_sums(k, stat_dtype(k->x));
        sums[1] = channel_sums(k, stat_dtype(k->x));
    }
    if (both_last ? k->w != NULL : k->want_w)
        k->gw = channel_sums(k, k->param);
    if (both_last ? k->w != NULL : k->want_b)
        k->gb = channel_sums(k, k->param);
    eng_unref(g);
    eng_unref(x);
    if (k->want_x) {
        if (k->training && !both_last && !k->w) /* a weight of 1 */
            one = eng_empty(e, NULL, 0, (enum vs_dtype)k->x->dtype, k->x->storage->on_host);
        k->gx = input_like(k, k->training);
        eng_unref(one);
    }
    bn_compute(k);
    eng_unref(sums[1]);
    eng_unref(sums[0]);
}

/* saved: input, running_mean, running_var, weight, save_mean, save_invstd */
void eng_b_batch_norm(struct eng_bw *b)
{
    struct bn_bw k = {.b = b, .x = b->saved[0], .g = b->g[0], .w = b->saved[3], .training = b->a[5].v.flag};

    if (!k.x || (k.training && !b->saved[5]))
        return;
    k.want_x = eng_b_needs(b, 0);
    k.want_w = b->a[1].kind == ENG_A_TENSOR && eng_b_needs(b, 1);
    k.want_b = b->a[2].kind == ENG_A_TENSOR && eng_b_needs(b, 2);
    k.param = k.w ? (enum vs_dtype)k.w->dtype : VS_F32;
    k.mean = k.training ? b->saved[4] : b->saved[1];
    k.var = k.training ? b->saved[5] : b->saved[2];
    if (b->node->op == ENG_OP_cudnn_batch_norm && k.training) {
        bn_cudnn(&k);
    } else if (!k.training && !k.want_w && !k.want_b) {
        k.gx = input_like(&k, false);
        bn_compute(&k);
    } else if (k.want_x && !runs_channels_last(k.x)) {
        bn_fused(&k);
    } else {
        bn_two_passes(&k);
    }
    if (k.want_x)
        eng_b_give(b, 0, k.gx);
    else
        eng_unref(k.gx);
    if (k.want_w)
        eng_b_give(b, 1, k.gw);
    else
        eng_unref(k.gw);
    if (k.want_b)
        eng_b_give(b, 2, k.gb);
    else
        eng_unref(k.gb);
}

/* ---- layer norm, rms norm ---- */

/* Rows and columns of an input normalised over its last dims; false where they are not its last dims. */
static bool rows_and_cols(struct eng_op_call *c, const struct eng_tensor *x, int64_t *rows, int64_t *cols)
{
    const int64_t *shape = c->a[1].v.ints;
    int n = (int)c->a[1].count;
    char tx[ENG_SHAPE_TEXT_MAX];

    *rows = *cols = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (d < x->ndim - n)
            *rows *= x->sizes[d];
        else
            *cols *= x->sizes[d];
        if (d >= x->ndim - n && x->sizes[d] != shape[d - (x->ndim - n)])
            goto bad;
    }
    if (n >= 1 && n <= x->ndim)
        return true;
bad:
    eng_fail(c->e, VS_E_SHAPE, "%s: normalized_shape is not the shape of the last %d dimensions of the input %s", eng_op_get(c->id)->name, n,
             eng_shape_text(x, tx));
    return false;
}

static struct eng_view matrix(const struct eng_tensor *t, int64_t rows, int64_t cols)
{
    struct eng_view v = eng_v(t);

    v.ndim = 2;
    v.sizes[0] = rows;
    v.sizes[1] = cols;
    v.strides[0] = cols;
    v.strides[1] = 1;
    return v;
}

static struct eng_view line(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    v.ndim = 1;
    v.sizes[0] = eng_numel(t);
    v.strides[0] = 1;
    return v;
}

static const struct eng_view *opt_line(const struct eng_tensor *t, struct eng_view *v)
{
    if (!t)
        return NULL;
    *v = line(t);
    return v;
}

static int stat_sizes(const struct eng_tensor *x, int normalized, int64_t *sizes)
{
    for (int d = 0; d < x->ndim; d++)
        sizes[d] = d < x->ndim - normalized ? x->sizes[d] : 1;
    return x->ndim;
}

void eng_f_layer_norm(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_native_layer_norm, c->a, &ret))
        return;
    eng_unref(ret.few[1]);
    eng_unref(ret.few[2]);
    eng_c_give(c, ret.few[0]);
}

/* (out, mean, rstd) */
void eng_f_native_layer_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t rows, cols, sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *mean, *rstd, *dx;
    int n;

    if (!rows_and_cols(c, x, &rows, &cols))
        return;
    n = stat_sizes(x, (int)c->a[1].count, sizes);
    dx = eng_contiguous(c->e, x);
    out = dx ? eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x) : NULL;
    mean = out ? eng_c_empty(c, sizes, n, stat_dtype(x), x) : NULL;
    rstd = mean ? eng_c_empty(c, sizes, n, stat_dtype(x), x) : NULL;
    if (rstd && eng_c_computes(c)) {
        struct eng_view vx = matrix(dx, rows, cols), vo = matrix(out, rows, cols), vm = line(mean), vr = line(rstd), w, b;

        c->e->kernels->layer_norm(&vx, opt_line(eng_c_tensor(c, 2), &w), opt_line(eng_c_tensor(c, 3), &b), eng_c_float(c, 4), &vo, &vm, &vr);
    }
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, mean);
    eng_c_give(c, rstd);
}

/* saved: bias, input, weight, mean, rstd */
void eng_b_layer_norm(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[1], *w = b->saved[2], *mean = b->saved[3], *rstd = b->saved[4];
    struct eng_tensor *g, *dx, *gx = NULL, *gw = NULL, *gb = NULL;
    int64_t rows, cols;

    if (!x || !mean || !rstd)
        return;
    g = eng_contiguous(e, b->g[0]);
    dx = eng_contiguous(e, x);
    rows = eng_numel(mean);
    cols = rows ? eng_numel(x) / rows : 0;
    if (eng_b_needs(b, 0))
        gx = eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    if (w && eng_b_needs(b, 2))
        gw = eng_empty(e, w->sizes, w->ndim, (enum vs_dtype)w->dtype, w->storage->on_host);
    if (b->a[3].kind == ENG_A_TENSOR && eng_b_needs(b, 3)) {
        const struct eng_edge *edge = eng_b_edge(b, 3, 0);

        gb = eng_empty(e, edge->sizes, edge->ndim, (enum vs_dtype)edge->dtype, x->storage->on_host);
    }
    if (g && dx && e->kernels && !e->failed) {
        struct eng_view vg = matrix(g, rows, cols), vx = matrix(dx, rows, cols), vm = line(mean), vr = line(rstd), vw, vgx, vgw, vgb;

        if (gx)
            vgx = matrix(gx, rows, cols);
        e->kernels->layer_norm_backward(&vg, &vx, opt_line(w, &vw), &vm, &vr, gx ? &vgx : NULL, opt_line(gw, &vgw), opt_line(gb, &vgb));
    }
    eng_unref(dx);
    eng_unref(g);
    eng_b_give(b, 0, gx);
    if (gw)
        eng_b_give(b, 2, gw);
    if (gb)
        eng_b_give(b, 3, gb);
}

void eng_f_rms_norm(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_fused_rms_norm, c->a, &ret))
        return;
    eng_unref(ret.few[1]);
    eng_c_give(c, ret.few[0]);
}

/* (out, rstd) */
void eng_f_fused_rms_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t rows, cols, sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *rstd, *dx;
    /* without eps: the machine epsilon of the input's dtype */
    double eps = eng_c_has(c, 3) ? eng_c_float(c, 3) : x->dtype == VS_F64 ? 0x1p-52 : x->dtype == VS_F16 ? 0x1p-10 : x->dtype == VS_BF16 ? 0x1p-7 : 0x1p-23;
    int n;

    if (!rows_and_cols(c, x, &rows, &cols))
        return;
    n = stat_sizes(x, (int)c->a[1].count, sizes);
    dx = eng_contiguous(c->e, x);
    out = dx ? eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x) : NULL;
    rstd = out ? eng_c_empty(c, sizes, n, stat_dtype(x), x) : NULL;
    if (rstd && eng_c_computes(c)) {
        struct eng_view vx = matrix(dx, rows, cols), vo = matrix(out, rows, cols), vr = line(rstd), w;

        c->e->kernels->rms_norm(&vx, opt_line(eng_c_tensor(c, 2), &w), eps, &vo, &vr);
    }
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, rstd);
}

/* saved: input, weight, rstd */
void eng_b_fused_rms_norm(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[0], *w = b->saved[1], *rstd = b->saved[2];
    struct eng_tensor *g, *dx, *gx, *gw = NULL;
    int64_t rows, cols;

    if (!x || !rstd)
        return;
    g = eng_contiguous(e, b->g[0]);
    dx = eng_contiguous(e, x);
    rows = eng_numel(rstd);
    cols = rows ? eng_numel(x) / rows : 0;
    gx = eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    if (w && eng_b_needs(b, 2))
        gw = eng_empty(e, w->sizes, w->ndim, (enum vs_dtype)w->dtype, w->storage->on_host);
    if (g && dx && gx && e->kernels && !e->failed) {
        struct eng_view vg = matrix(g, rows, cols), vx = matrix(dx, rows, cols), vr = line(rstd), vgx = matrix(gx, rows, cols), vw, vgw;

        e->kernels->rms_norm_backward(&vg, &vx, opt_line(w, &vw), &vr, &vgx, opt_line(gw, &vgw));
    }
    eng_unref(dx);
    eng_unref(g);
    eng_b_give(b, 0, gx);
    if (gw)
        eng_b_give(b, 2, gw);
}

/* ---- group norm ---- */

void eng_f_group_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t groups = eng_c_int(c, 1);
    struct eng_tensor *input;
    struct eng_ret ret;

    if (x->ndim < 2 || groups < 1 || x->sizes[1] % groups) {
        char tx[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE, "group_norm: the channels of the input %s must be divisible by num_groups (%" PRId64 ")", eng_shape_text(x, tx), groups);
        return;
    }
    input = dense(c->e, x);
    {
        struct eng_arg args[] = {eng_at(input), c->a[2], c->a[3], c->a[1], c->a[4]};

        if (input && eng_call(c->e, ENG_OP_native_group_norm, args, &ret)) {
            eng_unref(ret.few[1]);
            eng_unref(ret.few[2]);
            eng_c_give(c, ret.few[0]);
        }
    }
    eng_unref(input);
}

/* (out, mean, rstd); two [N, C] tensors live inside the op, and before them the statistics in float where they are given in half */
void eng_f_native_group_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t groups = eng_c_int(c, 3);
    int64_t ng[2] = {x->sizes[0], groups};
    enum vs_dtype stats = x->dtype == VS_F64 ? VS_F64 : eng_c_tensor(c, 1) ? (enum vs_dtype)eng_c_tensor(c, 1)->dtype : (enum vs_dtype)x->dtype;
    struct eng_tensor *out, *mean, *rstd;
    struct eng_tensor *scratch[4] = {0};

    out = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    mean = out ? eng_c_empty(c, ng, 2, stats, x) : NULL;
    rstd = mean ? eng_c_empty(c, ng, 2, stats, x) : NULL;
    for (int i = 0; rstd && i < 4; i++) {
        if (i >= 2 || stats != stat_dtype(x))
            scratch[i] = eng_c_empty(c, i < 2 ? ng : x->sizes, 2, stat_dtype(x), x);
    }
    if (rstd && eng_c_computes(c)) {
        struct eng_view vx = channels(x), vo = channels(out), vm = eng_v(mean), vr = eng_v(rstd), w, bias;

        c->e->kernels->group_norm(&vx, opt_view(eng_c_tensor(c, 1), &w), opt_view(eng_c_tensor(c, 2), &bias), groups, eng_c_float(c, 4), &vo, &vm, &vr);
    }
    for (int i = 3; i >= 0; i--)
        eng_unref(scratch[i]);
    eng_c_give(c, out);
    eng_c_give(c, mean);
    eng_c_give(c, rstd);
}

/* saved: input, weight, mean, rstd */
void eng_b_group_norm(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[0], *w = b->saved[1], *mean = b->saved[2], *rstd = b->saved[3];
    bool want_b = b->a[2].kind == ENG_A_TENSOR && eng_b_needs(b, 2);
    struct eng_tensor *g, *gx = NULL, *gw = NULL, *gb = NULL, *sums[5] = {0};
    int64_t nc[2], ng[2];

    if (!x || !mean || !rstd)
        return;
    g = dense(e, b->g[0]);
    nc[0] = ng[0] = x->sizes[0];
    nc[1] = x->sizes[1];
    ng[1] = b->a[3].v.scalar.i;
    if (eng_b_needs(b, 0)) {
        struct eng_op_call c = {.e = e, .id = b->node->op};

        gx = eng_c_empty_like(&c, x, (enum vs_dtype)x->dtype);
    }
    if (w && eng_b_needs(b, 1))
        gw = eng_empty(e, &nc[1], 1, (enum vs_dtype)w->dtype, x->storage->on_host);
    if (want_b)
        gb = eng_empty(e, &nc[1], 1, (enum vs_dtype)eng_b_edge(b, 2, 0)->dtype, x->storage->on_host);
    sums[0] = eng_empty(e, nc, 2, stat_dtype(x), x->storage->on_host);
    sums[1] = eng_empty(e, nc, 2, stat_dtype(x), x->storage->on_host);
    if (gx) {
        sums[2] = eng_empty(e, ng, 2, stat_dtype(x), x->storage->on_host);
        sums[3] = eng_empty(e, ng, 2, stat_dtype(x), x->storage->on_host);
        sums[4] = w ? eng_empty(e, nc, 2, stat_dtype(x), x->storage->on_host) : NULL;
    }
    if (g && e->kernels && !e->failed) {
        struct eng_view vg = channels(g), vx = channels(x), vm = eng_v(mean), vr = eng_v(rstd), vw, vgx, vgw, vgb;

        if (gx)
            vgx = channels(gx);
        e->kernels->group_norm_backward(&vg, &vx, opt_view(w, &vw), &vm, &vr, ng[1], gx ? &vgx : NULL, opt_view(gw, &vgw), opt_view(gb, &vgb));
    }
    eng_unref(sums[3]);
    eng_unref(sums[2]);
    eng_unref(sums[4]);
    eng_unref(sums[1]);
    eng_unref(sums[0]);
    eng_unref(g);
    eng_b_give(b, 0, gx);
    if (gw)
        eng_b_give(b, 1, gw);
    if (gb)
        eng_b_give(b, 2, gb);
}

/* ---- dropout ---- */

static struct eng_rng_key device_key(struct eng *e, bool on_host)
{
    uint64_t *offset = on_host ? &e->rng.host_offset : &e->rng.device_offset;
    struct eng_rng_key key = {e->rng.seed ^ UINT64_C(0xD1B54A32D192ED03), *offset};

    (*offset)++;
    return key;
}

/* The path that multiplies by a noise tensor: in place, feature dropout, p = 1. */
static void dropout_by_noise(struct eng_op_call *c, struct eng_tensor *x, double p, bool feature)
{
    struct eng *e = c->e;
    struct eng_tensor *noise;
    struct eng_arg args[2];
    struct eng_ret ret;
    bool grad;

    if (p == 1.0) {
        noise = eng_zeros(e, NULL, 0, (enum vs_dtype)x->dtype, x->storage->on_host);
    } else {
        int64_t sizes[VS_MAX_DIMS];
        struct eng_arg like[] = {eng_at(x), eng_anone(), eng_anone()};
        struct eng_arg of_size[] = {eng_at(x), eng_aints(sizes, x->ndim), eng_anone(), eng_anone()};

        for (int d = 0; d < x->ndim; d++)
            sizes[d] = d >= 2 ? 1 : x->sizes[d];
        grad = eng_set_grad_enabled(e, false);
        noise = feature ? eng_call1(e, ENG_OP_new_empty, of_size) : eng_call1(e, ENG_OP_empty_like, like);
        args[0] = eng_at(noise);
        args[1] = eng_af(1 - p);
        if (noise && eng_call_inplace(e, ENG_OP_bernoulli_, args, &ret)) {
            struct eng_arg scale[] = {eng_at(noise), eng_af(1 - p), eng_anone()};

            eng_ret_release(&ret);
            if (eng_call_inplace(e, ENG_OP_div, scale, &ret))
                eng_ret_release(&ret);
        }
        eng_set_grad_enabled(e, grad);
    }
    args[0] = eng_at(x);
    args[1] = eng_at(noise);
    if (noise && (c->inplace ? eng_call_inplace(e, ENG_OP_mul, args, &ret) : eng_call(e, ENG_OP_mul, args, &ret)))
        eng_c_give(c, ret.few[0]);
    eng_unref(noise);
}

/* dropout(input, p, train), feature_dropout likewise */
void eng_f_dropout(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    double p = eng_c_float(c, 1);
    bool feature = c->id == ENG_OP_feature_dropout;
    struct eng_ret ret;

    if (!(p >= 0 && p <= 1)) {
        eng_fail(c->e, VS_E_VALUE, "dropout probability has to be between 0 and 1, but got %g", p);
        return;
    }
    if (p == 0 || !eng_c_bool(c, 2) || !eng_numel(x)) {
        eng_c_give(c, eng_ref(x));
        return;
    }
    if (c->inplace || feature || p == 1 || x->storage->on_host) {
        dropout_by_noise(c, x, p, feature);
        return;
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_af(p)};

        if (eng_call(c->e, ENG_OP_native_dropout, args, &ret)) {
            eng_unref(ret.few[1]);
            eng_c_give(c, ret.few[0]);
        }
    }
}

/* (out, mask): the mask is allocated first */
void eng_f_native_dropout(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    double p = eng_c_float(c, 1);
    struct eng_tensor *mask = eng_c_empty_like(c, x, VS_BOOL);
    struct eng_tensor *out = mask ? eng_c_empty_like(c, x, (enum vs_dtype)x->dtype) : NULL;
    struct eng_rng_key key = device_key(c->e, x->storage->on_host);

    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vm = eng_v(mask), vo = eng_v(out), vs;
        struct eng_cell cell;
        double none[4] = {0};

        c->e->kernels->random_bernoulli(&vm, 1 - p, key);
        vs = eng_v_scalar((struct eng_scalar){false, 0, 1 / (1 - p)}, out, &cell);
        c->e->kernels->binary(ENG_B_MUL, vo.dtype, &vx, &vm, &vo, none);
        c->e->kernels->binary(ENG_B_MUL, vo.dtype, &vo, &vs, &vo, none);
    }
    eng_c_give(c, out);
    eng_c_give(c, mask);
}

/* g * mask / (1 - p), one tensor. saved: mask */
void eng_b_native_dropout(struct eng_bw *b)
{
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct eng_tensor *mask = b->saved[0];
    struct eng_tensor *gx;

    if (!mask)
        return;
    gx = eng_c_elementwise_out(&c, (struct eng_tensor *[]){b->g[0], mask}, 2, (enum vs_dtype)b->g[0]->dtype);
    if (gx && b->e->kernels) {
        struct eng_view vg = eng_v(b->g[0]), vm = eng_v(mask), vo = eng_v(gx), vs;
        struct eng_cell cell;
        double none[4] = {0};

        vs = eng_v_scalar((struct eng_scalar){false, 0, 1 / (1 - b->a[1].v.scalar.f)}, gx, &cell);
        b->e->kernels->binary(ENG_B_MUL, vo.dtype, &vg, &vm, &vo, none);
        b->e->kernels->binary(ENG_B_MUL, vo.dtype, &vo, &vs, &vo, none);
    }
    eng_b_give(b, 0, gx);
}
