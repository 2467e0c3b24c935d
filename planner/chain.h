/*
 * planner/chain.h - a chain of stages, where it may be checkpointed, and what a placement of checkpoints costs.
 *
 * For:            planner/solve.h, which finds placements; lang/plan/, which measures chains and applies placements.
 * Must not know:  the engine, the net language, events.
 * Invariant:      the bytes and the cost of a placement follow from the figures of the stages alone.
 *
 * The model. A training step runs the stages 0 … n-1 forward and then backward, in the opposite order; the last one
 * ends with the loss. A cut is a position between stages: cut i is before stage i. A region [first, end) is a number
 * of consecutive stages inside a checkpoint: running forward, it leaves only what crosses cut `end`; when backward
 * arrives at it, it runs forward again, now recording, and then backward. Regions nest as checkpoints do: a region
 * inside another one is in force in each of its runs. A stage outside of all regions, or of a region that is
 * being run again, is kept: it runs once and its saved tensors stay until its backward.
 *
 * A selective region leaves more than its end: what some ops in it compute (`saved` of its stages), and does not run
 * these again. It has no region inside.
 */
#ifndef PLN_CHAIN_H
#define PLN_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/*
 * A stage. Bytes; "start" is what is alive when the forward of the stage begins, the stage's input included.
 *
 * crossing      what crosses the cut before the stage: its input. The gradient of it has the same size
 * kept          by how much recording the stage changes what is alive, output included; negative where it frees more
 * kept_peak     most that is alive above start while it runs forward recording
 * dropped_peak  the same where nothing is saved
 * backward_peak most that is alive above start during its backward, with what it has kept and the gradient of its
 *               output; without the gradients of parameters of later stages
 * gradients     gradients of parameters that its backward leaves
 * input_freed   bytes of its input that recording it frees, contained in `kept`; a checkpoint that begins here holds
 *               them
 * cost          of running it forward once, in any unit; plans are chosen by it
 * tail_cost     the part of the cost of this stage and those before it that a checkpoint ending here does not run
 *               again, because nothing is saved after it; of a checkpoint that begins later, all of its cost
 * flops, tail_flops   the arithmetic in both
 * saved         bytes that a selective region keeps of the stage; saved_cost, saved_tail_cost, saved_flops,
 *               saved_tail_flops: parts of the four that it does not run again therefore
 */
struct pln_stage {
    uint64_t crossing;
    int64_t kept;
    uint64_t kept_peak;
    uint64_t dropped_peak;
    uint64_t backward_peak;
    uint64_t gradients;
    uint64_t input_freed;
    double cost;
    double tail_cost;
    double flops;
    double tail_flops;
    uint64_t saved;
    double saved_cost;
    double saved_tail_cost;
    double saved_flops;
    double saved_tail_flops;
};

/*
 * A run: `count` cuts, ascending, any two of which may be the ends of a region. Two runs are disjoint, or one lies
 * between two neighbouring cuts of the other.
 */
struct pln_run {
    uint32_t *cuts;
    size_t count;
};

struct pln_chain {
    struct pln_stage *stages;
    size_t count;
    struct pln_run *runs;
    size_t run_count;
};

/* Frees what the chain holds and zeroes it. */
void pln_chain_release(struct pln_chain *chain);

struct pln_region {
    uint32_t first;
    uint32_t end;
    bool is_selective;
};

/*
 * A placement. Regions are sorted by `first`, outer ones before inner ones; zero-initialised: no checkpoint.
 *
 * peak  bytes above the start of stage 0 that the step needs
 * cost  of all stages that are run again; flops: their arithmetic
 */
struct pln_plan {
    struct pln_region *regions;
    size_t count;
    size_t cap;
    uint64_t peak;
    double cost;
    double flops;
};

void pln_plan_release(struct pln_plan *plan);
void pln_plan_add(struct pln_plan *plan, struct pln_region region);

/*
 * Whether the regions are sorted and properly nested, each [first, end) with both ends among the cuts of one run, and
 * none ends where an enclosing one ends or where the chain ends, and none is inside a selective one.
 */
VS_MUST_USE bool pln_plan_is_legal(const struct pln_chain *chain, const struct pln_plan *plan);

/* Sets peak, cost and flops of a legal plan. O(stages times the depth of nesting). */
void pln_plan_measure(const struct pln_chain *chain, struct pln_plan *plan);

#endif
