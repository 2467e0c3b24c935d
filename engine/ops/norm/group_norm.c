/*
 * engine/ops/norm/group_norm.c - group norm: statistics over the images of a group of channels.
 *
 * Must not know:  models.
 * Invariant:      the statistics have the dtype of the weight, or of the input without one; the sums are float32
 *                 (float64 for float64 inputs).
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/norm/channels.h"

/* Whether t is channels-last and not also row-major. */
static bool lies_last(const struct eng_tensor *t)
{
    return eng_is_channels_last(t) && !eng_is_contiguous(t);
}

static struct eng_tensor *in_layout(struct eng *e, struct eng_tensor *t, bool last)
{
    return last ? eng_to_channels_last(e, t) : eng_contiguous(e, t);
}

static int64_t image_size(const struct eng_tensor *x)
{
    int64_t n = 1;

    for (int d = 2; d < x->ndim; d++)
        n *= x->sizes[d];
    return n;
}

/* Up to PyTorch 2.11 a channels-last input of five dims is made row-major first. */
void eng_f_group_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_group_norm_input);
    int64_t groups = eng_c_int(c, ARG_group_norm_num_groups);
    struct eng_arg args[] = {eng_at(x), c->a[ARG_group_norm_weight], c->a[ARG_group_norm_bias],
                             c->a[ARG_group_norm_num_groups], c->a[ARG_group_norm_eps]};
    struct eng_tensor *rows;
    struct eng_ret ret;

    if (x->ndim < 2 || groups < 1 || x->sizes[1] % groups) {
        char tx[ENG_SHAPE_TEXT_MAX];

        eng_fail(
            c->e, VS_E_SHAPE,
            "group_norm: the channels of the input %s must be divisible by num_groups (%" PRId64
            ")",
            eng_shape_text(x, tx), groups);
        return;
    }
    rows = x->ndim == 5 && eng_torch(c->e) <= 11 ? eng_contiguous(c->e, x) : eng_ref(x);
    if (!rows)
        return;
    args[0] = eng_at(rows);
    if (eng_call(c->e, ENG_OP_native_group_norm, args, &ret)) {
        eng_unref(ret.few[1]);
        eng_unref(ret.few[2]);
        eng_c_give(c, ret.few[0]);
    }
    eng_unref(rows);
}

/*
 * (out, mean, rstd). Inside the op live a dense copy of an input that is neither row-major nor channels-last, the
 * statistics in float where they are given in half, and two [N, C] tensors where there is something to scale or shift
 * images with.
 */
void eng_f_native_group_norm(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_native_group_norm_input),
                      *weight = eng_c_tensor(c, ARG_native_group_norm_weight),
                      *shift = eng_c_tensor(c, ARG_native_group_norm_bias);
    int64_t groups = eng_c_int(c, ARG_native_group_norm_groups);
    int64_t ng[2] = {x->sizes[0], groups};
    enum vs_dtype stats = x->dtype == VS_F64 ? VS_F64
                          : weight           ? (enum vs_dtype)weight->dtype
                                             : (enum vs_dtype)x->dtype;
    bool affine = (weight || shift) && image_size(x) > 1;
    bool last = lies_last(x);
    struct eng_tensor *out = eng_norm_like(e, x, last), *mean, *rstd, *dx;
    struct eng_tensor *scratch[4] = {0};

    mean = out ? eng_c_empty(c, ng, 2, stats, x) : NULL;
    rstd = mean ? eng_c_empty(c, ng, 2, stats, x) : NULL;
    dx = rstd ? in_layout(e, x, last) : NULL;
    for (int i = 0; dx && i < 4; i++) {
        if (i >= 2 ? affine : stats != eng_norm_dtype(x))
            scratch[i] = eng_c_empty(c, i < 2 ? ng : x->sizes, 2, eng_norm_dtype(x), x);
    }
    if (dx && eng_c_computes(c)) {
        struct eng_view vx = eng_norm_channels(dx), vo = eng_norm_channels(out), vm = eng_v(mean),
                        vr = eng_v(rstd), w, b;

        e->kernels->group_norm(&vx, eng_norm_opt(weight, &w), eng_norm_opt(shift, &b), groups,
                               eng_c_float(c, ARG_native_group_norm_eps), &vo, &vm, &vr);
    }
    for (int i = 3; i >= 0; i--)
        eng_unref(scratch[i]);
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, mean);
    eng_c_give(c, rstd);
}

