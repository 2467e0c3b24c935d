/*
 * planner/curve.h - the least cost of re-runs against the peak: every placement that is worth considering.
 *
 * For:            lang/plan/, which replays the points and chooses among them.
 * Must not know:  where the chain comes from.
 * Invariant:      from point to point the peak falls, the cost rises, and the arithmetic does not fall.
 */
#ifndef PLN_CURVE_H
#define PLN_CURVE_H

#include "planner/chain.h"

/* Slots of a table of solve.h. More give finer points and take proportionally longer. */
#define PLN_SLOTS 400

/* The first point has no checkpoint, the last one the least peak that was found. */
struct pln_curve {
    struct pln_plan *points;
    size_t count;
    size_t cap;
};

/*
 * Fill *out (zeroed or released) with the curve of a chain of at least one stage, without selective regions. Solves it
 * once for budgets up to the peak without checkpoints and, where that was quick, again with finer units for the smaller
 * budgets. 152 stages of which any may begin or end a region take less than 0.1 s.
 */
void pln_curve_fill(struct pln_curve *out, const struct pln_chain *chain);

/*
 * The same with selective regions, from one table with a third of the slots. Without a stage where such a region keeps
 * anything (`saved`), the curve has only its first point.
 */
void pln_curve_fill_selective(struct pln_curve *out, const struct pln_chain *chain);
void pln_curve_release(struct pln_curve *curve);

/* The first point, and so the cheapest, whose peak is at most `bytes`; `count` where there is none. */
size_t pln_curve_find(const struct pln_curve *curve, uint64_t bytes);

#endif
