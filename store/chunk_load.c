/*
 * store/chunk_load.c - see the second part of chunk_internal.h.
 *
 * Must not know:  which chunks there are.
 * Invariant:      the rows of a chunk are read in one transaction, as a running recorder may replace them: that of the
 *                 caller, or else its own.
 *
 * Since version 6 of the format a chunk is a row of event_chunk, encoded by store/codec/. A trace that was recorded
 * earlier has rows of event_column instead, decoded by store/old/.
 */
#include "store/chunk_internal.h"

#include <string.h>

#include "base/mem.h"
#include "store/codec/codec.h"
#include "store/old/columns.h"

/* A step of a net has events in several chunks, each with a reference of its own. */
#define REFERENCES_MAX 4

#define ID_NONE (-1)

/* A decoded chunk to which others refer. */
struct reference {
    int64_t id;
    size_t count;
    uint64_t age;
    struct vs_event *events;
};

/*
 * chunk_stmt, block_stmt, column_stmt  NULL where the file has no such table
 * bytes     of the rows that were read last
 * id, count, chunk, reference  the chunk that was read last; chunk.bytes NULL: it is of an earlier version, and
 *                              `blocks` has its blocks
 * first_seq its first event, as its blocks say
 */
struct sto_loader {
    const struct sto_db *db;
    sqlite3_stmt *chunk_stmt;
    sqlite3_stmt *block_stmt;
    sqlite3_stmt *column_stmt;
    struct vs_arena *bytes;
    struct sto_decoder *decoder;
    struct sto_columns *columns;
    bool *is_filled;
    int64_t id;
    size_t count;
    struct sto_chunk_in chunk;
    int64_t reference;
    struct sto_block blocks[STO_BLOCK_IDS];
    size_t block_count;
    uint64_t first_seq;
    struct reference references[REFERENCES_MAX];
    uint64_t clock;
};

static enum vs_status fail_damaged(const struct sto_loader *l, int64_t id, struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED,
                   "%s: the trace is damaged: block %lld cannot be decoded; record it again",
                   l->db->path, (long long)id);
}

static enum vs_status table_prepare(const struct sto_db *db, const char *table, const char *sql,
                                    sqlite3_stmt **out, struct vs_error *err)
{
    bool is_there = false;
    enum vs_status st = sto_db_table_find(db, table, &is_there, err);

    *out = NULL;
    return st || !is_there ? st : sto_db_prepare(db, sql, out, err);
}

enum vs_status sto_loader_open(const struct sto_db *db, struct sto_loader **out,
                               struct vs_error *err)
{
    struct sto_loader *l = vs_calloc(1, sizeof(*l));
    enum vs_status st;

    *out = NULL;
    l->db = db;
    l->bytes = vs_arena_new();
    for (size_t i = 0; i < REFERENCES_MAX; i++)
        l->references[i].id = ID_NONE;
    st = table_prepare(db, "event_chunk",
                       "SELECT count, reference, data FROM event_chunk WHERE id = ?",
                       &l->chunk_stmt, err);
    if (!st)
        st = table_prepare(db, "event_block",
                           "SELECT id, count, first_seq FROM event_block WHERE id BETWEEN ? AND ? "
                           "ORDER BY id",
                           &l->block_stmt, err);
    if (!st)
        st = table_prepare(
            db, "event_column",
            "SELECT id, base, step, unit, width, dict_width, codes, dict, data FROM event_column "
            "WHERE id BETWEEN ? AND ?",
            &l->column_stmt, err);
    if (!st) {
        *out = l;
        l = NULL; /* handed over */
    }
    sto_loader_close(l);
    return st;
}

void sto_loader_close(struct sto_loader *l)
{
    if (!l)
        return;
    sqlite3_finalize(l->chunk_stmt);
    sqlite3_finalize(l->block_stmt);
    sqlite3_finalize(l->column_stmt);
    vs_arena_free(l->bytes);
    sto_decoder_free(l->decoder);
    sto_columns_free(l->columns);
    vs_free(l->is_filled);
    for (size_t i = 0; i < REFERENCES_MAX; i++)
        vs_free(l->references[i].events);
    vs_free(l);
}

