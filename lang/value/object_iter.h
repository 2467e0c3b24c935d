/*
 * lang/value/object_iter.h - iterators and generators: their fields, and how they are freed.
 *
 * For:            lang/interp/iter.h, which creates and runs them.
 * Must not know:  how the next item is computed.
 * Invariant:      an iterator holds a reference to the iterated object until it is exhausted or freed.
 */
#ifndef LANG_OBJECT_ITER_H
#define LANG_OBJECT_ITER_H

#include "lang/value/object.h"

enum lang_iter_kind {
    LANG_ITER_LIST,     /* source: a list */
    LANG_ITER_REVERSED, /* source: a list or tuple, from the end */
    LANG_ITER_TUPLE,
    LANG_ITER_STR,
    LANG_ITER_KEYS, /* source: a dict */
    LANG_ITER_VALUES,
    LANG_ITER_ITEMS,
    LANG_ITER_RANGE,     /* from `at` by `step`, `left` more items; no source */
    LANG_ITER_ZIP,       /* source: a tuple of iterators */
    LANG_ITER_ENUMERATE, /* source: an iterator; at: the index */
    LANG_ITER_FILTER,    /* source: an iterator; function: the test, or None */
    LANG_ITER_MAP,     /* source: a tuple of iterators; function: what is called with their items */
    LANG_ITER_GETITEM, /* source: an object with __getitem__ or __next__ */
    LANG_ITER_NEXT
};

/*
 * source, at, step, left  see enum lang_iter_kind; `at` is the index of the next item unless said otherwise
 * last  the tuple returned last by zip, enumerate and items, or unbound
 * function  of filter and map
 * size  the dict's size at the start of the iteration, which must not change
 */
struct lang_iter {
    struct lang_obj head;
    enum lang_iter_kind what;
    bool strict;  /* zip(strict=True) */
    bool is_view; /* d.items(), d.keys(), d.values(): not an iterator; each loop creates one */
    struct lang_value source;
    struct lang_value last;
    struct lang_value function;
    int64_t at;
    int64_t step;
    int64_t left;
    uint32_t size;
};

struct lang_iter *lang_iter_new(struct lang_vm *vm, enum lang_iter_kind what,
                                struct lang_value source_taken) VS_MUST_USE;
/* Free the object after its last reference was dropped. */
void lang_iter_free(struct lang_vm *vm, struct lang_iter *it);

/*
 * A generator expression, whose frame is kept between items.
 *
 * slots  its local variables and captured cells, as in struct lang_frame
 * loops  the iterators of those `for` clauses that have started, outermost first; loop_count of them
 */
struct lang_generator {
    struct lang_obj head;
    const struct lang_rtcode *code;
    struct lang_value *slots;
    struct lang_value *loops;
    uint32_t loop_count;
    bool is_running;
    bool is_done;
};

void lang_generator_free(struct lang_vm *vm, struct lang_generator *g);
/* Ends the generator and releases its slots from the first to the last. */
void lang_generator_finish(struct lang_vm *vm, struct lang_generator *g);

#endif
