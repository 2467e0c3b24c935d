/*
 * store/sweep/results.c - see results.h.
 *
 * Must not know:  how a configuration is run.
 */
#include "store/sweep/results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "store/db_internal.h"
#include "store/schema.h"

/* SQLite's application_id, "VRSW" as a big-endian number, and where a file has it. */
#define APPLICATION_ID_AT 68
#define HEADER_BYTES 100
#define FORMAT 2 /* 1: without result.sharing */

static const char SCHEMA[] =
    /* clang-format off */
    "CREATE TABLE sweep (\n"
    "    key   TEXT NOT NULL PRIMARY KEY, -- net: file of the net; text: what it says; seed; capacity: of the\n"
    "                                     -- device, in bytes, 0: unlimited; version: of vramscope\n"
    "    value TEXT NOT NULL\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE result (\n"
    "    id              INTEGER PRIMARY KEY, -- in the order in which they were found\n"
    "    config          TEXT NOT NULL UNIQUE, -- the toggles, 'batch=8 shard=off'\n"
    "    reason          TEXT, -- why it cannot be run, and nothing else is known; NULL: it was run\n"
    "    fits            INTEGER NOT NULL, -- 1: it runs to its end on the device; 0: figures are of an unlimited one\n"
    "    batch           INTEGER NOT NULL, -- samples of one process in a step\n"
    "    processes       INTEGER NOT NULL, -- that train together\n"
    "    parameters      INTEGER NOT NULL, -- elements of all parameters\n"
    "    allocated       INTEGER NOT NULL, -- highest bytes, as torch.cuda.max_memory_allocated()\n"
    "    requested       INTEGER NOT NULL, -- highest bytes before rounding\n"
    "    reserved        INTEGER NOT NULL, -- highest bytes, as torch.cuda.max_memory_reserved()\n"
    "    step            INTEGER NOT NULL, -- of the highest allocated bytes; -1: set-up\n"
    "    phase           TEXT NOT NULL, -- of the highest allocated bytes\n"
    "    steps           INTEGER NOT NULL, -- of the run\n"
    "    total_flops     INTEGER NOT NULL, -- of all steps\n"
    "    recompute_flops INTEGER NOT NULL, -- of all steps: of ops that were run again\n"
    "    host_bytes      INTEGER NOT NULL, -- of saved tensors, copied to the host and back, of all steps\n"
    "    notes           TEXT NOT NULL, -- parts of toggles that were not applied, a line each\n"
    "    sharing         INTEGER NOT NULL -- processes that share a batch, as with tp, cp and pp; 1: each has its own\n"
    ");\n"
    "CREATE TABLE setting (\n"
    "    result INTEGER NOT NULL, -- result.id\n"
    "    toggle TEXT NOT NULL, -- a toggle that is set; others have the value of the net, or the default\n"
    "    value  TEXT NOT NULL,\n"
    "    PRIMARY KEY (result, toggle)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE collective (\n"
    "    result INTEGER NOT NULL, -- result.id\n"
    "    name   TEXT NOT NULL, -- as NCCL names it\n"
    "    count  INTEGER NOT NULL, -- calls in the last step\n"
    "    bytes  INTEGER NOT NULL, -- that this process gives in them\n"
    "    sent   INTEGER NOT NULL, -- that this process sends in a ring\n"
    "    PRIMARY KEY (result, name)\n"
    ") WITHOUT ROWID;\n";
/* clang-format on */

/* From SETTINGS on they read. */
enum { ADD_RESULT, ADD_SETTING, ADD_COLLECTIVE, SETTINGS, COLLECTIVES, STATEMENT_COUNT };

static const char *const SQL[STATEMENT_COUNT] = {
    [ADD_RESULT] = "INSERT OR IGNORE INTO result VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [ADD_SETTING] = "INSERT INTO setting VALUES (?1, ?2, ?3)",
    [ADD_COLLECTIVE] = "INSERT INTO collective VALUES (?1, ?2, ?3, ?4, ?5)",
    [SETTINGS] = "SELECT toggle, value FROM setting WHERE result = ?1",
    [COLLECTIVES] = "SELECT name, count, bytes, sent FROM collective WHERE result = ?1",
};

