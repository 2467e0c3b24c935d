/*
 * replay/diff/diff.h - the difference of two traces: at their peaks, in what a step allocates, in what autograd saves.
 *
 * For:            `vramscope diff`, the diff view.
 * Must not know:  how the result is shown; how the two traces were made.
 * Invariant:      the rows of a part add up, to the byte, to its a and to its b, and so to their difference.
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
#include "replay/inspect/leak_owner.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/*
 * What a row stands for. Except for CATEGORY and TENSOR, each category has a row of its own.
 *
 * CATEGORY  the category of the block
 * MODULE    as in replay/inspect/modules.h
 * LINE      the line of the net file at which it was allocated
 * TENSOR    one allocation and its counterpart
 */
enum rpl_diff_by {
    RPL_DIFF_CATEGORY,
    RPL_DIFF_MODULE,
    RPL_DIFF_LINE,
    RPL_DIFF_TENSOR,
    RPL_DIFF_BY_COUNT
};

/* "category", "module", …; rpl_diff_by_parse is the inverse: false if there is no such name. */
const char *rpl_diff_by_name(enum rpl_diff_by by);
VS_MUST_USE bool rpl_diff_by_parse(const char *name, enum rpl_diff_by *out);

/*
 * At which events the live sets are compared.
 *
 * PEAK   the peak of each trace
 * STEP   the peak of a step
 * EVENT  right after an event
 */
enum rpl_diff_at { RPL_DIFF_AT_PEAK, RPL_DIFF_AT_STEP, RPL_DIFF_AT_EVENT };

/*
 * Restricts a part to a row of another grouping: its `by`, key, category and lines. Of CATEGORY, MODULE and LINE each
 * block is in exactly one row.
 */
struct rpl_diff_inside {
    enum rpl_diff_by by;
    const char *key;
    enum vs_category category;
    uint32_t line_a;
    uint32_t line_b;
};

/*
 * step      for STEP, and for what a step allocates; RPL_DIFF_STEP_LAST: the last step that both traces have
 *           completely
 * event_a, event_b   for EVENT; one of them may be 0: the corresponding event of that trace, by replay/diff/pairs.h
 * inside    inside_count rows; a block is counted only if it is in all of them. Borrowed until the part is computed
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
 * Why a block is counted: the state of its counterpart.
 *
 * BOTH            it is counted too; the sizes may differ
 * ONLY_A, ONLY_B  there is none: the other trace never allocates it
 * NOT_IN_B, NOT_IN_A  there is one, which is not in use at the other event
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
 * key       category, module path ("" the model itself), text of the line ("" if there is none), name or origin of a
 *           tensor
 * category  of the blocks; of a tensor that of B's, if B has it
 * module    of TENSOR: path of its module, "" the model itself; otherwise NULL
 * line_a, line_b  of LINE and TENSOR: its number in each net file; 0: the file does not have it
 * func      of LINE, if the traces carry no net: the function, as a line number alone is ambiguous; `key` has it, too.
 *           Otherwise ""
 * a, b      bytes; blocks_a, blocks_b: the number of blocks
 * alloc_a, alloc_b  of TENSOR: the two allocations, also if only one is counted; NULL if there is none. Owned by the
 *                   alignment
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
 * rows     row_count rows, the largest change first; they add up to a and b
 * event_a, event_b   the events of the live sets; 0: the part is not about live sets
 * causes   the same bytes by cause; they add up as well
 * is_same  no tensor differs in bytes or category, and each is in both
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

/* A toggle whose value differs; NULL if a trace does not have it. */
struct rpl_diff_toggle {
    const char *name;
    const char *a;
    const char *b;
};

/*
 * A line of the net that differs: only in A or only in B (the other number is 0), or in both with another indentation.
 */
struct rpl_diff_line {
    uint32_t a;
    uint32_t b;
    const char *text;
};

