/*
 * lang/interp/call.h - calls: arguments on the vm's stack, functions written in C, keyword arguments.
 *
 * For:            the interpreter, functions written in C.
 * Must not know:  which functions exist.
 * Invariant:      a function written in the net language owns its arguments (rebinding a parameter frees the caller's
 *                 temporary). All other callables (C functions, classes, instances, and f(*args) of anything but such
 *                 a function) borrow them; they are dropped after the call has returned, first the callable, then the
 *                 arguments from the first to the last.
 */
#ifndef LANG_CALL_H
#define LANG_CALL_H

#include "lang/value/object.h"
#include "lang/value/vm.h"

struct lang_keyword;

/* Names of the keyword arguments of a call, which follow the positional ones on the stack. */
struct lang_kwnames {
    uint32_t count;
    /* the keywords in the syntax tree, whose names are looked up in `names` of the net; or NULL, */
    const struct lang_keyword *ast;
    struct lang_string *const *names; /* in which case these are the names */
};

/* The name of keyword argument `i`, borrowed. */
struct lang_string *lang_kwname(const struct lang_kwnames *kw, uint32_t i);

/*
 * The arguments of a function written in C. All values are borrowed.
 *
 * args     arg_count positional ones (of a method, self first), then the keyword arguments in the order of kw
 * builtin  the called function; NULL where a class is called, which is then `cls`
 */
struct lang_call {
    struct lang_value *args;
    uint32_t arg_count;
    struct lang_kwnames kw;
    struct lang_builtin *builtin;
    struct lang_class *cls;
};

/*
 * Calls the value at `at` on the stack with the `arg_count` values above it and, above those, one value for each name
 * of kw. Consumes all of them and leaves the result at `at`. False: a failure is noted, and the values stay on the
 * stack, where lang_frame_leave() drops them.
 */
VS_MUST_USE bool lang_call_at(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                              const struct lang_kwnames *kw);
/* The same for f(*args, **kwargs): at[0] is the callable, at[1] a tuple, at[2] a dict or unbound. */
VS_MUST_USE bool lang_call_spread(struct lang_vm *vm, struct lang_value *at);

/* Calls a value from C code. The callable and the arguments are borrowed; *out is a new reference. */
VS_MUST_USE bool lang_call_value(struct lang_vm *vm, struct lang_value callable,
                                 const struct lang_value *args, uint32_t arg_count,
                                 struct lang_value *out);

/*
 * Assigns the arguments of a call to parameters of a function written in C. `names` are the parameters in order, of
 * which the first `required` must be given. out[i] is borrowed, unbound where the argument was left out. A parameter
 * whose name starts with "*", which is not part of the name, and all after it are keyword-only. Fails with VS_E_TYPE
 * for missing, unknown or surplus arguments.
 */
VS_MUST_USE bool lang_args(struct lang_vm *vm, const struct lang_call *call, const char *function,
                           const char *const *names, uint32_t name_count, uint32_t required,
                           struct lang_value *out);
/* Checks that a call has exactly `count` positional arguments and no keyword arguments. */
VS_MUST_USE bool lang_args_exact(struct lang_vm *vm, const struct lang_call *call,
                                 const char *function, uint32_t count);

/* Adds a function written in C to a module ("torch.cuda", "builtins"); `name` and `data` live as long as the vm. */
void lang_native(struct lang_vm *vm, const char *space, const char *name, lang_native_fn *fn,
                 const void *data);

#define LANG_ARGS(vm, call, function, required, out, ...)                                          \
    lang_args(vm, call, function, (const char *const[]){__VA_ARGS__},                              \
              (uint32_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)),       \
              required, out)

/* A tuple of all positional arguments from `from` on (new references). */
struct lang_tuple *lang_args_tuple(struct lang_vm *vm, const struct lang_call *call,
                                   uint32_t from) VS_MUST_USE;

#endif
