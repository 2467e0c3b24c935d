/*
 * store/marks.h - marks that users set at events of a trace, and their breakpoints.
 *
 * For:            replay/trace/marks.c.
 * Must not know:  keys of the terminal.
 * Invariant:      one mark per key.
 */
#ifndef STO_MARKS_H
#define STO_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/reader.h"

/* Called for each mark; the strings are valid during the call. */
typedef void sto_mark_fn(void *user, const char *key, uint64_t seq, const char *note);

/*
 * Call `each` for all marks that are in the file now, in order of key. A file of a format version without marks has
 * none. Errors: the file cannot be read.
 */
VS_MUST_USE enum vs_status sto_marks_each(struct sto_reader *r, sto_mark_fn *each, void *user,
                                          struct vs_error *err);

/*
 * Set the mark `key` of the trace at `path`, replacing its previous value; note NULL removes the mark. Does not wait
 * for locks. VS_E_STOPPED: another program is writing to the file. VS_E_IO: the file cannot be written.
 */
VS_MUST_USE enum vs_status sto_mark_set(const char *path, const char *key, uint64_t seq,
                                        const char *note, struct vs_error *err);

/*
 * A breakpoint, or a watch.
 *
 * condition  its text, as replay/breakpoints reads it
 */
struct sto_breakpoint {
    bool is_watch;
    bool is_on;
    const char *condition;
};

/* Called for each breakpoint; its text is valid during the call. */
typedef void sto_breakpoint_fn(void *user, const struct sto_breakpoint *breakpoint);

/* Call `each` for all breakpoints that are in the file now, in the order in which they were given. Errors as above. */
VS_MUST_USE enum vs_status sto_breakpoints_each(struct sto_reader *r, sto_breakpoint_fn *each,
                                                void *user, struct vs_error *err);
/* Replace all breakpoints of the trace at `path`. Errors as sto_mark_set; the file is then unchanged. */
VS_MUST_USE enum vs_status sto_breakpoints_set(const char *path, const struct sto_breakpoint *all,
                                               size_t count, struct vs_error *err);

#endif