/*
 * Sums over images and groups: ds, db [N, C], then what the input's gradient needs, two of [N, groups] and one of [N,
 * C].
 */
static void group_sums(struct eng *e, const struct eng_tensor *x, int64_t groups, bool for_input,
                       bool weighted, struct eng_tensor **sums)
{
    int64_t ng[2] = {x->sizes[0], groups};
    bool images = image_size(x) > 1;

    for (int i = 0; i < 2 && images; i++)
        sums[i] = eng_empty(e, x->sizes, 2, eng_norm_dtype(x), x->storage->on_host);
    for (int i = 2; i < 4 && for_input; i++)
        sums[i] = eng_empty(e, ng, 2, eng_norm_dtype(x), x->storage->on_host);
    if (for_input && images && weighted && !lies_last(x))
        sums[4] = eng_empty(e, x->sizes, 2, eng_norm_dtype(x), x->storage->on_host);
}

/* saved: input, weight, mean, rstd */
void eng_b_native_group_norm(struct eng_bw *b)
{
    static const int RELEASE[] = {3, 2, 4, 1, 0};
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[SAVED_native_group_norm_input],
                      *w = b->saved[SAVED_native_group_norm_weight],
                      *mean = b->saved[SAVED_native_group_norm_result1],
                      *rstd = b->saved[SAVED_native_group_norm_result2];
    bool want_b = b->a[ARG_native_group_norm_bias].kind == ENG_A_TENSOR &&
                  eng_b_needs(b, ARG_native_group_norm_bias);
    struct eng_tensor *dx, *g, *gx = NULL, *gw = NULL, *gb = NULL, *sums[5] = {0};
    int64_t groups = b->a[ARG_native_group_norm_groups].v.scalar.i;

    if (!x || !mean || !rstd)
        return;
    dx = in_layout(e, x, lies_last(x));
    g = in_layout(e, b->g[0], lies_last(x));
    if (eng_b_needs(b, ARG_native_group_norm_input))
        gx = eng_norm_like(e, x, lies_last(x));
    if (w && eng_b_needs(b, ARG_native_group_norm_weight))
        gw = eng_empty(e, &x->sizes[1], 1, (enum vs_dtype)w->dtype, x->storage->on_host);
    if (want_b)
        gb = eng_empty(e, &x->sizes[1], 1,
                       (enum vs_dtype)eng_b_edge(b, ARG_native_group_norm_bias, 0)->dtype,
                       x->storage->on_host);
    group_sums(e, x, groups, gx != NULL, w != NULL, sums);
    if (g && dx && e->kernels && !e->failed) {
        struct eng_view vg = eng_norm_channels(g), vx = eng_norm_channels(dx), vm = eng_v(mean),
                        vr = eng_v(rstd), vw, vgx, vgw, vgb;

        if (gx)
            vgx = eng_norm_channels(gx);
        e->kernels->group_norm_backward(&vg, &vx, eng_norm_opt(w, &vw), &vm, &vr, groups,
                                        gx ? &vgx : NULL, eng_norm_opt(gw, &vgw),
                                        eng_norm_opt(gb, &vgb));
    }
    for (int i = 0; i < 5; i++)
        eng_unref(sums[RELEASE[i]]);
    eng_unref(g);
    eng_unref(dx);
    eng_b_give(b, ARG_native_group_norm_input, gx);
    if (gw)
        eng_b_give(b, ARG_native_group_norm_weight, gw);
    if (gb)
        eng_b_give(b, ARG_native_group_norm_bias, gb);
}
