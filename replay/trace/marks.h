/*
 * replay/trace/marks.h - marks with notes, kept in the trace, so that whoever opens the file next sees them.
 *
 * For:            the keys m and ', the list of marks.
 * Must not know:  SQL, drawing.
 * Invariant:      what is shown is what is kept: a mark that could not be written is not there.
 */
#ifndef RPL_MARKS_H
#define RPL_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

/* key: one character, in UTF-8; seq: event; note: may be "" */
struct rpl_mark {
    const char *key;
    uint64_t seq;
    const char *note;
};

struct rpl_marks;

/* Those of `trace`, which is borrowed. A trace in memory begins with none. The caller frees it before the trace. */
VS_MUST_USE enum vs_status rpl_marks_open(struct rpl_trace *trace, struct rpl_marks **out,
                                          struct vs_error *err);
void rpl_marks_free(struct rpl_marks *marks);

/* In order of seq, then key. Borrowed until the next change. */
size_t rpl_marks_count(const struct rpl_marks *marks);
const struct rpl_mark *rpl_marks_at(const struct rpl_marks *marks, size_t i);
/* NULL: there is none. */
const struct rpl_mark *rpl_marks_get(const struct rpl_marks *marks, const char *key);

/*
 * Set mark `key` (replacing one of that key), or take it away. VS_E_IO: the file cannot be written; VS_E_STOPPED: a
 * recorder is at work on it. The marks are then as before.
 */
VS_MUST_USE enum vs_status rpl_marks_set(struct rpl_marks *marks, const char *key, uint64_t seq,
                                         const char *note, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_marks_remove(struct rpl_marks *marks, const char *key,
                                            struct vs_error *err);

#endif
