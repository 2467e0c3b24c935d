/*
 * store/reader_internal.h - the state of a reader, and its connection for other files of store/.
 *
 * For:            store/reader.c, store/reader_load.c; the connection: store/derived.c, store/marks.c.
 * Must not know:  events.
 * Invariant:      a user of the connection leaves no transaction open.
 */
#ifndef STO_READER_INTERNAL_H
#define STO_READER_INTERNAL_H

#include "store/db_internal.h"
#include "store/devices_internal.h"
#include "store/reader.h"
#include "store/shape.h"

struct sto_chunks;
struct sto_tensors;

struct sto_meta_row {
    const char *key;
    const char *value;
};

/* A vector of rows; the type of a row is known to its users, which cast `rows`. */
struct sto_rows {
    void *rows;
    size_t count;
    size_t cap;
};

/* strings, places and shapes are indexed by id - 1. */
struct sto_reader {
    struct sto_db db;
    char *path;
    struct vs_arena *texts;
    struct sto_rows meta;
    struct sto_rows toggles;
    struct sto_rows sources;
    struct sto_rows strings;
    struct sto_rows locations;
    struct sto_rows shapes;
    struct sto_rows steps;
    struct sto_devices devices;
    struct sto_chunks *chunks;
    struct sto_tensors *tensors;
};

/* Load all rows that are not loaded yet. The caller must not be in a transaction. */
VS_MUST_USE enum vs_status sto_reader_load(struct sto_reader *r, struct vs_error *err);

/* The connection, borrowed; opened read-only or read-write. */
const struct sto_db *sto_reader_db(const struct sto_reader *r);

#endif
