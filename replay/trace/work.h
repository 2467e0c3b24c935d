/*
 * replay/trace/work.h - what a GPU did for the ops of a trace, where CUPTI watched the recording.
 *
 * For:            the report, the list of ops, what a what-if's second runs would take.
 * Must not know:  CUPTI; what it could not tell is a count.
 * Invariant:      the times of all ops and of what was queued outside of them add up to device_ns.
 */
#ifndef RPL_WORK_H
#define RPL_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/trace/trace.h"
#include "store/work.h"

/* An op that had something to do on the device: its op_begin event, and for how long. */
struct rpl_op_time {
    uint64_t seq;
    uint64_t ns;
};

/* A kernel, or copies of one direction, or fills, over the whole run. `name` is the work's. */
struct rpl_task {
    enum sto_task_kind kind;
    char *name;
    uint64_t count;
    uint64_t ns;
    uint64_t bytes;
};

/*
 * All calls of an op in one role (as struct vs_event has it: 0 forward, 1 backward node, 2 inside a re-run).
 *
 * calls    that began; tasks: what the device ran for them; ns: their own, without ops inside of them
 */
struct rpl_op_work {
    uint32_t name;
    uint8_t role;
    uint64_t calls;
    uint64_t tasks;
    uint64_t ns;
};

/* Memory that the device did not ask for; place: of the op inside of which that was; 0: none. */
struct rpl_foreign {
    char *api;
    char *library;
    uint32_t location;
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t frees;
    uint64_t free_bytes;
};

/*
 * is_measured   CUPTI watched; otherwise all of the rest is empty. why: of a run on cuda, why not, borrowed from the
 *               trace; NULL: it was never on cuda
 * times         by event number
 * tasks, ops    most time first
 * by_phase      device_ns of ops, by the phase that they began in; recompute_ns: of these, inside re-runs. outside_ns:
 *               of no op
 * lost          records dropped, unknown, cut off; untimed, untied: of what ran, without a time, and with an op that
 *               nobody knows
 * memory        allocations and frees seen; unseen: ours that were not; pools that were made
 */
struct rpl_work {
    bool is_measured;
    const char *why;
    struct rpl_op_time *times;
    size_t time_count;
    struct rpl_task *tasks;
    size_t task_count;
    struct rpl_op_work *ops;
    size_t op_count;
    uint64_t by_phase[VS_PHASE_COUNT];
    uint64_t device_ns;
    uint64_t outside_ns;
    uint64_t recompute_ns;
    uint64_t lost;
    uint64_t untimed;
    uint64_t untied;
    uint64_t memory;
    uint64_t unseen;
    uint64_t pools;
    struct rpl_foreign *foreign;
    size_t foreign_count;
};

/*
 * Zero-initialise `out`; release it also after a failure. Reads the events once where something was measured, else
 * nothing. Errors: those of reading the trace; VS_E_DAMAGED: work of tasks that the file does not have.
 */
VS_MUST_USE enum vs_status rpl_work_fill(struct rpl_work *out, struct rpl_trace *trace,
                                         struct vs_error *err);
void rpl_work_release(struct rpl_work *work);

/* Only the times of ops: what a list of ops needs. The same otherwise; no event is read. */
VS_MUST_USE enum vs_status rpl_work_fill_times(struct rpl_work *out, struct rpl_trace *trace,
                                               struct vs_error *err);

/* Of the op that begins at event `seq`; 0: the device had nothing to do for it. O(log ops). */
uint64_t rpl_work_ns(const struct rpl_work *work, uint64_t seq);

/*
 * Symbols of kernels as C++ writes them into its names, made short: the names between the lengths, without namespaces
 * of compilers. Others are as they are. Writes at most `size` bytes, the end included.
 */
const char *rpl_kernel_short(const char *symbol, char *buf, size_t size);

#endif
