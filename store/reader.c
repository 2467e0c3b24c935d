/*
 * store/reader.c - reads a trace.
 *
 * For:            store/reader.h says.
 * Must not know:  what the events mean.
 * Invariant:      no transaction outlives a call, so that a recorder at work is never kept from its commits.
 */
#include "store/reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/codec.h"
#include "store/create.h"
#include "store/db_internal.h"
#include "store/devices_internal.h"
#include "store/migrate.h"
#include "store/reader_internal.h"
#include "store/shape.h"
#include "store/tensors_internal.h"

struct meta_row {
    const char *key;
    const char *value;
};

/* A vector of rows of one kind; `rows` is cast by those who know. */
struct rows {
    void *rows;
    size_t count;
    size_t cap;
};

/* strings, places and shapes are indexed by id - 1. phases are read when they are asked for. */
struct sto_reader {
    struct sto_db db;
    char *path;
    struct vs_arena *texts;
    struct rows meta;
    struct rows toggles;
    struct rows sources;
    struct rows strings;
    struct rows places;
    struct rows shapes;
    struct rows steps;
    struct rows phases;
    struct sto_devices devices;
    struct sto_chunks *chunks;
    struct sto_tensors *tensors;
};

static const struct vs_place no_place;

static void *row_add(struct rows *rows, size_t size)
{
    void *row;

    rows->rows = vs_grow(rows->rows, rows->count, &rows->cap, size);
    row = (char *)rows->rows + rows->count * size;
    memset(row, 0, size);
    rows->count++;
    return row;
}

/* Row number `id - 1`, with empty ones before it where ids are missing. NULL where the id cannot be right. */
static void *row_at_id(struct rows *rows, sqlite3_int64 id, size_t size)
{
    if (id < 1 || id > UINT32_MAX || (uint64_t)id > rows->count + (UINT32_C(1) << 20))
        return NULL;
    while (rows->count < (size_t)id)
        row_add(rows, size);
    return (char *)rows->rows + ((size_t)id - 1) * size;
}

static const char *text_keep(struct sto_reader *r, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return vs_arena_strndup(r->texts, text ? text : "", (size_t)sqlite3_column_bytes(stmt, column));
}

static uint64_t column_u64(sqlite3_stmt *stmt, int column)
{
    return (uint64_t)sqlite3_column_int64(stmt, column);
}

static uint32_t column_u32(sqlite3_stmt *stmt, int column)
{
    return (uint32_t)sqlite3_column_int64(stmt, column);
}

/* The text of a column; `old` where that says the same already. */
static const char *text_keep_new(struct sto_reader *r, sqlite3_stmt *stmt, int column,
                                 const char *old)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return old && text && strcmp(old, text) == 0 ? old : text_keep(r, stmt, column);
}

/* Of rows that begin with their key: the one whose key is in column 0, a new one where there is none. */
static void *row_of_key(struct sto_reader *r, struct rows *rows, size_t size, sqlite3_stmt *stmt)
{
    const char *key = (const char *)sqlite3_column_text(stmt, 0);
    const char **row;

    for (size_t i = 0; i < rows->count; i++) {
        row = (const char **)(void *)((char *)rows->rows + i * size);
        if (key && strcmp(*row, key) == 0)
            return row;
    }
    row = row_add(rows, size);
    *row = text_keep(r, stmt, 0);
    return row;
}

static bool meta_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct meta_row *row = row_of_key(r, &r->meta, sizeof(*row), stmt);

    row->value = text_keep_new(r, stmt, 1, row->value);
    return true;
}

static bool toggle_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_toggle *row = row_of_key(r, &r->toggles, sizeof(*row), stmt);

    row->value = text_keep_new(r, stmt, 1, row->value);
    row->is_default = sqlite3_column_int(stmt, 2) != 0;
    return true;
}

static bool source_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_source *row = row_of_key(r, &r->sources, sizeof(*row), stmt);

    row->text = text_keep_new(r, stmt, 1, row->text);
    return true;
}

static bool string_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    const char **row = row_at_id(&r->strings, sqlite3_column_int64(stmt, 0), sizeof(*row));

    if (row)
        *row = text_keep(r, stmt, 1);
    return row != NULL;
}

static bool place_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct vs_place *row = row_at_id(&r->places, sqlite3_column_int64(stmt, 0), sizeof(*row));

    if (row)
        *row = (struct vs_place){column_u32(stmt, 1), column_u32(stmt, 2), column_u32(stmt, 3),
                                 column_u32(stmt, 4), column_u32(stmt, 5)};
    return row != NULL;
}

static bool step_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    const struct sto_step *rows = r->steps.rows;
    uint64_t first_seq = column_u64(stmt, 0);
    struct sto_step *row;

    if (r->steps.count && rows[r->steps.count - 1].first_seq == first_seq)
        r->steps.count--;
    row = row_add(&r->steps, sizeof(*row));
    row->first_seq = first_seq;
    row->last_seq = column_u64(stmt, 1);
    row->step = sqlite3_column_int64(stmt, 2);
    row->loss =
        sqlite3_column_type(stmt, 3) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(stmt, 3);
    return true;
}

