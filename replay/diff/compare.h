/*
 * replay/diff/compare.h - two runs side by side: the recorded one and a what-if, or two recordings.
 *
 * For:            the what-if panel and the before/after overlay: cheap enough to be computed while a key is held.
 *                 Differences by tensor are in replay/diff/diff.h.
 * Must not know:  drawing, how the second run was made.
 * Invariant:      the deltas by category add up to the delta of the peaks.
 */
#ifndef RPL_COMPARE_H
#define RPL_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/index/index.h"

/*
 * A run's peak and its arithmetic.
 *
 * peak      highest allocated bytes; event: where they are first reached (0: nothing was allocated)
 * reserved  highest bytes in segments, at any event
 * step, phase, location, is_recompute   where the program was at the peak
 * flops, recompute_flops   of all ops; of the recomputed ones
 * steps     training steps that began
 * oom       first `oom` event; 0: none
 */
struct rpl_run {
    uint64_t peak;
    uint64_t event;
    uint64_t reserved;
    int64_t step;
    enum vs_phase phase;
    uint32_t location;
    bool is_recompute;
    uint64_t by_category[VS_CATEGORY_COUNT];
    uint64_t flops;
    uint64_t recompute_flops;
    uint64_t steps;
    uint64_t oom;
};

/* The figures of one run. Reads one chunk: the arithmetic is in the index. */
VS_MUST_USE enum vs_status rpl_run_fill(struct rpl_run *out, struct rpl_index *index,
                                        struct vs_error *err);

/*
 * delta          peak of after - peak of before; by_category: the same by category, at the two peaks
 * recompute      share of after's arithmetic that is recomputed, 0 … 1
 * flops_ratio    arithmetic per step, after over before; 1 if before has none
 */
struct rpl_compare {
    struct rpl_run before;
    struct rpl_run after;
    int64_t delta;
    int64_t by_category[VS_CATEGORY_COUNT];
    double recompute;
    double flops_ratio;
};
void rpl_compare_fill(struct rpl_compare *out, const struct rpl_run *before,
                      const struct rpl_run *after);

#endif
