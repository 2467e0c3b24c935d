/*
 * store/codec.c - columns back to events, and the codec's memory.
 *
 * For:            store/codec.h says.
 * Must not know:  SQLite, files.
 * Invariant:      nothing here trusts the bytes it decodes: every index is checked against the length it came with.
 */
#include "store/codec.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "store/codec_internal.h"

static_assert(sizeof(struct vs_event) == 56, "a new member of struct vs_event needs a field here");
static_assert(STO_CHUNK_EVENTS_MAX <= 1 << (STO_CODE_WIDTH_MAX * STO_GROUP_BITS),
              "codes too short");
static_assert(VS_EVENT_KIND_COUNT <= STO_KIND_TENSOR && STO_KIND_TENSOR < STO_BLOCK_IDS,
              "block ids would collide");
static_assert(STO_FIELD_COUNT <= STO_COLUMN_IDS, "column ids would collide");
static_assert(STO_CHUNK_EVENTS <= STO_CHUNK_EVENTS_MAX,
              "SQL could not count the events of a chunk");

struct sto_codec *sto_codec_new(void)
{
    struct sto_codec *codec = vs_calloc(1, sizeof(*codec));
    size_t n = STO_CHUNK_EVENTS_MAX;

    for (int f = 0; f < STO_FIELD_COUNT; f++)
        codec->values[f] = vs_alloc(n * sizeof(int64_t));
    codec->zeros = vs_calloc(n, sizeof(*codec->zeros));
    codec->order = vs_alloc(n * sizeof(*codec->order));
    codec->words = vs_alloc(n * sizeof(*codec->words));
    codec->codes = vs_alloc(n * sizeof(*codec->codes));
    codec->by_place.codes = vs_alloc(n * sizeof(*codec->by_place.codes));
    codec->by_b.codes = vs_alloc(n * sizeof(*codec->by_b.codes));
    codec->is_seen = vs_alloc(n * sizeof(*codec->is_seen));
    codec->dict_words = vs_alloc(n * sizeof(*codec->dict_words));
    codec->slots = vs_calloc(STO_DICT_SLOTS, sizeof(*codec->slots));
    codec->bytes = vs_alloc((size_t)2 * STO_WIDTH_MAX * STO_FIELD_COUNT * n);
    return codec;
}

void sto_codec_free(struct sto_codec *codec)
{
    if (!codec)
        return;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        vs_free(codec->values[f]);
    vs_free(codec->zeros);
    vs_free(codec->order);
    vs_free(codec->words);
    vs_free(codec->codes);
    vs_free(codec->by_place.codes);
    vs_free(codec->by_b.codes);
    vs_free(codec->is_seen);
    vs_free(codec->dict_words);
    vs_free(codec->slots);
    vs_free(codec->bytes);
    vs_free(codec);
}

bool sto_codec_width_is_legal(uint32_t width)
{
    return width <= STO_WIDTH_SHORT_MAX || width == STO_WIDTH_MAX;
}

/* Words of few bytes are most of a trace: written out, they cost a nanosecond each. */
static inline uint64_t word_1(const uint8_t *in)
{
    return in[0] & 0x7f;
}

static inline uint64_t word_2(const uint8_t *in)
{
    return word_1(in) | (uint64_t)(in[1] & 0x7f) << STO_GROUP_BITS;
}

static inline uint64_t word_3(const uint8_t *in)
{
    return word_2(in) | (uint64_t)(in[2] & 0x7f) << 2 * STO_GROUP_BITS;
}

static inline uint64_t word_4(const uint8_t *in)
{
    return word_3(in) | (uint64_t)(in[3] & 0x7f) << 3 * STO_GROUP_BITS;
}

static inline uint64_t word_5(const uint8_t *in)
{
    return word_4(in) | (uint64_t)(in[4] & 0x7f) << 4 * STO_GROUP_BITS;
}

/* A word of any legal width but 0. */
static inline uint64_t word_get(const uint8_t *in, uint32_t width)
{
    uint64_t word = 0;

    switch (width) {
    case 1:
        return word_1(in);
    case 2:
        return word_2(in);
    case 3:
        return word_3(in);
    case 4:
        return word_4(in);
    case 5:
        return word_5(in);
    default:
        for (uint32_t k = 0; k < width; k++)
            word |= (uint64_t)(in[k] & 0x7f) << (STO_GROUP_BITS * k);
        return word;
    }
}

