/*
 * lang/interp/iter.h - iteration over lists, tuples, dicts, ranges, zip(), enumerate(), generator expressions and
 * tensors.
 *
 * For:            for loops, comprehensions, unpacking, built-in functions that consume iterables.
 * Must not know:  how the items are used.
 * Invariant:      an iterator holds a reference to the iterated object until it is exhausted or freed. zip(),
 *                 enumerate() and d.items() keep their last tuple, and with it its items, until the next iteration,
 *                 as CPython does where the tuple has no other reference.
 */
#ifndef LANG_ITER_H
#define LANG_ITER_H

#include "lang/value/object_iter.h"

struct lang_frame;

/* iter(v), a new reference. Fails with VS_E_TYPE where v is not iterable. */
VS_MUST_USE bool lang_iter_of(struct lang_vm *vm, struct lang_value v, struct lang_value *out);
/* The next item, a new reference, or unbound at the end. `it` is a result of lang_iter_of(). */
VS_MUST_USE bool lang_iter_next(struct lang_vm *vm, struct lang_value it, struct lang_value *out);

/* list(v), a new reference. */
VS_MUST_USE bool lang_list_of(struct lang_vm *vm, struct lang_value v, struct lang_list **out);

/* The next item of a generator expression, a new reference, or unbound at the end. In interp_comp.c. */
VS_MUST_USE bool lang_generator_next(struct lang_vm *vm, struct lang_generator *g,
                                     struct lang_value *out);

#endif
