/*
 * replay/diff.h - what is different between two traces: at their highest moments, over a step, in what autograd keeps.
 *
 * For:            `vramscope diff`.
 * Must not know:  how the answer is shown; how the two traces came about.
 * Invariant:      the rows of a part add up, to the byte, to its a, to its b, and so to the difference of the two.
 *
 * `a` is before, `b` after; a delta is b - a.
 */
#ifndef RPL_DIFF_H
#define RPL_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/text.h"
#include "replay/index.h"
#include "replay/summary.h"
#include "replay/trace.h"

/*
 * What a row stands for. Of the last three each category has a row of its own, but for tensors.
 *
 * CATEGORY  of block
 * MODULE    as in replay/modules.h
 * LINE      of the net file on which it was made
 */
enum rpl_diff_by { RPL_DIFF_CATEGORY, RPL_DIFF_MODULE, RPL_DIFF_LINE, RPL_DIFF_BY_COUNT };

/* "category", "module", …; and the other way round: false where there is none of that name. */
const char *rpl_diff_by_name(enum rpl_diff_by by);
VS_MUST_USE bool rpl_diff_by_parse(const char *name, enum rpl_diff_by *out);

/*
 * key       category, module path ("" the model itself), text of the line ("" where there is none)
 * line_a, line_b  of LINE: its number in each net file; 0: it is not there
 * a, b      bytes;  blocks_a, blocks_b  how many they are in
 */
struct rpl_diff_row {
    const char *key;
    enum vs_category category;
    uint32_t line_a;
    uint32_t line_b;
    uint64_t a;
    uint64_t b;
    uint64_t blocks_a;
    uint64_t blocks_b;
};

/* rows: row_count of them, the largest change first; they add up to a and b. */
struct rpl_diff_part {
    uint64_t a;
    uint64_t b;
    struct rpl_diff_row *rows;
    size_t row_count;
};

/* A toggle whose value differs; NULL where a trace does not have it. */
struct rpl_diff_toggle {
    const char *name;
    const char *a;
    const char *b;
};

/*
 * One of the two.
 *
 * at     the moment that is looked at; `requested`, `active` and `reserved` are the highest of the trace, as in rpl_peak
 */
struct rpl_diff_side {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_summary sum;
    struct rpl_peak at;
};

/*
 * by        what the rows stand for
 * moment    what is allocated at the two moments, with rounding
 * toggles   toggle_count of them that differ
 * is_same   nothing that is looked at differs
 * arena     owns the texts
 */
struct rpl_diff {
    enum rpl_diff_by by;
    struct rpl_diff_side a;
    struct rpl_diff_side b;
    struct rpl_diff_part moment;
    struct rpl_diff_toggle *toggles;
    size_t toggle_count;
    bool is_same;
    struct vs_arena *arena;
};

/*
 * Compare. The indexes are borrowed, and so are their traces: they must outlive the answer. Zero-initialise `out`; release it also after a
 * failure. Reads each trace once. Errors: those of reading them.
 */
VS_MUST_USE enum vs_status rpl_diff_fill(struct rpl_diff *out, struct rpl_index *a,
                                         struct rpl_index *b, enum rpl_diff_by by,
                                         struct vs_error *err);
void rpl_diff_release(struct rpl_diff *diff);

/* For people; at most `top` rows a part. Names are what to call the traces. */
void rpl_diff_text(const struct rpl_diff *diff, const char *name_a, const char *name_b, size_t top,
                   struct vs_text *out);
/* For programs: the fields are listed in docs/json.md. */
void rpl_diff_json(const struct rpl_diff *diff, struct vs_text *out);

#endif
