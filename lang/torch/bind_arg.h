/*
 * lang/torch/bind_arg.h - one value of a net as one argument of an op.
 *
 * For:            lang/torch/bind.c.
 * Must not know:  which op it is for.
 * Invariant:      a value that does not fit is reported by returning false; nothing is noted, another overload may fit.
 */
#ifndef LANG_BIND_ARG_H
#define LANG_BIND_ARG_H

#include "lang/torch/bind.h"

/* Memory that the arguments of one call point into. Zero-initialise `used`, `extra_count` and `index_count`. */
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

/* *fits says whether v can be this parameter. False: failed, noted (an index out of place). */
VS_MUST_USE bool lang_arg_of(struct lang_vm *vm, struct lang_scratch *scratch,
                             const struct eng_param *param, struct lang_value v,
                             struct eng_arg *out, bool *fits);
/* The ints of view(2, 3) as one int list. */
bool lang_arg_of_ints(struct lang_scratch *scratch, const struct lang_value *items, uint32_t count,
                      struct eng_arg *out);
/* "a tensor", "an integer or a list of integers": what the parameter takes. */
const char *lang_param_wants(const struct eng_param *param);

#endif
