/*
 * store/tensors.c - see tensors_internal.h.
 *
 * Must not know:  shapes, names.
 * Invariant:      the rows of a block are in memory from its reading until too many are.
 */
#include "store/tensors_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "store/codec/codec.h"

/* A larger gap between ids means a damaged file: the rows are indexed by id. */
#define ID_GAP_MAX (UINT32_C(1) << 20)

/* So many of the other blocks are kept decoded, half a MiB each; then all of them are removed. */
#define READ_BLOCKS_MAX 16

/*
 * A block of tensors: ids first_id … first_id + count - 1, or any ids if is_sparse.
 *
 * rows  NULL: not read, or is_sparse
 */
struct block {
    int64_t id;
    size_t count;
    uint32_t first_id;
    struct sto_tensor_row *rows;
    bool has_names;
    bool is_sparse;
    bool is_read;
};

struct sto_tensors {
    const struct sto_db *db;
    struct sto_chunks *chunks;
    struct block *blocks;
    size_t block_count;
    size_t block_cap;
    struct sto_tensor_row *rows; /* by id - 1, of the sparse blocks */
    size_t row_count;            /* the largest id */
    size_t row_cap;
    struct vs_event *records;
    size_t read_count; /* blocks with rows */
};

static enum vs_status damaged(const struct sto_tensors *t, const char *what, struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED, "%s: the trace is damaged (%s); record it again", t->db->path,
                   what);
}

/* Extend the range of ids to `last`; rows_fit() allocates their rows. */
static bool rows_reserve(struct sto_tensors *t, uint64_t last)
{
    if (last > UINT32_MAX || last > t->row_count + ID_GAP_MAX)
        return false;
    if (last > t->row_count)
        t->row_count = (size_t)last;
    return true;
}

/* Allocate the rows of all ids. New rows are zero pages, which take no memory until they are written. */
static void rows_fit(struct sto_tensors *t)
{
    struct sto_tensor_row *rows;
    size_t cap = t->row_count > t->row_cap * 2 ? t->row_count : t->row_cap * 2;

    if (t->row_count <= t->row_cap)
        return;
    rows = vs_calloc(cap, sizeof(*rows));
    if (t->row_cap)
        memcpy(rows, t->rows, t->row_cap * sizeof(*rows));
    vs_free(t->rows);
    t->rows = rows;
    t->row_cap = cap;
}

/* Of the blocks that are not sparse. */
static void rows_forget(struct sto_tensors *t)
{
    for (size_t i = 0; t->read_count && i < t->block_count; i++) {
        vs_free(t->blocks[i].rows);
        t->blocks[i].rows = NULL;
    }
    t->read_count = 0;
}

/* Where the row with this id of the block belongs; NULL: nowhere. */
static struct sto_tensor_row *row_slot(struct sto_tensors *t, const struct block *block,
                                       uint32_t id)
{
    if (!block->is_sparse)
        return id >= block->first_id && id - block->first_id < block->count
                   ? &block->rows[id - block->first_id]
                   : NULL;
    if (!id || !rows_reserve(t, id))
        return NULL;
    rows_fit(t);
    return &t->rows[id - 1];
}

static enum vs_status block_read(struct sto_tensors *t, struct block *block, struct vs_error *err)
{
    size_t count = 0;
    enum vs_status st;

    if (!t->records)
        t->records = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*t->records));
    st = sto_chunks_block_read(t->chunks, block->id, t->records, &count, err);
    if (!st && count < block->count)
        st = damaged(t, "tensors are missing", err);
    if (!st && !block->is_sparse) {
        if (t->read_count >= READ_BLOCKS_MAX)
            rows_forget(t);
        block->rows = vs_calloc(block->count, sizeof(*block->rows));
        t->read_count++;
    }
    for (size_t i = 0; !st && i < block->count; i++) {
        const struct vs_event *record = &t->records[i];
        struct sto_tensor_row *row = row_slot(t, block, record->raw.e);

        if (!row)
            return damaged(t, "a tensor makes no sense", err);
        *row = (struct sto_tensor_row){
            .id = record->raw.e,
            .block = record->raw.a,
            .shape = (uint32_t)record->raw.b,
            .name = (uint32_t)record->raw.c,
            .offset = record->raw.d,
        };
    }
    block->is_read = !st;
    return st;
}

/*
 * Take a row of the statement: id, count, the first id (NULL: they do not count up), and whether a tensor of the block
 * has a name.
 */
static enum vs_status block_take(struct sto_tensors *t, sqlite3_stmt *stmt, struct vs_error *err)
{
    sqlite3_int64 count = sqlite3_column_int64(stmt, 1);
    sqlite3_int64 base = sqlite3_column_int64(stmt, 2);
    bool counts_up = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
    struct block block = {.id = sqlite3_column_int64(stmt, 0),
                          .has_names = sqlite3_column_int(stmt, 3) != 0,
                          .is_sparse = !counts_up};

