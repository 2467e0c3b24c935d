/*
 * store/derived.c - see derived.h.
 *
 * Must not know:  the contents of a part.
 * Invariant:      a writer's transaction is open from its begin to its end; between two of them the file has no part 0.
 */
#include "store/derived.h"

#include <string.h>

#include <zlib.h>
#ifdef VS_DEFLATE
#include <libdeflate.h>
#endif

#include "base/error.h"
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
    uint8_t *packed;
    size_t packed_cap;
    size_t pending_bytes;
};

/* A part is its length, LENGTH_BYTES little-endian, and that many bytes compressed by zlib. */
#define LENGTH_BYTES 4
/* No part of so many bytes compresses better than by this. */
#define RATIO_MAX 1040
/* The fastest: half as many bytes as level 6 saves, in a fifth of its time. */
#define LEVEL 1

/* Decompress exactly `want` bytes. False: they are damaged. */
static bool zlib_inflate(const uint8_t *packed, size_t len, uint8_t *bytes, size_t want)
{
#ifdef VS_DEFLATE
    struct libdeflate_decompressor *unpacker = libdeflate_alloc_decompressor();
    bool is_done;

    if (!unpacker)
        vs_die("out of memory");
    is_done =
        libdeflate_zlib_decompress(unpacker, packed, len, bytes, want, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(unpacker);
    return is_done;
#else
    uLongf have = (uLongf)want;

    return uncompress(bytes, &have, packed, (uLong)len) == Z_OK && have == want;
#endif
}

/* Decompress `len` bytes into the caller's buffer, which grows as needed. False: they are damaged. */
static bool part_inflate(const uint8_t *packed, size_t len, uint8_t **bytes, size_t *out_len,
                         size_t *cap)
{
    size_t want = 0;

    if (len < LENGTH_BYTES)
        return false;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        want |= (size_t)packed[i] << 8 * i;
    if (want > (len - LENGTH_BYTES) * RATIO_MAX)
        return false;
    if (want > *cap || !*bytes) {
        vs_free(*bytes);
        *bytes = vs_alloc(want + 1);
        *cap = want;
    }
    *out_len = want;
    return zlib_inflate(packed + LENGTH_BYTES, len - LENGTH_BYTES, *bytes, want);
}

/* Compress into w->packed; returns the length. */
static size_t part_deflate(struct sto_derived_writer *w, const uint8_t *bytes, size_t len)
{
    uLongf used = compressBound((uLong)len);
    int rc;

    w->packed = vs_reserve(w->packed, LENGTH_BYTES + used, &w->packed_cap, 1);
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        w->packed[i] = (uint8_t)(len >> 8 * i);
    rc = compress2(w->packed + LENGTH_BYTES, &used, bytes, (uLong)len, LEVEL);
    if (rc == Z_MEM_ERROR)
        vs_die("out of memory");
    VS_ASSERT(rc == Z_OK);
    return LENGTH_BYTES + used;
}

/* Read the blob directly, so that SQLite keeps no copy. */
enum vs_status sto_derived_get(struct sto_reader *r, uint64_t id, uint8_t **bytes, size_t *len,
                               size_t *cap, struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_blob *blob = NULL;
    uint8_t *packed = NULL;
    size_t packed_len;
    enum vs_status st = VS_OK;
    int rc;

    rc = sqlite3_blob_open(db->handle, "main", "derived", "data", (sqlite3_int64)id, 0, &blob);
    if (rc == SQLITE_ERROR) /* no such row, or no such table */
        st = vs_fail(err, VS_E_NOT_FOUND, "%s: the trace has no stored index", db->path);
    else if (rc != SQLITE_OK)
        st = sto_db_fail(db, err);
    if (st)
        goto out;
    packed_len = (size_t)sqlite3_blob_bytes(blob);
    packed = vs_alloc(packed_len + 1);
    if (packed_len && sqlite3_blob_read(blob, packed, (int)packed_len, 0) != SQLITE_OK)
        st = sto_db_fail(db, err);
    else if (!part_inflate(packed, packed_len, bytes, len, cap))
        st = vs_fail(err, VS_E_NOT_FOUND, "%s: the stored index is damaged", db->path);
out:
    vs_free(packed);
    sqlite3_blob_close(blob);
    return st;
}

static void writer_free(struct sto_derived_writer *w)
{
    sqlite3_finalize(w->put);
    sto_db_close(&w->db);
    vs_free(w->path);
    vs_free(w->packed);
    vs_free(w);
}

static enum vs_status writer_open(const char *path, struct sto_derived_writer **out,
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
    st = sto_db_prepare(&w->db, "INSERT OR REPLACE INTO derived VALUES (?, ?)", &w->put, err);
out:
    if (st) {
        writer_free(w);
        return st;
    }
    *out = w;
    return VS_OK;
}

enum vs_status sto_derived_begin(const char *path, struct sto_derived_writer **out,
                                 struct vs_error *err)
{
    struct sto_derived_writer *w = NULL;
    enum vs_status st = writer_open(path, &w, err);

    *out = NULL;
    if (!st)
        st = sto_db_exec(&w->db, "DELETE FROM derived", err);
    if (st && w)
        writer_free(w);
    if (!st)
        *out = w;
    return st;
}

enum vs_status sto_derived_put(struct sto_derived_writer *w, uint64_t id, const uint8_t *bytes,
                               size_t len, struct vs_error *err)
{
    enum vs_status st;

    if (len > UINT32_MAX) /* how long it is follows from what the trace says */
        return vs_fail(err, VS_E_OVERFLOW,
                       "a part of the index has %zu bytes, more than can be kept", len);
    sqlite3_bind_int64(w->put, 1, (sqlite3_int64)id);
    len = part_deflate(w, bytes, len);
    sqlite3_bind_blob64(w->put, 2, w->packed, len, SQLITE_STATIC);
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
    char *path;

    if (!w)
        return VS_OK;
    if (is_kept)
        st = sto_db_exec(&w->db, "COMMIT", err);
    path = w->path;
    w->path = NULL;
    writer_free(w); /* rolls back what was not committed */
    if (st || !is_kept)
        sto_db_undo(
            path); /* rolling back may have failed; a reader that is open could not read on */
    vs_free(path);
    return st;
}

enum vs_status sto_derived_add(const char *path, uint64_t id, const uint8_t *bytes, size_t len,
                               struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct sto_derived_writer *w = NULL;
    enum vs_status st = writer_open(path, &w, err);

    if (st)
        return st;
    st = sto_derived_put(w, id, bytes, len, err);
    if (st)
        (void)!sto_derived_end(w, false, &ignored); /* report the first failure */
    else
        st = sto_derived_end(w, true, err);
    return st;
}
