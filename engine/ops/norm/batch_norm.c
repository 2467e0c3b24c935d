/*
 * engine/ops/norm/batch_norm.c - batch norm: statistics over the images of a channel.
 *
 * Must not know:  models.
 * Invariant:      the statistics are saved in float32 (float64 for float64 inputs); the implementation that PyTorch
 *                 would choose decides the order in which the gradients are allocated.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/norm/batch_norm_dtypes.h"
#include "engine/ops/norm/channels.h"

/* Whether t can be viewed as [N, C, L]: its image dims can be merged into one without a copy. */
static bool is_mergeable(const struct eng_tensor *t)
{
    for (int d = 2; d + 1 < t->ndim; d++) {
        if (t->sizes[d] != 1 && t->strides[d] != t->strides[d + 1] * t->sizes[d + 1])
            return false;
    }
    return true;
}

static struct eng_tensor *dense(struct eng *e, struct eng_tensor *t)
{
    return t && eng_is_channels_last(t) ? eng_ref(t) : eng_contiguous(e, t);
}

/*
 * t, or a row-major host copy if it is not mergeable: the CPU kernels need one, PyTorch's do not. Returns a new
 * reference.
 */
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

/* Copies the values back to the tensor that the copy was made of. */
static void merged_store(struct eng *e, const struct eng_tensor *copy, struct eng_tensor *t)
{
    if (copy && t && copy != t && e->kernels) {
        struct eng_view from = eng_v(copy), to = eng_v(t);

        e->kernels->copy(&from, &to);
    }
}

/* PyTorch's choice between cuDNN and its own kernels. */
static bool uses_cudnn(const struct eng_op_call *c, const struct eng_tensor *x)
{
    const struct eng_tensor *w = eng_c_tensor(c, ARG_batch_norm_weight),
                            *b = eng_c_tensor(c, ARG_batch_norm_bias),
                            *mean = eng_c_tensor(c, ARG_batch_norm_running_mean),
                            *var = eng_c_tensor(c, ARG_batch_norm_running_var);
    bool training = eng_c_bool(c, ARG_batch_norm_training);

    if (x->storage->on_host || !w || !b || x->ndim < 3 ||
        !eng_c_bool(c, ARG_batch_norm_cudnn_enabled))
        return false;
    if (x->dtype == VS_BF16 || w->dtype == VS_BF16 || (x->dtype == VS_F16 && w->dtype != VS_F32))
        return false;
    if (!(mean && var) && !(!mean && !var && training))
        return false;
    if (x->sizes[0] > (training ? 880801 : 65535) || eng_c_float(c, ARG_batch_norm_eps) < 1e-5)
        return false;
    return eng_numel(x) <= INT32_MAX;
}

/* (input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled) */
void eng_f_batch_norm(struct eng_op_call *c)
{
    static const int PER_CHANNEL[] = {ARG_batch_norm_weight, ARG_batch_norm_bias,
                                      ARG_batch_norm_running_mean, ARG_batch_norm_running_var};
    struct eng_tensor *x = eng_c_tensor(c, ARG_batch_norm_input);
    bool cudnn;
    struct eng_tensor *input;
    struct eng_ret ret;

    if (x->ndim < 2) {
        eng_fail(c->e, VS_E_SHAPE, "batch_norm: expected an input of at least 2 dimensions, got %d",
                 x->ndim);
        return;
    }
    for (int i = 0; i < 4; i++) {
        const struct eng_tensor *t = eng_c_tensor(c, PER_CHANNEL[i]);
        char tx[ENG_SHAPE_TEXT_MAX];

        if (t && eng_numel(t) != x->sizes[1]) {
            eng_fail(c->e, VS_E_SHAPE,
                     "batch_norm: the input %s has %" PRId64
                     " channels, but the module is made for %" PRId64,
                     eng_shape_text(x, tx), x->sizes[1], eng_numel(t));
            return;
        }
    }
    cudnn = uses_cudnn(c, x);
    if (!eng_batch_norm_dtypes(c, cudnn))
        return;
    input = cudnn ? dense(c->e, x) : eng_ref(x);
    {
        struct eng_arg args[] = {eng_at(input),
                                 c->a[ARG_batch_norm_weight],
                                 c->a[ARG_batch_norm_bias],
                                 c->a[ARG_batch_norm_running_mean],
                                 c->a[ARG_batch_norm_running_var],
                                 c->a[ARG_batch_norm_training],
                                 c->a[ARG_batch_norm_momentum],
                                 c->a[ARG_batch_norm_eps]};
        bool done =
            input &&
            eng_call(c->e, cudnn ? ENG_OP_cudnn_batch_norm : ENG_OP_native_batch_norm, args, &ret);

        eng_unref(input); /* an input's copy that is not saved is freed before the statistics */
        if (done) {
            struct eng_tensor *out = ret.few[0];

            ret.few[0] = NULL;
            eng_ret_release(&ret);
            eng_c_give(c, out);
        }
    }
}

