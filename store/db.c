/*
 * store/db.c - see db_internal.h.
 *
 * Must not know:  the contents of tables.
 * Invariant:      every failure of SQLite passes through sto_db_fail().
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/db_internal.h"

#include "base/bytes.h"
#include "base/text.h"

#define BUSY_TIMEOUT_MS 60000

/* Offsets in SQLite's file header of the page size and the page count, both big-endian. */
#define HEADER_BYTES 100
#define HEADER_PAGE_SIZE_AT 16
#define HEADER_PAGE_COUNT_AT 28

enum vs_status sto_db_open(struct sto_db *db, const char *path, bool is_writable,
                           struct vs_error *err)
{
    int flags = is_writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;

    /* SQLite interprets names such as ":memory:" and "file:x" specially, unless a folder precedes them. */
    struct vs_text name = {NULL, 0, 0};
    int rc;

    *db = (struct sto_db){NULL, path};
    vs_text_addf(&name, "%s%s", path[0] == '/' ? "" : "./", path);
    rc = sqlite3_open_v2(vs_text_get(&name), &db->handle, flags | SQLITE_OPEN_NOMUTEX, NULL);
    vs_text_release(&name);
    if (rc != SQLITE_OK) {
        enum vs_status st = sto_db_fail(db, err);

        sto_db_close(db);
        return st;
    }
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, BUSY_TIMEOUT_MS);
    /*
     * Some builds of SQLite overwrite what is deleted. Pages that are not written are in memory until the commit, and a
     * deleted index has a gigabyte of them.
     */
    sqlite3_exec(db->handle, "PRAGMA secure_delete = 0", NULL, NULL, NULL);
    return VS_OK;
}

void sto_db_close(struct sto_db *db)
{
    int rc = sqlite3_close(db->handle);

    VS_ASSERT(rc == SQLITE_OK);
    db->handle = NULL;
}

void sto_db_undo(const char *path)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct sto_db db = {NULL, path};
    sqlite3_int64 version;

    /* reading undoes it */
    if (!sto_db_open(&db, path, true, &ignored))
        (void)!sto_db_number(&db, "PRAGMA user_version", &version, &ignored);
    sto_db_close(&db);
}

static uint32_t big_endian(const unsigned char *at, int bytes)
{
    uint32_t n = 0;

    for (int i = 0; i < bytes; i++)
        n = n << 8 | at[i];
    return n;
}

/*
 * The length of the open file, and that according to its header, in bytes. False: they cannot be read. Not that of the
 * file that has its name now, which may be another one.
 */
static bool lengths_get(const struct sto_db *db, uint64_t *is, uint64_t *should)
{
    unsigned char head[HEADER_BYTES];
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    uint64_t page_size;

    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file || !file->pMethods ||
        file->pMethods->xRead(file, head, HEADER_BYTES, 0) != SQLITE_OK ||
        file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return false;
    page_size = big_endian(head + HEADER_PAGE_SIZE_AT, 2);
    if (page_size == 1)
        page_size = 65536;
    *is = (uint64_t)size;
    *should = page_size * big_endian(head + HEADER_PAGE_COUNT_AT, 4);
    return true;
}

enum vs_status sto_db_length_check(const struct sto_db *db, struct vs_error *err)
{
    uint64_t is = 0;
    uint64_t should = 0;

    if (lengths_get(db, &is, &should) && should > is)
        return vs_fail(err, VS_E_DAMAGED,
                       "%s: the trace is truncated: %" PRIu64 " of %" PRIu64
                       " bytes are there; copy it again, or record again",
                       db->path, is, should);
    return VS_OK;
}

static enum vs_status fail_damaged(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = sto_db_length_check(db, err);

    if (st)
        return st;
    return vs_fail(err, VS_E_DAMAGED,
                   "%s: the trace is damaged (%s); copy it again, or record again", db->path,
                   sqlite3_errmsg(db->handle));
}

enum vs_status sto_db_fail(const struct sto_db *db, struct vs_error *err)
{
    int code = sqlite3_extended_errcode(db->handle);
    int cause = sqlite3_system_errno(db->handle);

    if (code == SQLITE_FULL || cause == ENOSPC || cause == EDQUOT)
        return vs_fail(err, VS_E_IO,
                       "%s: the disk is full; free some space, or write to another disk", db->path);
    if (cause == EFBIG ||
        (code == SQLITE_IOERR_WRITE && !cause)) /* a rollback may have cleared it */
        return vs_fail(err, VS_E_IO,
                       "%s: writing failed: the disk fails, or the limit on file sizes is reached "
                       "(`ulimit -f`); write to another folder",
                       db->path);
    if (code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY)
        return vs_fail(
            err, VS_E_IO,
            "%s: its recorder was killed while it wrote, and undoing that needs permission to "
            "write here; copy the file and %s-journal to a folder of yours",
            db->path, db->path);
    switch (code & 0xff) {
    case SQLITE_NOTADB:
        return vs_fail(err, VS_E_FORMAT,
                       "%s: not a trace of vramscope; `vramscope record` makes one of a net or a "
                       "program, `vramscope import` of a PyTorch snapshot",
                       db->path);
    case SQLITE_CORRUPT:
        return fail_damaged(db, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return vs_fail(err, VS_E_IO, "%s: another program keeps it locked; close that one",
                       db->path);
    case SQLITE_CANTOPEN:
        return vs_fail(err, VS_E_IO, "%s: cannot be opened: %s", db->path,
                       cause ? strerror(cause) : sqlite3_errmsg(db->handle));
    default:
        break;
    }
    return vs_fail(err, VS_E_IO, "%s: %s%s%s", db->path, sqlite3_errmsg(db->handle),
                   cause ? ": " : "", cause ? strerror(cause) : "");
}

enum vs_status sto_db_exec(const struct sto_db *db, const char *sql, struct vs_error *err)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sto_db_fail(db, err);
    return VS_OK;
}

enum vs_status sto_db_prepare(const struct sto_db *db, const char *sql, sqlite3_stmt **out,
                              struct vs_error *err)
{
    *out = NULL;
    if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) != SQLITE_OK)
        return sto_db_fail(db, err);
    return VS_OK;
}

enum vs_status sto_db_run(const struct sto_db *db, sqlite3_stmt *stmt, struct vs_error *err)
{
    bool has_row = true;
    enum vs_status st = VS_OK;

    while (!st && has_row)
        st = sto_db_row(db, stmt, &has_row, err);
    return st;
}

enum vs_status sto_db_row(const struct sto_db *db, sqlite3_stmt *stmt, bool *has_row,
                          struct vs_error *err)
{
    enum vs_status st = VS_OK;
    int rc = sqlite3_step(stmt);

    *has_row = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        st = sto_db_fail(db, err);
    if (rc != SQLITE_ROW)
        sqlite3_reset(stmt);
    return st;
}

enum vs_status sto_db_number(const struct sto_db *db, const char *sql, sqlite3_int64 *out,
                             struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st;

    st = sto_db_prepare(db, sql, &stmt, err);
    if (!st)
        st = sto_db_row(db, stmt, &has_row, err);
    if (!st)
        *out = has_row ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_db_table_find(const struct sto_db *db, const char *name, bool *out,
                                 struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st = sto_db_prepare(
        db, "SELECT 1 FROM sqlite_schema WHERE name = ? AND type = 'table'", &stmt, err);

    *out = false;
    if (!st) {
        sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
        st = sto_db_row(db, stmt, out, err);
    }
    sqlite3_finalize(stmt);
    return st;
}
