/*
 * engine/ops/matmul/rnn.c - recurrent networks over time as cuDNN runs them: LSTM, GRU and RNN of several layers.
 *
 * Must not know:  modules, how the values are computed (rnn_values.c).
 * Invariant:      what is allocated and saved is what PyTorch's _cudnn_rnn allocates and saves, but for two sizes that
 *                 only cuDNN knows: the reserve for backward is as large as the gates of all steps, which is the least
 *                 that cuDNN can keep, and its workspace is left out. base/unmodelled.def names both.
 *
 * The weights are views of one buffer, laid out as rnn_values.h says; where they are not, they are copied into one.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/matmul/rnn_values.h"
#include "engine/workspace/workspace.h"

/* ---- arguments ---- */

/* a: the arguments of the row; x: the input. */
static struct eng_rnn rnn_of(const struct eng_arg *a, const int64_t *x)
{
    bool batch_first = a[ARG_cudnn_rnn_batch_first].v.flag;
    int64_t hidden = a[ARG_cudnn_rnn_hidden_size].v.scalar.i;
    int64_t projection = a[ARG_cudnn_rnn_proj_size].v.scalar.i;

    return (struct eng_rnn){.mode = (enum eng_rnn_mode)a[ARG_cudnn_rnn_mode].v.scalar.i,
                            .layers = (int)a[ARG_cudnn_rnn_num_layers].v.scalar.i,
                            .directions = a[ARG_cudnn_rnn_bidirectional].v.flag ? 2 : 1,
                            .steps = x[batch_first ? 1 : 0],
                            .batch = x[batch_first ? 0 : 1],
                            .input = x[2],
                            .hidden = hidden,
                            .out = projection ? projection : hidden,
                            .dropout = eng_arg_float(&a[ARG_cudnn_rnn_dropout])};
}

static bool drops(const struct eng_arg *a, const struct eng_rnn *r)
{
    return a[ARG_cudnn_rnn_train].v.flag && r->dropout > 0 && r->layers > 1;
}

/* Weights of a layer in one direction: w_ih, w_hh, b_ih, b_hh, w_hr; those that are there. */
static int weights_each(const struct eng_arg *a)
{
    return (a[ARG_cudnn_rnn_has_biases].v.flag ? 4 : 2) +
           (a[ARG_cudnn_rnn_proj_size].v.scalar.i > 0);
}

/* Sizes of weight `index` of the list, and where it begins in the buffer. Returns its number of dims. */
static int weight_place(const struct eng_arg *a, const struct eng_rnn *r, int index, int64_t *sizes,
                        int64_t *offset)
{
    int each = weights_each(a), pass = index / each, which = index % each;
    int layer = pass / r->directions, passes = r->layers * r->directions;
    int64_t rows = eng_rnn_gates(r->mode) * r->hidden, input = eng_rnn_input(r, layer);
    bool is_projection = each % 2 == 1 && which == each - 1;

    *offset = 0;
    for (int k = 0; k < pass; k++)
        *offset += eng_rnn_matrices(r, k / r->directions);
    if (is_projection) {
        *offset += rows * (input + r->out);
        sizes[0] = r->out;
        sizes[1] = r->hidden;
        return 2;
    }
    sizes[0] = rows;
    if (which < 2) {
        *offset += which * rows * input;
        sizes[1] = which == 0 ? input : r->out;
        return 2;
    }
    *offset = 0;
    for (int k = 0; k < passes; k++)
        *offset += eng_rnn_matrices(r, k / r->directions);
    *offset += (pass * 2 + which - 2) * rows;
    return 1;
}

