/*
 * recording/pickle_internal.h - the values of a pickle in memory.
 *
 * For:            recording/pickle*.c only.
 * Must not know:  how opcodes are done; pickle_packed.c alone reads some again.
 * Invariant:      `used` counts every byte taken for the pickle, the input too, and never exceeds `budget`.
 *
 * A value is a word: three bits say what it is. Small numbers and where a text lies are in the word itself, the rest is an index.
 */
#ifndef REC_PICKLE_INTERNAL_H
#define REC_PICKLE_INTERNAL_H

#include "base/mem.h"
#include "recording/pickle.h"

enum rec_tag { TAG_PLAIN, TAG_INT, TAG_BIG, TAG_FLOAT, TAG_TEXT, TAG_LIST, TAG_TUPLE, TAG_DICT };
#define TAG_BITS 3
#define TAG_OF(v) ((enum rec_tag)((v).bits & 7))
#define PAYLOAD_OF(v) ((v).bits >> TAG_BITS)
#define INT_LIMIT (INT64_C(1) << (63 - TAG_BITS)) /* numbers from -INT_LIMIT to INT_LIMIT - 1 */
#define TEXT_LEN_BITS 21
#define TEXT_LEN_MAX ((UINT64_C(1) << TEXT_LEN_BITS) - 1)
#define TEXT_AT_MAX ((UINT64_C(1) << (64 - TAG_BITS - TEXT_LEN_BITS)) - 1)

enum rec_plain { PLAIN_NONE, PLAIN_FALSE, PLAIN_TRUE };

/*
 * A list or a tuple, or a dict that is not packed. Items in the arena, or of their own (from OWN_CAP on). Of a dict they are its
 * values, and its keys stand behind its `cap` values. is_narrow: dicts only, by their numbers, in 32 bits each. list: the number and one of
 * that whose items (and mark) it shares; 0: of none.
 */
struct rec_box {
    void *items;
    uint32_t count;
    uint32_t cap;
    uint32_t mark;
    uint32_t is_narrow : 1;
    uint32_t list : 31;
};
#define REC_LISTS_MAX ((UINT32_C(1) << 31) - 2)

/* The items of lists that are written as bytes[at … at + len - 1]. next: the number and one of what followed last time. */
struct rec_list {
    uint32_t *items;
    uint64_t at;
    uint32_t len;
    uint32_t count;
    uint32_t mark;
    uint32_t next;
};
#define OWN_CAP 1024

/*
 * A dict, in one word. DICT_BOXED: the number of its box. Else it is packed: it stays as it was written, and the word has where its
 * first key stands (0: it is empty) and above that its mark.
 */
#define DICT_BOXED (UINT64_C(1) << 63)
#define DICT_AT_BITS 36
#define DICT_AT_MAX ((UINT64_C(1) << DICT_AT_BITS) - 1)
#define DICT_MARK_MAX ((UINT64_C(1) << (63 - DICT_AT_BITS)) - 1)

/* A value of a packed dict that more than one opcode made: it stands in bytes[at … end - 1]. */
struct rec_nested {
    uint64_t at;
    uint64_t end;
    struct rec_value value;
};

/* number: of the key; text: that was it, 0: none yet. */
struct rec_key_seen {
    uint64_t text;
    uint32_t number;
};
#define KEYS_SEEN 1024

/* fits: it is one of 64 bits; -2^63 … -1 as two's complement. */
struct rec_big {
    uint64_t bits;
    bool fits;
};

struct rec_key {
    uint64_t hash;
    struct rec_value text;
};

/* Open addressing: number + 1, 0 is free; a power of two, at most half full. */
struct rec_slots {
    uint32_t *at;
    size_t count;
};

/*
 * side  texts that had to be decoded; they follow the input: a text at bytes_len + n is side[n …]
 * memo  by number; what nothing was put under is a value that no opcode makes. Packed dicts refer to it. memo_put: how many were
 *       put, which is the number that MEMOIZE takes
 */
