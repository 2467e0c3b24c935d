/*
 * store/writer_locations.c - writes many locations at once.
 *
 * For:            store/writer.h.
 * Must not know:  events.
 * Invariant:      the rows are those that sto_writer_location() writes.
 */
#include "store/writer.h"

#include "store/db_internal.h"
#include "store/writer_internal.h"

/* Rows per INSERT statement: SQLite has a fixed cost per statement. */
#define ROWS 32

static enum vs_status statement_prepare(const struct sto_db *db, sqlite3_stmt **out,
                                        struct vs_error *err)
{
    sqlite3_str *sql = sqlite3_str_new(db->handle);
    enum vs_status st;
    char *text;

    sqlite3_str_appendall(sql, "INSERT OR REPLACE INTO place VALUES ");
    for (int i = 0; i < ROWS; i++)
        sqlite3_str_appendall(sql, i ? ", (?, ?, ?, ?, ?, ?)" : "(?, ?, ?, ?, ?, ?)");
    text = sqlite3_str_finish(sql);
    if (!text)
        vs_die("out of memory");
    st = sto_db_prepare(db, text, out, err);
    sqlite3_free(text);
    return st;
}

static void rows_bind(sqlite3_stmt *stmt, uint32_t first_id, const struct vs_location *locations)
{
    int at = 0;

    for (uint32_t i = 0; i < ROWS; i++) {
        sqlite3_bind_int64(stmt, ++at, first_id + i);
        sqlite3_bind_int64(stmt, ++at, locations[i].phase);
        sqlite3_bind_int64(stmt, ++at, locations[i].module);
        sqlite3_bind_int64(stmt, ++at, locations[i].func);
        sqlite3_bind_int64(stmt, ++at, locations[i].line);
        sqlite3_bind_int64(stmt, ++at, locations[i].op);
    }
}

enum vs_status sto_writer_locations(struct sto_writer *w, uint32_t first_id,
                                    const struct vs_location *locations, size_t count,
                                    struct vs_error *err)
{
    const struct sto_db *db = sto_writer_db(w);
    sqlite3_stmt *stmt = NULL;
    size_t done = 0;
    enum vs_status st = sto_writer_failure(w, err);

    if (!st && count >= ROWS)
        st = sto_writer_keep(w, statement_prepare(db, &stmt, err), err);
    for (; !st && count - done >= ROWS; done += ROWS) {
        rows_bind(stmt, first_id + (uint32_t)done, &locations[done]);
        st = sto_writer_keep(w, sto_db_run(db, stmt, err), err);
    }
    sqlite3_finalize(stmt);
    for (; !st && done < count; done++)
        st = sto_writer_location(w, first_id + (uint32_t)done, &locations[done], err);
    return st;
}
