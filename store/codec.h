/*
 * store/codec.h - encodes some thousand events as a few short byte strings, column by column, and decodes them.
 *
 * For:            store/writer.c, store/chunk.c.
 * Must not know:  SQLite, files, the meaning of events.
 * Invariant:      decoding returns exactly the encoded events (with zero padding). Plain SQL can decode every form too:
 *                 see store/view.c and docs/formats/trace-format.md.
 *
 * A chunk is a sequence of consecutive events. Its events of one kind form a block. Each field of a block that is not 0
 * in all events is stored as a column. With i counting the events of the block from 0, the value of a column is
 *
 *     base + step * i + unit * word(i)            in 64-bit two's complement
 *     word(i) = number(data, i, width), or with a dictionary
 *               number(dict, number(data, i, width), dict_width), where data may be that of another column
 *     number(bytes, i, width) = sum over k < width of bytes[i * width + k] << 7 * k
 *
 * so every byte is below 128 (SQL's unicode() can read such a byte), and a width of 0 means the number 0. Widths are 0
 * to 5, and 10 for larger numbers: every width costs a branch in SQL. The data of a column with a dictionary has width
 * 1 or 2. base, step and unit are chosen such that no sum overflows.
 */
#ifndef STO_CODEC_H
#define STO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/* Events in a full chunk. Larger chunks make dictionaries more effective, smaller chunks make random access cheaper. */
#ifdef VS_STRESS
#define STO_CHUNK_EVENTS 64
#else
#define STO_CHUNK_EVENTS 16384
#endif

/* Maximum length of a chunk in any trace: the tables that SQL decodes with have this many rows. */
#define STO_CHUNK_EVENTS_MAX 16384

/* Payload bits per byte, and the bytes that a 64-bit number takes. */
#define STO_GROUP_BITS 7
#define STO_WIDTH_MAX 10

/* Ids in the file: block = chunk * STO_BLOCK_IDS + kind, column = block * STO_COLUMN_IDS + field. */
#define STO_BLOCK_IDS 64
#define STO_COLUMN_IDS 16

/*
 * Tensors are encoded like events, in blocks of this kind, with chunk numbers of their own. Field a is the block, b the
 * shape, c the name, d the offset, e the id; SEQ counts from 0 in each block.
 */
#define STO_KIND_TENSOR 63

/* The fields of an event, numbered as in a trace. SEQ is relative to the first event of the chunk. */
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
 * One column. The comment at the top of this file defines how it is decoded.
 *
 * is_stored   false: every value is 0, and all other members are ignored
 * codes       with a dictionary: the column whose data contain the indices into the dictionary, usually this one;
 *             `width` is the width of these indices
 * data        `width` bytes per event; NULL if `codes` is another column
 * dict        NULL: `data` contains the words themselves
 * data and dict are borrowed: from the codec, until its next call, or from the caller.
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

/* kind: enum vs_event_kind, or STO_KIND_TENSOR. */
struct sto_block {
    uint32_t kind;
    uint32_t count;
    struct sto_column columns[STO_FIELD_COUNT];
};

/* Whether the format has numbers of `width` bytes. */
bool sto_codec_width_is_legal(uint32_t width);

struct sto_codec;

struct sto_codec *sto_codec_new(void) VS_MUST_USE;
void sto_codec_free(struct sto_codec *codec);

/*
 * Encode a chunk of `count` events, 1 <= count <= STO_CHUNK_EVENTS_MAX, into one block for each kind that occurs, in
 * order of kind. `blocks` must have space for VS_EVENT_KIND_COUNT. Returns the number of blocks. The blocks borrow the
 * codec's memory until its next call.
 */
size_t sto_codec_encode(struct sto_codec *codec, const struct vs_event *events, size_t count,
                        struct sto_block *blocks) VS_MUST_USE;

/* Encode `count` records as one block of `kind`, ignoring the kinds of the records. Otherwise as sto_codec_encode(). */
void sto_codec_encode_block(struct sto_codec *codec, const struct vs_event *events, size_t count,
                            uint32_t kind, struct sto_block *block);

/*
 * Decode one block into the events of its chunk: event number s of the chunk is written to events[s].
 *
 * capacity   the number of events in the chunk
 * is_filled  is_filled[s] is set for each event that is written
 *
 * False: the block is damaged (an event is already filled, s is out of range, or the data are too short for the count);
 * the contents of `events` are undefined then.
 */
VS_MUST_USE bool sto_codec_decode(struct sto_codec *codec, const struct sto_block *block,
                                  struct vs_event *events, bool *is_filled, size_t capacity);

#endif
