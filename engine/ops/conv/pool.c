/*
 * engine/ops/conv/pool.c - pooling and resampling.
 *
 * Must not know:  models.
 * Invariant:      pooling saves its input although only the shape is used; max pooling allocates int64 indices even if
 *                 nothing is saved.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/workspace.h"

/* [C,H,W] or [N,C,H,W] as four dims for the kernels. */
static struct eng_view image(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    if (t->ndim == 4)
        return v;
    for (int d = 3; d > 0; d--) {
        v.sizes[d] = v.sizes[d - 1];
        v.strides[d] = v.strides[d - 1];
    }
    v.sizes[0] = 1;
    v.strides[0] = 0;
    v.ndim = 4;
    return v;
}

static int64_t at_or(const struct eng_arg *a, int k, int64_t otherwise)
{
    if (a->kind != ENG_A_INTS || !a->count)
        return otherwise;
    return a->v.ints[a->count > 1 ? k : 0];
}

/* From int lists of one or two; an empty stride is the kernel; dilation NULL: 1. */
static void pool_params(struct eng_pool2d *p, const struct eng_arg *kernel,
                        const struct eng_arg *stride, const struct eng_arg *padding,
                        const struct eng_arg *dilation)
{
    memset(p, 0, sizeof(*p));
    for (int k = 0; k < 2; k++) {
        p->kernel[k] = at_or(kernel, k, 1);
        p->stride[k] = at_or(stride, k, p->kernel[k]);
        p->padding[k] = at_or(padding, k, 0);
        p->dilation[k] = dilation ? at_or(dilation, k, 1) : 1;
    }
}

static int64_t pool_size(int64_t in, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation,
                         bool ceil_mode)
{
    int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    int64_t out = (span >= 0 ? span / stride : -1) + 1;

    if (ceil_mode && (out - 1) * stride >= in + pad)
        out--; /* the last window must start inside the input or its left padding */
    return out;
}

static bool pool_sizes(struct eng_op_call *c, const struct eng_tensor *x,
                       const struct eng_pool2d *p, bool ceil_mode, int64_t *sizes)
{
    if (x->ndim != 3 && x->ndim != 4) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE, "%s: expected a 3-D or 4-D input, got %s",
                 eng_op_get(c->id)->name, eng_shape_text(x, shape));
        return false;
    }
    memcpy(sizes, x->sizes, sizeof(*sizes) * x->ndim);
    for (int k = 0; k < 2; k++) {
        int d = x->ndim - 2 + k;

        if (p->kernel[k] < 1 || p->stride[k] < 1 || p->padding[k] * 2 > p->kernel[k]) {
            eng_fail(c->e, VS_E_VALUE,
                     "%s: kernel and stride must be at least 1 and padding at most half the kernel",
                     eng_op_get(c->id)->name);
            return false;
        }
        sizes[d] = pool_size(x->sizes[d], p->kernel[k], p->padding[k], p->stride[k], p->dilation[k],
                             ceil_mode);
        if (sizes[d] < 1) {
            char shape[ENG_SHAPE_TEXT_MAX];

            eng_fail(c->e, VS_E_SHAPE,
                     "%s: the output would be empty: input %s is smaller than the kernel",
                     eng_op_get(c->id)->name, eng_shape_text(x, shape));
            return false;
        }
    }
    return true;
}

/* Whether t is channels-last and not also row-major; it need not be dense. */
static bool lies_last(const struct eng_tensor *t)
{
    return eng_suggests_channels_last(t);
}

/* t in one of the two layouts: itself or a copy. A new reference. */
static struct eng_tensor *in_layout(struct eng *e, struct eng_tensor *t, bool last)
{
    return last ? eng_to_channels_last(e, t) : eng_contiguous(e, t);
}

static struct eng_tensor *dense(struct eng *e, struct eng_tensor *t)
{
    return in_layout(e, t, lies_last(t));
}

/* ---- max ---- */

void eng_f_max_pool2d_indices(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_max_pool2d_indices_input);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *indices, *dx;
    struct eng_pool2d p;

    pool_params(&p, &c->a[ARG_max_pool2d_indices_kernel_size], &c->a[ARG_max_pool2d_indices_stride],
                &c->a[ARG_max_pool2d_indices_padding], &c->a[ARG_max_pool2d_indices_dilation]);
    if (!pool_sizes(c, x, &p, eng_c_bool(c, ARG_max_pool2d_indices_ceil_mode), sizes))
        return;
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    indices = out ? eng_c_empty_suggested(c, x, sizes, VS_I64) : NULL;
    dx = dense(c->e, x);
    if (indices && dx && eng_c_computes(c)) {
        struct eng_view vx = image(dx), vo = image(out), vi = image(indices);

        c->e->kernels->max_pool2d(&vx, &vo, &vi, &p);
    }
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, indices);
}

