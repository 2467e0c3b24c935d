/*
 * lang/run/plan_chain.h - the chain of a net: its stages, and which consecutive calls of modules may be checkpointed
 * together.
 *
 * For:            lang/run/plan.c.
 * Must not know:  how the passes are run, how placements are found.
 * Invariant:      each region of a legal plan of the chain has a text that lang/prelude/placement.py can apply.
 *
 * docs/internals/planner.md describes what a chain is.
 */
#ifndef LANG_PLAN_CHAIN_H
#define LANG_PLAN_CHAIN_H

#include "base/attr.h"
#include "base/text.h"
#include "lang/run/plan_pass.h"
#include "planner/chain.h"

/*
 * A call of a module in a pass. Calls are numbered in the order in which they begin; call 0 is that of the net.
 *
 * enter, exit  numbers of its marks
 * parent       the call inside which it was made
 * nth          how many calls of the same module inside `parent` came before it
 * is_repeated  the module is called more than once in the pass
 * is_usable    it may be in a region: what it does depends on nothing but where it is called, and each module around
 *              it is called once
 */
struct lang_plan_call {
    uint32_t enter;
    uint32_t exit;
    uint32_t parent;
    uint32_t nth;
    bool is_repeated;
    bool is_usable;
};

/*
 * The calls of a run of the chain, which has the same number. Between its cuts a and b lie the calls with the indices
 * from[a] … from[b] - 1 in `calls`.
 */
struct lang_plan_run {
    uint32_t *calls;
    size_t count, cap;
    size_t *from;
};

/* Zero-initialised: empty. Borrows the pass. outer: number of runs that are not inside a call of another one. */
struct lang_plan_chain {
    const struct lang_pass *pass;
    struct lang_plan_call *calls;
    size_t call_count, call_cap;
    struct lang_plan_run *runs;
    size_t run_count, run_cap;
    size_t outer;
    uint32_t *stage_of; /* for each section the stage that it belongs to */
    uint32_t *outer_of; /* for each section the call of an outer run that it lies in; 0: none */
    struct pln_chain chain;
};

/* Finds calls, runs and stages of a pass without checkpoints. dropped_peak of the stages is that of a kept stage. */
void lang_plan_chain_fill(struct lang_plan_chain *out, const struct lang_pass *pass);
void lang_plan_chain_release(struct lang_plan_chain *chain);

/*
 * Sets dropped_peak from a pass in which each call of the outer runs was a checkpoint of its own
 * (lang_plan_singles_text). Leaves it alone where the calls came in another order.
 */
void lang_plan_chain_drop(struct lang_plan_chain *chain, const struct lang_pass *dropped);

/*
 * Appends a plan as text: regions in parentheses, with the paths of the modules that are called in it, one after the
 * other, and regions inside; `path#n` is the call number n of the module inside its parent, which is the module whose
 * path is left without the last name: "(layer1.0 (layer1.1 layer1.2) layer2.0) (layer2.1.relu#1 layer2.1.conv3)".
 */
void lang_plan_text(const struct lang_plan_chain *chain, const struct pln_plan *plan,
                    struct vs_text *out);
/* The same for each call of the outer runs alone. */
void lang_plan_singles_text(const struct lang_plan_chain *chain, struct vs_text *out);

#endif
