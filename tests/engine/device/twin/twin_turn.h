/*
 * tests/engine/device/twin/twin_turn.h - the order of iterations of the loops that replace kernel launches and teams of
 * threads.
 *
 * For:            kernels compiled with VS_CUDA_TWIN (engine/device/cuda/cuda_launch.cuh); tests that compare orders or
 *                 count launches.
 * Must not know:  any kernel.
 * Invariant:      between two barriers any order is possible, so no result may depend on the order.
 */
#ifndef TESTS_ENGINE_DEVICE_TWIN_TWIN_TURN_H
#define TESTS_ENGINE_DEVICE_TWIN_TWIN_TURN_H

#include <stdbool.h>
#include <stdint.h>

void cuda_twin_launch(void);
/* Bit 0: backwards; the rest: where to begin. Another one each time. */
uint64_t cuda_twin_turn(void);

/* Launches so far. */
uint64_t twin_launches(void);
/* From here on loops begin at their start (0), or where `seed` and their number say. */
void twin_turns_begin(uint64_t seed);

#endif
