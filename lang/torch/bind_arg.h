/*
 * lang/torch/bind_arg.h - converts a value to an argument of an op.
 *
 * For:            lang/torch/bind.c.
 * Must not know:  which op it is for.
 * Invariant:      no failure is noted for a value of the wrong type, as another overload may accept it.
 */
#ifndef LANG_BIND_ARG_H
#define LANG_BIND_ARG_H

#include "lang/torch/bind.h"

/*
 * Memory that the arguments of one call point into. The caller sets `used`, `extra_count` and `has_index` to zero, and
 * calls lang_scratch_release() after the op.
 */
#define LANG_SCRATCH_BYTES 1024
struct lang_scratch {
    _Alignas(16) unsigned char bytes[LANG_SCRATCH_BYTES];
    size_t used;
    void *extra[ENG_MAX_ARGS];
    uint32_t extra_count;
    struct lang_index index;
    bool has_index;
};
void lang_scratch_release(struct lang_vm *vm, struct lang_scratch *scratch);

/* Converts v to *out. *fits: v has a type that the parameter accepts. False: a failure has been noted (a bad index). */
VS_MUST_USE bool lang_arg_of(struct lang_vm *vm, struct lang_scratch *scratch,
                             const struct eng_param *param, struct lang_value v,
                             struct eng_arg *out, bool *fits);
/* Converts positional integers, as in view(2, 3), to one argument of type list; false where one is not an integer. */
bool lang_arg_of_ints(struct lang_scratch *scratch, const struct lang_value *items, uint32_t count,
                      struct eng_arg *out);
/* The accepted types as text for messages: "a tensor", "an integer or a list of integers". */
const char *lang_param_wants(const struct eng_param *param);

#endif
