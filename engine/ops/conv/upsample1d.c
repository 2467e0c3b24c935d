/*
 * engine/ops/conv/upsample1d.c - resampling of [N,C,L]: nearest and linear.
 *
 * Must not know:  models.
 * Invariant:      results and gradients are row-major, and inputs that are not are copied first; only linear's forward
 *                 reads any strides.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* [N,C,L] as an image of height 1. */
static struct eng_view flat_image(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    v.ndim = 4;
    v.sizes[3] = v.sizes[2];
    v.strides[3] = v.strides[2];
    v.sizes[2] = 1;
    v.strides[2] = 0;
    return v;
}

static double scale_of(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_SCALAR ? arg->v.scalar.f : 0;
}

/* (input, output_size, [align_corners,] scales) */
void eng_f_upsample1d(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_upsample1d_input);
    bool is_linear = c->id == ENG_OP_upsample_linear1d;
    int64_t sizes[3];
    struct eng_tensor *out, *dense;

    if (x->ndim != 3) {
        eng_fail(c->e, VS_E_SHAPE, "interpolate: expected a 3-D input, got %d-D", x->ndim);
        return;
    }
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[2] = c->a[ARG_upsample1d_output_size].v.ints[0];
    out = eng_c_empty(c, sizes, 3, (enum vs_dtype)x->dtype, x);
    dense = is_linear ? eng_ref(x) : eng_contiguous(c->e, x);
    if (out && dense && eng_c_computes(c)) {
        struct eng_view vx = flat_image(dense), vo = flat_image(out);

        if (is_linear)
            c->e->kernels->upsample_bilinear2d(&vx, &vo,
                                               eng_c_bool(c, ARG_upsample_linear1d_align_corners),
                                               0, scale_of(&c->a[ARG_upsample_linear1d_scales]));
        else
            c->e->kernels->upsample_nearest2d(&vx, &vo);
    }
    eng_unref(dense);
    eng_c_give(c, out);
}

void eng_b_upsample1d(struct eng_bw *b)
{
    struct eng *e = b->e;
    const struct eng_edge *edge = eng_b_edge(b, ARG_upsample1d_input, 0);
    bool is_linear = b->node->op == ENG_OP_upsample_linear1d;
    struct eng_tensor *gx = eng_empty(e, edge->sizes, edge->ndim, (enum vs_dtype)b->g[0]->dtype,
                                      b->g[0]->storage->on_host);
    struct eng_tensor *g = eng_contiguous(e, b->g[0]);

    if (gx && g && e->kernels) {
        struct eng_view vg = flat_image(g), vo = flat_image(gx);

        if (is_linear)
            e->kernels->upsample_bilinear2d_backward(
                &vg, &vo, b->a[ARG_upsample_linear1d_align_corners].v.flag, 0,
                scale_of(&b->a[ARG_upsample_linear1d_scales]));
        else
            e->kernels->upsample_nearest2d_backward(&vg, &vo);
    }
    eng_unref(g);
    eng_b_give(b, ARG_upsample1d_input, gx);
}
