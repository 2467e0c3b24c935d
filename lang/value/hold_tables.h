/*
 * lang/value/hold_tables.h - the two tables of lang/value/hold.c: the names of containers' items, and the names that
 * hold a parameter.
 *
 * For:            lang/value/hold.c; the vm has one of each.
 * Must not know:  containers, events.
 * Invariant:      a returned text lives as long as the vm.
 *
 * A list of all parameters is held and dropped several times per step, so the names of its items are built once and
 * then found in constant time.
 */
#ifndef LANG_HOLD_TABLES_H
#define LANG_HOLD_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/table.h"
#include "lang/value/value.h"

struct lang_vm;
struct vs_arena;
struct lang_string;
struct eng_name;
struct eng_tensor;

#define LANG_MOST_NUMBERS                                                                          \
    (1 << 20) /* a larger index is a key of a dict; its name is built each time */

/*
 * Names of items of the container `container`. word NULL: the items with indices, of which the first number_count have
 * been built; else the one item with this interned string as key, whose name is by_word.
 */
struct lang_item_name {
    const char *container;
    const struct lang_string *word;
    const char *by_word;
    struct eng_name *by_number;
    uint32_t number_count;
    uint32_t number_cap;
};

struct lang_item_names {
    struct lang_item_name *items;
    size_t count;
    size_t cap;
    struct vs_table table;
    struct vs_arena *texts; /* of the names with indices; NULL until one is built */
};

/*
 * A name that holds a parameter. next: position in `all`, counted from 1, of the previous name of the same tensor, 0 if
 * there is none; eng_tensor.user is the position of the latest one.
 */
struct lang_tensor_name {
    const char *name;
    const char *scope;
    enum vs_holder holder;
    uint32_t next;
};

struct lang_tensor_names {
    struct lang_tensor_name *all;
    size_t count, cap;
    uint32_t unused; /* free list of entries, linked through next */
};

/*
 * "feats" and 2 give "feats[2]"; "state" and "m" give "state['m']"; any other key gives "state[...]". `container`
 * must live as long as the vm; so does the result.
 */
const char *lang_item_name(struct lang_vm *vm, const char *container, struct lang_value key);
/* "feats[0]" to "feats[count - 1]"; the array is valid until the next call. count > 0. */
struct eng_name *lang_item_numbers(struct lang_vm *vm, const char *container, uint32_t count);
/* Whether the name of the item with this key is one of lang_item_numbers(). */
static inline bool lang_is_numbered(struct lang_value key)
{
    return lang_is_int(key) && key.as.i >= 0 && key.as.i < LANG_MOST_NUMBERS;
}

/*
 * Adds a name that holds t, or removes the latest equal one; removing does nothing where there is none. `name` is
 * copied and its `next` is ignored.
 */
void lang_tensor_names_add(struct lang_tensor_names *names, struct eng_tensor *t,
                           const struct lang_tensor_name *name);
void lang_tensor_names_remove(struct lang_tensor_names *names, struct eng_tensor *t,
                              const struct lang_tensor_name *name);

/* The names that hold t, oldest first. Returns their number; the caller frees *out with vs_free. */
uint32_t lang_tensor_names_of(const struct lang_tensor_names *names, const struct eng_tensor *t,
                              struct lang_tensor_name **out);

/* Frees both tables of the vm. */
void lang_hold_tables_release(struct lang_vm *vm);

#endif
