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

static bool meta_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct sto_meta_row *row = row_of_key(r, &r->meta, sizeof(*row), stmt);

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

static bool location_take(struct sto_reader *r, sqlite3_stmt *stmt)
{
    struct vs_location *row = row_at_id(&r->locations, sqlite3_column_int64(stmt, 0), sizeof(*row));

    if (row)
        *row = (struct vs_location){column_u32(stmt, 1), column_u32(stmt, 2), column_u32(stmt, 3),
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

static uint64_t known_strings(const struct sto_reader *r)
{
    return r->strings.count;
}

static uint64_t known_locations(const struct sto_reader *r)
{
    return r->locations.count;
}

static uint64_t known_shapes(const struct sto_reader *r)
{
    return r->shapes.count;
}

/* First event of the last known step, which may have grown. */
static uint64_t known_steps(const struct sto_reader *r)
{
    const struct sto_step *rows = r->steps.rows;

    return r->steps.count ? rows[r->steps.count - 1].first_seq : 0;
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
    {"SELECT id, text FROM string WHERE id > ? ORDER BY id", known_strings, string_take},
    {"SELECT id, phase, module, func, line, op FROM place WHERE id > ? ORDER BY id",
     known_locations, location_take},
    {"SELECT first_seq, last_seq, step, loss FROM step WHERE first_seq >= ? ORDER BY first_seq",
     known_steps, step_take},
    {"SELECT id, dtype, sizes, strides FROM shape WHERE id > ? ORDER BY id", known_shapes,
     shape_take},
};

enum vs_status sto_reader_load(struct sto_reader *r, struct vs_error *err)
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
        sqlite3_exec(r->db.handle, "ROLLBACK", NULL, NULL,
                     NULL); /* report the first failure, not this one */
    return st;
}
