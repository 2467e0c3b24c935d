/*
 * store/codec.c - events to columns and back.
 *
 * For:            store/codec.h says.
 * Must not know:  SQLite, files.
 * Invariant:      nothing here trusts the bytes it decodes: every index is checked against the length it came with.
 */
#include "store/codec.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Wider than this is STO_WIDTH_MAX. */
#define WIDTH_SHORT_MAX 5

/* Two bytes number all entries that a dictionary of a chunk can have. */
#define CODE_WIDTH_MAX 2

/* Values beyond this are stored as they are, so that no sum of the others can overflow in SQL's signed arithmetic. */
#define PLAIN_LIMIT (INT64_C(1) << 60)

static_assert(sizeof(struct vs_event) == 56, "a new member of struct vs_event needs a field here");
static_assert(STO_CHUNK_EVENTS_MAX <= 1 << (CODE_WIDTH_MAX * STO_GROUP_BITS), "codes too short");
static_assert(VS_EVENT_KIND_COUNT <= STO_KIND_TENSOR && STO_KIND_TENSOR < STO_BLOCK_IDS,
               "block ids would collide");
static_assert(STO_FIELD_COUNT <= STO_COLUMN_IDS, "column ids would collide");
static_assert(STO_CHUNK_EVENTS <= STO_CHUNK_EVENTS_MAX, "SQL could not count the events of a chunk");

struct dict_slot {
    uint64_t word;
    uint32_t stamp; /* the slot is taken where this is the codec's stamp */
    uint32_t code;
};

/* Codes that other columns may share: one an event, below `count`; count 0: there are none. */
struct code_source {
    enum sto_field field;
    uint32_t width;
    uint32_t count;
    uint32_t *codes;
};

/*
 * values  one array a field, the events of a kind side by side
 * words   what is left of a column's values without base, step and unit
 * codes   a column's words as numbers of dictionary entries; by_place, by_b: those that later columns may share
 * bytes   where encoded columns lie; at most STO_WIDTH_MAX bytes of data and as many of dictionary an event and field
 */
struct sto_codec {
    int64_t *values[STO_FIELD_COUNT];
    uint64_t *words;
    uint32_t *codes;
    struct code_source by_place;
    struct code_source by_b;
    uint64_t *dict_words;
    bool *is_seen;
    struct dict_slot *slots;
    uint32_t stamp;
    uint8_t *bytes;
    size_t bytes_used;
};

#define SLOT_COUNT_MAX ((size_t)2 * STO_CHUNK_EVENTS_MAX)

struct sto_codec *sto_codec_new(void)
{
    struct sto_codec *codec = vs_calloc(1, sizeof(*codec));
    size_t n = STO_CHUNK_EVENTS_MAX;

    for (int f = 0; f < STO_FIELD_COUNT; f++)
        codec->values[f] = vs_alloc(n * sizeof(int64_t));
    codec->words = vs_alloc(n * sizeof(*codec->words));
    codec->codes = vs_alloc(n * sizeof(*codec->codes));
    codec->by_place.codes = vs_alloc(n * sizeof(*codec->by_place.codes));
    codec->by_b.codes = vs_alloc(n * sizeof(*codec->by_b.codes));
    codec->is_seen = vs_alloc(n * sizeof(*codec->is_seen));
    codec->dict_words = vs_alloc(n * sizeof(*codec->dict_words));
    codec->slots = vs_calloc(SLOT_COUNT_MAX, sizeof(*codec->slots));
    codec->bytes = vs_alloc((size_t)2 * STO_WIDTH_MAX * STO_FIELD_COUNT * n);
    return codec;
}

void sto_codec_free(struct sto_codec *codec)
{
    if (!codec)
        return;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        vs_free(codec->values[f]);
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
    return width <= WIDTH_SHORT_MAX || width == STO_WIDTH_MAX;
}

/* The shortest width that holds `word`; 0 for 0. */
static uint32_t word_width(uint64_t word)
{
    uint32_t width;

    if (word == 0)
        return 0;
    width = (64U - (uint32_t)__builtin_clzll(word) + STO_GROUP_BITS - 1) / STO_GROUP_BITS;
    return width <= WIDTH_SHORT_MAX ? width : STO_WIDTH_MAX;
}

