/*
 * tools/empty_trace.c - prints an empty trace file as C source; run once, while vramscope is built.
 *
 * For:            store/create.c, which includes the output.
 * Must not know:  the contents of tables: store/migrate.c creates them.
 * Invariant:      the same schema and the same SQLite version give the same bytes.
 *
 * Creating the tables with SQL took longer than importing a small snapshot, and half of that time SQLite parsed the
 * views, which are not used while a trace is written. Therefore the image contains only the tables and is marked as
 * incomplete, and the rows of the views are printed separately.
 */
#include <inttypes.h>
#include <stdio.h>

#include "store/migrate.h"

#define PER_LINE 32

static void bytes_print(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%u,%s", (unsigned)bytes[i], i % PER_LINE == PER_LINE - 1 ? "\n" : "");
}

/* The rows of sqlite_schema that are views: text_N, and the table `views`. */
static enum vs_status views_print(const struct sto_db *db, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = true;
    int count = 0;
    enum vs_status st = sto_db_prepare(
        db, "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid", &stmt, err);

    while (!st) {
        st = sto_db_row(db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        printf("static const char name_%d[] = \"%s\";\nstatic const char text_%d[] = {\n", count,
               (const char *)sqlite3_column_text(stmt, 0), count);
        bytes_print(sqlite3_column_text(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1));
        printf("0};\n");
        count++;
    }
    sqlite3_finalize(stmt);
    printf("static const struct view views[] = {\n");
    for (int i = 0; i < count; i++)
        printf("{name_%d, text_%d},\n", i, i);
    printf("};\n");
    return st;
}

static enum vs_status views_drop(const struct sto_db *db, struct vs_error *err)
{
    char sql[128] = "";
    enum vs_status st = VS_OK;

    while (!st) {
        sqlite3_stmt *stmt = NULL;
        bool has_row = false;

        st = sto_db_prepare(
            db, "SELECT 'DROP VIEW ' || name FROM sqlite_schema WHERE type = 'view'", &stmt, err);
        if (!st)
            st = sto_db_row(db, stmt, &has_row, err);
        if (!st && has_row)
            snprintf(sql, sizeof(sql), "%s", (const char *)sqlite3_column_text(stmt, 0));
        sqlite3_finalize(stmt);
        if (!st && !has_row)
            break;
        if (!st)
            st = sto_db_exec(db, sql, err);
    }
    return st;
}

static enum vs_status image_print(const struct sto_db *db, struct vs_error *err)
{
    sqlite3_int64 len = 0;
    unsigned char *image;
    char sql[64];
    enum vs_status st = views_drop(db, err);

    snprintf(sql, sizeof(sql), "VACUUM; PRAGMA user_version = %d", STO_MIGRATE_BEGUN);
    if (!st)
        st = sto_db_exec(db, sql, err);
    if (st)
        return st;
    image = sqlite3_serialize(db->handle, "main", &len, 0);
    if (!image)
        return vs_fail(err, VS_E_IO, "no memory for the image");
    printf("static const unsigned char image[] = {\n");
    bytes_print(image, (size_t)len);
    printf("};\n");
    sqlite3_free(image);
    return VS_OK;
}

int main(void)
{
    struct sto_db db = {NULL, "the empty trace"};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_OK;

    if (sqlite3_open(":memory:", &db.handle) != SQLITE_OK)
        st = sto_db_fail(&db, &err);
    if (!st)
        st = sto_db_exec(&db, "PRAGMA page_size = 4096", &err);
    if (!st)
        st = sto_migrate_create(&db, &err);
    if (!st)
        st = views_print(&db, &err);
    if (!st)
        st = image_print(&db, &err);
    sto_db_close(&db);
    if (st)
        fprintf(stderr, "empty_trace: %s\n", err.text);
    return st || fflush(stdout) != 0;
}
