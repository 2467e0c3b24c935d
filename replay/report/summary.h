/*
 * replay/report/summary.h - the figures of a trace: its peak, its phases, what autograd keeps, what was recomputed.
 *
 * For:            the report, what-if, diff, the TUI's header.
 * Must not know:  how the figures are shown.
 * Invariant:      one pass over the events; the same trace gives the same figures.
 *
 * allocated counts block bytes, as torch.cuda.memory_allocated() does; requested the bytes asked for; reserved the segments.
 */
#ifndef RPL_SUMMARY_H
#define RPL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/report/uncertainty.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

/*
 * The highest point of a trace.
 *
 * allocated      highest allocated bytes; first reached at event `event` (0: nothing was ever allocated)
 * requested, active, reserved   the highest of each over the trace, which may lie elsewhere: what max_memory_… says
 * by_category    allocated bytes at `event`; they add up to `allocated`
 * requested_there, reserved_there   right after `event`
 * step, phase, place, is_recompute  where the program was at `event`
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
 * One phase of a step; with accumulation the parts of one phase are one: the end of the last, the highest of all. A peak is the
 * highest value since the phase before ended.
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

/* phases: phase_count of them in the order they first came. recomputed_ops: see rpl_summary. */
struct rpl_step_figures {
    int64_t step;
    double loss;
    uint64_t recomputed_ops;
    struct rpl_phase phases[VS_PHASE_COUNT];
    size_t phase_count;
};

/*
 * Distinct storages that autograd holds when the last loss ends, right after `event`; tensors and bytes without parameters, buffers and
 * batch.
 */
struct rpl_saved {
    uint64_t event;
    uint64_t tensors;
    uint64_t bytes;
    uint64_t bytes_all;
};

/* The first allocation that was refused for good. event 0: none was. */
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
 * steps       step_count of them; the setup is step -1
 * bound       how sure the peak is
 * ends        state after the last event
 * alloc_events  events of the allocator: alloc, free, segment_*, oom; of an imported trace as the recording has them
 * device      its number, of an imported trace; else 0
 * flops       arithmetic of all ops; recompute_flops: of those inside re-runs
 */
struct rpl_summary {
    struct rpl_peak peak;
    struct rpl_uncertainty bound;
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
};

/*
 * Fill `out` (zeroed or filled before; its memory is used again) from the whole trace.
 *
 * VS_E_DAMAGED: events that cannot follow each other. Errors of the file as sto_reader_events.
 */
VS_MUST_USE enum vs_status rpl_summary_fill(struct rpl_summary *out, struct rpl_trace *trace,
                                            struct vs_error *err);
/* Is what autograd holds there counted in tensors and bytes? */
bool rpl_counts_as_saved(const struct rpl_block *block);
void rpl_summary_release(struct rpl_summary *summary);

#endif
