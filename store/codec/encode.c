/*
 * store/codec/encode.c - encodes a chunk: matches, literals, times.
 *
 * For:            see store/codec/codec.h.
 * Must not know:  SQLite, files.
 * Invariant:      an event is part of a match only if sto_predict() gives exactly this event, but for a patch.
 */
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/codec/codec_internal.h"
#include "store/codec/keys_internal.h"

/* A shorter match would take more bytes than the literals. */
#define MATCH_MIN 4
/* A match that goes on for so long after a literal needs no comparison with others. */
#define MATCH_LONG 32
/* zstd's level: higher ones take several times as long, for a few percent. */
#define ZSTD_LEVEL 1
/* A chunk of which a greater part are literals becomes a reference itself. */
#define KEY_LITERALS 8

/*
 * Where a step began, for the limit of ids that outlive a step.
 *
 * newest  the newest ids before the next event
 * step    those before the present step; before  those before the step before it
 */
struct progress {
    struct sto_newest newest;
    struct sto_newest step;
    struct sto_newest before;
};

/*
 * progress   before the first event of the chunk
 * newest     the newest ids before each event of the chunk
 * own        finds positions of the chunk
 * matches, patches, kinds, literals, times  the columns of the chunk; patch_end: the event behind the last patch
 * is_matched  which of its events are in a match
 * plain, bytes  the columns as bytes, and compressed
 */
struct sto_encoder {
    ZSTD_CCtx *zstd;
    struct sto_keys *keys;
    struct progress progress;
    struct sto_newest *newest;
    struct sto_finder own;
    uint64_t *matches[STO_MATCH_COLUMNS];
    size_t match_count;
    uint64_t *patches[STO_PATCH_COLUMNS];
    size_t patch_count;
    size_t patch_end;
    uint32_t *literal_at;
    size_t literal_count;
    uint64_t *kinds;
    uint64_t *literals[STO_LITERAL_COLUMNS];
    uint64_t *times;
    uint8_t *plain;
    size_t plain_len;
    uint8_t *bytes;
    size_t bytes_max;
};

static uint64_t *column_new(void)
{
    return vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(uint64_t));
}

struct sto_encoder *sto_encoder_new(void)
{
    struct sto_encoder *e = vs_calloc(1, sizeof(*e));

    e->zstd = ZSTD_createCCtx();
    if (!e->zstd ||
        ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_checksumFlag, 1)))
        vs_die("out of memory");
    e->keys = sto_keys_new();
    e->newest = vs_alloc((STO_CHUNK_EVENTS_MAX + 1) * sizeof(*e->newest));
    for (int i = 0; i < STO_MATCH_COLUMNS; i++)
        e->matches[i] = column_new();
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        e->patches[i] = column_new();
    e->literal_at = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*e->literal_at));
    e->kinds = column_new();
    for (int i = 0; i < STO_LITERAL_COLUMNS; i++)
        e->literals[i] = column_new();
    e->times = column_new();
    e->plain = vs_alloc(STO_PLAIN_BYTES_MAX);
    e->bytes_max = ZSTD_compressBound(STO_PLAIN_BYTES_MAX);
    e->bytes = vs_alloc(e->bytes_max);
    return e;
}

void sto_encoder_free(struct sto_encoder *e)
{
    if (!e)
        return;
    ZSTD_freeCCtx(e->zstd);
    sto_keys_free(e->keys);
    vs_free(e->newest);
    for (int i = 0; i < STO_MATCH_COLUMNS; i++)
        vs_free(e->matches[i]);
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        vs_free(e->patches[i]);
    vs_free(e->literal_at);
    vs_free(e->kinds);
    for (int i = 0; i < STO_LITERAL_COLUMNS; i++)
        vs_free(e->literals[i]);
    vs_free(e->times);
    vs_free(e->plain);
    vs_free(e->bytes);
    vs_free(e);
}

/* ---- newest ids ---- */

static void id_see(struct sto_newest *newest, unsigned ids, uint64_t id)
{
    if (id > newest->id[ids])
        newest->id[ids] = id;
}

static void event_see(struct sto_newest *newest, const struct vs_event *event)
{
    const struct sto_kind_ids ids = sto_kind_ids[event->kind];

    id_see(newest, ids.a, event->raw.a);
    id_see(newest, ids.b, event->raw.b);
    id_see(newest, ids.c, event->raw.c);
    id_see(newest, ids.e, event->raw.e);
}

static void progress_pass(struct progress *p, const struct vs_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == VS_EV_STEP) {
            p->before = p->step;
            p->step = p->newest;
        }
        event_see(&p->newest, &events[i]);
    }
}

