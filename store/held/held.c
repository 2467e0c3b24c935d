/*
 * store/held/held.c - see held.h.
 *
 * Must not know:  what holders mean.
 */
#include "store/held/held.h"

#include <stdbool.h>
#include <string.h>

#include "store/db_internal.h"
#include "store/reader_internal.h"

static const char TABLES[] =
    /* clang-format off */
    "CREATE TABLE IF NOT EXISTS held (\n"
    "    seq    INTEGER NOT NULL, -- event.seq: right after it the program was examined\n"
    "    number INTEGER NOT NULL, -- of the row, from 1: in the order in which they were found\n"
    "    block  INTEGER NOT NULL, -- block.id: what is held\n"
    "    holder INTEGER NOT NULL, -- holder.id: the kind of holder\n"
    "    name   INTEGER NOT NULL, -- string.id of the holder's name; 0: none\n"
    "    scope  INTEGER NOT NULL, -- string.id of the function or object it belongs to; 0: none\n"
    "    place  INTEGER NOT NULL, -- place.id: where the program is, of a variable; 0: not known\n"
    "    node   INTEGER NOT NULL, -- number of autograd's node + 1; 0: none\n"
    "    PRIMARY KEY (seq, number)\n"
    ") WITHOUT ROWID";
/* clang-format on */

/* ---- writing ---- */

enum { FIND_STRING, ADD_STRING, FIND_PLACE, ADD_PLACE, ADD_ROW, STATEMENT_COUNT };

static const char *const SQL[STATEMENT_COUNT] = {
    [FIND_STRING] = "SELECT id FROM string WHERE text = ?1",
    [ADD_STRING] = "INSERT INTO string SELECT ifnull(max(id), 0) + 1, ?1 FROM string",
    [FIND_PLACE] =
        "SELECT id FROM place WHERE (phase, func, line, module, op) = (?1, ?2, ?3, 0, 0)",
    [ADD_PLACE] = "INSERT INTO place SELECT ifnull(max(id), 0) + 1, ?1, 0, ?2, ?3, 0 FROM place",
    [ADD_ROW] = "INSERT INTO held VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
};

struct writing {
    const struct sto_db *db;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

/* The id that FIND gives, after ADD if there is none. Both have the same parameters bound. */
static enum vs_status id_get(const struct writing *w, int find, int add, sqlite3_int64 *out,
                             struct vs_error *err)
{
    bool has_row = false;
    enum vs_status st;

