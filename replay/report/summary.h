/*
 * replay/report/summary.h - the figures of a trace: its peak, its phases, what autograd saves, what was recomputed.
 *
 * For:            the report, what-if, diff, the TUI's header.
 * Must not know:  how the figures are shown.
 * Invariant:      one pass over the events; the same trace gives the same figures.
 *
 * "allocated" counts the bytes of blocks, as torch.cuda.memory_allocated() does, "requested" the bytes before rounding,
 * "reserved" the bytes of segments.
 */
#ifndef RPL_SUMMARY_H
#define RPL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/report/casts.h"
#include "replay/report/uncertainty.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

/*
 * The peak of a trace.
 *
 * allocated      the highest allocated bytes, first reached at event `event` (0: nothing was ever allocated)
 * requested, active, reserved   the highest of each over the whole trace, possibly at other events: PyTorch's
 *                               max_memory_…
 * by_category    allocated bytes at `event`, which add up to `allocated`
 * requested_there, reserved_there   bytes right after `event`
 * step, phase, location, is_recompute  of `event`; is_recompute: within a checkpoint's recomputation
 */
struct rpl_peak {
    uint64_t allocated;
    uint64_t requested;
    uint64_t active;
    uint64_t reserved;
    uint64_t event;
    uint64_t requested_there;
    uint64_t reserved_there;
    int64_t step;
    enum vs_phase phase;
    uint32_t location;
    bool is_recompute;
    uint64_t by_category[VS_CATEGORY_COUNT];
};

/*
 * One phase of a step. With gradient accumulation a phase has several parts, which count as one: `_end` is at the end
 * of the last part, `_peak` the highest of all parts. A peak includes the value at which the phase begins.
 */
struct rpl_phase {
    enum vs_phase phase;
    uint64_t first_seq;
    uint64_t allocated_end;
    uint64_t allocated_peak;
    uint64_t requested_end;
    uint64_t requested_peak;
    uint64_t reserved_end;
    uint64_t reserved_peak;
};

/* A step: its phases in the order in which they first begin; loss is NAN where none was recorded. */
struct rpl_step_figures {
    int64_t step;
    double loss;
    uint64_t recomputed_ops;
    struct rpl_phase phases[VS_PHASE_COUNT];
    size_t phase_count;
};

/*
 * Distinct storages that autograd saves, right after `event`, where the last loss ends. tensors and bytes are without
 * parameters, buffers and batch; bytes_all is with them. is_at_loss: false where the recording ends before the last
 * forward or loss does, by an out-of-memory error or because it was cut off; then `event` is its last one.
 */
struct rpl_saved {
    uint64_t event;
    bool is_at_loss;
    uint64_t tensors;
    uint64_t bytes;
    uint64_t bytes_all;
};

/* The first allocation that failed for good, and the state then. event 0: none failed. */
struct rpl_oom {
    uint64_t event;
    uint64_t requested;
    uint64_t segment;
    uint64_t device_free;
    uint64_t allocated;
    uint64_t reserved;
    int64_t step;
    enum vs_phase phase;
    uint32_t location;
};

/*
 * steps         step_count of them; the set-up is step -1
 * uncertainty   whether the peak is exact or a lower bound
 * end_…         state after the last event
 * alloc_events  number of allocator events: alloc, free, segment_*, oom; of an imported trace as the recording has them
 * device        number of the device, of an imported trace; otherwise 0
 * parameters    elements of all parameters when the first step begins
 * flops         arithmetic of all ops; recompute_flops: of those recomputed
 * casts         copies that autocast makes in another dtype
 */
struct rpl_summary {
    struct rpl_peak peak;
    struct rpl_uncertainty uncertainty;
    struct rpl_step_figures *steps;
    size_t step_count;
    size_t step_cap;
    struct rpl_saved saved;
    struct rpl_oom oom;
    uint64_t events;
    uint64_t alloc_events;
    uint64_t device;
    uint64_t parameters;
    uint64_t end_allocated;
    uint64_t end_reserved;
    uint64_t end_segments;
    uint64_t end_blocks;
    uint64_t flops;
    uint64_t recompute_flops;
    struct rpl_casts casts;
};

/*
 * Fill `out` from the whole trace. `out` is zero or was filled before, and its memory is used again; the caller
 * releases it, also after a failure. O(events).
 *
 * VS_E_DAMAGED: the events are inconsistent. Others: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_summary_fill(struct rpl_summary *out, struct rpl_trace *trace,
                                            struct vs_error *err);
/* The same; `each` is called for every event, for those who need more of them than the figures. */
typedef void rpl_summary_each_fn(void *user, uint64_t seq, const struct vs_event *event);
VS_MUST_USE enum vs_status rpl_summary_fill_each(struct rpl_summary *out, struct rpl_trace *trace,
                                                 rpl_summary_each_fn *each, void *user,
                                                 struct vs_error *err);
/*
 * Fill what does not come from events, of a summary whose other figures are known: losses, what the run itself noted,
 * and the text of the uncertainty.
 */
void rpl_summary_complete(struct rpl_summary *out, const struct rpl_trace *trace);
/* Whether a block that autograd saves counts in `tensors` and `bytes` of struct rpl_saved. */
bool rpl_counts_as_saved(const struct rpl_block *block);
void rpl_summary_release(struct rpl_summary *summary);

#endif
