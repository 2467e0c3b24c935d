/*
 * engine/ops/conv/conv.c - convolutions, plain and transposed, in one, two and three dimensions.
 *
 * Must not know:  models, algorithms of cuDNN, how a convolution in three dimensions is computed (conv3d.c).
 * Invariant:      input and weight are always saved; the bias is added in place on the result; gradients come in the
 *                 order input, weight, bias (weight, input, bias for a depthwise convolution that PyTorch runs with
 *                 its native kernel).
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/conv/conv3d.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

/* ---- the entries: lists brought to one length, then the leaf ---- */

static int spatial_dims(enum eng_op_id id)
{
    if (id == ENG_OP_conv3d || id == ENG_OP_conv_transpose3d)
        return 3;
    return id == ENG_OP_conv1d || id == ENG_OP_conv_transpose1d ? 1 : 2;
}

/*
 * args: the arguments of ENG_OP_convolution, with the input as given to the op; an input without a batch dim becomes a
 * batch of one.
 */
static void convolve(struct eng_op_call *c, struct eng_arg *args)
{
    struct eng_tensor *x = args[ARG_convolution_input].v.tensor,
                      *w = args[ARG_convolution_weight].v.tensor;
    int spatial = spatial_dims(c->id);
    struct eng_tensor *batch, *out;

    if ((x->ndim != spatial + 2 && x->ndim != spatial + 1) || w->ndim != spatial + 2) {
        char tx[ENG_SHAPE_TEXT_MAX], tw[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE,
                 "%s: expected an input of %d dimensions (or %d without a batch) and a weight of "
                 "%d, got input %s and weight %s",
                 eng_op_get(c->id)->name, spatial + 2, spatial + 1, spatial + 2,
                 eng_shape_text(x, tx), eng_shape_text(w, tw));
        return;
    }
    batch = x->ndim == spatial + 1 ? eng_unsqueeze(c->e, x, 0) : eng_ref(x);
    args[ARG_convolution_input] = eng_at(batch);
    out = batch ? eng_call1(c->e, ENG_OP_convolution, args) : NULL;
    if (batch != x && out)
        eng_slot_set(&out, eng_squeeze(c->e, out, 0));
    eng_unref(batch);
    eng_c_give(c, out);
}

void eng_f_conv(struct eng_op_call *c)
{
    static const int64_t ZEROS[3] = {0, 0, 0};
    struct eng_arg args[] = {
        [ARG_convolution_input] = c->a[ARG_conv_input],
        [ARG_convolution_weight] = c->a[ARG_conv_weight],
        [ARG_convolution_bias] = c->a[ARG_conv_bias],
        [ARG_convolution_stride] = c->a[ARG_conv_stride],
        [ARG_convolution_padding] = c->a[ARG_conv_padding],
        [ARG_convolution_dilation] = c->a[ARG_conv_dilation],
        [ARG_convolution_transposed] = eng_ab(false),
        [ARG_convolution_output_padding] = eng_aints(ZEROS, spatial_dims(c->id)),
        [ARG_convolution_groups] = eng_ai(eng_c_int(c, ARG_conv_groups)),
    };

    convolve(c, args);
}

void eng_f_conv_transpose(struct eng_op_call *c)
{
    struct eng_arg args[] = {
        [ARG_convolution_input] = c->a[ARG_conv_transpose_input],
        [ARG_convolution_weight] = c->a[ARG_conv_transpose_weight],
        [ARG_convolution_bias] = c->a[ARG_conv_transpose_bias],
        [ARG_convolution_stride] = c->a[ARG_conv_transpose_stride],
        [ARG_convolution_padding] = c->a[ARG_conv_transpose_padding],
        [ARG_convolution_dilation] = c->a[ARG_conv_transpose_dilation],
        [ARG_convolution_transposed] = eng_ab(true),
        [ARG_convolution_output_padding] = c->a[ARG_conv_transpose_output_padding],
        [ARG_convolution_groups] = eng_ai(eng_c_int(c, ARG_conv_transpose_groups)),
    };

    convolve(c, args);
}

/* ---- geometry ---- */

/* Element k of a list of ints, or its only one. */
static int64_t at(const struct eng_arg *a, int k)
{
    return a->v.ints[a->count > 1 ? k : 0];
}

