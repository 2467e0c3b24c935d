/*
 * tracer/cupti/cupti_session.h - a recording that CUPTI watches: which op runs, what the device did for it, what goes into the trace.
 *
 * For:            cli/ (the record command).
 * Must not know:  CUPTI's types (cupti_attach.c does), the engine beyond engine/core/observer.h, SQL.
 * Invariant:      nothing that goes wrong here reaches the run: it is kept, watching ends or goes on with less, and what is missing is counted.
 *
 * All functions are called from the thread of the training, but trc_cupti_write, which the recorder's writer thread calls.
 */
#ifndef TRC_CUPTI_SESSION_H
#define TRC_CUPTI_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/core/observer.h"

struct sto_writer;
struct trc_cupti;

/*
 * Starts watching this process. One session at a time (asserted). The device may be open already; what was done before is not seen.
 * Where VRAMSCOPE_CUPTI_RECORDS names a file, the records are kept there as text (docs/internals/cuda.md).
 *
 * VS_E_UNSUPPORTED: built without CUPTI, no library, another version, no permission, another profiler; the text says which and what to do.
 * The caller owns *out until trc_cupti_close; *out is NULL on failure, and then nothing of CUPTI's is on.
 */
VS_MUST_USE enum vs_status trc_cupti_open(struct trc_cupti **out, struct vs_error *err);

/* The observer to give the engine in place of `inner`, from the first event on. Both are borrowed; it lives as long as the session. */
const struct eng_observer *trc_cupti_observer(struct trc_cupti *c,
                                              const struct eng_observer *inner);

/* Our device took memory by cudaMalloc, gave it back by cudaFree (its bytes do not matter), or created physical memory. */
void trc_cupti_asked(struct trc_cupti *c, bool is_taken, uint64_t address, uint64_t bytes);
void trc_cupti_created(struct trc_cupti *c, uint64_t bytes);

/* Ends the watching: all work of the device is over. What CUPTI still has is taken in. NULL is fine. */
void trc_cupti_stop(struct trc_cupti *c);

/* Writes what came in since the last call; after the stop also what is only known then. `c` is a struct trc_cupti. Errors: the writer's. */
VS_MUST_USE enum vs_status trc_cupti_write(void *c, struct sto_writer *w, struct vs_error *err);

/* The first thing that went wrong since the opening, for a warning; NULL: nothing. */
const char *trc_cupti_trouble(const struct trc_cupti *c);

/* Stops, where that was not done, and frees. NULL is fine. */
void trc_cupti_close(struct trc_cupti *c);

#endif
