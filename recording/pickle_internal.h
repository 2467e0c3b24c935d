/*
 * recording/pickle_internal.h - the values of a pickle in memory.
 *
 * For:            recording/pickle*.c only.
 * Must not know:  opcodes.
 * Invariant:      `used` counts every byte allocated for the pickle, the input too, and never exceeds `budget`.
 *
 * A value is a word of 32 bits: three of them are its tag, the others a small number or an index.
 *
 * What a container holds is a row of such words. Equal rows are stored once: the stacks of a snapshot, of which a
 * million events have some hundred different ones, and the keys of its dicts, which are all alike. So are equal
 * texts. This is what keeps a snapshot of a million events small enough; without it the lists of frames alone would
 * take more memory than the input.
 */
#ifndef REC_PICKLE_INTERNAL_H
#define REC_PICKLE_INTERNAL_H

#include "base/mem.h"
#include "base/table.h"
#include "recording/pickle.h"

/*
 * TAG_PLAIN  payload: enum rec_plain
 * TAG_INT    the number itself, from -REC_INT_LIMIT to REC_INT_LIMIT - 1
 * TAG_WIDE   index of `wide`: 64 bits, or REC_PAYLOAD_MAX: a whole number that does not fit in 64 bits
 * TAG_FLOAT  index of `wide`: the bits of a double
 * TAG_TEXT   index of `texts`
 * TAG_LIST, TAG_DICT  index of `boxes`: they can still change
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

/* at: where its bytes begin, in the input, or (from bytes_len on) in `side`. */
struct rec_text {
    uint64_t at;
    uint32_t len;
};

/*
 * A list: its row; how many items there is space for, 0 where the row is shared with others.
 * A dict: the row of its values, whose first word is how many there is space for; the row of its keys, as many as
 * there are values.
 */
struct rec_box {
    uint32_t row;
    union {
        uint32_t cap;
        uint32_t keys;
    };
};

/*
 * words  rows: the count of the words, the mark, then the words
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
    struct vs_table row_table; /* items: where a shared row begins */
    struct rec_value top;
    uint64_t used;
    uint64_t budget;
};

/*
 * All of these are false where the budget does not allow it or there are too many values; the pickle is only good to
 * be freed then.
 */

/* Space for one more element, as vs_grow; vec is the address of a pointer to whatever the elements are. */
VS_MUST_USE bool rec_pickle_more(struct rec_pickle *p, void *vec, size_t *cap, size_t elem_size);
VS_MUST_USE static inline bool rec_pickle_grow(struct rec_pickle *p, void *vec, size_t count,
                                               size_t *cap, size_t elem_size)
{
    return count < *cap || rec_pickle_more(p, vec, cap, elem_size);
}

/* The pickle without any value. */
VS_MUST_USE bool rec_pickle_begin(struct rec_pickle *p);

VS_MUST_USE bool rec_pickle_int(struct rec_pickle *p, int64_t n, struct rec_value *out);
/* tag: TAG_WIDE or TAG_FLOAT. */
VS_MUST_USE bool rec_pickle_wide(struct rec_pickle *p, enum rec_tag tag, uint64_t bits,
                                 struct rec_value *out);
/* `at` as in struct rec_text. */
VS_MUST_USE bool rec_pickle_text(struct rec_pickle *p, uint64_t at, uint32_t len,
                                 struct rec_value *out);
/* An empty list or dict. */
VS_MUST_USE bool rec_pickle_box(struct rec_pickle *p, enum rec_tag tag, struct rec_value *out);
VS_MUST_USE bool rec_pickle_tuple(struct rec_pickle *p, const struct rec_value *items, size_t count,
                                  struct rec_value *out);
VS_MUST_USE bool rec_pickle_append(struct rec_pickle *p, struct rec_value list,
                                   const struct rec_value *items, size_t count);
/* pairs: `count` times key, value. Keys are texts (the caller has checked). */
VS_MUST_USE bool rec_pickle_set(struct rec_pickle *p, struct rec_value dict,
                                const struct rec_value *pairs, size_t count);

#endif
