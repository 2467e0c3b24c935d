/*
 * recording/pickle_packed.h - small dicts that stay as they were written, and are read again when they are asked for.
 *
 * For:            recording/pickle*.c only.
 * Must not know:  the machine.
 * Invariant:      a dict is packed only if reading it again gives, bit for bit, the keys and values that the machine had. So the memo
 *                 must not change any more: where a number is put twice, the whole pickle is read without packing.
 *
 * A snapshot is a million small dicts: as objects they would be the most of its memory, as bytes they are there already. Keys must be
 * texts, and values one opcode each; what took more (a list, a tuple) is kept beside, with where it began and ended.
 */
#ifndef REC_PICKLE_PACKED_H
#define REC_PICKLE_PACKED_H

#include "recording/pickle_internal.h"

#define REC_PACKED_PAIRS_MAX 32

/* What stands on the machine's stack: a value, and where the first opcode of it is. */
struct rec_slot {
    struct rec_value value;
    uint64_t at;
};

/*
 * Could the `count` pairs that end at `end` be read again? Adds their keys, and those values that were more than one opcode.
 * False without *no_memory: it must be a box.
 */
VS_MUST_USE bool rec_packed_check(struct rec_pickle *p, const struct rec_slot *pairs, size_t count,
                                  uint64_t end, bool *no_memory);

/* The pair at *at, which moves behind it; false: there are no more. `at` comes from a dict's word, and is not 0. */
VS_MUST_USE bool rec_packed_next(const struct rec_pickle *p, uint64_t *at, struct rec_value *key,
                                 struct rec_value *value);

/* What is kept of the value that more than one opcode made, from byte `at` on; NULL: nothing. */
const struct rec_nested *rec_nested_at(const struct rec_pickle *p, uint64_t at);
/* Behind all others. False: the budget does not allow it. */
VS_MUST_USE bool rec_nested_add(struct rec_pickle *p, struct rec_nested nested);

#endif
