/*
 * replay/trace/marks.h - marks with notes, and breakpoints, stored in the trace file so that the next session has them
 * too.
 *
 * For:            the keys m and ' of the TUI, its list of marks, its breakpoints.
 * Must not know:  SQL, drawing.
 * Invariant:      a change is in memory at once, and in the file after the next rpl_marks_store that succeeds.
 */
#ifndef RPL_MARKS_H
#define RPL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

/*
 * A mark.
 *
 * key   one character, in UTF-8
 * seq   number of the marked event
 * note  text of the user; may be ""
 */
struct rpl_mark {
    const char *key;
    uint64_t seq;
    const char *note;
};

struct rpl_marks;

/*
 * Open the marks of `trace`, which is borrowed. A trace in memory has none at first, and does not store any. The
 * caller frees *out before the trace. Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_marks_open(struct rpl_trace *trace, struct rpl_marks **out,
                                          struct vs_error *err);
void rpl_marks_free(struct rpl_marks *marks);

/* The marks, in order of seq, then key. Pointers are borrowed until the next change. */
size_t rpl_marks_count(const struct rpl_marks *marks);
const struct rpl_mark *rpl_marks_at(const struct rpl_marks *marks, size_t i);
/* The mark of this key; NULL if there is none. */
const struct rpl_mark *rpl_marks_get(const struct rpl_marks *marks, const char *key);

/* Set mark `key`, replacing an existing one of that key; or remove it. Writes nothing. */
void rpl_marks_set(struct rpl_marks *marks, const char *key, uint64_t seq, const char *note);
void rpl_marks_remove(struct rpl_marks *marks, const char *key);

/* A stored breakpoint or watch; condition: the text that replay/breakpoints reads. */
struct rpl_stored_break {
    bool is_watch;
    bool is_on;
    const char *condition;
};

/* The stored breakpoints, in the order in which they were set. Borrowed until the next change. */
size_t rpl_marks_break_count(const struct rpl_marks *marks);
const struct rpl_stored_break *rpl_marks_break_at(const struct rpl_marks *marks, size_t i);
/* Replace the stored breakpoints by `count` others, whose texts are copied. Writes nothing. */
void rpl_marks_breaks_set(struct rpl_marks *marks, const struct rpl_stored_break *all,
                          size_t count);

/* Whether something has changed since the last rpl_marks_store, successful or not. A trace in memory: never. */
bool rpl_marks_is_changed(const struct rpl_marks *marks);
/*
 * Write to the file what is not in it yet. What could not be written is tried again with the next call. Costs opening
 * the file and a transaction for each mark and for the breakpoints, each waiting for the disk.
 *
 * VS_E_IO: the file cannot be written. VS_E_STOPPED: a recorder is writing to it.
 */
VS_MUST_USE enum vs_status rpl_marks_store(struct rpl_marks *marks, struct vs_error *err);

#endif
