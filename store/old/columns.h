/*
 * store/old/columns.h - decodes the events of traces of versions 1 to 5, column by column.
 *
 * For:            store/chunk_load.c; the views of these traces (store/view.c).
 * Must not know:  SQLite, files, the meaning of events.
 * Invariant:      the format of these traces does not change any more: plain SQL can decode it, too (store/view.c).
 *
 * A chunk is a sequence of consecutive events. Its events of one kind form a block. Each field of a block that is not 0
 * in all events is stored as a column. With i counting the events of the block from 0, the value of a column is
 *
 *     base + step * i + unit * word(i)            in 64-bit two's complement
 *     word(i) = number(data, i, width), or with a dictionary
 *               number(dict, number(data, i, width), dict_width), where data may be that of another column
 *     number(bytes, i, width) = sum over k < width of bytes[i * width + k] << 7 * k
 *
 * so every byte is below 128, and a width of 0 means the number 0. Widths are 0 to 5, and 10 for larger numbers. The
 * data of a column with a dictionary has width 1 or 2.
 */
#ifndef STO_COLUMNS_H
#define STO_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"
#include "store/codec/codec.h"

/* Payload bits per byte, and the bytes that a 64-bit number takes. A number of more than the first needs the second. */
#define STO_GROUP_BITS 7
#define STO_WIDTH_SHORT_MAX 5
#define STO_WIDTH_MAX 10

/* Two bytes can number all entries that the dictionary of a chunk can have. */
#define STO_CODE_WIDTH_MAX 2

/* Ids in the file: column = block * STO_COLUMN_IDS + field. */
#define STO_COLUMN_IDS 16

/*
 * The fields of an event, numbered as in a trace. SEQ is relative to the first event of the chunk; of tensors, which
 * have the shape in b, it counts from 0 in each block.
 */
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
 * data and dict are borrowed from the caller.
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
bool sto_width_is_legal(uint32_t width);

/* Memory for the dictionaries of a block that is decoded. */
struct sto_columns;

struct sto_columns *sto_columns_new(void) VS_MUST_USE;
void sto_columns_free(struct sto_columns *columns);

/*
 * Decode one block into the events of its chunk: event number s of the chunk is written to events[s].
 *
 * capacity   the number of events in the chunk
 * is_filled  is_filled[s] is set for each event that is written
 *
 * False: the block is damaged (an event is already filled, s is out of range, or the data are too short for the count);
 * the contents of `events` are undefined then.
 */
VS_MUST_USE bool sto_columns_decode(struct sto_columns *columns, const struct sto_block *block,
                                    struct vs_event *events, bool *is_filled, size_t capacity);

#endif
