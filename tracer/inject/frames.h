/*
 * tracer/inject/frames.h - the call stack of the calling thread.
 *
 * For:            subscribe.c.
 * Must not know:  CUPTI, traces.
 * Invariant:      a text that is handed out lives as long as the process. No lock of ours is held while the dynamic linker is asked.
 */
#ifndef TRC_INJECT_FRAMES_H
#define TRC_INJECT_FRAMES_H

#include <stddef.h>

#include "base/attr.h"
#include "tracer/inject/site.h"

/* To be called once before the first stack: what walks stacks may have to be loaded. */
void inj_frames_prepare(void);

/*
 * Fill `out` with at most `max` (up to INJ_FRAMES_MAX) frames, innermost first: first Python's, where there are some, then native ones. Frames of
 * this library are left out. Returns how many. Microseconds; more for a place that was not seen before.
 */
size_t inj_frames_get(struct inj_frame *out, size_t max);

/* The one copy of `text` that stays. */
const char *inj_text_keep(const char *text);

#endif
