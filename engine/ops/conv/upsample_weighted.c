/*
 * engine/ops/conv/upsample_weighted.c - bicubic resampling of images, and resampling with antialias=True.
 *
 * Must not know:  models.
 * Invariant:      resampling is linear and separable: two products with small matrices of weights, not counted as
 *                 device memory; the gradient multiplies by both transposed.
 */
#include <math.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

static double near_weight(double x) /* |x| <= 1 */
{
    return (1.25 * x - 2.25) * x * x + 1;
}

static double far_weight(double x) /* 1 < |x| < 2 */
{
    return ((-0.75 * x + 3.75) * x - 6) * x + 3;
}

/* From an output's index to its place in the input: `factor` is what the user gave, 0 if a size. */
static double scale_of(int64_t out, int64_t in, bool align_corners, double factor)
{
    if (align_corners)
        return out > 1 ? (double)(in - 1) / (double)(out - 1) : 0;
    return factor > 0 ? 1.0 / factor : (double)in / (double)out;
}

/* weights[out][in], row-major doubles: Keys' kernel with a = -0.75, borders repeated */
static void fill_bicubic(double *weights, int64_t out, int64_t in, bool align_corners, double scale)
{
    for (int64_t o = 0; o < out; o++) {
        double place = align_corners ? scale * (double)o : scale * ((double)o + 0.5) - 0.5;
        double floor_place = floor(place), t = place - floor_place;
        double w[4] = {far_weight(t + 1), near_weight(t), near_weight(1 - t), far_weight(2 - t)};

        for (int k = 0; k < 4; k++) {
            int64_t i = (int64_t)floor_place - 1 + k;

            i = i < 0 ? 0 : i >= in ? in - 1 : i;
            weights[o * in + i] += w[k];
        }
    }
}

