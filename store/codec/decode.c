/*
 * store/codec/decode.c - decodes a chunk.
 *
 * For:            see store/codec/codec.h.
 * Must not know:  SQLite, files.
 * Invariant:      the bytes are not trusted: no column is read beyond their end, no event is taken from a position that
 *                 is not decoded yet.
 */
#include <assert.h>
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/codec/codec_internal.h"

static_assert(sizeof(struct vs_event) == 56, "a new member of struct vs_event needs a column here");
static_assert(VS_EVENT_KIND_COUNT <= STO_KIND_TENSOR && STO_KIND_TENSOR < STO_BLOCK_IDS,
              "block ids would collide");
static_assert(STO_CHUNK_EVENTS <= STO_CHUNK_EVENTS_MAX, "a chunk would be too long to read");

const struct sto_kind_ids sto_kind_ids[STO_BLOCK_IDS] = {
    [VS_EV_ALLOC] = {.a = STO_IDS_BLOCK, .e = STO_IDS_TENSOR},
    [VS_EV_FREE] = {.a = STO_IDS_BLOCK},
    [VS_EV_FREE_COMPLETED] = {.a = STO_IDS_BLOCK},
    [VS_EV_SAVE] = {.a = STO_IDS_BLOCK, .b = STO_IDS_TENSOR, .c = STO_IDS_NODE},
    [VS_EV_UNSAVE] = {.a = STO_IDS_BLOCK, .b = STO_IDS_TENSOR, .c = STO_IDS_NODE},
    [VS_EV_HOLD] = {.a = STO_IDS_BLOCK, .b = STO_IDS_TENSOR},
    [VS_EV_DROP] = {.a = STO_IDS_BLOCK, .b = STO_IDS_TENSOR},
    [VS_EV_CATEGORY] = {.a = STO_IDS_BLOCK},
    [VS_EV_OP_BEGIN] = {.b = STO_IDS_NODE},
    [VS_EV_OP_END] = {.b = STO_IDS_NODE},
    [VS_EV_CAST] = {.a = STO_IDS_BLOCK, .b = STO_IDS_BLOCK},
    [VS_EV_USE] = {.a = STO_IDS_BLOCK, .b = STO_IDS_TENSOR},
    [STO_KIND_TENSOR] = {.a = STO_IDS_BLOCK, .e = STO_IDS_TENSOR},
};

/*
 * A column of `count` numbers, as it is in the decompressed bytes: `width` planes of a byte each. It is not expanded:
 * memory that is written for the first time costs more than the numbers.
 */
struct column {
    const uint8_t *planes;
    size_t count;
    size_t width;
};

/*
 * plain   the decompressed bytes of a chunk
 * times, matches, patches, kinds, literals  its columns
 */
struct sto_decoder {
    ZSTD_DCtx *zstd;
    uint8_t *plain;
    struct column times;
    struct column matches[STO_MATCH_COLUMNS];
    struct column patches[STO_PATCH_COLUMNS];
    struct column kinds;
    struct column literals[STO_LITERAL_COLUMNS];
};

struct sto_decoder *sto_decoder_new(void)
{
    struct sto_decoder *d = vs_calloc(1, sizeof(*d));

    d->zstd = ZSTD_createDCtx();
    if (!d->zstd)
        vs_die("out of memory");
    d->plain = vs_alloc(STO_PLAIN_BYTES_MAX);
    return d;
}

void sto_decoder_free(struct sto_decoder *d)
{
    if (!d)
        return;
    ZSTD_freeDCtx(d->zstd);
    vs_free(d->plain);
    vs_free(d);
}

/* ---- columns ---- */

/* What is left of the decompressed bytes. */
struct rest {
    const uint8_t *at;
    size_t len;
};

/* Take a column of `count` numbers; false: the bytes end before it does. */
static bool column_take(struct rest *rest, size_t count, struct column *out)
{
    if (rest->len < 1)
        return false;
    *out = (struct column){rest->at + 1, count, rest->at[0]};
    if (out->width > STO_COLUMN_WIDTH_MAX || out->width * count > rest->len - 1)
        return false;
    rest->at += 1 + out->width * count;
    rest->len -= 1 + out->width * count;
    return true;
}

