/*
 * lang/builtins/builtins.h - what every net file finds without importing anything, and the module math.
 *
 * For:            the machine, when it is made.
 * Must not know:  tensors' ops.
 * Invariant:      a name that Python has and that is not here is refused as any other unknown name.
 */
#ifndef LANG_BUILTINS_H
#define LANG_BUILTINS_H

#include "lang/interp/call.h"
#include "lang/value/object.h"

/* A method of a native class; `name` lives as long as the vm. */
void lang_method_add(struct lang_vm *vm, struct lang_class *cls, const char *name,
                     lang_native_fn *fn);
/* Sort in place; on failure the order is unspecified. `key` unbound or None: the items themselves. */
VS_MUST_USE bool lang_list_sort(struct lang_vm *vm, struct lang_list *list, struct lang_value key,
                                bool reverse);
/* dict.update(from) */
VS_MUST_USE bool lang_dict_update(struct lang_vm *vm, struct lang_dict *dict,
                                  struct lang_value from);

/* The classes of all kinds of values (vm->cls), before anything else. */
void lang_classes_make(struct lang_vm *vm);
/* int(), list(), super(), ValueError() …: classes that can be called. */
void lang_types_register(struct lang_vm *vm);
/* print(), len(), sum() … */
void lang_builtins_register(struct lang_vm *vm);
void lang_iter_builtins_register(struct lang_vm *vm);
/* Methods of str, list, tuple, dict, set. */
void lang_str_methods_register(struct lang_vm *vm);
void lang_list_methods_register(struct lang_vm *vm);
void lang_dict_methods_register(struct lang_vm *vm);
void lang_math_register(struct lang_vm *vm);

#endif