static bool phase_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_phase_stat *row = row_add(&r->phases, sizeof(*row));

    row->first_seq = column_u64(stmt, 0);
    row->last_seq = column_u64(stmt, 1);
    row->step = sqlite3_column_int64(stmt, 2);
    row->phase = (enum vs_phase)sqlite3_column_int(stmt, 3);
    row->allocated_end = column_u64(stmt, 4);
    row->allocated_peak = column_u64(stmt, 5);
    row->requested_end = column_u64(stmt, 6);
    row->requested_peak = column_u64(stmt, 7);
    row->reserved_end = column_u64(stmt, 8);
    row->reserved_peak = column_u64(stmt, 9);
    row->peak_seq = column_u64(stmt, 10);
    return true;
}

static bool shape_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_shape *row = row_at_id(&r->shapes, sqlite3_column_int64(stmt, 0), sizeof(*row));
    const char *sizes = (const char *)sqlite3_column_text(stmt, 2);
    const char *strides = (const char *)sqlite3_column_text(stmt, 3);
    int ndim;

    if (!row || !sizes || !strides)
        return false;
    ndim = sto_shape_parse(sizes, row->sizes);
    if (ndim < 0 || sto_shape_parse(strides, row->strides) != ndim)
        return false;
    row->dtype = (uint8_t)sqlite3_column_int(stmt, 1);
    row->ndim = (uint8_t)ndim;
    return true;
}

/* Give every row of `sql`, whose parameter, where it has one, is `known`, to `take`, which says whether it was sound. */
static enum vs_status rows_load(struct sto_reader *r, const char *sql, uint64_t known,
                                bool (*take)(struct sto_reader *, sqlite3_stmt *),
                                struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st;

    st = sto_db_prepare(&r->db, sql, &stmt, err);
    if (!st)
        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)known);
    while (!st) {
        st = sto_db_row(&r->db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        if (!take(r, stmt))
            st = vs_fail(err, VS_E_DAMAGED,
                         "%s: the trace is damaged (a row of `%s` makes no sense); record it again",
                         r->path, sql);
    }
    sqlite3_finalize(stmt);
    return st;
}

static uint64_t known_none(const struct sto_reader *r)
{
    (void)r;
    return 0;
}

static uint64_t known_strings(const struct sto_reader *r)
{
    return r->strings.count;
}

static uint64_t known_places(const struct sto_reader *r)
{
    return r->places.count;
}

static uint64_t known_shapes(const struct sto_reader *r)
{
    return r->shapes.count;
}

/* First event of the last step: it may have grown. */
static uint64_t known_steps(const struct sto_reader *r)
{
    const struct sto_step *rows = r->steps.rows;

    return r->steps.count ? rows[r->steps.count - 1].first_seq : 0;
}

/* What is read at the open, and, as far as it is new, at each refresh: known() is what the parameter of the statement stands for. */
static const struct {
    const char *sql;
    uint64_t (*known)(const struct sto_reader *r);
    bool (*take)(struct sto_reader *r, sqlite3_stmt *stmt);
} loads[] = {
    {"SELECT key, value FROM meta", known_none, meta_take},
    {"SELECT name, value, is_default FROM toggle ORDER BY rowid", known_none, toggle_take},
    {"SELECT name, text FROM source ORDER BY rowid", known_none, source_take},
    {"SELECT id, text FROM string WHERE id > ? ORDER BY id", known_strings, string_take},
    {"SELECT id, phase, module, func, line, op FROM place WHERE id > ? ORDER BY id", known_places,
     place_take},
    {"SELECT first_seq, last_seq, step, loss FROM step WHERE first_seq >= ? ORDER BY first_seq",
     known_steps, step_take},
    {"SELECT id, dtype, sizes, strides FROM shape WHERE id > ? ORDER BY id", known_shapes,
     shape_take},
};

/* Everything that is not there yet; the caller is not inside a transaction. */
static enum vs_status all_load(struct sto_reader *r, struct vs_error *err)
{
    enum vs_status st;

    st = sto_db_exec(&r->db, "BEGIN", err);
    if (st)
        return st;
    for (size_t i = 0; !st && i < sizeof(loads) / sizeof(loads[0]); i++)
        st = rows_load(r, loads[i].sql, loads[i].known(r), loads[i].take, err);
    if (!st)
        st = sto_db_length_check(&r->db, err);
    if (!st)
        st = r->chunks ? sto_chunks_refresh(r->chunks, err)
                       : sto_chunks_open(&r->db, &r->chunks, err);
    if (!st)
        st = r->tensors ? sto_tensors_refresh(r->tensors, err)
                        : sto_tensors_open(&r->db, r->chunks, &r->tensors, err);
    if (!st)
        st = sto_db_exec(&r->db, "COMMIT", err);
    if (st)
        sqlite3_exec(r->db.handle, "ROLLBACK", NULL, NULL, NULL); /* the first failure is told */
    return st;
}

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

