/*
 * store/query.c - see query.h.
 *
 * Must not know:  the meaning of the statement.
 * Invariant:      the connection is read-only, except its temporary schema.
 *
 * The views of a trace decode events in SQL, in any program. Here, the view `cell` below them is replaced by a virtual
 * table, which decodes a block at a time with store/codec.c, and only the fields that the statement uses.
 */
#include "store/query.h"

#include <string.h>

#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/codec.h"
#include "store/db_internal.h"
#include "store/devices_internal.h"
#include "store/reader.h"
#include "store/view.h"

/* ---- the table `cell` ---- */

/* Its columns: the kind, then the fields in the order of enum sto_field. */
static const char CELL[] = "CREATE TABLE cell (kind INTEGER, seq INTEGER, time_ns INTEGER, "
                           "place INTEGER, a INTEGER, b INTEGER, c INTEGER, d INTEGER, "
                           "e INTEGER, aux INTEGER)";
#define COLUMN_KIND 0
#define COLUMN_SEQ (1 + STO_FIELD_SEQ)

/* How it is searched: which constraints xFilter gets, and above these bits the fields that are used. */
#define BY_KIND 1
#define BY_SEQ 2
#define BY_BITS 2

struct cells {
    sqlite3_vtab base;
    const struct sto_db *db;
    struct sto_chunks *chunks;
};

/*
 * A search. It keeps the transaction open, as its statement is not reset before its end.
 *
 * blocks     the blocks that are left: id, first_seq, kind
 * block_id   the one that is decoded, with `fields`; -1: none
 * at         the event of it, counted from the chunk's first
 */
struct cells_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *blocks;
    sqlite3_int64 block_id;
    sqlite3_int64 first_seq;
    sqlite3_int64 kind;
    uint32_t fields;
    size_t at;
    bool is_end;
    struct vs_event *events;
    bool *is_filled;
};

static int cells_disconnect(sqlite3_vtab *table)
{
    struct cells *cells = (struct cells *)table;

    sto_chunks_close(cells->chunks);
    vs_free(cells);
    return SQLITE_OK;
}

static int cells_connect(sqlite3 *handle, void *user, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **why)
{
    struct cells *cells = vs_calloc(1, sizeof(*cells));
    struct vs_error err = VS_ERROR_INIT;
    int rc;

    (void)argc;
    (void)argv;
    cells->db = user;
    if (sto_chunks_open(cells->db, &cells->chunks, &err)) {
        *why = sqlite3_mprintf("%s", err.text);
        rc = SQLITE_CORRUPT;
    } else {
        rc = sqlite3_declare_vtab(handle, CELL);
    }
    if (rc == SQLITE_OK)
        *out = &cells->base;
    else
        cells_disconnect(&cells->base);
    return rc;
}

/* The kind and the event's number are used where they are given. */
static int cells_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    int by = 0;
    int args = 0;
    double rows = 1e8;

    (void)table;
    for (int want = BY_KIND; want <= BY_SEQ; want++)
        for (int i = 0; i < info->nConstraint && !(by & want); i++)
            if (info->aConstraint[i].usable &&
                info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
                info->aConstraint[i].iColumn == (want == BY_KIND ? COLUMN_KIND : COLUMN_SEQ)) {
                info->aConstraintUsage[i].argvIndex = ++args;
                by |= want;
                rows /= want == BY_KIND ? 10 : 1e7;
            }
    info->idxNum = by | (int)(info->colUsed >> 1 & ((UINT32_C(1) << STO_FIELD_COUNT) - 1))
                            << BY_BITS;
    info->estimatedCost = rows;
    info->estimatedRows = (sqlite3_int64)rows;
    return SQLITE_OK;
}

static int cells_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct cells_cursor *c = vs_calloc(1, sizeof(*c));

    (void)table;
    c->block_id = -1;
    c->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->events));
    c->is_filled = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->is_filled));
    *out = &c->base;
    return SQLITE_OK;
}

static int cells_close(sqlite3_vtab_cursor *cursor)
{
    struct cells_cursor *c = (struct cells_cursor *)cursor;

    sqlite3_finalize(c->blocks);
    vs_free(c->events);
    vs_free(c->is_filled);
    vs_free(c);
    return SQLITE_OK;
}

/* Decode the block that the statement stands at, if another one is decoded. */
static int block_take(struct cells_cursor *c)
{
    struct cells *cells = (struct cells *)c->base.pVtab;
    struct vs_error err = VS_ERROR_INIT;
    sqlite3_int64 id = sqlite3_column_int64(c->blocks, 0);

    c->first_seq = sqlite3_column_int64(c->blocks, 1);
    c->kind = sqlite3_column_int64(c->blocks, 2);
    c->at = 0;
    if (id == c->block_id)
        return SQLITE_OK;
    c->block_id = id;
    if (!sto_chunks_block_fields(cells->chunks, id, c->fields, c->events, c->is_filled, &err))
        return SQLITE_OK;
    c->block_id = -1;
    sqlite3_free(c->base.pVtab->zErrMsg);
    c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", err.text);
    return SQLITE_CORRUPT;
}

