/*
 * lang/interp/decorate.c - context managers as decorators.
 *
 * For:            lang/interp/decorate.h.
 * Must not know:  which context managers exist.
 * Invariant:      a decorated function holds its arguments in a tuple until it returns, as PyTorch's wrapper does.
 */
#include "lang/interp/decorate.h"

#include <string.h>

#include "lang/value/context.h"

/*
 * [wrapper, args…, kwargs…] with a wrapper made by lang_context_decorate: moves the arguments to a tuple and a
 * dict, which live until the function has returned; the function gets new references.
 */
bool lang_context_run(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                      const struct lang_kwnames *kw)
{
    const struct lang_tuple *pair = at->as.builtin->closure.as.tuple;
    struct lang_context *c = pair->items[0].as.context;
    struct lang_tuple *args = lang_tuple_new(vm, arg_count);
    struct lang_dict *kwargs = lang_dict_new(vm);
    struct lang_value *call;
    struct lang_value result;
    bool ok;

    if (arg_count > 0)
        memcpy(args->items, at + 1, arg_count * sizeof(*at));
    for (uint32_t k = 0; k < kw->count; k++)
        lang_dict_put(vm, kwargs, lang_kwname(kw, k), at[1 + arg_count + k]);
    vm->sp = at + 1;
    if (!lang_reserve(vm, 5)) {
        lang_drop_obj(vm, args);
        lang_drop_obj(vm, kwargs);
        return false;
    }
    lang_push(vm, lang_object(args));
    lang_push(vm, lang_object(kwargs));
    if (!lang_context_enter(vm, c))
        return false;
    call = vm->sp;
    lang_push(vm, lang_keep(pair->items[1]));
    lang_push(vm, lang_keep(at[1]));
    lang_push(vm, lang_keep(at[2]));
    ok = lang_call_spread(vm, call);
    lang_context_exit(vm, c);
    if (!ok)
        return false;
    result = lang_pop(vm);
    vm->sp = at + 1;
    lang_drop(vm, at[1]);
    lang_drop(vm, at[2]);
    lang_drop(vm, at[0]);
    at[0] = result;
    return true;
}

static bool never_called(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    (void)call;
    (void)out;
    return lang_fail(vm, VS_E_RAISED, "a decorated function is called through lang_context_run");
}

bool lang_context_decorate(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                           const struct lang_kwnames *kw)
{
    struct lang_builtin *b;

    if (arg_count != 1 || kw->count != 0 ||
        (at[1].kind != LANG_FUNCTION && at[1].kind != LANG_BUILTIN && at[1].kind != LANG_METHOD))
        return lang_fail(vm, VS_E_TYPE,
                         "use a context with `with` or as a decorator of a function");
    if (at[0]
            .as.context
            ->acted) { /* it is only used as a decorator, so its immediate effect is undone */
        at[0].as.context->acted = false;
        at[0].as.context->set(vm->eng, at[0].as.context->found);
    }
    b = lang_builtin_new(
        vm, at[1].kind == LANG_FUNCTION ? at[1].as.function->code->name->text : "decorated",
        never_called, NULL);
    b->closure = lang_object(lang_tuple_pair(vm, lang_keep(at[0]), lang_keep(at[1])));
    b->head.flags = LANG_BUILTIN_BINDS | LANG_BUILTIN_DECORATED;
    lang_replace(vm, 2, lang_object(b));
    return true;
}
