/*
 * engine/device/cuda/cuda_rows.cuh - the formulas of the CPU device, compiled for the GPU.
 *
 * For:            kernels_elementwise.cu, kernels_random.cu.
 * Must not know:  launches, views.
 * Invariant:      both devices compile the same source (engine/device/cpu/rows/rows_*.inc), so they differ in
 *                 rounding only.
 *
 * A thread calls a row function for a row of one element; all threads take the same branch of the switch over the op.
 */
#ifndef ENG_DEVICE_CUDA_ROWS_CUH
#define ENG_DEVICE_CUDA_ROWS_CUH

#include <math.h>
#include <stdint.h>

#include "engine/device/cpu/cpu_half.h"
#include "engine/device/cpu/cpu_random.h"
#include "engine/device/cuda/cuda_launch.cuh"

#ifdef __CUDACC__
/* Makes the launch fail; the next call reports it. */
VS_ON_DEVICE static inline void cuda_no_such_op(void)
{
#ifdef __CUDA_ARCH__
    __trap();
#endif
}
#define vs_die(...) cuda_no_such_op()
#endif
#define restrict __restrict__

/* As x86 converts: NaN and values that do not fit become the smallest integer. */
VS_ON_DEVICE static inline int64_t cpu_f64_to_i64(double v)
{
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

VS_ON_DEVICE static inline int64_t cpu_f64_to_i64_clamped(double v)
{
    return v >= 0x1p63 ? INT64_MAX : cpu_f64_to_i64(v);
}

#define REAL float
#define NAME(x) x##_f32
#define ZERO 0.0f
#define ONE 1.0f
#define HALF 0.5f
#define M_ABS fabsf
#define M_EXP expf
#define M_EXPM1 expm1f
#define M_LIB_EXPM1 expm1f
#define M_LOG logf
#define M_LOG1P log1pf
#define M_LIB_LOG1P log1pf
#define M_LOG2 log2f
#define M_SQRT sqrtf
#define M_SIN sinf
#define M_COS cosf
#define M_TANH tanhf
#define M_ERF erff
#define M_ERF_GIVEN erf_given_f32
#define M_EXP_NEG expf
#define M_POW powf
#define M_ATAN2 atan2f
#define M_FMOD fmodf
#define M_FLOOR floorf
#define M_CEIL ceilf
#define M_RINT rintf
#define M_COS2PI cos2pi_f32
#define RNG cpu_rng_f32

VS_ON_DEVICE static inline float erf_given_f32(float x, float)
{
    return erff(x);
}

VS_ON_DEVICE static inline float cos2pi_f32(float t)
{
    return cosf(6.283185307f * t);
}

#include "engine/device/cpu/rows/rows_unary.inc"

#include "engine/device/cpu/rows/rows_binary.inc"
#include "engine/device/cpu/rows/rows_random.inc"

#undef REAL
#undef NAME
#undef ZERO
#undef ONE
#undef HALF
#undef M_ABS
#undef M_EXP
#undef M_EXPM1
#undef M_LIB_EXPM1
#undef M_LOG
#undef M_LOG1P
#undef M_LIB_LOG1P
#undef M_LOG2
#undef M_SQRT
#undef M_SIN
#undef M_COS
#undef M_TANH
#undef M_ERF
#undef M_ERF_GIVEN
#undef M_EXP_NEG
#undef M_POW
#undef M_ATAN2
#undef M_FMOD
#undef M_FLOOR
#undef M_CEIL
#undef M_RINT
#undef M_COS2PI
#undef RNG

#define REAL double
#define NAME(x) x##_f64
#define ZERO 0.0
#define ONE 1.0
#define HALF 0.5
#define M_ABS fabs
#define M_EXP exp
#define M_EXPM1 expm1
#define M_LIB_EXPM1 expm1
#define M_LOG log
#define M_LOG1P log1p
#define M_LIB_LOG1P log1p
#define M_LOG2 log2
#define M_SQRT sqrt
#define M_SIN sin
#define M_COS cos
#define M_TANH tanh
#define M_ERF erf
#define M_ERF_GIVEN erf_given_f64
#define M_EXP_NEG exp
#define M_POW pow
#define M_ATAN2 atan2
#define M_FMOD fmod
#define M_FLOOR floor
#define M_CEIL ceil
#define M_RINT rint
#define M_COS2PI cos2pi_f64
#define RNG cpu_rng_f64

VS_ON_DEVICE static inline double erf_given_f64(double x, double)
{
    return erf(x);
}

VS_ON_DEVICE static inline double cos2pi_f64(double t)
{
    return cos(6.283185307179586477 * t);
}

#include "engine/device/cpu/rows/rows_unary.inc"

#include "engine/device/cpu/rows/rows_binary.inc"
#include "engine/device/cpu/rows/rows_random.inc"

#include "engine/device/cpu/rows/rows_int.inc"

#undef restrict
#undef vs_die

#endif
