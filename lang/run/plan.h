/*
 * lang/run/plan.h - where to checkpoint a net: the values `auto` and `auto:BYTES` of the toggle `checkpoint`.
 *
 * For:            lang/run/ itself; whatif/, which keeps the results between runs and lists placements.
 * Must not know:  traces.
 * Invariant:      a placement is chosen by runs of the net with it, on meta; the same settings give the same placement.
 *
 * docs/internals/planner.md describes how.
 */
#ifndef LANG_PLAN_H
#define LANG_PLAN_H

#include "base/attr.h"
#include "base/error.h"
#include "lang/run/run.h"

/*
 * Known placements of one net with one seed, by the values of the other toggles, which are added to: kept, later
 * runs need not measure the net again. Does not change what is chosen.
 */
struct lang_plans;
struct lang_plans *lang_plans_new(void) VS_MUST_USE;
void lang_plans_free(struct lang_plans *plans);

/*
 * A placement. peak: torch.cuda.max_memory_allocated() of a run with it, in bytes; *_flops: of all steps of that run;
 * text: the regions (lang/run/plan_chain.h), "" for none.
 */
struct lang_placement {
    uint64_t peak;
    uint64_t recompute_flops;
    uint64_t total_flops;
    char *text;
};
void lang_placement_release(struct lang_placement *placement);

/* The budget that asks for the least peak. */
#define LANG_PLAN_LEAST 0

/*
 * The cheapest placement whose peak is at most `budget` bytes, or the cheapest of those with the least peak. Runs the
 * net about ten times, of up to three steps. settings->toggles has the values in force; settings->library and ->plans
 * are set.
 *
 * VS_E_VALUE: the budget is smaller than the least peak, which the text has. VS_E_STOPPED: settings->stop. Others: the
 * net fails.
 */
VS_MUST_USE enum vs_status lang_plan_find(const struct lang_settings *settings, uint64_t budget,
                                          struct lang_placement *out, struct vs_error *err);

#endif