/* Number i of a column. */
static inline uint64_t number(const struct column *c, size_t i)
{
    const size_t n = c->count;
    const uint8_t *p = c->planes + i;
    uint64_t value;

    switch (c->width) {
    case 0:
        return 0;
    case 1:
        return p[0];
    case 2:
        return (uint64_t)p[0] | (uint64_t)p[n] << 8;
    case 3:
        return (uint64_t)p[0] | (uint64_t)p[n] << 8 | (uint64_t)p[2 * n] << 16;
    default:
        value = (uint64_t)p[0] | (uint64_t)p[n] << 8 | (uint64_t)p[2 * n] << 16 |
                (uint64_t)p[3 * n] << 24;
        for (size_t k = 4; k < c->width; k++)
            value |= (uint64_t)p[k * n] << 8 * k;
        return value;
    }
}

/* ---- literals ---- */

/*
 * The literals of a chunk while its events are decoded. They are grouped by kind in the columns.
 *
 * next    the next literal of each kind, a position in the columns
 * last    the last literal of each kind
 * newest  the highest id that a literal had
 */
struct literals {
    const struct sto_decoder *d;
    size_t count;
    size_t taken;
    size_t next[STO_BLOCK_IDS];
    struct vs_event last[STO_BLOCK_IDS];
    uint64_t newest[STO_IDS_COUNT];
};

static bool literals_open(struct literals *l, const struct sto_decoder *d, size_t count)
{
    size_t at = 0;

    *l = (struct literals){.d = d, .count = count};
    for (size_t i = 0; i < count; i++) {
        const uint64_t kind = number(&d->kinds, i);

        if (kind >= STO_BLOCK_IDS)
            return false;
        l->next[kind]++;
    }
    for (size_t kind = 0; kind < STO_BLOCK_IDS; kind++) {
        size_t of_kind = l->next[kind];

        l->next[kind] = at;
        at += of_kind;
    }
    return true;
}

/* A field of a literal: an id is counted back from the newest, any other number from the last event of the kind. */
static uint64_t field_take(struct literals *l, unsigned ids, uint64_t last, uint64_t stored)
{
    uint64_t value;

    if (ids == STO_IDS_NONE)
        return last + sto_unzigzag(stored);
    value = l->newest[ids] - sto_unzigzag(stored);
    if (value > l->newest[ids])
        l->newest[ids] = value;
    return value;
}

static void literal_take(struct literals *l, struct vs_event *out)
{
    const uint64_t kind = number(&l->d->kinds, l->taken++);
    const struct sto_kind_ids ids = sto_kind_ids[kind];
    const struct column *columns = l->d->literals;
    struct vs_event *last = &l->last[kind];
    size_t at = l->next[kind]++;

    last->kind = (uint8_t)kind;
    last->location += (uint32_t)sto_unzigzag(number(&columns[STO_LITERAL_LOCATION], at));
    last->raw.a = field_take(l, ids.a, last->raw.a, number(&columns[STO_LITERAL_A], at));
    last->raw.b = field_take(l, ids.b, last->raw.b, number(&columns[STO_LITERAL_B], at));
    last->raw.c = field_take(l, ids.c, last->raw.c, number(&columns[STO_LITERAL_C], at));
    last->raw.d += sto_unzigzag(number(&columns[STO_LITERAL_D], at));
    last->raw.e = (uint32_t)field_take(l, ids.e, last->raw.e, number(&columns[STO_LITERAL_E], at));
    last->raw.aux = (uint8_t)number(&columns[STO_LITERAL_AUX], at);
    *out = *last;
}

/* ---- matches ---- */

/* The patches of a chunk while its events are decoded; at: the next event to patch, SIZE_MAX: none is left. */
struct patches {
    const struct sto_decoder *d;
    size_t count;
    size_t taken;
    uint64_t at;
};

static void patch_next(struct patches *p, uint64_t after)
{
    p->at = p->taken < p->count ? after + number(&p->d->patches[STO_PATCH_BEFORE], p->taken)
                                : UINT64_MAX;
}