    for (int attempt = 0; attempt < 2; attempt++) {
        st = sto_db_row(w->db, w->statements[find], &has_row, err);
        if (st)
            return st;
        if (has_row) {
            *out = sqlite3_column_int64(w->statements[find], 0);
            sqlite3_reset(w->statements[find]);
            return VS_OK;
        }
        st = sto_db_run(w->db, w->statements[add], err);
        if (st)
            return st;
    }
    return vs_fail(err, VS_E_DAMAGED, "%s: a row that was added is not there", w->db->path);
}

static enum vs_status string_get(const struct writing *w, const char *text, sqlite3_int64 *out,
                                 struct vs_error *err)
{
    *out = 0;
    if (!*text)
        return VS_OK;
    sqlite3_bind_text(w->statements[FIND_STRING], 1, text, -1, SQLITE_STATIC);
    sqlite3_bind_text(w->statements[ADD_STRING], 1, text, -1, SQLITE_STATIC);
    return id_get(w, FIND_STRING, ADD_STRING, out, err);
}

static enum vs_status place_get(const struct writing *w, uint32_t phase, const char *func,
                                uint32_t line, sqlite3_int64 *out, struct vs_error *err)
{
    sqlite3_int64 func_id;
    enum vs_status st;

    *out = 0;
    if (!line)
        return VS_OK;
    st = string_get(w, func, &func_id, err);
    for (int i = FIND_PLACE; i <= ADD_PLACE; i++) {
        sqlite3_bind_int64(w->statements[i], 1, phase);
        sqlite3_bind_int64(w->statements[i], 2, func_id);
        sqlite3_bind_int64(w->statements[i], 3, line);
    }
    return st ? st : id_get(w, FIND_PLACE, ADD_PLACE, out, err);
}

static enum vs_status row_add(const struct writing *w, uint64_t seq, uint64_t number,
                              uint32_t phase, const struct sto_held *row, struct vs_error *err)
{
    sqlite3_stmt *add = w->statements[ADD_ROW];
    sqlite3_int64 ids[3];
    enum vs_status st = string_get(w, row->name, &ids[0], err);

    if (!st)
        st = string_get(w, row->scope, &ids[1], err);
    if (!st)
        st = place_get(w, phase, row->func, row->line, &ids[2], err);
    if (st)
        return st;
    sqlite3_bind_int64(add, 1, (sqlite3_int64)seq);
    sqlite3_bind_int64(add, 2, (sqlite3_int64)number);
    sqlite3_bind_int64(add, 3, (sqlite3_int64)row->block);
    sqlite3_bind_int64(add, 4, row->kind);
    for (int i = 0; i < 3; i++)
        sqlite3_bind_int64(add, 5 + i, ids[i]);
    sqlite3_bind_int64(add, 8, (sqlite3_int64)row->node);
    return sto_db_run(w->db, add, err);
}

static enum vs_status old_remove(const struct sto_db *db, uint64_t seq, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st = sto_db_prepare(db, "DELETE FROM held WHERE seq = ?1", &stmt, err);

    if (!st) {
        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
        st = sto_db_run(db, stmt, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

static enum vs_status rows_add(const struct sto_db *db, uint64_t seq, uint32_t phase,
                               const struct sto_held *rows, size_t count, struct vs_error *err)
{
    struct writing w = {.db = db};
    enum vs_status st = VS_OK;

    for (int i = 0; i < STATEMENT_COUNT && !st; i++)
        st = sto_db_prepare(db, SQL[i], &w.statements[i], err);
    for (size_t i = 0; i < count && !st; i++)
        st = row_add(&w, seq, i + 1, phase, &rows[i], err);
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(w.statements[i]);
    return st;
}

enum vs_status sto_held_set(const char *path, uint64_t seq, uint32_t phase,
                            const struct sto_held *rows, size_t count, struct vs_error *err)
{
    struct sto_db db = {0};
    enum vs_status st = sto_db_open(&db, path, true, err);

    if (st)
        return st;
    st = sto_db_exec(&db, "BEGIN IMMEDIATE", err);
    if (!st)
        st = sto_db_exec(&db, TABLES, err);
    if (!st)
        st = old_remove(&db, seq, err);
    if (!st)
        st = rows_add(&db, seq, phase, rows, count, err);
    /* closing the connection undoes a transaction that was not committed */
    if (!st)
        st = sto_db_exec(&db, "COMMIT", err);
    sto_db_close(&db);
    return st;
}

/* ---- reading ---- */

static enum vs_status table_find(const struct sto_db *db, bool *out, struct vs_error *err)
{
    sqlite3_int64 count = 0;
    enum vs_status st =
        sto_db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'held'", &count, err);

    *out = count != 0;
    return st;
}

enum vs_status sto_held_each(struct sto_reader *r, uint64_t seq, sto_held_fn *each, void *user,
                             struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st = table_find(db, &has_row, err);

    if (st || !has_row)
        return st;
    st = sto_db_prepare(db,
                        "SELECT block, holder, name, scope, place, node FROM held WHERE seq = ?1 "
                        "ORDER BY number",
                        &stmt, err);
    if (!st)
        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)seq);
    while (!st && !(st = sto_db_row(db, stmt, &has_row, err)) && has_row)
        each(user, (uint64_t)sqlite3_column_int64(stmt, 0), (uint32_t)sqlite3_column_int64(stmt, 1),
             (uint32_t)sqlite3_column_int64(stmt, 2), (uint32_t)sqlite3_column_int64(stmt, 3),
             (uint32_t)sqlite3_column_int64(stmt, 4), (uint64_t)sqlite3_column_int64(stmt, 5));
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_held_events(struct sto_reader *r, sto_held_seq_fn *each, void *user,
                               struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st = table_find(db, &has_row, err);

    if (st || !has_row)
        return st;
    st = sto_db_prepare(db, "SELECT DISTINCT seq FROM held ORDER BY seq", &stmt, err);
    while (!st && !(st = sto_db_row(db, stmt, &has_row, err)) && has_row)
        each(user, (uint64_t)sqlite3_column_int64(stmt, 0));
    sqlite3_finalize(stmt);
    return st;
}