static bool check(struct eng_op_call *c, const struct eng_rnn *r)
{
    const struct eng_tensor *x = eng_c_tensor(c, ARG_cudnn_rnn_input),
                            *hx = eng_c_tensor(c, ARG_cudnn_rnn_hx),
                            *cx = eng_c_tensor(c, ARG_cudnn_rnn_cx);
    const struct eng_arg *weight = &c->a[ARG_cudnn_rnn_weight];

    if (weight->count != (uint32_t)(r->layers * r->directions * weights_each(c->a)) ||
        (cx != NULL) != (r->mode == ENG_RNN_LSTM)) {
        eng_fail(c->e, VS_E_VALUE, "_cudnn_rnn: weights or states do not fit the mode");
        return false;
    }
    for (uint32_t i = 0; i < weight->count; i++) {
        const struct eng_tensor *w = weight->v.tensors[i];
        int64_t sizes[2], offset;
        int ndim = weight_place(c->a, r, (int)i, sizes, &offset);

        if (w->ndim != ndim || w->dtype != x->dtype ||
            memcmp(w->sizes, sizes, (size_t)ndim * sizeof(*sizes)) != 0) {
            eng_fail(c->e, VS_E_SHAPE,
                     "_cudnn_rnn: weight %" PRIu32 " has other sizes or another "
                     "type than the input asks for",
                     i);
            return false;
        }
    }
    if (!eng_is_contiguous(hx) || (cx && !eng_is_contiguous(cx))) {
        eng_fail(c->e, VS_E_VALUE, "rnn: hx is not contiguous");
        return false;
    }
    return true;
}

/* ---- the buffer ---- */

/* Whether the weights are views of one storage that has nothing else, each in its place. */
static bool is_flat(const struct eng_arg *a, const struct eng_rnn *r)
{
    const struct eng_arg *weight = &a[ARG_cudnn_rnn_weight];
    const struct eng_tensor *first = weight->v.tensors[0];
    uint64_t bytes = (uint64_t)eng_rnn_numel(r) * vs_dtype_bytes((enum vs_dtype)first->dtype);

    if (first->storage->bytes != bytes)
        return false;
    for (uint32_t i = 0; i < weight->count; i++) {
        const struct eng_tensor *w = weight->v.tensors[i];
        int64_t sizes[2], offset;

        (void)weight_place(a, r, (int)i, sizes, &offset);
        if (w->storage != first->storage || (int64_t)w->offset != offset || !eng_is_contiguous(w))
            return false;
    }
    return true;
}

/* A view of part of a buffer; a new reference. */
static struct eng_tensor *part_of(struct eng_tensor *buffer, const int64_t *sizes, int ndim,
                                  int64_t offset)
{
    int64_t strides[2];

    eng_contiguous_strides(sizes, ndim, strides);
    return eng_as_strided(buffer, sizes, strides, ndim, (uint64_t)offset);
}

/* All weights as one tensor: a view of the buffer they share, or a new one with copies. A new reference. */
static struct eng_tensor *weight_buffer(struct eng_op_call *c, const struct eng_rnn *r)
{
    const struct eng_arg *weight = &c->a[ARG_cudnn_rnn_weight];
    struct eng_tensor *first = weight->v.tensors[0], *buffer;
    int64_t numel = eng_rnn_numel(r);

    if (is_flat(c->a, r))
        return part_of(first, &numel, 1, 0);
    buffer = eng_zeros(c->e, &numel, 1, (enum vs_dtype)first->dtype, first->storage->on_host);
    for (uint32_t i = 0; buffer && c->e->kernels && i < weight->count; i++) {
        int64_t sizes[2], offset;
        int ndim = weight_place(c->a, r, (int)i, sizes, &offset);
        struct eng_tensor *part = part_of(buffer, sizes, ndim, offset);
        struct eng_view from = eng_v(weight->v.tensors[i]), to = eng_v(part);

        c->e->kernels->copy(&from, &to);
        eng_unref(part);
    }
    return buffer;
}

