/*
 * store/cell.c - see cell.h.
 *
 * Must not know:  what is selected.
 * Invariant:      it reads in the transaction of the statement that searches it.
 *
 * A virtual table of SQLite. A search goes through the blocks of the trace, decodes the chunk of each unless it is the
 * one before, and returns its events of the block's kind.
 */
#include "store/cell.h"

#include "base/error.h"
#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/codec/codec.h"
#include "store/db_internal.h"

static const char CELL[] = "CREATE TABLE cell (kind INTEGER, seq INTEGER, time_ns INTEGER, "
                           "place INTEGER, a INTEGER, b INTEGER, c INTEGER, d INTEGER, "
                           "e INTEGER, aux INTEGER)";
#define COLUMN_KIND 0
#define COLUMN_SEQ 1

/* How it is searched: which constraints xFilter gets. */
#define BY_KIND 1
#define BY_SEQ 2
#define BUT_KIND 4

struct cells {
    sqlite3_vtab base;
    struct sto_db db;
    struct sto_chunks *chunks;
};

/*
 * A search.
 *
 * blocks      the blocks that are left: id, first_seq, kind. It is not reset before the end, which keeps the
 *             transaction open. has_tensors: it was made for a search in which tensors of all chunks are left
 * chunk_id    the chunk, or block of tensors, whose events are decoded; -1: none
 * kind, first_seq  of the block; at: the event of it, counted from the chunk's first
 */
struct cells_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *blocks;
    bool has_tensors;
    sqlite3_int64 chunk_id;
    sqlite3_int64 first_seq;
    sqlite3_int64 kind;
    size_t at;
    size_t count;
    bool is_end;
    struct vs_event *events;
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
    const char *path = sqlite3_db_filename(handle, "main");
    struct vs_error err = VS_ERROR_INIT;
    int rc;

    (void)user;
    (void)argc;
    (void)argv;
    cells->db = (struct sto_db){handle, path && *path ? path : "the database"};
    if (sto_chunks_open(&cells->db, &cells->chunks, &err)) {
        *why = sqlite3_mprintf("%s", err.text);
        rc = SQLITE_CORRUPT;
    } else {
        rc = sqlite3_declare_vtab(handle, CELL);
    }
    if (rc == SQLITE_OK)
        rc = sqlite3_vtab_config(handle, SQLITE_VTAB_INNOCUOUS);
    if (rc == SQLITE_OK)
        *out = &cells->base;
    else
        cells_disconnect(&cells->base);
    return rc;
}

/* Whether the connection has another trace attached: its views would show the events of the first. */
static bool is_ambiguous(sqlite3 *handle)
{
    sqlite3_stmt *stmt = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(handle, "SELECT name FROM pragma_database_list WHERE seq > 1", -1, &stmt,
                           NULL) != SQLITE_OK)
        return false;
    while (!found && sqlite3_step(stmt) == SQLITE_ROW)
        found = sqlite3_table_column_metadata(handle, (const char *)sqlite3_column_text(stmt, 0),
                                              "event_block", NULL, NULL, NULL, NULL, NULL,
                                              NULL) == SQLITE_OK;
    sqlite3_finalize(stmt);
    return found;
}

/* Whether it is the constraint on the kind or on the event's number that `want` says. */
static bool is_wanted(const struct sqlite3_index_constraint *constraint, int want)
{
    return constraint->usable &&
           constraint->op ==
               (want == BUT_KIND ? SQLITE_INDEX_CONSTRAINT_NE : SQLITE_INDEX_CONSTRAINT_EQ) &&
           constraint->iColumn == (want == BY_SEQ ? COLUMN_SEQ : COLUMN_KIND);
}

/* The kind, the event's number, and a kind that is left out are used where they are given, in this order. */
static int cells_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    int by = 0;
    int args = 0;
    double rows = 1e8;

    if (is_ambiguous(((struct cells *)table)->db.handle)) {
        sqlite3_free(table->zErrMsg);
        table->zErrMsg = sqlite3_mprintf("the events of one trace can be read at a time: detach "
                                         "the other");
        return SQLITE_ERROR;
    }
    for (int want = BY_KIND; want <= BUT_KIND; want *= 2)
        for (int i = 0; i < info->nConstraint && !(by & want); i++)
            if (is_wanted(&info->aConstraint[i], want)) {
                info->aConstraintUsage[i].argvIndex = ++args;
                by |= want;
                rows /= want == BY_KIND ? 10 : want == BY_SEQ ? 1e7 : 1;
            }
    info->idxNum = by;
    info->estimatedCost = rows;
    info->estimatedRows = (sqlite3_int64)rows;
    return SQLITE_OK;
}

static int cells_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct cells_cursor *c = vs_calloc(1, sizeof(*c));

    (void)table;
    c->chunk_id = -1;
    c->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->events));
    *out = &c->base;
    return SQLITE_OK;
}

static int cells_close(sqlite3_vtab_cursor *cursor)
{
    struct cells_cursor *c = (struct cells_cursor *)cursor;

    sqlite3_finalize(c->blocks);
    vs_free(c->events);
    vs_free(c);
    return SQLITE_OK;
}

