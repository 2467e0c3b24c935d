/*
 * bench/snapshot_writer.h - writes memory snapshots of any size, as a training run under PyTorch would dump them.
 *
 * For:            bench_snapshot.c.
 * Must not know:  readers.
 * Invariant:      equal arguments give equal bytes. The events come from the reimplemented allocator, so an import
 *                 accepts them.
 *
 * The net is synthetic: a transformer of 48 layers, trained with AdamW on sequences of varying length. The order in
 * which CPython's pickler (protocol 4) writes objects, and which of them it shares, is that of dumps of PyTorch 2.10:
 * each allocation and each free has its own list of frames, with some hundred distinct contents.
 */
#ifndef BENCH_SNAPSHOT_WRITER_H
#define BENCH_SNAPSHOT_WRITER_H

#include <stdint.h>
#include <stdio.h>

/*
 * Writes at least `events` events, up to the end of a step, and returns their number. An event takes about 240 bytes;
 * there are 640 different stacks of 52 frames.
 */
uint64_t snapshot_make(FILE *out, uint64_t events);

#endif
