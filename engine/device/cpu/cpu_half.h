/*
 * engine/device/cpu/cpu_half.h - conversion of f16 and bf16 from and to float, rounded to nearest even.
 *
 * For:            the row functions, single elements.
 * Must not know:  rows, dtypes.
 * Invariant:      no branches, so that compilers vectorise loops over these functions; subnormals, infinities and NaN
 *                 are preserved.
 */
#ifndef ENG_DEVICE_CPU_HALF_H
#define ENG_DEVICE_CPU_HALF_H

#include <stdint.h>
#include <string.h>

#include "base/attr.h"

VS_ON_DEVICE static inline uint32_t cpu_bits_of(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
    return u;
}

VS_ON_DEVICE static inline float cpu_float_of(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof(f));
    return f;
}

VS_ON_DEVICE static inline float cpu_bf16_to_f32(uint16_t h)
{
    return cpu_float_of((uint32_t)h << 16);
}

VS_ON_DEVICE static inline uint16_t cpu_f32_to_bf16(float f)
{
    uint32_t u = cpu_bits_of(f);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;

    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded);
}

/*
 * The 15 bits below the sign, shifted to their position in a float, are the value times 2^-112, for subnormals too.
 */
VS_ON_DEVICE static inline float cpu_f16_to_f32(uint16_t h)
{
    uint32_t sign = ((uint32_t)h & 0x8000u) << 16;
    uint32_t rest = ((uint32_t)h & 0x7fffu) << 13;
    float scaled = cpu_float_of(rest) * 0x1p112f;
    uint32_t finite = cpu_bits_of(scaled);
    uint32_t special = rest | 0x7f800000u;

    return cpu_float_of(sign | (rest >= 0x0f800000u ? special : finite));
}

VS_ON_DEVICE static inline uint16_t cpu_f32_to_f16(float f)
{
    uint32_t u = cpu_bits_of(f);
    uint32_t sign = (u >> 16) & 0x8000u;
    uint32_t mag = u & 0x7fffffffu;
    /*
     * normal results: change the exponent's bias, round at bit 13; a carry into the exponent is correct, up to
     * infinity
     */
    uint32_t normal = (mag - 0x38000000u + 0xfffu + ((mag >> 13) & 1u)) >> 13;
    /* below 2^-14: adding 0.5 makes float arithmetic round at 2^-24, the last place of a subnormal f16 */
    uint32_t small = cpu_bits_of(cpu_float_of(mag) + 0.5f) - 0x3f000000u;
    uint32_t nan = 0x7e00u | ((mag >> 13) & 0x3ffu);
    uint32_t r = mag < 0x38800000u ? small : normal;

    r = mag >= 0x47800000u ? 0x7c00u
                           /* 2^16 and above; from 65520 on the carry of `normal` gives infinity */
                           : r;
    r = mag > 0x7f800000u ? nan : r;
    return (uint16_t)(sign | r);
}

#endif
