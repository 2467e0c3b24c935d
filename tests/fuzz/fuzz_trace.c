/*
 * tests/fuzz/fuzz_trace.c - a trace file with anything in it gives a report and an export, or one message.
 *
 * A small net is recorded once. Input: a byte that says how the file is changed and, halved, which export is made (0:
 * all); then the changes. Odd: values of its tables, 12 bytes each (table, column, row, type, 8 bytes of value); even
 * and below 128: bytes of the file, 4 bytes each (where, what). The first kind reaches what SQLite would refuse to
 * hand out; text and blobs are cut out of the input's end. The other even ones: a byte that says which chunk, and 4
 * bytes for each byte of its columns that is changed: they are decompressed and compressed again, as zstd would refuse
 * most of what is changed behind it.
 *
 * The file is in memory where there is a file system for that: nothing is written to a disk.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "export/export.h"
#include "lang/run/run.h"
#include "replay/report/report.h"
#include "tracer/recorder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_PATCH 4
#define VALUE_PATCH 12
#define TABLES_MAX 64
#define BLOB_MAX 256
#define PLAIN_MAX (1 << 20)
/* Even first bytes from this on change columns of a chunk. */
#define COLUMNS_FROM 128

static const char NET[] = "import torch\nimport torch.nn as nn\n"
                          "def model():\n"
                          "    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))\n"
                          "def batch(n):\n"
                          "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n";

/* The fuzzer gives no place for state. */
static char path[64];
static uint8_t *whole;
static size_t whole_size;

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void trace_remove(void)
{
    unlink(path);
}

/* The `i`-th text that `sql` gives, or false. */
static bool name_at(sqlite3 *db, const char *sql, const char *of, unsigned i, char *out,
                    size_t out_size)
{
    sqlite3_stmt *stmt = NULL;
    unsigned count = 0;
    bool found = false;

    check(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK);
    if (of)
        sqlite3_bind_text(stmt, 1, of, -1, SQLITE_STATIC);
    while (sqlite3_step(stmt) == SQLITE_ROW && count <= i % TABLES_MAX) {
        snprintf(out, out_size, "%s", (const char *)sqlite3_column_text(stmt, 0));
        found = true;
        count++;
    }
    sqlite3_finalize(stmt);
    return found;
}

