/*
 * lang/interp/interp_with.c - the with statement.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  what a context manager does.
 * Invariant:      the context manager is held until its exit has been called. A mode of the engine is restored also
 *                 after a failure in the body; __exit__ of an object of the net is called when the body ends or
 *                 returns, not after a failure, which ends the run.
 */
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/value/context.h"

static enum lang_flow run_item(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s,
                               uint32_t i);

/* A mode of the engine: [context] stays on the stack. */
static enum lang_flow run_mode(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s,
                               uint32_t i)
{
    const struct lang_with_item *item = &s->u.with.items[i];
    struct lang_context *c = vm->sp[-1].as.context;
    enum lang_flow flow = LANG_FLOW_NEXT;

    if (!lang_context_enter(vm, c))
        return LANG_FLOW_FAILED;
    if (item->target != NULL) {
        lang_push(vm, c->what == LANG_CONTEXT_AUTOCAST ? lang_keep(vm->sp[-1]) : lang_none());
        if (!lang_store(vm, f, item->target))
            flow = LANG_FLOW_FAILED;
    }
    if (flow == LANG_FLOW_NEXT)
        flow = run_item(vm, f, s, i + 1);
    f->at = item->context;
    lang_line(vm, f, item->context->span.line);
    lang_context_exit(vm, c);
    if (flow == LANG_FLOW_FAILED)
        return flow;
    lang_drop(vm, lang_pop(vm));
    return flow;
}

/* An object with __enter__ and __exit__: [exit, object] stays on the stack. */
static enum lang_flow run_object(struct lang_vm *vm, struct lang_frame *f,
                                 const struct lang_stmt *s, uint32_t i)
{
    const struct lang_with_item *item = &s->u.with.items[i];
    struct lang_value object = vm->sp[-1];
    struct lang_value enter = lang_special(vm, object, LANG_N_enter);
    struct lang_value exit = lang_special(vm, object, LANG_N_exit);
    const struct lang_kwnames no_names = {0, NULL, NULL};
    struct lang_value result;
    enum lang_flow flow;

    if (!lang_is_bound(enter) || !lang_is_bound(exit)) {
        lang_fail(vm, VS_E_TYPE, "`with` needs an object with __enter__ and __exit__, not `%s`",
                  lang_type_name(vm, object));
        return LANG_FLOW_FAILED;
    }
    vm->sp[-1] = lang_keep(exit);
    lang_push(vm, object);
    if (!lang_call_special(vm, enter, object, NULL, 0, &result))
        return LANG_FLOW_FAILED;
    lang_push(vm, result);
    if (item->target == NULL)
        lang_drop(vm, lang_pop(vm));
    else if (!lang_store(vm, f, item->target))
        return LANG_FLOW_FAILED;
    flow = run_item(vm, f, s, i + 1);
    if (flow == LANG_FLOW_FAILED)
        return flow;
    f->at = item->context;
    lang_line(vm, f, item->context->span.line);
    for (int k = 0; k < 3; k++)
        lang_push(vm, lang_none());
    if (!lang_call_at(vm, vm->sp - 5, 4, &no_names))
        return LANG_FLOW_FAILED;
    lang_drop(vm, lang_pop(vm));
    return flow;
}

static enum lang_flow run_item(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s,
                               uint32_t i)
{
    if (i == s->u.with.count)
        return lang_exec_block(vm, f, &s->u.with.body);
    if (!lang_eval(vm, f, s->u.with.items[i].context))
        return LANG_FLOW_FAILED;
    lang_at(vm, f, s->u.with.items[i].context);
    if (vm->sp[-1].kind == LANG_CONTEXT)
        return run_mode(vm, f, s, i);
    return run_object(vm, f, s, i);
}

enum lang_flow lang_exec_with(struct lang_vm *vm, struct lang_frame *f, const struct lang_stmt *s)
{
    return run_item(vm, f, s, 0);
}