/* a: the arguments of ENG_OP_convolution. */
static void conv_params(const struct eng_arg *a, int spatial, struct eng_conv3d *p)
{
    memset(p, 0, sizeof(*p));
    p->stride = p->dilation = 1;
    p->plane.stride[0] = p->plane.dilation[0] = 1;
    for (int k = 0; k < spatial; k++) {
        int d = 2 - spatial + k;

        *(d < 0 ? &p->stride : &p->plane.stride[d]) = at(&a[ARG_convolution_stride], k);
        *(d < 0 ? &p->padding : &p->plane.padding[d]) = at(&a[ARG_convolution_padding], k);
        *(d < 0 ? &p->dilation : &p->plane.dilation[d]) = at(&a[ARG_convolution_dilation], k);
    }
    p->plane.groups = a[ARG_convolution_groups].v.scalar.i;
}

/* A 1-D image [N,C,L] (or weight) as [N,C,1,L]; other images as they are. */
static struct eng_view as_image(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    if (t->ndim >= 4)
        return v;
    v.ndim = 4;
    v.sizes[3] = v.sizes[2];
    v.strides[3] = v.strides[2];
    v.sizes[2] = 1;
    v.strides[2] = v.sizes[3] * v.strides[3];
    return v;
}

static bool check_shapes(struct eng_op_call *c, const struct eng_tensor *x,
                         const struct eng_tensor *w, const struct eng_tensor *bias, int64_t groups,
                         bool transposed)
{
    int64_t in = transposed ? w->sizes[0] : w->sizes[1] * groups;
    int64_t out = transposed ? w->sizes[1] * groups : w->sizes[0];
    char tx[ENG_SHAPE_TEXT_MAX], tw[ENG_SHAPE_TEXT_MAX];

    if (x->sizes[1] != in || groups < 1 || (!transposed && w->sizes[0] % groups)) {
        eng_fail(c->e, VS_E_SHAPE,
                 "convolution: given groups=%" PRId64
                 ", weight of size %s expects an input with %" PRId64 " channels, but got %s",
                 groups, eng_shape_text(w, tw), in, eng_shape_text(x, tx));
        return false;
    }
    if (bias && (bias->ndim != 1 || bias->sizes[0] != out)) {
        eng_fail(c->e, VS_E_SHAPE,
                 "convolution: weight of size %s expects a bias of %" PRId64 " elements, got %s",
                 eng_shape_text(w, tw), out, eng_shape_text(bias, tx));
        return false;
    }
    if (x->dtype != w->dtype) {
        eng_fail(c->e, VS_E_TYPE,
                 "convolution: input type (%s) and weight type (%s) should be the same",
                 vs_dtype_name((enum vs_dtype)x->dtype), vs_dtype_name((enum vs_dtype)w->dtype));
        return false;
    }
    return true;
}

/* Sizes of the result; false where the kernel is larger than the padded input. */
static bool conv_sizes(struct eng *e, const struct eng_arg *a, const struct eng_tensor *x,
                       const struct eng_tensor *w, bool transposed, int64_t *sizes)
{
    const struct eng_arg *more = &a[ARG_convolution_output_padding];

    sizes[0] = x->sizes[0];
    sizes[1] = transposed ? w->sizes[1] * a[ARG_convolution_groups].v.scalar.i : w->sizes[0];
    for (int k = 0; k < x->ndim - 2; k++) {
        int64_t stride = at(&a[ARG_convolution_stride], k);
        int64_t dilation = at(&a[ARG_convolution_dilation], k);
        int64_t padded = x->sizes[2 + k] + 2 * at(&a[ARG_convolution_padding], k);
        int64_t reach = dilation * (w->sizes[2 + k] - 1) + 1;

        if (stride < 1)
            sizes[2 + k] = 0;
        else if (transposed)
            sizes[2 + k] = (x->sizes[2 + k] - 1) * stride - (padded - x->sizes[2 + k]) + reach +
                           (more->count ? at(more, k) : 0);
        else
            sizes[2 + k] = (padded - reach) / stride + 1;
        if (stride < 1 || dilation < 1 || (!transposed && padded < reach) || sizes[2 + k] < 1) {
            char tx[ENG_SHAPE_TEXT_MAX], tw[ENG_SHAPE_TEXT_MAX];

            eng_fail(e, VS_E_SHAPE,
                     "convolution: kernel of weight %s does not fit into the padded input %s",
                     eng_shape_text(w, tw), eng_shape_text(x, tx));
            return false;
        }
    }
    return true;
}

