/*
 * store/derived.h - data derived from the events of a trace, stored in the same file.
 *
 * For:            replay/, which computes these data.
 * Must not know:  the meaning of these data.
 * Invariant:      a file that has part 0 has all parts that begin with it: it is removed before the others, and written
 *                 after them.
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
 * Read part `id` into *bytes, a buffer owned by the caller that grows as needed; *cap is its size in bytes, *len the
 * length of the part. VS_E_NOT_FOUND: the file has no such part, a damaged one, or its format version has none. Other
 * errors: the file cannot be read.
 */
VS_MUST_USE enum vs_status sto_derived_get(struct sto_reader *r, uint64_t id, uint8_t **bytes,
                                           size_t *len, size_t *cap, struct vs_error *err);

struct sto_derived_writer;

/*
 * Begin to replace the parts of the trace at `path`. The caller must call sto_derived_end(). *out is NULL on failure.
 * VS_E_IO: the file cannot be written. VS_E_STOPPED: another program is writing to it. Does not wait for locks.
 */
VS_MUST_USE enum vs_status sto_derived_begin(const char *path, struct sto_derived_writer **out,
                                             struct vs_error *err);
/*
 * Write part `id`, once. Part 0 must be the last one: the others are committed some MiB at a time, and are of no use
 * without it.
 */
VS_MUST_USE enum vs_status sto_derived_put(struct sto_derived_writer *w, uint64_t id,
                                           const uint8_t *bytes, size_t len, struct vs_error *err);
/* Commit the parts written (is_kept) or roll back. Frees `w`, also on failure; NULL is accepted. */
VS_MUST_USE enum vs_status sto_derived_end(struct sto_derived_writer *w, bool is_kept,
                                           struct vs_error *err);

/*
 * Write one part, whose contents say by themselves which events they belong to, in a transaction of its own. Errors: as
 * sto_derived_begin().
 */
VS_MUST_USE enum vs_status sto_derived_add(const char *path, uint64_t id, const uint8_t *bytes,
                                           size_t len, struct vs_error *err);

#endif
