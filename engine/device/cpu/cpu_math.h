/*
 * engine/device/cpu/cpu_math.h - elementary functions of float without branches or calls.
 *
 * For:            loops over rows, which the compiler vectorises; each function is within a few ulp.
 * Must not know:  rows.
 * Invariant:      the same argument gives the same bits wherever it is in a row: operations are contracted to FMA
 *                 only where CPU_FMAF is used. NaN gives NaN.
 *
 * Series: exp by Taylor around 0 after reduction by ln 2; log by 2 atanh((m-1)/(m+1)); erf by its Taylor series below
 * 0.9 and above by 1 - exp(-x^2) p(u)/(x+2), u = (x-2)/(x+2), with p interpolated at Chebyshev nodes on [0.9, 11]
 * (relative error 2e-8).
 */
#ifndef ENG_DEVICE_CPU_MATH_H
#define ENG_DEVICE_CPU_MATH_H

#include "engine/device/cpu/cpu_half.h"

#ifdef __FMA__
#define CPU_FMAF(a, b, c) __builtin_fmaf((a), (b), (c))
#else
#define CPU_FMAF(a, b, c) ((a) * (b) + (c))
#endif

#define CPU_ROUND_MAGIC                                                                            \
    12582912.0f /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */

/* x = n ln 2 + r, |r| <= ln 2 / 2; returns r. n comes as a float and as an integer (modulo 2^32 where x is NaN). */
static inline float cpu_reduce_ln2(float x, uint32_t *n_int, float *n)
{
    float biased = CPU_FMAF(x, 1.44269504088896341f, CPU_ROUND_MAGIC);
    float r;

    *n_int = cpu_bits_of(biased) - 0x4b400000u;
    *n = biased - CPU_ROUND_MAGIC;
    r = CPU_FMAF(*n, -0.693359375f, x); /* exact: 9 bits of ln 2 */
    return CPU_FMAF(*n, 2.12194440e-4f, r);
}

/* (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2 */
static inline float cpu_exp_tail(float r)
{
    float p = 1.98412698e-4f;

    p = CPU_FMAF(p, r, 1.38888889e-3f);
    p = CPU_FMAF(p, r, 8.33333333e-3f);
    p = CPU_FMAF(p, r, 4.16666667e-2f);
    p = CPU_FMAF(p, r, 1.66666667e-1f);
    return CPU_FMAF(p, r, 0.5f);
}

/* 2^n, -126 <= n <= 127 in two's complement */
static inline float cpu_pow2(uint32_t n)
{
    return cpu_float_of((n + 127u) << 23);
}

static inline float cpu_expf(float x)
{
    uint32_t n_int;
    uint32_t half;
    float n;
    float r;
    float y;

    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;
    r = cpu_reduce_ln2(x, &n_int, &n);
    y = CPU_FMAF(cpu_exp_tail(r) * r, r, r) + 1.0f;
    half =
        (uint32_t)((int32_t)n_int >> 1); /* two factors, so that subnormals and infinity come out */
    return y * cpu_pow2(half) * cpu_pow2(n_int - half);
}

/* exp(x) for x <= 0; below -87 the result is that of -87, 1.6e-38. */
static inline float cpu_exp_negf(float x)
{
    uint32_t n_int;
    float n;
    float r = cpu_reduce_ln2(x < -87.0f ? -87.0f : x, &n_int, &n);

    return (CPU_FMAF(cpu_exp_tail(r) * r, r, r) + 1.0f) * cpu_pow2(n_int);
}

/* exp(x) - 1 for x in [-86, 88] */
static inline float cpu_expm1f(float x)
{
    uint32_t n_int;
    float n;
    float r = cpu_reduce_ln2(x, &n_int, &n);
    float t = CPU_FMAF(cpu_exp_tail(r) * r, r, r);
    float s = cpu_pow2(n_int);

    return CPU_FMAF(t, s, s - 1.0f);
}