/* is_begun: a transaction is open. head: texts are owned. */
struct sto_results {
    struct sto_db db;
    char *path;
    struct sto_results_head head;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    bool is_begun;
};

/* ---- opening ---- */

/* 1: a file of results; 0: an empty file or none; -1: another file. */
static int file_kind(const char *path)
{
    unsigned char head[HEADER_BYTES];
    FILE *file = fopen(path, "rb");
    size_t len = file ? fread(head, 1, sizeof(head), file) : 0;
    uint32_t id = 0;

    if (file)
        fclose(file);
    if (!len)
        return file || errno == ENOENT ? 0 : -1;
    for (size_t i = 0; i < 4 && len == sizeof(head); i++)
        id = id << 8 | head[APPLICATION_ID_AT + i];
    return len == sizeof(head) && memcmp(head, "SQLite format 3", 16) == 0 &&
                   id == STO_SWEEP_APPLICATION_ID
               ? 1
               : -1;
}

bool sto_results_is_file(const char *path)
{
    return file_kind(path) == 1;
}

static enum vs_status head_add(const struct sto_db *db, const char *key, const char *value,
                               struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st = sto_db_prepare(db, "INSERT INTO sweep VALUES (?1, ?2)", &stmt, err);

    if (!st) {
        sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, value, -1, SQLITE_STATIC);
        st = sto_db_run(db, stmt, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

static enum vs_status tables_make(const struct sto_db *db, const struct sto_results_head *head,
                                  struct vs_error *err)
{
    char pragmas[96], seed[24], capacity[24];
    enum vs_status st;

    snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id = %d; PRAGMA user_version = %d",
             STO_SWEEP_APPLICATION_ID, FORMAT);
    snprintf(seed, sizeof(seed), "%" PRIu64, head->seed);
    snprintf(capacity, sizeof(capacity), "%" PRIu64, head->capacity);
    st = sto_db_exec(db, SCHEMA, err);
    if (!st)
        st = head_add(db, "net", head->net, err);
    if (!st)
        st = head_add(db, "text", head->text, err);
    if (!st)
        st = head_add(db, "seed", seed, err);
    if (!st)
        st = head_add(db, "capacity", capacity, err);
    if (!st)
        st = head_add(db, "version", head->version, err);
    return st ? st : sto_db_exec(db, pragmas, err);
}

/* Make the tables unless another program has made them meanwhile. */
static enum vs_status create(const struct sto_db *db, const struct sto_results_head *head,
                             struct vs_error *err)
{
    sqlite3_int64 id = 0;
    enum vs_status st = sto_db_exec(db, "BEGIN IMMEDIATE", err);

    if (!st)
        st = sto_db_number(db, "PRAGMA application_id", &id, err);
    if (!st && id != STO_SWEEP_APPLICATION_ID)
        st = tables_make(db, head, err);
    return st ? st : sto_db_exec(db, "COMMIT", err);
}

/* The value of a key of the head; heap memory. */
static enum vs_status head_value(const struct sto_db *db, const char *key, char **out,
                                 struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *text;
    bool has_row = false;
    enum vs_status st = sto_db_prepare(db, "SELECT value FROM sweep WHERE key = ?1", &stmt, err);

    if (!st) {
        sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
        st = sto_db_row(db, stmt, &has_row, err);
    }
    text = !st && has_row ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    if (text)
        *out = vs_strdup(text);
    else if (!st)
        st = vs_fail(err, VS_E_DAMAGED, "%s: it does not say its %s", db->path, key);
    sqlite3_finalize(stmt);
    return st;
}

static enum vs_status head_read(struct sto_results *results, struct vs_error *err)
{
    static const char *const KEYS[] = {"net", "text", "version", "seed", "capacity"};
    char *values[5] = {NULL};
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < 5 && !st; i++)
        st = head_value(&results->db, KEYS[i], &values[i], err);
    results->head.net = values[0];
    results->head.text = values[1];
    results->head.version = values[2];
    results->head.seed = values[3] ? strtoull(values[3], NULL, 10) : 0;
    results->head.capacity = values[4] ? strtoull(values[4], NULL, 10) : 0;
    vs_free(values[3]);
    vs_free(values[4]);
    return st;
}

