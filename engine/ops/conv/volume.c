/*
 * engine/ops/conv/volume.c - see volume.h.
 *
 * Must not know:  what is pooled or resampled.
 */
#include "engine/ops/conv/volume.h"

#include <string.h>

int64_t eng_volume_count(const struct eng_tensor *t)
{
    return t->ndim == 5 ? t->sizes[0] : 1;
}

struct eng_view eng_volume_image(const struct eng_tensor *t, int64_t n)
{
    struct eng_view v = eng_v(t);

    if (t->ndim == 4)
        return v;
    v.ndim = 4;
    v.data = (char *)v.data + n * v.strides[0] * (int64_t)vs_dtype_bytes(v.dtype);
    memmove(v.sizes, v.sizes + 1, 4 * sizeof(*v.sizes));
    memmove(v.strides, v.strides + 1, 4 * sizeof(*v.strides));
    return v;
}

struct eng_view eng_volume_columns(const struct eng_view *image)
{
    struct eng_view v = *image;

    v.sizes[0] = 1;
    v.strides[0] = 0;
    memcpy(v.sizes + 1, image->sizes, 2 * sizeof(*v.sizes));
    memcpy(v.strides + 1, image->strides, 2 * sizeof(*v.strides));
    v.sizes[3] = image->sizes[2] * image->sizes[3];
    v.strides[3] = image->sizes[3] > 1 ? image->strides[3] : image->strides[2];
    return v;
}

/* Scratch for an image whose planes have been processed and its columns not: [C,D,Ho,Wo]. */
static struct eng_host_scratch half_done(const struct eng *e, const struct eng_view *big,
                                         const struct eng_view *small)
{
    int64_t sizes[4] = {big->sizes[0], big->sizes[1], small->sizes[2], small->sizes[3]};

    return eng_host_scratch_get(e, sizes, 4, eng_volume_sum_dtype(big->dtype));
}

void eng_volume_forward(const struct eng *e, const struct eng_tensor *x,
                        const struct eng_tensor *out, eng_volume_step *step, const void *how)
{
    if (!eng_numel(x) || !eng_numel(out))
        return;
    for (int64_t n = 0; n < eng_volume_count(x); n++) {
        struct eng_view vx = eng_volume_image(x, n), vo = eng_volume_image(out, n);
        struct eng_host_scratch half = half_done(e, &vx, &vo);
        struct eng_view from = eng_volume_columns(&half.v), to = eng_volume_columns(&vo);

        step(e, how, false, &vx, &half.v);
        step(e, how, true, &from, &to);
        eng_host_scratch_put(e, &half);
    }
}

void eng_volume_backward(const struct eng *e, const struct eng_tensor *g,
                         const struct eng_tensor *gx, eng_volume_step *step, const void *how)
{
    if (!eng_numel(gx) || !eng_numel(g))
        return;
    for (int64_t n = 0; n < eng_volume_count(gx); n++) {
        struct eng_view vx = eng_volume_image(gx, n), vg = eng_volume_image(g, n);
        struct eng_host_scratch half = half_done(e, &vx, &vg);
        struct eng_view to = eng_volume_columns(&half.v), from = eng_volume_columns(&vg);

        step(e, how, true, &to, &from);
        step(e, how, false, &vx, &half.v);
        eng_host_scratch_put(e, &half);
    }
}
