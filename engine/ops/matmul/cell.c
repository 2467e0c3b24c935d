/*
 * engine/ops/matmul/cell.c - one step of a recurrent network: RNN, LSTM and GRU cells.
 *
 * Must not know:  layers, time.
 * Invariant:      the products of input and state come first, then one op over the gates, as PyTorch composes them on
 *                 CUDA. The fused op saves its workspace of activated gates for backward; it allocates nothing besides
 *                 its results.
 *
 * Gates lie side by side: [B, 4H] i f g o of an LSTM, [B, 3H] r z n of a GRU.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* ---- views of gates ---- */

/* Columns [part * h, part * h + h) of v. */
static struct eng_view part_of(struct eng_view v, int part, int64_t h)
{
    int64_t skip = part * h * v.strides[v.ndim - 1];

    v.data = v.data ? (char *)v.data + skip * (int64_t)vs_dtype_bytes(v.dtype) : NULL;
    v.sizes[v.ndim - 1] = h;
    return v;
}

static void binary(const struct eng *e, enum eng_binary op, const struct eng_view *a,
                   const struct eng_view *b, const struct eng_view *out)
{
    double p[4] = {1};

    e->kernels->binary(op, out->dtype, a, b, out, p);
}

static void unary(const struct eng *e, enum eng_unary op, const struct eng_view *x,
                  const struct eng_view *out)
{
    double p[4] = {0};

    e->kernels->unary(op, x, out, p);
}

/* Adds a part of the bias [n*h] to every row of out; does nothing without a bias. */
static void add_bias(const struct eng *e, const struct eng_tensor *bias, int part,
                     const struct eng_view *out)
{
    int64_t h = out->sizes[1];
    struct eng_view one, rows = *out;

    if (bias == NULL)
        return;
    one = part_of(eng_v(bias), part, h);
    rows.data = one.data;
    rows.dtype = one.dtype;
    rows.strides[0] = 0;
    rows.strides[1] = one.strides[0];
    binary(e, ENG_B_ADD, out, &rows, out);
}

/* ---- the gates' products ---- */

static struct eng_tensor *times_turned(struct eng *e, struct eng_tensor *x, struct eng_tensor *w)
{
    struct eng_tensor *turned = eng_t(e, w);
    struct eng_tensor *product = turned ? eng_op2(e, ENG_OP_matmul, x, turned) : NULL;

    eng_unref(turned);
    return product;
}

static struct eng_tensor *linear(struct eng *e, struct eng_tensor *x, struct eng_tensor *w,
                                 struct eng_tensor *bias)
{
    struct eng_arg args[] = {eng_at(x), eng_at(w), eng_at(bias)};

    return eng_call1(e, ENG_OP_linear, args);
}

/* (input, hx, w_ih, w_hh, b_ih, b_hh) */
void eng_f_rnn_cell(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *gates =
        linear(e, eng_c_tensor(c, ARG_rnn_cell_hx), eng_c_tensor(c, ARG_rnn_cell_w_hh),
               eng_c_tensor(c, ARG_rnn_cell_b_hh));
    struct eng_tensor *input =
        gates ? linear(e, eng_c_tensor(c, ARG_rnn_cell_input), eng_c_tensor(c, ARG_rnn_cell_w_ih),
                       eng_c_tensor(c, ARG_rnn_cell_b_ih))
              : NULL;
    struct eng_tensor *sum = input ? eng_add_(e, gates, input) : NULL;

    if (sum)
        eng_c_give(c, eng_op1(e, c->id == ENG_OP_rnn_tanh_cell ? ENG_OP_tanh : ENG_OP_relu, sum));
    eng_unref(sum);
    eng_unref(input);
    eng_unref(gates);
}

/* The gates that the input and the state give, [B, n*H] each, the weights being [n*H, ...]; false after a failure. */
static bool gate_products(struct eng *e, struct eng_tensor *const *input_and_w_ih,
                          struct eng_tensor *const *hx_and_w_hh, struct eng_tensor **input_gates,
                          struct eng_tensor **hidden_gates)
{
    *input_gates = times_turned(e, input_and_w_ih[0], input_and_w_ih[1]);
    *hidden_gates = *input_gates ? times_turned(e, hx_and_w_hh[0], hx_and_w_hh[1]) : NULL;
    return *hidden_gates != NULL;
}

