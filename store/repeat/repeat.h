/*
 * store/repeat/repeat.h - the longest part of a trace in which the same steps repeat.
 *
 * For:            replay/report/fold.c, which then reads only a few of these steps.
 * Must not know:  the meaning of events, except of `step`.
 * Invariant:      what is found repeats: an event of a period is that of the period before, field by field, but for its
 *                 time, the number of a step, and ids above the limits, which are higher by the same shift.
 */
#ifndef STO_REPEAT_H
#define STO_REPEAT_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "store/codec/codec.h"
#include "store/reader.h"

/* The sorts of ids that increase with time. */
enum sto_id_sort { STO_ID_BLOCK, STO_ID_TENSOR, STO_ID_NODE };

/*
 * first   the first event of the first period, a `step`; 0: nothing repeats
 * events  in a period
 * steps   in a period
 * count   periods
 * limit, shift  ids above the limit are higher by the shift than in the period before: of blocks, tensors, nodes
 */
struct sto_repeat {
    uint64_t first;
    uint64_t events;
    uint64_t steps;
    uint64_t count;
    uint64_t limit[STO_IDS_SHIFTED];
    uint64_t shift[STO_IDS_SHIFTED];
};

/*
 * Find it among the events that the reader sees. Only steps that are longer than a chunk are found: they begin chunks,
 * and a chunk is compared as a whole. Reads how each chunk is encoded, and decodes those that are not simply another
 * chunk with other ids: 40 to 250 µs for each of some 13,000 events. Where steps are shorter it reads the first chunks
 * alone. Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status sto_repeat_find(struct sto_reader *r, struct sto_repeat *out,
                                           struct vs_error *err);

/* Increase newest[sort] to the ids of the event, of blocks, tensors and nodes. */
void sto_repeat_newest(const struct vs_event *event, uint64_t newest[STO_IDS_SHIFTED]);

/* Decrease the ids of the event that are above `newest` by `by`. */
void sto_repeat_shift(struct vs_event *event, const uint64_t newest[STO_IDS_SHIFTED],
                      const uint64_t by[STO_IDS_SHIFTED]);

#endif