/* A triangle, or Keys' kernel with a = -0.5. */
static double smooth_weight(double x, bool bicubic)
{
    x = fabs(x);
    if (!bicubic)
        return x < 1 ? 1 - x : 0;
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* antialias=True: the kernel is as much wider as the result is smaller, and is cut off at the borders. */
static void fill_smooth(double *weights, int64_t out, int64_t in, double scale, bool bicubic)
{
    double wider = scale > 1 ? scale : 1, support = (bicubic ? 2 : 1) * wider;

    for (int64_t o = 0; o < out; o++) {
        double center = scale * ((double)o + 0.5), total = 0;
        int64_t from = (int64_t)(center - support + 0.5), to = (int64_t)(center + support + 0.5);

        from = from < 0 ? 0 : from;
        to = to > in ? in : to;
        for (int64_t i = from; i < to; i++) {
            double w = smooth_weight(((double)i - center + 0.5) / wider, bicubic);

            weights[o * in + i] = w;
            total += w;
        }
        for (int64_t i = from; i < to && total != 0; i++)
            weights[o * in + i] /= total;
    }
}

struct options {
    enum eng_op_id op;
    bool align_corners;
    double scale_h, scale_w;
};

static void fill_weights(double *weights, int64_t out, int64_t in, const struct options *o,
                         double factor)
{
    double scale = scale_of(out, in, o->align_corners, factor);

    memset(weights, 0, sizeof(*weights) * (size_t)(out * in));
    if (o->op == ENG_OP_upsample_bicubic2d)
        fill_bicubic(weights, out, in, o->align_corners, scale);
    else
        fill_smooth(weights, out, in, scale, o->op == ENG_OP_upsample_bicubic2d_aa);
}

/* A dense matrix (or stack of them) in memory of the kernels. */
struct scratch {
    struct eng_view v;
    uint64_t bytes;
};

static struct scratch scratch_get(const struct eng *e, int64_t n, int64_t rows, int64_t cols,
                                  enum vs_dtype dtype)
{
    struct scratch s = {.v = {.dtype = dtype, .ndim = 3, .sizes = {n, rows, cols}}};

    eng_contiguous_strides(s.v.sizes, 3, s.v.strides);
    s.bytes = (uint64_t)(n * rows * cols) * vs_dtype_bytes(dtype);
    s.v.data = e->kernels->mem_get(s.bytes);
    return s;
}

/* The weights as a [1, out, in] matrix of `dtype`. */
static struct scratch weights_get(const struct eng *e, int64_t out, int64_t in,
                                  const struct options *o, double factor, enum vs_dtype dtype)
{
    struct scratch wide = scratch_get(e, 1, out, in, VS_F64);
    struct scratch s = scratch_get(e, 1, out, in, dtype);

    fill_weights(wide.v.data, out, in, o, factor);
    e->kernels->copy(&wide.v, &s.v);
    e->kernels->mem_put(wide.v.data, wide.bytes);
    return s;
}

/* [1, r, c] as n matrices [n, r, c], transposed if requested. */
static struct eng_view matrix(const struct eng_view *v, int64_t n, bool transposed)
{
    struct eng_view m = *v;

    m.sizes[0] = n;
    m.strides[0] = 0;
    if (transposed) {
        m.sizes[1] = v->sizes[2];
        m.sizes[2] = v->sizes[1];
        m.strides[1] = v->strides[2];
        m.strides[2] = v->strides[1];
    }
    return m;
}

/* Dense [N,C,H,W] as N*C matrices. */
static struct eng_view planes(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    v.ndim = 3;
    v.sizes[0] = t->sizes[0] * t->sizes[1];
    v.strides[0] = t->sizes[2] * t->sizes[3];
    memmove(v.sizes + 1, t->sizes + 2, 2 * sizeof(int64_t));
    memmove(v.strides + 1, t->strides + 2, 2 * sizeof(int64_t));
    return v;
}

/* big = Wh small Ww^T, or small = Wh^T big Ww. Both dense. */
static void resample(const struct eng *e, struct eng_tensor *small, struct eng_tensor *big,
                     const struct options *o, bool forward)
{
    struct eng_view vs = planes(small), vb = planes(big);
    enum vs_dtype dtype = vs.dtype;
    int64_t n = vs.sizes[0];
    struct scratch wh = weights_get(e, vb.sizes[1], vs.sizes[1], o, o->scale_h, dtype);
    struct scratch ww = weights_get(e, vb.sizes[2], vs.sizes[2], o, o->scale_w, dtype);
    struct scratch half = scratch_get(e, n, vs.sizes[1], vb.sizes[2], dtype);
    struct eng_view down = matrix(&wh.v, n, !forward), across = matrix(&ww.v, n, forward);

    if (forward) {
        e->kernels->matmul(&vs, &across, &half.v, 1, 0);
        e->kernels->matmul(&down, &half.v, &vb, 1, 0);
    } else {
        e->kernels->matmul(&down, &vb, &half.v, 1, 0);
        e->kernels->matmul(&half.v, &across, &vs, 1, 0);
    }
    e->kernels->mem_put(half.v.data, half.bytes);
    e->kernels->mem_put(ww.v.data, ww.bytes);
    e->kernels->mem_put(wh.v.data, wh.bytes);
}

/* a: the arguments of upsample_bicubic2d, or of a row with antialias, which has the same ones. */
static struct options options_of(enum eng_op_id op, const struct eng_arg *a)
{
    const struct eng_arg *h = &a[ARG_upsample_bicubic2d_scales_h];
    const struct eng_arg *w = &a[ARG_upsample_bicubic2d_scales_w];

    return (struct options){op, a[ARG_upsample_bicubic2d_align_corners].v.flag,
                            h->kind == ENG_A_SCALAR ? h->v.scalar.f : 0,
                            w->kind == ENG_A_SCALAR ? w->v.scalar.f : 0};
}

/* The result's sizes; false: the input is no batch of images. */
static bool sizes_of(struct eng_op_call *c, const struct eng_tensor *x, int64_t *sizes)
{
    const struct eng_arg *size = &c->a[ARG_upsample_bicubic2d_output_size];

    if (x->ndim != 4) {
        eng_fail(c->e, VS_E_SHAPE, "interpolate: expected a 4-D input, got %d-D", x->ndim);
        return false;
    }
    memcpy(sizes, x->sizes, 4 * sizeof(int64_t));
    sizes[2] = size->v.ints[0];
    sizes[3] = size->v.ints[size->count > 1 ? 1 : 0];
    return true;
}

/* (input, output_size, align_corners, scales_h, scales_w) */
void eng_f_upsample_bicubic(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_upsample_bicubic2d_input), *out;
    struct options o = options_of(c->id, c->a);
    int64_t sizes[4];

    if (!sizes_of(c, x, sizes))
        return;
    out = eng_c_empty(c, sizes, 4, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c) && eng_numel(x)) {
        struct eng_tensor *dense = eng_empty(c->e, x->sizes, 4, (enum vs_dtype)x->dtype, true);

        if (dense) { /* the products want row-major; the device reads any strides */
            struct eng_view from = eng_v(x), to = eng_v(dense);

            c->e->kernels->copy(&from, &to);
            resample(c->e, dense, out, &o, true);
        }
        eng_unref(dense);
    }
    eng_c_give(c, out);
}