/* max_pool2d gives the values only */
void eng_f_max_pool2d(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_max_pool2d_indices, c->a, &ret))
        return;
    eng_unref(ret.few[1]);
    eng_c_give(c, ret.few[0]);
}

/*
 * gx, then dense copies of input and g in the input's layout; adaptive pooling makes a row-major gx and copies g
 * alone. saved: input, indices
 */
void eng_b_any_max_pool2d(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_op_call c = {.e = e, .id = b->node->op};
    bool adaptive = b->node->op == ENG_OP_adaptive_max_pool2d;
    struct eng_tensor *x = b->saved[SAVED_any_max_pool2d_input],
                      *indices = b->saved[SAVED_any_max_pool2d_result1];
    struct eng_tensor *g, *gx, *dx;
    struct eng_pool2d p;

    if (!x || !indices)
        return;
    if (!adaptive)
        pool_params(&p, &b->a[ARG_max_pool2d_indices_kernel_size],
                    &b->a[ARG_max_pool2d_indices_stride], &b->a[ARG_max_pool2d_indices_padding],
                    &b->a[ARG_max_pool2d_indices_dilation]);
    if (adaptive)
        gx = eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    else
        gx = eng_c_empty_suggested(&c, x, x->sizes, (enum vs_dtype)x->dtype);
    dx = adaptive ? NULL : dense(e, x);
    g = in_layout(e, b->g[0], !adaptive && lies_last(x));
    if (gx && g && e->kernels) {
        struct eng_view vg = image(g), vi = image(indices), vo = image(gx);

        e->kernels->max_pool2d_backward(&vg, &vi, &vo, adaptive ? NULL : &p);
    }
    eng_unref(g);
    eng_unref(dx);
    eng_b_give(b, ARG_any_max_pool2d_input, gx);
}

void eng_f_adaptive_max_pool2d(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_adaptive_max_pool2d_input);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *indices, *dx;

    memcpy(sizes, x->sizes, sizeof(sizes));
    for (int k = 0; k < 2; k++)
        sizes[x->ndim - 2 + k] = at_or(&c->a[ARG_adaptive_max_pool2d_output_size], k, 1);
    out = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    indices = out ? eng_c_empty(c, sizes, x->ndim, VS_I64, x) : NULL;
    dx = eng_contiguous(c->e, x);
    if (indices && dx && eng_c_computes(c)) {
        struct eng_view vx = image(dx), vo = image(out), vi = image(indices);

        c->e->kernels->adaptive_max_pool2d(&vx, &vo, &vi);
    }
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, indices);
}

/* [N,C,L] pooled as [N,C,1,L] */
static struct eng_tensor *lift(struct eng *e, struct eng_tensor *x)
{
    return eng_unsqueeze(e, x, -2);
}

void eng_f_max_pool1d(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = lift(e, eng_c_tensor(c, ARG_max_pool1d_input)), *out = NULL;
    int64_t k[2] = {1, at_or(&c->a[ARG_max_pool1d_kernel_size], 0, 1)},
            s[2] = {1, at_or(&c->a[ARG_max_pool1d_stride], 0, k[1])},
            pad[2] = {0, at_or(&c->a[ARG_max_pool1d_padding], 0, 0)},
            d[2] = {1, at_or(&c->a[ARG_max_pool1d_dilation], 0, 1)};
    struct eng_arg args[] = {eng_at(x),         eng_aints(k, 2), eng_aints(s, 2),
                             eng_aints(pad, 2), eng_aints(d, 2), c->a[ARG_max_pool1d_ceil_mode]};

    if (x)
        out = eng_call1(e, ENG_OP_max_pool2d, args);
    eng_c_give(c, eng_squeeze(e, out, -2));
    eng_unref(out);
    eng_unref(x);
}

/* ---- average ---- */

void eng_f_avg_pool2d(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_avg_pool2d_input);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *dx;
    struct eng_pool2d p;

    pool_params(&p, &c->a[ARG_avg_pool2d_kernel_size], &c->a[ARG_avg_pool2d_stride],
                &c->a[ARG_avg_pool2d_padding], NULL);
    p.count_include_pad = eng_c_bool(c, ARG_avg_pool2d_count_include_pad);
    p.divisor_override = eng_c_has(c, ARG_avg_pool2d_divisor_override)
                             ? eng_c_int(c, ARG_avg_pool2d_divisor_override)
                             : 0;
    if (!pool_sizes(c, x, &p, eng_c_bool(c, ARG_avg_pool2d_ceil_mode), sizes))
        return;
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    dx = dense(c->e, x);
    if (out && dx && eng_c_computes(c)) {
        struct eng_view vx = image(dx), vo = image(out);

        c->e->kernels->avg_pool2d(&vx, &vo, &p);
    }
    eng_unref(dx);
    eng_c_give(c, out);
}

