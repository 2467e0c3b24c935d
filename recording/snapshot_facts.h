/*
 * recording/snapshot_facts.h - what tracer/python/vramscope_events.py added to the events of a snapshot.
 *
 * For:            recording/snapshot.c.
 * Must not know:  how it was observed.
 * Invariant:      what is not understood is left out: an event then has no facts, or fewer.
 *
 * The value of the key `facts` is a tuple: op, module, phase, category, name, dtype, sizes, strides. Each of the first
 * six is a text or None; the phase may be "graph" (makes_graph of struct vs_mem_facts). Sizes and strides are tuples of
 * integers; they are read if the dtype is one that is known. The snapshot's own key `observed` has a tuple with the
 * fields of struct vs_mem_observed.
 */
#ifndef REC_SNAPSHOT_FACTS_H
#define REC_SNAPSHOT_FACTS_H

#include "base/recorded/memlist.h"
#include "recording/pickle.h"

/*
 * Zero-initialise, set pickle and list, call rec_facts_begin(); repeat this for another list of the same pickle.
 * ids, categories: by mark - 1 of the value.
 */
struct rec_facts {
    struct rec_pickle *pickle;
    struct vs_memlist *list;
    uint32_t *ids;
    uint8_t *categories;
    size_t count, id_cap, category_cap, list_count;
};

void rec_facts_begin(struct rec_facts *facts);
void rec_facts_release(struct rec_facts *facts);
/* Set op, category and facts of an event; an equal value was read only once. */
void rec_facts_event(struct rec_facts *facts, struct rec_value value, struct vs_mem_event *event);

/* Read how the program was observed from the snapshot's `observed`, if it has that. */
void rec_observed_read(struct rec_facts *facts, struct rec_value top);

#endif
