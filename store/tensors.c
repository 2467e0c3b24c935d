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

/* So many rows are read behind the one that is needed: the next one mostly is near. */
#define BEHIND_ROWS (STO_CHUNK_EVENTS / 16)

/* So many of the other blocks are kept decoded, half a MiB each; then all of them are removed. */
#define READ_BLOCKS_MAX 16

/*
 * A block of tensors: ids first_id … first_id + count - 1, or any ids if is_sparse.
 *
 * count  0: its row has not been read
 * rows   NULL: not read, or is_sparse
 * there  so many of its first rows have been read
 */
struct block {
    int64_t id;
    size_t count;
    uint32_t first_id;
    struct sto_tensor_row *rows;
    size_t there;
    bool has_names;
    bool is_sparse;
};

/*
 * A recorder numbers tensors from 1, and fills one block after the other: block i has the ids from 1 + i * full on.
 * Where the first and the last block are so, the others are listed when they are needed.
 *
 * list_stmt  a block by its id
 * full       ids in each block but the last; 0: not so, and all blocks are listed
 */
struct sto_tensors {
    const struct sto_db *db;
    struct sto_chunks *chunks;
    sqlite3_stmt *list_stmt;
    size_t full;
    struct block *blocks;
    size_t block_count;
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
        t->blocks[i].there = 0;
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

/* Read the first `wanted` rows of a block, at least one. */
static enum vs_status block_read(struct sto_tensors *t, struct block *block, size_t wanted,
                                 struct vs_error *err)
{
    size_t count = 0;
    enum vs_status st;

    if (!t->records)
        t->records = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*t->records));
    st = sto_chunks_block_read(t->chunks, block->id, wanted, t->records, &count, err);
    if (!st && count < wanted)
        st = damaged(t, "tensors are missing", err);
    if (!st && !block->is_sparse && !block->rows) {
        if (t->read_count >= READ_BLOCKS_MAX)
            rows_forget(t);
        block->rows = vs_calloc(block->count, sizeof(*block->rows));
        t->read_count++;
    }
    for (size_t i = 0; !st && i < wanted; i++) {
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
    block->there = st ? 0 : wanted;
    return st;
}

/*
 * Take a row of the statement: id, count, the first id (NULL: they do not count up), and whether a tensor of the block
 * has a name.
 */
static enum vs_status block_take(struct sto_tensors *t, sqlite3_stmt *stmt, struct block *out,
                                 struct vs_error *err)
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
    }
    *out = block;
    return VS_OK;
}

/* Traces of versions 1 to 5 have columns: 7 are the ids, 5 the names. */
static const char OLD_LIST[] =
    "SELECT b.id, b.count, "
    "CASE WHEN c.width = 0 AND (b.count = 1 OR c.step = 1) THEN c.base END, "
    "EXISTS (SELECT 1 FROM event_column n WHERE n.id = b.id * 16 + 5) "
    "FROM event_block b LEFT JOIN event_column c ON c.id = b.id * 16 + 7 "
    "WHERE b.id = ?";
static const char LIST[] = "SELECT id, count, first_id, has_names FROM event_chunk WHERE id = ?";

/* The row of block `number`; out->count 0: there is none. */
static enum vs_status block_list(struct sto_tensors *t, size_t number, struct block *out,
                                 struct vs_error *err)
{
    bool has_row = false;
    enum vs_status st;

    *out = (struct block){.count = 0};
    sqlite3_bind_int64(t->list_stmt, 1, (sqlite3_int64)number * STO_BLOCK_IDS + STO_KIND_TENSOR);
    st = sto_db_row(t->db, t->list_stmt, &has_row, err);
    if (!st && has_row)
        st = block_take(t, t->list_stmt, out, err);
    sqlite3_reset(t->list_stmt); /* it would keep a transaction open */
    return st;
}

/* Count the blocks, which are numbered without gaps: the number of one that is there, and of one that is not. */
static enum vs_status blocks_count(struct sto_tensors *t, size_t *out, struct vs_error *err)
{
    struct block block;
    size_t low = 0;
    size_t high = 1;
    enum vs_status st = block_list(t, 0, &block, err);

    *out = 0;
    if (st || !block.count)
        return st;
    for (; !st && block.count; high *= 2) {
        st = block_list(t, high, &block, err);
        low = block.count ? high : low;
    }
    for (high /= 2; !st && high - low > 1;) {
        const size_t middle = low + (high - low) / 2;

        st = block_list(t, middle, &block, err);
        low = block.count ? middle : low;
        high = block.count ? high : middle;
    }
    *out = low + 1;
    return st;
}

/* List all blocks. */
static enum vs_status blocks_list(struct sto_tensors *t, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < t->block_count; i++) {
        struct block *block = &t->blocks[i];

