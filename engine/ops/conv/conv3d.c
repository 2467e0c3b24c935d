/*
 * engine/ops/conv/conv3d.c - see conv3d.h.
 *
 * Must not know:  models.
 * Invariant:      gradients are summed over the depth in float or double, and rounded once.
 */
#include "engine/ops/conv/conv3d.h"

#include "engine/device/workspace_sizes.h"
#include "engine/ops/conv/volume.h"
#include "engine/workspace/workspace.h"

static void fill_zero(const struct eng *e, const struct eng_view *v)
{
    e->kernels->fill(v, (struct eng_scalar){0});
}

static void add_into(const struct eng *e, const struct eng_view *sum, const struct eng_view *more)
{
    static const double ONE[4] = {1};

    e->kernels->binary(ENG_B_ADD, sum->dtype, sum, more, sum, ONE);
}

/* ---- parts of images and weights ---- */

/* The plane at depth d of [N,C,D,H,W], as [N,C,H,W]. */
static struct eng_view plane_at(const struct eng_view *v, int64_t d)
{
    struct eng_view out = *v;

    out.ndim = 4;
    for (int k = 2; k < 4; k++) {
        out.sizes[k] = v->sizes[k + 1];
        out.strides[k] = v->strides[k + 1];
    }
    out.data = (char *)v->data + d * v->strides[2] * (int64_t)vs_dtype_bytes(v->dtype);
    return out;
}

/* A dense [A,B,K,H,W] as [A,B*K,H,W]. */
static struct eng_view deep_channels(const struct eng_view *v)
{
    struct eng_view out = plane_at(v, 0);

    out.sizes[1] = v->sizes[1] * v->sizes[2];
    out.strides[1] = v->strides[2];
    return out;
}

/* The input's depth under element k of the kernel at output depth d; false: in the padding. */
static bool depth_under(const struct eng_conv3d *p, const struct eng_view *x, int64_t d, int64_t k,
                        int64_t *at)
{
    *at = d * p->stride - p->padding + k * p->dilation;
    return *at >= 0 && *at < x->sizes[2];
}

/* The slices of x under the kernel at output depth d, into [N,C,kd,H,W]. */
static void gather(const struct eng *e, const struct eng_view *x, const struct eng_view *slices,
                   int64_t d, const struct eng_conv3d *p)
{
    for (int64_t k = 0; k < slices->sizes[2]; k++) {
        struct eng_view to = plane_at(slices, k);
        int64_t at;

        if (depth_under(p, x, d, k, &at)) {
            struct eng_view from = plane_at(x, at);

            e->kernels->copy(&from, &to);
        } else {
            fill_zero(e, &to);
        }
    }
}

/* The reverse: adds the slices to the places of x that they were taken from. */
static void scatter(const struct eng *e, const struct eng_view *slices, const struct eng_view *sum,
                    int64_t d, const struct eng_conv3d *p)
{
    for (int64_t k = 0; k < slices->sizes[2]; k++) {
        struct eng_view from = plane_at(slices, k);
        int64_t at;

        if (depth_under(p, sum, d, k, &at)) {
            struct eng_view to = plane_at(sum, at);

            add_into(e, &to, &from);
        }
    }
}

/* Scratch for the slices of an image [N,C,D,H,W] under a kernel of depth `depth`. */
static struct eng_host_scratch slices_get(const struct eng *e, const struct eng_view *x,
                                          int64_t depth, enum vs_dtype dtype)
{
    int64_t sizes[5] = {x->sizes[0], x->sizes[1], depth, x->sizes[3], x->sizes[4]};

    return eng_host_scratch_get(e, sizes, 5, dtype);
}

/* ---- three dimensions ---- */

static void forward(const struct eng *e, const struct eng_view *x, const struct eng_view *w,
                    const struct eng_view *bias, const struct eng_view *out,
                    const struct eng_conv3d *p)
{
    struct eng_view first = plane_at(out, 0);
    struct eng_host_scratch weight = eng_host_scratch_copy(e, w, w->dtype);
    struct eng_host_scratch slices = slices_get(e, x, w->sizes[2], x->dtype);
    struct eng_host_scratch plane = eng_host_scratch_get(e, first.sizes, 4, out->dtype);
    struct eng_host_scratch shift = bias ? eng_host_scratch_copy(e, bias, bias->dtype) : plane;
    struct eng_view vw = deep_channels(&weight.v), vx = deep_channels(&slices.v);

    for (int64_t d = 0; d < out->sizes[2]; d++) {
        struct eng_view vo = plane_at(out, d);

        gather(e, x, &slices.v, d, p);
        e->kernels->conv2d(&vx, &vw, bias ? &shift.v : NULL, &plane.v, &p->plane);
        e->kernels->copy(&plane.v, &vo);
    }
    if (bias)
        eng_host_scratch_put(e, &shift);
    eng_host_scratch_put(e, &plane);
    eng_host_scratch_put(e, &slices);
    eng_host_scratch_put(e, &weight);
}