struct rec_shapes;
struct rec_pickle {
    const char *bytes;
    size_t bytes_len;
    struct vs_arena *arena;
    char *side;
    size_t side_len, side_cap;
    struct rec_value *memo;
    size_t memo_count, memo_cap, memo_put;
    struct rec_box *boxes;
    size_t box_count, box_cap;
    uint64_t *dicts;
    size_t dict_count, dict_cap;
    struct rec_nested *nested; /* ascending */
    size_t nested_count, nested_cap;
    size_t *nested_next; /* behind the one that was asked for last */
    struct rec_list *lists;
    size_t list_count, list_cap;
    struct rec_slots list_slots;
    uint32_t list_last; /* the number and one of the last list that was one of these; 0: none */
    struct rec_big *bigs;
    size_t big_count, big_cap;
    double *floats;
    size_t float_count, float_cap;
    struct rec_key *keys;
    size_t key_count, key_cap;
    struct rec_slots key_slots;
    struct rec_shapes *shapes;
    struct rec_key_seen key_seen[KEYS_SEEN]; /* by where the text is: most are the same again */
    struct rec_value top;
    uint64_t used;
    uint64_t budget;
};

/* Each is false where the budget does not allow it; nothing has changed then. */
VS_MUST_USE bool rec_pickle_take(struct rec_pickle *p, uint64_t bytes);
/* vs_grow within the budget; vec is the address of a pointer to whatever the elements are. */
VS_MUST_USE bool rec_pickle_more(struct rec_pickle *p, void *vec, size_t *cap, size_t elem_size);
VS_MUST_USE static inline bool rec_pickle_grow(struct rec_pickle *p, void *vec, size_t count,
                                               size_t *cap, size_t elem_size)
{
    return count < *cap || rec_pickle_more(p, vec, cap, elem_size);
}

/* What a memo entry is that nobody has put: no value has it. */
#define REC_MEMO_UNSET (UINT64_MAX & ~UINT64_C(7))

static inline struct rec_value rec_value_of(enum rec_tag tag, uint64_t payload)
{
    return (struct rec_value){payload << TAG_BITS | (uint64_t)tag};
}

/* An empty text is at 0: at the very end it would look like one of the decoded ones. */
static inline struct rec_value rec_pickle_text_at(uint64_t at, uint64_t len)
{
    return rec_value_of(TAG_TEXT, len ? at << TEXT_LEN_BITS | len : 0);
}

/* ---- pickle.c ---- */

/* rec_pickle_read; is_plain: nothing is packed or shared. *has_doubt: a failure only because it must be read plainly. */
VS_MUST_USE enum vs_status rec_pickle_read_once(const char *bytes, size_t len, bool is_plain,
                                                bool *has_doubt, struct rec_pickle **out,
                                                struct vs_error *err);

/* ---- pickle_value.c ---- */

VS_MUST_USE bool rec_pickle_int(struct rec_pickle *p, int64_t n, struct rec_value *out);
VS_MUST_USE bool rec_pickle_big(struct rec_pickle *p, struct rec_big big, struct rec_value *out);
VS_MUST_USE bool rec_pickle_float(struct rec_pickle *p, double d, struct rec_value *out);
/* An empty list, tuple or dict. */
VS_MUST_USE bool rec_pickle_box(struct rec_pickle *p, enum rec_tag tag, struct rec_value *out);

struct rec_slot;
VS_MUST_USE bool rec_pickle_append(struct rec_pickle *p, struct rec_value list,
                                   const struct rec_slot *items, size_t count);
/* pairs: `count` times key, value. Keys are texts (the caller has looked). A packed dict is unpacked first. */
VS_MUST_USE bool rec_pickle_set(struct rec_pickle *p, struct rec_value dict,
                                const struct rec_slot *pairs, size_t count);
/* The same, packed; `count` is not 0, and the pairs end at `end`. False without *no_memory: rec_pickle_set must do it. */
VS_MUST_USE bool rec_pickle_pack(struct rec_pickle *p, struct rec_value dict,
                                 const struct rec_slot *pairs, size_t count, uint64_t end,
                                 bool *no_memory);

/* ---- pickle_key.c ---- */

VS_MUST_USE bool rec_slots_double(struct rec_pickle *p, struct rec_slots *slots);
void rec_slots_put(struct rec_slots *slots, uint64_t hash, size_t number);
/* The number of a key, a new one where it was not there yet. */
VS_MUST_USE bool rec_key_add(struct rec_pickle *p, struct rec_value text, uint32_t *out);
/* The number of a key that was added. */
uint32_t rec_key_number(const struct rec_pickle *p, struct rec_value text);

#endif