/* Go on to the next event from c->at on, or to the first of the next block. */
static int event_find(struct cells_cursor *c, bool has_block)
{
    for (;;) {
        int rc;

        while (has_block && c->at < STO_CHUNK_EVENTS_MAX && !c->is_filled[c->at])
            c->at++;
        if (has_block && c->at < STO_CHUNK_EVENTS_MAX)
            return SQLITE_OK;
        rc = sqlite3_step(c->blocks);
        c->is_end = rc != SQLITE_ROW;
        if (c->is_end)
            return rc == SQLITE_DONE ? SQLITE_OK : rc;
        rc = block_take(c);
        if (rc != SQLITE_OK)
            return rc;
        has_block = true;
    }
}

/* Which blocks are left: those of a chunk (BY_SEQ), of a kind, of both, or all. */
static int cells_filter(sqlite3_vtab_cursor *cursor, int how, const char *name, int argc,
                        sqlite3_value **argv)
{
    static const char SQL[] = "SELECT id, first_seq, kind FROM event_block "
                              "WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR id % 64 = ?3)";
    struct cells_cursor *c = (struct cells_cursor *)cursor;
    const struct cells *cells = (const struct cells *)cursor->pVtab;
    uint32_t fields = (uint32_t)how >> BY_BITS;
    int64_t first = 0;
    int64_t last = INT64_MAX;

    (void)name;
    if (!c->blocks && sqlite3_prepare_v2(cells->db->handle, SQL, -1, &c->blocks, NULL) != SQLITE_OK)
        return SQLITE_ERROR;
    sqlite3_reset(c->blocks);
    sqlite3_clear_bindings(c->blocks);
    if (how & BY_KIND)
        sqlite3_bind_value(c->blocks, 3, argv[0]);
    if (how & BY_SEQ) {
        first = sto_chunks_block_of(cells->chunks, (uint64_t)sqlite3_value_int64(argv[argc - 1]));
        last = first < 0 ? -1 : first + STO_BLOCK_IDS - 1;
    }
    sqlite3_bind_int64(c->blocks, 1, first);
    sqlite3_bind_int64(c->blocks, 2, last);
    if (fields != c->fields)
        c->block_id = -1;
    c->fields = fields;
    return event_find(c, false);
}

static int cells_next(sqlite3_vtab_cursor *cursor)
{
    struct cells_cursor *c = (struct cells_cursor *)cursor;

    c->at++;
    return event_find(c, true);
}

static int cells_eof(sqlite3_vtab_cursor *cursor)
{
    return ((struct cells_cursor *)cursor)->is_end;
}

static int cells_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
    const struct cells_cursor *c = (const struct cells_cursor *)cursor;
    const struct vs_event *e = &c->events[c->at];
    const sqlite3_int64 values[] = {
        c->kind,
        c->first_seq + (sqlite3_int64)c->at,
        (sqlite3_int64)e->time_ns,
        e->location,
        (sqlite3_int64)e->raw.a,
        (sqlite3_int64)e->raw.b,
        (sqlite3_int64)e->raw.c,
        (sqlite3_int64)e->raw.d,
        e->raw.e,
        e->raw.aux,
    };

    VS_ASSERT(column >= 0 && (size_t)column < sizeof(values) / sizeof(values[0]));
    sqlite3_result_int64(out, values[column]);
    return SQLITE_OK;
}

static int cells_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
    const struct cells_cursor *c = (const struct cells_cursor *)cursor;

    *out = c->block_id * STO_CHUNK_EVENTS_MAX + (sqlite3_int64)c->at;
    return SQLITE_OK;
}

static const sqlite3_module CELLS = {
    .xCreate = cells_connect,
    .xConnect = cells_connect,
    .xBestIndex = cells_best_index,
    .xDisconnect = cells_disconnect,
    .xDestroy = cells_disconnect,
    .xOpen = cells_open,
    .xClose = cells_close,
    .xFilter = cells_filter,
    .xNext = cells_next,
    .xEof = cells_eof,
    .xColumn = cells_column,
    .xRowid = cells_rowid,
};

/* Put the table and temporary views in front of the views of the file. `db` must outlive its connection. */
static enum vs_status views_replace(const struct sto_db *db, struct vs_error *err)
{
    char *views = sto_view_sql(true);
    enum vs_status st;

    if (sqlite3_create_module(db->handle, "vramscope_cell", &CELLS, (void *)(uintptr_t)db))
        st = sto_db_fail(db, err);
    else
        st = sto_db_exec(db,
                         "PRAGMA temp_store = MEMORY; "
                         "CREATE VIRTUAL TABLE temp.cell USING vramscope_cell",
                         err);
    if (!st)
        st = sto_db_exec(db, views, err);
    sqlite3_free(views);
    return st;
}

/* ---- statements ---- */

