/*
 * replay/report/uncertainty.h - whether a trace's peak is exact or a lower bound, and the GPU that the run is for.
 *
 * For:            the report, the TUI.
 * Must not know:  how the engine finds the sizes that it models.
 * Invariant:      nothing is guessed: memory that is not modelled is reported as such, with the size at which it would
 *                 matter.
 */
#ifndef RPL_UNCERTAINTY_H
#define RPL_UNCERTAINTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/target.h"
#include "replay/trace/trace.h"

/*
 * is_tensors_only  library workspaces and kernel scratch are missing from all figures: no target was set, and no GPU
 *                  measured
 * allocs    number of allocations by ops whose workspace only the device determines (base/unmodelled.def); 0: the peak
 *           is exact
 * highest   the most allocated bytes right after one of these, which is event `event` at `location`. Had that op taken
 *           more than the peak minus `highest` for its workspace, the peak would be higher and at that event
 * what      describes that op's workspace; static text
 */
struct rpl_uncertainty {
    bool is_tensors_only;
    uint64_t allocs;
    uint64_t highest;
    uint64_t event;
    uint32_t location;
    const char *what;
};

/*
 * Fill `out` from the trace alone. Reads the trace once if it is a run of a net with a target or with a GPU's
 * measurements; otherwise it reads no events. Errors: those of reading it.
 */
VS_MUST_USE enum vs_status rpl_uncertainty_fill(struct rpl_uncertainty *out,
                                                struct rpl_trace *trace, struct vs_error *err);

/* Whether the trace has workspaces measured on a GPU, in that run or replayed from an earlier one. */
bool rpl_is_measured(const struct rpl_trace *trace);

/* The target GPU of the run; NULL: none was set. */
const struct vs_target *rpl_target(const struct rpl_trace *trace);

/* Capacity of the device in bytes, as given when recording, otherwise the target's; 0: not known. */
uint64_t rpl_capacity(const struct rpl_trace *trace);

/*
 * State for rpl_uncertainty_note: which ops of the trace are in base/unmodelled.def. Zero-initialise; release it.
 *
 * what       by string id of an op: its text in the table; NULL: the op is not in it. Valid where is_known
 * is_measured    whether the run used measured workspaces. Then only the locations count at which one was missing:
 * is_unmeasured  by location id, `locations` flags
 */
struct rpl_uncertainty_ops {
    const char **what;
    bool *is_known;
    size_t cap;
    bool is_begun, is_measured;
    bool *is_unmeasured;
    size_t locations;
};
/* Fill `what` of an uncertainty whose other fields are known: the text about the op of `location`. */
void rpl_uncertainty_explain(struct rpl_uncertainty *uncertainty, const struct rpl_trace *trace);
/*
 * Take note of an allocation: where its op is in base/unmodelled.def it is counted in `uncertainty`, and replaces
 * `highest` if it is higher. For readers that pass over all events anyway; zero-initialise `uncertainty` before the
 * first.
 *
 * seq        event number of the allocation
 * location   source location of the event, which has the op
 * allocated  allocated bytes right after it
 *
 * O(1), amortised.
 */
void rpl_uncertainty_note(struct rpl_uncertainty *uncertainty, struct rpl_uncertainty_ops *ops,
                          const struct rpl_trace *trace, uint64_t seq, uint32_t location,
                          uint64_t allocated);
void rpl_uncertainty_ops_release(struct rpl_uncertainty_ops *ops);

#endif
