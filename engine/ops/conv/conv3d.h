/*
 * engine/ops/conv/conv3d.h - the values of a convolution of 4-D or 5-D images.
 *
 * For:            conv.c, which decides shapes, layouts and what is allocated.
 * Must not know:  tensors, autograd.
 * Invariant:      a 5-D image is computed as 2-D convolutions, one for each output position along its depth: the slices
 *                 of the input under the kernel's depth are further channels. Scratch is host memory of the kernels, so
 *                 that on a GPU these convolutions are computed on the host.
 */
#ifndef ENG_OPS_CONV3D_H
#define ENG_OPS_CONV3D_H

#include "engine/core/engine_internal.h"

/* Geometry: of the depth, and of the planes. For 4-D images only `plane` counts. */
struct eng_conv3d {
    int64_t stride;
    int64_t padding;
    int64_t dilation;
    struct eng_conv2d plane;
};

/*
 * x [N,C,H,W] or [N,C,D,H,W], w [Co,C/groups,kh,kw] or [Co,C/groups,kd,kh,kw], bias [Co] or NULL; strides as the
 * kernels of engine/device/kernels.h take them. on_host: the result is on the host. Called where eng_runs(e). For 5-D
 * images no workspace is allocated: its location is noted as unmeasured.
 */
void eng_conv_forward(struct eng *e, bool on_host, const struct eng_view *x,
                      const struct eng_view *w, const struct eng_view *bias,
                      const struct eng_view *out, const struct eng_conv3d *p);
/* Also a transposed convolution's forward, without bias. */
void eng_conv_backward_input(struct eng *e, bool on_host, const struct eng_view *g,
                             const struct eng_view *w, const struct eng_view *gx,
                             const struct eng_conv3d *p);
void eng_conv_backward_weight(struct eng *e, bool on_host, const struct eng_view *g,
                              const struct eng_view *x, const struct eng_view *gw,
                              const struct eng_conv3d *p);

#endif