static void patch_take(struct patches *p, struct vs_event *event)
{
    event->raw.c += sto_unzigzag(number(&p->d->patches[STO_PATCH_BLOCK_BYTES], p->taken));
    event->raw.d += sto_unzigzag(number(&p->d->patches[STO_PATCH_ADDRESS], p->taken));
    p->taken++;
    patch_next(p, p->at + 1);
}

/* Write events out[at … at + len - 1], which follow from those at `from`; false: these are not there. */
static bool match_take(const struct sto_chunk_in *in, const struct sto_shifts *shifts,
                       uint64_t from, size_t len, struct patches *patches, struct vs_event *out,
                       size_t at)
{
    const struct vs_event *source;

    if (from < in->reference_count) {
        if (len > in->reference_count - from)
            return false;
        source = in->reference + from;
    } else {
        if (from - in->reference_count >= at)
            return false;
        source = out + (from - in->reference_count);
    }
    for (size_t i = 0; i < len; i++) {
        sto_predict(shifts, &source[i], &out[at + i]);
        if (at + i == patches->at)
            patch_take(patches, &out[at + i]);
    }
    return true;
}

/* Take the columns that precede the times. *match_count, *literal_count: how many there are. */
static bool columns_take(struct sto_decoder *d, struct rest *rest, size_t count, uint64_t *head,
                         size_t *match_count, size_t *literal_count)
{
    struct column heads;

    *literal_count = count;
    if (!column_take(rest, STO_HEAD_COUNT, &heads))
        return false;
    for (size_t i = 0; i < STO_HEAD_COUNT; i++)
        head[i] = number(&heads, i);
    if (head[STO_HEAD_EVENTS] != count || head[STO_HEAD_MATCHES] > count ||
        head[STO_HEAD_PATCHES] > count)
        return false;
    *match_count = (size_t)head[STO_HEAD_MATCHES];
    for (int i = 0; i < STO_MATCH_COLUMNS; i++)
        if (!column_take(rest, *match_count, &d->matches[i]))
            return false;
    for (size_t i = 0; i < *match_count; i++) {
        const uint64_t len = number(&d->matches[STO_MATCH_LEN], i);

        if (len > *literal_count)
            return false;
        *literal_count -= (size_t)len;
    }
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        if (!column_take(rest, (size_t)head[STO_HEAD_PATCHES], &d->patches[i]))
            return false;
    if (!column_take(rest, *literal_count, &d->kinds))
        return false;
    for (int i = 0; i < STO_LITERAL_COLUMNS; i++)
        if (!column_take(rest, *literal_count, &d->literals[i]))
            return false;
    return true;
}

/* Decompress a chunk; false: it cannot be. */
static bool plain_take(struct sto_decoder *d, const struct sto_chunk_in *in, struct rest *rest)
{
    rest->at = d->plain;
    rest->len = ZSTD_decompressDCtx(d->zstd, d->plain, STO_PLAIN_BYTES_MAX, in->bytes, in->len);
    if (ZSTD_getErrorCode(rest->len) == ZSTD_error_memory_allocation)
        vs_die("out of memory");
    return !ZSTD_isError(rest->len);
}

/* Write the first `wanted` events, but their times. */
static bool events_take(const struct sto_decoder *d, const struct sto_chunk_in *in,
                        struct sto_shifts *shifts, struct literals *literals,
                        struct patches *patches, size_t match_count, struct vs_event *out,
                        size_t wanted)
{
    uint64_t from = 0;
    size_t at = 0;

    for (size_t m = 0; m < match_count; m++) {
        uint64_t before = number(&d->matches[STO_MATCH_LITERALS], m);
        size_t len = (size_t)number(&d->matches[STO_MATCH_LEN], m);

        if (before > literals->count - literals->taken)
            return false;
        for (uint64_t i = 0; i < before && at < wanted; i++)
            literal_take(literals, &out[at++]);
        if (at == wanted)
            return true;
        from += before + sto_unzigzag(number(&d->matches[STO_MATCH_FROM], m));
        for (int ids = STO_IDS_BLOCK; ids < STO_IDS_COUNT; ids++)
            shifts->shift[ids] +=
                sto_unzigzag(number(&d->matches[STO_MATCH_SHIFTS + ids - STO_IDS_BLOCK], m));
        if (len > wanted - at)
            len = wanted - at;
        if (!match_take(in, shifts, from, len, patches, out, at))
            return false;
        at += len;
        from += len;
    }
    while (at < wanted)
        literal_take(literals, &out[at++]);
    return true;
}

