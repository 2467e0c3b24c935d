/*
 * store/derived.h - parts that were derived from the events of a trace, kept in the file beside them.
 *
 * For:            replay/, which knows what is in them.
 * Must not know:  what is in them.
 * Invariant:      the parts in a file are all there or none: they are replaced together, in one transaction.
 */
#ifndef STO_DERIVED_H
#define STO_DERIVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/reader.h"

/*
 * The bytes of part `id` into *bytes, which is grown as needed (*cap is its size) and owned by the caller; *len is how many there are.
 * VS_E_NOT_FOUND: the file has no such part, or is of a version without them. Others: the file cannot be read.
 */
VS_MUST_USE enum vs_status sto_derived_get(struct sto_reader *r, uint64_t id, uint8_t **bytes,
                                           size_t *len, size_t *cap, struct vs_error *err);

struct sto_derived_writer;

/*
 * Begin to replace the parts of the trace at `path`. VS_E_IO: it cannot be written; VS_E_STOPPED: someone else is writing it. Neither waits.
 * The caller ends it. *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_derived_begin(const char *path, struct sto_derived_writer **out,
                                             struct vs_error *err);
VS_MUST_USE enum vs_status sto_derived_put(struct sto_derived_writer *w, uint64_t id,
                                           const uint8_t *bytes, size_t len, struct vs_error *err);
/* Keep what was put (is_kept), or leave the file as it was. Frees `w`, also on failure; NULL is VS_OK. */
VS_MUST_USE enum vs_status sto_derived_end(struct sto_derived_writer *w, bool is_kept,
                                           struct vs_error *err);

#endif
