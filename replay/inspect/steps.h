/*
 * replay/inspect/steps.h - the training steps side by side: what each needs, what it leaves behind, which ones differ.
 *
 * For:            the TUI's view of steps.
 * Must not know:  drawing.
 * Invariant:      a step's peak is that of its events, to the byte; its curve never lies below them. The rows before
 *                 `done` are complete.
 */
#ifndef RPL_STEPS_H
#define RPL_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

/* Points of a step's curve. */
#define RPL_STEP_POINTS 96
/* More curves than these are not made; the steps are then chosen at equal distances, and outliers before others. */
#define RPL_STEP_CURVES_MAX 400

/*
 * A step; step -1 is the set-up.
 *
 * first, last   its events
 * peak          highest allocated bytes, first reached at peak_seq; reserved: highest bytes in segments
 * end           allocated bytes after its last event
 * kept, kept_count   bytes and number of blocks that it allocated and that are still alive when the next step ends; of
 *               the last step 0
 * kept_block    the largest of them; 0: none. first_block: the blocks of this step have this number or a higher one
 * loss          NaN: not recorded
 * is_outlier    its peak differs from the median of the training steps by more than a 64th of that, and by more than
 *               four times the median of these differences
 */
struct rpl_step_row {
    int64_t step;
    uint64_t first;
    uint64_t last;
    uint64_t peak;
    uint64_t peak_seq;
    uint64_t reserved;
    uint64_t end;
    uint64_t kept;
    uint64_t kept_count;
    uint64_t kept_block;
    uint64_t first_block;
    double loss;
    bool is_outlier;
};

/*
 * done     rows whose figures are known, but for `kept` of the last of them; those after it have only step, first, last
 *          and loss
 * is_compared   all rows are known, and which of them are outliers; median and growth are 0 before that
 * median   of the peaks of training steps; 0: there are none
 * growth   bytes that steps other than the first and the last leave behind, on average
 * curves   curve_count curves of RPL_STEP_POINTS values each: the highest allocated bytes in equal parts of the events
 *          of a training step; curve_rows: the row of each. next_curve: the row that may have the next one
 */
struct rpl_steps {
    struct rpl_step_row *rows;
    size_t count;
    size_t done;
    bool is_compared;
    uint64_t median;
    uint64_t growth;
    uint64_t *curves;
    size_t *curve_rows;
    size_t curve_count;
    size_t next_curve;
};

/*
 * List the steps of the run in `steps`, which is zero or was filled before, of this run or of another one; reads no
 * events. is_grown: of this run, which has grown since: the figures of steps that ended before are kept. The caller
 * releases it.
 */
void rpl_steps_begin(struct rpl_steps *steps, const struct rpl_index *index, bool is_grown);
/* Whether everything is known. */
bool rpl_steps_is_done(const struct rpl_steps *steps);
/*
 * Find out about one more step; reads the chunks in which it begins and ends, the lifetimes of its blocks or, for its
 * curve, its events. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_steps_next(struct rpl_steps *steps, struct rpl_index *index,
                                          struct vs_error *err);
/*
 * The curve of row `row`, which is a training step: RPL_STEP_POINTS values to `out`, also where it is none of `curves`.
 * Reads the events of the step. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_steps_curve(const struct rpl_steps *steps, size_t row,
                                           struct rpl_index *index, uint64_t *out,
                                           struct vs_error *err);
void rpl_steps_release(struct rpl_steps *steps);

#endif
