/*
 * tests/engine/device/cpu_elements.c - see cpu_elements.h.
 */
#include "tests/engine/device/cpu_elements.h"

#include <math.h>

const enum vs_dtype tv_floats[4] = {VS_F32, VS_F64, VS_F16, VS_BF16};

double tv_rel_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-13 : tv_epsilon(dtype) * 0.51 + 3e-6;
}

double tv_abs_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-14 : 1e-6 + tv_epsilon(dtype) * 1e-3;
}

double tv_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

double tv_softplus(double x, double beta, double threshold)
{
    return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}

int tv_any_sizes(struct tv_rng *r, int64_t *sizes)
{
    int ndim = (int)tv_int(r, 0, 5);

    for (int d = 0; d < ndim; d++)
        sizes[d] = tv_int(r, 1, 8);
    if (ndim > 0 && tv_int(r, 0, 4) == 0)
        sizes[tv_int(r, 0, ndim)] = tv_int(r, 1000, 2100);
    return ndim;
}

unsigned tv_any_mask(struct tv_rng *r, int ndim)
{
    return tv_int(r, 0, 3) ? 0u : (unsigned)tv_int(r, 0, 1 << ndim);
}
