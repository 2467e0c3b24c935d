/*
 * store/old/columns.c - see columns.h.
 *
 * Must not know:  SQLite, files.
 * Invariant:      the decoded bytes are not trusted: every index is checked against the length of its array.
 */
#include "store/old/columns.h"

#include <string.h>

#include "base/mem.h"

/* The entries of the dictionary of each field. */
struct sto_columns {
    int64_t *dicts[STO_FIELD_COUNT];
};

struct sto_columns *sto_columns_new(void)
{
    struct sto_columns *columns = vs_alloc(sizeof(*columns));

    for (int f = 0; f < STO_FIELD_COUNT; f++)
        columns->dicts[f] = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(int64_t));
    return columns;
}

void sto_columns_free(struct sto_columns *columns)
{
    if (!columns)
        return;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        vs_free(columns->dicts[f]);
    vs_free(columns);
}

bool sto_width_is_legal(uint32_t width)
{
    return width <= STO_WIDTH_SHORT_MAX || width == STO_WIDTH_MAX;
}

/*
 * Most of a trace is words of few bytes. They are loaded at once and their bits shifted together, in about 1 ns each.
 */
static inline uint64_t word_1(const uint8_t *in)
{
    return in[0] & 0x7f;
}

static inline uint64_t word_2(const uint8_t *in)
{
    uint32_t n = (uint32_t)in[0] | (uint32_t)in[1] << 8;

    return (n & 0x7f) | (n >> 1 & 0x3f80);
}

static inline uint64_t word_3(const uint8_t *in)
{
    return word_2(in) | (uint64_t)(in[2] & 0x7f) << 2 * STO_GROUP_BITS;
}

static inline uint64_t word_4(const uint8_t *in)
{
    uint32_t n =
        (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;

    n = (n & 0x7f007f) | (n >> 1 & 0x3f803f80);
    return (n & 0x3fff) | (n >> 2 & 0xfffc000);
}

static inline uint64_t word_5(const uint8_t *in)
{
    return word_4(in) | (uint64_t)(in[4] & 0x7f) << 4 * STO_GROUP_BITS;
}

/* Decode a word of any legal width except 0. */
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

/* The column whose data contain the codes or words of `col`; NULL if the lengths are inconsistent. */
static const struct sto_column *column_source(const struct sto_block *block,
                                              const struct sto_column *col)
{
    const struct sto_column *from;

    if (col->codes >= STO_FIELD_COUNT || !sto_width_is_legal(col->width) ||
        !sto_width_is_legal(col->dict_width))
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

/* Events are decoded in tiles of this many, so that their column values stay in the L1 cache. */
#define TILE 256

/*
 * A column being decoded.
 *
 * data    words, or codes if there is a dictionary; NULL: all numbers are 0
 * dict    base + unit * word of each entry
 */
struct column_in {
    const struct sto_column *col;
    const uint8_t *data;
    const int64_t *dict;
    uint64_t dict_count;
};

/* base + unit * word in wrapping arithmetic: a damaged column gives wrong values but no undefined behaviour. */
static inline int64_t column_word(const struct sto_column *col, uint64_t word)
{
    return (int64_t)((uint64_t)col->base + (uint64_t)col->unit * word);
}

/*
 * Prepare to decode a stored column. dict_reserve: memory for STO_CHUNK_EVENTS_MAX entries. False if the column is
 * damaged.
 */
static bool column_open(const struct sto_block *block, const struct sto_column *col,
                        int64_t *dict_reserve, struct column_in *in)
{
    const struct sto_column *from = column_source(block, col);

    if (!from)
        return false;
    *in = (struct column_in){.col = col, .data = col->width ? from->data : NULL};
    if (!col->dict)
        return true;
    in->dict_count = col->dict_bytes / col->dict_width;
    /* codes are less than the size of a chunk; entries beyond that cannot be referenced */
    if (in->dict_count > STO_CHUNK_EVENTS_MAX)
        in->dict_count = STO_CHUNK_EVENTS_MAX;
    for (size_t i = 0; i < in->dict_count; i++)
        dict_reserve[i] =
            column_word(col, word_get(col->dict + i * col->dict_width, col->dict_width));
    in->dict = dict_reserve;
    return true;
}

/* Decode words without applying base and unit. */
static void words_take(const struct column_in *in, size_t first, size_t count, int64_t *out)
{
    uint32_t width = in->col->width;
    const uint8_t *at = in->data + first * width;

    switch (width) {
    case 1:
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)word_1(at + i);
        break;
    case 2:
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)word_2(at + 2 * i);
        break;
    case 3:
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)word_3(at + 3 * i);
        break;
    case 4:
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)word_4(at + 4 * i);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)word_get(at + i * width, width);
        break;
    }
}