static const uint8_t *bytes_keep(struct vs_arena *bytes, const void *from, size_t count)
{
    uint8_t *to;

    if (!from)
        return NULL;
    to = vs_arena_alloc(bytes, count);
    memcpy(to, from, count);
    return to;
}

/* ---- rows of event_chunk ---- */

/* Read a row; *is_there: whether there is one. */
static enum vs_status chunk_row(struct sto_loader *l, int64_t id, bool *is_there,
                                struct vs_error *err)
{
    sqlite3_stmt *stmt = l->chunk_stmt;
    sqlite3_int64 count = 0;
    enum vs_status st;

    *is_there = false;
    if (!stmt)
        return VS_OK;
    sqlite3_bind_int64(stmt, 1, id);
    st = sto_db_row(l->db, stmt, is_there, err);
    if (!st && *is_there) {
        const void *data = sqlite3_column_blob(stmt, 2);

        count = sqlite3_column_int64(stmt, 0);
        l->reference = sqlite3_column_type(stmt, 1) == SQLITE_NULL ? STO_NO_REFERENCE
                                                                   : sqlite3_column_int64(stmt, 1);
        l->chunk = (struct sto_chunk_in){.len = (size_t)sqlite3_column_bytes(stmt, 2)};
        l->chunk.bytes = bytes_keep(l->bytes, data, l->chunk.len);
        if (!l->chunk.bytes || count < 1 || count > STO_CHUNK_EVENTS_MAX)
            st = fail_damaged(l, id, err);
    }
    sqlite3_reset(stmt);
    l->id = id;
    l->count = (size_t)count;
    return st;
}

/* Decode the first `wanted` events of the row that was read last. */
static enum vs_status chunk_decode(struct sto_loader *l, struct vs_event *out, size_t wanted,
                                   struct vs_error *err)
{
    if (!l->decoder)
        l->decoder = sto_decoder_new();
    return sto_decode(l->decoder, &l->chunk, out, l->count, wanted) ? VS_OK
                                                                    : fail_damaged(l, l->id, err);
}

/* ---- rows of event_column ---- */

/* Fill a column from the current row, which is only valid until the next step. */
static void column_take(sqlite3_stmt *stmt, struct vs_arena *bytes, struct sto_column *col)
{
    const void *dict = sqlite3_column_blob(stmt, 7);
    const void *data = sqlite3_column_blob(stmt, 8);

    *col = (struct sto_column){
        .is_stored = true,
        .base = sqlite3_column_int64(stmt, 1),
        .step = sqlite3_column_int64(stmt, 2),
        .unit = sqlite3_column_int64(stmt, 3),
        .width = (uint32_t)sqlite3_column_int64(stmt, 4),
        .dict_width = (uint32_t)sqlite3_column_int64(stmt, 5),
        .codes = (enum sto_field)sqlite3_column_int(stmt, 6),
        .dict_bytes = (size_t)sqlite3_column_bytes(stmt, 7),
        .data_bytes = (size_t)sqlite3_column_bytes(stmt, 8),
    };
    col->dict = bytes_keep(bytes, dict, col->dict_bytes);
    col->data = bytes_keep(bytes, data, col->data_bytes);
}

/* Read the columns of the block with id `block_id`. In a damaged file the query may return unexpected rows. */
static enum vs_status columns_load(struct sto_loader *l, sqlite3_int64 block_id,
                                   struct sto_block *block, struct vs_error *err)
{
    sqlite3_stmt *stmt = l->column_stmt;
    bool has_row = true;
    enum vs_status st = VS_OK;

