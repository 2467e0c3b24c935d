/*
 * replay/index/timeline.h - how full the device was, for any stretch of a trace in any number of columns.
 *
 * For:            the timeline and its brush, the header, breakpoints on totals.
 * Must not know:  drawing.
 * Invariant:      a column's figures are exactly those of the events it says it stands for. No peak is ever lost
 *                 between columns: they lie end to end.
 *
 * Made from a pyramid: the events are cut into pieces of RPL_PIECE_EVENTS, four of these into one of the next level,
 * and so on; of each piece the figures below are known without reading its events.
 */
#ifndef RPL_TIMELINE_H
#define RPL_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/index/index.h"

#ifdef VS_STRESS
#define RPL_PIECE_EVENTS 4
#else
#define RPL_PIECE_EVENTS 64
#endif

/*
 * Some events taken together. All figures are of the moments right after each of them.
 *
 * first_seq, last_seq  both included; last_seq < first_seq: no event (on the time axis: nothing happened in that
 *                      time), and the figures are those right after last_seq
 * time_ns              of the first event
 * allocated_max        highest allocated bytes, first reached right after event max_seq; allocated_min the lowest
 * by_category          allocated bytes right after max_seq; they add up to allocated_max
 * reserved_max, reserved_min   bytes in segments
 * step, phase          right after the first event
 */
struct rpl_column {
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t time_ns;
    uint64_t max_seq;
    uint64_t allocated_max;
    uint64_t allocated_min;
    uint64_t reserved_max;
    uint64_t reserved_min;
    uint64_t by_category[VS_CATEGORY_COUNT];
    int64_t step;
    enum vs_phase phase;
};

/*
 * The events first … last, 1 <= first <= last <= rpl_index_event_count, in `count` >= 1 columns that lie end to end
 * and together are exactly this range. Each has the same number of events, give or take one; where a column would have
 * many more than RPL_PIECE_EVENTS, its ends are moved to those of pieces, by at most an eighth of a column. Fewer
 * events than columns: some columns have none. O(count), and at most a few chunks are read, however long the range is.
 */
VS_MUST_USE enum vs_status rpl_timeline_columns(struct rpl_index *index, uint64_t first,
                                                uint64_t last, struct rpl_column *columns,
                                                size_t count, struct vs_error *err);

/*
 * The same over time: column i has the events from from_ns + i * width on, with width = (to_ns - from_ns) / count;
 * from_ns < to_ns. Ends are moved to those of pieces where many events lie in a column, as above.
 */
VS_MUST_USE enum vs_status rpl_timeline_columns_by_time(struct rpl_index *index, uint64_t from_ns,
                                                        uint64_t to_ns, struct rpl_column *columns,
                                                        size_t count, struct vs_error *err);

/* The events first … last as one column, exactly these. O(log events), and at most two chunks are read. */
VS_MUST_USE enum vs_status rpl_timeline_range(struct rpl_index *index, uint64_t first,
                                              uint64_t last, struct rpl_column *out,
                                              struct vs_error *err);

#endif
