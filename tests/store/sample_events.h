/*
 * tests/store/sample_events.h - events for tests: random ones, and those of an invented training run.
 */
#ifndef TESTS_STORE_SAMPLE_EVENTS_H
#define TESTS_STORE_SAMPLE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"

/* A small generator of numbers, so that a test gives the same on every machine. Seed it with anything but 0. */
struct sample_random {
    uint64_t state;
};
uint64_t sample_random_next(struct sample_random *rnd);
/* 0 … limit - 1 */
uint64_t sample_random_below(struct sample_random *rnd, uint64_t limit);

/* Events whose fields are anything that fits: all widths, extremes, runs, repeats. Padding is 0. */
void sample_events_wild(struct sample_random *rnd, struct vs_event *out, size_t count);

/*
 * Events as a training run has them: per step the phases, ops with allocations, saves, holds and frees in pairs.
 * Block ids count up, sizes, places and addresses repeat from step to step. Strings 1 … 40, places 1 … 200.
 */
void sample_events_training(struct sample_random *rnd, struct vs_event *out, size_t count);

#endif