/*
 * (input, cx, hx, w_ih, w_hh, b_ih, b_hh) to (hy, cy): autocast casts from the last to the first, but of PyTorch's
 * pair hx the state first
 */
void eng_f_lstm_cell(struct eng_op_call *c)
{
    struct eng_tensor *input[] = {eng_c_tensor(c, ARG_lstm_cell_input),
                                  eng_c_tensor(c, ARG_lstm_cell_w_ih)};
    struct eng_tensor *state[] = {eng_c_tensor(c, ARG_lstm_cell_hx),
                                  eng_c_tensor(c, ARG_lstm_cell_w_hh)};
    struct eng_tensor *gi, *gh;
    struct eng_ret ret;

    if (gate_products(c->e, input, state, &gi, &gh)) {
        struct eng_arg args[] = {eng_at(gi), eng_at(gh), c->a[ARG_lstm_cell_cx],
                                 c->a[ARG_lstm_cell_b_ih], c->a[ARG_lstm_cell_b_hh]};

        if (eng_call(c->e, ENG_OP_fused_lstm_cell, args, &ret)) {
            eng_unref(ret.few[2]); /* for backward alone */
            eng_c_give(c, ret.few[0]);
            eng_c_give(c, ret.few[1]);
        }
    }
    eng_unref(gh);
    eng_unref(gi);
}

/* (input, hx, w_ih, w_hh, b_ih, b_hh) to hy */
void eng_f_gru_cell(struct eng_op_call *c)
{
    struct eng_tensor *input[] = {eng_c_tensor(c, ARG_gru_cell_input),
                                  eng_c_tensor(c, ARG_gru_cell_w_ih)};
    struct eng_tensor *state[] = {eng_c_tensor(c, ARG_gru_cell_hx),
                                  eng_c_tensor(c, ARG_gru_cell_w_hh)};
    struct eng_tensor *gi, *gh;
    struct eng_ret ret;

    if (gate_products(c->e, input, state, &gi, &gh)) {
        struct eng_arg args[] = {eng_at(gi), eng_at(gh), c->a[ARG_gru_cell_hx],
                                 c->a[ARG_gru_cell_b_ih], c->a[ARG_gru_cell_b_hh]};

        if (eng_call(c->e, ENG_OP_fused_gru_cell, args, &ret)) {
            eng_unref(ret.few[1]);
            eng_c_give(c, ret.few[0]);
        }
    }
    eng_unref(gh);
    eng_unref(gi);
}

/* Gates of input and state [B, n*H], state [B, H], one dtype, and biases of n*H. */
static bool check_gates(struct eng_op_call *c, int n, const struct eng_tensor *gi,
                        const struct eng_tensor *gh, const struct eng_tensor *state)
{
    char ti[ENG_SHAPE_TEXT_MAX], th[ENG_SHAPE_TEXT_MAX], ts[ENG_SHAPE_TEXT_MAX];

    if (gi->ndim == 2 && state->ndim == 2 && eng_same_sizes(gi, gh) &&
        gi->sizes[0] == state->sizes[0] && gi->sizes[1] == n * state->sizes[1])
        return eng_one_dtype(c->e, gi, gh) && eng_one_dtype(c->e, gi, state);
    eng_fail(c->e, VS_E_SHAPE,
             "a recurrent cell: gates of the input %s and of the state %s do not fit a state of %s",
             eng_shape_text(gi, ti), eng_shape_text(gh, th), eng_shape_text(state, ts));
    return false;
}

/* ---- LSTM ---- */

