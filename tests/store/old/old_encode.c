/*
 * tests/store/old/old_encode.c - see old_encode.h. The encoder is that of the program that wrote version 5.
 */
#include "tests/store/old/old_encode.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* A word of the dictionary being built. The slot is used if `stamp` equals the codec's. */
struct sto_dict_slot {
    uint64_t word;
    uint32_t stamp;
    uint32_t code;
};

#define STO_DICT_SLOTS ((size_t)2 * STO_CHUNK_EVENTS_MAX)

/*
 * Dictionary indices that other columns of the block may share: one per event, each less than `count`. count 0: not
 * available.
 */
struct sto_code_source {
    enum sto_field field;
    uint32_t width;
    uint32_t count;
    uint32_t *codes;
};

/*
 * values  one array per field, for the events of one kind; while decoding, the entries of the field's dictionary
 * order   the indices of the chunk's events, grouped by kind
 * words   the column's words: what remains of its values without base, step and unit
 * codes   the column's words as dictionary indices; by_location, by_b: indices that later columns may share
 * bytes   the encoded columns: at most STO_WIDTH_MAX bytes of data and as many of dictionary per event and field
 * slots   hash table of dict_build(), which clears it by incrementing `stamp`
 */
struct old_encoder {
    int64_t *values[STO_FIELD_COUNT];
    uint16_t *order;
    uint64_t *words;
    uint32_t *codes;
    struct sto_code_source by_location;
    struct sto_code_source by_b;
    uint64_t *dict_words;
    bool *is_seen;
    struct sto_dict_slot *slots;
    uint32_t stamp;
    uint8_t *bytes;
    size_t bytes_used;
};

struct old_encoder *old_encoder_new(void)
{
    struct old_encoder *codec = vs_calloc(1, sizeof(*codec));
    size_t n = STO_CHUNK_EVENTS_MAX;

    for (int f = 0; f < STO_FIELD_COUNT; f++)
        codec->values[f] = vs_alloc(n * sizeof(int64_t));
    codec->order = vs_alloc(n * sizeof(*codec->order));
    codec->words = vs_alloc(n * sizeof(*codec->words));
    codec->codes = vs_alloc(n * sizeof(*codec->codes));
    codec->by_location.codes = vs_alloc(n * sizeof(*codec->by_location.codes));
    codec->by_b.codes = vs_alloc(n * sizeof(*codec->by_b.codes));
    codec->is_seen = vs_alloc(n * sizeof(*codec->is_seen));
    codec->dict_words = vs_alloc(n * sizeof(*codec->dict_words));
    codec->slots = vs_calloc(STO_DICT_SLOTS, sizeof(*codec->slots));
    codec->bytes = vs_alloc((size_t)2 * STO_WIDTH_MAX * STO_FIELD_COUNT * n);
    return codec;
}

void old_encoder_free(struct old_encoder *codec)
{
    if (!codec)
        return;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        vs_free(codec->values[f]);
    vs_free(codec->order);
    vs_free(codec->words);
    vs_free(codec->codes);
    vs_free(codec->by_location.codes);
    vs_free(codec->by_b.codes);
    vs_free(codec->is_seen);
    vs_free(codec->dict_words);
    vs_free(codec->slots);
    vs_free(codec->bytes);
    vs_free(codec);
}

/* Columns with values beyond this are stored as they are, so that no sum overflows in SQL's signed arithmetic. */
#define PLAIN_LIMIT (INT64_C(1) << 60)

/* The smallest width that holds `word`; 0 for 0. */
static uint32_t word_width(uint64_t word)
{
    uint32_t width;

    if (word == 0)
        return 0;
    width = (64U - (uint32_t)__builtin_clzll(word) + STO_GROUP_BITS - 1) / STO_GROUP_BITS;
    return width <= STO_WIDTH_SHORT_MAX ? width : STO_WIDTH_MAX;
}

static void word_put(uint8_t *out, uint64_t word, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        out[k] = (uint8_t)(word & 0x7f);
        word >>= STO_GROUP_BITS;
    }
}

/* Write `count` words at `out`. The loop is unrolled for the frequent widths. */
static void words_put(uint8_t *out, const uint64_t *words, size_t count, uint32_t width)
{
    switch (width) {
    case 0:
        break;
    case 1:
        for (size_t i = 0; i < count; i++)
            out[i] = (uint8_t)words[i];
        break;
    case 2:
        for (size_t i = 0; i < count; i++)
            word_put(out + 2 * i, words[i], 2);
        break;
    case 3:
        for (size_t i = 0; i < count; i++)
            word_put(out + 3 * i, words[i], 3);
        break;
    case 4:
        for (size_t i = 0; i < count; i++)
            word_put(out + 4 * i, words[i], 4);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            word_put(out + width * i, words[i], width);
        break;
    }
}

