/*
 * engine/ops/matmul/rnn_values.c - see rnn_values.h.
 *
 * Must not know:  how the results are allocated.
 * Invariant:      gates lie side by side: i f g o of an LSTM, r z n of a GRU.
 */
#include "engine/ops/matmul/rnn_values.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "engine/ops/host_scratch.h"

/* ---- sizes ---- */

int eng_rnn_gates(enum eng_rnn_mode mode)
{
    return mode == ENG_RNN_LSTM ? 4 : mode == ENG_RNN_GRU ? 3 : 1;
}

int64_t eng_rnn_input(const struct eng_rnn *r, int layer)
{
    return layer == 0 ? r->input : r->out * r->directions;
}

int64_t eng_rnn_matrices(const struct eng_rnn *r, int layer)
{
    int64_t projection = r->out != r->hidden ? r->out * r->hidden : 0;

    return eng_rnn_gates(r->mode) * r->hidden * (eng_rnn_input(r, layer) + r->out) + projection;
}

static int64_t matrices_before(const struct eng_rnn *r, int pass)
{
    int64_t n = 0;

    for (int k = 0; k < pass; k++)
        n += eng_rnn_matrices(r, k / r->directions);
    return n;
}

int64_t eng_rnn_numel(const struct eng_rnn *r)
{
    int passes = r->layers * r->directions;

    return matrices_before(r, passes) + passes * 2 * eng_rnn_gates(r->mode) * r->hidden;
}

/* ---- arrays of double ---- */

static double *zeros(int64_t n)
{
    return vs_calloc((size_t)(n > 0 ? n : 1), sizeof(double));
}

/* A new dense array with the values of v. */
static double *read_view(const struct eng *e, const struct eng_view *v, int64_t n)
{
    struct eng_host_scratch s = eng_host_scratch_copy(e, v, VS_F64);
    double *out = zeros(n);

    memcpy(out, s.v.data, (size_t)n * sizeof(*out));
    eng_host_scratch_put(e, &s);
    return out;
}

static void write_view(const struct eng *e, const double *from, const struct eng_view *v)
{
    struct eng_view dense = *v;

    dense.dtype = VS_F64;
    dense.data = (void *)(uintptr_t)from;
    eng_contiguous_strides(dense.sizes, dense.ndim, dense.strides);
    e->kernels->copy(&dense, v);
}

/* [rows, cols], or a transposed view of [cols, rows]. */
static struct eng_view matrix(const double *data, int64_t rows, int64_t cols, bool transposed)
{
    struct eng_view v = {.data = (void *)(uintptr_t)data,
                         .dtype = VS_F64,
                         .ndim = 3,
                         .sizes = {1, rows, cols},
                         .strides = {rows * cols, transposed ? 1 : cols, transposed ? rows : 1}};

    return v;
}

