/*
 * store/derived.c - see derived.h.
 *
 * Must not know:  the contents of a part.
 * Invariant:      a writer's transaction is open from its begin to its end; between two of them the file has no part 0.
 */
#include "store/derived.h"

#include <string.h>

#include "base/mem.h"
#include "store/db_internal.h"
#include "store/reader_internal.h"

/* How long a commit waits for readers. */
#define COMMIT_TIMEOUT_MS 10000

/* What was written since the last commit is in memory: this much causes a commit. */
#define PENDING_BYTES_MAX ((size_t)8 << 20)

struct sto_derived_writer {
    struct sto_db db;
    char *path;
    sqlite3_stmt *put;
    size_t pending_bytes;
};

/* Read the blob directly into the caller's memory, so that SQLite keeps no copy. */
enum vs_status sto_derived_get(struct sto_reader *r, uint64_t id, uint8_t **bytes, size_t *len,
                               size_t *cap, struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_blob *blob = NULL;
    enum vs_status st = VS_OK;
    int rc;

    rc = sqlite3_blob_open(db->handle, "main", "derived", "data", (sqlite3_int64)id, 0, &blob);
    if (rc == SQLITE_ERROR) /* no such row, or no such table */
        st = vs_fail(err, VS_E_NOT_FOUND, "%s: the trace has no stored index", db->path);
    else if (rc != SQLITE_OK)
        st = sto_db_fail(db, err);
    if (st)
        goto out;
    *len = (size_t)sqlite3_blob_bytes(blob);
    if (*len > *cap) {
        vs_free(*bytes);
        *bytes = vs_alloc(*len);
        *cap = *len;
    }
    if (*len && sqlite3_blob_read(blob, *bytes, (int)*len, 0) != SQLITE_OK)
        st = sto_db_fail(db, err);
out:
    sqlite3_blob_close(blob);
    return st;
}

static void writer_free(struct sto_derived_writer *w)
{
    sqlite3_finalize(w->put);
    sto_db_close(&w->db);
    vs_free(w->path);
    vs_free(w);
}

enum vs_status sto_derived_begin(const char *path, struct sto_derived_writer **out,
                                 struct vs_error *err)
{
    struct sto_derived_writer *w = vs_calloc(1, sizeof(*w));
    enum vs_status st;

    *out = NULL;
    w->path = vs_strdup(path);
    st = sto_db_open(&w->db, w->path, true, err);
    if (st)
        goto out;
    sqlite3_busy_timeout(w->db.handle, 0);
    if (sqlite3_exec(w->db.handle, "PRAGMA cache_spill = 0; BEGIN IMMEDIATE", NULL, NULL, NULL)) {
        st = (sqlite3_errcode(w->db.handle) & 0xff) == SQLITE_BUSY
                 ? vs_fail(err, VS_E_STOPPED, "%s: another process is writing it", path)
                 : sto_db_fail(&w->db, err);
        goto out;
    }
    sqlite3_busy_timeout(w->db.handle, COMMIT_TIMEOUT_MS);
    st = sto_db_exec(&w->db, "DELETE FROM derived", err);
    if (!st)
        st = sto_db_prepare(&w->db, "INSERT INTO derived VALUES (?, ?)", &w->put, err);
out:
    if (st) {
        writer_free(w);
        return st;
    }
    *out = w;
    return VS_OK;
}

enum vs_status sto_derived_put(struct sto_derived_writer *w, uint64_t id, const uint8_t *bytes,
                               size_t len, struct vs_error *err)
{
    enum vs_status st;

    sqlite3_bind_int64(w->put, 1, (sqlite3_int64)id);
    sqlite3_bind_blob64(w->put, 2, len ? (const void *)bytes : "", len, SQLITE_STATIC);
    st = sto_db_run(&w->db, w->put, err);
    w->pending_bytes += len;
    if (!st && w->pending_bytes > PENDING_BYTES_MAX && id) {
        w->pending_bytes = 0;
        st = sto_db_exec(&w->db, "COMMIT; BEGIN IMMEDIATE", err);
    }
    return st;
}

enum vs_status sto_derived_end(struct sto_derived_writer *w, bool is_kept, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (!w)
        return VS_OK;
    if (is_kept)
        st = sto_db_exec(&w->db, "COMMIT", err);
    writer_free(w); /* rolls back what was not committed */
    return st;
}