/* ---- matches ---- */

/* A match that could be made: len 0: none. */
struct match {
    uint64_t from;
    size_t len;
    struct sto_shifts shifts;
};

/* A chunk being encoded. */
struct chunk {
    const struct vs_event *events;
    size_t count;
    const struct sto_key *key; /* NULL: no reference */
    size_t key_count;
    struct sto_newest limits;
};

/* Whether the event follows from `from`, or is a patch of what follows. */
static bool is_predicted(const struct sto_shifts *shifts, const struct vs_event *from,
                         const struct vs_event *event)
{
    const struct sto_kind_ids ids = sto_kind_ids[from->kind];
    const uint64_t c = sto_id_predict(shifts, ids.c, from->raw.c);

    return from->location == event->location && from->kind == event->kind &&
           sto_id_predict(shifts, ids.a, from->raw.a) == event->raw.a &&
           sto_id_predict(shifts, ids.b, from->raw.b) == event->raw.b &&
           (uint32_t)sto_id_predict(shifts, ids.e, from->raw.e) == event->raw.e &&
           from->raw.aux == event->raw.aux &&
           ((c == event->raw.c && from->raw.d == event->raw.d) || sto_may_patch(event->kind));
}

/* How many events from `at` on follow from those from `from` on. */
static size_t match_len(const struct chunk *chunk, size_t at, uint64_t from,
                        const struct sto_shifts *shifts)
{
    const struct vs_event *source;
    size_t max = chunk->count - at;
    size_t len = 0;

    if (from < chunk->key_count) {
        source = chunk->key->events + from;
        if (max > chunk->key_count - from)
            max = (size_t)(chunk->key_count - from);
    } else {
        source = chunk->events + (from - chunk->key_count);
    }
    while (len < max && is_predicted(shifts, &source[len], &chunk->events[at + len]))
        len++;
    return len;
}

/* The match of the events from `at` on with those from `from` on, if it is longer than *best. */
static void match_try(const struct sto_encoder *e, const struct chunk *chunk, size_t at,
                      uint64_t from, struct match *best)
{
    const struct sto_newest *then =
        from < chunk->key_count ? &chunk->key->newest[from] : &e->newest[from - chunk->key_count];
    struct match match = {.from = from};

    for (int ids = STO_IDS_BLOCK; ids < STO_IDS_COUNT; ids++) {
        match.shifts.limit[ids] = chunk->limits.id[ids];
        match.shifts.shift[ids] = e->newest[at].id[ids] - then->id[ids];
    }
    match.len = match_len(chunk, at, from, &match.shifts);
    if (match.len > best->len)
        *best = match;
}

/* The best match of the events from `at` on. `last` is the match before, which ended at `last_end`. */
static struct match match_find(const struct sto_encoder *e, const struct chunk *chunk, size_t at,
                               const struct match *last, size_t last_end)
{
    struct match best = {.len = 0};
    uint64_t from = last->from + last->len + (at - last_end);
    size_t position;

    /* most literals are single events between two parts of one match; what follows an own match is before `at` */
    if (last->len && from != last->from + last->len &&
        (from < chunk->key_count || last->from >= chunk->key_count)) {
        best = *last;
        best.from = from;
        best.len = match_len(chunk, at, from, &best.shifts);
        if (best.len < MATCH_LONG)
            match_try(e, chunk, at, from, &best);
    }
    if (best.len >= MATCH_LONG)
        return best;
    if (sto_finder_get(&e->own, chunk->events, chunk->count, at, &position))
        match_try(e, chunk, at, chunk->key_count + position, &best);
    if (chunk->key &&
        sto_finder_get(&chunk->key->finder, chunk->events, chunk->count, at, &position))
        match_try(e, chunk, at, position, &best);
    return best;
}

/* Write the match at event `at`; `last` is the one before, which ended at `last_end`. */
static void match_put(struct sto_encoder *e, const struct match *match, size_t at,
                      const struct match *last, size_t last_end)
{
    size_t m = e->match_count++;

    e->matches[STO_MATCH_LITERALS][m] = at - last_end;
    e->matches[STO_MATCH_LEN][m] = match->len;
    e->matches[STO_MATCH_FROM][m] =
        sto_zigzag(match->from - (last->from + last->len + (at - last_end)));
    for (int ids = STO_IDS_BLOCK; ids < STO_IDS_COUNT; ids++)
        e->matches[STO_MATCH_SHIFTS + ids - STO_IDS_BLOCK][m] =
            sto_zigzag(match->shifts.shift[ids] - last->shifts.shift[ids]);
}