static void codes_put(uint8_t *out, const uint32_t *codes, size_t count, uint32_t width)
{
    if (width == 1) {
        for (size_t i = 0; i < count; i++)
            out[i] = (uint8_t)codes[i];
        return;
    }
    for (size_t i = 0; i < count; i++)
        word_put(out + width * i, codes[i], width);
}

static uint8_t *bytes_take(struct old_encoder *codec, size_t count)
{
    uint8_t *at = codec->bytes + codec->bytes_used;

    codec->bytes_used += count;
    VS_ASSERT(codec->bytes_used <=
              (size_t)2 * STO_WIDTH_MAX * STO_FIELD_COUNT * STO_CHUNK_EVENTS_MAX);
    return at;
}

/* Minimum and maximum of v[i] - step * i, and the bits in which any of them differs from the first. */
struct span {
    int64_t min;
    int64_t max;
    uint64_t bits;
};

static struct span span_level(const int64_t *v, size_t n)
{
    struct span s = {v[0], v[0], 0};

    for (size_t i = 1; i < n; i++) {
        s.min = v[i] < s.min ? v[i] : s.min;
        s.max = v[i] > s.max ? v[i] : s.max;
        s.bits |= (uint64_t)v[i] - (uint64_t)v[0];
    }
    return s;
}

static struct span span_line(const int64_t *v, size_t n, int64_t step)
{
    struct span s = {v[0], v[0], 0};
    int64_t drift = 0;

    for (size_t i = 1; i < n; i++) {
        int64_t x;

        drift += step;
        x = v[i] - drift;
        s.min = x < s.min ? x : s.min;
        s.max = x > s.max ? x : s.max;
        s.bits |= (uint64_t)x - (uint64_t)v[0];
    }
    return s;
}

static bool is_level(const int64_t *v, size_t n)
{
    uint64_t bits = 0;

    if (v[n / 2] != v[0] || v[n - 1] != v[0]) /* usually decides */
        return false;
    for (size_t i = 1; i < n; i++)
        bits |= (uint64_t)v[i] ^ (uint64_t)v[0];
    return bits == 0;
}

static uint32_t span_width(const struct span *s)
{
    uint64_t range = (uint64_t)s->max - (uint64_t)s->min;

    return range == 0 ? 0 : word_width(range >> __builtin_ctzll(s->bits));
}

/* Fields that usually increase with time: event numbers, ids of blocks, tensors and nodes, and time. */
static bool may_climb(enum sto_field field)
{
    return field != STO_FIELD_LOCATION && field != STO_FIELD_D && field != STO_FIELD_AUX;
}

/* Subtract base and step * i from the values. */
static void words_fill(struct old_encoder *codec, const int64_t *v, size_t n, int shift,
                       const struct sto_column *col)
{
    int64_t drift = col->base;

    if (col->step == 0) {
        for (size_t i = 0; i < n; i++)
            codec->words[i] = ((uint64_t)v[i] - (uint64_t)drift) >> shift;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        codec->words[i] = ((uint64_t)v[i] - (uint64_t)drift) >> shift;
        drift += col->step;
    }
}

/*
 * Compute base, step, unit and width of `col`, and codec->words. Very large values, whose sum might overflow, are
 * stored as they are. Otherwise the straight line through the first and the last value is compared with a constant
 * base.
 */
static void words_split(struct old_encoder *codec, enum sto_field field, const int64_t *v, size_t n,
                        struct sto_column *col)
{
    struct span best;
    int shift;

    col->unit = 1;
    if (is_level(v, n)) {
        col->base = v[0];
        return;
    }
    best = span_level(v, n);
    if (best.min <= -PLAIN_LIMIT || best.max >= PLAIN_LIMIT) {
        col->width = STO_WIDTH_MAX;
        memcpy(codec->words, v, n * sizeof(*v));
        return;
    }
    col->width = span_width(&best);
    if (may_climb(field) && (col->width > 1 || v[1] != v[0])) {
        int64_t slope = (v[n - 1] - v[0]) / (int64_t)(n - 1);
        struct span line = span_line(v, n, slope);

        if (span_width(&line) < col->width) {
            best = line;
            col->step = slope;
            col->width = span_width(&line);
        }
    }
    col->base = best.min;
    if (col->width == 0)
        return;
    shift = __builtin_ctzll(best.bits);
    col->unit = INT64_C(1) << shift;
    words_fill(codec, v, n, shift, col);
}

