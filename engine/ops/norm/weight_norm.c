/*
 * engine/ops/norm/weight_norm.c - a weight as a direction and a length: v * (g / norm of v), for each slice along the
 * first or the last dim.
 *
 * v [D0, ...], g and the norms [D0, 1, ...] or [1, ..., Dlast]; the result has the sizes of v.
 *
 * Must not know:  models.
 * Invariant:      both gradients are made, whichever is asked for; the norms of half types are float32.
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* Which elements of v make up slice i of `count`: the n elements at i * slice + j * step. */
struct slices {
    int64_t count, n, slice, step;
};

static struct slices slices_of(const struct eng_tensor *v, int dim)
{
    int64_t count = v->ndim ? v->sizes[dim] : 1;
    int64_t n = count ? eng_numel(v) / count : 0;

    if (dim == 0)
        return (struct slices){count, n, n, 1};
    return (struct slices){count, n, 1, count};
}

/* The values of t, or space for them where `reads` is false: float64 on the host, row-major. */
static struct eng_tensor *doubles(struct eng *e, const struct eng_tensor *t, bool reads)
{
    struct eng_tensor *values = eng_empty(e, t->sizes, t->ndim, VS_F64, true);

    if (values && reads) {
        struct eng_view from = eng_v(t), to = eng_v(values);

        e->kernels->copy(&from, &to);
    }
    return values;
}

static void write_back(struct eng *e, const struct eng_tensor *values, const struct eng_tensor *t)
{
    struct eng_view from = eng_v(values), to = eng_v(t);

    e->kernels->copy(&from, &to);
}

static double *data(const struct eng_tensor *t)
{
    return eng_v(t).data;
}

static void scale_slices(const struct slices *s, const double *v, const double *g, double *w,
                         double *norms)
{
    for (int64_t i = 0; i < s->count; i++) {
        const double *in = v + i * s->slice;
        double *out = w + i * s->slice, sum = 0;

        for (int64_t j = 0; j < s->n; j++)
            sum += in[j * s->step] * in[j * s->step];
        norms[i] = sqrt(sum);
        for (int64_t j = 0; j < s->n; j++)
            out[j * s->step] = in[j * s->step] * (g[i] / norms[i]);
    }
}

/* (v, g, dim) -> (w, norms); v and g are row-major. */
void eng_f_weight_norm(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *v = eng_c_tensor(c, ARG_weight_norm_v),
                      *g = eng_c_tensor(c, ARG_weight_norm_g);
    struct slices s = slices_of(v, (int)eng_c_int(c, ARG_weight_norm_dim));
    bool is_half = vs_dtype_bytes((enum vs_dtype)g->dtype) == 2;
    struct eng_tensor *w, *norms;

    if (!eng_floating(e, "_weight_norm", v) || !eng_one_dtype(e, v, g))
        return;
    if (eng_numel(g) != s.count) {
        char tv[ENG_SHAPE_TEXT_MAX], tg[ENG_SHAPE_TEXT_MAX];

        eng_fail(e, VS_E_SHAPE, "_weight_norm: g %s must have one element for each slice of v %s",
                 eng_shape_text(g, tg), eng_shape_text(v, tv));
        return;
    }
    w = eng_c_empty(c, v->sizes, v->ndim, (enum vs_dtype)v->dtype, v);
    norms = eng_c_empty(c, g->sizes, g->ndim, is_half ? VS_F32 : (enum vs_dtype)g->dtype, v);
    if (w && norms && eng_c_computes(c)) {
        struct eng_tensor *dv = doubles(e, v, true), *dg = doubles(e, g, true);
        struct eng_tensor *dw = doubles(e, w, false), *dn = doubles(e, norms, false);

        if (dv && dg && dw && dn) {
            scale_slices(&s, data(dv), data(dg), data(dw), data(dn));
            write_back(e, dw, w);
            write_back(e, dn, norms);
        }
        eng_unref(dn);
        eng_unref(dw);
        eng_unref(dg);
        eng_unref(dv);
    }
    eng_c_give(c, w);
    eng_c_give(c, norms);
}

/* grads[0]: of w; grads[1], grads[2]: those of v and g, to be filled in */
static void slices_backward(const struct slices *s, const double *v, const double *g,
                            const double *norms, double *const grads[3])
{
    for (int64_t i = 0; i < s->count; i++) {
        const double *in = v + i * s->slice, *gw = grads[0] + i * s->slice;
        double *gv = grads[1] + i * s->slice, dot = 0;

        for (int64_t j = 0; j < s->n; j++)
            dot += gw[j * s->step] * in[j * s->step];
        grads[2][i] = dot / norms[i];
        for (int64_t j = 0; j < s->n; j++)
            gv[j * s->step] =
                g[i] / norms[i] * (gw[j * s->step] - in[j * s->step] * dot / (norms[i] * norms[i]));
    }
}

/* `made`: the gradients of v and g. */
static void fill_gradients(struct eng_bw *b, const struct eng_tensor *gw,
                           struct eng_tensor *const made[2])
{
    const struct eng_tensor *v = b->saved[SAVED_weight_norm_v];
    struct slices s = slices_of(v, (int)b->a[ARG_weight_norm_dim].v.scalar.i);
    struct eng_tensor *values[] = {doubles(b->e, v, true),
                                   doubles(b->e, b->saved[SAVED_weight_norm_g], true),
                                   doubles(b->e, b->saved[SAVED_weight_norm_result1], true),
                                   doubles(b->e, gw, true),
                                   doubles(b->e, made[0], false),
                                   doubles(b->e, made[1], false)};

    if (!b->e->failed) {
        double *grads[] = {data(values[3]), data(values[4]), data(values[5])};

        slices_backward(&s, data(values[0]), data(values[1]), data(values[2]), grads);
        write_back(b->e, values[4], made[0]);
        write_back(b->e, values[5], made[1]);
    }
    for (int i = 5; i >= 0; i--)
        eng_unref(values[i]);
}

/* saved: g, v, norms */
void eng_b_weight_norm(struct eng_bw *b)
{
    const struct eng_edge *ev = eng_b_edge(b, ARG_weight_norm_v, 0),
                          *eg = eng_b_edge(b, ARG_weight_norm_g, 0);
    const struct eng_tensor *v = b->saved[SAVED_weight_norm_v], *g = b->saved[SAVED_weight_norm_g];
    struct eng_tensor *gw, *gv, *gg;

    if (!v || !g || !b->g[0])
        return;
    gw = eng_contiguous(b->e, b->g[0]);
    gv = eng_empty(b->e, v->sizes, v->ndim, (enum vs_dtype)v->dtype, v->storage->on_host);
    gg = eng_empty(b->e, g->sizes, g->ndim, (enum vs_dtype)g->dtype, v->storage->on_host);
    if (gw && gv && gg && b->e->kernels && !b->e->failed)
        fill_gradients(b, gw, (struct eng_tensor *[]){gv, gg});
    eng_unref(gw);
    if (!eng_edge_is_wanted(ev)) {
        eng_unref(gv);
        gv = NULL;
    }
    if (!eng_edge_is_wanted(eg)) {
        eng_unref(gg);
        gg = NULL;
    }
    eng_b_give(b, ARG_weight_norm_v, gv);
    eng_b_give(b, ARG_weight_norm_g, gg);
}
