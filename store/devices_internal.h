/*
 * store/devices_internal.h - which of a trace's devices is read, and where its part begins.
 *
 * For:            store/reader.c, store/query.c.
 * Must not know:  how events are kept.
 * Invariant:      the devices' parts follow each other and lie inside the trace; where there is none, nothing is shifted.
 */
#ifndef STO_DEVICES_INTERNAL_H
#define STO_DEVICES_INTERNAL_H

#include "store/db_internal.h"
#include "store/reader.h"

struct sto_chunks;

/* Zero-initialised: one device, which has no name. now: the one that is read; before: events before its first. */
struct sto_devices {
    struct sto_device *items;
    size_t count, cap;
    size_t now;
    uint64_t before;
};

/* "trace.db@1" is device 1 of trace.db, where there is no file of the longer name; -1: none is named. The caller frees *file. */
int64_t sto_devices_split(const char *path, char **file);

/*
 * Read them and choose `wanted`; -1: of those that ran out of memory the one with the most events, where none did of all. The caller is in no transaction.
 * VS_E_NOT_FOUND: it is not there. VS_E_DAMAGED.
 */
VS_MUST_USE enum vs_status sto_devices_load(struct sto_devices *d, const struct sto_db *db,
                                            struct sto_chunks *chunks, int64_t wanted,
                                            struct vs_error *err);

/* The one that is read; NULL: the trace has one, which has no name. */
const struct sto_device *sto_devices_now(const struct sto_devices *d);

/* Number the blocks of these events from 1. */
void sto_devices_shift(const struct sto_devices *d, struct vs_event *events, size_t count);

#endif
