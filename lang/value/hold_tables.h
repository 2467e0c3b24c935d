/*
 * lang/value/hold_tables.h - the two tables of lang/value/hold.c: the names of containers' items, and the names that
 * hold a parameter.
 *
 * For:            lang/value/hold.c; the vm has one of each.
 * Must not know:  containers, events.
 * Invariant:      a text that was handed out lives as long as the vm.
 *
 * A list of all parameters is held and dropped several times a step: its items' names are made once, and found in
 * constant time.
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
    (1 << 20) /* a larger one is the key of a dict: its name is made each time */

/*
 * The items of the container of this name. word NULL: those with numbers (number_count of them have been needed so
 * far), else the one item with this interned word.
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
    struct vs_arena *texts; /* of the numbers; NULL until one is needed */
};

/*
 * A name that holds a parameter. next: number of the one before it (eng_tensor.user is the last one), from 1; 0: none.
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
    uint32_t unused; /* chain of those that can be taken again */
};

/*
 * "feats" and 2 give "feats[2]"; "state" and "m" give "state['m']"; any other key gives "state[...]". `container` is a
 * text that lives as long as the vm, as the answer does.
 */
const char *lang_item_name(struct lang_vm *vm, const char *container, struct lang_value key);
/* "feats[0]" to "feats[count - 1]"; the array is valid until the next call. count > 0. */
struct eng_name *lang_item_numbers(struct lang_vm *vm, const char *container, uint32_t count);
/* Is an item with this key called by its number, as one of those? */
static inline bool lang_is_numbered(struct lang_value key)
{
    return lang_is_int(key) && key.as.i >= 0 && key.as.i < LANG_MOST_NUMBERS;
}

/*
 * `name` is copied, its `next` is not read. Remove takes out the latest equal one, and does nothing where there is
 * none.
 */
void lang_tensor_names_add(struct lang_tensor_names *names, struct eng_tensor *t,
                           const struct lang_tensor_name *name);
void lang_tensor_names_remove(struct lang_tensor_names *names, struct eng_tensor *t,
                              const struct lang_tensor_name *name);

/* The names that hold t, in the order in which they began to. Returns how many; *out is the caller's, by vs_free. */
uint32_t lang_tensor_names_of(const struct lang_tensor_names *names, const struct eng_tensor *t,
                              struct lang_tensor_name **out);

void lang_hold_tables_release(struct lang_vm *vm);

#endif