/* (input_gates, hidden_gates, cx, input_bias, hidden_bias) to (hy, cy, workspace) */
void eng_f_fused_lstm_cell(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *gates[] = {eng_c_tensor(c, ARG_fused_lstm_cell_input_gates),
                                  eng_c_tensor(c, ARG_fused_lstm_cell_hidden_gates)},
                      *cx = eng_c_tensor(c, ARG_fused_lstm_cell_cx);
    struct eng_tensor *workspace, *hy, *cy;
    enum vs_dtype dtype = (enum vs_dtype)cx->dtype;

    if (!check_gates(c, 4, gates[0], gates[1], cx))
        return;
    workspace = eng_c_empty(c, gates[0]->sizes, 2, dtype, cx);
    hy = workspace ? eng_c_empty(c, cx->sizes, 2, dtype, cx) : NULL;
    cy = hy ? eng_c_empty(c, cx->sizes, 2, dtype, cx) : NULL;
    if (cy && eng_c_computes(c)) {
        int64_t h = cx->sizes[1];
        struct eng_view part[4], vc = eng_v(cx), vcy = eng_v(cy), vhy = eng_v(hy);
        double one[4] = {1};

        for (int k = 0; k < 4; k++) {
            struct eng_view a = part_of(eng_v(gates[0]), k, h), b = part_of(eng_v(gates[1]), k, h);

            part[k] = part_of(eng_v(workspace), k, h);
            binary(e, ENG_B_ADD, &a, &b, &part[k]);
            add_bias(e, eng_c_tensor(c, ARG_fused_lstm_cell_input_bias), k, &part[k]);
            add_bias(e, eng_c_tensor(c, ARG_fused_lstm_cell_hidden_bias), k, &part[k]);
            unary(e, k == 2 ? ENG_U_TANH : ENG_U_SIGMOID, &part[k], &part[k]);
        }
        binary(e, ENG_B_MUL, &part[1], &vc, &vcy);
        e->kernels->ternary(ENG_T_ADDCMUL, vcy.dtype, &vcy, &part[0], &part[2], &vcy, one);
        unary(e, ENG_U_TANH, &vcy, &vhy);
        binary(e, ENG_B_MUL, &vhy, &part[3], &vhy);
    }
    eng_c_give(c, hy);
    eng_c_give(c, cy);
    eng_c_give(c, workspace);
}

/* ghy or gcy may be missing; out: gradients of the gates [B,4H] and of cx */
static void lstm_gradients(const struct eng_bw *b, const struct eng_tensor *cx,
                           const struct eng_tensor *cy, const struct eng_tensor *workspace,
                           const struct eng_tensor *out, const struct eng_tensor *gcx)
{
    const struct eng *e = b->e;
    int64_t h = cx->sizes[1];
    struct eng_view i = part_of(eng_v(workspace), 0, h), f = part_of(eng_v(workspace), 1, h),
                    g = part_of(eng_v(workspace), 2, h), o = part_of(eng_v(workspace), 3, h);
    struct eng_view gi = part_of(eng_v(out), 0, h), gf = part_of(eng_v(out), 1, h),
                    gg = part_of(eng_v(out), 2, h), go = part_of(eng_v(out), 3, h);
    struct eng_view vx = eng_v(cx), vy = eng_v(cy),
                    d = eng_v(gcx); /* d: of the new state, at first */

    if (b->g[0]) {
        struct eng_view ghy = eng_v(b->g[0]);

        unary(e, ENG_U_TANH, &vy, &go);
        binary(e, ENG_B_MUL, &ghy, &o, &d);
        binary(e, ENG_B_TANH_BACKWARD, &d, &go, &d);
        binary(e, ENG_B_MUL, &go, &ghy, &go);
        binary(e, ENG_B_SIGMOID_BACKWARD, &go, &o, &go);
    } else {
        e->kernels->fill(&go, (struct eng_scalar){true, 0, 0});
        e->kernels->fill(&d, (struct eng_scalar){true, 0, 0});
    }
    if (b->g[1]) {
        struct eng_view gcy = eng_v(b->g[1]);

        binary(e, ENG_B_ADD, &d, &gcy, &d);
    }
    binary(e, ENG_B_MUL, &d, &g, &gi);
    binary(e, ENG_B_SIGMOID_BACKWARD, &gi, &i, &gi);
    binary(e, ENG_B_MUL, &d, &vx, &gf);
    binary(e, ENG_B_SIGMOID_BACKWARD, &gf, &f, &gf);
    binary(e, ENG_B_MUL, &d, &i, &gg);
    binary(e, ENG_B_TANH_BACKWARD, &gg, &g, &gg);
    binary(e, ENG_B_MUL, &d, &f, &d);
}

