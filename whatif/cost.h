/*
 * whatif/cost.h - the time that recomputation would take on the GPU, from the times of the same ops in the recording.
 *
 * For:            the result of a what-if, beside the share of the arithmetic.
 * Must not know:  how the what-if was run, drawing.
 * Invariant:      an op that was not measured, or that has other sizes in the what-if, has no time: it is counted,
 *                 never estimated.
 *
 * Ops are identified by module, function, line, op, arithmetic and the number of bytes read; the time of several that
 * agree in all of these is their mean.
 */
#ifndef WIF_COST_H
#define WIF_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "replay/trace/trace.h"

struct wif_costs;

/*
 * Means per training step of the run.
 *
 * is_measured  the recording has times of a GPU; otherwise the rest is 0
 * rerun_ns     time of recomputed ops; rerun_ops: their number; unmeasured: the number of them without a time
 * first_ns     time of the ops of the recording, without those recomputed there
 */
struct wif_cost {
    bool is_measured;
    double rerun_ns;
    double rerun_ops;
    double unmeasured;
    double first_ns;
};

/* The share of a step's time that is recomputation, 0 … 1. */
double wif_cost_share(const struct wif_cost *cost);

/*
 * Collect the times of `base`, which is read once. The caller frees *out; NULL on failure. Errors: those of reading
 * it.
 */
VS_MUST_USE enum vs_status wif_costs_new(struct rpl_trace *base, struct wif_costs **out,
                                         struct vs_error *err);
void wif_costs_free(struct wif_costs *costs);

/* The cost of `run`, a what-if of the same net, or the recording itself. Reads it once if the recording has times. */
VS_MUST_USE enum vs_status wif_cost_fill(const struct wif_costs *costs, struct rpl_trace *run,
                                         struct wif_cost *out, struct vs_error *err);

/* Write the member gpu_cost (docs/formats/json.md), of a training step; null where nothing was measured. */
void wif_cost_json(const struct wif_cost *cost, struct vs_json *json);

#endif
