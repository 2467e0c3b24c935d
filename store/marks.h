/*
 * store/marks.h - the marks that users set at events of a trace.
 *
 * For:            replay/trace/marks.c.
 * Must not know:  keys of a terminal.
 * Invariant:      one mark a key.
 */
#ifndef STO_MARKS_H
#define STO_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/reader.h"

/* Called for each mark; the texts are the caller's for that long. */
typedef void sto_mark_fn(void *user, const char *key, uint64_t seq, const char *note);

/* All marks in the file now, in order of key. A file of a version without marks has none. Errors: it cannot be read. */
VS_MUST_USE enum vs_status sto_marks_each(struct sto_reader *r, sto_mark_fn *each, void *user,
                                          struct vs_error *err);

/*
 * Set the mark `key` of the trace at `path`, replacing one it has, or take it away (note NULL). VS_E_STOPPED: someone else is
 * writing it; does not wait. VS_E_IO: it cannot be written.
 */
VS_MUST_USE enum vs_status sto_mark_set(const char *path, const char *key, uint64_t seq,
                                        const char *note, struct vs_error *err);

#endif