static void word_put(uint8_t *out, uint64_t word, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        out[k] = (uint8_t)(word & 0x7f);
        word >>= STO_GROUP_BITS;
    }
}

static uint64_t word_get(const uint8_t *in, uint32_t width)
{
    uint64_t word = 0;

    for (uint32_t k = 0; k < width; k++)
        word |= (uint64_t)(in[k] & 0x7f) << (STO_GROUP_BITS * k);
    return word;
}

/* `count` words at `out`, for the widths that occur all the time with the loop unrolled. */
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

static uint8_t *bytes_take(struct sto_codec *codec, size_t count)
{
    uint8_t *at = codec->bytes + codec->bytes_used;

    codec->bytes_used += count;
    VS_ASSERT(codec->bytes_used <=
              (size_t)2 * STO_WIDTH_MAX * STO_FIELD_COUNT * STO_CHUNK_EVENTS_MAX);
    return at;
}

/* Lowest and highest of v[i] - step * i, and all bits in which two of them differ from the first. */
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

    if (v[n / 2] != v[0] || v[n - 1] != v[0]) /* mostly told at once */
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

/* Fields that tend to grow with time: numbers of events, blocks, tensors and nodes, and the clock. */
static bool may_climb(enum sto_field field)
{
    return field != STO_FIELD_PLACE && field != STO_FIELD_D && field != STO_FIELD_AUX;
}

/* What is left of the values when the line is taken away. */
static void words_fill(struct sto_codec *codec, const int64_t *v, size_t n, int shift,
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
 * Fill base, step, unit and width of `col`, and codec->words. Values far out, where a sum might overflow, are kept as
 * they are; otherwise a straight line through the first and the last value is tried against a level one.
 */
static void words_split(struct sto_codec *codec, enum sto_field field, const int64_t *v, size_t n,
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
 * Number the distinct words of codec->words in order of appearance: codec->codes, codec->dict_words. Returns how
 * many there are, or 0 as soon as it is clear that a dictionary would not be shorter than the words.
 */
static uint32_t dict_build(struct sto_codec *codec, size_t n, uint32_t width)
{
    size_t mask = 16;
    uint32_t count = 0;
    uint32_t count_max;

    while (mask < 2 * n)
        mask *= 2;
    mask--;
    codec->stamp++;
    /* count * width + n * (bytes a code) < n * width, with one byte a code: refined when there are more than 128 */
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
            codec->slots[at] = (struct dict_slot){word, codec->stamp, count};
            codec->dict_words[count++] = word;
        }
        codec->codes[i] = codec->slots[at].code;
    }
    return count;
}

static void dict_put(struct sto_codec *codec, uint32_t count, struct sto_column *col)
{
    uint8_t *dict;

    col->dict_width = col->width;
    col->dict_bytes = (size_t)count * col->dict_width;
    dict = bytes_take(codec, col->dict_bytes);
    words_put(dict, codec->dict_words, count, col->dict_width);
    col->dict = dict;
}

/*
 * True, and the column written as a dictionary alone, where equal codes of `from` always come with equal words and
 * the dictionary is shorter than codes of its own would be.
 */
static bool column_put_shared(struct sto_codec *codec, const struct code_source *from, size_t n,
                              struct sto_column *col)
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

/* Let other columns of the block use the codes of this one: its dictionary's, or its words where they are short. */
static void source_keep(struct sto_codec *codec, struct code_source *source, enum sto_field field,
                        size_t n, const struct sto_column *col, uint32_t dict_count)
{
    uint32_t max = 0;

    source->field = field;
    source->width = col->width;
    if (dict_count > 0) {
        memcpy(source->codes, codec->codes, n * sizeof(*source->codes));
        source->count = dict_count;
        return;
    }
    if (col->width > CODE_WIDTH_MAX)
        return;
    for (size_t i = 0; i < n; i++) {
        source->codes[i] = (uint32_t)codec->words[i];
        max = source->codes[i] > max ? source->codes[i] : max;
    }
    source->count = max + 1;
}

static void column_put(struct sto_codec *codec, uint32_t dict_count, size_t n, struct sto_column *col)
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

