/*
 * recording/snapshot.h - converts PyTorch's memory snapshots to lists of memory events.
 *
 * For:            recording/memlist.c.
 * Must not know:  opcodes, files.
 * Invariant:      a field of another type than PyTorch writes is refused by name; a missing field is unknown.
 *
 * Accepts the output of torch.cuda.memory._dump_snapshot() of all versions (a dict) and of torch.cuda.memory_snapshot()
 * (a list of segments, without events).
 */
#ifndef REC_SNAPSHOT_H
#define REC_SNAPSHOT_H

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"

/* Whether the bytes begin like a pickle. */
bool rec_snapshot_is(const char *bytes, size_t len);

#define REC_SNAPSHOT_ANY (-1)
#define REC_SNAPSHOT_FIRST (-2)

/*
 * Read the events of one device. device: its number; REC_SNAPSHOT_ANY: the only device with events, or if there is none
 * the only one with segments; REC_SNAPSHOT_FIRST: the first of these. The C++ frames, if recorded, determine the class
 * of an event (tensor, workspace, …); otherwise the class is tensor.
 *
 * VS_E_FORMAT: not a snapshot. VS_E_VALUE: several devices and none is chosen, or there is no such device.
 */
VS_MUST_USE enum vs_status rec_snapshot_read(const char *bytes, size_t len, int64_t device,
                                             struct vs_memlist *out, struct vs_error *err);

/*
 * Read all devices that have events or segments, one list per device in order of their numbers; if there are none, one
 * list as for REC_SNAPSHOT_FIRST. The pickle is read once. The caller owns *out and its contents, also on failure.
 * Errors as above.
 */
VS_MUST_USE enum vs_status rec_snapshot_read_all(const char *bytes, size_t len,
                                                 struct vs_memlist **out, size_t *count,
                                                 struct vs_error *err);

#endif
