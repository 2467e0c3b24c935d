/*
 * tests/engine/device/twin/cuda_twin.h - the kernel table of the CUDA device over host memory.
 *
 * For:            tests; see cuda_twin.c.
 * Must not know:  the tests.
 * Invariant:      at most one is open at a time.
 */
#ifndef TESTS_ENGINE_DEVICE_CUDA_TWIN_H
#define TESTS_ENGINE_DEVICE_CUDA_TWIN_H

#include "engine/device/kernels.h"

/* `host` does what libraries do on a GPU. */
const struct eng_kernels *twin_kernels_over(const struct eng_kernels *host);

#endif
