/*
 * store/chunk.c - see chunk_internal.h.
 *
 * Must not know:  strings, locations, the meaning of tensor records.
 * Invariant:      events are only returned from a chunk that decoded, as far as it was wanted: each exactly once.
 */
#include "store/chunk_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "store/codec/codec.h"

/* A chunk: its number, first event and event count; count 0: none. */
struct chunk {
    uint64_t idx;
    uint64_t first_seq;
    uint64_t count;
};

/*
 * first_stmt    the first event of a chunk, by the id of its first block
 * blocks_stmt   the blocks of a chunk, likewise
 * last          the last chunk, as of the opening or the last refresh
 * found         the chunk that was looked up last
 * current       the chunk whose events are in `events`; count: so many of its first ones
 */
struct sto_chunks {
    const struct sto_db *db;
    sqlite3_stmt *first_stmt;
    sqlite3_stmt *blocks_stmt;
    struct sto_loader *loader;
    struct chunk last;
    struct chunk found;
    struct chunk current;
    struct vs_event *events;
};

static enum vs_status fail_damaged(const struct sto_chunks *c, uint64_t seq, const char *what,
                                   struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED,
                   "%s: the trace is damaged: %s at event %" PRIu64 "; record it again",
                   c->db->path, what, seq);
}

static bool is_within(const struct chunk *chunk, uint64_t seq)
{
    return seq >= chunk->first_seq && seq - chunk->first_seq < chunk->count;
}

/* ---- rows of event_block ---- */

/* Ids of the blocks of events of chunk `idx`: its tensors, if any, are block STO_KIND_TENSOR. */
static void chunk_bind(sqlite3_stmt *stmt, uint64_t idx)
{
    sqlite3_bind_int64(stmt, 1, (sqlite3_int64)(idx * STO_BLOCK_IDS));
    sqlite3_bind_int64(stmt, 2, (sqlite3_int64)(idx * STO_BLOCK_IDS + STO_KIND_TENSOR - 1));
}

/* The first event of chunk `idx`. `seq` is what messages name. */
static enum vs_status first_seq_read(const struct sto_chunks *c, uint64_t idx, uint64_t seq,
                                     uint64_t *out, struct vs_error *err)
{
    bool has_row = false;
    enum vs_status st;

    chunk_bind(c->first_stmt, idx);
    st = sto_db_row(c->db, c->first_stmt, &has_row, err);
    *out = has_row ? (uint64_t)sqlite3_column_int64(c->first_stmt, 0) : 0;
    sqlite3_reset(c->first_stmt); /* it would keep a transaction open */
    return st || has_row ? st : fail_damaged(c, seq, "a part is missing", err);
}

/* Count the events of the chunk; *print: a hash of the counts by kind. */
static enum vs_status count_read(const struct sto_chunks *c, struct chunk *chunk, uint64_t *print,
                                 struct vs_error *err)
{
    bool has_row = true;
    enum vs_status st = VS_OK;

    chunk->count = 0;
    *print = 0;
    chunk_bind(c->blocks_stmt, chunk->idx);
    while (!st && has_row) {
        st = sto_db_row(c->db, c->blocks_stmt, &has_row, err);
        if (!st && has_row) {
            const uint64_t kind = (uint64_t)sqlite3_column_int64(c->blocks_stmt, 0) % STO_BLOCK_IDS;
            const uint64_t count = (uint64_t)sqlite3_column_int64(c->blocks_stmt, 1);

            chunk->count += count;
            *print += count * (kind + 1) * (kind + 7);
        }
    }
    sqlite3_reset(c->blocks_stmt);
    if (!st && (chunk->count < 1 || chunk->count > STO_CHUNK_EVENTS_MAX))
        st = fail_damaged(c, chunk->first_seq, "a part is missing", err);
    return st;
}

