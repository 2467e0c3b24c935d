/*
 * tracer/cupti/cupti_work.h - aggregates records, which arrive in any order, to the device's work for each op.
 *
 * For:            cupti_session.c.
 * Must not know:  CUPTI, files, threads.
 * Invariant:      every kernel, copy and fill is counted once: for the op inside which its call was made, for no op
 *                 (0), or, if its call is unknown, for no op and as untied.
 *
 * A call is identified by its correlation id. Its TIE, its CALL and its device work arrive in any order, in different
 * buffers. A call with a CALL but without a TIE was made outside of any op.
 */
#ifndef TRC_CUPTI_WORK_H
#define TRC_CUPTI_WORK_H

#include "store/work.h"
#include "tracer/cupti/cupti_record.h"

struct cupti_work;

/*
 * records   records received, of all kinds
 * kernels, copies, fills, device_ns   tasks of the device, and their total duration
 * untimed   of these, tasks without a time
 * untied    of these (and of memory), tasks whose call is unknown
 */
struct cupti_work_counts {
    uint64_t records;
    uint64_t kernels;
    uint64_t copies;
    uint64_t fills;
    uint64_t device_ns;
    uint64_t untimed;
    uint64_t untied;
};

/*
 * Called for a memory record when its call is known: `call` (0: unknown), is_driver and op_seq are set; `name` is valid
 * until cupti_work_free().
 */
typedef void cupti_memory_fn(void *user, const struct cupti_record *record);

/*
 * window: how many calls are remembered, a power of two; tasks that arrive later are untied. 0: the default (262,144).
 */
struct cupti_work *cupti_work_new(size_t window, cupti_memory_fn *memory, void *user) VS_MUST_USE;
void cupti_work_free(struct cupti_work *w);

void cupti_work_take(struct cupti_work *w, const struct cupti_record *record);
/*
 * The end of a buffer: resolve the records whose call has arrived. is_last: no more records will come, so resolve all.
 */
void cupti_work_settle(struct cupti_work *w, bool is_last);

/*
 * Return what was resolved since the last call, for store/work.h: new tasks, and work, with one row per op and task.
 * The caller frees both arrays with vs_free(); names are borrowed until cupti_work_free().
 */
void cupti_work_drain(struct cupti_work *w, struct sto_task **tasks, size_t *task_count,
                      struct sto_work **work, size_t *work_count);

const struct cupti_work_counts *cupti_work_counts(const struct cupti_work *w);

#endif