/* Write the patches of the match at event `at`. */
static void patches_put(struct sto_encoder *e, const struct chunk *chunk, const struct match *match,
                        size_t at)
{
    const struct vs_event *from = match->from < chunk->key_count
                                      ? &chunk->key->events[match->from]
                                      : &chunk->events[match->from - chunk->key_count];
    const struct vs_event *events = &chunk->events[at];

    for (size_t i = 0; i < match->len; i++) {
        size_t p = e->patch_count;

        if (!sto_may_patch(events[i].kind) ||
            (events[i].raw.c == from[i].raw.c && events[i].raw.d == from[i].raw.d))
            continue;
        e->patches[STO_PATCH_BEFORE][p] = at + i - e->patch_end;
        e->patches[STO_PATCH_BLOCK_BYTES][p] = sto_zigzag(events[i].raw.c - from[i].raw.c);
        e->patches[STO_PATCH_ADDRESS][p] = sto_zigzag(events[i].raw.d - from[i].raw.d);
        e->patch_end = at + i + 1;
        e->patch_count++;
    }
}

/* The newest ids at the events of a match, and behind it, are those at the matched events, increased. */
static void match_pass(struct sto_encoder *e, const struct chunk *chunk, const struct match *match,
                       size_t at)
{
    const struct sto_newest *from = match->from < chunk->key_count
                                        ? &chunk->key->newest[match->from]
                                        : &e->newest[match->from - chunk->key_count];
    struct sto_newest shift;

    for (int ids = 0; ids < STO_IDS_COUNT; ids++)
        shift.id[ids] = e->newest[at].id[ids] - from->id[ids];
    for (size_t i = 1; i <= match->len; i++)
        for (int ids = 0; ids < STO_IDS_COUNT; ids++)
            e->newest[at + i].id[ids] = from[i].id[ids] + shift.id[ids];
}

/* Divide the chunk into matches and literals. */
static void matches_find(struct sto_encoder *e, const struct chunk *chunk)
{
    struct match last = {.len = 0};
    size_t last_end = 0;
    size_t at = 0;

    e->match_count = 0;
    e->patch_count = 0;
    e->patch_end = 0;
    e->literal_count = 0;
    e->newest[0] = e->progress.newest;
    sto_finder_clear(&e->own);
    while (at < chunk->count) {
        struct match match = match_find(e, chunk, at, &last, last_end);

        if (match.len >= MATCH_MIN) {
            match_put(e, &match, at, &last, last_end);
            patches_put(e, chunk, &match, at);
            match_pass(e, chunk, &match, at);
            at += match.len;
            last = match;
            last_end = at;
            continue;
        }
        e->literal_at[e->literal_count++] = (uint32_t)at;
        sto_finder_put(&e->own, chunk->events, chunk->count, at, true);
        e->newest[at + 1] = e->newest[at];
        event_see(&e->newest[at + 1], &chunk->events[at]);
        at++;
    }
}

/* ---- literals ---- */

static uint64_t field_put(struct sto_newest *newest, unsigned ids, uint64_t last, uint64_t value)
{
    uint64_t back;

    if (ids == STO_IDS_NONE)
        return sto_zigzag(value - last);
    back = sto_zigzag(newest->id[ids] - value);
    id_see(newest, ids, value);
    return back;
}

/* Fill the columns of the literals: grouped by kind, in each kind in order. The opposite of literal_take(). */
static void literals_put(struct sto_encoder *e, const struct chunk *chunk)
{
    struct vs_event last[STO_BLOCK_IDS];
    size_t next[STO_BLOCK_IDS + 1] = {0};
    struct sto_newest newest = {{0}};

    memset(last, 0, sizeof(last));
    for (size_t i = 0; i < e->literal_count; i++) {
        e->kinds[i] = chunk->events[e->literal_at[i]].kind;
        next[e->kinds[i] + 1]++;
    }
    for (size_t kind = 0; kind < STO_BLOCK_IDS; kind++)
        next[kind + 1] += next[kind];
    for (size_t i = 0; i < e->literal_count; i++) {
        const struct vs_event *event = &chunk->events[e->literal_at[i]];
        const struct sto_kind_ids ids = sto_kind_ids[event->kind];
        const struct vs_event *before = &last[event->kind];
        size_t at = next[event->kind]++;

        e->literals[STO_LITERAL_LOCATION][at] =
            sto_zigzag((uint64_t)event->location - before->location);
        e->literals[STO_LITERAL_A][at] = field_put(&newest, ids.a, before->raw.a, event->raw.a);
        e->literals[STO_LITERAL_B][at] = field_put(&newest, ids.b, before->raw.b, event->raw.b);
        e->literals[STO_LITERAL_C][at] = field_put(&newest, ids.c, before->raw.c, event->raw.c);
        e->literals[STO_LITERAL_D][at] = sto_zigzag(event->raw.d - before->raw.d);
        e->literals[STO_LITERAL_E][at] = field_put(&newest, ids.e, before->raw.e, event->raw.e);
        e->literals[STO_LITERAL_AUX][at] = event->raw.aux;
        last[event->kind] = *event;
    }
}

