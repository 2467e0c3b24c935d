/*
 * replay/index/scratch.h - memory in files without a name, for an index that is larger than memory should be.
 *
 * For:            replay/index/, while it computes the index of a trace in a file.
 * Must not know:  what is in the memory.
 * Invariant:      the contents stay as they were written until they are freed; the files end with the process.
 *
 * Pages of these files are the system's to write out. rpl_scratch_drop() takes them out of the process, and a later
 * access brings them back. Where there is no scratch (NULL), or the disk is full, the functions use ordinary memory.
 */
#ifndef RPL_SCRATCH_H
#define RPL_SCRATCH_H

#include <stddef.h>

#include "base/attr.h"

struct rpl_scratch;

/*
 * Files in the folder of the file `beside`. NULL: none can be created there. `beside` NULL: ordinary memory, of which
 * pages that are not written take none.
 */
struct rpl_scratch *rpl_scratch_new(const char *beside) VS_MUST_USE;
/* Frees everything that was taken from it. NULL is accepted. */
void rpl_scratch_free(struct rpl_scratch *scratch);

/*
 * A vector as for vs_reserve(), of at least `wanted` items; new items of a scratch are zeroed. Call vs_free() for one
 * of no scratch, nothing else.
 */
void *rpl_scratch_reserve(struct rpl_scratch *scratch, void *vec, size_t wanted, size_t *cap,
                          size_t elem_size) VS_MUST_USE;
/* A copy of `len` bytes that never moves. `bytes` is malloc'ed memory that this function takes. */
void *rpl_scratch_keep(struct rpl_scratch *scratch, void *bytes, size_t len) VS_MUST_USE;

/* Zero a vector of ordinary memory, which then takes none. */
void rpl_scratch_clear(struct rpl_scratch *scratch, void *vec);

/* Give the memory back to the system. The contents stay. Takes some µs; then each page costs 1 µs when used again. */
void rpl_scratch_drop(struct rpl_scratch *scratch);

#endif