/* The input copied to a buffer from element `offset` on, in the buffer's type: a view of the buffer. */
void eng_f_cast_into(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_cast_into_input),
                      *buffer = eng_c_tensor(c, ARG_cast_into_buffer), *out;
    int64_t strides[VS_MAX_DIMS], offset = eng_c_int(c, ARG_cast_into_offset);

    eng_contiguous_strides(x->sizes, x->ndim, strides);
    if (offset < 0 || offset + eng_numel(x) > eng_numel(buffer)) {
        eng_fail(c->e, VS_E_VALUE, "_cast_into: the buffer has no place for the input");
        return;
    }
    out = eng_as_strided(buffer, x->sizes, strides, x->ndim, buffer->offset + (uint64_t)offset);
    if (out && eng_c_computes(c)) {
        struct eng_view from = eng_v(x), to = eng_v(out);

        c->e->kernels->copy(&from, &to);
    }
    eng_c_give(c, out);
}

void eng_b_cast_into(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_cast_into_input, 0);

    eng_b_give(b, ARG_cast_into_input, eng_to_dtype(b->e, b->g[0], (enum vs_dtype)edge->dtype));
}

/* ---- forward ---- */

/* A tensor [T,B,width], or with batch_first [B,T,width] whose memory is that of [T,B,width]. */
static struct eng_tensor *sequence_empty(struct eng *e, const struct eng_rnn *r, int64_t width,
                                         bool batch_first, const struct eng_tensor *like)
{
    int64_t sizes[3] = {r->steps, r->batch, width}, strides[3];

    eng_contiguous_strides(sizes, 3, strides);
    if (batch_first) {
        int64_t stride = strides[0];

        sizes[0] = r->batch;
        sizes[1] = r->steps;
        strides[0] = strides[1];
        strides[1] = stride;
    }
    return eng_empty_strided(e, sizes, strides, 3, (enum vs_dtype)like->dtype,
                             like->storage->on_host);
}

/* A sequence as [T,B,width]. */
static struct eng_view by_time(const struct eng_tensor *t, bool batch_first)
{
    struct eng_view v = eng_v(t);

    if (batch_first) {
        v.sizes[0] = t->sizes[1];
        v.sizes[1] = t->sizes[0];
        v.strides[0] = t->strides[1];
        v.strides[1] = t->strides[0];
    }
    return v;
}

/* Where the sequence does not lie as [T,B,width], the copy that PyTorch makes; its values are not read. */
static struct eng_tensor *time_copy(struct eng *e, const struct eng_rnn *r, struct eng_tensor *t,
                                    bool batch_first)
{
    struct eng_view v = by_time(t, batch_first);
    struct eng_tensor turned = *t;

    memcpy(turned.sizes, v.sizes, sizeof(turned.sizes));
    memcpy(turned.strides, v.strides, sizeof(turned.strides));
    if (eng_is_contiguous(&turned))
        return NULL;
    return sequence_empty(e, r, t->sizes[2], batch_first, t);
}

/* Draws what the dropout of each layer but the first needs, into a tensor on the host. */
static struct eng_tensor *keys_draw(struct eng_op_call *c, const struct eng_rnn *r)
{
    int64_t count = drops(c->a, r) ? 2 * (r->layers - 1) : 0;
    struct eng_tensor *keys = eng_empty(c->e, &count, 1, VS_I64, true);

    for (int64_t k = 0; k < count; k += 2) {
        struct eng_rng_key key = eng_rng_next(c->e, false);

        if (keys && c->e->kernels)
            memcpy((int64_t *)eng_v(keys).data + k, &key, sizeof(key));
    }
    return keys;
}

static const struct eng_rng_key *keys_read(const struct eng_tensor *keys)
{
    return eng_numel(keys) ? eng_v(keys).data : NULL;
}

