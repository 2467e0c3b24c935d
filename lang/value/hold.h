/*
 * lang/value/hold.h - emits the events that say which name holds which tensor.
 *
 * For:            frames, attributes, containers.
 * Must not know:  what is done with it (the replay's "why is this tensor still alive").
 * Invariant:      every hold is followed by exactly one drop with the same tensor, kind, name and scope; nothing
 *                 happens at all while nobody listens.
 *
 * A name that holds a list, tuple or dict holds the tensors in it, as items: "feats[2]", "state['m']". The container
 * keeps its names (struct lang_holding), so that what is put in or taken out later gives events, too. Down to
 * LANG_HOLD_DEPTH containers.
 */
#ifndef LANG_HOLD_H
#define LANG_HOLD_H

#include "base/event.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

#define LANG_HOLD_DEPTH 3

struct lang_holding {
    struct lang_holding *next;
    const char *name; /* of the container: "feats"; interned */
    const char *scope;
    uint32_t depth;
};

/* Whether binding v can hold a tensor at all. */
static inline bool lang_can_hold(struct lang_value v)
{
    return v.kind == LANG_TENSOR || (v.kind >= LANG_TUPLE && v.kind <= LANG_DICT);
}

/*
 * `name` (of `scope`) holds v from now on; no longer holds it. Both strings live as long as the vm. Only while
 * vm->observed.
 */
void lang_hold(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
               const char *scope);
void lang_unhold(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
                 const char *scope);

/* The same for one tensor. on: it is held from now on; else no longer. */
void lang_hold_tensor(struct lang_vm *vm, struct eng_tensor *t, enum vs_holder holder,
                      const char *name, const char *scope, bool on);
/* `p.data = t`. Each holder of the parameter holds other memory from now on: a drop and a hold for each. */
void lang_set_data(struct lang_vm *vm, struct eng_tensor *p, struct eng_tensor *t);

/* An item of a container that has names came in, goes out. The dict's key or the index say which. */
void lang_hold_item(struct lang_vm *vm, struct lang_holding *held_by, struct lang_value key,
                    struct lang_value item);
void lang_unhold_item(struct lang_vm *vm, struct lang_holding *held_by, struct lang_value key,
                      struct lang_value item);
/* All items of a list, before and after its order changes. */
void lang_hold_items(struct lang_vm *vm, struct lang_list *list);
void lang_unhold_items(struct lang_vm *vm, struct lang_list *list);

/* The container dies: its names are freed. The drops of its items must have been emitted before. */
void lang_holding_forget(struct lang_vm *vm, struct lang_holding **held_by);

#endif
