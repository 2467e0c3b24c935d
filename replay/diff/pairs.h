/*
 * replay/diff/pairs.h - the allocator's events of two traces side by side: which of one is which of the other, and
 * where each stands alone.
 *
 * For:            the diff views, which event of one trace is which of the other.
 * Must not know:  how anything is shown, why two events belong together: that is replay/diff/align.h.
 * Invariant:      each allocation and each free of both traces is in exactly one row, and those of a trace come in its
 *                 own order.
 *
 * Rows of both are allocations that the alignment has paired and that come in the same order, and the frees between
 * the same two of these whose blocks are paired. All others stand alone: those of A before those of B.
 */
#ifndef RPL_PAIRS_H
#define RPL_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/diff/align.h"

/*
 * SAME   in both
 * SIZE   in both, of different size
 * ONLY   the other trace has no such block
 * MOVED  it has, but does this elsewhere, or never
 */
enum rpl_pair_kind { RPL_PAIR_SAME, RPL_PAIR_SIZE, RPL_PAIR_ONLY, RPL_PAIR_MOVED };

/*
 * alloc_a, alloc_b   number of the allocation + 1 in its side of the alignment; 0: nothing here
 * seq_a, seq_b       event of this row, or the last one before it; 0: none
 * total_a, total_b   bytes allocated right after it
 * is_free            it is given back; else allocated
 */
struct rpl_pair_row {
    uint64_t seq_a;
    uint64_t seq_b;
    uint64_t total_a;
    uint64_t total_b;
    uint32_t alloc_a;
    uint32_t alloc_b;
    bool is_free;
    uint8_t kind;
};

/*
 * Rows that differ, one after the other, in one phase of one module: first … last, both included.
 *
 * delta      by how much they change what B has more than A, when they are over
 */
struct rpl_pair_stretch {
    uint64_t first;
    uint64_t last;
    int64_t delta;
};

/*
 * rows       row_count of them; never NULL once filled
 * stretches  stretch_count of them, in order
 * tops       of each RPL_PAIRS_BLOCK rows, which row has the highest total of A, and of B
 */
#define RPL_PAIRS_BLOCK 256
struct rpl_pair_top {
    size_t a;
    size_t b;
};
struct rpl_pairs {
    const struct rpl_align *align;
    struct rpl_pair_row *rows;
    size_t row_count;
    size_t row_cap;
    struct rpl_pair_stretch *stretches;
    size_t stretch_count;
    size_t stretch_cap;
    struct rpl_pair_top *tops;
};

/*
 * Lay them out. Zero-initialise `out`. The alignment is borrowed; it may change later, the rows stay as they are. Near
 * linear.
 */
void rpl_pairs_fill(struct rpl_pairs *out, const struct rpl_align *align);
void rpl_pairs_release(struct rpl_pairs *pairs);

/* The allocation that a row is about in A, or in B; NULL: none. */
const struct rpl_alloc *rpl_pair_alloc(const struct rpl_pairs *pairs,
                                       const struct rpl_pair_row *row, bool of_b);
/* Where the program is in a row: in A, or in B where A does nothing. Never NULL. */
const struct vs_location *rpl_pair_location(const struct rpl_pairs *pairs,
                                            const struct rpl_pair_row *row);

/* The last row whose event of B (or of A) is no later than `seq`; SIZE_MAX: there is none. O(log). */
size_t rpl_pairs_at(const struct rpl_pairs *pairs, bool is_b, uint64_t seq);
/*
 * How many rows there are up to event `seq` of B (or of A), those that only the other one has behind it among them.
 * O(log).
 */
size_t rpl_pairs_until(const struct rpl_pairs *pairs, bool is_b, uint64_t seq);
/*
 * Where the other trace is when B (or A) is right after event `seq`: as far after its last event up to the row of
 * `seq`, but before its own next allocation or free. Of a row of both each event is the other's. Never falls as `seq`
 * rises. O(log).
 */
uint64_t rpl_pairs_event(const struct rpl_pairs *pairs, bool of_b, uint64_t seq);
/* The stretch that has `row`, else the first one after it; stretch_count: there is none. O(log). */
size_t rpl_pairs_stretch(const struct rpl_pairs *pairs, size_t row);

/*
 * Rows first … last taken together: which have the highest totals, the first where there are more. O(rows /
 * RPL_PAIRS_BLOCK).
 */
struct rpl_pair_top rpl_pairs_top(const struct rpl_pairs *pairs, size_t first, size_t last);

#endif
