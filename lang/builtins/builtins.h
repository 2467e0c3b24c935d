/*
 * lang/builtins/builtins.h - the built-in names of a net file, and the module math.
 *
 * For:            lang/run/machine.c, which creates a vm.
 * Must not know:  ops on tensors.
 * Invariant:      a Python name that is missing here is refused like any other unknown name.
 */
#ifndef LANG_BUILTINS_H
#define LANG_BUILTINS_H

#include "lang/interp/call.h"
#include "lang/value/object.h"

/* Adds a method to a native class; `name` must live as long as the vm. */
void lang_method_add(struct lang_vm *vm, struct lang_class *cls, const char *name,
                     lang_native_fn *fn);
/*
 * list.sort(key=key, reverse=reverse), stable and in place. `key` unbound or None: items are compared directly. Fails
 * where a comparison or `key` fails; the order is then unspecified.
 */
VS_MUST_USE bool lang_list_sort(struct lang_vm *vm, struct lang_list *list, struct lang_value key,
                                bool reverse);
/* dict.update(from): `from` is a dict or an iterable of pairs. */
VS_MUST_USE bool lang_dict_update(struct lang_vm *vm, struct lang_dict *dict,
                                  struct lang_value from);

/* Creates the classes of all kinds of values (vm->cls). Must be called before the functions below. */
void lang_classes_make(struct lang_vm *vm);
/* Adds everything that this folder has: print(), len() … and what the functions below add. */
void lang_builtins_register(struct lang_vm *vm);
/* Adds the callable classes: int(), list(), super(), ValueError() … */
void lang_types_register(struct lang_vm *vm);
/* Adds sum(), sorted(), zip() … */
void lang_iter_builtins_register(struct lang_vm *vm);
/* Add the methods of str, list, tuple, dict and set, and the module math. */
void lang_str_methods_register(struct lang_vm *vm);
void lang_list_methods_register(struct lang_vm *vm);
void lang_dict_methods_register(struct lang_vm *vm);
void lang_math_register(struct lang_vm *vm);

#endif
