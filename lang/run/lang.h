/*
 * lang/run/lang.h - loads net files, finds their functions and calls them.
 *
 * For:            lang/run/run.c, cli/, whatif/whatif.c, tests.
 * Must not know:  how the language is parsed or run.
 * Invariant:      lang_vm_free() releases every tensor and object of the net.
 */
#ifndef LANG_LANG_H
#define LANG_LANG_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "lang/value/options.h"
#include "lang/value/value.h"

struct eng;
struct lang_library;
struct lang_vm;
struct lang_net;

/*
 * A new vm that runs nets on the engine context `e` (borrowed, must outlive the vm), with the standard library loaded.
 * `options` may be NULL. Fails only if a file of the library has an error. The caller frees *out with lang_vm_free().
 */
VS_MUST_USE enum vs_status lang_vm_new(struct eng *e, const struct lang_options *options,
                                       struct lang_vm **out, struct vs_error *err);
void lang_vm_free(struct lang_vm *vm);
struct eng *lang_vm_eng(struct lang_vm *vm);

/*
 * Parses a net file (UTF-8, `len` bytes) and runs its top level. `file_name` is used in messages.
 * The vm owns *out. On failure `err` has file, line, column, the source line and a caret below the error.
 */
VS_MUST_USE enum vs_status lang_load(struct lang_vm *vm, const char *file_name, const char *text,
                                     size_t len, struct lang_net **out, struct vs_error *err);
/* The value of a module-level name of the net, a new reference; unbound where there is no such name. */
struct lang_value lang_global(struct lang_vm *vm, struct lang_net *net, const char *name);
/* The module object of the net file, whose attributes are its names (net.model, net.batch …); a new reference. */
struct lang_value lang_net_value(struct lang_vm *vm, struct lang_net *net);
/* A module of the library ("torch.optim", "_train"), a new reference; unbound where there is no such module. */
struct lang_value lang_library(struct lang_vm *vm, const char *name);

/* Calls a value with positional arguments (borrowed). *out is a new reference, unbound on failure. */
VS_MUST_USE enum vs_status lang_call(struct lang_vm *vm, struct lang_value callable,
                                     const struct lang_value *args, uint32_t arg_count,
                                     struct lang_value *out, struct vs_error *err);
/* The attribute obj.name, a new reference. */
VS_MUST_USE enum vs_status lang_get(struct lang_vm *vm, struct lang_value obj, const char *name,
                                    struct lang_value *out, struct vs_error *err);

/* New values: a string, an empty list, an empty dict; and adding an item, whose reference passes to the container. */
struct lang_value lang_value_str(struct lang_vm *vm, const char *text);
struct lang_value lang_value_list(struct lang_vm *vm);
struct lang_value lang_value_dict(struct lang_vm *vm);
void lang_value_append(struct lang_vm *vm, struct lang_value list, struct lang_value taken);
void lang_value_set(struct lang_vm *vm, struct lang_value dict, const char *key,
                    struct lang_value taken);
/* The text of a string, borrowed; NULL for anything else. */
const char *lang_value_text(struct lang_value v);

#endif
