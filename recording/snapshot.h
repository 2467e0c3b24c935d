/*
 * recording/snapshot.h - PyTorch's memory snapshots as lists of memory events.
 *
 * For:            recording/memlist.c.
 * Must not know:  opcodes; files.
 * Invariant:      a field of another type than PyTorch writes is refused with the field's name; one that is missing
 *                 is not known.
 *
 * Read are dumps of torch.cuda.memory._dump_snapshot of all versions (a dict) and what torch.cuda.memory_snapshot()
 * returns (a list of segments, so no events).
 */
#ifndef REC_SNAPSHOT_H
#define REC_SNAPSHOT_H

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"

/* Does it begin like a pickle? */
bool rec_snapshot_is(const char *bytes, size_t len);

#define REC_SNAPSHOT_ANY (-1)
#define REC_SNAPSHOT_FIRST (-2)

/*
 * Read one device's part. device: its number, or REC_SNAPSHOT_ANY: the only one with events, or without any the only
 * one with segments, or REC_SNAPSHOT_FIRST: the first of these. Events are told as whose they are by their C++ frames
 * where the recording has some; else all are tensors'.
 *
 * VS_E_FORMAT: it is no snapshot; VS_E_VALUE: several devices and none is chosen, or the chosen one is not there.
 */
VS_MUST_USE enum vs_status rec_snapshot_read(const char *bytes, size_t len, int64_t device,
                                             struct vs_memlist *out, struct vs_error *err);

/*
 * Read the parts of all devices that have events or segments, a list each in order of their numbers; where there is
 * none, one list as of REC_SNAPSHOT_FIRST. The bytes are gone through once. *out and what is in it are the caller's,
 * also on failure. Errors as above.
 */
VS_MUST_USE enum vs_status rec_snapshot_read_all(const char *bytes, size_t len,
                                                 struct vs_memlist **out, size_t *count,
                                                 struct vs_error *err);

#endif
