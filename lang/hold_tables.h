/*
 * lang/hold_tables.h - the two tables behind lang/hold.c: what items of containers are called, and which names hold a parameter.
 *
 * For:            lang/hold.c; the vm has one of each.
 * Must not know:  containers, events.
 * Invariant:      a text that was handed out lives as long as the vm.
 *
 * A list of all parameters is held and dropped several times a step: its items' names are made once, and found in constant time.
 */
#ifndef LANG_HOLD_TABLES_H
#define LANG_HOLD_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "lang/value.h"

struct lang_vm;
struct lang_string;
struct eng_tensor;

/* An item of the container of this name: by an interned word, by a number, or (INT64_MIN) by anything else. text NULL: free. */
struct lang_item_name {
    const char *container;
    int64_t number;
    const struct lang_string *word;
    const char *text;
};

struct lang_item_names {
    struct lang_item_name *slots;
    size_t size; /* a power of two */
    size_t count;
};

/* A name that holds a parameter. next: number in its chain, from 1; 0 ends it. */
struct lang_tensor_place {
    const struct eng_tensor *tensor; /* not counted */
    const char *name;
    const char *scope;
    enum vs_holder holder;
    uint32_t next;
};

struct lang_tensor_places {
    struct lang_tensor_place *all;
    size_t count, cap;
    size_t live;
    uint32_t unused; /* chain of those that can be taken again */
    uint32_t *chains;
    size_t chain_count; /* a power of two */
};

/*
 * "feats" and 2 give "feats[2]"; "state" and "m" give "state['m']"; any other key gives "state[...]". `container` is a text that lives
 * as long as the vm, as the answer does.
 */
const char *lang_item_name(struct lang_vm *vm, const char *container, struct lang_value key);

/* `place` is copied, its `next` is not looked at. Remove does nothing where there is none. */
void lang_places_add(struct lang_tensor_places *places, const struct lang_tensor_place *place);
void lang_places_remove(struct lang_tensor_places *places, const struct lang_tensor_place *place);
/* The names that hold t, in the order in which they took hold: the first (before NULL), the one after `before`, NULL at the end. */
const struct lang_tensor_place *lang_places_next(const struct lang_tensor_places *places,
                                                 const struct eng_tensor *t,
                                                 const struct lang_tensor_place *before);

void lang_hold_tables_release(struct lang_vm *vm);

#endif
