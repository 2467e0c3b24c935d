/*
 * store/reader_load.c - loads the rows of a trace's small tables into memory.
 *
 * For:            store/reader.c.
 * Must not know:  the meaning of events.
 * Invariant:      no transaction outlives a call, so that a running recorder is never blocked.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/reader_internal.h"
#include "store/tensors_internal.h"

static void *row_add(struct sto_rows *rows, size_t size)
{
    void *row;

    rows->rows = vs_grow(rows->rows, rows->count, &rows->cap, size);
    row = (char *)rows->rows + rows->count * size;
    memset(row, 0, size);
    rows->count++;
    return row;
}

/* Row number `id - 1`, preceded by empty rows for missing ids. NULL if the id is implausible. */
static void *row_at_id(struct sto_rows *rows, sqlite3_int64 id, size_t size)
{
    if (id < 1 || id > UINT32_MAX || (uint64_t)id > rows->count + (UINT32_C(1) << 20))
        return NULL;
    while (rows->count < (size_t)id)
        row_add(rows, size);
    return (char *)rows->rows + ((size_t)id - 1) * size;
}

static const char *text_keep(const struct sto_reader *r, sqlite3_stmt *stmt, int column)
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

/* The text of a column; `old` if that is equal. */
static const char *text_keep_new(struct sto_reader *r, sqlite3_stmt *stmt, int column,
                                 const char *old)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    return old && text && strcmp(old, text) == 0 ? old : text_keep(r, stmt, column);
}

/* In rows that begin with their key: the row with the key of column 0, a new one if there is none. */
static void *row_of_key(struct sto_reader *r, struct sto_rows *rows, size_t size,
                        sqlite3_stmt *stmt)
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

/* Columns 0 and 1 are never NULL, but in a page of which a part was lost. */
static bool has_both(sqlite3_stmt *stmt)
{
    return sqlite3_column_type(stmt, 0) != SQLITE_NULL &&
           sqlite3_column_type(stmt, 1) != SQLITE_NULL;
}

static bool meta_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_meta_row *row = row_of_key(r, &r->meta, sizeof(*row), stmt);

    row->value = text_keep_new(r, stmt, 1, row->value);
    return has_both(stmt);
}

static bool toggle_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_toggle *row = row_of_key(r, &r->toggles, sizeof(*row), stmt);

    row->value = text_keep_new(r, stmt, 1, row->value);
    row->is_default = sqlite3_column_int(stmt, 2) != 0;
    return has_both(stmt);
}

static bool source_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_source *row = row_of_key(r, &r->sources, sizeof(*row), stmt);

    row->text = text_keep_new(r, stmt, 1, row->text);
    return has_both(stmt);
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

/*
 * Pass every row of `sql` to `take`, which returns whether it was valid. `known` is bound to the parameter of the
 * statement, if it has one.
 */
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

static uint64_t known_shapes(const struct sto_reader *r)
{
    return r->shapes.count;
}

/*
 * The tables read at opening and, from `known` on, at each refresh: known() is the value of the statement's parameter.
 */
static const struct {
    const char *sql;
    uint64_t (*known)(const struct sto_reader *r);
    bool (*take)(struct sto_reader *r, sqlite3_stmt *stmt);
} loads[] = {
    {"SELECT key, value FROM meta", known_none, meta_take},
    {"SELECT name, value, is_default FROM toggle ORDER BY rowid", known_none, toggle_take},
    {"SELECT name, text FROM source ORDER BY rowid", known_none, source_take},
    {"SELECT id, dtype, sizes, strides FROM shape WHERE id > ? ORDER BY id", known_shapes,
     shape_take},
};

/* ---- strings and locations, by their id ---- */

static void string_take(const struct sto_reader *r, sqlite3_stmt *stmt, void *row)
{
    *(const char **)row = text_keep(r, stmt, 1);
}

static void location_take(const struct sto_reader *r, sqlite3_stmt *stmt, void *row)
{
    (void)r;
    *(struct vs_location *)row =
        (struct vs_location){column_u32(stmt, 1), column_u32(stmt, 2), column_u32(stmt, 3),
                             column_u32(stmt, 4), column_u32(stmt, 5)};
}

struct sto_by_id *sto_strings_new(void)
{
    struct sto_by_id *t = vs_calloc(1, sizeof(*t));

