/*
 * replay/index/timeline.h - allocated and reserved bytes over any range of a trace, in any number of columns.
 *
 * For:            the timeline and its selection, the header, breakpoints on totals.
 * Must not know:  drawing.
 * Invariant:      the figures of a column are exactly those of its events. Columns are adjacent, so no peak is lost
 *                 between them.
 *
 * Computed from a pyramid: the events are divided into pieces of RPL_PIECE_EVENTS, four pieces form a node of the next
 * level, and so on; the figures of each node are known without reading its events.
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
 * A range of events. The figures are those right after each of its events.
 *
 * first_seq, last_seq          both included; last_seq < first_seq: the column has no event, and its figures are those
 *                              right after last_seq
 * time_ns                      of the first event
 * allocated_max                highest allocated bytes, first reached right after event max_seq; allocated_min: the
 *                              lowest
 * by_category                  allocated bytes right after max_seq; their sum is allocated_max
 * reserved_max, reserved_min   bytes in segments
 * step, phase                  right after the first event
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
 * Divide the events first … last, 1 <= first <= last <= rpl_index_event_count, into `count` >= 1 adjacent columns that
 * together are exactly this range. The columns have the same number of events, plus or minus one; the ends of columns
 * with many more events than RPL_PIECE_EVENTS are moved to ends of pieces, by at most an eighth of a column. With
 * fewer events than columns some columns have none.
 *
 * O(count), and at most a few chunks are read, however long the range is. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_timeline_columns(struct rpl_index *index, uint64_t first,
                                                uint64_t last, struct rpl_column *columns,
                                                size_t count, struct vs_error *err);

/*
 * The same over time: column i has the events from from_ns + i * width on, with width = (to_ns - from_ns) / count;
 * from_ns < to_ns. Column ends are moved to ends of pieces as above.
 */
VS_MUST_USE enum vs_status rpl_timeline_columns_by_time(struct rpl_index *index, uint64_t from_ns,
                                                        uint64_t to_ns, struct rpl_column *columns,
                                                        size_t count, struct vs_error *err);

/*
 * The events first … last as one column, exactly these. O(log events), and at most two chunks are read. Errors: those
 * of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_timeline_range(struct rpl_index *index, uint64_t first,
                                              uint64_t last, struct rpl_column *out,
                                              struct vs_error *err);

#endif