static void backward_input(const struct eng *e, const struct eng_view *g, const struct eng_view *w,
                           const struct eng_view *gx, const struct eng_conv3d *p)
{
    enum vs_dtype dtype = eng_volume_sum_dtype(gx->dtype);
    struct eng_host_scratch weight = eng_host_scratch_copy(e, w, dtype);
    struct eng_host_scratch slices = slices_get(e, gx, w->sizes[2], dtype);
    struct eng_host_scratch sum = eng_host_scratch_get(e, gx->sizes, 5, dtype);
    struct eng_view vw = deep_channels(&weight.v), vx = deep_channels(&slices.v);

    fill_zero(e, &sum.v);
    for (int64_t d = 0; d < g->sizes[2]; d++) {
        struct eng_view vg = plane_at(g, d);
        struct eng_host_scratch plane = eng_host_scratch_copy(e, &vg, dtype);

        e->kernels->conv2d_backward_input(&plane.v, &vw, &vx, &p->plane);
        scatter(e, &slices.v, &sum.v, d, p);
        eng_host_scratch_put(e, &plane);
    }
    e->kernels->copy(&sum.v, gx);
    eng_host_scratch_put(e, &sum);
    eng_host_scratch_put(e, &slices);
    eng_host_scratch_put(e, &weight);
}

static void backward_weight(const struct eng *e, const struct eng_view *g, const struct eng_view *x,
                            const struct eng_view *gw, const struct eng_conv3d *p)
{
    enum vs_dtype dtype = eng_volume_sum_dtype(gw->dtype);
    struct eng_host_scratch slices = slices_get(e, x, gw->sizes[2], dtype);
    struct eng_host_scratch part = eng_host_scratch_get(e, gw->sizes, 5, dtype);
    struct eng_host_scratch sum = eng_host_scratch_get(e, gw->sizes, 5, dtype);
    struct eng_view vx = deep_channels(&slices.v), vp = deep_channels(&part.v);

    fill_zero(e, &sum.v);
    for (int64_t d = 0; d < g->sizes[2]; d++) {
        struct eng_view vg = plane_at(g, d);
        struct eng_host_scratch plane = eng_host_scratch_copy(e, &vg, dtype);

        gather(e, x, &slices.v, d, p);
        e->kernels->conv2d_backward_weight(&plane.v, &vx, &vp, &p->plane);
        add_into(e, &sum.v, &part.v);
        eng_host_scratch_put(e, &plane);
    }
    e->kernels->copy(&sum.v, gw);
    eng_host_scratch_put(e, &sum);
    eng_host_scratch_put(e, &part);
    eng_host_scratch_put(e, &slices);
}

/* ---- either ---- */

/* Whether there are values to compute. cuDNN's workspace for three dimensions is not measured. */
static bool computes(struct eng *e, bool on_host)
{
    if (!on_host)
        eng_workspace_unmeasured(e);
    return e->kernels != NULL;
}

void eng_conv_forward(struct eng *e, bool on_host, const struct eng_view *x,
                      const struct eng_view *w, const struct eng_view *bias,
                      const struct eng_view *out, const struct eng_conv3d *p)
{
    if (x->ndim == 4)
        eng_run_conv2d(e, on_host, x, w, bias, out, &p->plane);
    else if (computes(e, on_host) && eng_workspace_numel(out))
        forward(e, x, w, bias, out, p);
}

void eng_conv_backward_input(struct eng *e, bool on_host, const struct eng_view *g,
                             const struct eng_view *w, const struct eng_view *gx,
                             const struct eng_conv3d *p)
{
    if (g->ndim == 4)
        eng_run_conv2d_backward_input(e, on_host, g, w, gx, &p->plane);
    else if (computes(e, on_host) && eng_workspace_numel(gx))
        backward_input(e, g, w, gx, p);
}

void eng_conv_backward_weight(struct eng *e, bool on_host, const struct eng_view *g,
                              const struct eng_view *x, const struct eng_view *gw,
                              const struct eng_conv3d *p)
{
    if (g->ndim == 4)
        eng_run_conv2d_backward_weight(e, on_host, g, x, gw, &p->plane);
    else if (computes(e, on_host) && eng_workspace_numel(gw))
        backward_weight(e, g, x, gw, p);
}
