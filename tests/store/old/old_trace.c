/*
 * tests/store/old/old_trace.c - see old_trace.h.
 */
#include "tests/store/old/old_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/view.h"
#include "tests/store/old/old_encode.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void column_write(sqlite3_stmt *stmt, int64_t id, const struct sto_column *col)
{
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_int64(stmt, 2, col->base);
    sqlite3_bind_int64(stmt, 3, col->step);
    sqlite3_bind_int64(stmt, 4, col->unit);
    sqlite3_bind_int64(stmt, 5, col->width);
    sqlite3_bind_int64(stmt, 6, col->dict_width);
    sqlite3_bind_int64(stmt, 7, (sqlite3_int64)col->codes);
    sqlite3_bind_blob64(stmt, 8, col->dict, col->dict_bytes, SQLITE_TRANSIENT);
    sqlite3_bind_blob64(stmt, 9, col->data, col->data_bytes, SQLITE_TRANSIENT);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_reset(stmt);
}

static void block_write(sqlite3_stmt *stmt, int64_t chunk, const struct sto_block *block)
{
    const int64_t id = (chunk - chunk % STO_BLOCK_IDS + block->kind) * STO_COLUMN_IDS;

    for (int f = 0; f < STO_FIELD_COUNT; f++)
        if (block->columns[f].is_stored)
            column_write(stmt, id + f, &block->columns[f]);
}

/* Write the chunks as columns; the rows of event_block are the same. */
static void chunks_write(const struct sto_db *db)
{
    struct vs_event *events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*events));
    struct old_encoder *encoder = old_encoder_new();
    struct vs_error err = VS_ERROR_INIT;
    struct sto_block blocks[VS_EVENT_KIND_COUNT];
    struct sto_loader *loader = NULL;
    sqlite3_stmt *list = NULL;
    sqlite3_stmt *insert = NULL;
    bool has_row = true;

    ok(sto_loader_open(db, &loader, &err), &err);
    ok(sto_db_prepare(db, "SELECT id FROM event_chunk", &list, &err), &err);
    ok(sto_db_prepare(db, "INSERT INTO event_column VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert,
                      &err),
       &err);
    for (;;) {
        int64_t id;
        size_t count;
        size_t block_count = 1;

        ok(sto_db_row(db, list, &has_row, &err), &err);
        if (!has_row)
            break;
        id = sqlite3_column_int64(list, 0);
        ok(sto_loader_read(loader, id, &count, &err), &err);
        ok(sto_loader_events(loader, events, count, &err), &err);
        if (id % STO_BLOCK_IDS == STO_KIND_TENSOR)
            old_encode_block(encoder, events, count, STO_KIND_TENSOR, blocks);
        else
            block_count = old_encode(encoder, events, count, blocks);
        for (size_t i = 0; i < block_count; i++)
            block_write(insert, id, &blocks[i]);
    }
    sqlite3_finalize(list);
    sqlite3_finalize(insert);
    sto_loader_close(loader);
    old_encoder_free(encoder);
    vs_free(events);
}

void old_trace_make(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_db db = {NULL, NULL};
    char *views = sto_view_sql(false);

    ok(sto_db_open(&db, path, true, &err), &err);
    ok(sto_db_exec(
           &db,
           "BEGIN; CREATE TABLE event_column (id INTEGER PRIMARY KEY, base, step, unit, width, "
           "dict_width, codes, dict, data); CREATE TABLE number (i INTEGER PRIMARY KEY); "
           "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 127) "
           "INSERT INTO number SELECT i FROM n",
           &err),
       &err);
    chunks_write(&db);
    ok(sto_db_exec(&db,
                   "DROP TABLE event_chunk; DROP VIEW block; DROP VIEW tensor; DROP VIEW event; "
                   "DROP VIEW event_number",
                   &err),
       &err);
    ok(sto_db_exec(&db, views, &err), &err);
    ok(sto_db_exec(&db, "PRAGMA user_version = 5; COMMIT", &err), &err);
    sqlite3_free(views);
    sto_db_close(&db);
}
