/*
 * store/codec.h - some thousand events as a few short byte strings, column by column, and back.
 *
 * For:            store/writer.c, store/reader.c, store/vtab.c.
 * Must not know:  SQLite, files, what an event means.
 * Invariant:      decoding gives exactly the events that were encoded (their padding is 0), and every form used can
 *                 also be decoded by plain SQL: see store/view.c and docs/formats/trace-format.md.
 *
 * A chunk is a run of consecutive events. Its events of one kind form a block; each field of a block that is not 0
 * throughout is a column. With i counting the events of the block from 0, a column's value is
 *
 *     base + step * i + unit * word(i)            in 64-bit two's complement
 *     word(i) = number(data, i, width)            or, with a dictionary, number(dict, number(data, i, width), dict_width),
 *                                               where data may be that of another column
 *     number(bytes, i, width) = sum over k < width of bytes[i * width + k] << 7 * k
 *
 * so every byte is below 128 (SQL's unicode() reads such a byte) and a width of 0 means the number 0. Widths are 0 to 5,
 * and 10 for what is longer, as each one costs a branch in SQL; a column with a dictionary has 1 or 2. base, step and unit are such that no sum overflows.
 */
#ifndef STO_CODEC_H
#define STO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/* Events in a full chunk. More make dictionaries pay off, fewer make a jump cheaper. */
#ifdef VS_STRESS
#define STO_CHUNK_EVENTS 64
#else
#define STO_CHUNK_EVENTS 16384
#endif

/* No chunk of any trace is longer: the tables that SQL decodes with count that far. */
#define STO_CHUNK_EVENTS_MAX 16384

/* Bits a byte carries, and the bytes that 64 bits take. */
#define STO_GROUP_BITS 7
#define STO_WIDTH_MAX 10

/* Numbering in the file: block = chunk * STO_BLOCK_IDS + kind, column = block * STO_COLUMN_IDS + field. */
#define STO_BLOCK_IDS 64
#define STO_COLUMN_IDS 16

/*
 * Tensors go the way of events, in blocks of this kind with chunk numbers of their own: a is the block, b the shape,
 * c the name, d the offset, e the id; SEQ counts from 0 in each block.
 */
#define STO_KIND_TENSOR 63

/* Fields of an event, numbered as in a trace. SEQ counts from the first event of the chunk, from 0. */
enum sto_field {
    STO_FIELD_SEQ,
    STO_FIELD_TIME,
    STO_FIELD_LOCATION,
    STO_FIELD_A,
    STO_FIELD_B,
    STO_FIELD_C,
    STO_FIELD_D,
    STO_FIELD_E,
    STO_FIELD_AUX,
    STO_FIELD_COUNT
};

/*
 * One column; see the head of this file for how it is read.
 *
 * is_stored   false: every value is 0, and nothing else here counts
 * codes       with a dictionary: the column whose data number its entries; its width is `width`. Mostly this one
 * data        width bytes an event; NULL where `codes` is another column
 * dict        NULL: data holds the words themselves
 * Lifetime of data and dict: that of the codec's next call, or what the caller put there.
 */
struct sto_column {
    bool is_stored;
    int64_t base;
    int64_t step;
    int64_t unit;
    uint32_t width;
    uint32_t dict_width;
    enum sto_field codes;
    const uint8_t *data;
    size_t data_bytes;
    const uint8_t *dict;
    size_t dict_bytes;
};

/* kind: enum vs_event_kind, or STO_KIND_TENSOR */
struct sto_block {
    uint32_t kind;
    uint32_t count;
    struct sto_column columns[STO_FIELD_COUNT];
};

/* Does the format have numbers of this many bytes? */
bool sto_codec_width_is_legal(uint32_t width);

struct sto_codec;

struct sto_codec *sto_codec_new(void) VS_MUST_USE;
void sto_codec_free(struct sto_codec *codec);

/*
 * Encode a chunk of `count` events, 1 <= count <= STO_CHUNK_EVENTS_MAX, into blocks in order of kind, one a kind that
 * occurs. `blocks` has room for VS_EVENT_KIND_COUNT; the number written is returned. They borrow the codec's memory
 * until its next call.
 */
size_t sto_codec_encode(struct sto_codec *codec, const struct vs_event *events, size_t count,
                        struct sto_block *blocks) VS_MUST_USE;

/* Encode `count` records as one block of `kind`, whatever their own kinds are. As sto_codec_encode otherwise. */
void sto_codec_encode_block(struct sto_codec *codec, const struct vs_event *events, size_t count,
                            uint32_t kind, struct sto_block *block);

/*
 * Decode one block into the events of its chunk: event number s of the chunk goes to events[s].
 *
 * `capacity` is the number of events in the chunk. `is_filled[s]` is set for each event written; one that is set
 * already, an s out of range, or data too short for the count make the block damaged: false, and `events` undefined.
 */
VS_MUST_USE bool sto_codec_decode(struct sto_codec *codec, const struct sto_block *block,
                                  struct vs_event *events, bool *is_filled, size_t capacity);

#endif
