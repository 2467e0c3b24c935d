/*
 * lang/value/context.c - enters and exits context managers.
 *
 * For:            lang/value/context.h.
 * Must not know:  statements, calls.
 * Invariant:      the mode before each enter is stored by depth, so that one object may be entered several times.
 */
#include "lang/value/context.h"

#include "lang/value/parts.h"
#include "lang/value/vm.h"

struct lang_context *lang_context_new(struct lang_vm *vm, enum lang_context_kind what)
{
    struct lang_context *c = lang_obj_new(vm, LANG_CONTEXT, sizeof(*c));

    c->what = what;
    return c;
}

bool lang_context_enter(struct lang_vm *vm, struct lang_context *c)
{
    bool is_part;

    if (c->depth == LANG_CONTEXT_NESTING)
        return lang_fail(vm, VS_E_UNSUPPORTED, "one context is entered more than %d times at once",
                         LANG_CONTEXT_NESTING);
    switch (c->what) {
    case LANG_CONTEXT_MODE:
        c->before[c->depth] = c->set(vm->eng, c->on);
        break;
    case LANG_CONTEXT_AUTOCAST:
        if (!lang_part_begin(vm, LANG_PART_AUTOCAST, &is_part))
            return false;
        c->autocast_before[c->depth] = eng_autocast_enter(vm->eng, c->autocast);
        break;
    case LANG_CONTEXT_NONE:
        break;
    }
    c->depth++;
    return true;
}

void lang_context_exit(struct lang_vm *vm, struct lang_context *c)
{
    VS_ASSERT(c->depth > 0);
    c->depth--;
    switch (c->what) {
    case LANG_CONTEXT_MODE:
        /* set_grad_enabled() changed the mode when it was created; restore the mode before that */
        c->set(vm->eng, c->acted ? c->found : c->before[c->depth]);
        break;
    case LANG_CONTEXT_AUTOCAST:
        eng_autocast_exit(vm->eng, c->autocast_before[c->depth]);
        break;
    case LANG_CONTEXT_NONE:
        break;
    }
}