    t->sql = "SELECT id, text FROM string WHERE id BETWEEN ? AND ?";
    t->ends_sql = "SELECT (SELECT max(id) FROM string), (SELECT count(*) FROM string)";
    t->row_bytes = sizeof(const char *);
    t->take = string_take;
    return t;
}

struct sto_by_id *sto_locations_new(void)
{
    struct sto_by_id *t = vs_calloc(1, sizeof(*t));

    t->sql = "SELECT id, phase, module, func, line, op FROM place WHERE id BETWEEN ? AND ?";
    t->ends_sql = "SELECT (SELECT max(id) FROM place), (SELECT count(*) FROM place)";
    t->row_bytes = sizeof(struct vs_location);
    t->take = location_take;
    return t;
}

/* Rows that are read at once. */
#define GROUP 64
/* A larger gap between ids means a damaged file. */
#define GAP_MAX (UINT32_C(1) << 20)

/* Find how many rows there are. VS_E_DAMAGED: the ids make no sense. */
static enum vs_status by_id_refresh(struct sto_reader *r, struct sto_by_id *t, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    sqlite3_int64 last = 0;
    sqlite3_int64 count = 0;
    enum vs_status st = sto_db_prepare(&r->db, t->ends_sql, &stmt, err);

    if (!st)
        st = sto_db_row(&r->db, stmt, &has_row, err);
    if (!st && has_row) {
        last = sqlite3_column_int64(stmt, 0);
        count = sqlite3_column_int64(stmt, 1);
    }
    sqlite3_finalize(stmt);
    if (!st && (last < 0 || last > UINT32_MAX || last - count > GAP_MAX))
        st = vs_fail(err, VS_E_DAMAGED,
                     "%s: the trace is damaged (a row of `%s` makes no sense); record it again",
                     r->path, t->sql);
    if (st || last <= t->count)
        return st;
    t->rows = vs_realloc(t->rows, (size_t)last, t->row_bytes);
    memset((char *)t->rows + t->count * t->row_bytes, 0, ((size_t)last - t->count) * t->row_bytes);
    t->is_there = vs_realloc(t->is_there, (size_t)last / GROUP + 1, sizeof(*t->is_there));
    /* the group that was the last may have grown */
    for (size_t g = t->count / GROUP; g <= (size_t)last / GROUP; g++)
        t->is_there[g] = false;
    t->count = (uint32_t)last;
    return VS_OK;
}

void sto_by_id_free(struct sto_by_id *t)
{
    if (!t)
        return;
    sqlite3_finalize(t->stmt);
    vs_free(t->rows);
    vs_free(t->is_there);
    vs_free(t);
}

static bool is_zero(const char *row, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (row[i])
            return false;
    return true;
}

/* Read the rows of a group that were not read before. */
static enum vs_status group_read(const struct sto_reader *r, struct sto_by_id *t, size_t group,
                                 struct vs_error *err)
{
    const sqlite3_int64 first = (sqlite3_int64)group * GROUP + 1;
    bool has_row = true;
    enum vs_status st = t->stmt ? VS_OK : sto_db_prepare(&r->db, t->sql, &t->stmt, err);

    if (!st) {
        sqlite3_bind_int64(t->stmt, 1, first);
        sqlite3_bind_int64(t->stmt, 2, first + GROUP - 1);
    }
    while (!st) {
        sqlite3_int64 id;
        char *row;

        st = sto_db_row(&r->db, t->stmt, &has_row, err);
        if (st || !has_row)
            break;
        id = sqlite3_column_int64(t->stmt, 0);
        if (id < first || id > t->count)
            continue;
        row = (char *)t->rows + (size_t)(id - 1) * t->row_bytes;
        if (is_zero(row, t->row_bytes))
            t->take(r, t->stmt, row);
    }
    sqlite3_reset(t->stmt); /* it would keep a transaction open */
    return st;
}

const void *sto_by_id_get(const struct sto_reader *r, struct sto_by_id *t, uint32_t id)
{
    if (!id || id > t->count)
        return NULL;
    if (!t->is_there[(id - 1) / GROUP]) {
        struct vs_error err = VS_ERROR_INIT;

        if (group_read(r, t, (id - 1) / GROUP, &err))
            t->failure = err;
        t->is_there[(id - 1) / GROUP] = true;
    }
    return (const char *)t->rows + (size_t)(id - 1) * t->row_bytes;
}

