/*
 * tracer/inject/ranges.h - the ranges that a program says it is in, thread by thread.
 *
 * For:            nvtx.c tells, subscribe.c asks.
 * Must not know:  NVTX's types.
 * Invariant:      a range ends with the pop of its own domain, whatever other domains have open inside it.
 */
#ifndef TRC_INJECT_RANGES_H
#define TRC_INJECT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/* domain: its name, or NULL for the one without a name; equal domains are equal pointers. name: lives as long as the process. */
void inj_range_push(const char *domain, const char *name);
void inj_range_pop(const char *domain);

/* A range of the whole process, which may end on another thread. Returns the number to end it with. */
uint64_t inj_range_start(const char *domain, const char *name);
void inj_range_end(uint64_t id);

/*
 * The path of the ranges that are open now for this thread, with dots between: the last one of the process, then its own, without those that
 * only say a step or a phase. "" outside of all. Good until the
 * thread's next call of a function here.
 */
const char *inj_range_path(void);

/* What a name says: a phase, the begin of a step, or (VS_PHASE_COUNT, false) neither. */
enum vs_phase inj_range_phase(const char *name, bool *is_step);

#endif