/* The sum over the batch, which both biases get. */
static struct eng_tensor *over_batch(struct eng *e, struct eng_tensor *gates)
{
    int64_t batch = 0;

    return eng_sum_dims(e, gates, &batch, 1, false);
}

static void give_if(const struct eng_bw *b, int arg, struct eng_tensor *t)
{
    if (t && eng_b_needs(b, arg))
        eng_b_give(b, arg, eng_ref(t));
}

/* saved: cx, hidden_bias, hidden_gates, input_bias, input_gates, cy, workspace */
void eng_b_fused_lstm_cell(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *cx = b->saved[SAVED_fused_lstm_cell_cx],
                      *bias = b->saved[SAVED_fused_lstm_cell_input_bias],
                      *cy = b->saved[SAVED_fused_lstm_cell_result1],
                      *workspace = b->saved[SAVED_fused_lstm_cell_result2];
    struct eng_tensor *gates, *gcx, *gbias = NULL;
    bool on_host;

    if (!cx || !cy || !workspace)
        return;
    on_host = cx->storage->on_host;
    gates = eng_empty(e, workspace->sizes, 2, (enum vs_dtype)workspace->dtype, on_host);
    gcx = gates ? eng_empty(e, cx->sizes, 2, (enum vs_dtype)cx->dtype, on_host) : NULL;
    if (gcx && e->kernels && !e->failed)
        lstm_gradients(b, cx, cy, workspace, gates, gcx);
    if (gcx && bias)
        gbias = over_batch(e, gates);
    give_if(b, ARG_fused_lstm_cell_input_gates, gates);
    give_if(b, ARG_fused_lstm_cell_hidden_gates, gates);
    give_if(b, ARG_fused_lstm_cell_cx, gcx);
    give_if(b, ARG_fused_lstm_cell_input_bias, gbias);
    give_if(b, ARG_fused_lstm_cell_hidden_bias, gbias);
    eng_unref(gbias);
    eng_unref(gcx);
    eng_unref(gates);
}

/* ---- GRU: the workspace holds r, z, n, the state, and what r is multiplied with ---- */

/* (input_gates, hidden_gates, hx, input_bias, hidden_bias) to (hy, workspace [B,5H]) */
void eng_f_fused_gru_cell(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *gates[] = {eng_c_tensor(c, ARG_fused_gru_cell_input_gates),
                                  eng_c_tensor(c, ARG_fused_gru_cell_hidden_gates)},
                      *hx = eng_c_tensor(c, ARG_fused_gru_cell_hx);
    enum vs_dtype dtype = (enum vs_dtype)hx->dtype;
    int64_t h = hx->sizes[1];
    struct eng_tensor *workspace, *hy;

    if (!check_gates(c, 3, gates[0], gates[1], hx))
        return;
    workspace = eng_c_empty(c, (int64_t[]){hx->sizes[0], 5 * h}, 2, dtype, hx);
    hy = workspace ? eng_c_empty(c, hx->sizes, 2, dtype, hx) : NULL;
    if (hy && eng_c_computes(c)) {
        struct eng_view part[5], vh = eng_v(hx), vo = eng_v(hy);
        struct eng_view in = part_of(eng_v(gates[0]), 2, h), hn = part_of(eng_v(gates[1]), 2, h);
        double one[4] = {1};

        for (int k = 0; k < 5; k++)
            part[k] = part_of(eng_v(workspace), k, h);
        for (int k = 0; k < 2; k++) {
            struct eng_view a = part_of(eng_v(gates[0]), k, h), b = part_of(eng_v(gates[1]), k, h);

            binary(e, ENG_B_ADD, &a, &b, &part[k]);
            add_bias(e, eng_c_tensor(c, ARG_fused_gru_cell_input_bias), k, &part[k]);
            add_bias(e, eng_c_tensor(c, ARG_fused_gru_cell_hidden_bias), k, &part[k]);
            unary(e, ENG_U_SIGMOID, &part[k], &part[k]);
        }
        e->kernels->copy(&vh, &part[3]);
        e->kernels->copy(&hn, &part[4]);
        add_bias(e, eng_c_tensor(c, ARG_fused_gru_cell_hidden_bias), 2, &part[4]);
        e->kernels->copy(&in, &part[2]);
        add_bias(e, eng_c_tensor(c, ARG_fused_gru_cell_input_bias), 2, &part[2]);
        e->kernels->ternary(ENG_T_ADDCMUL, dtype, &part[2], &part[0], &part[4], &part[2], one);
        unary(e, ENG_U_TANH, &part[2], &part[2]);
        binary(e, ENG_B_SUB, &vh, &part[2], &vo);
        binary(e, ENG_B_MUL, &vo, &part[1], &vo);
        binary(e, ENG_B_ADD, &vo, &part[2], &vo);
    }
    eng_c_give(c, hy);
    eng_c_give(c, workspace);
}

