/*
 * engine/ops/indexing/index.c - x[...] and x[...] = y.
 *
 * Must not know:  models.
 * Invariant:      an index of ints, slices, None and ... is split into selects, slices and unsqueezes, as in PyTorch;
 *                 a bare `:` makes no op. The tensors in it make one index op on the result.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* ---- x[...] ---- */

/* The state after the ints, slices, None and ... are applied: a tensor and, per dim, an index tensor or NULL. */
struct indexed {
    struct eng_tensor *t; /* counted */
    struct eng_tensor *at[VS_MAX_DIMS];
    int count; /* dims up to the last index tensor; 0: none */
};

static struct eng_tensor *call2(struct eng *e, enum eng_op_id id, struct eng_tensor *t, int64_t a)
{
    struct eng_arg args[] = {eng_at(t), eng_ai(a)};

    return eng_call1(e, id, args);
}

static struct eng_tensor *apply_slice(struct eng *e, struct eng_tensor *t, int dim,
                                      const struct eng_index *item)
{
    struct eng_arg args[] = {eng_at(t), eng_ai(dim),
                             item->has_start ? eng_ai(item->start) : eng_anone(),
                             item->has_stop ? eng_ai(item->stop) : eng_anone(), eng_ai(item->step)};

    return eng_call1(e, ENG_OP_slice, args);
}

/*
 * Whether the slice is the whole dimension, of which no view is made. Up to PyTorch 2.8 a slice without an end was not
 * seen to be: each bare `:` makes a view, and a node.
 */
static bool takes_all(const struct eng *e, const struct eng_index *slice, int64_t size)
{
    return slice->step == 1 && (!slice->has_start || slice->start == 0) &&
           (slice->has_stop ? slice->stop == size : eng_torch(e) > 8);
}

static int dims_taken(const struct eng_index *items, uint32_t count)
{
    int n = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind == ENG_I_TENSOR && items[i].tensor->dtype == VS_BOOL)
            n += items[i].tensor->ndim;
        else if (items[i].kind != ENG_I_NEWAXIS && items[i].kind != ENG_I_ELLIPSIS)
            n++;
    }
    return n;
}

/*
 * An index that is a 0-dim integer tensor is read and used like a number; without data 0 is used, as its value does not
 * change the result's size.
 */
static struct eng_tensor *select_by(struct eng *e, struct eng_tensor *t, int dim,
                                    struct eng_tensor *number)
{
    struct eng_scalar at = {.i = 0};
    struct eng_arg args[] = {eng_at(t), eng_ai(dim), eng_ai(0)};

    if (vs_dtype_is_floating((enum vs_dtype)number->dtype))
        return eng_fail(e, VS_E_TYPE,
                        "tensors used as indices must be long, int, byte or bool tensors, got %s",
                        vs_dtype_name((enum vs_dtype)number->dtype));
    if (eng_has_data(e) && !eng_item(e, number, &at))
        return NULL;
    args[2] = eng_ai(at.i);
    return eng_call1(e, ENG_OP_select, args);
}

static bool take_apart(struct eng *e, struct eng_tensor *x, const struct eng_index *items,
                       uint32_t count, struct indexed *out)
{
    int dim = 0;
    int taken = dims_taken(items, count);

    memset(out, 0, sizeof(*out));
    out->t = eng_ref(x);
    if (taken > x->ndim) {
        eng_fail(e, VS_E_VALUE, "too many indices for tensor of dimension %d", x->ndim);
        return false;
    }
    for (uint32_t i = 0; i < count && out->t; i++) {
        struct eng_tensor *next = NULL;

        switch (items[i].kind) {
        case ENG_I_INT: {
            struct eng_arg args[] = {eng_at(out->t), eng_ai(dim), eng_ai(items[i].start)};

            next = eng_call1(e, ENG_OP_select, args);
            break;
        }
        case ENG_I_SLICE:
            if (count > 1 &&
                takes_all(e, &items[i],
                          out->t->sizes[dim])) /* alone, x[:] is a slice like any other */
                next = eng_ref(out->t);
            else
                next = apply_slice(e, out->t, dim, &items[i]);
            dim++;
            break;
        case ENG_I_NEWAXIS:
            next = call2(e, ENG_OP_unsqueeze, out->t, dim);
            dim++;
            break;
        case ENG_I_ELLIPSIS:
            next = eng_ref(out->t);
            dim += x->ndim - taken;
            break;
        case ENG_I_TENSOR:
            if (items[i].tensor->dtype == VS_BOOL) {
                eng_fail(e, VS_E_UNSUPPORTED,
                         "indexing with a bool mask gives a result whose size depends on the data: "
                         "use torch.where or masked_fill");
                break;
            }
            if (items[i].tensor->ndim == 0 && items[i].tensor->dtype != VS_U8) {
                next = select_by(e, out->t, dim, items[i].tensor);
                break;
            }
            next = eng_ref(out->t);
            out->at[dim++] = items[i].tensor;
            out->count = dim;
            break;
        }
        eng_unref(out->t);
        out->t = next;
    }
    return out->t && !e->failed;
}

