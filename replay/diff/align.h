/*
 * replay/diff/align.h - which allocation of one trace corresponds to which of another, and which line of one net file
 * to which of another.
 *
 * For:            replay/diff/diff.c, replay/diff/pairs.c.
 * Must not know:  peaks, how anything is shown.
 * Invariant:      an allocation has at most one counterpart, and is that one's counterpart: of the same step, phase,
 *                 module, function and op, and between nets of the same line.
 *
 * First the lines of the two files are paired by their text, so an inserted line moves nothing. Then the allocations
 * of each step are paired in order (replay/diff/lcs.h). Between traces without a net the requested bytes must agree as
 * well, and the numbers of lines need not, neither the line itself nor those in paths of modules: without the files it
 * is not known which line is which. Those left over are paired in order again: allocations of lines that the other
 * file does not have by everything but the line, so an edited line is still the same one; those without a net by
 * everything but the bytes. Those still left over are paired by their occurrence among the allocations of the same
 * location: they have moved in time.
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
 * seq       its event; block, bytes, requested, tensor, location as in the event; category: the first one
 * step      -1: the set-up
 * key       hash of phase, module, function, line (between nets), op, name of a parameter, and whether it is recomputed
 * free_seq, free_location   event and location of its free; 0: not freed within the trace
 * edited    the same hash without the line, if the other file does not have the line; or without the bytes, if these
 *           are part of key; otherwise 0
 * mate      number of the counterpart in the other trace + 1; 0: there is none
 * is_moved  it has a counterpart, but in another order
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
 * One trace.
 *
 * allocs      alloc_count allocations in order
 * frees       numbers of those that are freed, in the order of their frees; free_count of them
 * lines       text of the lines of its net
 * line_mates  by line number (from 1): the line of the other file with the same text; 0: there is none
 * line_edits  likewise for lines without: the line whose allocations the first of its own were paired with
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
 * Align two traces. Zero-initialise `out`; release it also after a failure. The indexes are borrowed. Reads each trace
 * once; the cost is nearly linear. progress may be NULL; it is called with the events of both traces together.
 * VS_E_STOPPED: progress returned false. Other errors: those of reading the traces.
 */
VS_MUST_USE enum vs_status rpl_align_fill(struct rpl_align *out, struct rpl_index *a,
                                          struct rpl_index *b, rpl_progress_fn *progress,
                                          void *user, struct vs_error *err);
/*
 * For comparing different steps: pair the allocations of A's step `step_a` with those of B's `step_b` before all
 * others of these two steps. Allocations left over (optimizer state, which only one of the steps allocates) are paired
 * by the number of their step again.
 */
void rpl_align_cross(struct rpl_align *align, int64_t step_a, int64_t step_b);
/* Undo rpl_align_cross: pair by the number of the step alone. */
void rpl_align_uncross(struct rpl_align *align, int64_t step_a, int64_t step_b);
void rpl_align_release(struct rpl_align *align);

/*
 * The number in the other file of `line`, also if the line was edited; the same number if a trace has no file or its
 * file not the line. 0: the other file does not have it.
 */
uint32_t rpl_align_line(const struct rpl_align_side *side, uint32_t line);
/* Index of the first allocation after event `seq`; alloc_count: there is none. O(log). */
size_t rpl_align_after(const struct rpl_align_side *side, uint64_t seq);

#endif