/* The column whose data hold the codes or words of `col`; NULL where the lengths are not what they must be. */
static const struct sto_column *column_source(const struct sto_block *block,
                                              const struct sto_column *col)
{
    const struct sto_column *from;

    if (col->codes >= STO_FIELD_COUNT || !sto_codec_width_is_legal(col->width) ||
        !sto_codec_width_is_legal(col->dict_width))
        return NULL;
    if (col->dict && (col->width == 0 || col->width > STO_CODE_WIDTH_MAX || col->dict_width == 0 ||
                      col->dict_bytes % col->dict_width != 0))
        return NULL;
    from = col->dict ? &block->columns[col->codes] : col;
    if (col->width > 0 && (!from->is_stored || !from->data || from->width != col->width ||
                           from->data_bytes != (size_t)block->count * col->width))
        return NULL;
    return from;
}

/* base + step * i + unit * word, wrapping: a damaged column gives odd values, never undefined behaviour. */
static inline int64_t column_line(const struct sto_column *col, uint64_t word, size_t i)
{
    return (int64_t)((uint64_t)col->base + (uint64_t)col->step * i + (uint64_t)col->unit * word);
}

/* Each word is a number of the column. */
static void words_decode(const struct sto_column *col, size_t count, int64_t *out)
{
    const uint8_t *in = col->data;

    switch (col->width) {
    case 1:
        for (size_t i = 0; i < count; i++, in += 1)
            out[i] = column_line(col, word_1(in), i);
        break;
    case 2:
        for (size_t i = 0; i < count; i++, in += 2)
            out[i] = column_line(col, word_2(in), i);
        break;
    case 3:
        for (size_t i = 0; i < count; i++, in += 3)
            out[i] = column_line(col, word_3(in), i);
        break;
    default:
        for (size_t i = 0; i < count; i++, in += col->width)
            out[i] = column_line(col, word_get(in, col->width), i);
        break;
    }
}

/* Each word is the number of an entry in the dictionary. False: there is no such entry. */
static bool dict_decode(const struct sto_column *col, const uint8_t *codes, size_t count,
                        int64_t *out)
{
    uint64_t dict_count = col->dict_bytes / col->dict_width;

    for (size_t i = 0; i < count; i++) {
        uint64_t code =
            col->width == 1 ? word_1(codes + i) : word_get(codes + i * col->width, col->width);

        if (code >= dict_count)
            return false;
        out[i] = column_line(col, word_get(col->dict + code * col->dict_width, col->dict_width), i);
    }
    return true;
}

bool sto_codec_column(const struct sto_block *block, enum sto_field field, int64_t *out)
{
    const struct sto_column *col = &block->columns[field];
    const struct sto_column *from;

    if (!col->is_stored) {
        memset(out, 0, block->count * sizeof(*out));
        return true;
    }
    from = column_source(block, col);
    if (!from)
        return false;
    if (col->width == 0) {
        for (size_t i = 0; i < block->count; i++)
            out[i] = column_line(col, 0, i);
        return true;
    }
    if (col->dict)
        return dict_decode(col, from->data, block->count, out);
    words_decode(col, block->count, out);
    return true;
}

bool sto_codec_decode(struct sto_codec *codec, const struct sto_block *block,
                      struct vs_event *events, bool *is_filled, size_t capacity)
{
    const int64_t *v[STO_FIELD_COUNT];

    if (block->count > capacity || capacity > STO_CHUNK_EVENTS_MAX)
        return false;
    for (int f = 0; f < STO_FIELD_COUNT; f++) {
        v[f] = block->columns[f].is_stored ? codec->values[f] : codec->zeros;
        if (block->columns[f].is_stored &&
            !sto_codec_column(block, (enum sto_field)f, codec->values[f]))
            return false;
    }
    for (size_t i = 0; i < block->count; i++) {
        uint64_t at = (uint64_t)v[STO_FIELD_SEQ][i];

        if (at >= capacity || is_filled[at])
            return false;
        is_filled[at] = true;
        events[at] = (struct vs_event){
            .time_ns = (uint64_t)v[STO_FIELD_TIME][i],
            .a = (uint64_t)v[STO_FIELD_A][i],
            .b = (uint64_t)v[STO_FIELD_B][i],
            .c = (uint64_t)v[STO_FIELD_C][i],
            .d = (uint64_t)v[STO_FIELD_D][i],
            .e = (uint32_t)v[STO_FIELD_E][i],
            .place = (uint32_t)v[STO_FIELD_PLACE][i],
            .kind = (uint8_t)block->kind,
            .aux = (uint8_t)v[STO_FIELD_AUX][i],
        };
    }
    return true;
}