/* (output, hy, cy, reserve, keys of dropout, weights) */
void eng_f_cudnn_rnn(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_cudnn_rnn_input),
                      *hx = eng_c_tensor(c, ARG_cudnn_rnn_hx),
                      *cx = eng_c_tensor(c, ARG_cudnn_rnn_cx);
    bool batch_first = eng_c_bool(c, ARG_cudnn_rnn_batch_first), on_host = x->storage->on_host;
    struct eng_rnn r = rnn_of(c->a, x->sizes);
    enum vs_dtype dtype = (enum vs_dtype)x->dtype;
    struct eng_tensor *copy, *y, *hy, *cy, *reserve, *keys, *weights;
    int64_t bytes = 0;

    if (!check(c, &r))
        return;
    copy = time_copy(e, &r, x, batch_first);
    y = sequence_empty(e, &r, r.out * r.directions, batch_first, x);
    hy = eng_empty(e, hx->sizes, 3, dtype, on_host);
    cy = cx ? eng_empty(e, cx->sizes, 3, dtype, on_host) : eng_empty(e, &bytes, 1, dtype, on_host);
    weights = weight_buffer(c, &r);
    if (eng_c_bool(c, ARG_cudnn_rnn_train))
        bytes = r.steps * r.batch * eng_rnn_gates(r.mode) * r.hidden * r.layers * r.directions *
                (int64_t)vs_dtype_bytes(dtype);
    reserve = eng_empty(e, &bytes, 1, VS_U8, on_host);
    keys = keys_draw(c, &r);
    if (!on_host)
        eng_workspace_unmeasured(e);
    if (weights && y && hy && cy && reserve && keys && eng_c_computes(c)) {
        struct eng_rnn_in in = {.x = by_time(x, batch_first),
                                .hx = eng_v(hx),
                                .cx = eng_v(cx ? cx : hx),
                                .weights = eng_v(weights)};
        struct eng_rnn_out out = {by_time(y, batch_first), eng_v(hy), eng_v(cy)};

        r.keys = keys_read(keys);
        eng_rnn_forward(e, &r, &in, &out);
    }
    eng_unref(copy);
    eng_c_give(c, y);
    eng_c_give(c, hy);
    eng_c_give(c, cy);
    eng_c_give(c, reserve);
    eng_c_give(c, keys);
    eng_c_give(c, weights);
}

/* ---- backward ---- */

struct rnn_bw {
    struct eng_bw *b;
    struct eng_rnn r;
    bool batch_first;
    struct eng_tensor *x, *hx, *cx, *weights;
    struct eng_tensor *gy, *ghy, *gcy;      /* of the results; zeros where none came */
    struct eng_tensor *gx, *ghx, *gcx, *gw; /* what is computed */
};

/* The gradient of a result, or zeros like `like`. A new reference. */
static struct eng_tensor *given_or_zeros(struct eng *e, struct eng_tensor *g,
                                         const struct eng_tensor *like)
{
    struct eng_tensor *zeros;

    if (g)
        return eng_ref(g);
    zeros = eng_empty_strided(e, like->sizes, like->strides, like->ndim, (enum vs_dtype)like->dtype,
                              like->storage->on_host);
    eng_fill_zero(e, zeros);
    return zeros;
}

static bool wants_weights(const struct eng_bw *b)
{
    for (uint32_t i = 0; i < b->a[ARG_cudnn_rnn_weight].count; i++) {
        if (eng_edge_is_wanted(eng_b_edge(b, ARG_cudnn_rnn_weight, (int)i)))
            return true;
    }
    return false;
}

static void compute(struct rnn_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_rnn_in in = {.x = by_time(k->x, k->batch_first),
                            .hx = eng_v(k->hx),
                            .cx = eng_v(k->cx ? k->cx : k->hx),
                            .weights = eng_v(k->weights)},
                      out = {.x = {.data = NULL}};
    struct eng_rnn_out g = {by_time(k->gy, k->batch_first), eng_v(k->ghy),
                            eng_v(k->cx ? k->gcy : k->ghy)};

    k->r.keys = keys_read(k->b->saved[SAVED_cudnn_rnn_result4]);
    if (k->gx)
        out.x = by_time(k->gx, k->batch_first);
    if (k->ghx)
        out.hx = eng_v(k->ghx);
    if (k->gcx)
        out.cx = eng_v(k->gcx);
    if (k->gw)
        out.weights = eng_v(k->gw);
    eng_rnn_backward(e, &k->r, &in, &g, &out);
}