/* Decode the chunk of the block that the statement stands at, if another one is decoded. */
static int block_take(struct cells_cursor *c)
{
    struct cells *cells = (struct cells *)c->base.pVtab;
    struct vs_error err = VS_ERROR_INIT;
    sqlite3_int64 id = sqlite3_column_int64(c->blocks, 0);

    c->first_seq = sqlite3_column_int64(c->blocks, 1);
    c->kind = sqlite3_column_int64(c->blocks, 2);
    c->at = 0;
    if (c->kind != STO_KIND_TENSOR)
        id -= id % STO_BLOCK_IDS;
    if (id == c->chunk_id)
        return SQLITE_OK;
    c->chunk_id = id;
    if (!sto_chunks_block_read(cells->chunks, id, STO_CHUNK_EVENTS_MAX, c->events, &c->count, &err))
        return SQLITE_OK;
    c->chunk_id = -1;
    sqlite3_free(c->base.pVtab->zErrMsg);
    c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", err.text);
    return SQLITE_CORRUPT;
}

/* Go on to the next event from c->at on, or to the first of the next block. */
static int event_find(struct cells_cursor *c, bool has_block)
{
    for (;;) {
        int rc;

        while (has_block && c->at < c->count && c->events[c->at].kind != c->kind)
            c->at++;
        if (has_block && c->at < c->count)
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

/*
 * The first block of the chunk that has event `seq`; -1: there is none. A recorder may have written further chunks
 * since the list of them was read.
 */
static int seq_find(const struct cells *cells, uint64_t seq, int64_t *out)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = sto_chunks_block_of(cells->chunks, seq, out, &err);

    if (!st && *out < 0)
        st = sto_chunks_refresh(cells->chunks, &err);
    if (!st && *out < 0)
        st = sto_chunks_block_of(cells->chunks, seq, out, &err);
    return st ? SQLITE_CORRUPT : SQLITE_OK;
}

/*
 * Which blocks are left: those of a chunk (BY_SEQ), of a kind, of any kind but one, or all. `seq` of a tensor is its
 * id, which is in any chunk: their blocks are left in a search for a number, unless the kind says otherwise, as in the
 * views of events.
 */
static int cells_filter(sqlite3_vtab_cursor *cursor, int by, const char *name, int argc,
                        sqlite3_value **argv)
{
    static const char SQL[] = "SELECT id, first_seq, kind FROM event_block "
                              "WHERE id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR id % 64 = ?3) "
                              "AND (?4 IS NULL OR id % 64 <> ?4) ORDER BY id";
    static const char WITH_TENSORS[] =
        "SELECT id, first_seq, kind FROM event_block "
        "WHERE (id BETWEEN ?1 AND ?2 OR id % 64 = 63) AND (?3 IS NULL OR id % 64 = ?3) "
        "AND (?4 IS NULL OR id % 64 <> ?4) ORDER BY id";
    sqlite3_value *const kind = by & BY_KIND ? *argv++ : NULL;
    sqlite3_value *const seq = by & BY_SEQ ? *argv++ : NULL;
    sqlite3_value *const but = by & BUT_KIND ? *argv : NULL;
    const bool may_be_tensor = seq && (!kind || sqlite3_value_int64(kind) == STO_KIND_TENSOR) &&
                               (!but || sqlite3_value_int64(but) != STO_KIND_TENSOR);
    struct cells_cursor *c = (struct cells_cursor *)cursor;
    const struct cells *cells = (const struct cells *)cursor->pVtab;
    int64_t first = 0;
    int64_t last = INT64_MAX;

    (void)name;
    (void)argc;
    if (c->blocks && c->has_tensors != may_be_tensor) {
        sqlite3_finalize(c->blocks);
        c->blocks = NULL;
    }
    c->has_tensors = may_be_tensor;
    if (!c->blocks && sqlite3_prepare_v2(cells->db.handle, may_be_tensor ? WITH_TENSORS : SQL, -1,
                                         &c->blocks, NULL) != SQLITE_OK)
        return SQLITE_ERROR;
    sqlite3_reset(c->blocks);
    sqlite3_clear_bindings(c->blocks);
    if (kind)
        sqlite3_bind_value(c->blocks, 3, kind);
    if (but)
        sqlite3_bind_value(c->blocks, 4, but);
    if (seq) {
        const int rc = seq_find(cells, (uint64_t)sqlite3_value_int64(seq), &first);

        if (rc != SQLITE_OK)
            return rc;
        last = first < 0 ? -1 : first + STO_BLOCK_IDS - 1;
    }
    sqlite3_bind_int64(c->blocks, 1, first);
    sqlite3_bind_int64(c->blocks, 2, last);
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
        (sqlite3_int64)((uint64_t)c->first_seq + c->at), /* first_seq may be any number */
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

    /* ids of a damaged file may be any number */
    const uint64_t block =
        (uint64_t)c->chunk_id + (c->kind == STO_KIND_TENSOR ? 0 : (uint64_t)c->kind);

    *out = (sqlite3_int64)(block * STO_CHUNK_EVENTS_MAX + c->at);
    return SQLITE_OK;
}

/* xCreate and xConnect are the same, so that the table is there without CREATE VIRTUAL TABLE, too. */
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

int sto_cell_register(sqlite3 *handle)
{
    return sqlite3_create_module(handle, "cell", &CELLS, NULL);
}
