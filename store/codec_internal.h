/*
 * store/codec_internal.h - the memory that the encoder and the decoder share.
 *
 * For:            store/codec.c, store/codec_encode.c.
 * Must not know:  SQLite, files.
 * Invariant:      each array of `values` has space for a whole chunk.
 */
#ifndef STO_CODEC_INTERNAL_H
#define STO_CODEC_INTERNAL_H

#include "store/codec.h"

/* A number that needs more bytes is stored in STO_WIDTH_MAX. */
#define STO_WIDTH_SHORT_MAX 5

/* Two bytes can number all entries that the dictionary of a chunk can have. */
#define STO_CODE_WIDTH_MAX 2

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
struct sto_codec {
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

#endif
