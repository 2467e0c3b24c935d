/*
 * whatif/cost.h - what the second runs of a checkpoint would take on the GPU, by what their first runs took when they
 * were recorded.
 *
 * For:            the answer of a what-if, beside the share of the arithmetic.
 * Must not know:  how the what-if was run, drawing.
 * Invariant:      an op that was not measured, or that now has other sizes, has no time: it is counted, never guessed.
 *
 * A first run is told by module, function, line and op, its arithmetic and how many bytes it reads; several that are
 * the same in all of this stand for their mean.
 */
#ifndef WIF_COST_H
#define WIF_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

struct wif_costs;

/*
 * All a training step, the mean over the run's.
 *
 * is_measured  the recording has times of a GPU; otherwise the rest is 0
 * rerun_ns     ops that ran a second time; rerun_ops: how many; unmeasured: of these, without a time
 * first_ns     ops of the recording, without those that ran a second time there
 */
struct wif_cost {
    bool is_measured;
    double rerun_ns;
    double rerun_ops;
    double unmeasured;
    double first_ns;
};

/* The share of a step's time that is a second run's, 0 … 1. */
double wif_cost_share(const struct wif_cost *cost);

/* The times of `base`, which is read once. The caller frees *out; NULL on failure. Errors: those of reading it. */
VS_MUST_USE enum vs_status wif_costs_new(struct rpl_trace *base, struct wif_costs **out,
                                         struct vs_error *err);
void wif_costs_free(struct wif_costs *costs);

/* Of `run`, a what-if on the same net, or the recording itself. Reads it once, where something was measured. */
VS_MUST_USE enum vs_status wif_cost_fill(const struct wif_costs *costs, struct rpl_trace *run,
                                         struct wif_cost *out, struct vs_error *err);

#endif
