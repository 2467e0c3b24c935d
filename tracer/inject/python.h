/*
 * tracer/inject/python.h - the Python part of the calling thread's stack.
 *
 * For:            frames.c.
 * Must not know:  which Python it is: only functions of the stable interface are called, found at run time.
 * Invariant:      the interpreter's lock is never taken: without it there are no frames. An exception that is on its way stays so.
 */
#ifndef TRC_INJECT_PYTHON_H
#define TRC_INJECT_PYTHON_H

#include <stddef.h>

#include "tracer/inject/site.h"

/* At most `max` frames, innermost first; 0 in a process without Python, or on a thread that does not hold the lock. */
size_t inj_python_frames(struct inj_frame *out, size_t max);

#endif
