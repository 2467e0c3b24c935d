/*
 * planner/solve_internal.h - what a table is, for the files that fill it.
 *
 * For:            planner/solve.c, planner/solve_setup.c.
 * Must not know:  anything but the chain.
 */
#ifndef PLN_SOLVE_INTERNAL_H
#define PLN_SOLVE_INTERNAL_H

#include "base/mem.h"
#include "planner/solve.h"

/*
 * The plans of one window (i, k): for each of the slots low … full - 1 the cheapest one that was found to fit, its cost
 * and what it needs, in slots and fractions of one.
 *
 * from   the slot at which the choice was made that this plan begins with: where the sizes are no multiples of the
 *        unit, it may be above the slot that the plan fits
 * low    first slot where a plan fits; slots + 1: none
 * full   first slot where nothing is run again, which needs full_need; slots + 1: none; never below low. That plan is
 *        stored TOGETHER times behind the others
 */
struct row {
    float *cost;
    float *need;
    uint16_t *from;
    int64_t low;
    int64_t full;
    float full_need;
};

/*
 * A part of a window with a row of its own: `add` slots are alive beside it, so that the choice of slot m takes the
 * part's plan of slot m - less. is_full: always the plan that runs nothing again.
 */
struct part {
    const struct row *row;
    int64_t less;
    float add;
    bool is_full;
};

/*
 * A region that begins at cut i.
 *
 * low     first slot at which it can be considered
 * floor   what its first run needs, in slots
 * behind  the stages after it; inside: its own, run again
 */
struct drop {
    uint32_t end;
    bool is_selective;
    float cost;
    int64_t low;
    float floor;
    struct part behind;
    struct part inside;
};

/* A cut of a run. */
struct use {
    const struct pln_run *run;
    size_t at;
};

/*
 * per_byte   slots for each byte
 * rows       rows of the windows that end with stage k, from stage lowest[k] on: rows[k][i - lowest[k]]; NULL where no
 *            window ends there
 * uses       the runs that contain cut i: uses[first_use[i]] … uses[first_use[i + 1] - 1]
 * drops, cost, need   of the row that is being made: cost[m] and need[m] are of the best choice made at slot m, and
 *            have a capacity of TOGETHER slots more
 * sum_…      of the stages before each cut
 */
struct pln_table {
    const struct pln_chain *chain;
    double per_byte;
    int64_t slots;
    bool is_plain;
    struct row **rows;
    uint32_t *lowest;
    struct vs_arena *cells;
    struct use *uses;
    size_t *first_use;
    struct drop *drops;
    size_t drop_count, drop_cap;
    float *cost;
    float *need;
    double *sum_cost;
    double *sum_saved_cost;
    uint64_t *sum_saved;
    uint64_t *sum_gradients;
    uint64_t work;
};

/* Fills what is fixed before the rows: sums, uses and the windows that there are. t->chain is set. */
void pln_table_set_up(struct pln_table *t);

#endif
