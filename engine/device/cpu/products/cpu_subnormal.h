/*
 * engine/device/cpu/products/cpu_subnormal.h - subnormal numbers in products.
 *
 * For:            what multiplies matrices.
 * Must not know:  what is multiplied.
 * Invariant:      begin and end come in pairs on a thread, with nothing but products of floats between them (reading f16
 *                 goes through subnormal floats); outside of them arithmetic is IEEE's.
 *
 * A float below 2^-126 costs the processor some hundred cycles wherever it meets a multiplier, and a saturated softmax
 * gives a gradient full of them: the products of such a step take ten times as long. Between begin and end they are
 * zeros, as operands and as results, whatever the shape, the dtype and the thread.
 */
#ifndef ENG_DEVICE_CPU_SUBNORMAL_H
#define ENG_DEVICE_CPU_SUBNORMAL_H

#include <stdint.h>

#if defined(__SSE__)

#include <xmmintrin.h>

#define CPU_SUBNORMAL_FLUSHES 1
#define CPU_SUBNORMAL_BITS 0x8040u /* flush results, operands */

static inline uint64_t cpu_subnormal_begin(void)
{
    unsigned before = _mm_getcsr();

    _mm_setcsr(before | CPU_SUBNORMAL_BITS);
    return before;
}

static inline void cpu_subnormal_end(uint64_t before)
{
    _mm_setcsr((unsigned)before);
}

#elif defined(__aarch64__)

#define CPU_SUBNORMAL_FLUSHES 1
#define CPU_SUBNORMAL_BITS (UINT64_C(1) << 24) /* FPCR.FZ */

static inline uint64_t cpu_subnormal_begin(void)
{
    uint64_t before;

    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | CPU_SUBNORMAL_BITS) : "memory");
    return before;
}

static inline void cpu_subnormal_end(uint64_t before)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
}

#else

#define CPU_SUBNORMAL_FLUSHES 0

static inline uint64_t cpu_subnormal_begin(void)
{
    return 0;
}

static inline void cpu_subnormal_end(uint64_t before)
{
    (void)before;
}

#endif

#endif
