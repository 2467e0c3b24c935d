/*
 * tests/engine/device/twin/twin_turn.h - the order in which the loops that stand for launches and teams are gone
 * through.
 *
 * For:            kernels compiled with VS_CUDA_TWIN (engine/device/cuda/cuda_launch.cuh); tests that compare orders
 *                 or count launches.
 * Must not know:  any kernel.
 * Invariant:      what lies between two barriers may run in any order, so no order may show in a result.
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