static bool is_depthwise(const struct eng_tensor *x, const struct eng_tensor *w, int64_t groups)
{
    return groups > 1 && x->sizes[1] == groups && w->sizes[0] % x->sizes[1] == 0;
}

/* For which half-precision images PyTorch prefers cuDNN (aten/src/ATen/native/Convolution.cpp). */
static bool cudnn_is_faster(const struct eng_view *x, const struct eng_view *w, int64_t stride)
{
    int64_t batch = x->sizes[0], channels = x->sizes[1], width = x->sizes[3];
    int64_t filter = w->sizes[3];

    if (x->sizes[2] == 1 && stride == 1)
        return true;
    if (w->sizes[2] != filter || (filter != 1 && filter != 3 && filter != 5) || width < 7)
        return false;
    if (stride != 2)
        return stride == 1;
    if (batch == 1)
        return filter > 1 || width <= 28;
    if (filter == 1)
        return batch <= 16 && channels >= 128 && width <= 7;
    return channels >= 512 || (channels >= 256 && width >= 28);
}

/* Whether PyTorch runs a depthwise convolution with its native kernel; otherwise cuDNN runs it. */
static bool runs_depthwise(const struct eng_tensor *x, const struct eng_tensor *w,
                           const struct eng_conv2d *p, bool last)
{
    struct eng_view vx, vw;

    if (last || !is_depthwise(x, w, p->groups))
        return false;
    if (x->ndim == 5 || x->dtype != VS_F16 || w->dtype != VS_F16)
        return true;
    vx = as_image(x);
    vw = as_image(w);
    return p->dilation[0] != 1 || p->dilation[1] != 1 ||
           (p->stride[0] != p->stride[1] && vx.sizes[2] != 1) || vx.sizes[1] < 32 ||
           !cudnn_is_faster(&vx, &vw, p->stride[1]);
}

static bool runs_channels_last(const struct eng_tensor *x, const struct eng_tensor *w)
{
    return eng_suggests_channels_last(x) || eng_suggests_channels_last(w);
}

static struct eng_tensor *image_empty(struct eng *e, const int64_t *sizes, int ndim,
                                      enum vs_dtype dtype, bool on_host, bool channels_last)
{
    int64_t strides[VS_MAX_DIMS];

    if (!channels_last)
        return eng_empty(e, sizes, ndim, dtype, on_host);
    eng_channels_last_strides(sizes, ndim, strides);
    return eng_empty_strided(e, sizes, strides, ndim, dtype, on_host);
}

/* ---- forward ---- */

static void add_bias(struct eng_op_call *c, struct eng_tensor *out, const struct eng_tensor *bias)
{
    struct eng_view vo, vb;
    double one[4] = {1};

    if (!bias || !eng_c_computes(c))
        return;
    vo = eng_v(out);
    vb = vo;
    vb.data = eng_v(bias).data;
    vb.dtype = (enum vs_dtype)bias->dtype;
    for (int d = 0; d < out->ndim; d++)
        vb.strides[d] = d == 1 ? bias->strides[0] : 0;
    c->e->kernels->binary(ENG_B_ADD, (enum vs_dtype)out->dtype, &vo, &vb, &vo, one);
}

/* x [N,C,…], w [Co,C/g,…] (transposed: [C,Co/g,…]), bias [Co] */
void eng_f_convolution(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_convolution_input),
                      *w = eng_c_tensor(c, ARG_convolution_weight),
                      *bias = eng_c_tensor(c, ARG_convolution_bias);
    bool transposed = eng_c_bool(c, ARG_convolution_transposed);
    bool last = runs_channels_last(x, w);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *dx, *dw;
    struct eng_conv3d p;

    if (!check_shapes(c, x, w, bias, eng_c_int(c, ARG_convolution_groups), transposed) ||
        !conv_sizes(e, c->a, x, w, transposed, sizes))
        return;
    conv_params(c->a, x->ndim - 2, &p);
    dx = last ? eng_to_channels_last(e, x) : eng_contiguous(e, x);
    out = image_empty(e, sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host, last);
    dw = last ? eng_to_channels_last(e, w) : eng_contiguous(e, w);
    if (out && dx && dw && eng_runs(e)) {
        struct eng_view vx = as_image(dx), vw = as_image(dw), vo = as_image(out), vb;

        if (transposed) {
            eng_conv_backward_input(e, out->storage->on_host, &vx, &vw, &vo, &p);
            add_bias(c, out, bias);
        } else {
            if (bias)
                vb = eng_v(bias);
            eng_conv_forward(e, out->storage->on_host, &vx, &vw, bias ? &vb : NULL, &vo, &p);
        }
    }
    eng_unref(dw);
    eng_unref(dx);
    eng_c_give(c, out);
}