/*
 * One of the two traces.
 *
 * cursor  at the event needed last
 * at      the event being compared; `requested`, `active` and `reserved` are the highest of the trace, as in rpl_peak
 * leak, leak_owner  what its steps leak and the name that keeps it alive; filled in by rpl_diff_fill
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
    struct rpl_leak leak;
    struct rpl_leak_owner leak_owner;
};

/*
 * options   as given last; `step` is a step that both have, -1 if they have no training step in common
 * live      the live sets at the two events, in bytes of blocks; if the events are in different training steps, these
 *           two steps are paired
 * step      everything that the step allocates, in bytes of blocks, by the first category
 * saved     what autograd holds at the end of the last loss, as in rpl_saved: requested bytes, without parameters,
 *           buffers and the batch
 * toggles, lines   the differences in settings and net files
 * paired, moved, only_a, only_b   numbers of allocations of the whole traces: with a counterpart, of these in another
 *                                 order, without
 * is_same   no part differs
 * pairs     see rpl_diff_pairs
 * counted   the blocks of the part that was computed last, so that another grouping of it need not count them again
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
 * Compute all parts. The indexes and their traces are borrowed and must outlive the result. Zero-initialise `out`;
 * release it also after a failure. Reads each trace twice.
 *
 * VS_E_NOT_FOUND: a trace does not have the step or event. Other errors: those of reading the traces.
 */
VS_MUST_USE enum vs_status rpl_diff_fill(struct rpl_diff *out, struct rpl_index *a,
                                         struct rpl_index *b,
                                         const struct rpl_diff_options *options,
                                         struct vs_error *err);
void rpl_diff_release(struct rpl_diff *diff);

/*
 * The same without the parts, for interactive use: align the traces and compare settings and net files. progress may
 * be NULL. VS_E_STOPPED: progress returned false. Other errors as above.
 */
VS_MUST_USE enum vs_status rpl_diff_open(struct rpl_diff *out, struct rpl_index *a,
                                         struct rpl_index *b, rpl_progress_fn *progress, void *user,
                                         struct vs_error *err);
/* Which part: the live sets at the events of options->at, what the step allocates, what autograd saves. */
enum rpl_diff_what { RPL_DIFF_LIVE, RPL_DIFF_STEP, RPL_DIFF_SAVED };
/*
 * Compute a part of an open diff. `out` is zeroed; the caller releases it, also after a failure. Its rows borrow from
 * the diff. Sets diff->options and, for LIVE, `at` of the sides. Costs two seeks and counting the live sets; only
 * grouping if the part computed last was of the same events or step. Errors as rpl_diff_fill.
 */
VS_MUST_USE enum vs_status rpl_diff_take(struct rpl_diff *diff, enum rpl_diff_what what,
                                         const struct rpl_diff_options *options,
                                         struct rpl_diff_part *out, struct vs_error *err);

/* The allocator events of both traces side by side; computed by the first call, owned by the diff. */
const struct rpl_pairs *rpl_diff_pairs(struct rpl_diff *diff);

/*
 * Append what a row is about, without its category: "layers.11.attn", "line 33 | x = self.conv1(x)", "f32[64, 16]
 * made by relu, line 33".
 */
void rpl_diff_row_text(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                       struct vs_text *out);
/*
 * Append why a tensor is counted on one side only: "freed in B @812, relu of line 33". Nothing if it is
 * counted on both.
 */
void rpl_diff_fate_text(const struct rpl_diff *diff, const struct rpl_diff_part *part,
                        const struct rpl_diff_row *row, struct vs_text *out);

/* The report as text, at most `top` rows per part. name_a and name_b are printed for the traces. */
void rpl_diff_text(const struct rpl_diff *diff, const char *name_a, const char *name_b, size_t top,
                   struct vs_text *out);
/* The report as JSON; docs/formats/json.md lists the members. */
void rpl_diff_json(const struct rpl_diff *diff, struct vs_text *out);

#endif
