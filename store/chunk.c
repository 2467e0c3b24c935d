/*
 * store/chunk.c - see chunk_internal.h.
 *
 * Must not know:  strings, locations, the meaning of tensor records.
 * Invariant:      events are only returned from a chunk that decoded completely: each of its events exactly once.
 */
#include "store/chunk_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "store/codec/codec.h"

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
    struct sto_loader *loader;
    struct chunk *list;
    size_t list_count;
    size_t list_cap;
    size_t current;
    struct vs_event *events;
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
    const uint64_t next = c->list_count ? c->list[c->list_count - 1].idx + 1 : 0;
    struct chunk chunk = {.count = 0};
    bool is_begun = false;
    bool has_row = true;
    enum vs_status st = VS_OK;

    sqlite3_bind_int64(c->list_stmt, 1, (sqlite3_int64)(next * STO_BLOCK_IDS));
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
    sqlite3_reset(c->list_stmt); /* after a failure it would keep a transaction open */
    return st;
}

/* ---- the list as a part of `derived` ---- */

/*
 * A packed list: LIST_VERSION, the rows of event_block, the chunks, and of each its number's distance, count, print;
 * behind them a hash of all these bytes.
 */
#define LIST_VERSION 2
#define LIST_NUMBER_BYTES 10

static void number_put(uint8_t **at, uint64_t n)
{
    for (; n > 0x7f; n >>= 7)
        *(*at)++ = (uint8_t)(n | 0x80);
    *(*at)++ = (uint8_t)n;
}

/* False: the bytes end before. */
static bool number_take(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

enum vs_status sto_chunks_pack(const struct sto_chunks *c, uint8_t **bytes, size_t *len,
                               struct vs_error *err)
{
    sqlite3_int64 rows = 0;
    uint64_t next = 0;
    uint8_t *at;
    enum vs_status st = sto_db_number(c->db, "SELECT count(*) FROM event_block", &rows, err);

    if (st)
        return st;
    at = *bytes = vs_alloc((4 + 3 * c->list_count) * LIST_NUMBER_BYTES);
    number_put(&at, LIST_VERSION);
    number_put(&at, (uint64_t)rows);
    number_put(&at, c->list_count);
    for (size_t i = 0; i < c->list_count; i++) {
        number_put(&at, c->list[i].idx - next);
        number_put(&at, c->list[i].count);
        number_put(&at, c->list[i].print);
        next = c->list[i].idx + 1;
    }
    number_put(&at, vs_hash_bytes(*bytes, (size_t)(at - *bytes)));
    *len = (size_t)(at - *bytes);
    return VS_OK;
}

/* Take a packed list. False: it is of other rows, of another version, or damaged. */
static bool list_unpack(struct sto_chunks *c, const uint8_t *at, size_t len, uint64_t rows)
{
    const uint8_t *begin = at;
    const uint8_t *end = at + len;
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t hash = 0;
    uint64_t hashed;
    uint64_t version = 0;
    uint64_t listed = 0;
    uint64_t count = 0;
    uint64_t next = 0;

    if (!number_take(&at, end, &version) || version != LIST_VERSION ||
        !number_take(&at, end, &listed) || listed != rows || !number_take(&at, end, &count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct chunk chunk = {.first_seq = sto_chunks_event_count(c) + 1};

        if (!number_take(&at, end, &chunk.idx) || !number_take(&at, end, &chunk.count) ||
            !number_take(&at, end, &chunk.print) ||
            chunk.idx >= INT64_MAX / STO_BLOCK_IDS - 1 - next)
            return false;
        chunk.idx += next;
        next = chunk.idx + 1;
        if (list_add(c, &chunk, &ignored))
            return false;
    }
    hashed = vs_hash_bytes(begin, (size_t)(at - begin));
    return number_take(&at, end, &hash) && hash == hashed && at == end;
}

/* Take a packed list, if it is of the rows that the file has. In a transaction. */
static enum vs_status list_take(struct sto_chunks *c, const uint8_t *list, size_t len,
                                struct vs_error *err)
{
    sqlite3_int64 rows = 0;
    enum vs_status st = sto_db_number(c->db, "SELECT count(*) FROM event_block", &rows, err);

    if (!st && !list_unpack(c, list, len, (uint64_t)rows))
        c->list_count = 0;
    return st;
}

enum vs_status sto_chunks_open(const struct sto_db *db, const uint8_t *list, size_t len,
                               struct sto_chunks **out, struct vs_error *err)
{
    struct sto_chunks *c = vs_calloc(1, sizeof(*c));
    enum vs_status st;

    *out = NULL;
    c->db = db;
    c->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*c->events));
    st =
        sto_db_prepare(db, "SELECT id, first_seq, count FROM event_block WHERE id >= ? ORDER BY id",
                       &c->list_stmt, err);
    if (!st)
        st = sto_loader_open(db, &c->loader, err);
    if (!st && list)
        st = list_take(c, list, len, err);
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
    sto_loader_close(c->loader);
    vs_free(c->list);
    vs_free(c->events);
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
    const struct chunk *chunk = &c->list[at];
    size_t count = 0;
    enum vs_status st =
        sto_loader_read(c->loader, (int64_t)(chunk->idx * STO_BLOCK_IDS), &count, err);

    if (st)
        return st;
    if (count < chunk->count)
        return fail_damaged(c, chunk->first_seq, "events are missing", err);
    *in_place = whole && count == chunk->count;
    if (*in_place)
        return sto_loader_events(c->loader, whole, err);
    c->current = SIZE_MAX;
    st = sto_loader_events(c->loader, c->events, err);
    if (!st)
        c->current = at;
    return st;
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

enum vs_status sto_chunks_block_read(struct sto_chunks *c, int64_t id, struct vs_event *out,
                                     size_t *count, struct vs_error *err)
{
    enum vs_status st = sto_loader_read(c->loader, id, count, err);

    return st ? st : sto_loader_events(c->loader, out, err);
}

int64_t sto_chunks_block_of(const struct sto_chunks *c, uint64_t seq)
{
    if (seq < 1 || seq > sto_chunks_event_count(c))
        return -1;
    return (int64_t)(c->list[chunk_find(c, seq)].idx * STO_BLOCK_IDS);
}
