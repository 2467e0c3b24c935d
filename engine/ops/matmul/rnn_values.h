/*
 * engine/ops/matmul/rnn_values.h - the values of a recurrent network over time: LSTM, GRU, RNN.
 *
 * For:            rnn.c, which decides what is allocated and saved.
 * Must not know:  autograd, modules.
 * Invariant:      computed in double on the host and rounded once. Backward computes the forward again; nothing is
 *                 kept.
 *
 * Weights lie in one buffer as in cuDNN: for each layer and direction the matrices [gates * hidden, input], [gates *
 * hidden, out] and, with a projection, [out, hidden]; then for each the two biases [gates * hidden].
 */
#ifndef ENG_OPS_RNN_VALUES_H
#define ENG_OPS_RNN_VALUES_H

#include "engine/core/engine_internal.h"

enum eng_rnn_mode { ENG_RNN_RELU, ENG_RNN_TANH, ENG_RNN_LSTM, ENG_RNN_GRU };

/* out: elements of a state: hidden, or those of its projection. keys: one for each layer but the first; NULL: none */
struct eng_rnn {
    enum eng_rnn_mode mode;
    int layers, directions;
    int64_t steps, batch, input, hidden, out;
    double dropout;
    const struct eng_rng_key *keys;
};

/* Gates of a step: rows of a matrix are this many times `hidden`. */
int eng_rnn_gates(enum eng_rnn_mode mode);
/* Elements of the inputs of a layer; of its matrices in one direction; of the whole buffer. */
int64_t eng_rnn_input(const struct eng_rnn *r, int layer);
int64_t eng_rnn_matrices(const struct eng_rnn *r, int layer);
int64_t eng_rnn_numel(const struct eng_rnn *r);

/* What a call reads: x [T,B,input], hx [L*D,B,out], cx [L*D,B,hidden] (LSTM), the buffer; any strides and type. */
struct eng_rnn_in {
    struct eng_view x, hx, cx, weights;
};
/* Results y [T,B,out*D], hy, cy (LSTM); backward: their gradients. */
struct eng_rnn_out {
    struct eng_view y, hy, cy;
};
/* x, hx, cx, weights: gradients to be set. */
void eng_rnn_forward(const struct eng *e, const struct eng_rnn *r, const struct eng_rnn_in *in,
                     const struct eng_rnn_out *out);
void eng_rnn_backward(const struct eng *e, const struct eng_rnn *r, const struct eng_rnn_in *in,
                      const struct eng_rnn_out *g, const struct eng_rnn_in *gradients);

#endif
