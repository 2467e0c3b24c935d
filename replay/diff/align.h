/*
 * replay/diff/align.h - which allocation of one trace is which of another; and which line of one net file is which of
 * another.
 *
 * For:            replay/diff/diff.c, replay/diff/pairs.c.
 * Must not know:  peaks, how anything is shown.
 * Invariant:      an allocation has one counterpart at most, of the same step, phase, module, function, line and op;
 *                 and it is the other way round too.
 *
 * Lines of the two files are paired first, by their text, so a line that was put in moves nothing. Within a step the
 * allocations are paired in order (replay/diff/lcs.h); between traces that carry no net the bytes asked for count as
 * well. What remains is paired in order again: those of lines that the other file does not have by all but the line,
 * so a line that was edited is still the same one; those without a net by all but the bytes. What is then still alone
 * is paired by its occurrence among those of the same place: it has moved in time.
 */
#ifndef RPL_ALIGN_H
#define RPL_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"
#include "replay/trace/trace.h"

/*
 * An allocation.
 *
 * seq       its event; block, bytes, requested, tensor, place as in the event; category: at first
 * step      -1 the setup
 * key       stands for phase, module, function, line, op, name of a parameter, and whether it is done a second time
 * free_seq, free_location   when it is given back, and where; 0: it is not
 * edited    the same without the line, where the other file does not have it, or without the bytes, where they count;
 *           else 0
 * mate      number of the counterpart in the other trace + 1; 0: there is none
 * is_moved  it has one, but not in the same order
 */
struct rpl_alloc {
    uint64_t seq;
    uint64_t free_seq;
    uint64_t block;
    uint64_t bytes;
    uint64_t requested;
    uint64_t key;
    uint64_t edited;
    int64_t step;
    uint32_t tensor;
    uint32_t location;
    uint32_t free_location;
    uint32_t mate;
    uint8_t category;
    bool is_moved;
};

/*
 * Of one trace.
 *
 * allocs      alloc_count of them, in order
 * frees       numbers of those that are given back, in the order of that; free_count of them
 * lines       text and number of lines of its net; line_mates: by number (from 1), that of the other file's with the
 *             same text; 0: it has none
 * line_edits   likewise, of those without: the line whose allocations the first of its own were paired with
 */
struct rpl_line_text {
    const char *text;
    size_t indent;
    size_t len;
};
struct rpl_align_side {
    struct rpl_index *index;
    struct rpl_trace *trace;
    struct rpl_alloc *allocs;
    size_t alloc_count;
    size_t alloc_cap;
    uint32_t *frees;
    size_t free_count;
    size_t free_cap;
    struct rpl_line_text *lines;
    size_t line_count;
    uint32_t *line_mates;
    uint32_t *line_edits;
};
struct rpl_align {
    struct rpl_align_side a;
    struct rpl_align_side b;
};

/*
 * Align. Zero-initialise `out`; release it also after a failure. The indexes are borrowed. Reads each trace once; near
 * linear. progress may be NULL; it is told of the events of both. Errors: those of reading them; VS_E_STOPPED where
 * progress says so.
 */
VS_MUST_USE enum vs_status rpl_align_fill(struct rpl_align *out, struct rpl_index *a,
                                          struct rpl_index *b, rpl_progress_fn *progress,
                                          void *user, struct vs_error *err);
/*
 * Where A is looked at in another step than B: pair the allocations of A's step `step_a` with those of B's `step_b`
 * before all others of these two steps; what then is alone (an optimizer's state, which only one of the steps makes)
 * goes by the number of the step again.
 */
void rpl_align_cross(struct rpl_align *align, int64_t step_a, int64_t step_b);
/* By the number of the step alone, as at first. */
void rpl_align_uncross(struct rpl_align *align, int64_t step_a, int64_t step_b);
void rpl_align_release(struct rpl_align *align);

/*
 * The other file's number of `line`, also where it was edited. Where one has no file, or not the line, it is the same
 * in both. 0: it is not there.
 */
uint32_t rpl_align_line(const struct rpl_align_side *side, uint32_t line);
/* Number of the first allocation after event `seq`; alloc_count: there is none. O(log). */
size_t rpl_align_after(const struct rpl_align_side *side, uint64_t seq);

#endif
