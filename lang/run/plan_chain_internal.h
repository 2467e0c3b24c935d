/*
 * lang/run/plan_chain_internal.h - the second half of making a chain: stages and cuts.
 *
 * For:            plan_chain.c and plan_stages.c only.
 * Must not know:  how runs are found.
 * Invariant:      the runs of struct lang_plan_chain and those of its struct pln_chain have the same numbers.
 */
#ifndef LANG_PLAN_CHAIN_INTERNAL_H
#define LANG_PLAN_CHAIN_INTERNAL_H

#include "lang/run/plan_chain.h"

/* Makes the stages and the cuts of all runs; drops runs without two cuts. */
void lang_plan_stages_fill(struct lang_plan_chain *chain);

#endif
