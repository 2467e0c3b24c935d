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

static uint64_t word_get(const uint8_t *in, uint32_t width)
{
    uint64_t word = 0;

    for (uint32_t k = 0; k < width; k++)
        word |= (uint64_t)(in[k] & 0x7f) << (STO_GROUP_BITS * k);
    return word;
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

/* out[i] = base + step * i + unit * word(i), wrapping: a damaged column gives odd values, never undefined behaviour. */
static void column_line(const struct sto_column *col, uint64_t word, size_t i, int64_t *out)
{
    *out = (int64_t)((uint64_t)col->base + (uint64_t)col->step * i + (uint64_t)col->unit * word);
}

bool sto_codec_column(const struct sto_block *block, enum sto_field field, int64_t *out)
{
    const struct sto_column *col = &block->columns[field];
    const struct sto_column *from;
    uint64_t dict_count;

    if (!col->is_stored) {
        memset(out, 0, block->count * sizeof(*out));
        return true;
    }
    from = column_source(block, col);
    if (!from)
        return false;
    if (col->width == 0) {
        for (size_t i = 0; i < block->count; i++)
            column_line(col, 0, i, &out[i]);
        return true;
    }
    if (!col->dict) {
        for (size_t i = 0; i < block->count; i++)
            column_line(col, word_get(col->data + i * col->width, col->width), i, &out[i]);
        return true;
    }
    dict_count = col->dict_bytes / col->dict_width;
    for (size_t i = 0; i < block->count; i++) {
        uint64_t code = word_get(from->data + i * col->width, col->width);

        if (code >= dict_count)
            return false;
        column_line(col, word_get(col->dict + code * col->dict_width, col->dict_width), i, &out[i]);
    }
    return true;
}

bool sto_codec_decode(struct sto_codec *codec, const struct sto_block *block,
                      struct vs_event *events, bool *is_filled, size_t capacity)
{
    int64_t *const *v = codec->values;

    if (block->count > capacity || capacity > STO_CHUNK_EVENTS_MAX)
        return false;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        if (!sto_codec_column(block, (enum sto_field)f, v[f]))
            return false;
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
