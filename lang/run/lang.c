/*
 * lang/run/lang.c - calls into a net from C, and values created in C.
 *
 * For:            lang/run/lang.h.
 * Must not know:  how nets are run.
 * Invariant:      after a failure the stack is restored and the vm can be used again.
 */
#include "lang/run/lang.h"

#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"

enum vs_status lang_call(struct lang_vm *vm, struct lang_value callable,
                         const struct lang_value *args, uint32_t arg_count, struct lang_value *out,
                         struct vs_error *err)
{
    int here = 0;
    enum vs_status st = VS_OK;

    if (vm->frame == NULL) {
        vm->c_stack = (const char *)&here;
        lang_spend_begin(vm, vm->options.budget);
    }
    if (!lang_call_value(vm, callable, args, arg_count, out)) {
        st = lang_failure_take(vm, err);
        lang_parked_clear(vm);
    }
    return st;
}

enum vs_status lang_get(struct lang_vm *vm, struct lang_value obj, const char *name,
                        struct lang_value *out, struct vs_error *err)
{
    struct lang_value *sp = vm->sp;

    if (lang_getattr(vm, obj, lang_intern_text(vm, name), out))
        return VS_OK;
    lang_unwind(vm, sp);
    return lang_failure_take(vm, err);
}

struct lang_value lang_global(struct lang_vm *vm, struct lang_net *net, const char *name)
{
    struct lang_value *v = lang_dict_find(net->space->names, lang_intern_text(vm, name));

    return v == NULL ? lang_unbound() : lang_keep(*v);
}

struct lang_value lang_net_value(struct lang_vm *vm, struct lang_net *net)
{
    (void)vm;
    return lang_keep(lang_object(net->space));
}

struct lang_value lang_library(struct lang_vm *vm, const char *name)
{
    struct lang_value *v = lang_dict_find(vm->spaces, lang_intern_text(vm, name));

    return v == NULL ? lang_unbound() : lang_keep(*v);
}

/* ---- values ---- */

struct lang_value lang_value_str(struct lang_vm *vm, const char *text)
{
    return lang_str(vm, text);
}

struct lang_value lang_value_list(struct lang_vm *vm)
{
    return lang_object(lang_list_new(vm, 0));
}

struct lang_value lang_value_dict(struct lang_vm *vm)
{
    return lang_object(lang_dict_new(vm));
}

void lang_value_append(struct lang_vm *vm, struct lang_value list, struct lang_value taken)
{
    VS_ASSERT(list.kind == LANG_LIST);
    lang_list_append(vm, list.as.list, taken);
}

void lang_value_set(struct lang_vm *vm, struct lang_value dict, const char *key,
                    struct lang_value taken)
{
    VS_ASSERT(dict.kind == LANG_DICT);
    lang_dict_put(vm, dict.as.dict, lang_intern_text(vm, key), taken);
}

const char *lang_value_text(struct lang_value v)
{
    return v.kind == LANG_STR ? v.as.str->text : NULL;
}