/* ---- columns ---- */

static void column_put(struct sto_encoder *e, const uint64_t *restrict column, size_t count)
{
    uint8_t *restrict out = e->plain + e->plain_len + 1;
    uint64_t bits = 0;
    size_t width = 0;

    for (size_t i = 0; i < count; i++)
        bits |= column[i];
    while (width < STO_COLUMN_WIDTH_MAX && bits >> 8 * width)
        width++;
    out[-1] = (uint8_t)width;
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < count; i++)
            out[k * count + i] = (uint8_t)(column[i] >> 8 * k);
    e->plain_len += 1 + width * count;
}

/* Fill the column of times; *step is the smallest difference of two consecutive ones. */
static void times_put(struct sto_encoder *e, const struct chunk *chunk, uint64_t *step)
{
    int64_t least = INT64_MAX;

    for (size_t i = 1; i < chunk->count; i++) {
        e->times[i - 1] = chunk->events[i].time_ns - chunk->events[i - 1].time_ns;
        least = (int64_t)e->times[i - 1] < least ? (int64_t)e->times[i - 1] : least;
    }
    *step = chunk->count > 1 ? (uint64_t)least : 0;
    for (size_t i = 1; i < chunk->count; i++)
        e->times[i - 1] -= *step;
}

static void columns_put(struct sto_encoder *e, const struct chunk *chunk)
{
    uint64_t head[STO_HEAD_COUNT] = {[STO_HEAD_EVENTS] = chunk->count,
                                     [STO_HEAD_MATCHES] = e->match_count,
                                     [STO_HEAD_PATCHES] = e->patch_count,
                                     [STO_HEAD_TIME] = chunk->events[0].time_ns};

    times_put(e, chunk, &head[STO_HEAD_TIME_STEP]);
    for (int ids = STO_IDS_BLOCK; ids < STO_IDS_COUNT; ids++)
        head[STO_HEAD_LIMITS + ids - STO_IDS_BLOCK] = chunk->limits.id[ids];
    e->plain_len = 0;
    column_put(e, head, STO_HEAD_COUNT);
    for (int i = 0; i < STO_MATCH_COLUMNS; i++)
        column_put(e, e->matches[i], e->match_count);
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        column_put(e, e->patches[i], e->patch_count);
    column_put(e, e->kinds, e->literal_count);
    for (int i = 0; i < STO_LITERAL_COLUMNS; i++)
        column_put(e, e->literals[i], e->literal_count);
    column_put(e, e->times, chunk->count - 1);
}

/* ---- chunks ---- */

void sto_encoder_chunk(struct sto_encoder *e, const struct vs_event *events, size_t count,
                       int64_t id, bool is_complete, struct sto_encoded *out)
{
    struct chunk chunk = {.events = events, .count = count};
    struct sto_key *key;

    VS_ASSERT(count >= 1 && count <= STO_CHUNK_EVENTS_MAX);
    key = sto_keys_find(e->keys, events, count);
    chunk.key = key;
    chunk.key_count = key ? key->count : 0;
    chunk.limits = key ? key->limits : e->progress.before;
    matches_find(e, &chunk);
    if (is_complete && key && e->literal_count * KEY_LITERALS > count) {
        chunk = (struct chunk){.events = events, .count = count, .limits = e->progress.before};
        key = NULL;
        matches_find(e, &chunk);
    }
    literals_put(e, &chunk);
    columns_put(e, &chunk);
    out->reference = key ? key->id : STO_NO_REFERENCE;
    out->bytes = e->bytes;
    out->len = ZSTD_compress2(e->zstd, e->bytes, e->bytes_max, e->plain, e->plain_len);
    if (ZSTD_getErrorCode(out->len) == ZSTD_error_memory_allocation)
        vs_die("out of memory");
    VS_ASSERT(!ZSTD_isError(out->len));
    if (!is_complete)
        return;
    if (key)
        key->uses++;
    else
        sto_keys_add(e->keys, events, count, id, e->newest, &chunk.limits);
    progress_pass(&e->progress, events, count);
}