/*
 * Number the distinct words of codec->words in order of appearance: codec->codes, codec->dict_words. Returns their
 * number, or 0 as soon as a dictionary cannot be shorter than the words.
 *
 * This is a hash table of its own rather than base/table.h because it is built anew for each column of each block:
 * incrementing codec->stamp clears it in constant time, where vs_table_clear() writes all its slots. A slot holds the
 * word itself, so that a lookup reads one cache line.
 */
static uint32_t dict_build(struct old_encoder *codec, size_t n, uint32_t width)
{
    size_t mask = 16;
    uint32_t count = 0;
    uint32_t count_max;

    while (mask < 2 * n)
        mask *= 2;
    mask--;
    codec->stamp++;
    /* count * width + n * (bytes per code) < n * width, with one byte per code: corrected at 128 entries */
    count_max = (uint32_t)(n * (width - 1) / width);
    for (size_t i = 0; i < n; i++) {
        uint64_t word = codec->words[i];
        size_t at = (size_t)((word * UINT64_C(0x9E3779B97F4A7C15)) >> 40) & mask;

        while (codec->slots[at].stamp == codec->stamp && codec->slots[at].word != word)
            at = (at + 1) & mask;
        if (codec->slots[at].stamp != codec->stamp) {
            if (count == 128)
                count_max = (uint32_t)(n * (width - 2) / width);
            if (count >= count_max)
                return 0;
            codec->slots[at] = (struct sto_dict_slot){word, codec->stamp, count};
            codec->dict_words[count++] = word;
        }
        codec->codes[i] = codec->slots[at].code;
    }
    return count;
}

static void dict_put(struct old_encoder *codec, uint32_t count, struct sto_column *col)
{
    uint8_t *dict;

    col->dict_width = col->width;
    col->dict_bytes = (size_t)count * col->dict_width;
    dict = bytes_take(codec, col->dict_bytes);
    words_put(dict, codec->dict_words, count, col->dict_width);
    col->dict = dict;
}

/*
 * If equal codes of `from` always have equal words, and a dictionary is shorter than separate codes, write the column
 * as a dictionary only, and return true.
 */
static bool column_put_shared(struct old_encoder *codec, const struct sto_code_source *from,
                              size_t n, struct sto_column *col)
{
    if (from->count == 0 || (size_t)from->count * col->width >= n)
        return false;
    memset(codec->is_seen, 0, from->count * sizeof(*codec->is_seen));
    for (size_t i = 0; i < n; i++) {
        uint32_t code = from->codes[i];

        if (!codec->is_seen[code]) {
            codec->is_seen[code] = true;
            codec->dict_words[code] = codec->words[i];
        } else if (codec->dict_words[code] != codec->words[i]) {
            return false;
        }
    }
    for (uint32_t code = 0; code < from->count; code++)
        if (!codec->is_seen[code])
            codec->dict_words[code] = 0;
    dict_put(codec, from->count, col);
    col->codes = from->field;
    col->width = from->width;
    return true;
}

/*
 * Make the codes of this column available to other columns of the block: its dictionary indices, or its words if they
 * are short.
 */
static void source_keep(struct old_encoder *codec, struct sto_code_source *source,
                        enum sto_field field, size_t n, const struct sto_column *col,
                        uint32_t dict_count)
{
    uint32_t max = 0;

    source->field = field;
    source->width = col->width;
    if (dict_count > 0) {
        memcpy(source->codes, codec->codes, n * sizeof(*source->codes));
        source->count = dict_count;
        return;
    }
    if (col->width > STO_CODE_WIDTH_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        source->codes[i] = (uint32_t)codec->words[i];
        max = source->codes[i] > max ? source->codes[i] : max;
    }
    source->count = max + 1;
}

static void column_put(struct old_encoder *codec, uint32_t dict_count, size_t n,
                       struct sto_column *col)
{
    uint8_t *data;

    if (dict_count > 0) {
        dict_put(codec, dict_count, col);
        col->width = word_width(dict_count - 1);
    }
    col->data_bytes = n * col->width;
    data = bytes_take(codec, col->data_bytes);
    if (dict_count > 0)
        codes_put(data, codec->codes, n, col->width);
    else
        words_put(data, codec->words, n, col->width);
    col->data = data;
}

