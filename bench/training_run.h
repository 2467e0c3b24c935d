/*
 * bench/training_run.h - the events of a synthetic training run, for benchmarks of what records them.
 *
 * For:            bench_store.c.
 * Must not know:  the engine: a step is forward, backward and optimizer over a row of layers, with plausible sizes,
 *                 addresses and names, and costs next to nothing beside what the observer does.
 * Invariant:      the same events for every observer.
 */
#ifndef BENCH_TRAINING_RUN_H
#define BENCH_TRAINING_RUN_H

#include <stdint.h>

#include "engine/core/observer.h"

#define TRAINING_RUN_LAYERS 60

struct training_layer {
    uint32_t module;
    uint32_t op;
    uint32_t backward_op;
    uint64_t bytes;
    uint64_t address[2]; /* of the activation, in even and odd steps */
    uint64_t block;
    uint32_t tensor;
};

struct training_run {
    const struct eng_observer *obs;
    struct training_layer layers[TRAINING_RUN_LAYERS];
    uint32_t func;
    uint32_t step_func;
    uint32_t adam;
    uint32_t phase;
    uint64_t next_block;
    uint32_t next_tensor;
    uint64_t step;
    uint64_t emitted;
};

/* Announces its names to `obs`, which is borrowed and stays until the last step. */
void training_run_init(struct training_run *run, const struct eng_observer *obs);
/* One training step. run->emitted counts the events. */
void training_run_step(struct training_run *run);

#endif