/* c [m,n] = a [m,k] b [k,n] + keep * c; ta, tb: the array has the transposed matrix */
static void product(const struct eng *e, const double *a, bool ta, const double *b, bool tb,
                    double *c, const int64_t mnk[3], double keep)
{
    struct eng_view va = matrix(a, mnk[0], mnk[2], ta), vb = matrix(b, mnk[2], mnk[1], tb),
                    vc = matrix(c, mnk[0], mnk[1], false);

    e->kernels->matmul(&va, &vb, &vc, 1, keep);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- one layer in one direction ---- */

/* What a pass keeps while its gradient may be asked for. Arrays of [T,B,...]; steps are in the order of time. */
struct pass {
    int gates;
    bool is_reverse;
    int64_t input; /* elements of an input */
    const double *w_in, *w_state, *w_out, *b_in, *b_state;
    double *gate;  /* activated: [.., gates*hidden] */
    double *state; /* GRU: the state's part of n before r: [.., hidden] */
    double *cell;  /* LSTM: [.., hidden] */
    double *raw;   /* before the projection: [.., hidden] */
    double *h;     /* [.., out] */
};

static struct pass pass_new(const struct eng_rnn *r, const double *weights, int index)
{
    int layer = index / r->directions, passes = r->layers * r->directions;
    int64_t rows = eng_rnn_gates(r->mode) * r->hidden, points = r->steps * r->batch;
    struct pass p = {.gates = eng_rnn_gates(r->mode),
                     .is_reverse = index % r->directions == 1,
                     .input = eng_rnn_input(r, layer)};

    p.w_in = weights + matrices_before(r, index);
    p.w_state = p.w_in + rows * p.input;
    p.w_out = r->out != r->hidden ? p.w_state + rows * r->out : NULL;
    p.b_in = weights + matrices_before(r, passes) + index * 2 * rows;
    p.b_state = p.b_in + rows;
    p.gate = zeros(points * rows);
    p.state = zeros(points * r->hidden);
    p.cell = zeros(points * r->hidden);
    p.raw = zeros(points * r->hidden);
    p.h = zeros(points * r->out);
    return p;
}

static void pass_release(struct pass *p)
{
    vs_free(p->gate);
    vs_free(p->state);
    vs_free(p->cell);
    vs_free(p->raw);
    vs_free(p->h);
}

/* The step that is computed k-th, and the array entry of the state before it (start if it is the first). */
static int64_t step_at(const struct eng_rnn *r, const struct pass *p, int64_t k)
{
    return p->is_reverse ? r->steps - 1 - k : k;
}

static const double *before(const struct eng_rnn *r, const struct pass *p, const double *array,
                            int64_t width, int64_t k, const double *start)
{
    return k == 0 ? start : array + step_at(r, p, k - 1) * r->batch * width;
}

/* One element of a step: a[] the gates before activation, s[] the state's part of them. */
static void activate(const struct eng_rnn *r, struct pass *p, int64_t at, int64_t k,
                     const double *s, double before_cell, double before_h)
{
    int64_t hidden = r->hidden;
    double *a = p->gate + at * p->gates * hidden + k;
    double *cell = &p->cell[at * hidden + k], *raw = &p->raw[at * hidden + k];

    s += k;
    switch (r->mode) {
    case ENG_RNN_LSTM:
        for (int g = 0; g < 4; g++)
            a[g * hidden] = g == 2 ? tanh(a[g * hidden] + s[g * hidden])
                                   : sigmoid(a[g * hidden] + s[g * hidden]);
        *cell = a[hidden] * before_cell + a[0] * a[2 * hidden];
        *raw = a[3 * hidden] * tanh(*cell);
        break;
    case ENG_RNN_GRU:
        a[0] = sigmoid(a[0] + s[0]);
        a[hidden] = sigmoid(a[hidden] + s[hidden]);
        p->state[at * hidden + k] = s[2 * hidden];
        a[2 * hidden] = tanh(a[2 * hidden] + a[0] * s[2 * hidden]);
        *raw = (1 - a[hidden]) * a[2 * hidden] + a[hidden] * before_h;
        break;
    case ENG_RNN_TANH:
        *raw = a[0] = tanh(a[0] + s[0]);
        break;
    case ENG_RNN_RELU:
        *raw = a[0] = fmax(a[0] + s[0], 0);
        break;
    }
}

/* x [T,B,input]; h0 [B,out], c0 [B,hidden] */
static void pass_forward(const struct eng *e, const struct eng_rnn *r, struct pass *p,
                         const double *x, const double *h0, const double *c0)
{
    int64_t rows = p->gates * r->hidden, batch = r->batch;
    double *s = zeros(batch * rows);

    product(e, x, false, p->w_in, true, p->gate, (int64_t[]){r->steps * batch, rows, p->input}, 0);
    for (int64_t i = 0; i < r->steps * batch * rows; i++)
        p->gate[i] += p->b_in[i % rows];
    for (int64_t k = 0; k < r->steps; k++) {
        int64_t t = step_at(r, p, k);
        const double *h = before(r, p, p->h, r->out, k, h0),
                     *c = before(r, p, p->cell, r->hidden, k, c0);

        product(e, h, false, p->w_state, true, s, (int64_t[]){batch, rows, r->out}, 0);
        for (int64_t i = 0; i < batch * rows; i++)
            s[i] += p->b_state[i % rows];
        for (int64_t n = 0; n < batch; n++) {
            for (int64_t i = 0; i < r->hidden; i++)
                activate(r, p, t * batch + n, i, s + n * rows, c ? c[n * r->hidden + i] : 0,
                         p->w_out ? 0 : h[n * r->out + i]);
        }
        if (p->w_out)
            product(e, p->raw + t * batch * r->hidden, false, p->w_out, true,
                    p->h + t * batch * r->out, (int64_t[]){batch, r->out, r->hidden}, 0);
        else
            memcpy(p->h + t * batch * r->out, p->raw + t * batch * r->out,
                   (size_t)(batch * r->out) * sizeof(double));
    }
    vs_free(s);
}

/* What a pass's backward carries from step to step, and where its gradients go (laid out like the weights). */
struct carried {
    double *dh, *dc; /* [B,out], [B,hidden] */
    double *da, *ds; /* of the gates before activation, all steps: by input, by state */
    double *w_in, *w_state, *w_out, *b_in, *b_state;
};

/* The gradients of one element's gates from that of `raw`; returns what goes to the state before directly. */
static double gate_gradients(const struct eng_rnn *r, const struct pass *p, int64_t at, int64_t k,
                             double dh, double before_cell, double before_h, struct carried *c,
                             double *dc)
{
    int64_t hidden = r->hidden, first = at * p->gates * hidden + k;
    const double *a = p->gate + first;
    double *da = c->da + first, *ds = c->ds + first;
    double tc, d;

    switch (r->mode) {
    case ENG_RNN_LSTM:
        tc = tanh(p->cell[at * hidden + k]);
        d = *dc + dh * a[3 * hidden] * (1 - tc * tc);
        da[0] = d * a[2 * hidden] * a[0] * (1 - a[0]);
        da[hidden] = d * before_cell * a[hidden] * (1 - a[hidden]);
        da[2 * hidden] = d * a[0] * (1 - a[2 * hidden] * a[2 * hidden]);
        da[3 * hidden] = dh * tc * a[3 * hidden] * (1 - a[3 * hidden]);
        *dc = d * a[hidden];
        for (int g = 0; g < 4; g++)
            ds[g * hidden] = da[g * hidden];
        return 0;
    case ENG_RNN_GRU:
        d = dh * (1 - a[hidden]) * (1 - a[2 * hidden] * a[2 * hidden]);
        da[0] = ds[0] = d * p->state[at * hidden + k] * a[0] * (1 - a[0]);
        da[hidden] = ds[hidden] = dh * (before_h - a[2 * hidden]) * a[hidden] * (1 - a[hidden]);
        da[2 * hidden] = d;
        ds[2 * hidden] = d * a[0];
        return dh * a[hidden];
    case ENG_RNN_TANH:
        da[0] = ds[0] = dh * (1 - a[0] * a[0]);
        return 0;
    case ENG_RNN_RELU:
        da[0] = ds[0] = a[0] > 0 ? dh : 0;
        return 0;
    }
    return 0;
}

/* dy [T,B,out] of this pass's results, added to c->dh; dx [T,B,input] is added to. */
static void pass_backward(const struct eng *e, const struct eng_rnn *r, const struct pass *p,
                          const double *x, const double *h0, const double *c0, const double *dy,
                          double *dx, struct carried *c)
{
    int64_t rows = p->gates * r->hidden, batch = r->batch, out = batch * r->out;
    double *raw = zeros(batch * r->hidden), *direct = zeros(out);

    c->da = zeros(r->steps * batch * rows);
    c->ds = zeros(r->steps * batch * rows);
    for (int64_t k = r->steps - 1; k >= 0; k--) {
        int64_t t = step_at(r, p, k);
        const double *h = before(r, p, p->h, r->out, k, h0),
                     *cell = before(r, p, p->cell, r->hidden, k, c0);
        const double *ds = c->ds + t * batch * rows;

        for (int64_t i = 0; i < out; i++)
            c->dh[i] += dy[t * out + i];
        if (p->w_out) {
            product(e, c->dh, true, p->raw + t * batch * r->hidden, false, c->w_out,
                    (int64_t[]){r->out, r->hidden, batch}, 1);
            product(e, c->dh, false, p->w_out, false, raw, (int64_t[]){batch, r->hidden, r->out},
                    0);
        } else {
            memcpy(raw, c->dh, (size_t)out * sizeof(double));
        }
        for (int64_t n = 0; n < batch; n++) {
            for (int64_t i = 0; i < r->hidden; i++) {
                int64_t at = n * r->hidden + i;
                double d = gate_gradients(r, p, t * batch + n, i, raw[at], cell ? cell[at] : 0,
                                          p->w_out ? 0 : h[at], c, &c->dc[at]);

                if (!p->w_out)
                    direct[at] = d;
            }
        }
        product(e, ds, true, h, false, c->w_state, (int64_t[]){rows, r->out, batch}, 1);
        product(e, ds, false, p->w_state, false, c->dh, (int64_t[]){batch, r->out, rows}, 0);
        for (int64_t i = 0; i < out; i++)
            c->dh[i] += direct[i];
    }
    product(e, c->da, true, x, false, c->w_in, (int64_t[]){rows, p->input, r->steps * batch}, 1);
    product(e, c->da, false, p->w_in, false, dx, (int64_t[]){r->steps * batch, p->input, rows}, 1);
    for (int64_t i = 0; i < r->steps * batch * rows; i++) {
        c->b_in[i % rows] += c->da[i];
        c->b_state[i % rows] += c->ds[i];
    }
    vs_free(c->ds);
    vs_free(c->da);
    vs_free(direct);
    vs_free(raw);
}

/* ---- all layers ---- */

struct net {
    double *weights, *hx, *cx;
    double **x;     /* inputs of each layer and the result of the last: layers + 1 arrays */
    double **masks; /* of the inputs; NULL: nothing is dropped */
    struct pass *passes;
};

/* The mask of a layer's inputs: 0 or 1 / (1 - dropout). */
static double *mask_new(const struct eng *e, const struct eng_rnn *r, int layer)
{
    int64_t n = r->steps * r->batch * eng_rnn_input(r, layer);
    struct eng_host_scratch s = eng_host_scratch_get(e, &n, 1, VS_F64);
    double *mask = zeros(n);

    e->kernels->random_bernoulli(&s.v, 1 - r->dropout, r->keys[layer - 1]);
    for (int64_t i = 0; i < n; i++)
        mask[i] = ((const double *)s.v.data)[i] / (1 - r->dropout);
    eng_host_scratch_put(e, &s);
    return mask;
}

/* Puts the results of a layer's directions side by side: [T,B,out*D]. */
static double *join(const struct eng_rnn *r, const struct pass *passes)
{
    int64_t points = r->steps * r->batch, wide = r->out * r->directions;
    double *y = zeros(points * wide);

    for (int d = 0; d < r->directions; d++) {
        for (int64_t i = 0; i < points; i++)
            memcpy(y + i * wide + d * r->out, passes[d].h + i * r->out,
                   (size_t)r->out * sizeof(double));
    }
    return y;
}

static void net_run(const struct eng *e, const struct eng_rnn *r, const struct eng_rnn_in *in,
                    struct net *net)
{
    int passes = r->layers * r->directions;
    int64_t points = r->steps * r->batch;

    memset(net, 0, sizeof(*net));
    net->weights = read_view(e, &in->weights, eng_rnn_numel(r));
    net->hx = read_view(e, &in->hx, passes * r->batch * r->out);
    if (r->mode == ENG_RNN_LSTM)
        net->cx = read_view(e, &in->cx, passes * r->batch * r->hidden);
    net->x = vs_calloc((size_t)r->layers + 1, sizeof(*net->x));
    net->masks = vs_calloc((size_t)r->layers, sizeof(*net->masks));
    net->passes = vs_calloc((size_t)passes, sizeof(*net->passes));
    net->x[0] = read_view(e, &in->x, points * r->input);
    for (int layer = 0; layer < r->layers; layer++) {
        if (layer > 0 && r->keys) {
            net->masks[layer] = mask_new(e, r, layer);
            for (int64_t i = 0; i < points * eng_rnn_input(r, layer); i++)
                net->x[layer][i] *= net->masks[layer][i];
        }
        for (int d = 0; d < r->directions; d++) {
            int k = layer * r->directions + d;

            net->passes[k] = pass_new(r, net->weights, k);
            pass_forward(e, r, &net->passes[k], net->x[layer], net->hx + k * r->batch * r->out,
                         net->cx ? net->cx + k * r->batch * r->hidden : NULL);
        }
        net->x[layer + 1] = join(r, &net->passes[layer * r->directions]);
    }
}

static void net_release(const struct eng_rnn *r, struct net *net)
{
    for (int k = 0; k < r->layers * r->directions; k++)
        pass_release(&net->passes[k]);
    for (int layer = 0; layer <= r->layers; layer++)
        vs_free(net->x[layer]);
    for (int layer = 0; layer < r->layers; layer++)
        vs_free(net->masks[layer]);
    vs_free(net->passes);
    vs_free(net->masks);
    vs_free(net->x);
    vs_free(net->cx);
    vs_free(net->hx);
    vs_free(net->weights);
}

void eng_rnn_forward(const struct eng *e, const struct eng_rnn *r, const struct eng_rnn_in *in,
                     const struct eng_rnn_out *out)
{
    int64_t state = r->batch * r->out, cell = r->batch * r->hidden;
    int passes = r->layers * r->directions;
    double *hy = zeros(passes * state), *cy = zeros(passes * cell);
    struct net net;

    net_run(e, r, in, &net);
    for (int k = 0; k < passes; k++) {
        int64_t last = step_at(r, &net.passes[k], r->steps - 1);

        memcpy(hy + k * state, net.passes[k].h + last * state, (size_t)state * sizeof(*hy));
        memcpy(cy + k * cell, net.passes[k].cell + last * cell, (size_t)cell * sizeof(*cy));
    }
    write_view(e, net.x[r->layers], &out->y);
    write_view(e, hy, &out->hy);
    if (r->mode == ENG_RNN_LSTM)
        write_view(e, cy, &out->cy);
    net_release(r, &net);
    vs_free(cy);
    vs_free(hy);
}

/* The part of one direction of [T,B,out*D]. */
static double *part_of(const struct eng_rnn *r, const double *y, int d)
{
    int64_t points = r->steps * r->batch, wide = r->out * r->directions;
    double *out = zeros(points * r->out);

    for (int64_t i = 0; i < points; i++)
        memcpy(out + i * r->out, y + i * wide + d * r->out, (size_t)r->out * sizeof(*out));
    return out;
}

/* One layer's passes: dy of its results; returns that of its inputs. */
static double *layer_backward(const struct eng *e, const struct eng_rnn *r, const struct net *net,
                              int layer, const double *dy, double *dh, double *dc, double *dw)
{
    int64_t width = eng_rnn_input(r, layer);
    double *dx = zeros(r->steps * r->batch * width);

    for (int d = 0; d < r->directions; d++) {
        int k = layer * r->directions + d;
        const struct pass *p = &net->passes[k];
        double *part = part_of(r, dy, d);
        struct carried c = {.dh = dh + k * r->batch * r->out,
                            .dc = dc + k * r->batch * r->hidden,
                            .w_in = dw + (p->w_in - net->weights),
                            .w_state = dw + (p->w_state - net->weights),
                            .w_out = p->w_out ? dw + (p->w_out - net->weights) : NULL,
                            .b_in = dw + (p->b_in - net->weights),
                            .b_state = dw + (p->b_state - net->weights)};

        pass_backward(e, r, p, net->x[layer], net->hx + k * r->batch * r->out,
                      net->cx ? net->cx + k * r->batch * r->hidden : NULL, part, dx, &c);
        vs_free(part);
    }
    for (int64_t i = 0; net->masks[layer] && i < r->steps * r->batch * width; i++)
        dx[i] *= net->masks[layer][i];
    return dx;
}

void eng_rnn_backward(const struct eng *e, const struct eng_rnn *r, const struct eng_rnn_in *in,
                      const struct eng_rnn_out *g, const struct eng_rnn_in *gradients)
{
    int passes = r->layers * r->directions;
    int64_t states = passes * r->batch * r->out, cells = passes * r->batch * r->hidden;
    double *dy = read_view(e, &g->y, r->steps * r->batch * r->out * r->directions);
    double *dh = read_view(e, &g->hy, states);
    double *dc = r->mode == ENG_RNN_LSTM ? read_view(e, &g->cy, cells) : zeros(cells);
    double *dw = zeros(eng_rnn_numel(r));
    struct net net;

    net_run(e, r, in, &net);
    for (int layer = r->layers - 1; layer >= 0; layer--) {
        double *dx = layer_backward(e, r, &net, layer, dy, dh, dc, dw);

        vs_free(dy);
        dy = dx;
    }
    if (gradients->x.data)
        write_view(e, dy, &gradients->x);
    if (gradients->hx.data)
        write_view(e, dh, &gradients->hx);
    if (gradients->cx.data)
        write_view(e, dc, &gradients->cx);
    if (gradients->weights.data)
        write_view(e, dw, &gradients->weights);
    net_release(r, &net);
    vs_free(dw);
    vs_free(dc);
    vs_free(dh);
    vs_free(dy);
}