/* Whether PyTorch runs its kernels for channels-last tensors. */
static bool runs_channels_last(const struct eng_tensor *t)
{
    return eng_is_channels_last(t) || (eng_is_contiguous(t) && t->strides[1] == 1);
}

static int64_t low_power(int64_t n)
{
    int64_t p = 1;

    while (p * 2 <= n)
        p *= 2;
    return p;
}

#define STAGED_THREADS 512
#define STAGED_WIDTH 32
#define STAGED_ROWS 16 /* rows that a thread adds up */
#define STAGED_MOST 128
#define STAGED_LEAST 8 /* with fewer blocks per channel PyTorch uses one pass */

/*
 * The channels-last kernels add up `sums` numbers a channel over so many rows that a channel's blocks meet in memory:
 * their partial sums, and a counter a column of blocks.
 */
static void staging(struct eng *e, const struct eng_tensor *x, int sums)
{
    int64_t channels = x->sizes[1], rows = channels ? eng_numel(x) / channels : 0;
    int64_t width = low_power(channels) < STAGED_WIDTH ? low_power(channels) : STAGED_WIDTH;
    int64_t height = low_power((rows + STAGED_ROWS - 1) / STAGED_ROWS);
    int64_t blocks, columns, parts;
    struct eng_tensor *partial, *counters;

    if (!rows || x->storage->on_host)
        return;
    height = height < STAGED_THREADS / width ? height : STAGED_THREADS / width;
    if (width * height != STAGED_THREADS)
        width = low_power(channels) < STAGED_THREADS / height ? low_power(channels)
                                                              : STAGED_THREADS / height;
    columns = (channels + width - 1) / width;
    blocks = (rows + height * STAGED_ROWS - 1) / (height * STAGED_ROWS);
    blocks = blocks < STAGED_MOST ? blocks : STAGED_MOST;
    if (blocks < STAGED_LEAST)
        return;
    parts = sums * channels * blocks;
    partial = eng_empty(e, &parts, 1, eng_norm_dtype(x), false);
    counters = eng_empty(e, &columns, 1, VS_I32, false);
    eng_unref(counters);
    eng_unref(partial);
}

static void missing_numbers(struct eng_op_call *c, const struct eng_tensor *x)
{
    struct eng_tensor *weight = eng_c_tensor(c, ARG_batch_norm_leaf_weight)
                                    ? NULL
                                    : eng_c_empty(c, NULL, 0, eng_norm_dtype(x), x);
    struct eng_tensor *bias = eng_c_tensor(c, ARG_batch_norm_leaf_bias)
                                  ? NULL
                                  : eng_c_empty(c, NULL, 0, eng_norm_dtype(x), x);

    eng_unref(bias);
    eng_unref(weight);
}

