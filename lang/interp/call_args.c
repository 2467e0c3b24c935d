/*
 * lang/interp/call_args.c - functions written in C: reading their arguments, and adding them to modules.
 *
 * For:            lang/interp/call.h.
 * Must not know:  which functions exist.
 * Invariant:      an unknown argument is refused with a message that names the function and the known arguments.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "lang/interp/call.h"

static bool unknown_keyword(struct lang_vm *vm, const char *function, const char *const *names,
                            uint32_t name_count, const struct lang_string *wrong)
{
    struct vs_text list = {NULL, 0, 0};

    for (uint32_t i = 0; i < name_count; i++)
        vs_text_addf(&list, "%s%s", i == 0 ? "" : ", ",
                     names[i][0] == '*' ? names[i] + 1 : names[i]);
    if (name_count == 0)
        lang_fail(vm, VS_E_TYPE, "%s() has no parameter `%s`", function, wrong->text);
    else
        lang_fail_hint(vm, VS_E_TYPE, NULL, "%s() has no parameter `%s`; it has: %s", function,
                       wrong->text, vs_text_get(&list));
    vs_text_release(&list);
    return false;
}

bool lang_args(struct lang_vm *vm, const struct lang_call *call, const char *function,
               const char *const *names, uint32_t name_count, uint32_t required,
               struct lang_value *out)
{
    uint32_t positional = 0;

    while (positional < name_count && names[positional][0] != '*')
        positional++;
    if (call->arg_count > positional)
        return lang_fail(vm, VS_E_TYPE,
                         "%s() takes at most %" PRIu32 " positional argument%s, %" PRIu32 " given",
                         function, positional, positional == 1 ? "" : "s", call->arg_count);
    for (uint32_t i = 0; i < name_count; i++)
        out[i] = i < call->arg_count ? call->args[i] : lang_unbound();
    for (uint32_t k = 0; k < call->kw.count; k++) {
        const struct lang_string *name = lang_kwname(&call->kw, k);
        uint32_t i = 0;

        while (i < name_count && strcmp(names[i] + (names[i][0] == '*'), name->text) != 0)
            i++;
        if (i == name_count)
            return unknown_keyword(vm, function, names, name_count, name);
        if (lang_is_bound(out[i]))
            return lang_fail(vm, VS_E_TYPE, "%s() got two values for the argument `%s`", function,
                             name->text);
        out[i] = call->args[call->arg_count + k];
    }
    for (uint32_t i = 0; i < required; i++) {
        if (!lang_is_bound(out[i]))
            return lang_fail(vm, VS_E_TYPE, "%s() needs the argument `%s`", function,
                             names[i] + (names[i][0] == '*'));
    }
    return true;
}

bool lang_args_exact(struct lang_vm *vm, const struct lang_call *call, const char *function,
                     uint32_t count)
{
    if (call->kw.count > 0)
        return lang_fail(vm, VS_E_TYPE, "%s() takes no keyword arguments", function);
    if (call->arg_count == count)
        return true;
    return lang_fail(vm, VS_E_TYPE, "%s() takes %" PRIu32 " argument%s, %" PRIu32 " given",
                     function, count, count == 1 ? "" : "s", call->arg_count);
}

struct lang_tuple *lang_args_tuple(struct lang_vm *vm, const struct lang_call *call, uint32_t from)
{
    uint32_t count = call->arg_count > from ? call->arg_count - from : 0;
    struct lang_tuple *t = lang_tuple_new(vm, count);

    for (uint32_t i = 0; i < count; i++)
        t->items[i] = lang_keep(call->args[from + i]);
    return t;
}

void lang_native(struct lang_vm *vm, const char *space, const char *name, lang_native_fn *fn,
                 const void *data)
{
    struct lang_dict *names = vm->builtins;
    const char *full = name;
    char text[128];

    if (strcmp(space, "builtins") != 0) {
        struct lang_value *v = lang_dict_find(vm->spaces, lang_intern_text(vm, space));

        VS_ASSERT(v != NULL);
        names = v->as.space->names;
        (void)snprintf(text, sizeof(text), "%s.%s", space, name);
        full = lang_intern_text(vm, text)->text;
    }
    lang_dict_put(vm, names, lang_intern_text(vm, name),
                  lang_object(lang_builtin_new(vm, full, fn, data)));
}