void eng_f_getitem(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_getitem_input);
    struct indexed part;

    if (!take_apart(c->e, x, c->a[ARG_getitem_index].v.index, c->a[ARG_getitem_index].count, &part))
        goto out;
    if (part.count) {
        struct eng_arg args[] = {eng_at(part.t), eng_atensors(part.at, part.count)};

        eng_c_give(c, eng_call1(c->e, ENG_OP_index, args));
    } else if (part.t == x) { /* x[...], x[:]: a separate tensor object with the same memory */
        struct eng_arg args[] = {eng_at(x), eng_aints(x->sizes, x->ndim)};

        eng_c_give(c, eng_call1(c->e, ENG_OP_alias, args));
    } else {
        eng_c_give(c, part.t);
        part.t = NULL; /* handed over */
    }
out:
    eng_unref(part.t);
}

void eng_f_alias(struct eng_op_call *c)
{
    eng_c_give(c, eng_alias(eng_c_tensor(c, ARG_alias_input)));
}

/* part[...] = number is a fill; no tensor is made of the number. */
static void set_number(struct eng *e, struct eng_tensor *part, const struct eng_arg *number)
{
    struct eng_arg args[] = {eng_at(part), *number};
    struct eng_ret ret;

    if (eng_call_inplace(e, ENG_OP_fill_, args, &ret))
        eng_ret_release(&ret);
}

/*
 * Whether there is one index tensor with at most one dim, on the device and not int32: PyTorch then fills, and makes no
 * device tensor of the number.
 */
static bool is_one_fill(const struct indexed *part)
{
    const struct eng_tensor *only = NULL;

    for (int i = 0; i < part->count; i++) {
        if (part->at[i] && only)
            return false;
        only = part->at[i] ? part->at[i] : only;
    }
    return only && !only->storage->on_host && only->ndim <= 1 && only->dtype != VS_I32;
}

static void set_indexed(struct eng_op_call *c, struct indexed *part)
{
    struct eng *e = c->e;
    bool is_number = c->a[ARG_setitem_value].kind != ENG_A_TENSOR;
    struct eng_tensor *value = is_number ? eng_full(e, NULL, 0, eng_c_float(c, ARG_setitem_value),
                                                    (enum vs_dtype)part->t->dtype,
                                                    part->t->storage->on_host || is_one_fill(part))
                                         : eng_ref(c->a[ARG_setitem_value].v.tensor);
    struct eng_arg args[] = {eng_at(part->t), eng_atensors(part->at, part->count), eng_at(value),
                             eng_ab(false)};
    struct eng_ret ret;

    if (value && eng_call_inplace(e, ENG_OP_index_put_, args, &ret))
        eng_ret_release(&ret);
    eng_unref(value);
}

/* A value of another shape is expanded before it is copied: a separate node sums its gradient. */
static void set_tensor(struct eng *e, struct eng_tensor *part, struct eng_tensor *value)
{
    struct eng_tensor *whole;

    if (!part)
        return;
    if (eng_same_sizes(part, value) || value->ndim > part->ndim)
        whole = eng_ref(value);
    else
        whole = eng_expand(e, value, part->sizes, part->ndim);
    if (whole)
        eng_copy_into(e, part, whole);
    eng_unref(whole);
}

/* x[index] = value */
void eng_f_setitem(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_setitem_input);
    struct indexed part;

    if (take_apart(c->e, x, c->a[ARG_setitem_index].v.index, c->a[ARG_setitem_index].count,
                   &part)) {
        if (part.count)
            set_indexed(c, &part);
        else if (c->a[ARG_setitem_value].kind != ENG_A_TENSOR)
            set_number(c->e, part.t, &c->a[ARG_setitem_value]);
        else
            set_tensor(c->e, part.t, c->a[ARG_setitem_value].v.tensor);
    }
    eng_unref(part.t);
    eng_c_give(c, eng_ref(x));
}