/* Open for reading; for writing only where a journal is to be undone or an older format brought up to date. */
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
    /* it may not be written; as it is it can be read, too */
    if (r->db.handle)
        sto_db_close(&r->db);
    return sto_db_open(&r->db, r->path, false, err);
}

/* ---- devices ---- */

/* Of the steps only those of the device that is read stay, counted from its first event. */
static void steps_choose(struct sto_reader *r)
{
    const struct sto_device *device = sto_devices_now(&r->devices);
    struct sto_step *steps = r->steps.rows;
    size_t kept = 0;

    for (size_t i = 0; i < r->steps.count && device; i++) {
        if (steps[i].first_seq < device->first_seq || steps[i].last_seq > device->last_seq)
            continue;
        steps[kept] = steps[i];
        steps[kept].first_seq -= r->devices.before;
        steps[kept++].last_seq -= r->devices.before;
    }
    if (device)
        r->steps.count = kept;
}

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
    if (!st)
        st = connection_open(r, err);
    if (!st)
        st = all_load(r, err);
    if (!st)
        st = sto_devices_load(&r->devices, &r->db, sto_chunks_event_count(r->chunks), wanted, err);
    if (!st)
        steps_choose(r);
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
    sto_db_close(&r->db);
    vs_free(r->meta.rows);
    vs_free(r->toggles.rows);
    vs_free(r->sources.rows);
    vs_free(r->strings.rows);
    vs_free(r->places.rows);
    vs_free(r->shapes.rows);
    vs_free(r->steps.rows);
    vs_free(r->phases.rows);
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
    const struct meta_row *rows = r->meta.rows;
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
    return (uint32_t)r->strings.count;
}

const char *sto_reader_string(const struct sto_reader *r, uint32_t id)
{
    const char *const *rows = r->strings.rows;

    return id >= 1 && id <= r->strings.count && rows[id - 1] ? rows[id - 1] : "";
}

uint32_t sto_reader_place_count(const struct sto_reader *r)
{
    return (uint32_t)r->places.count;
}

const struct vs_place *sto_reader_place(const struct sto_reader *r, uint32_t id)
{
    if (id < 1 || id > r->places.count)
        return &no_place;
    return (const struct vs_place *)r->places.rows + (id - 1);
}

uint32_t sto_reader_tensor_count(const struct sto_reader *r)
{
    return sto_tensors_count(r->tensors);
}

enum vs_status sto_reader_tensor(struct sto_reader *r, uint32_t id, struct vs_tensor_desc *out,
                                 struct vs_error *err)
{
    const struct sto_tensor_row *row;
    const struct sto_shape *shape;
    enum vs_status st;

    st = sto_tensors_get(r->tensors, id, &row, err);
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
    return r->steps.count;
}

const struct sto_step *sto_reader_step_at(const struct sto_reader *r, size_t i)
{
    VS_ASSERT(i < r->steps.count);
    return (const struct sto_step *)r->steps.rows + i;
}

/* Those of the device that is read. */
static void phases_choose(struct sto_reader *r)
{
    struct sto_phase_stat *rows = r->phases.rows;
    size_t kept = 0;

    for (size_t i = 0; i < r->phases.count; i++) {
        if (rows[i].first_seq <= r->devices.before)
            continue;
        rows[kept] = rows[i];
        rows[kept].first_seq -= r->devices.before;
        rows[kept].last_seq -= r->devices.before;
        rows[kept++].peak_seq -= r->devices.before;
    }
    r->phases.count = kept;
}

enum vs_status sto_reader_phases(struct sto_reader *r, const struct sto_phase_stat **out,
                                 size_t *count, struct vs_error *err)
{
    enum vs_status st;

    r->phases.count = 0;
    st = rows_load(r,
                   "SELECT first_seq, last_seq, step, phase, allocated_end, allocated_peak, "
                   "requested_end, requested_peak, reserved_end, reserved_peak, peak_seq "
                   "FROM phase_stat WHERE first_seq <= ? ORDER BY first_seq",
                   r->devices.before + sto_reader_event_count(r), phase_take, err);
    if (!st)
        phases_choose(r);
    *out = r->phases.rows;
    *count = st ? 0 : r->phases.count;
    return st;
}

/* Nobody records several devices: what has them was imported as a whole. */
enum vs_status sto_reader_refresh(struct sto_reader *r, struct vs_error *err)
{
    return sto_devices_now(&r->devices) ? VS_OK : all_load(r, err);
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

enum vs_status sto_reader_events(struct sto_reader *r, uint64_t first_seq, size_t count,
                                 struct vs_event *out, struct vs_error *err)
{
    enum vs_status st = sto_chunks_read(r->chunks, r->devices.before + first_seq, count, out, err);

    if (!st)
        sto_devices_shift(&r->devices, out, count);
    return st;
}
