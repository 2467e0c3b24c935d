/*
 * engine/workspace/scratch_internal.h - shared by the files that implement scratch.h.
 *
 * For:            engine/workspace/scratch*.c.
 * Must not know:  ops.
 * Invariant:      as in scratch.h.
 */
#ifndef ENG_SCRATCH_INTERNAL_H
#define ENG_SCRATCH_INTERNAL_H

#include "engine/workspace/scratch.h"

/* Allocates and releases at once: nothing else is allocated while a kernel is being launched. */
void eng_scratch_once(struct eng *e, uint64_t bytes);

#endif
