/*
 * lang/torch/nn_module.h - nn.Module, in C.
 *
 * For:            attribute access and calls of modules, which happen thousands of times a step.
 * Must not know:  which layers exist (lang/prelude/nn.py).
 * Invariant:      a parameter, buffer or child is in exactly one of the three dicts or among the plain attributes,
 *                 never in two.
 */
#ifndef LANG_NN_MODULE_H
#define LANG_NN_MODULE_H

#include "lang/interp/call.h"
#include "lang/value/type.h"

/* The class, and its methods. */
void lang_module_register(struct lang_vm *vm);
void lang_module_tree_register(struct lang_vm *vm, struct lang_class *cls);
void lang_module_apply_register(struct lang_vm *vm, struct lang_class *cls);

/* Attributes, calls and death of modules. */
extern const struct lang_module_type lang_module_type;

/*
 * Its path in the model becomes known (`path` lives as long as the vm): locations and holders have it from now on.
 */
void lang_module_set_path(struct lang_vm *vm, struct lang_module_instance *m, const char *path);
/* m._buffers[name] = value (taken); the entry exists. */
void lang_module_set_buffer(struct lang_vm *vm, struct lang_module_instance *m,
                            struct lang_string *name, struct lang_value taken);

/* Self of a method, which must have been initialised. */
VS_MUST_USE bool lang_module_self(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_module_instance **out);
/* A method of the class. `name` and `data` live as long as the vm. */
void lang_module_method(struct lang_vm *vm, struct lang_class *cls, const char *name,
                        lang_native_fn *fn, const void *data);

/*
 * Each distinct module below m with its path below `prefix`: m first, then its children in order, each with what is
 * below it. Stops where the callback returns false, and returns that. prefix NULL: all paths are NULL, which costs
 * less.
 */
typedef bool lang_module_visit_fn(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                                  const char *path);
VS_MUST_USE bool lang_module_walk(struct lang_vm *vm, struct lang_module_instance *m,
                                  const char *prefix, lang_module_visit_fn *visit, void *user);

#endif
