/*
 * tests/engine/device/twin/twin_tests.c - the kernel table that replaces eng_kernels_cpu when the tests of the CPU's
 * kernels are compiled for the simulated GPU.
 *
 * For:            the Makefile, which compiles these tests with -Deng_kernels_cpu=twin_kernels.
 * Must not know:  the tests.
 * Invariant:      nothing but the table changes.
 */
#include "tests/engine/device/twin/cuda_twin.h"

const struct eng_kernels *twin_kernels(void);

const struct eng_kernels *twin_kernels(void)
{
    return twin_kernels_over(eng_kernels_cpu());
}
