/*
 * tests/engine/device/twin/twin_tests.c - what stands for eng_kernels_cpu in the tests of the CPU's kernels when they
 * are compiled a second time.
 *
 * For:            the Makefile, which gives them -Deng_kernels_cpu=twin_kernels.
 * Must not know:  the tests.
 * Invariant:      nothing but the table changes.
 */
#include "tests/engine/device/twin/cuda_twin.h"

const struct eng_kernels *twin_kernels(void);

const struct eng_kernels *twin_kernels(void)
{
    return twin_kernels_over(eng_kernels_cpu());
}
