/*
 * recording/pickle_internal.h - the values of a pickle in memory.
 *
 * For:            recording/pickle*.c.
 * Must not know:  opcodes.
 * Invariant:      `used` counts every byte allocated for the pickle, including the input, and never exceeds `budget`.
 *
 * A value is a 32-bit word: a tag of three bits, and a small number or an index.
 *
 * The contents of a container are a row of such words. Equal rows and equal texts are stored once: a snapshot of a
 * million events has some hundred distinct stacks, and its dicts have the same keys. Without this, the lists of frames
 * alone would take more memory than the input.
 */
#ifndef REC_PICKLE_INTERNAL_H
#define REC_PICKLE_INTERNAL_H

#include "base/mem.h"
#include "base/table.h"
#include "recording/pickle.h"

/*
 * The payload of each tag:
 *
 * TAG_PLAIN  enum rec_plain
 * TAG_INT    the number itself, from -REC_INT_LIMIT to REC_INT_LIMIT - 1
 * TAG_WIDE   index of `wide`: 64 bits; REC_PAYLOAD_MAX: an integer that does not fit in 64 bits
 * TAG_FLOAT  index of `wide`: the bits of a double
 * TAG_TEXT   index of `texts`
 * TAG_LIST, TAG_DICT  index of `boxes`: they are mutable
 * TAG_TUPLE  index of `words`: its row
 */
enum rec_tag { TAG_PLAIN, TAG_INT, TAG_WIDE, TAG_FLOAT, TAG_TEXT, TAG_LIST, TAG_TUPLE, TAG_DICT };
#define REC_TAG_BITS 3
#define REC_PAYLOAD_MAX ((UINT32_C(1) << (32 - REC_TAG_BITS)) - 1)
#define REC_INT_LIMIT ((int64_t)1 << (31 - REC_TAG_BITS))

enum rec_plain { PLAIN_NONE, PLAIN_FALSE, PLAIN_TRUE };

static inline enum rec_tag rec_tag_of(struct rec_value v)
{
    return (enum rec_tag)(v.bits & ((1u << REC_TAG_BITS) - 1));
}

static inline uint32_t rec_payload_of(struct rec_value v)
{
    return v.bits >> REC_TAG_BITS;
}

static inline struct rec_value rec_value_of(enum rec_tag tag, uint32_t payload)
{
    return (struct rec_value){payload << REC_TAG_BITS | (uint32_t)tag};
}

/* at: offset of its bytes in the input, or (from bytes_len on) in `side`. */
struct rec_text {
    uint64_t at;
    uint32_t len;
};

/*
 * A list: its row, and the row's capacity in items, 0 if the row is shared with other containers. A dict: the row of
 * its values, whose first word is its capacity, and the row of its keys, whose count is that of the values.
 */
struct rec_box {
    uint32_t row;
    union {
        uint32_t cap;
        uint32_t keys;
    };
};

/*
 * words  rows: the number of words, the mark, then the words
 * side   texts that had to be decoded
 */
struct rec_pickle {
    const char *bytes;
    size_t bytes_len;
    char *side;
    size_t side_len, side_cap;
    uint64_t *wide;
    size_t wide_count, wide_cap;
    struct rec_text *texts;
    size_t text_count, text_cap;
    struct vs_table text_table;
    struct rec_box *boxes;
    size_t box_count, box_cap;
    uint32_t *words;
    size_t word_count, word_cap;
    struct vs_table row_table; /* items: offsets of shared rows */
    struct rec_value top;
    uint64_t used;
    uint64_t budget;
};

/*
 * The functions below return false if the budget is exceeded or there are too many values. The pickle can only be freed
 * then.
 */

/* Make space for one more element, like vs_grow(); vec is the address of a pointer to the elements. */
VS_MUST_USE bool rec_pickle_more(struct rec_pickle *p, void *vec, size_t *cap, size_t elem_size);
VS_MUST_USE static inline bool rec_pickle_grow(struct rec_pickle *p, void *vec, size_t count,
                                               size_t *cap, size_t elem_size)
{
    return count < *cap || rec_pickle_more(p, vec, cap, elem_size);
}

/* Initialise a pickle without values. */
VS_MUST_USE bool rec_pickle_begin(struct rec_pickle *p);

VS_MUST_USE bool rec_pickle_int(struct rec_pickle *p, int64_t n, struct rec_value *out);
/* tag: TAG_WIDE or TAG_FLOAT. */
VS_MUST_USE bool rec_pickle_wide(struct rec_pickle *p, enum rec_tag tag, uint64_t bits,
                                 struct rec_value *out);
/* `at` as in struct rec_text. */
VS_MUST_USE bool rec_pickle_text(struct rec_pickle *p, uint64_t at, uint32_t len,
                                 struct rec_value *out);
/* Create an empty list or dict. */
VS_MUST_USE bool rec_pickle_box(struct rec_pickle *p, enum rec_tag tag, struct rec_value *out);
VS_MUST_USE bool rec_pickle_tuple(struct rec_pickle *p, const struct rec_value *items, size_t count,
                                  struct rec_value *out);
VS_MUST_USE bool rec_pickle_append(struct rec_pickle *p, struct rec_value list,
                                   const struct rec_value *items, size_t count);
/* pairs: `count` times key and value. The caller has checked that the keys are texts. */
VS_MUST_USE bool rec_pickle_set(struct rec_pickle *p, struct rec_value dict,
                                const struct rec_value *pairs, size_t count);

#endif
