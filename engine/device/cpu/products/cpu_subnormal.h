/*
 * engine/device/cpu/products/cpu_subnormal.h - treats subnormal numbers as zero in matrix products.
 *
 * For:            code that multiplies matrices.
 * Must not know:  what is multiplied.
 * Invariant:      begin and end are called in pairs on a thread, with nothing but products of floats between them
 *                 (reading f16
 *                 goes through subnormal floats); elsewhere arithmetic is IEEE's.
 *
 * An operation on a float below 2^-126 takes the processor about a hundred cycles, and a saturated softmax gives a
 * gradient full of them: the products of such a step would take ten times as long. Between begin and end subnormal
 * operands and results are replaced by zero, whatever the shape, the dtype and the thread.
 */
#ifndef ENG_DEVICE_CPU_SUBNORMAL_H
#define ENG_DEVICE_CPU_SUBNORMAL_H

#include <stdint.h>

#if defined(__SSE__)

#include <xmmintrin.h>

#define CPU_SUBNORMAL_FLUSHES 1
#define CPU_SUBNORMAL_BITS 0x8040u /* bits that flush results and operands to zero */

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