/* (out, save_mean, save_invstd); statistics are empty where the running ones are used */
void eng_f_batch_norm_leaf(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_batch_norm_leaf_input);
    bool training = eng_c_bool(c, ARG_batch_norm_leaf_training);
    bool native = c->id == ENG_OP_native_batch_norm;
    int64_t stats = training || native ? x->sizes[1] : 0;
    struct eng_tensor *out, *mean, *invstd, *mx, *mo;

    out = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    mean = out ? eng_c_empty(c, &stats, 1, eng_norm_dtype(x), x) : NULL;
    invstd = mean ? eng_c_empty(c, &stats, 1, eng_norm_dtype(x), x) : NULL;
    /* 0-dim tensors are made in place of missing weights and statistics */
    if (native && !eng_is_contiguous(x) && !runs_channels_last(x))
        missing_numbers(c, x);
    if (native && training && invstd && runs_channels_last(x))
        staging(c->e, x, 4);
    mx = merged(c->e, x);
    mo = merged(c->e, out);
    if (invstd && mx && mo && eng_c_computes(c)) {
        struct eng_view vx = eng_norm_channels(mx), vo = eng_norm_channels(mo), vm = eng_v(mean),
                        vi = eng_v(invstd), w, b, rm, rv;

        if (training)
            c->e->kernels->batch_norm_train(
                &vx, eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_weight), &w),
                eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_bias), &b),
                eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_running_mean), &rm),
                eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_running_var), &rv),
                eng_c_float(c, ARG_batch_norm_leaf_momentum),
                eng_c_float(c, ARG_batch_norm_leaf_eps), &vo, &vm, &vi);
        else
            c->e->kernels->batch_norm_eval(
                &vx, eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_weight), &w),
                eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_bias), &b),
                eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_running_mean), &rm),
                eng_norm_opt(eng_c_tensor(c, ARG_batch_norm_leaf_running_var), &rv),
                eng_c_float(c, ARG_batch_norm_leaf_eps), &vo);
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
    struct eng_tensor *x, *g, *w, *mean,
        *var; /* var: the saved inverse deviation in training, the running variance else */
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
        struct eng_view ve =
            eng_v_scalar((struct eng_scalar){false, 0, k->b->a[ARG_batch_norm_leaf_eps].v.scalar.f},
                         invstd, &cell);

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
        struct eng_view vx = eng_norm_channels(x), vg = eng_norm_channels(g), vm = eng_v(k->mean),
                        vi = eng_v(invstd), vw, vgx, vgw, vgb;

        if (gx)
            vgx = eng_norm_channels(gx);
        e->kernels->batch_norm_backward(&vg, &vx, eng_norm_opt(k->w, &vw), &vm, &vi, k->training,
                                        gx ? &vgx : NULL, eng_norm_opt(k->gw, &vgw),
                                        eng_norm_opt(k->gb, &vgb));
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

/* t, which can be viewed as [N, C, L], or else a row-major copy of it. */
static struct eng_tensor *flattened(struct eng *e, struct eng_tensor *t)
{
    return is_mergeable(t) ? eng_ref(t) : eng_contiguous(e, t);
}

/*
 * cuDNN computes all three gradients even if some are not needed, from a result gradient in the input's memory layout.
 */
static void bn_cudnn(struct bn_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_tensor *g = eng_is_contiguous(k->x) || !eng_is_channels_last(k->x)
                               ? eng_contiguous(e, k->g)
                               : eng_to_channels_last(e, k->g);

    k->gx = input_like(k, true);
    k->gw = channel_sums(k, k->param);
    k->gb = channel_sums(k, k->param);
    k->g = g;
    if (g)
        bn_compute(k);
    eng_unref(g);
}

/*
 * One pass that computes only the gradients needed; copies of tensors that cannot be viewed as [N, C, L] live until it
 * ends.
 */