    if (count < 1 || count > STO_CHUNK_EVENTS_MAX)
        return damaged(t, "a block of no possible length", err);
    block.count = (size_t)count;
    if (counts_up) {
        if (base < 1 || base > UINT32_MAX)
            return damaged(t, "a tensor makes no sense", err);
        block.first_id = (uint32_t)base;
        block.is_sparse = t->block_count > 0 && t->blocks[t->block_count - 1].first_id +
                                                        t->blocks[t->block_count - 1].count >
                                                    block.first_id;
    }
    t->blocks = vs_grow(t->blocks, t->block_count, &t->block_cap, sizeof(*t->blocks));
    t->blocks[t->block_count++] = block;
    return VS_OK;
}

/* Traces of versions 1 to 5 have columns: 7 are the ids, 5 the names. */
static const char OLD_LIST[] =
    "SELECT b.id, b.count, "
    "CASE WHEN c.width = 0 AND (b.count = 1 OR c.step = 1) THEN c.base END, "
    "EXISTS (SELECT 1 FROM event_column n WHERE n.id = b.id * 16 + 5) "
    "FROM event_block b LEFT JOIN event_column c ON c.id = b.id * 16 + 7 "
    "WHERE b.id = ?";
static const char LIST[] = "SELECT b.id, b.count, c.first_id, c.has_names "
                           "FROM event_block b LEFT JOIN event_chunk c ON c.id = b.id "
                           "WHERE b.id = ?";

/*
 * List the blocks from number `from` on, which are numbered without gaps. One by one: there are few of them among the
 * many blocks of events.
 */
static enum vs_status blocks_list(struct sto_tensors *t, int64_t from, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = true;
    bool is_old = false;
    enum vs_status st = sto_db_table_find(t->db, "event_column", &is_old, err);

    if (!st)
        st = sto_db_prepare(t->db, is_old ? OLD_LIST : LIST, &stmt, err);
    for (int64_t number = from; !st && has_row; number++) {
        sqlite3_bind_int64(stmt, 1, number * STO_BLOCK_IDS + STO_KIND_TENSOR);
        st = sto_db_row(t->db, stmt, &has_row, err);
        if (!st && has_row)
            st = block_take(t, stmt, err);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return st;
}

/* Find the largest id of the listed blocks, and read those blocks whose tensors cannot be located by id. */
static enum vs_status blocks_settle(struct sto_tensors *t, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < t->block_count; i++) {
        struct block *block = &t->blocks[i];

        if (block->is_sparse && !block->is_read)
            st = block_read(t, block, err);
        else if (!block->is_sparse && !rows_reserve(t, block->first_id + block->count - 1))
            st = damaged(t, "a tensor makes no sense", err);
    }
    return st;
}

enum vs_status sto_tensors_open(const struct sto_db *db, struct sto_chunks *chunks,
                                struct sto_tensors **out, struct vs_error *err)
{
    struct sto_tensors *t = vs_calloc(1, sizeof(*t));
    enum vs_status st;

    *out = NULL;
    t->db = db;
    t->chunks = chunks;
    st = blocks_list(t, 0, err);
    if (!st)
        st = blocks_settle(t, err);
    if (!st) {
        *out = t;
        t = NULL; /* handed over */
    }
    sto_tensors_close(t);
    return st;
}

void sto_tensors_close(struct sto_tensors *t)
{
    if (!t)
        return;
    rows_forget(t);
    vs_free(t->blocks);
    vs_free(t->rows);
    vs_free(t->records);
    vs_free(t);
}

enum vs_status sto_tensors_refresh(struct sto_tensors *t, struct vs_error *err)
{
    int64_t from = 0;
    enum vs_status st;

    /* the last block may have grown */
    rows_forget(t);
    if (t->block_count)
        from = t->blocks[--t->block_count].id / STO_BLOCK_IDS;
    st = blocks_list(t, from, err);
    return st ? st : blocks_settle(t, err);
}

uint32_t sto_tensors_count(const struct sto_tensors *t)
{
    return (uint32_t)t->row_count;
}

/* The block whose range of ids contains `id`; NULL if there is none. */
static struct block *block_of(struct sto_tensors *t, uint32_t id)
{
    size_t low = 0;
    size_t high = t->block_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->blocks[middle].first_id + t->blocks[middle].count <= id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->block_count || t->blocks[low].first_id > id || t->blocks[low].is_sparse)
        return NULL;
    return &t->blocks[low];
}

enum vs_status sto_tensors_get(struct sto_tensors *t, uint32_t id,
                               const struct sto_tensor_row **out, struct vs_error *err)
{
    struct block *block = id ? block_of(t, id) : NULL;
    const struct sto_tensor_row *row = NULL;
    enum vs_status st = block && !block->rows ? block_read(t, block, err) : VS_OK;

    if (st)
        return st;
    if (block)
        row = &block->rows[id - block->first_id];
    else if (id && id <= t->row_cap)
        row = &t->rows[id - 1];
    if (!row || row->id != id)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: the trace has no tensor %" PRIu32, t->db->path,
                       id);
    *out = row;
    return VS_OK;
}

uint32_t sto_tensors_nameless_to(struct sto_tensors *t, uint32_t id)
{
    const struct block *block = block_of(t, id);

    return block && !block->has_names ? block->first_id + (uint32_t)block->count - 1 : id - 1;
}
