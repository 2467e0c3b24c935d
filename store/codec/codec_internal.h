/*
 * store/codec/codec_internal.h - what the encoder and the decoder of a chunk have in common: columns and predictions.
 *
 * For:            the other files of store/codec/.
 * Must not know:  SQLite, files.
 * Invariant:      the encoder predicts an event exactly as the decoder does, with sto_id_predict().
 *
 * A column of numbers is a byte with its width w, 0 to 8, and then w planes: the lowest bytes of all numbers, then the
 * second bytes, and so on.
 */
#ifndef STO_CODEC_INTERNAL_H
#define STO_CODEC_INTERNAL_H

#include "store/codec/codec.h"

#define STO_COLUMN_WIDTH_MAX 8

/* Ids that increase with time, each with its own shift between a match and what it matches. */
enum sto_ids { STO_IDS_NONE, STO_IDS_BLOCK, STO_IDS_TENSOR, STO_IDS_NODE, STO_IDS_COUNT };

/* Which ids the fields of a kind are. */
struct sto_kind_ids {
    uint8_t a;
    uint8_t b;
    uint8_t c;
    uint8_t e;
};

extern const struct sto_kind_ids sto_kind_ids[STO_BLOCK_IDS];

/*
 * How the events of a match differ from those that it matches: an id above its limit is higher by its shift. Ids at or
 * below it are those of objects that outlive a step, such as parameters. Of STO_IDS_NONE the shift is 0.
 */
struct sto_shifts {
    uint64_t limit[STO_IDS_COUNT];
    uint64_t shift[STO_IDS_COUNT];
};

static inline uint64_t sto_id_predict(const struct sto_shifts *s, unsigned ids, uint64_t value)
{
    return value + (value > s->limit[ids] ? s->shift[ids] : 0);
}

/*
 * Write the event that follows from `from`; its time is left as that of `from`. Field by field: reading a copy of a
 * struct right after one of its fields was written costs ten times as much.
 */
static inline void sto_predict(const struct sto_shifts *s, const struct vs_event *from,
                               struct vs_event *out)
{
    const struct sto_kind_ids ids = sto_kind_ids[from->kind % STO_BLOCK_IDS];
    const uint64_t a = sto_id_predict(s, ids.a, from->raw.a);
    const uint64_t b = sto_id_predict(s, ids.b, from->raw.b);
    const uint64_t c = sto_id_predict(s, ids.c, from->raw.c);
    const uint32_t e = (uint32_t)sto_id_predict(s, ids.e, from->raw.e);

    *out = *from;
    out->raw.a = a;
    out->raw.b = b;
    out->raw.c = c;
    out->raw.e = e;
}

/* Whether an event may be patched: the kinds whose c is block_bytes and d the address. */
static inline bool sto_may_patch(unsigned kind)
{
    return kind == VS_EV_ALLOC || kind == VS_EV_FREE || kind == VS_EV_FREE_COMPLETED;
}

/* A difference as a number that is small if the difference is near 0. */
static inline uint64_t sto_zigzag(uint64_t n)
{
    return n << 1 ^ (0 - (n >> 63));
}

static inline uint64_t sto_unzigzag(uint64_t n)
{
    return n >> 1 ^ (0 - (n & 1));
}

/* The columns of a chunk, in their order. The numbers of the head are those of enum sto_head. */
enum sto_head {
    STO_HEAD_EVENTS,
    STO_HEAD_MATCHES,
    STO_HEAD_PATCHES,
    STO_HEAD_TIME,
    STO_HEAD_TIME_STEP,
    STO_HEAD_LIMITS,
    STO_HEAD_COUNT = STO_HEAD_LIMITS + STO_IDS_COUNT - 1
};
enum sto_match_column {
    STO_MATCH_LITERALS,
    STO_MATCH_LEN,
    STO_MATCH_FROM,
    STO_MATCH_SHIFTS,
    STO_MATCH_COLUMNS = STO_MATCH_SHIFTS + STO_IDS_COUNT - 1
};
/*
 * A patch: an event of a match whose block has another size or address than that of the matched event. Such events are
 * frequent where the allocator has not reached the same state in each step.
 */
enum sto_patch_column {
    STO_PATCH_BEFORE,
    STO_PATCH_BLOCK_BYTES,
    STO_PATCH_ADDRESS,
    STO_PATCH_COLUMNS
};
enum sto_literal_column {
    STO_LITERAL_LOCATION,
    STO_LITERAL_A,
    STO_LITERAL_B,
    STO_LITERAL_C,
    STO_LITERAL_D,
    STO_LITERAL_E,
    STO_LITERAL_AUX,
    STO_LITERAL_COLUMNS
};

/* Columns of a chunk at the most, and the bytes that they take before they are compressed. */
#define STO_PLAIN_BYTES_MAX                                                                        \
    ((size_t)(STO_MATCH_COLUMNS + STO_PATCH_COLUMNS + STO_LITERAL_COLUMNS + 3) *                   \
     (STO_COLUMN_WIDTH_MAX * (size_t)STO_CHUNK_EVENTS_MAX + 1))

#endif
