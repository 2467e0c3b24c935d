/*
 * engine/device/cpu/cpu_random.h - counter-based random numbers.
 *
 * For:            cpu_random.c, rows_random.inc, dropout in attention.
 * Must not know:  tensors.
 * Invariant:      number i of a stream is a pure function of (seed, offset, i).
 *
 * A stream is a SplitMix64 sequence (Steele, Lea, Flood 2014) that begins with a hash of seed and offset.
 */
#ifndef ENG_DEVICE_CPU_RANDOM_H
#define ENG_DEVICE_CPU_RANDOM_H

#include "base/attr.h"
#include "engine/device/kernels.h"

VS_ON_DEVICE static inline uint64_t cpu_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The first state of a stream. */
VS_ON_DEVICE static inline uint64_t cpu_rng_start(struct eng_rng_key key)
{
    return cpu_mix64(cpu_mix64(key.seed + UINT64_C(0x9e3779b97f4a7c15)) ^
                     (key.offset + UINT64_C(0xd1b54a32d192ed03)));
}

/* Number i of the stream: 64 random bits. */
VS_ON_DEVICE static inline uint64_t cpu_rng_bits(uint64_t start, uint64_t i)
{
    return cpu_mix64(start + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* A number in [0, 1), a multiple of 2^-24 (f32) or of 2^-53 (f64). */
VS_ON_DEVICE static inline float cpu_rng_f32(uint64_t start, uint64_t i)
{
    return (float)(int32_t)(cpu_rng_bits(start, i) >> 40) * 0x1p-24f;
}

VS_ON_DEVICE static inline double cpu_rng_f64(uint64_t start, uint64_t i)
{
    return (double)(int64_t)(cpu_rng_bits(start, i) >> 11) * 0x1p-53;
}

#endif
