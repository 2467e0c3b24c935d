/*
 * store/chunk.c - see chunk_internal.h.
 *
 * Must not know:  strings, locations, the meaning of tensor records.
 * Invariant:      events are only returned from a chunk that decoded completely: each of its events exactly once.
 */
#include "store/chunk_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "store/codec.h"

#define ALL_FIELDS (~UINT32_C(0))
/* Where events are, and what the codes of other fields may be. */
#define BASE_FIELDS                                                                                \
    (UINT32_C(1) << STO_FIELD_SEQ | UINT32_C(1) << STO_FIELD_LOCATION | UINT32_C(1) << STO_FIELD_B)

/* An entry of the list: number in the file, first event, event count, and a hash of the event counts per kind. */
struct chunk {
    uint64_t idx;
    uint64_t first_seq;
    uint64_t count;
    uint64_t print;
};

/*
 * list                 in order of first_seq, without gaps
 * events, event_count  the decoded chunk list[current]; current is SIZE_MAX if there is none
 */
struct sto_chunks {
    const struct sto_db *db;
    sqlite3_stmt *list_stmt;
    sqlite3_stmt *block_stmt;
    sqlite3_stmt *column_stmt;
    struct sto_codec *codec;
    struct vs_arena *bytes; /* columns of the chunk being decoded */
    struct chunk *list;
    size_t list_count;
    size_t list_cap;
    size_t current;
    struct vs_event *events;
    bool *is_filled;
};

static enum vs_status fail_damaged(const struct sto_chunks *c, uint64_t seq, const char *what,
                                   struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED,
                   "%s: the trace is damaged: %s at event %" PRIu64 "; record it again",
                   c->db->path, what, seq);
}

/* Append a chunk, which begins where the list ends. */
static enum vs_status list_add(struct sto_chunks *c, const struct chunk *chunk,
                               struct vs_error *err)
{
    uint64_t next_seq = sto_chunks_event_count(c) + 1;

    if (chunk->first_seq != next_seq || chunk->count < 1 || chunk->count > STO_CHUNK_EVENTS_MAX)
        return fail_damaged(c, next_seq, "a part is missing", err);
    c->list = vs_grow(c->list, c->list_count, &c->list_cap, sizeof(*c->list));
    c->list[c->list_count++] = *chunk;
    return VS_OK;
}

/*
 * Read the chunks that follow the end of the list, a row for each kind of a chunk's events. SQL could group them, but
 * would sort them first, although they are in order.
 */
static enum vs_status list_load(struct sto_chunks *c, struct vs_error *err)
{
    struct chunk chunk = {.count = 0};
    bool is_begun = false;
    bool has_row = true;
    enum vs_status st = VS_OK;

    sqlite3_bind_int64(
        c->list_stmt, 1,
        c->list_count ? (sqlite3_int64)(c->list[c->list_count - 1].idx + 1) * STO_BLOCK_IDS : 0);
    while (!st && has_row) {
        uint64_t id = 0;
        uint64_t kind;
        uint64_t count;

        st = sto_db_row(c->db, c->list_stmt, &has_row, err);
        if (st)
            break;
        if (has_row)
            id = (uint64_t)sqlite3_column_int64(c->list_stmt, 0);
        kind = id % STO_BLOCK_IDS;
        if (has_row && kind == STO_BLOCK_IDS - 1) /* tensors */
            continue;
        if (is_begun && (!has_row || id / STO_BLOCK_IDS != chunk.idx)) {
            st = list_add(c, &chunk, err);
            is_begun = false;
        }
        if (!has_row)
            break;
        if (!is_begun)
            chunk = (struct chunk){.idx = id / STO_BLOCK_IDS,
                                   .first_seq = (uint64_t)sqlite3_column_int64(c->list_stmt, 1)};
        is_begun = true;
        count = (uint64_t)sqlite3_column_int64(c->list_stmt, 2);
        chunk.count += count;
        chunk.print += count * (kind + 1) * (kind + 7);
    }
    return st;
}

enum vs_status sto_chunks_open(const struct sto_db *db, struct sto_chunks **out,
                               struct vs_error *err)
{
    struct sto_chunks *c = vs_calloc(1, sizeof(*c));
    enum vs_status st;

