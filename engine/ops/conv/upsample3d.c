/*
 * engine/ops/conv/upsample3d.c - resampling of [N,C,D,H,W]: nearest and trilinear.
 *
 * Must not know:  models.
 * Invariant:      results have the input's layout, the gradients of `nearest` are row-major. `nearest` reads and writes
 *                 row-major copies of channels-last images, and so does the gradient of `trilinear`.
 */
#include <string.h>

#include "engine/ops/conv/volume.h"
#include "engine/ops/functions.h"

/* The arguments of a call, and its direction. */
struct resampling {
    bool is_linear, align_corners, is_backward;
    double scales[3]; /* depth, height, width; 0: not given */
};

static double scale_of(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_SCALAR ? arg->v.scalar.f : 0;
}

static struct resampling resampling_of(enum eng_op_id id, const struct eng_arg *a, bool is_backward)
{
    struct resampling r = {.is_linear = id == ENG_OP_upsample_trilinear3d,
                           .is_backward = is_backward};

    if (r.is_linear) {
        r.align_corners = a[ARG_upsample_trilinear3d_align_corners].v.flag;
        r.scales[0] = scale_of(&a[ARG_upsample_trilinear3d_scales_d]);
        r.scales[1] = scale_of(&a[ARG_upsample_trilinear3d_scales_h]);
        r.scales[2] = scale_of(&a[ARG_upsample_trilinear3d_scales_w]);
    }
    return r;
}

static void step(const struct eng *e, const void *how, bool along_depth, const struct eng_view *big,
                 const struct eng_view *small)
{
    const struct resampling *r = how;
    double down = r->scales[along_depth ? 0 : 1];
    double across = along_depth ? 0 : r->scales[2];

    if (r->is_linear && r->is_backward)
        e->kernels->upsample_bilinear2d_backward(small, big, r->align_corners, down, across);
    else if (r->is_linear)
        e->kernels->upsample_bilinear2d(big, small, r->align_corners, down, across);
    else if (r->is_backward)
        e->kernels->upsample_nearest2d_backward(small, big);
    else
        e->kernels->upsample_nearest2d(big, small);
}

/* (input, output_size, [align_corners,] scales_d, scales_h, scales_w) */
void eng_f_upsample3d(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_upsample3d_input);
    const struct eng_arg *size = &c->a[ARG_upsample3d_output_size];
    struct resampling r = resampling_of(c->id, c->a, false);
    int64_t sizes[5];
    struct eng_tensor *out, *dense, *row_major = NULL;

    if (x->ndim != 5) {
        eng_fail(c->e, VS_E_SHAPE, "interpolate: expected a 5-D input, got %d-D", x->ndim);
        return;
    }
    memcpy(sizes, x->sizes, sizeof(sizes));
    for (int k = 0; k < 3; k++)
        sizes[2 + k] = size->v.ints[size->count > 1 ? k : 0];
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    if (!r.is_linear && out && !eng_is_contiguous(out))
        row_major = eng_c_empty(c, sizes, 5, (enum vs_dtype)x->dtype, x);
    dense = r.is_linear ? eng_ref(x) : eng_contiguous(c->e, x);
    if (out && dense && eng_c_computes(c))
        eng_volume_forward(c->e, dense, out, step, &r);
    eng_unref(dense);
    eng_unref(row_major);
    eng_c_give(c, out);
}

void eng_b_upsample3d(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_upsample3d_input, 0);
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct resampling r = resampling_of(b->node->op, b->a, true);
    enum vs_dtype dtype = (enum vs_dtype)b->g[0]->dtype;
    struct eng_tensor *gx, *g, *row_major = NULL;

    if (r.is_linear)
        gx = eng_c_empty_suggested(&c, b->g[0], edge->sizes, dtype);
    else
        gx = eng_empty(b->e, edge->sizes, 5, dtype, b->g[0]->storage->on_host);
    g = eng_contiguous(b->e, b->g[0]);
    if (gx && !eng_is_contiguous(gx))
        row_major = eng_empty(b->e, edge->sizes, 5, dtype, b->g[0]->storage->on_host);
    if (gx && g && b->e->kernels && !b->e->failed)
        eng_volume_backward(b->e, g, gx, step, &r);
    eng_unref(row_major);
    eng_unref(g);
    eng_b_give(b, ARG_upsample3d_input, gx);
}