static enum vs_status open_file(const char *path, bool is_writable,
                                const struct sto_results_head *head, struct sto_results **out,
                                struct vs_error *err)
{
    struct sto_results *results = vs_calloc(1, sizeof(*results));
    sqlite3_int64 format = 0;
    enum vs_status st;

    results->path = vs_strdup(path);
    st = sto_db_open(&results->db, results->path, is_writable, err);
    if (!st && head)
        st = create(&results->db, head, err);
    if (!st)
        st = sto_db_number(&results->db, "PRAGMA user_version", &format, err);
    if (!st && is_writable && format < FORMAT)
        st = vs_fail(err, VS_E_EXISTS,
                     "%s has results of format %lld, and format %d is written; name another file, "
                     "or remove it",
                     path, (long long)format, FORMAT);
    if (!st && format > FORMAT)
        st = vs_fail(err, VS_E_VERSION,
                     "%s: the results have format %lld, this vramscope reads up to format %d", path,
                     (long long)format, FORMAT);
    if (!st)
        st = head_read(results, err);
    for (size_t i = is_writable ? 0 : SETTINGS; i < STATEMENT_COUNT && !st; i++)
        st = sto_db_prepare(&results->db, SQL[i], &results->statements[i], err);
    if (st)
        sto_results_close(results);
    else
        *out = results;
    return st;
}

/* Whether the results that are there belong to the sweep that `head` describes. */
static enum vs_status head_check(const struct sto_results *results,
                                 const struct sto_results_head *head, struct vs_error *err)
{
    const struct sto_results_head *has = &results->head;
    char buf[VS_BYTES_TEXT_MAX];
    const char *path = results->path;

    if (strcmp(has->text, head->text) != 0)
        return vs_fail(
            err, VS_E_EXISTS,
            "%s has results of another net, or of %s before it was changed; name another "
            "file, or remove it",
            path, has->net);
    if (has->seed != head->seed)
        return vs_fail(err, VS_E_EXISTS,
                       "%s has results with --seed %" PRIu64 "; name another file", path,
                       has->seed);
    if (has->capacity != head->capacity)
        return vs_fail(err, VS_E_EXISTS, "%s has results %s%s; name another file", path,
                       has->capacity ? "with --capacity " : "without --capacity",
                       has->capacity ? vs_bytes_text(has->capacity, buf) : "");
    if (strcmp(has->version, head->version) != 0)
        return vs_fail(err, VS_E_EXISTS,
                       "%s has results of vramscope %s; name another file, or remove it", path,
                       has->version);
    return VS_OK;
}

enum vs_status sto_results_open(const char *path, const struct sto_results_head *head,
                                struct sto_results **out, struct vs_error *err)
{
    enum vs_status st;
    int fd;

    if (file_kind(path) < 0)
        return vs_fail(err, VS_E_FORMAT,
                       "%s is there, and has no results of a sweep; name another file", path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return vs_fail(err, VS_E_IO, "%s: cannot be written: %s", path, strerror(errno));
    close(fd);
    st = open_file(path, true, head, out, err);
    if (st)
        return st;
    st = head_check(*out, head, err);
    if (st) {
        sto_results_close(*out);
        *out = NULL;
    }
    return st;
}

enum vs_status sto_results_read(const char *path, struct sto_results **out, struct vs_error *err)
{
    const int kind = file_kind(path);

