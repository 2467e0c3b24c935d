/*
 * engine/ops/conv/volume.h - images of three dimensions, computed by kernels for two.
 *
 * For:            conv3d.c, pool3d.c, upsample3d.c, edge_pad.c.
 * Must not know:  what is pooled or resampled.
 * Invariant:      between its two steps a value is float or double.
 *
 * Pooling and resampling are separable: first each plane of the image, then each column along the depth, where a plane
 * is one row.
 */
#ifndef ENG_OPS_VOLUME_H
#define ENG_OPS_VOLUME_H

#include "engine/core/op_internal.h"
#include "engine/ops/host_scratch.h"

/* The dtype of sums over values of `dtype`. */
static inline enum vs_dtype eng_volume_sum_dtype(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? VS_F64 : VS_F32;
}

/* Number of images in t, [N,C,D,H,W] or [C,D,H,W]; and image n as [C,D,H,W]. */
int64_t eng_volume_count(const struct eng_tensor *t);
struct eng_view eng_volume_image(const struct eng_tensor *t, int64_t n);
/* [C,D,H,W] as its columns [1,C,D,H*W]; H and W can be merged. */
struct eng_view eng_volume_columns(const struct eng_view *image);

/*
 * One step of a separable function between `big` [A,B,H,W], which is nearer to the input, and `small`: forward computes
 * small from big, backward big from small. along_depth: the step of the columns.
 */
typedef void eng_volume_step(const struct eng *e, const void *how, bool along_depth,
                             const struct eng_view *big, const struct eng_view *small);
/* x and out (or their gradients) have the same number of images; out is dense in either layout. */
void eng_volume_forward(const struct eng *e, const struct eng_tensor *x,
                        const struct eng_tensor *out, eng_volume_step *step, const void *how);
void eng_volume_backward(const struct eng *e, const struct eng_tensor *g,
                         const struct eng_tensor *gx, eng_volume_step *step, const void *how);

#endif
