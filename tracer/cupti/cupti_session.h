/*
 * tracer/cupti/cupti_session.h - records GPU work with CUPTI: tracks the current op, collects the device's work for it
 * and writes both into the trace.
 *
 * For:            cli/ (the record command).
 * Must not know:  CUPTI's types (see cupti_attach.c), the engine beyond engine/core/observer.h, SQL.
 * Invariant:      errors do not affect the run: they are stored, CUPTI's recording ends or continues with less, and
 *                 missing records are counted.
 *
 * All functions must be called from the training thread, except trc_cupti_write(), which the recorder's writer thread
 * calls.
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
 * Start recording this process with CUPTI. One session at a time (asserted). The device may already be open; earlier
 * work is not recorded. If VRAMSCOPE_CUPTI_RECORDS names a file, the records are stored there as text
 * (docs/internals/cuda.md).
 *
 * VS_E_UNSUPPORTED: built without CUPTI, no library, another version, no permission, another profiler; the text says
 * which and what to do. The caller owns *out until trc_cupti_close(); on failure *out is NULL and CUPTI is disabled.
 */
VS_MUST_USE enum vs_status trc_cupti_open(struct trc_cupti **out, struct vs_error *err);

/*
 * The observer to pass to the engine instead of `inner`, from the first event on. Both are borrowed; it is valid as
 * long as the session.
 */
const struct eng_observer *trc_cupti_observer(struct trc_cupti *c,
                                              const struct eng_observer *inner);

/*
 * The engine's device allocated memory with cudaMalloc, freed it with cudaFree (`bytes` are ignored then), or created
 * physical memory.
 */
void trc_cupti_asked(struct trc_cupti *c, bool is_taken, uint64_t address, uint64_t bytes);
void trc_cupti_created(struct trc_cupti *c, uint64_t bytes);

/* Stop recording, after all work of the device has completed; the remaining records are collected. NULL is accepted. */
void trc_cupti_stop(struct trc_cupti *c);

/*
 * Write what was collected since the last call, and after trc_cupti_stop() also what is known only then. `c` is a
 * struct trc_cupti. Errors: those of the writer.
 */
VS_MUST_USE enum vs_status trc_cupti_write(void *c, struct sto_writer *w, struct vs_error *err);

/* The first error since opening, for a warning; NULL if there was none. */
const char *trc_cupti_trouble(const struct trc_cupti *c);

/* Stop if necessary, and free. NULL is accepted. */
void trc_cupti_close(struct trc_cupti *c);

#endif
