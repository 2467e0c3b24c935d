/*
 * lang/run/lang.h - running net files: load one, find its functions, call them.
 *
 * For:            lang/run/run.c, cli/, whatif/whatif.c, tests.
 * Must not know:  how the language is parsed or run.
 * Invariant:      after lang_vm_free nothing of the net is left: every tensor it held has been dropped.
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
 * A machine on the engine context `e`, with the whole library loaded. `options` may be NULL. Fails only if the library
 * itself is wrong. e must outlive it.
 */
VS_MUST_USE enum vs_status lang_vm_new(struct eng *e, const struct lang_options *options,
                                       struct lang_vm **out, struct vs_error *err);
void lang_vm_free(struct lang_vm *vm);
struct eng *lang_vm_eng(struct lang_vm *vm);

/*
 * Parse a net file and run its top level. `file_name` is for messages.
 * The net lives until the vm goes. On failure `err` has file, line, column, the line itself and a caret.
 */
VS_MUST_USE enum vs_status lang_load(struct lang_vm *vm, const char *file_name, const char *text,
                                     size_t len, struct lang_net **out, struct vs_error *err);
/* A module-level name of the net, the caller's reference; unbound where there is none. */
struct lang_value lang_global(struct lang_vm *vm, struct lang_net *net, const char *name);
/* The module itself as a value (net.model, net.batch …), the caller's reference. */
struct lang_value lang_net_value(struct lang_vm *vm, struct lang_net *net);
/* A file of the library ("torch.optim", "_train") as a value, the caller's reference; unbound where there is none. */
struct lang_value lang_library(struct lang_vm *vm, const char *name);

/* Call a value with arguments (lent). *out is the caller's. */
VS_MUST_USE enum vs_status lang_call(struct lang_vm *vm, struct lang_value callable,
                                     const struct lang_value *args, uint32_t arg_count,
                                     struct lang_value *out, struct vs_error *err);
/* obj.name, the caller's reference. */
VS_MUST_USE enum vs_status lang_get(struct lang_vm *vm, struct lang_value obj, const char *name,
                                    struct lang_value *out, struct vs_error *err);

/* Values from C: strings, an empty list, an empty dict; adding to them (value taken). */
struct lang_value lang_value_str(struct lang_vm *vm, const char *text);
struct lang_value lang_value_list(struct lang_vm *vm);
struct lang_value lang_value_dict(struct lang_vm *vm);
void lang_value_append(struct lang_vm *vm, struct lang_value list, struct lang_value taken);
void lang_value_set(struct lang_vm *vm, struct lang_value dict, const char *key,
                    struct lang_value taken);
/* The text of a string, borrowed; NULL for anything else. */
const char *lang_value_text(struct lang_value v);

#endif
