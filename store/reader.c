/*
 * store/reader.c - see reader.h.
 *
 * Must not know:  the meaning of events.
 * Invariant:      no transaction outlives a call, so that a running recorder is never blocked.
 */
#include "store/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/create.h"
#include "store/db_internal.h"
#include "store/devices_internal.h"
#include "store/migrate.h"
#include "store/reader_internal.h"
#include "store/shape.h"
#include "store/tensors_internal.h"

static const struct vs_location no_location;

static enum vs_status path_check(const char *path, struct vs_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return vs_fail(err, errno == ENOENT ? VS_E_NOT_FOUND : VS_E_IO, "%s: %s", path,
                       errno == ENOENT ? "no such file" : strerror(errno));
    if (!S_ISREG(st.st_mode))
        return vs_fail(err, VS_E_FORMAT, "%s: not a file, so not a trace of vramscope", path);
    if (st.st_size == 0)
        return vs_fail(err, VS_E_FORMAT, "%s: an empty file, not a trace of vramscope", path);
    return VS_OK;
}

/* Open read-only; read-write only if a journal must be rolled back or an older format upgraded. */
static enum vs_status connection_open(struct sto_reader *r, struct vs_error *err)
{
    struct vs_error first = VS_ERROR_INIT;
    int version = -1;
    enum vs_status st;

    st = sto_db_open(&r->db, r->path, false, &first);
    if (!st)
        st = sto_migrate_version(&r->db, sto_migrate_current(), &version, &first);
    if (!st && version == sto_migrate_current())
        return VS_OK;
    if (st && st != VS_E_IO) {
        *err = first;
        return st;
    }
    if (r->db.handle)
        sto_db_close(&r->db);
    st = sto_db_open(&r->db, r->path, true, err);
    if (!st)
        st = sto_create_finish(&r->db, err);
    if (!st)
        st = sto_migrate_update(&r->db, err);
    if (st != VS_E_IO || !sto_migrate_is_readable(version))
        return st;
    /* not writable, but readable without an upgrade */
    if (r->db.handle)
        sto_db_close(&r->db);
    return sto_db_open(&r->db, r->path, false, err);
}

/* ---- devices ---- */

size_t sto_reader_device_count(const struct sto_reader *r)
{
    return r->devices.count;
}

const struct sto_device *sto_reader_device_at(const struct sto_reader *r, size_t i)
{
    VS_ASSERT(i < r->devices.count);
    return &r->devices.items[i];
}

size_t sto_reader_device_now(const struct sto_reader *r)
{
    return r->devices.now;
}

/* ---- opening ---- */

enum vs_status sto_reader_open(const char *path, struct sto_reader **out, struct vs_error *err)
{
    struct sto_reader *r = vs_calloc(1, sizeof(*r));
    const int64_t wanted = sto_devices_split(path, &r->path);
    enum vs_status st = path_check(r->path, err);

    *out = NULL;
    r->texts = vs_arena_new();
    r->strings = sto_strings_new();
    r->locations = sto_locations_new();
    r->steps = vs_calloc(1, sizeof(*r->steps));
    if (!st)
        st = connection_open(r, err);
    if (!st)
        st = sto_reader_load(r, err);
    if (!st)
        st = sto_devices_load(&r->devices, &r->db, r->chunks, wanted, err);
    if (!st) {
        *out = r;
        r = NULL; /* handed over */
    }
    sto_reader_close(r);
    return st;
}

void sto_reader_close(struct sto_reader *r)
{
    if (!r)
        return;
    sto_tensors_close(r->tensors);
    sto_chunks_close(r->chunks);
    sto_by_id_free(r->strings);
    sto_by_id_free(r->locations);
    sto_db_close(&r->db);
    vs_free(r->meta.rows);
    vs_free(r->toggles.rows);
    vs_free(r->sources.rows);
    vs_free(r->shapes.rows);
    vs_free(r->steps->rows.rows);
    vs_free(r->steps);
    vs_free(r->devices.items);
    vs_arena_free(r->texts);
    vs_free(r->path);
    vs_free(r);
}