static inline float cpu_logf(float x)
{
    float scaled = x < 1.17549435e-38f ? x * 8388608.0f : x;
    float shift = x < 1.17549435e-38f ? -23.0f : 0.0f;
    uint32_t u = cpu_bits_of(scaled);
    uint32_t e = u - 0x3f3504f3u; /* sqrt(1/2): the mantissa ends in [sqrt(1/2), sqrt(2)) */
    float n = (float)((int32_t)e >> 23) + shift;
    float m = cpu_float_of((e & 0x007fffffu) + 0x3f3504f3u);
    float f = m - 1.0f;
    float s = f / (2.0f + f);
    float z = s * s;
    float p = 1.81818182e-1f;
    float y;

    p = CPU_FMAF(p, z, 2.22222222e-1f);
    p = CPU_FMAF(p, z, 2.85714286e-1f);
    p = CPU_FMAF(p, z, 4.0e-1f);
    p = CPU_FMAF(p, z, 6.66666667e-1f);
    /* log(m) = 2s + s z p = f - s (f - z p) */
    y = f - s * (f - z * p);
    y = CPU_FMAF(n, 0.693359375f, CPU_FMAF(n, -2.12194440e-4f, y));
    y = x < __builtin_inff() ? y : x; /* infinity, NaN */
    y = x == 0.0f ? -__builtin_inff() : y;
    return x < 0.0f ? __builtin_nanf("") : y;
}

/* For x > -1; exact steps keep the accuracy for small x. */
static inline float cpu_log1pf(float x)
{
    float u = 1.0f + x;
    float y = cpu_logf(u) * (x / (u - 1.0f));

    y = u < __builtin_inff() ? y : u;
    return u == 1.0f ? x : y;
}

static inline float cpu_tanhf(float x)
{
    float a = x < 0.0f ? -x : x;
    float t;
    float y;

    a = a > 10.0f ? 10.0f : a;
    t = cpu_expm1f(2.0f * a);
    y = t / (t + 2.0f);
    return x < 0.0f ? -y : y;
}

static inline float cpu_sigmoidf(float x)
{
    return 1.0f / (1.0f + cpu_expf(-x));
}

static inline float cpu_erf_small(float x)
{
    float z = x * x;
    float p = -1.63658447e-7f; /* 2/sqrt(pi) (-1)^k / (k! (2k+1)), k = 9 to 0 */

    p = CPU_FMAF(p, z, 1.64621144e-6f);
    p = CPU_FMAF(p, z, -1.49256504e-5f);
    p = CPU_FMAF(p, z, 1.20553330e-4f);
    p = CPU_FMAF(p, z, -8.54832702e-4f);
    p = CPU_FMAF(p, z, 5.22397763e-3f);
    p = CPU_FMAF(p, z, -2.68661707e-2f);
    p = CPU_FMAF(p, z, 1.12837917e-1f);
    p = CPU_FMAF(p, z, -3.76126389e-1f);
    return CPU_FMAF(p, z, 1.12837917f) * x;
}

/* erf(x), given e = exp(-x*x) */
static inline float cpu_erf_givenf(float x, float e)
{
    float a = x < 0.0f ? -x : x;
    float c = a > 11.0f ? 11.0f : a;
    float inv = 1.0f / (c + 2.0f);
    float u = (c - 2.0f) * inv;
    float p = -1.41267594e-3f;
    float big;

    p = CPU_FMAF(p, u, 3.07347799e-3f);
    p = CPU_FMAF(p, u, 6.62804333e-3f);
    p = CPU_FMAF(p, u, -2.15322145e-2f);
    p = CPU_FMAF(p, u, -3.64536643e-2f);
    p = CPU_FMAF(p, u, 2.79473773e-1f);
    p = CPU_FMAF(p, u, -6.87160443e-1f);
    p = CPU_FMAF(p, u, 1.02158269f);
    big = 1.0f - e * p * inv;
    big = x < 0.0f ? -big : big;
    return a < 0.9f ? cpu_erf_small(x) : big;
}

static inline float cpu_erff(float x)
{
    return cpu_erf_givenf(x, cpu_exp_negf(-x * x));
}

/* cos(2 pi t) for t in [-1, 1): sin(2 pi (1/4 - |t|)), t brought to [-1/2, 1/2], by the Taylor series of the sine. */
static inline float cpu_cos2pif(float t)
{
    float a = t < 0.0f ? -t : t;
    float y;
    float z;
    float p = -2.50521084e-8f;

    a = a > 0.5f ? 1.0f - a : a;
    y = 6.28318531f * (0.25f - a);
    z = y * y;
    p = CPU_FMAF(p, z, 2.75573192e-6f);
    p = CPU_FMAF(p, z, -1.98412698e-4f);
    p = CPU_FMAF(p, z, 8.33333333e-3f);
    p = CPU_FMAF(p, z, -1.66666667e-1f);
    return CPU_FMAF(p * z, y, y);
}

#endif
