/*
 * store/devices_internal.h - the devices of a trace, and which one is read.
 *
 * For:            store/reader.c, store/query.c.
 * Must not know:  how events are stored.
 * Invariant:      the event ranges of the devices are consecutive and lie inside the trace. A trace without device rows
 *                 is read unshifted.
 */
#ifndef STO_DEVICES_INTERNAL_H
#define STO_DEVICES_INTERNAL_H

#include "store/db_internal.h"
#include "store/reader.h"

struct sto_chunks;

/*
 * Zeroed: one device without a name. now: index of the device that is read; before: number of events before its first
 * one.
 */
struct sto_devices {
    struct sto_device *items;
    size_t count, cap;
    size_t now;
    uint64_t before;
};

/*
 * Split "trace.db@1" into file name and device number, unless a file with the whole name exists. Returns -1 without a
 * device number. The caller frees *file.
 */
int64_t sto_devices_split(const char *path, char **file);

/*
 * Read the devices and select device `wanted`. If that is -1, select the device with the most events among those that
 * ran out of memory, or among all if none did. The caller must not be in a transaction. VS_E_NOT_FOUND: there is no
 * such device. VS_E_DAMAGED: the rows are invalid.
 */
VS_MUST_USE enum vs_status sto_devices_load(struct sto_devices *d, const struct sto_db *db,
                                            struct sto_chunks *chunks, int64_t wanted,
                                            struct vs_error *err);

/* The selected device; NULL if the trace has one device without a name. */
const struct sto_device *sto_devices_now(const struct sto_devices *d);

/* Renumber the block ids of these events from 1. */
void sto_devices_shift(const struct sto_devices *d, struct vs_event *events, size_t count);

#endif