/*
 * Compute base + unit * word. Most units are 1, which is a separate loop: a 64-bit multiplication prevents
 * vectorisation.
 */
static void words_scale(const struct sto_column *col, size_t count, int64_t *out)
{
    uint64_t base = (uint64_t)col->base;

    if (col->unit == 1) {
        for (size_t i = 0; i < count; i++)
            out[i] = (int64_t)(base + (uint64_t)out[i]);
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = column_word(col, (uint64_t)out[i]);
    }
}

/* Look up each word in the dictionary. False: there is no such entry. */
static bool codes_take(const struct column_in *in, size_t first, size_t count, int64_t *out)
{
    words_take(in, first, count, out);
    for (size_t i = 0; i < count; i++) {
        if ((uint64_t)out[i] >= in->dict_count)
            return false;
        out[i] = in->dict[out[i]];
    }
    return true;
}

/* Decode values first … first + count - 1 of the column. False if it is damaged. */
static bool column_take(const struct column_in *in, size_t first, size_t count, int64_t *out)
{
    uint64_t step = (uint64_t)in->col->step;

    if (in->dict) {
        if (!codes_take(in, first, count, out))
            return false;
    } else if (in->data) {
        words_take(in, first, count, out);
        words_scale(in->col, count, out);
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = in->col->base;
    }
    for (size_t i = 0; step && i < count; i++)
        out[i] = (int64_t)((uint64_t)out[i] + step * (first + i));
    return true;
}

/* Assemble the events of a tile from their values, each at its index in the chunk. */
static bool tile_put(const int64_t (*v)[TILE], size_t count, uint32_t kind, struct vs_event *events,
                     bool *is_filled, size_t capacity)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)v[STO_FIELD_SEQ][i];

        if (at >= capacity || is_filled[at])
            return false;
        is_filled[at] = true;
        events[at] = (struct vs_event){
            .time_ns = (uint64_t)v[STO_FIELD_TIME][i],
            .raw = {.a = (uint64_t)v[STO_FIELD_A][i],
                    .b = (uint64_t)v[STO_FIELD_B][i],
                    .c = (uint64_t)v[STO_FIELD_C][i],
                    .d = (uint64_t)v[STO_FIELD_D][i],
                    .e = (uint32_t)v[STO_FIELD_E][i],
                    .aux = (uint8_t)v[STO_FIELD_AUX][i]},
            .location = (uint32_t)v[STO_FIELD_LOCATION][i],
            .kind = (uint8_t)kind,
        };
    }
    return true;
}

bool sto_columns_decode(struct sto_columns *columns, const struct sto_block *block,
                        struct vs_event *events, bool *is_filled, size_t capacity)
{
    struct column_in in[STO_FIELD_COUNT];
    int64_t tile[STO_FIELD_COUNT][TILE];

    if (block->count > capacity || capacity > STO_CHUNK_EVENTS_MAX)
        return false;
    for (int f = 0; f < STO_FIELD_COUNT; f++) {
        const struct sto_column *col = &block->columns[f];

        if (!col->is_stored)
            memset(tile[f], 0, sizeof(tile[f]));
        else if (!column_open(block, col, columns->dicts[f], &in[f]))
            return false;
    }
    for (size_t first = 0; first < block->count; first += TILE) {
        size_t count = block->count - first < TILE ? block->count - first : TILE;

        for (int f = 0; f < STO_FIELD_COUNT; f++)
            if (block->columns[f].is_stored && !column_take(&in[f], first, count, tile[f]))
                return false;
        if (!tile_put((const int64_t(*)[TILE])tile, count, block->kind, events, is_filled,
                      capacity))
            return false;
    }
    return true;
}