/* Find the last chunk; last.count 0: there is none. */
static enum vs_status last_find(struct sto_chunks *c, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    bool has_row = false;
    uint64_t print;
    enum vs_status st =
        sto_db_prepare(c->db,
                       "SELECT id / 64, first_seq FROM event_block WHERE id % 64 <> "
                       "63 ORDER BY id DESC LIMIT 1",
                       &stmt, err);

    c->last = c->found = (struct chunk){.count = 0};
    if (!st)
        st = sto_db_row(c->db, stmt, &has_row, err);
    if (!st && has_row) {
        c->last.idx = (uint64_t)sqlite3_column_int64(stmt, 0);
        c->last.first_seq = (uint64_t)sqlite3_column_int64(stmt, 1);
        /* a chunk before it has an event at least, STO_CHUNK_EVENTS_MAX at most */
        if (c->last.first_seq - 1 < c->last.idx ||
            (c->last.first_seq - 1) / STO_CHUNK_EVENTS_MAX > c->last.idx)
            st = fail_damaged(c, c->last.first_seq, "a part is missing", err);
    }
    sqlite3_finalize(stmt);
    return st || !has_row ? st : count_read(c, &c->last, &print, err);
}

/*
 * Find the chunk of event `seq`, which the trace has: c->found. Chunks are numbered from 0 without gaps and in the
 * order of their events, so it is between two numbers that get closer.
 */
static enum vs_status chunk_find(struct sto_chunks *c, uint64_t seq, struct vs_error *err)
{
    struct chunk low = {.first_seq = 1};
    uint64_t high = c->last.idx + 1;
    uint64_t print;
    enum vs_status st;

    if (is_within(&c->found, seq))
        return VS_OK;
    if (seq >= c->last.first_seq) {
        c->found = c->last;
        return VS_OK;
    }
    /* the chunk behind the one before: events are mostly read in their order */
    if (c->found.count && seq == c->found.first_seq + c->found.count)
        low = (struct chunk){.idx = c->found.idx + 1, .first_seq = seq}, high = low.idx + 1;
    c->found.count = 0;
    while (high - low.idx > 1) {
        struct chunk middle = {.idx = low.idx + (high - low.idx) / 2};

        st = first_seq_read(c, middle.idx, seq, &middle.first_seq, err);
        if (st)
            return st;
        if (middle.first_seq <= seq)
            low = middle;
        else
            high = middle.idx;
    }
    st = first_seq_read(c, low.idx, seq, &low.first_seq, err);
    if (!st)
        st = count_read(c, &low, &print, err);
    if (!st && !is_within(&low, seq))
        st = fail_damaged(c, seq, "a part is missing", err);
    if (!st)
        c->found = low;
    return st;
}

/* ---- opening ---- */

/* Find the end of the events. A number of a chunk that is too high is noticed by looking for the first. */
static enum vs_status end_find(struct sto_chunks *c, struct vs_error *err)
{
    enum vs_status st = last_find(c, err);

    return st || !c->last.count ? st : chunk_find(c, 1, err);
}

enum vs_status sto_chunks_open(const struct sto_db *db, struct sto_chunks **out,
                               struct vs_error *err)
{
    struct sto_chunks *c = vs_calloc(1, sizeof(*c));
    enum vs_status st;

    *out = NULL;
    c->db = db;
    c->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->events));
    st = sto_db_prepare(db, "SELECT first_seq FROM event_block WHERE id BETWEEN ? AND ? LIMIT 1",
                        &c->first_stmt, err);
    if (!st)
        st = sto_db_prepare(db, "SELECT id, count FROM event_block WHERE id BETWEEN ? AND ?",
                            &c->blocks_stmt, err);
    if (!st)
        st = sto_loader_open(db, &c->loader, err);
    if (!st)
        st = end_find(c, err);
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
    sqlite3_finalize(c->first_stmt);
    sqlite3_finalize(c->blocks_stmt);
    sto_loader_close(c->loader);
    vs_free(c->events);
    vs_free(c);
}

uint64_t sto_chunks_event_count(const struct sto_chunks *c)
{
    return c->last.count ? c->last.first_seq + c->last.count - 1 : 0;
}

enum vs_status sto_chunks_refresh(struct sto_chunks *c, struct vs_error *err)
{
    /* the last chunk may have grown */
    if (c->current.idx >= c->last.idx)
        c->current.count = 0;
    return end_find(c, err);
}

/* So many chunks tell the events of a trace from those of another. */
#define PRINT_CHUNKS 16

