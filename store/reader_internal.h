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

struct sto_reader;

/*
 * Rows of a table by their id, read when they are first needed. A row does not change once it is read; one that is not
 * in the table, or could not be read, is zero.
 *
 * sql         selects rows with an id BETWEEN ? AND ?; ends_sql: the largest id, and how many rows there are
 * take        fills a row from the current one of the statement
 * count       the largest id
 * is_there    by group of rows: it was read
 * failure     why some rows could not be read
 */
struct sto_by_id {
    const char *sql;
    const char *ends_sql;
    size_t row_bytes;
    void (*take)(const struct sto_reader *r, sqlite3_stmt *stmt, void *row);
    sqlite3_stmt *stmt;
    void *rows;
    uint32_t count;
    bool *is_there;
    struct vs_error failure;
};

/* Steps, read when they are first needed, and again after a refresh. failure: why they could not be read. */
struct sto_steps {
    struct sto_rows rows;
    bool is_read;
    struct vs_error failure;
};

/* shapes are indexed by id - 1. */
struct sto_reader {
    struct sto_db db;
    char *path;
    struct vs_arena *texts;
    struct sto_rows meta;
    struct sto_rows toggles;
    struct sto_rows sources;
    struct sto_by_id *strings;
    struct sto_by_id *locations;
    struct sto_rows shapes;
    struct sto_steps *steps;
    struct sto_devices devices;
    struct sto_chunks *chunks;
    struct sto_tensors *tensors;
    struct vs_error tensor_failure; /* the first one that is none of the file's contents */
};

struct sto_by_id *sto_strings_new(void) VS_MUST_USE;
struct sto_by_id *sto_locations_new(void) VS_MUST_USE;
void sto_by_id_free(struct sto_by_id *t);

/* The row with this id, borrowed until the next refresh; NULL: no row has so large an id, or it is 0. */
const void *sto_by_id_get(const struct sto_reader *r, struct sto_by_id *t, uint32_t id);

/* All steps. */
const struct sto_rows *sto_steps_get(const struct sto_reader *r);

/*
 * Load all rows that are not loaded yet, but for strings, locations and steps. The caller must not be in a
 * transaction.
 */
VS_MUST_USE enum vs_status sto_reader_load(struct sto_reader *r, struct vs_error *err);

/* The connection, borrowed; opened read-only or read-write. */
const struct sto_db *sto_reader_db(const struct sto_reader *r);

#endif