/* The weights' gradients: views of their buffer; without biases, which the buffer has, copies. */
static void give_weights(struct rnn_bw *k)
{
    const struct eng_bw *b = k->b;
    bool has_biases = b->a[ARG_cudnn_rnn_has_biases].v.flag;

    for (uint32_t i = 0; i < b->a[ARG_cudnn_rnn_weight].count; i++) {
        int64_t sizes[2], offset;
        int ndim = weight_place(b->a, &k->r, (int)i, sizes, &offset);
        struct eng_tensor *part = part_of(k->gw, sizes, ndim, offset);

        if (!has_biases)
            eng_slot_set(&part, eng_clone(b->e, part));
        if (eng_edge_is_wanted(eng_b_edge(b, ARG_cudnn_rnn_weight, (int)i)))
            eng_b_give_at(b, ARG_cudnn_rnn_weight, (int)i, part);
        else
            eng_unref(part);
    }
}

static void rnn_backward(struct rnn_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_tensor *x = time_copy(e, &k->r, k->x, k->batch_first);
    struct eng_tensor *gy = time_copy(e, &k->r, k->gy, k->batch_first);
    bool wants_w = wants_weights(k->b);

    k->gx = sequence_empty(e, &k->r, k->r.input, k->batch_first, k->x);
    k->ghx = eng_empty(e, k->hx->sizes, 3, (enum vs_dtype)k->hx->dtype, k->x->storage->on_host);
    if (k->cx)
        k->gcx = eng_empty(e, k->cx->sizes, 3, (enum vs_dtype)k->cx->dtype, k->x->storage->on_host);
    eng_unref(gy);
    eng_unref(x);
    if (wants_w) {
        x = time_copy(e, &k->r, k->x, k->batch_first);
        k->gw = eng_zeros(e, k->weights->sizes, 1, (enum vs_dtype)k->weights->dtype,
                          k->x->storage->on_host);
    }
    if (!k->x->storage->on_host)
        eng_workspace_unmeasured(e);
    if (!e->failed && e->kernels)
        compute(k);
    if (k->gw && !e->failed)
        give_weights(k);
    eng_unref(k->gw);
    if (wants_w)
        eng_unref(x);
}

/* saved: cx, hx, input, output, reserve, keys, weights */
void eng_b_cudnn_rnn(struct eng_bw *b)
{
    struct rnn_bw k = {.b = b,
                       .batch_first = b->a[ARG_cudnn_rnn_batch_first].v.flag,
                       .x = b->saved[SAVED_cudnn_rnn_input],
                       .hx = b->saved[SAVED_cudnn_rnn_hx],
                       .cx = b->saved[SAVED_cudnn_rnn_cx],
                       .weights = b->saved[SAVED_cudnn_rnn_result5]};

    if (!k.x || !k.hx || !k.weights || (!b->g[0] && !b->g[1] && !b->g[2]))
        return;
    if (!b->a[ARG_cudnn_rnn_train].v.flag) {
        eng_fail(b->e, VS_E_VALUE, "cudnn RNN backward can only be called in training mode");
        return;
    }
    k.r = rnn_of(b->a, k.x->sizes);
    k.gy = given_or_zeros(b->e, b->g[0], b->saved[SAVED_cudnn_rnn_result]);
    k.ghy = given_or_zeros(b->e, b->g[1], k.hx);
    k.gcy = k.cx ? given_or_zeros(b->e, b->g[2], k.cx) : NULL;
    if (k.gy && k.ghy && (k.gcy || !k.cx))
        rnn_backward(&k);
    eng_unref(k.gcy);
    eng_unref(k.ghy);
    eng_unref(k.gy);
    eng_b_give(b, ARG_cudnn_rnn_input, k.gx);
    eng_b_give(b, ARG_cudnn_rnn_hx, k.ghx);
    if (k.cx)
        eng_b_give(b, ARG_cudnn_rnn_cx, k.gcx);
}
