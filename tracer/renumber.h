/*
 * tracer/renumber.h - ids of blocks, tensors and nodes of a run, numbered anew for a trace that begins in its middle.
 *
 * For:            tracer/keep.c.
 * Must not know:  files; which events are written.
 * Invariant:      an id has the same number for as long as the numbers exist; no two ids have the same.
 */
#ifndef TRC_RENUMBER_H
#define TRC_RENUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"
#include "base/table.h"

/*
 * The numbers of one sort of ids: that of old[i] is i + 1, that of `base` + n is first_new - 1 + n. Zeroed but for
 * `base` = UINT64_MAX it is a set of ids.
 */
struct trc_ids {
    uint64_t base;
    uint64_t first_new;
    uint64_t *old;
    size_t old_count;
    size_t old_cap;
    struct vs_table by_id;
};

/* The number of an id; 0: it has none, or is 0. */
uint64_t trc_ids_number(const struct trc_ids *ids, uint64_t id);
/* Give an id up to the base the next old number, if it has none. 0 is ignored. */
void trc_ids_add(struct trc_ids *ids, uint64_t id);
void trc_ids_release(struct trc_ids *ids);

/* Where an event has ids. NULL: it has none of that sort. */
struct trc_event_ids {
    uint64_t *block;
    uint64_t *from_block;
    uint64_t *tensor;
    uint32_t *short_tensor;
    uint64_t *node;
};
struct trc_event_ids trc_event_ids(struct vs_event *event);

/* The numbers of a trace. */
struct trc_numbers {
    struct trc_ids blocks;
    struct trc_ids tensors;
    struct trc_ids nodes;
};

/*
 * Replace the ids of an event by their numbers. A node up to the base that has none gets one, as long as there is one
 * left below first_new: nodes that accumulate gradients outlive a step without an event in force.
 */
void trc_renumber(struct trc_numbers *numbers, struct vs_event *event);
void trc_numbers_release(struct trc_numbers *numbers);

#endif
