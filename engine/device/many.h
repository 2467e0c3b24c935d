/*
 * engine/device/many.h - runs a list of elementwise calls one after the other.
 *
 * For:            devices without a better way for a list, or for some of its items.
 * Must not know:  which device.
 * Invariant:      the values are those of the single calls.
 */
#ifndef ENG_DEVICE_MANY_H
#define ENG_DEVICE_MANY_H

#include "engine/device/kernels.h"

static inline void eng_many_item_run(const struct eng_kernels *k, const struct eng_many *m,
                                     const struct eng_many_item *t)
{
    const double p[4] = {t->p};

    switch (m->kind) {
    case ENG_MANY_UNARY:
        k->unary((enum eng_unary)m->op, &t->x, &t->out, p);
        break;
    case ENG_MANY_BINARY:
        k->binary((enum eng_binary)m->op, t->out.dtype, &t->x, &t->a, &t->out, p);
        break;
    case ENG_MANY_TERNARY:
        k->ternary((enum eng_ternary)m->op, t->out.dtype, &t->x, &t->a, &t->b, &t->out, p);
        break;
    case ENG_MANY_UNSCALE:
        k->unscale(&t->x, &t->a, &t->b);
        break;
    }
}

static inline void eng_many_run(const struct eng_kernels *k, const struct eng_many *m)
{
    for (int i = 0; i < m->count; i++)
        eng_many_item_run(k, m, &m->items[i]);
}

#endif