/* Prepare the single statement of `sql`, which must be read-only. */
static enum vs_status statement_get(const struct sto_db *db, const char *sql, sqlite3_stmt **out,
                                    struct vs_error *err)
{
    const char *rest = NULL;

    if (sqlite3_prepare_v2(db->handle, sql, -1, out, &rest) != SQLITE_OK)
        return vs_fail(err, VS_E_USAGE, "sql: %s", sqlite3_errmsg(db->handle));
    if (!*out)
        return vs_fail(err, VS_E_USAGE,
                       "sql: the text has no statement; try \"select * from meta\"");
    if (rest[strspn(rest, " \t\r\n;")])
        return vs_fail(err, VS_E_USAGE, "sql: give one statement at a time");
    if (!sqlite3_stmt_readonly(*out))
        return vs_fail(err, VS_E_USAGE, "sql: a trace can only be read; give a select statement");
    return VS_OK;
}

static struct sto_value value_get(sqlite3_stmt *stmt, int column)
{
    static const enum sto_value_kind KINDS[] = {
        [SQLITE_INTEGER] = STO_VALUE_INTEGER, [SQLITE_FLOAT] = STO_VALUE_REAL,
        [SQLITE_TEXT] = STO_VALUE_TEXT,       [SQLITE_BLOB] = STO_VALUE_BLOB,
        [SQLITE_NULL] = STO_VALUE_NULL,
    };
    struct sto_value value = {.kind = KINDS[sqlite3_column_type(stmt, column)], .text = ""};

    if (value.kind == STO_VALUE_INTEGER)
        value.integer = sqlite3_column_int64(stmt, column);
    if (value.kind == STO_VALUE_REAL)
        value.real = sqlite3_column_double(stmt, column);
    if (value.kind == STO_VALUE_BLOB)
        value.text = sqlite3_column_blob(stmt, column);
    else if (value.kind != STO_VALUE_NULL)
        value.text = (const char *)sqlite3_column_text(stmt, column);
    if (!value.text)
        value.text = "";
    value.len = (size_t)sqlite3_column_bytes(stmt, column);
    return value;
}

/* Instructions of SQLite's machine between two calls of goes_on: about a millisecond. */
#define STEPS_BETWEEN 20000

static bool goes_on(const struct sto_query_sink *sink)
{
    return !sink->goes_on || sink->goes_on(sink->user);
}

/* SQLite's progress handler: not 0 stops the statement. */
static int on_progress(void *user)
{
    return !goes_on(user);
}

static enum vs_status rows_give(const struct sto_db *db, sqlite3_stmt *stmt,
                                const struct sto_query_sink *sink, struct vs_error *err)
{
    size_t count = (size_t)sqlite3_column_count(stmt);
    const char **names = vs_calloc(count + 1, sizeof(*names));
    struct sto_value *values = vs_calloc(count + 1, sizeof(*values));
    enum vs_status st = VS_OK;
    bool has_row = true;

    for (size_t i = 0; i < count; i++)
        names[i] = sqlite3_column_name(stmt, (int)i);
    sink->columns(sink->user, count, names);
    while (!st) {
        st = goes_on(sink) ? sto_db_row(db, stmt, &has_row, err)
                           : vs_fail(err, VS_E_STOPPED, "sql: stopped");
        if (st && sqlite3_errcode(db->handle) == SQLITE_INTERRUPT)
            st = vs_fail(err, VS_E_STOPPED, "sql: stopped");
        if (st || !has_row)
            break;
        for (size_t i = 0; i < count; i++)
            values[i] = value_get(stmt, (int)i);
        sink->row(sink->user, count, values);
    }
    vs_free(names);
    vs_free(values);
    return st;
}

enum vs_status sto_query(const char *path, const char *sql, const struct sto_query_sink *sink,
                         struct vs_error *err)
{
    struct sto_reader *reader = NULL;
    struct sto_db db = {NULL, NULL};
    sqlite3_stmt *stmt = NULL;
    char *file = NULL;
    enum vs_status st;

    /* the reader reports what is wrong with a file, and upgrades an old one */
    st = sto_reader_open(path, &reader, err);
    if (st)
        return st;
    (void)sto_devices_split(path, &file); /* the tables contain the events of all devices */
    st = sto_db_open(&db, file, false, err);
    if (!st)
        st = views_replace(&db, err);
    if (!st)
        st = sto_db_exec(&db, "PRAGMA query_only = 1", err);
    if (!st)
        st = statement_get(&db, sql, &stmt, err);
    if (!st)
        sqlite3_progress_handler(db.handle, STEPS_BETWEEN, on_progress, (void *)(uintptr_t)sink);
    if (!st)
        st = rows_give(&db, stmt, sink, err);
    sqlite3_finalize(stmt);
    sto_db_close(&db);
    sto_reader_close(reader);
    vs_free(file);
    return st;
}

const char *sto_sqlite_version(void)
{
    return sqlite3_libversion();
}
