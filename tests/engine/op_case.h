/*
 * tests/engine/op_case.h - one call of one op, written as text, and how to run it forward and backward.
 *
 * For:            test_gradients.c and test_ops.c, which run all rows of tests/engine/op_cases.def;
 *                 tests/oracle/op_cases.py runs the same rows under PyTorch.
 * Must not know:  what any op computes.
 * Invariant:      tensor k of a row (counted from 0 in reading order) has the values of formula key OP_CASE_KEY + k,
 *                 whatever its strides.
 *
 * A row is CASE(id, "name=value name=value ...", "options"). Names are the op's parameters; those left out have their
 * defaults. Values:
 *
 *     [2,3]flags      a tensor of random values in [-1,1) that gets a gradient. Flags:
 *                     t last two dims transposed in memory, s every second element of the last dim, o (k) a part of a
 *                     larger one along dim 0 (1), l channels-last;
 *                     p values in [0.5,1.5), z values below 0.5 are 0, mK values times K, n no gradient, b bool, iK
 *                     int64 in [0,K), h on the host, r rows that sum to 1 (probabilities along dim 1)
 *     {[2];[3]n;_}    a list of tensors; _ stands for none
 *     (1,2)           ints, or floats if one has a decimal point
 *     <:;1;1:5:2;None;...;[2]i3>   an index
 *     'text' None True False 3 2.5 inf @f32 @host
 *
 * Options, separated by spaces:
 *     inplace         call the in-place variant on a clone of the first tensor
 *     clone           call the ordinary form on a clone of the first tensor (setitem)
 *     select          inplace or clone, on element 1 of dim 0 of the clone; the result is the whole clone
 *     use=0,2         only these results contribute to the loss
 *     turned, last    incoming gradients have their dims reversed in memory, or are channels-last
 *     half            the op exists for float16 and float32: no float64
 *     cast            the op rounds: a difference quotient is only accurate to 1e-3
 *     ruled           the gradient is not the derivative but what PyTorch defines (none for an embedding's padding row)
 *     matrices        incoming gradients must be row- or column-major matrices
 *     random          values come from the random generator: not compared with another implementation's
 *     inner           only called by other ops, where autocast is off: not called under it
 *     novalues noevents   nothing is compared with PyTorch, for the reason given beside the row
 */
#ifndef TESTS_ENGINE_OP_CASE_H
#define TESTS_ENGINE_OP_CASE_H

#include "engine/autograd/autograd.h"
#include "engine/core/op_internal.h"

#define OP_CASE_KEY 3000001U
#define OP_CASE_GRAD_KEY 4000001U
#define OP_CASE_TENSORS 12
#define OP_CASE_OUTS 24

struct op_case {
    enum eng_op_id op;
    const char *args;
    const char *options;
};

extern const struct op_case OP_CASES[];
extern const size_t OP_CASE_COUNT;

bool op_case_has(const struct op_case *oc, const char *option);

struct op_run {
    struct eng *e;
    const struct op_case *oc;
    enum vs_dtype dtype; /* of the floating tensors */
    struct eng_tensor *leaves[OP_CASE_TENSORS];
    const char *flags[OP_CASE_TENSORS];
    int leaf_count;
    struct eng_arg args[ENG_MAX_ARGS];
    struct eng_tensor *outs[OP_CASE_OUTS]; /* those that contribute to the loss */
    int out_count;
    struct eng_tensor *weights[OP_CASE_OUTS]; /* d loss / d out */
    int64_t ints[64];
    double floats[64];
    int int_count, float_count;
    struct eng_tensor *lists[4][8];
    int list_count;
    struct eng_index index[8];
    char text[64];
};

/* Makes the tensors and arguments. */
void op_run_begin(struct op_run *run, struct eng *e, const struct op_case *oc, enum vs_dtype dtype);
/* Calls the op. False: the engine failed. */
bool op_run_forward(struct op_run *run);
/*
 * Sets the weights of the results (formula keys OP_CASE_GRAD_KEY + k); turned: with the strides of a tensor whose dims
 * are reversed.
 */
void op_run_make_weights(struct op_run *run, bool turned);
/* Computes the gradients of the sum of weights * results. */
void op_run_backward(struct op_run *run);
/* The sum of weights * results, computed on the host in double. */
double op_run_loss(const struct op_run *run);
void op_run_drop_outs(struct op_run *run);
void op_run_end(struct op_run *run);

#endif