void eng_b_avg_pool2d(struct eng_bw *b)
{
    struct eng_tensor *x = b->saved[SAVED_avg_pool2d_input];
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct eng_tensor *g, *gx, *dx;
    struct eng_pool2d p;

    if (!x)
        return;
    pool_params(&p, &b->a[ARG_avg_pool2d_kernel_size], &b->a[ARG_avg_pool2d_stride],
                &b->a[ARG_avg_pool2d_padding], NULL);
    p.count_include_pad = b->a[ARG_avg_pool2d_count_include_pad].v.flag;
    p.divisor_override = b->a[ARG_avg_pool2d_divisor_override].kind == ENG_A_SCALAR
                             ? b->a[ARG_avg_pool2d_divisor_override].v.scalar.i
                             : 0;
    gx = eng_c_empty_suggested(&c, x, x->sizes, (enum vs_dtype)x->dtype);
    dx = dense(b->e, x);
    g = in_layout(b->e, b->g[0], lies_last(x));
    if (gx && g && b->e->kernels) {
        struct eng_view vg = image(g), vo = image(gx);

        b->e->kernels->avg_pool2d_backward(&vg, &vo, &p);
    }
    eng_unref(g);
    eng_unref(dx);
    eng_b_give(b, ARG_avg_pool2d_input, gx);
}

void eng_f_avg_pool1d(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = lift(e, eng_c_tensor(c, ARG_avg_pool1d_input)), *out = NULL;
    int64_t k[2] = {1, at_or(&c->a[ARG_avg_pool1d_kernel_size], 0, 1)},
            s[2] = {1, at_or(&c->a[ARG_avg_pool1d_stride], 0, k[1])},
            pad[2] = {0, at_or(&c->a[ARG_avg_pool1d_padding], 0, 0)};
    struct eng_arg args[] = {eng_at(x),
                             eng_aints(k, 2),
                             eng_aints(s, 2),
                             eng_aints(pad, 2),
                             c->a[ARG_avg_pool1d_ceil_mode],
                             c->a[ARG_avg_pool1d_count_include_pad],
                             eng_anone()};

    if (x)
        out = eng_call1(e, ENG_OP_avg_pool2d, args);
    eng_c_give(c, eng_squeeze(e, out, -2));
    eng_unref(out);
    eng_unref(x);
}

/* an output of 1x1 is computed as a mean, others by the adaptive pooling kernel */
void eng_f_adaptive_avg_pool2d(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_adaptive_avg_pool2d_input);

    if (x->ndim != 3 && x->ndim != 4) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(e, VS_E_SHAPE, "adaptive_avg_pool2d: expected a 3-D or 4-D input, got %s",
                 eng_shape_text(x, shape));
        return;
    }
    if (at_or(&c->a[ARG_adaptive_avg_pool2d_output_size], 0, 1) == 1 &&
        at_or(&c->a[ARG_adaptive_avg_pool2d_output_size], 1, 1) == 1) {
        int64_t dims[2] = {-1, -2};
        struct eng_arg args[] = {eng_at(x), eng_aints(dims, 2), eng_ab(true), eng_anone()};
        struct eng_tensor *mean = eng_call1(e, ENG_OP_mean, args);

        /* PyTorch sets the strides of this result to channels-last ones */
        if (mean && lies_last(x)) {
            int64_t strides[VS_MAX_DIMS];
            struct eng_arg view[] = {eng_at(mean), eng_aints(mean->sizes, 4), eng_aints(strides, 4),
                                     eng_ai(0)};

            eng_channels_last_strides(mean->sizes, 4, strides);
            eng_slot_set(&mean, eng_call1(e, ENG_OP_as_strided, view));
        }
        eng_c_give(c, mean);
        return;
    }
    eng_c_give(c, eng_call1(e, ENG_OP_adaptive_avg_pool2d_leaf, c->a));
}

void eng_f_adaptive_avg_pool1d(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = lift(e, eng_c_tensor(c, ARG_adaptive_avg_pool1d_input)), *out = NULL;
    int64_t size[2] = {1, at_or(&c->a[ARG_adaptive_avg_pool1d_output_size], 0, 1)};
    struct eng_arg args[] = {eng_at(x), eng_aints(size, 2)};

    if (x)
        out = eng_call1(e, ENG_OP_adaptive_avg_pool2d, args);
    eng_c_give(c, eng_squeeze(e, out, -2));
    eng_unref(out);
    eng_unref(x);
}