    *out = NULL;
    c->db = db;
    c->codec = sto_codec_new();
    c->bytes = vs_arena_new();
    c->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->events));
    c->is_filled = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->is_filled));
    st =
        sto_db_prepare(db, "SELECT id, first_seq, count FROM event_block WHERE id >= ? ORDER BY id",
                       &c->list_stmt, err);
    if (!st)
        st = sto_db_prepare(
            db, "SELECT id, count FROM event_block WHERE id BETWEEN ? AND ? ORDER BY id",
            &c->block_stmt, err);
    if (!st)
        st = sto_db_prepare(
            db,
            "SELECT id, base, step, unit, width, dict_width, codes, dict, data FROM event_column "
            "WHERE id BETWEEN ? AND ?",
            &c->column_stmt, err);
    if (!st)
        st = list_load(c, err);
    c->current = SIZE_MAX;
    if (!st) {
        *out = c;
        c = NULL; /* handed over */
    }
    sto_chunks_close(c);
    return st;
}

void sto_chunks_close(struct sto_chunks *c)
{
    if (!c)
        return;
    sqlite3_finalize(c->list_stmt);
    sqlite3_finalize(c->block_stmt);
    sqlite3_finalize(c->column_stmt);
    sto_codec_free(c->codec);
    vs_arena_free(c->bytes);
    vs_free(c->list);
    vs_free(c->events);
    vs_free(c->is_filled);
    vs_free(c);
}

uint64_t sto_chunks_event_count(const struct sto_chunks *c)
{
    const struct chunk *last;

    if (c->list_count == 0)
        return 0;
    last = &c->list[c->list_count - 1];
    return last->first_seq + last->count - 1;
}

enum vs_status sto_chunks_refresh(struct sto_chunks *c, struct vs_error *err)
{
    /* the last chunk may have grown */
    if (c->list_count && c->current >= c->list_count - 1)
        c->current = SIZE_MAX;
    if (c->list_count)
        c->list_count--;
    return list_load(c, err);
}