        st = block_list(t, i, block, err);
        block->is_sparse =
            block->is_sparse || (i > 0 && block[-1].first_id + block[-1].count > block->first_id);
    }
    return st;
}

/* List the first and the last block, and all others if these are not as a recorder makes them. */
static enum vs_status blocks_open(struct sto_tensors *t, struct vs_error *err)
{
    struct block first;
    struct block *last;
    enum vs_status st = blocks_count(t, &t->block_count, err);

    t->full = 0;
    vs_free(t->blocks);
    t->blocks = vs_calloc(t->block_count + 1, sizeof(*t->blocks));
    if (st || !t->block_count)
        return st;
    last = &t->blocks[t->block_count - 1];
    st = block_list(t, 0, &first, err);
    if (!st)
        st = block_list(t, t->block_count - 1, last, err);
    if (st)
        return st;
    if (first.is_sparse || last->is_sparse || first.first_id != 1 || last->count > first.count ||
        last->first_id != 1 + (t->block_count - 1) * (uint64_t)first.count)
        return blocks_list(t, err);
    t->full = first.count;
    t->row_count = (size_t)last->first_id + last->count - 1;
    return VS_OK;
}

/* Find the largest id of the listed blocks, and read those blocks whose tensors cannot be located by id. */
static enum vs_status blocks_settle(struct sto_tensors *t, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = t->full ? t->block_count - 1 : 0; !st && i < t->block_count; i++) {
        struct block *block = &t->blocks[i];

        if (block->is_sparse && !block->there)
            st = block_read(t, block, block->count, err);
        else if (!block->is_sparse && !rows_reserve(t, block->first_id + block->count - 1))
            st = damaged(t, "a tensor makes no sense", err);
    }
    return st;
}

enum vs_status sto_tensors_open(const struct sto_db *db, struct sto_chunks *chunks,
                                struct sto_tensors **out, struct vs_error *err)
{
    struct sto_tensors *t = vs_calloc(1, sizeof(*t));
    bool is_old = false;
    enum vs_status st;

    *out = NULL;
    t->db = db;
    t->chunks = chunks;
    st = sto_db_table_find(db, "event_column", &is_old, err);
    if (!st)
        st = sto_db_prepare(db, is_old ? OLD_LIST : LIST, &t->list_stmt, err);
    if (!st)
        st = blocks_open(t, err);
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
    sqlite3_finalize(t->list_stmt);
    vs_free(t->blocks);
    vs_free(t->rows);
    vs_free(t->records);
    vs_free(t);
}

enum vs_status sto_tensors_refresh(struct sto_tensors *t, struct vs_error *err)
{
    enum vs_status st;

    /* the last block may have grown */
    rows_forget(t);
    st = blocks_open(t, err);
    return st ? st : blocks_settle(t, err);
}

uint32_t sto_tensors_count(const struct sto_tensors *t)
{
    return (uint32_t)t->row_count;
}

/* The block whose range of ids contains `id`; NULL: there is none. */
static enum vs_status block_of(struct sto_tensors *t, uint32_t id, struct block **out,
                               struct vs_error *err)
{
    size_t low = 0;
    size_t high = t->full ? 0 : t->block_count;
    struct block *block;

    *out = NULL;
    if (t->full && id >= 1)
        low = (id - 1) / t->full;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->blocks[middle].first_id + t->blocks[middle].count <= id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= t->block_count)
        return VS_OK;
    block = &t->blocks[low];
    if (!block->count) {
        enum vs_status st = block_list(t, low, block, err);

        if (st)
            return st;
        if (block->is_sparse || block->count != t->full || block->first_id != 1 + low * t->full) {
            block->count = 0;
            return damaged(t, "a block of other tensors", err);
        }
    }
    if (id >= block->first_id && id - block->first_id < block->count && !block->is_sparse)
        *out = block;
    return VS_OK;
}

enum vs_status sto_tensors_get(struct sto_tensors *t, uint32_t id,
                               const struct sto_tensor_row **out, struct vs_error *err)
{
    struct block *block = NULL;
    const struct sto_tensor_row *row = NULL;
    size_t wanted = 0;
    enum vs_status st = block_of(t, id, &block, err);

    if (!st && block)
        wanted = id - block->first_id + 1;
    /* the first time a little further, the second time all of it */
    if (wanted > (block ? block->there : 0))
        st = block_read(t, block,
                        !block->rows && wanted + BEHIND_ROWS < block->count ? wanted + BEHIND_ROWS
                                                                            : block->count,
                        err);
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
    struct vs_error ignored = VS_ERROR_INIT; /* reading the tensor says it again */
    struct block *block = NULL;

    return !block_of(t, id, &block, &ignored) && block && !block->has_names
               ? block->first_id + (uint32_t)block->count - 1
               : id - 1;
}
