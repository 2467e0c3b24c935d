/*
 * tracer/inject/ranges.h - the annotated ranges that a program has open, per thread.
 *
 * For:            nvtx.c reports them, subscribe.c reads them.
 * Must not know:  NVTX's types.
 * Invariant:      a pop ends the innermost range of its own domain, whatever ranges of other domains are open inside
 *                 it.
 */
#ifndef TRC_INJECT_RANGES_H
#define TRC_INJECT_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/*
 * domain: its name, or NULL for the default domain; equal domains have equal pointers. name: valid as long as the
 * process.
 */
void inj_range_push(const char *domain, const char *name);
void inj_range_pop(const char *domain);

/* Begin a range of the whole process, which may end on another thread. Returns its id. */
uint64_t inj_range_start(const char *domain, const char *name);
void inj_range_end(uint64_t id);

/*
 * The names of the open ranges of this thread, joined by dots: the last range of the process, then the thread's own,
 * without those that only mark a step or a phase. "" if no range is open. Valid until the thread's next call of a
 * function here.
 */
const char *inj_range_path(void);

/* What a name marks: a phase, the beginning of a step, or neither (VS_PHASE_COUNT, false). */
enum vs_phase inj_range_phase(const char *name, bool *is_step);

#endif
