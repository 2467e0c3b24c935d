/*
 * store/pickle_internal.h - the values of a pickle in memory.
 *
 * For:            store/pickle*.c only.
 * Must not know:  opcodes.
 * Invariant:      `used` counts every byte taken for the pickle, the input too, and never exceeds `budget`.
 *
 * A value is a word: three bits say what it is. Small numbers and where a text lies are in the word itself, the rest is an index.
 */
#ifndef STO_PICKLE_INTERNAL_H
#define STO_PICKLE_INTERNAL_H

#include "base/mem.h"
#include "store/pickle.h"

enum sto_tag { TAG_PLAIN, TAG_INT, TAG_BIG, TAG_FLOAT, TAG_TEXT, TAG_LIST, TAG_TUPLE, TAG_DICT };
#define TAG_BITS 3
#define TAG_OF(v) ((enum sto_tag)((v).bits & 7))
#define PAYLOAD_OF(v) ((v).bits >> TAG_BITS)
#define TEXT_LEN_BITS 21
#define TEXT_LEN_MAX ((UINT64_C(1) << TEXT_LEN_BITS) - 1)
#define TEXT_AT_MAX ((UINT64_C(1) << (64 - TAG_BITS - TEXT_LEN_BITS)) - 1)

enum sto_plain { PLAIN_NONE, PLAIN_FALSE, PLAIN_TRUE };

/*
 * A list, tuple or dict. Items in the arena, or of their own (from OWN_CAP on). The keys of a dict: those of its shape, which it shares
 * with all that have the same keys in the same order; of a large one (SHAPE_NONE) they stand behind its `cap` values.
 */
struct sto_box {
    uint64_t *items;
    uint32_t count;
    uint32_t cap;
    uint32_t mark;
    uint32_t shape;
};
#define OWN_CAP 1024
#define SHAPE_NONE UINT32_MAX
#define SHAPE_KEYS_MAX 32

/* number: of the key; text: that was it, 0: none yet. */
struct sto_key_seen {
    uint64_t text;
    uint32_t number;
};
#define KEYS_SEEN 256

/* Keys shape_keys[first … first + count - 1]. */
struct sto_shape {
    uint64_t hash;
    uint32_t first;
    uint32_t count;
};

/* fits: it is one of 64 bits; -2^63 … -1 as two's complement. */
struct sto_big {
    uint64_t bits;
    bool fits;
};

struct sto_key {
    uint64_t hash;
    struct sto_value text;
};

/* Open addressing: number + 1, 0 is free; a power of two, at most half full. */
struct sto_slots {
    uint32_t *at;
    size_t count;
};

/* side: texts that had to be decoded; they follow the input: a text at bytes_len + n is side[n …]. */
struct sto_pickle {
    const char *bytes;
    size_t bytes_len;
    struct vs_arena *arena;
    char *side;
    size_t side_len, side_cap;
    struct sto_box *boxes;
    size_t box_count, box_cap;
    struct sto_big *bigs;
    size_t big_count, big_cap;
    double *floats;
    size_t float_count, float_cap;
    struct sto_key *keys;
    size_t key_count, key_cap;
    struct sto_slots key_slots;
    struct sto_key_seen
        key_seen[KEYS_SEEN]; /* by where the text is: most keys are the same text again */
    struct sto_shape *shapes;
    size_t shape_count, shape_cap;
    uint32_t *shape_keys;
    size_t shape_key_count, shape_key_cap;
    struct sto_slots shape_slots;
    struct sto_value top;
    uint64_t used;
    uint64_t budget;
};

/* Each is false where the budget does not allow it; nothing has changed then. */
VS_MUST_USE bool sto_pickle_take(struct sto_pickle *p, uint64_t bytes);
/* vs_grow within the budget. */
VS_MUST_USE bool sto_pickle_grow(struct sto_pickle *p, void *vec, size_t count, size_t *cap,
                                 size_t elem_size);
VS_MUST_USE bool sto_pickle_int(struct sto_pickle *p, int64_t n, struct sto_value *out);
VS_MUST_USE bool sto_pickle_big(struct sto_pickle *p, struct sto_big big, struct sto_value *out);
VS_MUST_USE bool sto_pickle_float(struct sto_pickle *p, double d, struct sto_value *out);
VS_MUST_USE bool sto_pickle_box(struct sto_pickle *p, enum sto_tag tag, struct sto_value *out);
VS_MUST_USE bool sto_pickle_append(struct sto_pickle *p, struct sto_value box,
                                   const struct sto_value *items, size_t count);
/* pairs: count times key, value. Keys are texts (the caller has looked). */
VS_MUST_USE bool sto_pickle_set(struct sto_pickle *p, struct sto_value box,
                                const struct sto_value *pairs, size_t count);
struct sto_value sto_pickle_text_at(uint64_t at, uint64_t len);

#endif
