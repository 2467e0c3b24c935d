/*
 * replay/diff/pairs.h - the allocator events of two traces side by side: corresponding ones in one row, the others in
 * rows of their own.
 *
 * For:            the diff views; finding the event of one trace that corresponds to one of the other.
 * Must not know:  how anything is shown, why two events correspond: that is replay/diff/align.h.
 * Invariant:      each alloc and free of both traces is in exactly one row, and those of a trace are in its order.
 *
 * Rows of both traces are allocations that the alignment has paired and that are in the same order, and, between two
 * such rows, frees of paired blocks. All others have rows of their own: those of A before those of B.
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
 * MOVED  the other trace has it, but allocates or frees it elsewhere, or never frees it
 */
enum rpl_pair_kind { RPL_PAIR_SAME, RPL_PAIR_SIZE, RPL_PAIR_ONLY, RPL_PAIR_MOVED };

/*
 * alloc_a, alloc_b   index of the allocation + 1 in its side of the alignment; 0: this trace has no event here
 * seq_a, seq_b       event of this row, or the last one before it; 0: none
 * total_a, total_b   bytes allocated right after it
 * is_free            a free; otherwise an alloc
 * kind               enum rpl_pair_kind
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
 * A range of consecutive rows that differ, within one phase of one module: first … last, both included.
 *
 * delta  by how much they change total_b - total_a, in bytes
 */
struct rpl_pair_stretch {
    uint64_t first;
    uint64_t last;
    int64_t delta;
};

/*
 * rows       row_count rows; never NULL once filled
 * stretches  stretch_count ranges, in order
 * tops       per RPL_PAIRS_BLOCK rows: the rows with the highest totals of A and of B
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
 * Fill `out`, which is zero-initialised. The alignment is borrowed; if it changes later, the rows stay as they are.
 * Nearly linear.
 */
void rpl_pairs_fill(struct rpl_pairs *out, const struct rpl_align *align);
void rpl_pairs_release(struct rpl_pairs *pairs);

/* The allocation of A, or of B, in a row; NULL: none. */
const struct rpl_alloc *rpl_pair_alloc(const struct rpl_pairs *pairs,
                                       const struct rpl_pair_row *row, bool of_b);
/* The location of a row: of A's event, or of B's if A has none. Never NULL. */
const struct vs_location *rpl_pair_location(const struct rpl_pairs *pairs,
                                            const struct rpl_pair_row *row);

/* The last row whose event of B (or of A) is no later than `seq`; SIZE_MAX: there is none. O(log). */
size_t rpl_pairs_at(const struct rpl_pairs *pairs, bool is_b, uint64_t seq);
/*
 * The number of rows up to event `seq` of B (or of A), including following rows that only the other trace has. O(log).
 */
size_t rpl_pairs_until(const struct rpl_pairs *pairs, bool is_b, uint64_t seq);
/*
 * The event of the other trace that corresponds to event `seq` of B (or A): as many events after its event in the row
 * of `seq` as `seq` is after its own, but before its next alloc or free. The two events of a row of both traces
 * correspond to each other. Never decreases as `seq` increases. O(log).
 */
uint64_t rpl_pairs_event(const struct rpl_pairs *pairs, bool of_b, uint64_t seq);
/*
 * The index of the range that contains `row`, otherwise of the first one after it; stretch_count: there is none.
 * O(log).
 */
size_t rpl_pairs_stretch(const struct rpl_pairs *pairs, size_t row);

/* The rows with the highest totals among first … last; the first of several. O(rows / RPL_PAIRS_BLOCK). */
struct rpl_pair_top rpl_pairs_top(const struct rpl_pairs *pairs, size_t first, size_t last);

#endif