bool sto_decode(struct sto_decoder *d, const struct sto_chunk_in *in, struct vs_event *out,
                size_t count, size_t wanted)
{
    uint64_t head[STO_HEAD_COUNT];
    struct sto_shifts shifts = {{0}, {0}};
    struct literals literals;
    struct patches patches = {.d = d};
    struct rest rest;
    size_t match_count;
    size_t literal_count;
    uint64_t time;

    VS_ASSERT(count >= 1 && count <= STO_CHUNK_EVENTS_MAX && wanted >= 1 && wanted <= count);
    if (!plain_take(d, in, &rest) ||
        !columns_take(d, &rest, count, head, &match_count, &literal_count) ||
        !column_take(&rest, count - 1, &d->times) || rest.len ||
        !literals_open(&literals, d, literal_count))
        return false;
    for (int ids = STO_IDS_BLOCK; ids < STO_IDS_COUNT; ids++)
        shifts.limit[ids] = head[STO_HEAD_LIMITS + ids - STO_IDS_BLOCK];
    patches.count = (size_t)head[STO_HEAD_PATCHES];
    patch_next(&patches, 0);
    if (!events_take(d, in, &shifts, &literals, &patches, match_count, out, wanted) ||
        (wanted == count && patches.taken < patches.count))
        return false;
    time = head[STO_HEAD_TIME];
    out[0].time_ns = time;
    for (size_t i = 1; i < wanted; i++) {
        time += head[STO_HEAD_TIME_STEP] + number(&d->times, i - 1);
        out[i].time_ns = time;
    }
    return true;
}

static uint64_t hash_column(uint64_t hash, const struct column *column)
{
    for (size_t i = 0; i < column->count; i++)
        hash = vs_hash_mix(hash, number(column, i));
    return hash;
}

bool sto_outline(struct sto_decoder *d, const struct sto_chunk_in *in, size_t count,
                 struct sto_outline *out)
{
    uint64_t head[STO_HEAD_COUNT];
    struct rest rest;
    size_t match_count;
    size_t literal_count;

    VS_ASSERT(count >= 1 && count <= STO_CHUNK_EVENTS_MAX);
    *out = (struct sto_outline){.is_copy = false};
    if (!plain_take(d, in, &rest) ||
        !columns_take(d, &rest, count, head, &match_count, &literal_count))
        return false;
    if (match_count != 1 || literal_count > 1 ||
        (literal_count && number(&d->kinds, 0) != VS_EV_STEP))
        return true;
    out->is_copy = true;
    out->hash = vs_hash_mix(count, literal_count);
    out->hash = vs_hash_mix(out->hash, number(&d->matches[STO_MATCH_LITERALS], 0));
    out->hash = vs_hash_mix(out->hash, number(&d->matches[STO_MATCH_FROM], 0));
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        out->hash = hash_column(out->hash, &d->patches[i]);
    for (int i = 0; i < STO_LITERAL_COLUMNS; i++)
        if (i != STO_LITERAL_A) /* the number of the step */
            out->hash = hash_column(out->hash, &d->literals[i]);
    for (int i = 0; i < STO_IDS_SHIFTED; i++) {
        out->limit[i] = head[STO_HEAD_LIMITS + i];
        out->hash = vs_hash_mix(out->hash, out->limit[i]);
        out->shift[i] = sto_unzigzag(number(&d->matches[STO_MATCH_SHIFTS + i], 0));
    }
    return true;
}

void sto_event_ids(const struct vs_event *event, uint8_t sorts[4])
{
    const struct sto_kind_ids ids = sto_kind_ids[event->kind % STO_BLOCK_IDS];

    sorts[0] = ids.a;
    sorts[1] = ids.b;
    sorts[2] = ids.c;
    sorts[3] = ids.e;
}