    if (block_id > INT64_MAX / STO_COLUMN_IDS - 1)
        return fail_damaged(l, block_id, err);
    sqlite3_bind_int64(stmt, 1, block_id * STO_COLUMN_IDS);
    sqlite3_bind_int64(stmt, 2, block_id * STO_COLUMN_IDS + STO_FIELD_COUNT - 1);
    while (!st) {
        sqlite3_int64 field;

        st = sto_db_row(l->db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        field = sqlite3_column_int64(stmt, 0) - block_id * STO_COLUMN_IDS;
        if (field < 0 || field >= STO_FIELD_COUNT)
            st = fail_damaged(l, block_id, err);
        else
            column_take(stmt, l->bytes, &block->columns[field]);
    }
    sqlite3_reset(stmt);
    return st;
}

/* ---- blocks ---- */

/*
 * Read the list of the chunk's blocks, and where the chunk has columns, these. l->count is then the total number of
 * events.
 */
static enum vs_status blocks_load(struct sto_loader *l, int64_t first_id, bool has_columns,
                                  struct vs_error *err)
{
    const bool is_tensors = first_id % STO_BLOCK_IDS == STO_KIND_TENSOR;
    const sqlite3_int64 last_id = is_tensors ? first_id : first_id + VS_EVENT_KIND_COUNT - 1;
    sqlite3_stmt *stmt = l->block_stmt;
    sqlite3_int64 next_id = first_id;
    bool has_row = true;
    enum vs_status st = VS_OK;

    l->block_count = 0;
    l->count = 0;
    if (!stmt)
        return fail_damaged(l, first_id, err);
    sqlite3_bind_int64(stmt, 1, first_id);
    sqlite3_bind_int64(stmt, 2, last_id);
    while (!st) {
        struct sto_block *block = &l->blocks[l->block_count];
        sqlite3_int64 id;
        sqlite3_int64 count;

        st = sto_db_row(l->db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        id = sqlite3_column_int64(stmt, 0);
        count = sqlite3_column_int64(stmt, 1);
        if (id < next_id || id > last_id || count < 1 ||
            count > STO_CHUNK_EVENTS_MAX - (sqlite3_int64)l->count) {
            st = fail_damaged(l, first_id, err);
            break;
        }
        next_id = id + 1;
        if (!l->block_count)
            l->first_seq = (uint64_t)sqlite3_column_int64(stmt, 2);
        *block =
            (struct sto_block){.kind = (uint32_t)(id % STO_BLOCK_IDS), .count = (uint32_t)count};
        if (has_columns)
            st = columns_load(l, id, block, err);
        l->block_count++;
        l->count += (size_t)count;
    }
    sqlite3_reset(stmt);
    return st || l->count ? st : fail_damaged(l, first_id, err);
}

/* Read the blocks of a chunk that is not of an earlier version: as many events as its row says. */
static enum vs_status blocks_match(struct sto_loader *l, int64_t id, struct vs_error *err)
{
    const size_t count = l->count;
    enum vs_status st = blocks_load(l, id, false, err);

    return st || l->count == count ? st : fail_damaged(l, id, err);
}

/*
 * Read the row of a reference. Only a chunk that is full becomes one. An earlier row, of the time before it was, is
 * noticed as the events of the next chunk do not follow: a disk that loses power may have kept that one.
 */
static enum vs_status reference_read(struct sto_loader *l, int64_t id, int64_t wanted,
                                     struct vs_error *err)
{
    bool is_there = false;
    uint64_t end;
    size_t count;
    enum vs_status st;

    /* it comes before, has no reference itself, and is of the same sort */
    if (wanted < 0 || wanted >= id || wanted % STO_BLOCK_IDS != id % STO_BLOCK_IDS)
        return fail_damaged(l, id, err);
    st = chunk_row(l, wanted, &is_there, err);
    if (!st && (!is_there || l->reference != STO_NO_REFERENCE))
        st = fail_damaged(l, id, err);
    if (!st)
        st = blocks_match(l, wanted, err);
    if (st)
        return st;
    count = l->count;
    end = l->first_seq + count;
    st = blocks_load(l, wanted + STO_BLOCK_IDS, false, err);
    if (!st && l->first_seq != end)
        st = fail_damaged(l, id, err);
    l->count = count;
    return st;
}

/* Give the chunk that was read last the events of its reference, which may have to be read for it. */
static enum vs_status reference_take(struct sto_loader *l, struct vs_error *err)
{
    const int64_t id = l->id;
    const int64_t wanted = l->reference;
    const size_t count = l->count;
    const struct sto_chunk_in chunk = l->chunk;
    struct reference *slot = &l->references[0];
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < REFERENCES_MAX && slot->id != wanted; i++)
        if (l->references[i].id == wanted || l->references[i].age < slot->age)
            slot = &l->references[i];
    if (slot->id != wanted) {
        slot->id = ID_NONE;
        if (!slot->events)
            slot->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*slot->events));
        st = reference_read(l, id, wanted, err);
        if (!st)
            st = chunk_decode(l, slot->events, l->count, err);
        if (st)
            return st;
        slot->id = wanted;
        slot->count = l->count;
    }
    slot->age = ++l->clock;
    l->id = id;
    l->count = count;
    l->chunk = chunk;
    l->chunk.reference = slot->events;
    l->chunk.reference_count = slot->count;
    return VS_OK;
}

