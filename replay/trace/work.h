/*
 * replay/trace/work.h - what a GPU executed for the ops of a trace, if CUPTI observed the recording.
 *
 * For:            the report, the list of ops, the time that recomputation in a what-if would take.
 * Must not know:  CUPTI. What CUPTI could not attribute is counted.
 * Invariant:      the times of all ops and of the work launched outside of ops add up to device_ns.
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

/* An op that launched work on the device: its op_begin event, and the time of that work. */
struct rpl_op_time {
    uint64_t seq;
    uint64_t ns;
};

/*
 * A kernel, or all copies of one direction, or all fills, summed over the run. `name` is owned by struct rpl_work.
 */
struct rpl_task {
    enum sto_task_kind kind;
    char *name;
    uint64_t count;
    uint64_t ns;
    uint64_t bytes;
};

/*
 * All calls of an op in one role (as in struct vs_event: 0 forward, 1 backward node, 2 recomputed).
 *
 * calls  number of calls
 * tasks  number of kernels, copies and fills that the device executed for them
 * ns     device time of the op itself, without ops called inside it
 */
struct rpl_op_work {
    uint32_t name;
    uint8_t role;
    uint64_t calls;
    uint64_t tasks;
    uint64_t ns;
};

/*
 * Device memory that a library allocated without PyTorch's allocator. location: of the op in which that happened; 0:
 * outside of ops.
 */
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
 * is_measured     CUPTI observed the recording; otherwise everything else is empty
 * why             for a run on cuda without measurement, the reason, borrowed from the trace; NULL: not a run on cuda
 * times           device time of ops, by event number
 * tasks, ops      the longest time first
 * by_phase        device time of ops, by the phase in which they began; recompute_ns: the part of it that was
 *                 recomputed
 * outside_ns      device time of work launched outside of ops
 * lost            records that CUPTI dropped, of unknown kind, or cut off
 * untimed         work without a time
 * untied          work launched by an op that the trace does not have
 * memory          allocations and frees that CUPTI reported; unseen: those of the recording that CUPTI did not report
 * pools           memory pools created
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
 * Fill `out`, which is zero-initialised; release it also after a failure. Reads all events once if something was
 * measured, otherwise none.
 *
 * VS_E_DAMAGED: work refers to tasks that the file does not have. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_work_fill(struct rpl_work *out, struct rpl_trace *trace,
                                         struct vs_error *err);
void rpl_work_release(struct rpl_work *work);

/* The same for the times of ops alone, which is what a list of ops needs; reads no events. */
VS_MUST_USE enum vs_status rpl_work_fill_times(struct rpl_work *out, struct rpl_trace *trace,
                                               struct vs_error *err);

/* Device time of the op that begins at event `seq`; 0 if it launched nothing. O(log ops). */
uint64_t rpl_work_ns(const struct rpl_work *work, uint64_t seq);

/*
 * A readable form of a kernel's mangled C++ symbol: its names without lengths and without the compiler's namespaces.
 * Other symbols are copied unchanged. Writes at most `size` bytes to `buf`, the terminating NUL included, and returns
 * `buf`.
 */
const char *rpl_kernel_short(const char *symbol, char *buf, size_t size);

#endif