const char *sto_reader_path(const struct sto_reader *r)
{
    return r->path;
}

bool sto_reader_is_complete(const struct sto_reader *r)
{
    const char *value = sto_reader_meta(r, "complete");

    return value && strcmp(value, "1") == 0;
}

const char *sto_reader_meta(const struct sto_reader *r, const char *key)
{
    const struct sto_meta_row *rows = r->meta.rows;
    const size_t len = strlen(key);
    const char *found = NULL;
    char suffix[24] = "";

    if (sto_devices_now(&r->devices))
        snprintf(suffix, sizeof(suffix), "@%llu",
                 (unsigned long long)sto_devices_now(&r->devices)->number);
    for (size_t i = 0; i < r->meta.count; i++) {
        if (strncmp(rows[i].key, key, len) != 0)
            continue;
        if (*suffix && strcmp(rows[i].key + len, suffix) == 0)
            return rows[i].value;
        if (!rows[i].key[len])
            found = rows[i].value;
    }
    return found;
}

size_t sto_reader_toggle_count(const struct sto_reader *r)
{
    return r->toggles.count;
}

const struct sto_toggle *sto_reader_toggle_at(const struct sto_reader *r, size_t i)
{
    VS_ASSERT(i < r->toggles.count);
    return (const struct sto_toggle *)r->toggles.rows + i;
}

size_t sto_reader_source_count(const struct sto_reader *r)
{
    return r->sources.count;
}

const struct sto_source *sto_reader_source_at(const struct sto_reader *r, size_t i)
{
    VS_ASSERT(i < r->sources.count);
    return (const struct sto_source *)r->sources.rows + i;
}

uint32_t sto_reader_string_count(const struct sto_reader *r)
{
    return r->strings->count;
}

const char *sto_reader_string(const struct sto_reader *r, uint32_t id)
{
    const char *const *row = sto_by_id_get(r, r->strings, id);

    return row && *row ? *row : "";
}

uint32_t sto_reader_location_count(const struct sto_reader *r)
{
    return r->locations->count;
}

const struct vs_location *sto_reader_location(const struct sto_reader *r, uint32_t id)
{
    const struct vs_location *row = sto_by_id_get(r, r->locations, id);

    return row ? row : &no_location;
}

uint32_t sto_reader_tensor_count(const struct sto_reader *r)
{
    return sto_tensors_count(r->tensors);
}

uint32_t sto_reader_nameless_to(const struct sto_reader *r, uint32_t id)
{
    return sto_tensors_nameless_to(r->tensors, id);
}

enum vs_status sto_reader_tensor(struct sto_reader *r, uint32_t id, struct vs_tensor_desc *out,
                                 struct vs_error *err)
{
    const struct sto_tensor_row *row;
    const struct sto_shape *shape;
    enum vs_status st;

    st = sto_tensors_get(r->tensors, id, &row, err);
    if (st && st != VS_E_NOT_FOUND && st != VS_E_DAMAGED && !r->tensor_failure.status)
        r->tensor_failure = *err;
    if (st)
        return st;
    if (row->shape < 1 || row->shape > r->shapes.count)
        return vs_fail(err, VS_E_DAMAGED,
                       "%s: the trace is damaged (tensor %u makes no sense); record it again",
                       r->path, id);
    shape = (const struct sto_shape *)r->shapes.rows + (row->shape - 1);
    *out = (struct vs_tensor_desc){
        .block = row->block,
        .id = row->id,
        .name = row->name,
        .dtype = shape->dtype,
        .ndim = shape->ndim,
        .offset_elems = row->offset,
    };
    memcpy(out->sizes, shape->sizes, sizeof(out->sizes));
    memcpy(out->strides, shape->strides, sizeof(out->strides));
    return VS_OK;
}

size_t sto_reader_step_count(const struct sto_reader *r)
{
    return sto_steps_get(r)->count;
}