    if (!kind)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: there is no such file", path);
    if (kind < 0)
        return vs_fail(err, VS_E_FORMAT, "%s: it has no results of a sweep", path);
    return open_file(path, false, NULL, out, err);
}

const struct sto_results_head *sto_results_head_get(const struct sto_results *results)
{
    return &results->head;
}

/* ---- writing ---- */

static void bind_uint(sqlite3_stmt *stmt, int at, uint64_t value)
{
    sqlite3_bind_int64(stmt, at, (sqlite3_int64)value);
}

static void bind_result(sqlite3_stmt *stmt, const char *config, const struct sto_result *result)
{
    const uint64_t numbers[] = {result->fits,       result->batch,     result->processes,
                                result->parameters, result->allocated, result->requested,
                                result->reserved};
    const uint64_t later[] = {result->steps, result->total_flops, result->recompute_flops,
                              result->host_bytes};

    sqlite3_bind_text(stmt, 1, config, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, result->is_refused ? result->reason : NULL, -1, SQLITE_STATIC);
    for (int i = 0; i < 7; i++)
        bind_uint(stmt, 3 + i, numbers[i]);
    sqlite3_bind_int64(stmt, 10, result->step);
    sqlite3_bind_text(stmt, 11, vs_phase_name(result->phase), -1, SQLITE_STATIC);
    for (int i = 0; i < 4; i++)
        bind_uint(stmt, 12 + i, later[i]);
    sqlite3_bind_text(stmt, 16, result->notes, -1, SQLITE_STATIC);
    bind_uint(stmt, 17, result->sharing);
}

static enum vs_status parts_add(struct sto_results *results, const struct sto_setting *settings,
                                size_t count, const struct sto_result *result, struct vs_error *err)
{
    const sqlite3_int64 id = sqlite3_last_insert_rowid(results->db.handle);
    sqlite3_stmt *setting = results->statements[ADD_SETTING];
    sqlite3_stmt *collective = results->statements[ADD_COLLECTIVE];
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < count && !st; i++) {
        sqlite3_bind_int64(setting, 1, id);
        sqlite3_bind_text(setting, 2, settings[i].toggle, -1, SQLITE_STATIC);
        sqlite3_bind_text(setting, 3, settings[i].value, -1, SQLITE_STATIC);
        st = sto_db_run(&results->db, setting, err);
    }
    for (size_t i = 0; i < result->collective_count && !st; i++) {
        sqlite3_bind_int64(collective, 1, id);
        sqlite3_bind_text(collective, 2, result->collectives[i].name, -1, SQLITE_STATIC);
        bind_uint(collective, 3, result->collectives[i].count);
        bind_uint(collective, 4, result->collectives[i].bytes);
        bind_uint(collective, 5, result->collectives[i].sent);
        st = sto_db_run(&results->db, collective, err);
    }
    return st;
}

enum vs_status sto_results_add(struct sto_results *results, const char *config,
                               const struct sto_setting *settings, size_t count,
                               const struct sto_result *result, struct vs_error *err)
{
    sqlite3_stmt *stmt = results->statements[ADD_RESULT];
    enum vs_status st = VS_OK;

    if (!results->is_begun)
        st = sto_db_exec(&results->db, "BEGIN IMMEDIATE", err);
    if (st)
        return st;
    results->is_begun = true;
    bind_result(stmt, config, result);
    st = sto_db_run(&results->db, stmt, err);
    if (st || !sqlite3_changes(results->db.handle))
        return st;
    return parts_add(results, settings, count, result, err);
}

enum vs_status sto_results_commit(struct sto_results *results, struct vs_error *err)
{
    if (!results->is_begun)
        return VS_OK;
    results->is_begun = false;
    return sto_db_exec(&results->db, "COMMIT", err);
}

/* ---- reading ---- */

static const char *column_text(sqlite3_stmt *stmt, int at)
{
    const char *text = (const char *)sqlite3_column_text(stmt, at);

    return text ? text : "";
}

static uint64_t column_uint(sqlite3_stmt *stmt, int at)
{
    return (uint64_t)sqlite3_column_int64(stmt, at);
}

static enum vs_phase phase_named(const char *name)
{
    for (int i = 0; i < VS_PHASE_COUNT; i++)
        if (strcmp(vs_phase_name((enum vs_phase)i), name) == 0)
            return (enum vs_phase)i;
    return VS_PHASE_SETUP;
}

