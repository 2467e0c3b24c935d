/*
 * lang/value/hold.h - emits the events that say which name holds which tensor.
 *
 * For:            frames, attributes, containers.
 * Must not know:  how the events are used (the analysis of why a tensor is still alive).
 * Invariant:      every hold is followed by exactly one drop with the same tensor, kind, name and scope. Without
 *                 an observer nothing is done.
 *
 * A name that refers to a list, tuple or dict also holds the tensors in it, as items: "feats[2]", "state['m']". The
 * container keeps a list of the names that refer to it (struct lang_holding), so that events are also emitted for items
 * added or removed later. Containers nested deeper than LANG_HOLD_DEPTH are not followed.
 */
#ifndef LANG_HOLD_H
#define LANG_HOLD_H

#include "base/event.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

#define LANG_HOLD_DEPTH 3

/* One name that refers to a container, in the container's list of them. depth: 0 for the outermost container. */
struct lang_holding {
    struct lang_holding *next;
    const char *name; /* of the container: "feats"; interned */
    const char *scope;
    uint32_t depth;
};

/* Whether v is a tensor or a container, so that a name bound to it may hold tensors. */
static inline bool lang_can_hold(struct lang_value v)
{
    return v.kind == LANG_TENSOR || (v.kind >= LANG_TUPLE && v.kind <= LANG_DICT);
}

/*
 * lang_hold: emits hold events for v, or for the tensors in it, because `name` in `scope` now refers to v.
 * lang_unhold: emits the matching drop events. Both strings must live as long as the vm. Call only if vm->observed.
 */
void lang_hold(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
               const char *scope);
void lang_unhold(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
                 const char *scope);

/* The same for one tensor: emits a hold event if `on`, else a drop event. */
void lang_hold_tensor(struct lang_vm *vm, struct eng_tensor *t, enum vs_holder holder,
                      const char *name, const char *scope, bool on);
/*
 * Does `p.data = t`. Emits a drop and a hold event for each holder of the parameter, as it now holds other memory.
 */
void lang_set_data(struct lang_vm *vm, struct eng_tensor *p, struct eng_tensor *t);

/*
 * Emit the events for one item that was added to, or is removed from, a container with names. key: index or dict key.
 */
void lang_hold_item(struct lang_vm *vm, struct lang_holding *held_by, struct lang_value key,
                    struct lang_value item);
void lang_unhold_item(struct lang_vm *vm, struct lang_holding *held_by, struct lang_value key,
                      struct lang_value item);
/* The same for all items of a list: unhold before the order of its items changes, hold after it. */
void lang_hold_items(struct lang_vm *vm, struct lang_list *list);
void lang_unhold_items(struct lang_vm *vm, struct lang_list *list);

/* Frees the names of a container that is freed. The drops of its items must have been emitted before. */
void lang_holding_forget(struct lang_vm *vm, struct lang_holding **held_by);

#endif
