/*
 * replay/diff/diff.h - what is different between two traces: at their highest moments, over a step, in what autograd
 * keeps.
 *
 * For:            `vramscope diff`, the diff view.
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
#include "replay/diff/align.h"
#include "replay/diff/pairs.h"
#include "replay/index/index.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/*
 * What a row stands for. But for CATEGORY and TENSOR each category has a row of its own.
 *
 * CATEGORY  of block
 * MODULE    as in replay/inspect/modules.h
 * LINE      of the net file on which it was made
 * TENSOR    one allocation and its counterpart
 */
enum rpl_diff_by {
    RPL_DIFF_CATEGORY,
    RPL_DIFF_MODULE,
    RPL_DIFF_LINE,
    RPL_DIFF_TENSOR,
    RPL_DIFF_BY_COUNT
};

/* "category", "module", …; and the other way round: false where there is none of that name. */
const char *rpl_diff_by_name(enum rpl_diff_by by);
VS_MUST_USE bool rpl_diff_by_parse(const char *name, enum rpl_diff_by *out);

/*
 * Which moments are compared.
 *
 * PEAK   the highest of each
 * STEP   the highest of a step
 * EVENT  right after an event
 */
enum rpl_diff_at { RPL_DIFF_AT_PEAK, RPL_DIFF_AT_STEP, RPL_DIFF_AT_EVENT };

/*
 * Only what is in a row of another grouping: its `by`, key, category and lines. Between CATEGORY, MODULE and LINE each
 * block is in one row.
 */
struct rpl_diff_inside {
    enum rpl_diff_by by;
    const char *key;
    enum vs_category category;
    uint32_t line_a;
    uint32_t line_b;
};

/*
 * step      for STEP, and for what a step allocates; RPL_DIFF_STEP_LAST: the last that both have whole
 * event_a, event_b   for EVENT; one of them may be 0: what the other is in that trace, by replay/diff/pairs.h
 * inside    inside_count rows that all must have a block for it to be counted; borrowed until the part is there
 */
#define RPL_DIFF_STEP_LAST INT64_MIN
struct rpl_diff_options {
    enum rpl_diff_by by;
    enum rpl_diff_at at;
    int64_t step;
    uint64_t event_a;
    uint64_t event_b;
    const struct rpl_diff_inside *inside;
    size_t inside_count;
};

/*
 * Why a block is counted: what is known of its counterpart.
 *
 * BOTH            it is counted too; the sizes may differ
 * ONLY_A, ONLY_B  there is none: the other trace never allocates it
 * NOT_IN_B, NOT_IN_A  there is one, which is not alive at the other moment
 */
enum rpl_diff_cause {
    RPL_DIFF_BOTH,
    RPL_DIFF_ONLY_A,
    RPL_DIFF_ONLY_B,
    RPL_DIFF_NOT_IN_B,
    RPL_DIFF_NOT_IN_A,
    RPL_DIFF_CAUSE_COUNT
};
/* "both", "only_a", … */
const char *rpl_diff_cause_name(enum rpl_diff_cause cause);

/*
 * key       category, module path ("" the model itself), text of the line ("" where there is none), name or origin of
 *           a tensor
 * category  of the blocks; of a tensor that of B's where it has one
 * module    of TENSOR: the path it belongs to, "" the model itself; else NULL
 * line_a, line_b  of LINE and TENSOR: its number in each net file; 0: it is not there
 * func      of LINE, where the traces carry no net: the function, which a number alone does not tell, and `key` is it,
 *           too; else ""
 * a, b      bytes;  blocks_a, blocks_b  how many they are in
 * alloc_a, alloc_b  of TENSOR: the two allocations, also of one that is not counted; NULL where there is none. Owned
 *                   by the alignment
 * cause     of TENSOR: which of them are counted
 */
struct rpl_diff_row {
    const char *key;
    enum vs_category category;
    const char *module;
    const char *func;
    uint32_t line_a;
    uint32_t line_b;
    uint64_t a;
    uint64_t b;
    uint64_t blocks_a;
    uint64_t blocks_b;
    const struct rpl_alloc *alloc_a;
    const struct rpl_alloc *alloc_b;
    enum rpl_diff_cause cause;
};

/*
 * rows     row_count of them, the largest change first; they add up to a and b
 * event_a, event_b   the moments; 0: it is about no moment
 * causes   the same bytes by cause: they add up as well
 * is_same  no tensor differs in bytes or category, and none is in one alone
 * arena    owns the texts that are not a trace's
 */
struct rpl_diff_sum {
    uint64_t a;
    uint64_t b;
    uint64_t blocks_a;
    uint64_t blocks_b;
};
struct rpl_diff_part {
    uint64_t a;
    uint64_t b;
    uint64_t event_a;
    uint64_t event_b;
    struct rpl_diff_row *rows;
    size_t row_count;
    struct rpl_diff_sum causes[RPL_DIFF_CAUSE_COUNT];
    bool is_same;
    struct vs_arena *arena;
};
void rpl_diff_part_release(struct rpl_diff_part *part);

