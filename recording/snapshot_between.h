/*
 * recording/snapshot_between.h - what tracer/python/vramscope_matching.py added to a snapshot of what the program did
 * between the events of the allocator.
 *
 * For:            recording/snapshot.c.
 * Must not know:  how it was observed.
 * Invariant:      what is not understood is left out: a list then has nothing of it, or fewer.
 *
 * The snapshot's key `between` has a tuple: the names of kinds, whether it is known what autograd saved, and a list
 * with, for each device of `device_traces`, a tuple of three: contexts, names, rows. A context is a tuple: op,
 * module and phase, each a text or None, the number of an event that has its stack, or -1, and whether that is its
 * own event. Names are texts. Rows are bytes: seven little-endian numbers of 64 bits a row: kind, number of the next
 * event, context, and four that depend on the kind (struct vs_mem_did), or -1. The key `arithmetic` has a tuple with
 * the fields of struct vs_mem_arithmetic: two integers, and a text; `saves_unknown` a text or None.
 */
#ifndef REC_SNAPSHOT_BETWEEN_H
#define REC_SNAPSHOT_BETWEEN_H

#include "base/recorded/memlist.h"
#include "recording/pickle.h"

/* Read those of the list's device, once its events have been read; nothing where some of them were left out. */
void rec_between_read(struct rec_pickle *pickle, struct rec_value top, struct vs_memlist *list);

#endif
