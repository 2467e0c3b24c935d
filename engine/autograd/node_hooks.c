/*
 * engine/autograd/node_hooks.c - hooks of nodes, and of the end of a backward.
 *
 * Must not know:  what the hooks do.
 * Invariant:      hooks are called in the order in which they were added, each outside the formula of a node: an op
 *                 that a hook runs is no part of backward's arithmetic.
 */
#include "base/mem.h"
#include "engine/autograd/autograd.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"

static void hook_append(struct eng_node_hook **list, const struct eng_hooks *hook)
{
    while (*list)
        list = &(*list)->next;
    *list = vs_calloc(1, sizeof(**list));
    (*list)->hook = *hook;
}

void eng_node_hooks_free(struct eng_node_hook *list)
{
    while (list) {
        struct eng_node_hook *next = list->next;

        list->hook.free_user(list->hook.user);
        vs_free(list);
        list = next;
    }
}

static void hooks_run(struct eng *e, const struct eng_node_hook *list)
{
    const int depth = e->backward_depth;

    e->backward_depth = 0;
    for (; list && !e->failed; list = list->next)
        if (!list->hook.run(list->hook.user, NULL))
            VS_ASSERT(e->failed);
    e->backward_depth = depth;
}

void eng_node_hook_add(struct eng_tensor *t, const struct eng_hooks *hook)
{
    VS_ASSERT(t->grad_fn);
    hook_append(&t->grad_fn->hooks, hook);
}

void eng_node_hooks_run(struct eng *e, const struct eng_node *n)
{
    if (n->hooks)
        hooks_run(e, n->hooks);
}

bool eng_is_in_backward(const struct eng *e)
{
    return e->task_id != 0;
}

void eng_after_backward(struct eng *e, const struct eng_hooks *hook)
{
    if (e->task_id) {
        hook_append(&e->after_backward, hook);
        return;
    }
    hook->free_user(hook->user);
    eng_fail(e, VS_E_AUTOGRAD, "Final callbacks can only be installed during backward pass.");
}

void eng_after_backward_run(struct eng *e)
{
    struct eng_node_hook *list = e->after_backward;

    e->after_backward = NULL;
    hooks_run(e, list);
    eng_node_hooks_free(list);
}