static void column_encode(struct old_encoder *codec, enum sto_field field, const int64_t *v,
                          size_t n, struct sto_column *col)
{
    uint32_t dict_count = 0;

    *col = (struct sto_column){.codes = field};
    words_split(codec, field, v, n, col);
    col->is_stored = col->width > 0 || col->base != 0 || col->step != 0;
    if (col->width == 0)
        return;
    /* Event numbers and times rarely repeat, so no dictionary is tried. */
    if (field != STO_FIELD_SEQ && field != STO_FIELD_TIME) {
        if (column_put_shared(codec, &codec->by_location, n, col) ||
            column_put_shared(codec, &codec->by_b, n, col))
            return;
        if (col->width > 1)
            dict_count = dict_build(codec, n, col->width);
    }
    column_put(codec, dict_count, n, col);
    if (field == STO_FIELD_LOCATION)
        source_keep(codec, &codec->by_location, field, n, col, dict_count);
    else if (field == STO_FIELD_B)
        source_keep(codec, &codec->by_b, field, n, col, dict_count);
}

/* Store the fields of an event as row `at` of codec->values. */
static void values_put(struct old_encoder *codec, size_t at, size_t seq, const struct vs_event *e)
{
    codec->values[STO_FIELD_SEQ][at] = (int64_t)seq;
    codec->values[STO_FIELD_TIME][at] = (int64_t)e->time_ns;
    codec->values[STO_FIELD_LOCATION][at] = e->location;
    codec->values[STO_FIELD_A][at] = (int64_t)e->raw.a;
    codec->values[STO_FIELD_B][at] = (int64_t)e->raw.b;
    codec->values[STO_FIELD_C][at] = (int64_t)e->raw.c;
    codec->values[STO_FIELD_D][at] = (int64_t)e->raw.d;
    codec->values[STO_FIELD_E][at] = e->raw.e;
    codec->values[STO_FIELD_AUX][at] = e->raw.aux;
}

/* Write the indices of the events to codec->order, grouped by kind; the group of kind k begins at starts[k]. */
static void events_sort(struct old_encoder *codec, const struct vs_event *events, size_t count,
                        size_t *starts)
{
    size_t next[VS_EVENT_KIND_COUNT + 1] = {0};

    for (size_t i = 0; i < count; i++) {
        VS_ASSERT(events[i].kind < VS_EVENT_KIND_COUNT);
        next[events[i].kind + 1]++;
    }
    for (size_t k = 0; k < VS_EVENT_KIND_COUNT; k++)
        next[k + 1] += next[k];
    memcpy(starts, next, sizeof(next));
    for (size_t i = 0; i < count; i++)
        codec->order[next[events[i].kind]++] = (uint16_t)i;
}

/* Encode the first `count` rows of codec->values. */
static void block_encode(struct old_encoder *codec, size_t count, uint32_t kind,
                         struct sto_block *block)
{
    block->kind = kind;
    block->count = (uint32_t)count;
    codec->by_location.count = 0;
    codec->by_b.count = 0;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        column_encode(codec, (enum sto_field)f, codec->values[f], count, &block->columns[f]);
}

size_t old_encode(struct old_encoder *codec, const struct vs_event *events, size_t count,
                  struct sto_block *blocks)
{
    size_t starts[VS_EVENT_KIND_COUNT + 1];
    size_t block_count = 0;

    VS_ASSERT(count > 0 && count <= STO_CHUNK_EVENTS_MAX);
    codec->bytes_used = 0;
    events_sort(codec, events, count, starts);
    for (uint32_t k = 0; k < VS_EVENT_KIND_COUNT; k++) {
        const uint16_t *order = codec->order + starts[k];
        size_t n = starts[k + 1] - starts[k];

        /* one kind at a time, so that its columns are still in the cache when they are encoded */
        for (size_t i = 0; i < n; i++)
            values_put(codec, i, order[i], &events[order[i]]);
        if (n > 0)
            block_encode(codec, n, k, &blocks[block_count++]);
    }
    return block_count;
}

void old_encode_block(struct old_encoder *codec, const struct vs_event *events, size_t count,
                      uint32_t kind, struct sto_block *block)
{
    VS_ASSERT(count > 0 && count <= STO_CHUNK_EVENTS_MAX);
    codec->bytes_used = 0;
    for (size_t i = 0; i < count; i++)
        values_put(codec, i, i, &events[i]);
    block_encode(codec, count, kind, block);
}