void eng_f_adaptive_avg_pool2d_leaf(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_adaptive_avg_pool2d_leaf_input);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *dx;

    memcpy(sizes, x->sizes, sizeof(sizes));
    for (int k = 0; k < 2; k++)
        sizes[x->ndim - 2 + k] =
            at_or(&c->a[ARG_adaptive_avg_pool2d_leaf_output_size], k, x->sizes[x->ndim - 2 + k]);
    dx =
        lies_last(x) ? eng_ref(x) : dense(c->e, x); /* the channels-last kernel reads any strides */
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    if (out && dx && eng_c_computes(c)) {
        struct eng_view vx = image(dx), vo = image(out);

        c->e->kernels->adaptive_avg_pool2d(&vx, &vo);
    }
    eng_unref(dx);
    eng_c_give(c, out);
}

void eng_b_adaptive_avg_pool2d_leaf(struct eng_bw *b)
{
    struct eng_tensor *x = b->saved[SAVED_adaptive_avg_pool2d_leaf_input];
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct eng_tensor *g, *gx;

    if (!x)
        return;
    gx = eng_c_empty_suggested(&c, x, x->sizes, (enum vs_dtype)x->dtype);
    g = dense(b->e, b->g[0]);
    if (gx && g && b->e->kernels) {
        struct eng_view vg = image(g), vo = image(gx);

        b->e->kernels->adaptive_avg_pool2d_backward(&vg, &vo);
    }
    eng_unref(g);
    eng_b_give(b, ARG_adaptive_avg_pool2d_leaf_input, gx);
}

/* ---- resampling ---- */

/* From this many channels on, channels-last images are computed by separate kernels. */
#define UPSAMPLE_CHANNELS_LAST 16

static bool upsamples_last(const struct eng_tensor *t)
{
    return lies_last(t) && t->sizes[1] >= UPSAMPLE_CHANNELS_LAST;
}

/* A scale for the kernels, which take 0 for one that was not given. */
static double scale_of(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_SCALAR ? arg->v.scalar.f : 0;
}

/*
 * (input, output_size, [align_corners,] scales_h, scales_w). The nearest form reads and writes row-major copies where
 * it must; the bilinear one any strides.
 */
void eng_f_upsample(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_upsample_input);
    bool bilinear = c->id == ENG_OP_upsample_bilinear2d;
    int64_t sizes[4];
    struct eng_tensor *out, *dx = NULL, *row_major = NULL;

    if (x->ndim != 4) {
        eng_fail(c->e, VS_E_SHAPE, "interpolate: expected a 4-D input, got %d-D", x->ndim);
        return;
    }
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[2] = c->a[ARG_upsample_output_size].v.ints[0];
    sizes[3] =
        c->a[ARG_upsample_output_size].v.ints[c->a[ARG_upsample_output_size].count > 1 ? 1 : 0];
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    if (!bilinear && !upsamples_last(x)) {
        if (lies_last(x))
            row_major = eng_empty(c->e, sizes, 4, (enum vs_dtype)x->dtype, x->storage->on_host);
        dx = eng_contiguous(c->e, x);
    }
    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(dx ? dx : x), vo = eng_v(out);

        if (bilinear)
            c->e->kernels->upsample_bilinear2d(&vx, &vo,
                                               eng_c_bool(c, ARG_upsample_bilinear2d_align_corners),
                                               scale_of(&c->a[ARG_upsample_bilinear2d_scales_h]),
                                               scale_of(&c->a[ARG_upsample_bilinear2d_scales_w]));
        else
            c->e->kernels->upsample_nearest2d(&vx, &vo);
    }
    eng_unref(dx);
    eng_unref(row_major);
    eng_c_give(c, out);
}

/* gx has g's layout; unless g is channels-last with enough channels, row-major copies of gx and g are used. */
void eng_b_upsample(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_upsample_input, 0);
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    bool bilinear = b->node->op == ENG_OP_upsample_bilinear2d;
    struct eng_tensor *gx =
        eng_c_empty_suggested(&c, b->g[0], edge->sizes, (enum vs_dtype)b->g[0]->dtype);
    struct eng_tensor *row_major = NULL, *g;

    if (lies_last(b->g[0]) && !upsamples_last(b->g[0]))
        row_major = eng_empty(b->e, edge->sizes, 4, (enum vs_dtype)b->g[0]->dtype,
                              b->g[0]->storage->on_host);
    g = in_layout(b->e, b->g[0], upsamples_last(b->g[0]));
    if (gx && g && b->e->kernels) {
        struct eng_view vg = eng_v(g), vo = eng_v(gx);

        if (bilinear)
            b->e->kernels->upsample_bilinear2d_backward(
                &vg, &vo, b->a[ARG_upsample_bilinear2d_align_corners].v.flag,
                scale_of(&b->a[ARG_upsample_bilinear2d_scales_h]),
                scale_of(&b->a[ARG_upsample_bilinear2d_scales_w]));
        else
            b->e->kernels->upsample_nearest2d_backward(&vg, &vo);
    }
    eng_unref(g);
    eng_unref(row_major);
    eng_b_give(b, ARG_upsample_input, gx);
}
