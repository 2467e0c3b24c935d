/* tests/replay/random_trace.h - random, valid traces with every kind of event. */
#ifndef TESTS_REPLAY_RANDOM_TRACE_H
#define TESTS_REPLAY_RANDOM_TRACE_H

#include <stdint.h>

#include "replay/trace/trace.h"

/*
 * A trace in memory of `events` events or a few more; the same seed gives the same trace. It has steps, phases, nested
 * ops, recomputations, modules nested three levels deep, named parameters, all kinds of holders, segments of both
 * kinds and refused allocations. The caller frees it.
 */
struct rpl_trace *random_trace(uint64_t events, uint32_t seed);

/*
 * Write a file at `path` (replaced) with the first `events` events of `trace`, and all its strings, locations and
 * tensors.
 */
void random_trace_write(struct rpl_trace *trace, uint64_t events, const char *path);

#endif
