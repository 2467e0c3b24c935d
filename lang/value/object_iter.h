/*
 * lang/value/object_iter.h - iterators and generators: what is in each, and how it dies.
 *
 * For:            lang/interp/iter.h, which makes them and runs them.
 * Must not know:  how the next item is found.
 * Invariant:      an iterator owns what it runs over until it is exhausted or dies.
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
    LANG_ITER_RANGE,     /* from at by step, `left` times; no source */
    LANG_ITER_ZIP,       /* source: a tuple of iterators */
    LANG_ITER_ENUMERATE, /* source: an iterator; at: the number */
    LANG_ITER_GETITEM,   /* source: an object with __getitem__ or __next__ */
    LANG_ITER_NEXT
};

/*
 * last  the tuple given last (zip, enumerate, items), or unbound
 * size  of a dict at the start: it must not change
 */
struct lang_iter {
    struct lang_obj head;
    enum lang_iter_kind what;
    bool strict;  /* of a zip */
    bool is_view; /* d.items() and its like: not an iterator, each loop gets a new one */
    struct lang_value source;
    struct lang_value last;
    int64_t at;
    int64_t step;
    int64_t left;
    uint32_t size;
};

struct lang_iter *lang_iter_new(struct lang_vm *vm, enum lang_iter_kind what,
                                struct lang_value source_taken) VS_MUST_USE;
void lang_iter_free(struct lang_vm *vm, struct lang_iter *it);

/*
 * A generator expression: its frame, kept between items.
 *
 * slots  as a frame's; cells: captured ones, taken over from where it was made
 * loops  the iterators of its `for` clauses that have started, outermost first
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
/* It gives nothing more; its variables go from the first to the last. */
void lang_generator_finish(struct lang_vm *vm, struct lang_generator *g);

#endif
