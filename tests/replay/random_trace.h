/*
 * tests/replay/random_trace.h - traces that no one wrote by hand: everything that can happen, at random, but possible.
 */
#ifndef TESTS_REPLAY_RANDOM_TRACE_H
#define TESTS_REPLAY_RANDOM_TRACE_H

#include <stdint.h>

#include "replay/trace/trace.h"

/*
 * A trace in memory of `events` events or a few more; the same seed gives the same one. It has steps, phases, ops inside each other,
 * re-runs, modules three deep, named parameters, all kinds of holders, segments of both kinds, refused allocations. The caller frees it.
 */
struct rpl_trace *random_trace(uint64_t events, uint32_t seed);

/* A file at `path` (replaced) with the first `events` of the events of `trace`, and all its strings, places and tensors. */
void random_trace_write(struct rpl_trace *trace, uint64_t events, const char *path);

#endif