static void gru_gradients(const struct eng_bw *b, const struct eng_tensor *workspace,
                          const struct eng_tensor *gi, const struct eng_tensor *gh,
                          const struct eng_tensor *ghx)
{
    const struct eng *e = b->e;
    int64_t h = ghx->sizes[1];
    struct eng_view w[5], i[3], s[3], g = eng_v(b->g[0]), d = eng_v(ghx);

    for (int k = 0; k < 5; k++)
        w[k] = part_of(eng_v(workspace), k, h);
    for (int k = 0; k < 3; k++) {
        i[k] = part_of(eng_v(gi), k, h);
        s[k] = part_of(eng_v(gh), k, h);
    }
    binary(e, ENG_B_SUB, &w[3], &w[2], &i[1]); /* z: g * (hx - n) */
    binary(e, ENG_B_MUL, &i[1], &g, &i[1]);
    binary(e, ENG_B_SIGMOID_BACKWARD, &i[1], &w[1], &i[1]);
    binary(e, ENG_B_MUL, &g, &w[1], &d);
    binary(e, ENG_B_SUB, &g, &d, &i[2]); /* n: g * (1 - z) */
    binary(e, ENG_B_TANH_BACKWARD, &i[2], &w[2], &i[2]);
    binary(e, ENG_B_MUL, &i[2], &w[4], &i[0]);
    binary(e, ENG_B_SIGMOID_BACKWARD, &i[0], &w[0], &i[0]);
    e->kernels->copy(&i[0], &s[0]);
    e->kernels->copy(&i[1], &s[1]);
    binary(e, ENG_B_MUL, &i[2], &w[0], &s[2]);
}

/* saved: hidden_bias, hidden_gates, hx, input_bias, input_gates, workspace */
void eng_b_fused_gru_cell(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *bias = b->saved[SAVED_fused_gru_cell_input_bias],
                      *workspace = b->saved[SAVED_fused_gru_cell_result1], *g = b->g[0];
    struct eng_tensor *gi, *gh, *ghx, *gbi = NULL, *gbh = NULL;
    enum vs_dtype dtype;
    bool on_host;
    int64_t sizes[2];

    if (!workspace || !g)
        return;
    dtype = (enum vs_dtype)workspace->dtype;
    on_host = workspace->storage->on_host;
    sizes[0] = workspace->sizes[0];
    sizes[1] = workspace->sizes[1] / 5 * 3;
    gi = eng_empty(e, sizes, 2, dtype, on_host);
    gh = gi ? eng_empty(e, sizes, 2, dtype, on_host) : NULL;
    ghx = gh ? eng_empty(e, g->sizes, 2, (enum vs_dtype)g->dtype, on_host) : NULL;
    if (ghx && e->kernels && !e->failed)
        gru_gradients(b, workspace, gi, gh, ghx);
    if (ghx && bias) {
        gbi = over_batch(e, gi);
        gbh = over_batch(e, gh);
    }
    give_if(b, ARG_fused_gru_cell_input_gates, gi);
    give_if(b, ARG_fused_gru_cell_hidden_gates, gh);
    give_if(b, ARG_fused_gru_cell_hx, ghx);
    give_if(b, ARG_fused_gru_cell_input_bias, gbi);
    give_if(b, ARG_fused_gru_cell_hidden_bias, gbh);
    eng_unref(gbh);
    eng_unref(gbi);
    eng_unref(ghx);
    eng_unref(gh);
    eng_unref(gi);
}
