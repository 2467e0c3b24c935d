/*
 * recording/pickle_shape.h - dicts that have the same keys, written the same, as the ones before.
 *
 * For:            recording/pickle*.c only.
 * Must not know:  what is in them.
 * Invariant:      a dict that is taken whole here is packed, and what pickle.c would have left behind is there: the same memo, boxes and
 *                 nested values. What is not as usual is untouched, and left to pickle.c.
 *
 * The events of a snapshot are a million dicts whose keys are the same memo numbers in the same order: one look at eight bytes tells
 * that it is the key that was expected, and where its value stands.
 */
#ifndef REC_PICKLE_SHAPE_H
#define REC_PICKLE_SHAPE_H

#include "recording/pickle_machine.h"
#include "recording/pickle_packed.h"

#define REC_SHAPES_MAX 16

/* bytes: the key's opcode as it is written, in those bits of a word of eight bytes that `mask` has; len: how many. */
struct rec_shape_key {
    uint64_t bytes;
    uint64_t mask;
    uint32_t len;
    uint32_t number;
};

/* next: which one followed last time. */
struct rec_shape {
    uint32_t count;
    uint32_t next;
    struct rec_shape_key keys[REC_PACKED_PAIRS_MAX];
};

/* taken, read: which one was last. */
struct rec_shapes {
    uint32_t count;
    uint32_t taken;
    uint32_t read;
    struct rec_shape at[REC_SHAPES_MAX];
};

/* What was packed has these keys: others may be written like it. */
void rec_shape_learn(struct rec_pickle *p, const struct rec_slot *pairs, size_t count);

/* The dict that begins at `b` with an EMPTY_DICT, as far as its SETITEMS, where all memo numbers are put. How many bytes; 0: nothing was done. */
size_t rec_shape_take(struct rec_machine *m, const unsigned char *b, struct rec_value *out);

/*
 * rec_value_row of the packed dict whose first key stands at byte `at`; of_key: the column and one of each key. False: its shape is
 * none of these.
 */
VS_MUST_USE bool rec_shape_row(const struct rec_pickle *p, uint64_t at, const uint8_t *of_key,
                               struct rec_value *out, uint64_t *found);

#endif
