/*
 * engine/ops/alias.c - second names: torch.clip is torch.clamp, and so on.
 *
 * Must not know:  what any of the ops does.
 * Invariant:      an alias has its arguments in the same order as the op it stands for.
 */
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

static const enum eng_op_id FIRST_NAMES[ENG_OP_COUNT] = {
    [ENG_OP_absolute] = ENG_OP_abs,        [ENG_OP_negative] = ENG_OP_neg,
    [ENG_OP_clip] = ENG_OP_clamp,          [ENG_OP_multiply] = ENG_OP_mul,
    [ENG_OP_subtract] = ENG_OP_sub,        [ENG_OP_divide] = ENG_OP_div,
    [ENG_OP_true_divide] = ENG_OP_div,     [ENG_OP_swapaxes] = ENG_OP_transpose,
    [ENG_OP_swapdims] = ENG_OP_transpose,  [ENG_OP_moveaxis] = ENG_OP_movedim,
    [ENG_OP_broadcast_to] = ENG_OP_expand, [ENG_OP_concat] = ENG_OP_cat,
    [ENG_OP_concatenate] = ENG_OP_cat,
};

void eng_f_alias_of(struct eng_op_call *c)
{
    struct eng_arg args[ENG_MAX_ARGS] = {0};
    enum eng_op_id id = FIRST_NAMES[c->id];
    struct eng_ret ret;

    for (int i = 0; i < c->e->signatures[c->id].count; i++)
        args[i] = c->a[i];
    if (c->inplace ? eng_call_inplace(c->e, id, args, &ret) : eng_call(c->e, id, args, &ret))
        eng_c_give(c, ret.few[0]);
}
