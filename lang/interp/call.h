/*
 * lang/interp/call.h - calling: arguments on the machine's stack, functions in C, arguments by name.
 *
 * For:            the interpreter, functions written in C.
 * Must not know:  which functions there are.
 * Invariant:      a function of the language takes its arguments over (rebinding a parameter frees the caller's
 *                 temporary); everything else (C functions, classes, instances, f(*args) of what is no plain function)
 *                 only borrows them, and they go when the call has returned: first the callable, then the arguments
 *                 from first to last.
 */
#ifndef LANG_CALL_H
#define LANG_CALL_H

#include "lang/value/object.h"
#include "lang/value/vm.h"

struct lang_keyword;

/* Names of the keyword arguments of a call, which follow the positional ones on the stack. */
struct lang_kwnames {
    uint32_t count;
    /* as written in the tree, with `names` of the net; or NULL and */
    const struct lang_keyword *ast;
    struct lang_string *const *names; /* the names one by one */
};

struct lang_string *lang_kwname(const struct lang_kwnames *kw, uint32_t i);

/*
 * What a function in C gets. The values are the caller's.
 *
 * args     arg_count positional ones (for a method, self first), then those of the keywords
 * builtin  the function itself; NULL when a class is called (then `cls` is it)
 */
struct lang_call {
    struct lang_value *args;
    uint32_t arg_count;
    struct lang_kwnames kw;
    struct lang_builtin *builtin;
    struct lang_class *cls;
};

/*
 * Call what lies at `at` on the stack with the `arg_count` values above it and, above those, one value for each name of
 * kw. All of them are consumed, the result is left at `at`. False: the stack is left for the frame to clear.
 */
VS_MUST_USE bool lang_call_at(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                              const struct lang_kwnames *kw);
/* f(*args, **kwargs): at[0] the callable, at[1] a tuple, at[2] a dict or unbound. Otherwise the same. */
VS_MUST_USE bool lang_call_spread(struct lang_vm *vm, struct lang_value *at);

/* Call from C: everything is lent, the result is the caller's. */
VS_MUST_USE bool lang_call_value(struct lang_vm *vm, struct lang_value callable,
                                 const struct lang_value *args, uint32_t arg_count,
                                 struct lang_value *out);

/*
 * Arguments of a function in C by name. `names` are the parameters in order, `required` how many of the first ones must
 * be given; out[i] is borrowed, unbound where left out. A name starting with "*" ends the positional ones (the name
 * itself is what follows it).
 */
VS_MUST_USE bool lang_args(struct lang_vm *vm, const struct lang_call *call, const char *function,
                           const char *const *names, uint32_t name_count, uint32_t required,
                           struct lang_value *out);
/* Exactly `count` positional arguments and no keywords. */
VS_MUST_USE bool lang_args_exact(struct lang_vm *vm, const struct lang_call *call,
                                 const char *function, uint32_t count);

/* Put a function in C into a module ("torch.cuda", "builtins"); `name` and `data` live as long as the vm. */
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