/* The columns of table result from the third on. */
static void result_read(sqlite3_stmt *stmt, struct sto_result *out)
{
    memset(out, 0, sizeof(*out));
    out->is_refused = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
    snprintf(out->reason, sizeof(out->reason), "%s", column_text(stmt, 2));
    out->fits = sqlite3_column_int(stmt, 3);
    out->batch = column_uint(stmt, 4);
    out->processes = column_uint(stmt, 5);
    out->parameters = column_uint(stmt, 6);
    out->allocated = column_uint(stmt, 7);
    out->requested = column_uint(stmt, 8);
    out->reserved = column_uint(stmt, 9);
    out->step = sqlite3_column_int64(stmt, 10);
    out->phase = phase_named(column_text(stmt, 11));
    out->steps = column_uint(stmt, 12);
    out->total_flops = column_uint(stmt, 13);
    out->recompute_flops = column_uint(stmt, 14);
    out->host_bytes = column_uint(stmt, 15);
    snprintf(out->notes, sizeof(out->notes), "%s", column_text(stmt, 16));
    out->sharing = sqlite3_column_count(stmt) > 17 ? column_uint(stmt, 17) : 1;
}

static enum vs_status collectives_read(struct sto_results *results, sqlite3_int64 id,
                                       struct sto_result *out, struct vs_error *err)
{
    sqlite3_stmt *stmt = results->statements[COLLECTIVES];
    enum vs_status st;
    bool has_row = false;

    sqlite3_bind_int64(stmt, 1, id);
    while (!(st = sto_db_row(&results->db, stmt, &has_row, err)) && has_row) {
        struct sto_collective *collective = &out->collectives[out->collective_count];

        if (out->collective_count == STO_RESULT_COLLECTIVES_MAX)
            continue;
        snprintf(collective->name, sizeof(collective->name), "%s", column_text(stmt, 0));
        collective->count = column_uint(stmt, 1);
        collective->bytes = column_uint(stmt, 2);
        collective->sent = column_uint(stmt, 3);
        out->collective_count++;
    }
    return st;
}

/* The settings of a result; their texts are heap memory. */
static enum vs_status settings_read(struct sto_results *results, sqlite3_int64 id,
                                    struct sto_setting **items, size_t *count, size_t *cap,
                                    struct vs_error *err)
{
    sqlite3_stmt *stmt = results->statements[SETTINGS];
    enum vs_status st;
    bool has_row = false;

    sqlite3_bind_int64(stmt, 1, id);
    while (!(st = sto_db_row(&results->db, stmt, &has_row, err)) && has_row) {
        *items = vs_grow(*items, *count, cap, sizeof(**items));
        (*items)[(*count)++] =
            (struct sto_setting){vs_strdup(column_text(stmt, 0)), vs_strdup(column_text(stmt, 1))};
    }
    return st;
}

static void settings_clear(struct sto_setting *items, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        vs_free((char *)(uintptr_t)items[i].toggle);
        vs_free((char *)(uintptr_t)items[i].value);
    }
    *count = 0;
}

enum vs_status sto_results_each(struct sto_results *results, sto_result_fn *each, void *user,
                                struct vs_error *err)
{
    struct sto_result *result = vs_alloc(sizeof(*result));
    struct sto_setting *settings = NULL;
    size_t count = 0, cap = 0;
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st =
        sto_db_prepare(&results->db, "SELECT * FROM result ORDER BY id", &stmt, err);

    while (!st && !(st = sto_db_row(&results->db, stmt, &has_row, err)) && has_row) {
        const sqlite3_int64 id = sqlite3_column_int64(stmt, 0);

        result_read(stmt, result);
        st = settings_read(results, id, &settings, &count, &cap, err);
        if (!st)
            st = collectives_read(results, id, result, err);
        if (!st)
            each(user, column_text(stmt, 1), settings, count, result);
        settings_clear(settings, &count);
    }
    sqlite3_finalize(stmt);
    vs_free(settings);
    vs_free(result);
    return st;
}

void sto_results_close(struct sto_results *results)
{
    if (!results)
        return;
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(results->statements[i]);
    sto_db_close(&results->db);
    vs_free((char *)(uintptr_t)results->head.net);
    vs_free((char *)(uintptr_t)results->head.text);
    vs_free((char *)(uintptr_t)results->head.version);
    vs_free(results->path);
    vs_free(results);
}