/* ---- steps ---- */

static struct sto_step step_of(sqlite3_stmt *stmt)
{
    return (struct sto_step){
        .first_seq = column_u64(stmt, 0),
        .last_seq = column_u64(stmt, 1),
        .step = sqlite3_column_int64(stmt, 2),
        .loss = sqlite3_column_type(stmt, 3) == SQLITE_NULL ? (double)NAN
                                                            : sqlite3_column_double(stmt, 3),
    };
}

/*
 * Add the steps of `sql` among the reader's events, first_seq BETWEEN ? AND ?, of a device numbered from its first
 * event. The last one may have grown since.
 */
static enum vs_status steps_read(const struct sto_reader *r, const char *sql, uint64_t from,
                                 struct sto_rows *out, struct vs_error *err)
{
    const uint64_t last = r->devices.before + sto_reader_event_count(r);
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    enum vs_status st = sto_db_prepare(&r->db, sql, &stmt, err);

    if (!st) {
        sqlite3_bind_int64(stmt, 1, (sqlite3_int64)from);
        sqlite3_bind_int64(stmt, 2, (sqlite3_int64)last);
    }
    while (!st) {
        struct sto_step step;

        st = sto_db_row(&r->db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        step = step_of(stmt);
        if (r->devices.count && step.last_seq > last)
            continue;
        step.first_seq -= r->devices.before;
        step.last_seq = (step.last_seq < last ? step.last_seq : last) - r->devices.before;
        *(struct sto_step *)row_add(out, sizeof(step)) = step;
    }
    sqlite3_finalize(stmt);
    return st;
}

const struct sto_rows *sto_steps_get(const struct sto_reader *r)
{
    static const char SQL[] = "SELECT first_seq, last_seq, step, loss FROM step WHERE first_seq "
                              "BETWEEN ? AND ? ORDER BY first_seq";
    struct sto_steps *steps = r->steps;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t from = 1;

    if (steps->is_read)
        return &steps->rows;
    if (steps->rows.count)
        from = ((const struct sto_step *)steps->rows.rows)[--steps->rows.count].first_seq;
    if (steps_read(r, SQL, r->devices.before + from, &steps->rows, &err))
        steps->failure = err;
    steps->is_read = true;
    return &steps->rows;
}

bool sto_reader_step_first(const struct sto_reader *r, struct sto_step *out)
{
    static const char SQL[] = "SELECT first_seq, last_seq, step, loss FROM step WHERE first_seq "
                              "BETWEEN ? AND ? AND step >= 0 ORDER BY first_seq LIMIT 1";
    struct sto_rows rows = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    bool is_there;

    if (steps_read(r, SQL, r->devices.before + 1, &rows, &err))
        r->steps->failure = err;
    is_there = rows.count > 0;
    if (is_there)
        *out = *(const struct sto_step *)rows.rows;
    vs_free(rows.rows);
    return is_there;
}

/* ---- all ---- */

enum vs_status sto_reader_load(struct sto_reader *r, struct vs_error *err)
{
    enum vs_status st;

    st = sto_db_exec(&r->db, "BEGIN", err);
    if (st)
        return st;
    for (size_t i = 0; !st && i < sizeof(loads) / sizeof(loads[0]); i++)
        st = rows_load(r, loads[i].sql, loads[i].known(r), loads[i].take, err);
    if (!st)
        st = by_id_refresh(r, r->strings, err);
    if (!st)
        st = by_id_refresh(r, r->locations, err);
    if (!st)
        st = sto_db_length_check(&r->db, err);
    if (!st)
        st = r->chunks ? sto_chunks_refresh(r->chunks, err)
                       : sto_chunks_open(&r->db, &r->chunks, err);
    if (!st)
        st = r->tensors ? sto_tensors_refresh(r->tensors, err)
                        : sto_tensors_open(&r->db, r->chunks, &r->tensors, err);
    r->steps->is_read = false;
    if (!st)
        st = sto_db_exec(&r->db, "COMMIT", err);
    if (st)
        sqlite3_exec(r->db.handle, "ROLLBACK", NULL, NULL,
                     NULL); /* report the first failure, not this one */
    return st;
}
