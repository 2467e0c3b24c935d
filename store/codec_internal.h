/*
 * store/codec_internal.h - what the two halves of the codec share: its memory.
 *
 * For:            store/codec.c, store/codec_encode.c.
 * Must not know:  SQLite, files.
 * Invariant:      values has room for a whole chunk in each field.
 */
#ifndef STO_CODEC_INTERNAL_H
#define STO_CODEC_INTERNAL_H

#include "store/codec.h"

/* Wider than this is STO_WIDTH_MAX. */
#define STO_WIDTH_SHORT_MAX 5

/* Two bytes number all entries that a dictionary of a chunk can have. */
#define STO_CODE_WIDTH_MAX 2

/* A word that a dictionary has: taken where stamp is the codec's. */
struct sto_dict_slot {
    uint64_t word;
    uint32_t stamp;
    uint32_t code;
};

#define STO_DICT_SLOTS ((size_t)2 * STO_CHUNK_EVENTS_MAX)

/* Codes that other columns may share: one an event, below `count`; count 0: there are none. */
struct sto_code_source {
    enum sto_field field;
    uint32_t width;
    uint32_t count;
    uint32_t *codes;
};

/*
 * values  one array a field, of the events of one kind; when decoding, the entries of its dictionary
 * order   the numbers of a chunk's events, those of a kind side by side
 * words   what is left of a column's values without base, step and unit
 * codes   a column's words as numbers of dictionary entries; by_location, by_b: those that later columns may share
 * bytes   where encoded columns lie; at most STO_WIDTH_MAX bytes of data and as many of dictionary an event and field
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
