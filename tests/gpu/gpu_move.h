/*
 * tests/gpu/gpu_move.h - copies operands of kernel tests to the memory of a device and back.
 *
 * For:            gpu_kernels.c.
 * Must not know:  kernels, except copy.
 * Invariant:      views that share bytes on the host share them on the device; a write outside of the views ends the
 *                 test.
 */
#ifndef TESTS_GPU_GPU_MOVE_H
#define TESTS_GPU_GPU_MOVE_H

#include "engine/device/plugin.h"

#define GPU_MOVE_MOST 16

/*
 * at[i] becomes a view of device memory with a copy of in[i], which may be NULL or empty. count <=
 * GPU_MOVE_MOST.
 */
void gpu_move_in(const struct eng_device *device, const struct eng_view *const *in, int count,
                 struct eng_view *at);

/*
 * What the call made of them, back to where they came from; the memory is given back. Fails the test where the device
 * failed.
 */
void gpu_move_out(const struct eng_device *device);

#endif