/* A toggle whose value differs; NULL where a trace does not have it. */
struct rpl_diff_toggle {
    const char *name;
    const char *a;
    const char *b;
};

/*
 * A line of the net that differs: only in A, only in B (the other's number is 0), or in both with another indentation.
 */
struct rpl_diff_line {
    uint32_t a;
    uint32_t b;
    const char *text;
};

/*
 * One of the two.
 *
 * cursor stays where it was needed last
 * at     the moment that is looked at; `requested`, `active` and `reserved` are the highest of the trace, as in
 *        rpl_peak
 */
struct rpl_cursor;
struct rpl_modules;
struct rpl_diff_side {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_modules *modules;
    struct rpl_cursor *cursor;
    struct rpl_summary sum;
    struct rpl_peak at;
};

/*
 * options   as given last; `step` is a step that both have, -1 where they have no training step in common
 * moment    what is allocated at the two moments, with rounding; where they are in different training steps, those two
 *           are paired
 * step      what the step allocates in all, with rounding; category as at first
 * saved     what autograd holds when the last loss ends, as in rpl_saved: bytes asked for, without parameters, buffers
 *           and batch
 * toggles, lines   what differs in how they were made
 * paired, moved, only_a, only_b   allocations of the whole traces: with a counterpart, of these in another order,
 *                                 without
 * is_same   nothing that is looked at differs
 * pairs     rpl_diff_pairs gives it
 * counted   the blocks of the part that was taken last: another grouping of the same counts none
 * arena     owns the texts
 */
struct rpl_diff_counted;
struct rpl_diff {
    struct rpl_diff_options options;
    struct rpl_align align;
    struct rpl_pairs pairs;
    struct rpl_diff_side a;
    struct rpl_diff_side b;
    struct rpl_diff_part live;
    struct rpl_diff_part step;
    struct rpl_diff_part saved;
    struct rpl_diff_toggle *toggles;
    size_t toggle_count;
    struct rpl_diff_line *lines;
    size_t line_count;
    uint64_t paired;
    uint64_t moved;
    uint64_t only_a;
    uint64_t only_b;
    bool is_same;
    struct rpl_diff_counted *counted;
    struct vs_arena *arena;
};

/*
 * Compare: all parts. The indexes are borrowed, and so are their traces: they must outlive the answer. Zero-initialise
 * `out`; release it also after a failure. Reads each trace twice. Errors: those of reading them. VS_E_NOT_FOUND: a
 * trace has no such step or event.
 */
VS_MUST_USE enum vs_status rpl_diff_fill(struct rpl_diff *out, struct rpl_index *a,
                                         struct rpl_index *b,
                                         const struct rpl_diff_options *options,
                                         struct vs_error *err);
void rpl_diff_release(struct rpl_diff *diff);

/*
 * The same piece by piece, for whoever asks more than once: align and say how they were made; no part is there then.
 * progress may be NULL. Errors as above; VS_E_STOPPED where progress says so.
 */
VS_MUST_USE enum vs_status rpl_diff_open(struct rpl_diff *out, struct rpl_index *a,
                                         struct rpl_index *b, rpl_progress_fn *progress, void *user,
                                         struct vs_error *err);
/* Which part: what is alive at the moments of options->at, what the step allocates, what autograd keeps. */
enum rpl_diff_what { RPL_DIFF_LIVE, RPL_DIFF_STEP, RPL_DIFF_SAVED };
/*
 * A part of an open diff: `out`, which is zeroed and which the caller releases, also after a failure. Sets `options`,
 * and, for a moment, `at` of the sides. Its rows borrow from the diff. Costs going to the two moments, and what is
 * alive there; where the part taken last was of the same moments or step, only the rows. Errors as rpl_diff_fill.
 */
VS_MUST_USE enum vs_status rpl_diff_take(struct rpl_diff *diff, enum rpl_diff_what what,
                                         const struct rpl_diff_options *options,
                                         struct rpl_diff_part *out, struct vs_error *err);

/* The events of both side by side; made when first asked for, as long as the diff. */
const struct rpl_pairs *rpl_diff_pairs(struct rpl_diff *diff);

/*
 * What a row is about, without its category: "layers.11.attn", "line 33 | x = self.conv1(x)", "f32[64, 16]  made by
 * relu, line 33".
 */
void rpl_diff_row_text(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                       struct vs_text *out);
/*
 * Of a tensor: why it is counted on one side only: "in B gone since event 812, relu of line 33". Nothing where it is
 * on both.
 */
void rpl_diff_fate_text(const struct rpl_diff *diff, const struct rpl_diff_part *part,
                        const struct rpl_diff_row *row, struct vs_text *out);

/* For people; at most `top` rows a part. Names are what to call the traces. */
void rpl_diff_text(const struct rpl_diff *diff, const char *name_a, const char *name_b, size_t top,
                   struct vs_text *out);
/* For programs: the fields are listed in docs/formats/json.md. */
void rpl_diff_json(const struct rpl_diff *diff, struct vs_text *out);

#endif
