/*
 * lang/torch/nn_module.h - nn.Module, written in C.
 *
 * For:            attribute access and calls of modules, which happen thousands of times per step.
 * Must not know:  which layers exist (nn_ files of lang/prelude/).
 * Invariant:      a parameter, buffer or child is in exactly one of the three dicts and never also a plain attribute.
 */
#ifndef LANG_NN_MODULE_H
#define LANG_NN_MODULE_H

#include "lang/interp/call.h"
#include "lang/value/type.h"

/* Add the class nn.Module, and its methods in nn_module_tree.c and nn_module_apply.c. */
void lang_module_register(struct lang_vm *vm);
void lang_module_tree_register(struct lang_vm *vm, struct lang_class *cls);
void lang_module_apply_register(struct lang_vm *vm, struct lang_class *cls);

/* Attributes, calls and release of modules. */
extern const struct lang_module_type lang_module_type;

/*
 * Sets the path of m in the model (`path` must live as long as the vm), which is used in locations and hold events.
 */
void lang_module_set_path(struct lang_vm *vm, struct lang_module_instance *m, const char *path);
/* m._buffers[name] = value (taken), for an existing buffer. */
void lang_module_set_buffer(struct lang_vm *vm, struct lang_module_instance *m,
                            struct lang_string *name, struct lang_value taken);

/* Sets *out to self, borrowed, of a call of a method. Fails where self is no module or Module.__init__ has not run. */
VS_MUST_USE bool lang_module_self(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_module_instance **out);
/* Adds a method to the class. `name` and `data` must live as long as the vm. */
void lang_module_method(struct lang_vm *vm, struct lang_class *cls, const char *name,
                        lang_native_fn *fn, const void *data);

/*
 * Calls `visit` once for each distinct module of the tree below m, in depth-first order with m first, with its path,
 * which begins with `prefix`. Returns false as soon as `visit` does. prefix NULL: all paths are NULL, which is cheaper.
 */
typedef bool lang_module_visit_fn(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                                  const char *path);
VS_MUST_USE bool lang_module_walk(struct lang_vm *vm, struct lang_module_instance *m,
                                  const char *prefix, lang_module_visit_fn *visit, void *user);

#endif