const struct sto_step *sto_reader_step_at(const struct sto_reader *r, size_t i)
{
    const struct sto_rows *steps = sto_steps_get(r);

    VS_ASSERT(i < steps->count);
    return (const struct sto_step *)steps->rows + i;
}

/* A trace of several devices was imported as a whole, so it does not grow. */
enum vs_status sto_reader_refresh(struct sto_reader *r, struct vs_error *err)
{
    return sto_devices_now(&r->devices) ? VS_OK : sto_reader_load(r, err);
}

const struct sto_db *sto_reader_db(const struct sto_reader *r)
{
    return &r->db;
}

uint64_t sto_reader_fingerprint(const struct sto_reader *r)
{
    return sto_chunks_fingerprint(r->chunks) + r->devices.before;
}

uint64_t sto_reader_event_count(const struct sto_reader *r)
{
    const struct sto_device *device = sto_devices_now(&r->devices);

    return device ? device->last_seq - r->devices.before : sto_chunks_event_count(r->chunks);
}

/* Why something that is read when it is first needed could not be. */
static enum vs_status failure_get(const struct sto_reader *r, struct vs_error *err)
{
    const struct vs_error *failures[] = {&r->strings->failure, &r->locations->failure,
                                         &r->steps->failure};

    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (failures[i]->status) {
            *err = *failures[i];
            return err->status;
        }
    return VS_OK;
}

enum vs_status sto_reader_check(const struct sto_reader *r, struct vs_error *err)
{
    if (r->tensor_failure.status)
        *err = r->tensor_failure;
    return r->tensor_failure.status ? r->tensor_failure.status : failure_get(r, err);
}

enum vs_status sto_reader_events(struct sto_reader *r, uint64_t first_seq, size_t count,
                                 struct vs_event *out, struct vs_error *err)
{
    enum vs_status st = failure_get(r, err);

    if (!st)
        st = sto_chunks_read(r->chunks, r->devices.before + first_seq, count, out, err);
    if (!st)
        sto_devices_shift(&r->devices, out, count);
    return st;
}

/* ---- call stacks ---- */

/* A trace of an older version that may not be written has no such tables. */
static enum vs_status stack_tables_find(const struct sto_db *db, bool *out, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st =
        sto_db_prepare(db, "SELECT 1 FROM sqlite_schema WHERE name = 'event_stack'", &stmt, err);

    *out = false;
    if (!st)
        st = sto_db_row(db, stmt, out, err);
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_reader_stack_each(struct sto_reader *r, uint64_t seq, sto_frame_fn *each,
                                     void *user, struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool has_row = true;
    bool exists;
    enum vs_status st = stack_tables_find(db, &exists, err);

    if (st || !exists)
        return st;
    st = sto_db_prepare(db,
                        "SELECT f.func, f.line FROM event_stack e JOIN frame f ON f.id BETWEEN "
                        "e.stack * 256 AND e.stack * 256 + 255 WHERE e.seq = ?1 ORDER BY f.id",
                        &stmt, err);
    if (!st)
        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)(r->devices.before + seq));
    while (!st) {
        st = sto_db_row(db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        each(user, sto_reader_string(r, (uint32_t)sqlite3_column_int64(stmt, 0)),
             (uint32_t)sqlite3_column_int64(stmt, 1));
    }
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_reader_stacks_of(struct sto_reader *r, const uint64_t *seqs, size_t count,
                                    uint32_t *stacks, struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool has_row;
    bool exists;
    enum vs_status st = stack_tables_find(db, &exists, err);

    memset(stacks, 0, count * sizeof(*stacks));
    if (st || !exists || !count)
        return st;
    st = sto_db_prepare(db, "SELECT stack FROM event_stack WHERE seq = ?1", &stmt, err);
    for (size_t i = 0; i < count && !st; i++) {
        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)(r->devices.before + seqs[i]));
        st = sto_db_row(db, stmt, &has_row, err);
        if (!st && has_row)
            stacks[i] = (uint32_t)sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return st;
}