static void bn_fused(struct bn_bw *k)
{
    struct eng_tensor *x, *g;

    if (!eng_batch_norm_backward_dtypes(k->b->e, k->x, k->w,
                                        k->b->saved[SAVED_batch_norm_leaf_running_mean],
                                        k->b->saved[SAVED_batch_norm_leaf_running_var]))
        return;
    x = flattened(k->b->e, k->x);
    g = flattened(k->b->e, k->g);
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
    /* cuDNN saves no statistics in evaluation: the inverse deviation is made here */
    struct eng_tensor *invstd =
        k->b->node->op == ENG_OP_cudnn_batch_norm ? channel_sums(k, eng_norm_dtype(k->x)) : NULL;
    struct eng_tensor *x = both_last ? NULL : flattened(e, k->x),
                      *g = both_last ? NULL : flattened(e, k->g);
    struct eng_tensor *sums[2] = {0}, *one = NULL;

    if (both_last || k->want_x) {
        sums[0] = channel_sums(k, eng_norm_dtype(k->x));
        sums[1] = channel_sums(k, eng_norm_dtype(k->x));
    }
    if (both_last ? k->w != NULL : k->want_w)
        k->gw = channel_sums(k, k->param);
    if (both_last ? k->w != NULL : k->want_b)
        k->gb = channel_sums(k, k->param);
    eng_unref(g);
    eng_unref(x);
    if (both_last && !e->failed)
        staging(e, k->x, 2);
    if (k->want_x) {
        if (k->training && !both_last && !k->w) /* a weight of 1 */
            one = eng_empty(e, NULL, 0, (enum vs_dtype)k->x->dtype, k->x->storage->on_host);
        k->gx = input_like(k, k->training);
        eng_unref(one);
    }
    bn_compute(k);
    eng_unref(sums[1]);
    eng_unref(sums[0]);
    eng_unref(invstd);
}

/* saved: input, running_mean, running_var, weight, save_mean, save_invstd */
void eng_b_batch_norm_leaf(struct eng_bw *b)
{
    struct bn_bw k = {.b = b,
                      .x = b->saved[SAVED_batch_norm_leaf_input],
                      .g = b->g[0],
                      .w = b->saved[SAVED_batch_norm_leaf_weight],
                      .training = b->a[ARG_batch_norm_leaf_training].v.flag};

    if (!k.x || (k.training && !b->saved[SAVED_batch_norm_leaf_result2]))
        return;
    k.want_x = eng_b_needs(b, ARG_batch_norm_leaf_input);
    k.want_w = b->a[ARG_batch_norm_leaf_weight].kind == ENG_A_TENSOR &&
               eng_b_needs(b, ARG_batch_norm_leaf_weight);
    k.want_b = b->a[ARG_batch_norm_leaf_bias].kind == ENG_A_TENSOR &&
               eng_b_needs(b, ARG_batch_norm_leaf_bias);
    k.param = k.w ? (enum vs_dtype)k.w->dtype : VS_F32;
    k.mean = k.training ? b->saved[SAVED_batch_norm_leaf_result1]
                        : b->saved[SAVED_batch_norm_leaf_running_mean];
    k.var = k.training ? b->saved[SAVED_batch_norm_leaf_result2]
                       : b->saved[SAVED_batch_norm_leaf_running_var];
    if (b->node->op == ENG_OP_cudnn_batch_norm && k.training) {
        bn_cudnn(&k);
    } else if (!k.training && !k.want_w && !k.want_b) {
        struct eng_tensor *invstd =
            b->node->op == ENG_OP_cudnn_batch_norm ? channel_sums(&k, eng_norm_dtype(k.x)) : NULL;

        k.gx = input_like(&k, false);
        bn_compute(&k);
        eng_unref(invstd);
    } else if (k.want_x && !runs_channels_last(k.x)) {
        bn_fused(&k);
    } else {
        bn_two_passes(&k);
    }
    if (k.want_x)
        eng_b_give(b, ARG_batch_norm_leaf_input, k.gx);
    else
        eng_unref(k.gx);
    if (k.want_w)
        eng_b_give(b, ARG_batch_norm_leaf_weight, k.gw);
    else
        eng_unref(k.gw);
    if (k.want_b)
        eng_b_give(b, ARG_batch_norm_leaf_bias, k.gb);
    else
        eng_unref(k.gb);
}
