/*
 * tracer/inject/frames.h - the call stack of the calling thread.
 *
 * For:            subscribe.c.
 * Must not know:  CUPTI, traces.
 * Invariant:      a returned text is valid as long as the process. None of this library's locks is held while the
 *                 dynamic linker is called.
 */
#ifndef TRC_INJECT_FRAMES_H
#define TRC_INJECT_FRAMES_H

#include <stddef.h>

#include "base/attr.h"
#include "tracer/inject/site.h"

/* Call it once before the first stack: the unwinder may have to be loaded. */
void inj_frames_prepare(void);

/*
 * Fill `out` with at most `max` (up to INJ_FRAMES_MAX) frames, innermost first: Python frames, if there are any, then
 * native ones, without those of this library. Returns their number. Takes microseconds; longer for addresses that were
 * not seen before.
 */
size_t inj_frames_get(struct inj_frame *out, size_t max);

/* The interned copy of `text`, which is never freed. */
const char *inj_text_keep(const char *text);

#endif