/* ---- backward ---- */

struct conv_bw {
    struct eng *e;
    /* in the layout used by the convolution, but not always dense: each gradient makes its own dense copy */
    struct eng_tensor *g;
    struct eng_tensor *x, *w;
    bool transposed, last, depthwise;
    struct eng_conv3d p;
};

static struct eng_tensor *dense_in(const struct conv_bw *k, struct eng_tensor *t)
{
    return k->last ? eng_to_channels_last(k->e, t) : eng_contiguous(k->e, t);
}

static struct eng_tensor *input_gradient(const struct conv_bw *k)
{
    struct eng *e = k->e;
    struct eng_tensor *gx = image_empty(e, k->x->sizes, k->x->ndim, (enum vs_dtype)k->g->dtype,
                                        k->g->storage->on_host, k->last);
    struct eng_tensor *w = dense_in(k, k->w);
    struct eng_tensor *g = dense_in(k, k->g);

    if (gx && w && g && eng_runs(e)) {
        struct eng_view vg = as_image(g), vw = as_image(w), vo = as_image(gx);
        bool on_host = gx->storage->on_host;

        if (k->transposed)
            eng_conv_forward(e, on_host, &vg, &vw, NULL, &vo, &k->p);
        else
            eng_conv_backward_input(e, on_host, &vg, &vw, &vo, &k->p);
    }
    eng_unref(g);
    eng_unref(w);
    return gx;
}

static struct eng_tensor *weight_gradient(const struct conv_bw *k)
{
    struct eng *e = k->e;
    struct eng_tensor *g = dense_in(k, k->g);
    struct eng_tensor *x = dense_in(k, k->x);
    struct eng_tensor *gw = image_empty(e, k->w->sizes, k->w->ndim, (enum vs_dtype)k->g->dtype,
                                        k->g->storage->on_host, k->last);

    if (gw && g && x && eng_runs(e)) {
        struct eng_view vg = as_image(g), vx = as_image(x), vo = as_image(gw);
        bool on_host = gw->storage->on_host;

        if (k->transposed)
            eng_conv_backward_weight(e, on_host, &vx, &vg, &vo, &k->p);
        else
            eng_conv_backward_weight(e, on_host, &vg, &vx, &vo, &k->p);
    }
    eng_unref(x);
    eng_unref(g);
    return gw;
}

/*
 * The bias's gradient is the op sum: under autocast it is computed in float32, and converted to the bias's dtype when
 * gradients are checked.
 */
static struct eng_tensor *bias_gradient(const struct conv_bw *k)
{
    int64_t dims[VS_MAX_DIMS];
    int count = 0;

    for (int d = 0; d < k->g->ndim; d++)
        if (d != 1)
            dims[count++] = d;
    return eng_sum_dims(k->e, k->g, dims, count, false);
}

/* A 1-D input is tested as the image [N,C,1,L] that the convolution runs on. */
static bool lies_channels_last(const struct eng_tensor *t)
{
    struct eng_tensor image = *t;

    if (t->ndim != 3)
        return eng_suggests_channels_last(t);
    image.ndim = 4;
    image.sizes[2] = 1;
    image.sizes[3] = t->sizes[2];
    image.strides[2] = t->sizes[2] * t->strides[2];
    image.strides[3] = t->strides[2];
    return eng_suggests_channels_last(&image);
}

/*
 * Copies the gradient to the layout used by the convolution if it has the other one; a transposed or depthwise
 * convolution makes one dense copy for both gradients.
 */