void eng_b_upsample_bicubic(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_upsample_bicubic2d_input, 0);
    struct eng_tensor *gx =
        eng_empty(b->e, edge->sizes, 4, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    struct eng_tensor *g = eng_contiguous(b->e, b->g[0]);
    struct options o = options_of(b->node->op, b->a);

    if (gx && g && b->e->kernels && eng_numel(gx))
        resample(b->e, gx, g, &o, false);
    eng_unref(g);
    eng_b_give(b, ARG_upsample_bicubic2d_input, gx);
}

/* The result is channels-last if x is, and then computed in a row-major copy of it. */
void eng_f_upsample_smooth(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_upsample_bicubic2d_input), *row_major = NULL;
    struct options o = options_of(c->id, c->a);
    struct eng_tensor *out, *dx;
    int64_t sizes[4];

    if (!sizes_of(c, x, sizes))
        return;
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    if (eng_suggests_channels_last(x))
        row_major = eng_empty(c->e, sizes, 4, (enum vs_dtype)x->dtype, x->storage->on_host);
    dx = eng_contiguous(c->e, x);
    if (out && dx && eng_c_computes(c) && eng_numel(x)) {
        resample(c->e, dx, row_major ? row_major : out, &o, true);
        if (row_major) {
            struct eng_view from = eng_v(row_major), to = eng_v(out);

            c->e->kernels->copy(&from, &to);
        }
    }
    eng_unref(dx);
    eng_unref(row_major);
    eng_c_give(c, out);
}

/* gx has g's layout if bilinear, and is row-major if bicubic. */
void eng_b_upsample_smooth(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_upsample_bicubic2d_input, 0);
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    enum vs_dtype dtype = (enum vs_dtype)b->g[0]->dtype;
    struct eng_tensor *gx = c.id == ENG_OP_upsample_bilinear2d_aa
                                ? eng_c_empty_suggested(&c, b->g[0], edge->sizes, dtype)
                                : eng_empty(b->e, edge->sizes, 4, dtype, b->g[0]->storage->on_host);
    struct eng_tensor *g = eng_contiguous(b->e, b->g[0]);
    struct options o = options_of(b->node->op, b->a);

    if (gx && g && b->e->kernels && eng_numel(gx)) {
        struct eng_tensor *dense = eng_empty(b->e, edge->sizes, 4, dtype, true);

        if (dense) { /* the products write row-major */
            struct eng_view from = eng_v(dense), to = eng_v(gx);

            resample(b->e, dense, g, &o, false);
            b->e->kernels->copy(&from, &to);
        }
        eng_unref(dense);
    }
    eng_unref(g);
    eng_b_give(b, ARG_upsample_bicubic2d_input, gx);
}
