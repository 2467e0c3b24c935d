/*
 * tracer/cupti/cupti_work.h - from records, in any order, to what the device did for each op.
 *
 * For:            cupti_session.c.
 * Must not know:  CUPTI, files, threads.
 * Invariant:      every kernel, copy and fill is counted once: for the op inside of which its call was made, for none (op 0), or, where
 *                 nothing was told of its call, for none and as untied.
 *
 * A call is known by its correlation id. Its TIE, its CALL, and what it had the device do come in any order, in different buffers. A call
 * with a CALL but no TIE was made outside of every op.
 */
#ifndef TRC_CUPTI_WORK_H
#define TRC_CUPTI_WORK_H

#include "store/work.h"
#include "tracer/cupti/cupti_record.h"

struct cupti_work;

/*
 * records   taken, of all kinds
 * kernels, copies, fills, device_ns   what the device ran, and how long
 * untimed   of these, without a time
 * untied    of these (and of memory), whose call nothing is known of
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

/* Memory whose call is now known: `call` (0: nothing is), is_driver and op_seq are filled in; `name` is good until cupti_work_free. */
typedef void cupti_memory_fn(void *user, const struct cupti_record *record);

/* window: so many calls are remembered, a power of two; what comes later than that is untied. 0: the default (262,144). */
struct cupti_work *cupti_work_new(size_t window, cupti_memory_fn *memory, void *user) VS_MUST_USE;
void cupti_work_free(struct cupti_work *w);

void cupti_work_take(struct cupti_work *w, const struct cupti_record *record);
/* A buffer is over: what waited for its call is settled where that came. is_last: nothing comes any more, all is settled. */
void cupti_work_settle(struct cupti_work *w, bool is_last);

/*
 * What was settled since the last call, for store/work.h: tasks that are new, and work, an op and task once. Both are the caller's, by
 * vs_free; names are borrowed until cupti_work_free.
 */
void cupti_work_drain(struct cupti_work *w, struct sto_task **tasks, size_t *task_count,
                      struct sto_work **work, size_t *work_count);

const struct cupti_work_counts *cupti_work_counts(const struct cupti_work *w);

#endif
