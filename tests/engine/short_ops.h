/*
 * tests/engine/short_ops.h - short names for ops and backward, for programs written out in tests of autograd.
 */
#ifndef TESTS_ENGINE_SHORT_OPS_H
#define TESTS_ENGINE_SHORT_OPS_H

#include "engine/autograd/autograd.h"
#include "engine/core/op_internal.h"

typedef struct eng_tensor T;

static inline T *op(struct eng *e, enum eng_op_id id, T *a)
{
    return eng_op1(e, id, a);
}

static inline T *sum(struct eng *e, T *t)
{
    struct eng_arg args[] = {eng_at(t), eng_anone()};

    return t ? eng_call1(e, ENG_OP_sum_all, args) : NULL;
}

/* sum(t) where t is a temporary of the expression */
static inline T *sum_of(struct eng *e, T *t_taken)
{
    T *s = sum(e, t_taken);

    eng_unref(t_taken);
    return s;
}

static inline void in_place(struct eng *e, enum eng_op_id id, T *t, struct eng_arg other)
{
    struct eng_arg args[ENG_MAX_ARGS] = {eng_at(t), other, eng_anone()};
    struct eng_ret ret;

    if (eng_call_inplace(e, id, args, &ret))
        eng_ret_release(&ret);
}

static inline void backward(struct eng *e, T *loss)
{
    if (loss)
        eng_backward(e, &loss, NULL, 1, false);
}

/* loss.backward() on a temporary */
static inline void backward_of(struct eng *e, T *loss_taken)
{
    backward(e, loss_taken);
    eng_unref(loss_taken);
}

static inline T *select0(struct eng *e, T *t, int64_t i)
{
    struct eng_arg args[] = {eng_at(t), eng_ai(0), eng_ai(i)};

    return t ? eng_call1(e, ENG_OP_select, args) : NULL;
}

#endif
