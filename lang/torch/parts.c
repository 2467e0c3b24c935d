/*
 * lang/torch/parts.c - functions of the module torch with which the library reports the parts of a training step.
 *
 * For:            lang/prelude/amp.py and train.py.
 * Must not know:  who listens.
 * Invariant:      none of these functions creates, holds or releases a tensor.
 *
 * docs/internals/prelude.md describes them.
 */
#include <string.h>

#include "lang/interp/call.h"
#include "lang/torch/bind.h"
#include "lang/torch/torch.h"
#include "lang/value/parts.h"

static const struct {
    const char *name;
    enum lang_part part;
} PARTS[] = {
    {"scale", LANG_PART_SCALE},
    {"optimizer", LANG_PART_OPTIMIZER},
    {"zero_grad", LANG_PART_ZERO_GRAD},
};

static bool f_part_begin(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const char *name;
    bool is_part = false;

    if (!lang_args_exact(vm, call, "_part_begin", 1))
        return false;
    name = call->args[0].kind == LANG_STR ? call->args[0].as.str->text : NULL;
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++) {
        if (name && strcmp(PARTS[i].name, name) == 0 &&
            !lang_part_begin(vm, PARTS[i].part, &is_part))
            return false;
    }
    *out = lang_bool(is_part);
    return true;
}

static bool f_part_end(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_part_end", 1))
        return false;
    *out = lang_none();
    return lang_part_end(vm, call->args[0].as.i != 0, true);
}

static bool f_sets_to_none(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_sets_to_none", 0))
        return false;
    *out = lang_bool(lang_sets_to_none(vm));
    return true;
}

void lang_parts_register(struct lang_vm *vm)
{
    lang_native(vm, "torch", "_part_begin", f_part_begin, NULL);
    lang_native(vm, "torch", "_part_end", f_part_end, NULL);
    lang_native(vm, "torch", "_sets_to_none", f_sets_to_none, NULL);
}
