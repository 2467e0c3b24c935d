/*
 * lang/interp/iter.h - iterating: over lists, tuples, dicts, ranges, zip(), enumerate(), generator expressions,
 * tensors.
 *
 * For:            for loops, comprehensions, unpacking, the built-ins that consume.
 * Must not know:  what is done with the items.
 * Invariant:      an iterator holds what it runs over until it is exhausted or dies; zip(), enumerate() and d.items()
 *                 keep their last tuple, and with it the last items, until the next step, as CPython does where nobody
 *                 else has the tuple.
 */
#ifndef LANG_ITER_H
#define LANG_ITER_H

#include "lang/value/object_iter.h"

struct lang_frame;

/* iter(v): *out is the caller's. Fails where v cannot be iterated over. */
VS_MUST_USE bool lang_iter_of(struct lang_vm *vm, struct lang_value v, struct lang_value *out);
/* The next item (the caller's), or unbound at the end. `it` is what lang_iter_of gave. */
VS_MUST_USE bool lang_iter_next(struct lang_vm *vm, struct lang_value it, struct lang_value *out);

/* All items into a new list, the caller's. */
VS_MUST_USE bool lang_list_of(struct lang_vm *vm, struct lang_value v, struct lang_list **out);

/* In interp_comp.c. */
VS_MUST_USE bool lang_generator_next(struct lang_vm *vm, struct lang_generator *g,
                                     struct lang_value *out);

#endif
