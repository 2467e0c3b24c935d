/*
 * tests/engine/device/cpu_elements.h - what the tests of unary, binary and ternary kernels share: dtypes, tolerances,
 * random sizes, and the formulas that ops of several kinds have in common.
 *
 * Must not know:  the kernels under test.
 */
#ifndef TESTS_ENGINE_DEVICE_CPU_ELEMENTS_H
#define TESTS_ENGINE_DEVICE_CPU_ELEMENTS_H

#include "tests/engine/device/cpu_views.h"

/* sqrt(2 / pi), of the approximation of GELU by tanh */
#define TV_GELU_K 0.79788456080286535588

extern const enum vs_dtype tv_floats[4];

/*
 * By how much an element may differ from its formula in double, relative and absolute: the rounding of the dtype, and
 * that of the float arithmetic before it.
 */
double tv_rel_of(enum vs_dtype dtype);
double tv_abs_of(enum vs_dtype dtype);

double tv_sigmoid(double x);
double tv_softplus(double x, double beta, double threshold);

/* 0 to 4 sizes; returns their number. Now and then one of them is 1000 to 2099: about CPU_CHUNK, or more. */
int tv_any_sizes(struct tv_rng *r, int64_t *sizes);
/* Bits of dims to be broadcast in an operand, for tv_make_broadcast; in two of three calls none. */
unsigned tv_any_mask(struct tv_rng *r, int ndim);

#endif