uint64_t sto_chunks_fingerprint(const struct sto_chunks *c)
{
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t print = vs_hash_mix(sto_chunks_event_count(c), c->last.idx);

    for (uint64_t i = 0; i < PRINT_CHUNKS && c->last.count; i++) {
        struct chunk chunk = {.idx = c->last.idx / (PRINT_CHUNKS - 1) * i +
                                     c->last.idx % (PRINT_CHUNKS - 1) * i / (PRINT_CHUNKS - 1)};
        uint64_t kinds = 0;

        if (first_seq_read(c, chunk.idx, 0, &chunk.first_seq, &ignored) ||
            count_read(c, &chunk, &kinds, &ignored))
            return 0;
        print = vs_hash_mix(vs_hash_mix(print, chunk.first_seq), kinds);
    }
    return print;
}

/*
 * Decode the chunk that was found.
 *
 * wanted    its first events that are needed
 * whole     where to decode its events to, if the caller wants all of them, with space for the counted ones; *in_place
 *           is true if they were decoded there
 *           NULL, or the chunk has grown in the file: the events are kept in c->events for later requests
 */
static enum vs_status chunk_decode(struct sto_chunks *c, size_t wanted, struct vs_event *whole,
                                   bool *in_place, struct vs_error *err)
{
    struct chunk chunk = c->found;
    size_t count = 0;
    enum vs_status st =
        sto_loader_read(c->loader, (int64_t)(chunk.idx * STO_BLOCK_IDS), &count, err);

    if (st)
        return st;
    if (count < chunk.count)
        return fail_damaged(c, chunk.first_seq, "events are missing", err);
    *in_place = whole && count == chunk.count;
    if (*in_place)
        return sto_loader_events(c->loader, whole, count, err);
    /* not once more for the events behind those that are there */
    if (c->current.count && c->current.idx == chunk.idx)
        wanted = (size_t)chunk.count;
    chunk.count = wanted;
    c->current.count = 0;
    st = sto_loader_events(c->loader, c->events, wanted, err);
    if (!st)
        c->current = chunk;
    return st;
}

/* So many of the chunk's first events are needed to have those from `first_seq` on, up to `count`. */
static size_t needed(const struct chunk *chunk, uint64_t first_seq, size_t count)
{
    const uint64_t offset = first_seq - chunk->first_seq;

    return (size_t)(chunk->count - offset < count ? chunk->count : offset + count);
}

enum vs_status sto_chunks_read(struct sto_chunks *c, uint64_t first_seq, size_t count,
                               struct vs_event *out, struct vs_error *err)
{
    /* the rest of a chunk is not needed, as far as can be seen; a caller that reads on will need it */
    const bool is_part = count < STO_CHUNK_EVENTS && !is_within(&c->current, first_seq - 1);
    uint64_t total = sto_chunks_event_count(c);

    VS_ASSERT(first_seq >= 1 && first_seq <= total + 1 && count <= total + 1 - first_seq);
    while (count > 0) {
        const struct chunk *chunk = &c->current;
        bool in_place = false;
        enum vs_status st = VS_OK;
        uint64_t offset;
        uint64_t take;

        if (!is_within(chunk, first_seq)) {
            chunk = &c->found;
            st = chunk_find(c, first_seq, err);
            if (!st)
                st = chunk_decode(
                    c, is_part ? needed(chunk, first_seq, count) : (size_t)chunk->count,
                    first_seq == chunk->first_seq && chunk->count <= count ? out : NULL, &in_place,
                    err);
            if (st)
                return st;
        }
        offset = first_seq - chunk->first_seq;
        take = chunk->count - offset < count ? chunk->count - offset : count;
        if (!in_place)
            memcpy(out, c->events + offset, (size_t)take * sizeof(*out));
        out += take;
        first_seq += take;
        count -= (size_t)take;
    }
    return VS_OK;
}

enum vs_status sto_chunks_block_read(struct sto_chunks *c, int64_t id, size_t wanted,
                                     struct vs_event *out, size_t *count, struct vs_error *err)
{
    enum vs_status st = sto_loader_read(c->loader, id, count, err);

    if (!st && *count > wanted)
        *count = wanted;
    return st ? st : sto_loader_events(c->loader, out, *count, err);
}

enum vs_status sto_chunks_block_of(struct sto_chunks *c, uint64_t seq, int64_t *out,
                                   struct vs_error *err)
{
    enum vs_status st;

    *out = -1;
    if (seq < 1 || seq > sto_chunks_event_count(c))
        return VS_OK;
    st = chunk_find(c, seq, err);
    if (!st)
        *out = (int64_t)(c->found.idx * STO_BLOCK_IDS);
    return st;
}
