/*
 * tracer/inject/python.h - the Python frames of the calling thread.
 *
 * For:            frames.c.
 * Must not know:  the version of Python: only functions of the stable ABI are called, found at run time.
 * Invariant:      the GIL is never acquired: a thread that does not hold it has no frames. A pending exception is
 *                 preserved.
 */
#ifndef TRC_INJECT_PYTHON_H
#define TRC_INJECT_PYTHON_H

#include <stddef.h>

#include "tracer/inject/site.h"

/*
 * Fill `out` with at most `max` frames, innermost first. Returns their number; 0 in a process without Python, or on a
 * thread that does not hold the GIL.
 */
size_t inj_python_frames(struct inj_frame *out, size_t max);

#endif
