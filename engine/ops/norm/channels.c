/*
 * engine/ops/norm/channels.c - see channels.h.
 *
 * Must not know:  which norm asks.
 * Invariant:      a view that is returned shares the tensor's memory.
 */
#include "engine/ops/norm/channels.h"

#include <stddef.h>

#include "engine/core/op_internal.h"

enum vs_dtype eng_norm_dtype(const struct eng_tensor *x)
{
    return x->dtype == VS_F64 ? VS_F64 : VS_F32;
}

struct eng_view eng_norm_channels(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);
    int64_t rest = 1;

    for (int d = 2; d < t->ndim; d++)
        rest *= t->sizes[d];
    v.sizes[2] = rest;
    v.strides[2] = t->ndim > 2 ? t->strides[t->ndim - 1] : 1;
    v.ndim = 3;
    return v;
}

struct eng_tensor *eng_norm_like(struct eng *e, const struct eng_tensor *x, bool last)
{
    int64_t strides[VS_MAX_DIMS];

    if (!last)
        return eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    eng_channels_last_strides(x->sizes, x->ndim, strides);
    return eng_empty_strided(e, x->sizes, strides, x->ndim, (enum vs_dtype)x->dtype,
                             x->storage->on_host);
}

const struct eng_view *eng_norm_opt(const struct eng_tensor *t, struct eng_view *v)
{
    if (!t)
        return NULL;
    *v = eng_v(t);
    return v;
}