/* The program reads none of the views, and most of what it takes to open the file is to parse them. */
static void views_drop(void)
{
    char name[64];
    char sql[96];
    sqlite3 *db = NULL;

    check(sqlite3_open(path, &db) == SQLITE_OK);
    while (name_at(db, "select name from sqlite_master where type = 'view'", NULL, 0, name,
                   sizeof(name))) {
        snprintf(sql, sizeof(sql), "drop view \"%s\"", name);
        check(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    }
    check(sqlite3_exec(db, "pragma journal_mode = delete; vacuum", NULL, NULL, NULL) == SQLITE_OK);
    check(sqlite3_close(db) == SQLITE_OK);
}

static void trace_make(void)
{
    struct trc_recorder_options options = {.force = true};
    struct vs_toggles toggles = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec = NULL;
    struct lang_settings settings = {.file_name = "net.py", .text = NET, .len = sizeof(NET) - 1};
    struct lang_result result;
    FILE *file;

    snprintf(path, sizeof(path), "%s/vramscope-fuzz-%ld.db",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    memset(&result, 0, sizeof(result));
    check(!trc_recorder_open(path, &options, &rec, &err));
    trc_recorder_source_add(rec, "net.py", NET);
    check(!vs_toggles_set_named(&toggles, "steps", "2", &err));
    settings.toggles = &toggles;
    settings.observer = trc_recorder_observer(rec);
    check(!lang_run(&settings, &result, &err));
    check(!trc_recorder_close(rec, true, &err));
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    views_drop();
    file = fopen(path, "rb");
    check(file != NULL);
    whole = malloc(1 << 20);
    check(whole != NULL);
    whole_size = fread(whole, 1, 1 << 20, file);
    fclose(file);
    atexit(trace_remove);
}

static void file_write(const uint8_t *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    check(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    close(fd);
}

/* Bytes of the file, in place. */
static void bytes_change(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(whole_size);

    check(bytes != NULL);
    memcpy(bytes, whole, whole_size);
    for (; size >= FILE_PATCH; data += FILE_PATCH, size -= FILE_PATCH) {
        size_t at = (size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2];

        bytes[at % whole_size] = data[3];
    }
    file_write(bytes, whole_size);
    free(bytes);
}

static void value_change(sqlite3 *db, const uint8_t *p, const uint8_t *rest, size_t rest_size)
{
    char table[64];
    char column[64];
    char sql[512];
    sqlite3_stmt *stmt = NULL;
    size_t len = p[4] % BLOB_MAX < rest_size ? p[4] % BLOB_MAX : rest_size;
    int64_t number;

    memcpy(&number, p + 4, sizeof(number));
    if (!name_at(db, "select name from sqlite_master where type = 'table'", NULL, p[0], table,
                 sizeof(table)) ||
        !name_at(db, "select name from pragma_table_info(?1)", table, p[1], column, sizeof(column)))
        return;
    snprintf(sql, sizeof(sql),
             "update \"%s\" set \"%s\" = ?1 where rowid = (select rowid from \"%s\" limit 1 offset "
             "?2 %% max(1, (select count(*) from \"%s\")))",
             table, column, table, table);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return; /* a table without rowids */
    sqlite3_bind_int(stmt, 2, p[2]);
    if (p[3] % 4 == 0)
        sqlite3_bind_int64(stmt, 1, number);
    else if (p[3] % 4 == 1)
        sqlite3_bind_int64(stmt, 1, (int8_t)p[4]);
    else if (p[3] % 4 == 2)
        sqlite3_bind_blob(stmt, 1, rest, (int)len, SQLITE_STATIC);
    else
        sqlite3_bind_text(stmt, 1, (const char *)rest, (int)len, SQLITE_STATIC);
    sqlite3_step(stmt);
    sqlite3_finalize(stmt);
}

/* Values of the tables. */
static void values_change(const uint8_t *data, size_t size)
{
    sqlite3 *db = NULL;

    file_write(whole, whole_size);
    check(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_exec(db, "pragma journal_mode = off; pragma synchronous = off", NULL, NULL, NULL);
    for (; size >= VALUE_PATCH; data += VALUE_PATCH, size -= VALUE_PATCH)
        value_change(db, data, data + VALUE_PATCH, size - VALUE_PATCH);
    sqlite3_close(db);
}

/* Columns of a chunk, one byte after the other. */
static void columns_change(uint8_t *plain, size_t plain_size, const uint8_t *data, size_t size)
{
    for (; size >= FILE_PATCH && plain_size; data += FILE_PATCH, size -= FILE_PATCH) {
        size_t at = (size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2];

        plain[at % plain_size] = data[3];
    }
}

/* The columns of chunk `data[0]`, of events or of tensors. */
static void chunk_change(const uint8_t *data, size_t size)
{
    static uint8_t plain[PLAIN_MAX];
    static uint8_t packed[PLAIN_MAX];
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    sqlite3_stmt *update = NULL;

    file_write(whole, whole_size);
    check(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_exec(db, "pragma journal_mode = off; pragma synchronous = off", NULL, NULL, NULL);
    check(sqlite3_prepare_v2(db,
                             "select id, data from event_chunk limit 1 offset ?1 % (select "
                             "count(*) from event_chunk)",
                             -1, &stmt, NULL) == SQLITE_OK);
    check(sqlite3_prepare_v2(db, "update event_chunk set data = ?1 where id = ?2", -1, &update,
                             NULL) == SQLITE_OK);
    sqlite3_bind_int(stmt, 1, size ? data[0] : 0);
    if (size && sqlite3_step(stmt) == SQLITE_ROW) {
        const sqlite3_int64 id = sqlite3_column_int64(stmt, 0);
        const void *bytes = sqlite3_column_blob(stmt, 1);
        size_t count =
            ZSTD_decompress(plain, sizeof(plain), bytes, (size_t)sqlite3_column_bytes(stmt, 1));

        check(!ZSTD_isError(count));
        columns_change(plain, count, data + 1, size - 1);
        count = ZSTD_compress(packed, sizeof(packed), plain, count, 1);
        check(!ZSTD_isError(count));
        sqlite3_reset(stmt);
        sqlite3_bind_blob(update, 1, packed, (int)count, SQLITE_STATIC);
        sqlite3_bind_int64(update, 2, id);
        check(sqlite3_step(update) == SQLITE_DONE);
    }
    sqlite3_finalize(stmt);
    sqlite3_finalize(update);
    sqlite3_close(db);
}

static enum vs_status report_read(struct rpl_trace *trace, struct vs_error *err)
{
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = rpl_report_fill(&report, trace, 5, err);

    if (!st) {
        rpl_report_text(&report, path, &text);
        rpl_report_json(&report, &text);
    }
    vs_text_release(&text);
    rpl_report_release(&report);
    return st;
}

/* Number `which`: each format, and the table of blocks of the two that have one. */
#define EXPORTS (EXP_FORMAT_COUNT + 2)
static struct exp_options export_of(unsigned which)
{
    if (which < EXP_FORMAT_COUNT)
        return (struct exp_options){.format = (enum exp_format)which};
    return (struct exp_options){.format = which == EXP_FORMAT_COUNT ? EXP_CSV : EXP_JSON,
                                .table = EXP_TABLE_BLOCKS};
}

/* which: 0 is all of them, which is most of an input's time; else the one before it. */
static enum vs_status exports_write(struct rpl_trace *trace, unsigned which, struct vs_error *err)
{
    struct rpl_index *index = NULL;
    FILE *nowhere = fopen("/dev/null", "w");
    enum vs_status st = rpl_index_open(trace, NULL, NULL, &index, err);

    check(nowhere != NULL);
    for (unsigned i = 0; i < EXPORTS && index; i++) {
        struct exp_options options = export_of(i);

        if (which && i != (which - 1) % EXPORTS)
            continue;
        st = exp_write(index, &options, nowhere, err);
        check(!st || err->text[0] != '\0');
    }
    rpl_index_free(index);
    fclose(nowhere);
    return st;
}

/* Both of one reading: to read the schema is the most of what is left. */
static void trace_query(unsigned which)
{
    struct vs_error report_err = VS_ERROR_INIT, export_err = VS_ERROR_INIT, err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;

    if (rpl_trace_open(path, &trace, &err)) {
        check(err.text[0] != '\0');
    } else {
        check(!report_read(trace, &report_err) || report_err.text[0] != '\0');
        check(!exports_write(trace, which, &export_err) || export_err.text[0] != '\0');
    }
    rpl_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!whole)
        trace_make();
    if (size < 1)
        return 0;
    if (data[0] % 2)
        values_change(data + 1, size - 1);
    else if (data[0] >= COLUMNS_FROM)
        chunk_change(data + 1, size - 1);
    else
        bytes_change(data + 1, size - 1);
    trace_query(data[0] / 2 % (COLUMNS_FROM / 2));
    return 0;
}
