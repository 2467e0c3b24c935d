/*
 * bench/snapshot_maker.h - memory snapshots of any size, as a training run under PyTorch would have dumped them.
 *
 * For:            bench_snapshot.c.
 * Must not know:  readers.
 * Invariant:      equal arguments, equal bytes; every event is one that the allocator really had, so an import finds
 *                 nothing to refuse.
 *
 * What is invented: a transformer of 48 layers that trains with AdamW on sequences of changing lengths. What is not:
 * the order in which CPython's pickler (protocol 4) meets objects, what it shares and what it writes anew: as in
 * PyTorch 2.10's dumps each allocation and each free has a list of frames of its own, of some hundred different
 * contents.
 */
#ifndef BENCH_SNAPSHOT_MAKER_H
#define BENCH_SNAPSHOT_MAKER_H

#include <stdint.h>
#include <stdio.h>

/* At least `events` events, to the end of a step; how many. About 240 bytes each, 640 different stacks 52 deep. */
uint64_t snapshot_make(FILE *out, uint64_t events);

#endif