static struct eng_tensor *gradient_in_layout(const struct conv_bw *k, struct eng_tensor *g)
{
    if (k->last && !eng_suggests_channels_last(g))
        return eng_to_channels_last(k->e, g);
    if (k->transposed || k->depthwise || (!k->last && lies_channels_last(g)))
        return dense_in(k, g);
    return eng_ref(g);
}

/*
 * PyTorch's own kernel for depthwise convolutions of 5-D images: both gradients are allocated before the copies of what
 * is not row-major.
 */
static void depthwise3d(struct eng_bw *b, struct conv_bw *k)
{
    struct eng *e = b->e;
    bool want_w = eng_b_needs(b, ARG_convolution_weight), on_host = k->g->storage->on_host;
    struct eng_tensor *gx = NULL, *gw = NULL, *x, *g;
    struct eng_view vx, vg, vo, vw = eng_v(k->w);

    if (eng_b_needs(b, ARG_convolution_input))
        gx = eng_empty(e, k->x->sizes, 5, (enum vs_dtype)k->g->dtype, on_host);
    if (want_w)
        gw = eng_empty(e, k->w->sizes, 5, (enum vs_dtype)k->g->dtype, on_host);
    g = eng_contiguous(e, k->g);
    x = want_w ? eng_contiguous(e, k->x) : eng_ref(k->x);
    if (g && x && eng_runs(e)) {
        vx = eng_v(x);
        vg = eng_v(g);
        if (gx) {
            vo = eng_v(gx);
            eng_conv_backward_input(e, on_host, &vg, &vw, &vo, &k->p);
        }
        if (gw) {
            vo = eng_v(gw);
            eng_conv_backward_weight(e, on_host, &vg, &vx, &vo, &k->p);
        }
    }
    eng_unref(x);
    eng_b_give(b, ARG_convolution_input, gx);
    eng_b_give(b, ARG_convolution_weight, gw);
    if (b->a[ARG_convolution_bias].kind == ENG_A_TENSOR && eng_b_needs(b, ARG_convolution_bias))
        eng_b_give(b, ARG_convolution_bias, bias_gradient(k));
    eng_unref(g);
}

/* saved: input, weight */
void eng_b_convolution(struct eng_bw *b)
{
    struct conv_bw k = {.e = b->e,
                        .x = b->saved[SAVED_convolution_input],
                        .w = b->saved[SAVED_convolution_weight],
                        .transposed = b->a[ARG_convolution_transposed].v.flag};
    struct eng_tensor *x, *g;

    if (!k.x || !k.w)
        return;
    k.last = runs_channels_last(k.x, k.w);
    conv_params(b->a, k.x->ndim - 2, &k.p);
    k.depthwise = !k.transposed && runs_depthwise(k.x, k.w, &k.p.plane, k.last);
    if (k.depthwise && k.x->ndim == 5) {
        k.g = b->g[0];
        depthwise3d(b, &k);
        return;
    }
    /* the gradient of the input needs only its shape; a depthwise convolution copies it for the weight's gradient */
    if (k.x->ndim >= 4 && (k.depthwise || !eng_b_needs(b, ARG_convolution_weight)))
        x = eng_ref(k.x);
    else
        x = dense_in(&k, k.x);
    g = gradient_in_layout(&k, b->g[0]);
    if (x && g) {
        k.x = x;
        k.g = g;
        if (k.depthwise && eng_b_needs(b, ARG_convolution_weight))
            eng_b_give(b, ARG_convolution_weight, weight_gradient(&k));
        if (eng_b_needs(b, ARG_convolution_input))
            eng_b_give(b, ARG_convolution_input, input_gradient(&k));
        if (!k.depthwise && eng_b_needs(b, ARG_convolution_weight))
            eng_b_give(b, ARG_convolution_weight, weight_gradient(&k));
    }
    eng_unref(g);
    if (k.x->ndim >= 4) /* a copy of a 1-D image is kept until the end */
        eng_slot_set(&x, NULL);
    /* the bias's gradient is summed from the incoming gradient, not from its copy */
    k.g = b->g[0];
    if (b->a[ARG_convolution_bias].kind == ENG_A_TENSOR && eng_b_needs(b, ARG_convolution_bias))
        eng_b_give(b, ARG_convolution_bias, bias_gradient(&k));
    eng_unref(x);
}
