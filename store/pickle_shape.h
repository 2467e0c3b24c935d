/*
 * store/pickle_shape.h - dicts that have the same keys, written the same, as the ones before.
 *
 * For:            store/pickle*.c only.
 * Must not know:  what is in them.
 * Invariant:      a dict that is taken whole here is packed, and what pickle.c would have left behind is there: the same memo, boxes and
 *                 nested values. What is not as usual is untouched, and left to pickle.c.
 *
 * The events of a snapshot are a million dicts whose keys are the same memo numbers in the same order: one look at eight bytes tells
 * that it is the key that was expected, and where its value stands.
 */
#ifndef STO_PICKLE_SHAPE_H
#define STO_PICKLE_SHAPE_H

#include "store/pickle_machine.h"
#include "store/pickle_packed.h"

#define STO_SHAPES_MAX 16

/* bytes: the key's opcode as it is written, in those bits of a word of eight bytes that `mask` has; len: how many. */
struct sto_shape_key {
    uint64_t bytes;
    uint64_t mask;
    uint32_t len;
    uint32_t number;
};

/* next: which one followed last time. */
struct sto_shape {
    uint32_t count;
    uint32_t next;
    struct sto_shape_key keys[STO_PACKED_PAIRS_MAX];
};

/* taken, read: which one was last. */
struct sto_shapes {
    uint32_t count;
    uint32_t taken;
    uint32_t read;
    struct sto_shape at[STO_SHAPES_MAX];
};

/* What was packed has these keys: others may be written like it. */
void sto_shape_learn(struct sto_pickle *p, const struct sto_slot *pairs, size_t count);

/* The dict that begins at `b` with an EMPTY_DICT, as far as its SETITEMS, where all memo numbers are put. How many bytes; 0: nothing was done. */
size_t sto_shape_take(struct sto_machine *m, const unsigned char *b, struct sto_value *out);

/*
 * sto_value_row of the packed dict whose first key stands at byte `at`; of_key: the column and one of each key. False: its shape is
 * none of these.
 */
VS_MUST_USE bool sto_shape_row(const struct sto_pickle *p, uint64_t at, const uint8_t *of_key,
                               struct sto_value *out, uint64_t *found);

#endif