static void column_encode(struct sto_codec *codec, enum sto_field field, const int64_t *v, size_t n,
                          struct sto_column *col)
{
    uint32_t dict_count = 0;

    *col = (struct sto_column){.codes = field};
    words_split(codec, field, v, n, col);
    col->is_stored = col->width > 0 || col->base != 0 || col->step != 0;
    if (col->width == 0)
        return;
    /* Numbers of events and times hardly repeat. */
    if (field != STO_FIELD_SEQ && field != STO_FIELD_TIME) {
        if (column_put_shared(codec, &codec->by_place, n, col) ||
            column_put_shared(codec, &codec->by_b, n, col))
            return;
        if (col->width > 1)
            dict_count = dict_build(codec, n, col->width);
    }
    column_put(codec, dict_count, n, col);
    if (field == STO_FIELD_PLACE)
        source_keep(codec, &codec->by_place, field, n, col, dict_count);
    else if (field == STO_FIELD_B)
        source_keep(codec, &codec->by_b, field, n, col, dict_count);
}

/* Put an event into row `at` of codec->values. */
static void values_put(struct sto_codec *codec, size_t at, size_t seq, const struct vs_event *e)
{
    codec->values[STO_FIELD_SEQ][at] = (int64_t)seq;
    codec->values[STO_FIELD_TIME][at] = (int64_t)e->time_ns;
    codec->values[STO_FIELD_PLACE][at] = e->place;
    codec->values[STO_FIELD_A][at] = (int64_t)e->a;
    codec->values[STO_FIELD_B][at] = (int64_t)e->b;
    codec->values[STO_FIELD_C][at] = (int64_t)e->c;
    codec->values[STO_FIELD_D][at] = (int64_t)e->d;
    codec->values[STO_FIELD_E][at] = e->e;
    codec->values[STO_FIELD_AUX][at] = e->aux;
}

/* The events of each kind side by side in codec->values; starts[k] is where those of kind k begin. */
static void events_sort(struct sto_codec *codec, const struct vs_event *events, size_t count,
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
        values_put(codec, next[events[i].kind]++, i, &events[i]);
}

/* Encode rows start … start + count - 1 of codec->values. */
static void block_encode(struct sto_codec *codec, size_t start, size_t count, uint32_t kind,
                         struct sto_block *block)
{
    block->kind = kind;
    block->count = (uint32_t)count;
    codec->by_place.count = 0;
    codec->by_b.count = 0;
    for (int f = 0; f < STO_FIELD_COUNT; f++)
        column_encode(codec, (enum sto_field)f, codec->values[f] + start, count, &block->columns[f]);
}

size_t sto_codec_encode(struct sto_codec *codec, const struct vs_event *events, size_t count,
                        struct sto_block *blocks)
{
    size_t starts[VS_EVENT_KIND_COUNT + 1];
    size_t block_count = 0;

    VS_ASSERT(count > 0 && count <= STO_CHUNK_EVENTS_MAX);
    codec->bytes_used = 0;
    events_sort(codec, events, count, starts);
    for (uint32_t k = 0; k < VS_EVENT_KIND_COUNT; k++)
        if (starts[k + 1] > starts[k])
            block_encode(codec, starts[k], starts[k + 1] - starts[k], k, &blocks[block_count++]);
    return block_count;
}

void sto_codec_encode_block(struct sto_codec *codec, const struct vs_event *events, size_t count,
                            uint32_t kind, struct sto_block *block)
{
    VS_ASSERT(count > 0 && count <= STO_CHUNK_EVENTS_MAX);
    codec->bytes_used = 0;
    for (size_t i = 0; i < count; i++)
        values_put(codec, i, i, &events[i]);
    block_encode(codec, 0, count, kind, block);
}

/* The column whose data hold the codes or words of `col`; NULL where the lengths are not what they must be. */
static const struct sto_column *column_source(const struct sto_block *block,
                                              const struct sto_column *col)
{
    const struct sto_column *from;

    if (col->codes >= STO_FIELD_COUNT || !sto_codec_width_is_legal(col->width) ||
        !sto_codec_width_is_legal(col->dict_width))
        return NULL;
    if (col->dict && (col->width == 0 || col->width > CODE_WIDTH_MAX || col->dict_width == 0 ||
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
