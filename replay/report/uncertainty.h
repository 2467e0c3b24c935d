/*
 * replay/report/uncertainty.h - how sure a trace's peak is: what its figures leave out, and whether the run fits the GPU it is for.
 *
 * For:            the report, the TUI.
 * Must not know:  how the engine finds the sizes it does know.
 * Invariant:      nothing is guessed: what is not known is said to be so, with the bytes at which it would matter.
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
 * is_tensors_only  no target was set, and no GPU of ours measured: library workspaces and kernel scratch are not in the figures at all
 * allocs    allocations by ops whose workspace nobody can tell without the device (base/unmodelled.def); 0: the peak is what it says
 * highest   most allocated bytes right after one of these, at event `event`, where the program was in `place`: had the op there taken more
 *           than the peak minus this, the peak would be higher, and lie there
 * what      of the op there, in words
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
 * That of a run, told by itself. Reads the trace once where there may be something to tell: only of a net of ours, with a target or a GPU's measurements.
 * Errors: those of reading it.
 */
VS_MUST_USE enum vs_status rpl_uncertainty_fill(struct rpl_uncertainty *out,
                                                struct rpl_trace *trace, struct vs_error *err);

/* Does it have what a GPU of ours worked in, recorded there or repeated? */
bool rpl_is_measured(const struct rpl_trace *trace);

/* The GPU a trace is for; NULL: none. */
const struct vs_target *rpl_target(const struct rpl_trace *trace);

/* Bytes of the device: what was said when it was recorded, else the target's; 0: not known. */
uint64_t rpl_capacity(const struct rpl_trace *trace);

/*
 * While a trace is passed through: which of its ops are of base/unmodelled.def. Zero-initialise `ops`, release it.
 */
struct rpl_uncertainty_ops {
    const char **what; /* by string id; NULL: nothing to tell */
    bool *is_known;
    size_t cap;
    /* of a run that repeats what was measured: the places where it met what was not, which are the only ones that count */
    bool is_begun, is_measured;
    bool *is_unmeasured;
    size_t locations;
};
void rpl_uncertainty_note(struct rpl_uncertainty *bound, struct rpl_uncertainty_ops *ops,
                          const struct rpl_trace *trace, uint64_t seq, uint32_t location,
                          uint64_t allocated);
void rpl_uncertainty_ops_release(struct rpl_uncertainty_ops *ops);

#endif
