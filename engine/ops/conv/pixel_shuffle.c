/*
 * engine/ops/conv/pixel_shuffle.c - channels to pixels and back: [N, C*r*r, H, W] <-> [N, C, H*r, W*r].
 *
 * Must not know:  models.
 * Invariant:      each op is the other's gradient: a single row-major copy.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* Copy between the deep and the wide form, both seen as [N, C, r, r, H, W]. */
static void move(struct eng *e, struct eng_tensor *deep, struct eng_tensor *wide, int64_t r,
                 bool to_wide)
{
    struct eng_view vd = eng_v(deep), vw = eng_v(wide);
    const int64_t *d = deep->strides, *w = wide->strides;
    int64_t sizes[] = {wide->sizes[0], wide->sizes[1], r, r, deep->sizes[2], deep->sizes[3]};
    int64_t of_deep[] = {d[0], d[1] * r * r, d[1] * r, d[1], d[2], d[3]};
    int64_t of_wide[] = {w[0], w[1], w[2], w[3], w[2] * r, w[3] * r};

    vd.ndim = vw.ndim = 6;
    memcpy(vd.sizes, sizes, sizeof(sizes));
    memcpy(vw.sizes, sizes, sizeof(sizes));
    memcpy(vd.strides, of_deep, sizeof(of_deep));
    memcpy(vw.strides, of_wide, sizeof(of_wide));
    if (to_wide)
        e->kernels->copy(&vd, &vw);
    else
        e->kernels->copy(&vw, &vd);
}

static struct eng_tensor *shuffled(struct eng *e, struct eng_tensor *x, int64_t r, bool to_wide)
{
    int64_t sizes[4] = {x->sizes[0], to_wide ? x->sizes[1] / (r * r) : x->sizes[1] * r * r,
                        to_wide ? x->sizes[2] * r : x->sizes[2] / r,
                        to_wide ? x->sizes[3] * r : x->sizes[3] / r};
    struct eng_tensor *out = eng_empty(e, sizes, 4, (enum vs_dtype)x->dtype, x->storage->on_host);

    if (out && e->kernels)
        move(e, to_wide ? x : out, to_wide ? out : x, r, to_wide);
    return out;
}

void eng_f_pixel_shuffle(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_pixel_shuffle_input);
    int64_t r = eng_c_int(c, ARG_pixel_shuffle_upscale_factor);

    if (x->ndim != 4 || r <= 0 || x->sizes[1] % (r * r)) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE,
                 "pixel_shuffle: expects a 4-D input whose channels are divisible by %" PRId64
                 ", got %s",
                 r * r, eng_shape_text(x, shape));
        return;
    }
    eng_c_give(c, shuffled(c->e, x, r, true));
}

void eng_b_pixel_shuffle(struct eng_bw *b)
{
    eng_b_give(b, ARG_pixel_shuffle_input,
               shuffled(b->e, b->g[0], b->a[ARG_pixel_shuffle_upscale_factor].v.scalar.i, false));
}

void eng_f_pixel_unshuffle(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_pixel_unshuffle_input);
    int64_t r = eng_c_int(c, ARG_pixel_unshuffle_downscale_factor);

    if (x->ndim != 4 || r <= 0 || x->sizes[2] % r || x->sizes[3] % r) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE,
                 "pixel_unshuffle: expects a 4-D input whose height and width are divisible by "
                 "%" PRId64 ", got %s",
                 r, eng_shape_text(x, shape));
        return;
    }
    eng_c_give(c, shuffled(c->e, x, r, false));
}

void eng_b_pixel_unshuffle(struct eng_bw *b)
{
    eng_b_give(
        b, ARG_pixel_unshuffle_input,
        shuffled(b->e, b->g[0], b->a[ARG_pixel_unshuffle_downscale_factor].v.scalar.i, true));
}