static enum vs_status columns_decode(struct sto_loader *l, struct vs_event *out,
                                     struct vs_error *err)
{
    if (!l->columns) {
        l->columns = sto_columns_new();
        l->is_filled = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*l->is_filled));
    }
    memset(l->is_filled, 0, l->count * sizeof(*l->is_filled));
    for (size_t i = 0; i < l->block_count; i++)
        if (!sto_columns_decode(l->columns, &l->blocks[i], out, l->is_filled, l->count))
            return fail_damaged(l, l->id, err);
    return VS_OK;
}

/* ---- chunks ---- */

/* Inside a transaction. */
static enum vs_status rows_read(struct sto_loader *l, int64_t id, struct vs_error *err)
{
    bool is_there = false;
    enum vs_status st = chunk_row(l, id, &is_there, err);

    if (st)
        return st;
    l->id = id;
    if (!is_there) {
        l->chunk.bytes = NULL;
        return l->column_stmt ? blocks_load(l, id, true, err) : fail_damaged(l, id, err);
    }
    if (l->reference != STO_NO_REFERENCE)
        st = reference_take(l, err);
    return st ? st : blocks_match(l, id, err);
}

enum vs_status sto_loader_read(struct sto_loader *l, int64_t id, size_t *count,
                               struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    const bool is_inside = !sqlite3_get_autocommit(l->db->handle) ||
                           sqlite3_txn_state(l->db->handle, "main") != SQLITE_TXN_NONE;
    enum vs_status st;

    vs_arena_clear(l->bytes);
    st = is_inside ? VS_OK : sto_db_exec(l->db, "BEGIN", err);
    if (st)
        return st;
    st = rows_read(l, id, err);
    if (!is_inside && st)
        (void)!sto_db_exec(l->db, "ROLLBACK", &ignored); /* report the first failure */
    else if (!is_inside)
        st = sto_db_exec(l->db, "COMMIT", err);
    *count = l->count;
    return st;
}

/*
 * Compare the kinds of the events with the chunk's blocks, of which there are none of unknown kinds: there are not more
 * of a kind than its block has, so that of a whole chunk, whose blocks have as many events, the counts are equal.
 */
static enum vs_status kinds_check(const struct sto_loader *l, const struct vs_event *events,
                                  size_t count, struct vs_error *err)
{
    size_t left[STO_BLOCK_IDS] = {0};

    for (size_t i = 0; i < l->block_count; i++)
        left[l->blocks[i].kind] = l->blocks[i].count;
    for (size_t i = 0; i < count; i++)
        if (left[events[i].kind]-- == 0)
            return fail_damaged(l, l->id, err);
    return VS_OK;
}

enum vs_status sto_loader_events(struct sto_loader *l, struct vs_event *out, size_t wanted,
                                 struct vs_error *err)
{
    const bool is_tensors = l->id % STO_BLOCK_IDS == STO_KIND_TENSOR;
    enum vs_status st;

    VS_ASSERT(wanted >= 1 && wanted <= l->count);
    if (!l->chunk.bytes)
        return columns_decode(l, out, err);
    st = chunk_decode(l, out, wanted, err);
    if (!st)
        st = kinds_check(l, out, wanted, err);
    /* of tensors the codec has the shape in the place of the location */
    for (size_t i = 0; !st && is_tensors && i < wanted; i++) {
        out[i].raw.b = out[i].location;
        out[i].location = 0;
    }
    return st;
}