uint64_t sto_chunks_fingerprint(const struct sto_chunks *c)
{
    uint64_t print = 0;

    for (size_t i = 0; i < c->list_count; i++)
        print = (print ^ c->list[i].count ^ c->list[i].print << 20) * UINT64_C(0x9E3779B97F4A7C15) +
                (print >> 29);
    return print;
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

/*
 * Fill a column from the current row of column_stmt. Its bytes are copied to `bytes`, because the row is only valid
 * until the next step.
 */
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

/*
 * Read the columns of the block with id `block_id` into `block`. In a damaged file the query may return unexpected
 * rows.
 */
static enum vs_status columns_load(struct sto_chunks *c, sqlite3_int64 block_id, uint32_t fields,
                                   struct sto_block *block, struct vs_error *err)
{
    sqlite3_stmt *stmt = c->column_stmt;
    sqlite3_int64 field;
    bool has_row = true;
    enum vs_status st = VS_OK;

    sqlite3_bind_int64(stmt, 1, block_id * STO_COLUMN_IDS);
    sqlite3_bind_int64(stmt, 2, block_id * STO_COLUMN_IDS + STO_FIELD_COUNT - 1);
    while (!st) {
        st = sto_db_row(c->db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        field = sqlite3_column_int64(stmt, 0) - block_id * STO_COLUMN_IDS;
        if (field < 0 || field >= STO_FIELD_COUNT)
            st = vs_fail(err, VS_E_DAMAGED,
                         "%s: the trace is damaged: block %lld cannot be decoded; record it again",
                         c->db->path, (long long)block_id);
        else if (fields >> field & 1)
            column_take(stmt, c->bytes, &block->columns[field]);
    }
    sqlite3_reset(stmt);
    return st;
}

/* Read the blocks of a chunk as they are in the file now. *event_count is their total number of events. */
static enum vs_status blocks_load(struct sto_chunks *c, const struct chunk *chunk,
                                  struct sto_block *blocks, size_t *block_count,
                                  uint64_t *event_count, struct vs_error *err)
{
    sqlite3_stmt *stmt = c->block_stmt;
    sqlite3_int64 first_id = (sqlite3_int64)chunk->idx * STO_BLOCK_IDS;
    sqlite3_int64 next_id = first_id;
    bool has_row = true;
    enum vs_status st = VS_OK;

    *block_count = 0;
    *event_count = 0;
    sqlite3_bind_int64(stmt, 1, first_id);
    sqlite3_bind_int64(stmt, 2, first_id + VS_EVENT_KIND_COUNT - 1);
    while (!st) {
        sqlite3_int64 id;
        sqlite3_int64 count;

        st = sto_db_row(c->db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        id = sqlite3_column_int64(stmt, 0);
        count = sqlite3_column_int64(stmt, 1);
        if (id < next_id || id >= first_id + VS_EVENT_KIND_COUNT) {
            st = fail_damaged(c, chunk->first_seq, "a block is not where it belongs", err);
            break;
        }
        if (count < 1 || count > STO_CHUNK_EVENTS_MAX) {
            st = fail_damaged(c, chunk->first_seq, "a block of no possible length", err);
            break;
        }
        next_id = id + 1;
        blocks[*block_count] =
            (struct sto_block){.kind = (uint32_t)(id - first_id), .count = (uint32_t)count};
        st = columns_load(c, id, ALL_FIELDS, &blocks[*block_count], err);
        ++*block_count;
        *event_count += (uint64_t)count;
    }
    sqlite3_reset(stmt);
    return st;
}

/*
 * Decode chunk number `at` of the list.
 *
 * whole     where to decode its events to, if the caller wants all of them, with space for the listed count; *in_place
 *           is true if they were decoded there
 *           NULL, or the chunk has grown in the file: the events are kept in c->events for later requests
 */
static enum vs_status chunk_decode(struct sto_chunks *c, size_t at, struct vs_event *whole,
                                   bool *in_place, struct vs_error *err)
{
    struct sto_block blocks[VS_EVENT_KIND_COUNT];
    const struct chunk *chunk = &c->list[at];
    struct vs_event *events;
    size_t block_count;
    uint64_t count;
    enum vs_status st;

    vs_arena_clear(c->bytes);
    st = sto_db_exec(c->db, "BEGIN", err);
    if (st)
        return st;
    st = blocks_load(c, chunk, blocks, &block_count, &count, err);
    if (st) {
        sqlite3_exec(c->db->handle, "ROLLBACK", NULL, NULL,
                     NULL); /* report the first failure, not this one */
        return st;
    }
    st = sto_db_exec(c->db, "COMMIT", err);
    if (st)
        return st;
    if (count < chunk->count || count > STO_CHUNK_EVENTS_MAX)
        return fail_damaged(c, chunk->first_seq, "events are missing", err);
    *in_place = whole && count == chunk->count;
    events = *in_place ? whole : c->events;
    if (!*in_place)
        c->current = SIZE_MAX;
    memset(c->is_filled, 0, (size_t)count * sizeof(*c->is_filled));
    for (size_t i = 0; i < block_count; i++)
        if (!sto_codec_decode(c->codec, &blocks[i], events, c->is_filled, (size_t)count))
            return fail_damaged(c, chunk->first_seq, "a block cannot be decoded", err);
    if (!*in_place)
        c->current = at;
    return VS_OK;
}

/* Index in the list of the chunk that contains event `seq`. */
static size_t chunk_find(const struct sto_chunks *c, uint64_t seq)
{
    size_t low = 0;
    size_t high = c->list_count;

    if (c->current < c->list_count && seq >= c->list[c->current].first_seq &&
        seq - c->list[c->current].first_seq < c->list[c->current].count)
        return c->current;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (c->list[middle].first_seq <= seq)
            low = middle;
        else
            high = middle;
    }
    return low;
}

enum vs_status sto_chunks_read(struct sto_chunks *c, uint64_t first_seq, size_t count,
                               struct vs_event *out, struct vs_error *err)
{
    uint64_t total = sto_chunks_event_count(c);

    VS_ASSERT(first_seq >= 1 && first_seq <= total + 1 && count <= total + 1 - first_seq);
    while (count > 0) {
        size_t at = chunk_find(c, first_seq);
        uint64_t offset = first_seq - c->list[at].first_seq;
        uint64_t take = c->list[at].count - offset;

        bool in_place = false;

        if (at != c->current) {
            struct vs_event *whole = take <= count && !offset ? out : NULL;
            enum vs_status st = chunk_decode(c, at, whole, &in_place, err);

            if (st)
                return st;
        }
        take = take < count ? take : count;
        if (!in_place)
            memcpy(out, c->events + offset, (size_t)take * sizeof(*out));
        out += take;
        first_seq += take;
        count -= (size_t)take;
    }
    return VS_OK;
}

/* Read some fields of one block as they are in the file now. */
static enum vs_status block_load(struct sto_chunks *c, int64_t block_id, uint32_t fields,
                                 struct sto_block *block, struct vs_error *err)
{
    sqlite3_stmt *stmt = c->block_stmt;
    bool has_row = false;
    sqlite3_int64 count = 0;
    enum vs_status st;

    sqlite3_bind_int64(stmt, 1, block_id);
    sqlite3_bind_int64(stmt, 2, block_id);
    st = sto_db_row(c->db, stmt, &has_row, err);
    if (!st && has_row)
        count = sqlite3_column_int64(stmt, 1);
    sqlite3_reset(stmt);
    if (st)
        return st;
    block->count = count < 1 || count > STO_CHUNK_EVENTS_MAX ? 0 : (uint32_t)count;
    return columns_load(c, block_id, fields, block, err);
}

enum vs_status sto_chunks_block_read(struct sto_chunks *c, int64_t block_id, size_t count,
                                     struct vs_event *out, struct vs_error *err)
{
    struct sto_block block = {.kind = (uint32_t)(block_id % STO_BLOCK_IDS)};
    enum vs_status st;

    VS_ASSERT(count <= STO_CHUNK_EVENTS_MAX);
    vs_arena_clear(c->bytes);
    /*
     * a savepoint, because a running recorder may rewrite the block between two statements, and the caller may be in a
     * transaction
     */
    st = sto_db_exec(c->db, "SAVEPOINT block", err);
    if (st)
        return st;
    st = block_load(c, block_id, ALL_FIELDS, &block, err);
    if (st) {
        sqlite3_exec(c->db->handle, "RELEASE block", NULL, NULL,
                     NULL); /* report the first failure, not this one */
        return st;
    }
    st = sto_db_exec(c->db, "RELEASE block", err);
    if (st)
        return st;
    memset(c->is_filled, 0, block.count * sizeof(*c->is_filled));
    if (block.count < count || !sto_codec_decode(c->codec, &block, out, c->is_filled, block.count))
        return vs_fail(err, VS_E_DAMAGED,
                       "%s: the trace is damaged: block %lld cannot be decoded; record it again",
                       c->db->path, (long long)block_id);
    return VS_OK;
}

int64_t sto_chunks_block_of(const struct sto_chunks *c, uint64_t seq)
{
    if (seq < 1 || seq > sto_chunks_event_count(c))
        return -1;
    return (int64_t)(c->list[chunk_find(c, seq)].idx * STO_BLOCK_IDS);
}

enum vs_status sto_chunks_block_fields(struct sto_chunks *c, int64_t block_id, uint32_t fields,
                                       struct vs_event *out, bool *is_filled, struct vs_error *err)
{
    struct sto_block block = {.kind = (uint32_t)(block_id % STO_BLOCK_IDS)};
    enum vs_status st;

    vs_arena_clear(c->bytes);
    st = block_load(c, block_id, fields | BASE_FIELDS, &block, err);
    if (st)
        return st;
    memset(is_filled, 0, STO_CHUNK_EVENTS_MAX * sizeof(*is_filled));
    if (!block.count || !sto_codec_decode(c->codec, &block, out, is_filled, STO_CHUNK_EVENTS_MAX))
        return vs_fail(err, VS_E_DAMAGED,
                       "%s: the trace is damaged: block %lld cannot be decoded; record it again",
                       c->db->path, (long long)block_id);
    return VS_OK;
}
