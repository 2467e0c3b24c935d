/*
 * bench/snapshot_maker.h - memory snapshots of any size, as a training run under PyTorch would have dumped them.
 *
 * For:            bench_snapshot.c.
 * Must not know:  readers.
 * Invariant:      equal arguments, equal bytes; every event is one that the allocator really had, so an import finds nothing to refuse.
 *
 * What is invented: a transformer of 48 layers that trains with AdamW on sequences of changing lengths. What is not: the order in which
 * CPython's pickler (protocol 4) meets objects, what it shares and what it writes anew; it is that of PyTorch 2.10's dumps.
 */
#ifndef BENCH_SNAPSHOT_MAKER_H
#define BENCH_SNAPSHOT_MAKER_H

#include <stdint.h>
#include <stdio.h>

/* At least `events` events, to the end of a step; how many. About 90 bytes each and 40 MB of stacks, all of which occur within 200,000. */
uint64_t snapshot_make(FILE *out, uint64_t events);

#endif
