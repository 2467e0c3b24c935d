/*
 * engine/ops/conv/pad.c - constant_pad_nd: adds a border of one value; negative padding crops.
 *
 * Must not know:  models.
 * Invariant:      the result is channels-last if its input is; if no border is added, the result is a copy in the
 *                 input's memory order, because ATen clones the remaining part.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/*
 * The part of x that remains after negative padding, as a view; a new reference. pad: (last dim before, after, the one
 * before it ...).
 */
static struct eng_tensor *kept_part(struct eng_op_call *c, struct eng_tensor *x, const int64_t *pad,
                                    int pairs)
{
    struct eng_tensor *part = eng_ref(x);

    for (int k = 0; k < pairs && part; k++) {
        int d = x->ndim - 1 - k;
        int64_t from = pad[2 * k] < 0 ? -pad[2 * k] : 0;
        int64_t cut = pad[2 * k + 1] < 0 ? -pad[2 * k + 1] : 0;

        if (x->sizes[d] - from - cut < 0) {
            eng_fail(c->e, VS_E_VALUE, "pad: more is cut off than there is of dimension %d", d);
            eng_slot_set(&part, NULL);
        } else if (from || cut) {
            eng_slot_set(&part, eng_narrow(c->e, part, d, from, x->sizes[d] - from - cut));
        }
    }
    return part;
}

static struct eng_tensor *padded_empty(struct eng_op_call *c, const struct eng_tensor *x,
                                       const int64_t *sizes)
{
    int64_t strides[VS_MAX_DIMS];

    if (!eng_suggests_channels_last(x))
        return eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    eng_channels_last_strides(sizes, x->ndim, strides);
    return eng_empty_strided(c->e, sizes, strides, x->ndim, (enum vs_dtype)x->dtype,
                             x->storage->on_host);
}

/* Fills the result with the value, then copies the remaining part of x into the middle. */
static void fill_in(struct eng_op_call *c, const struct eng_tensor *part, const int64_t *pad,
                    int pairs, const struct eng_tensor *out)
{
    struct eng_view vx = eng_v(part), vo = eng_v(out);

    c->e->kernels->fill(&vo, c->a[ARG_pad_value].v.scalar);
    for (int k = 0; k < pairs; k++) {
        int d = part->ndim - 1 - k;
        int64_t to = pad[2 * k] > 0 ? pad[2 * k] : 0;

        vo.data = (char *)vo.data + (uint64_t)(to * vo.strides[d]) * vs_dtype_bytes(vo.dtype);
        vo.sizes[d] = vx.sizes[d];
    }
    if (eng_numel(part))
        c->e->kernels->copy(&vx, &vo);
}

void eng_f_pad(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_pad_input);
    const int64_t *pad = c->a[ARG_pad_pad].v.ints;
    int pairs = (int)c->a[ARG_pad_pad].count / 2;
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *part, *out;
    bool grows = false;

    if (c->a[ARG_pad_pad].count % 2 || pairs > x->ndim) {
        eng_fail(c->e, VS_E_VALUE,
                 "pad: length of pad must be even and at most twice the input's dimensions (%d)",
                 x->ndim);
        return;
    }
    memcpy(sizes, x->sizes, sizeof(sizes));
    for (int k = 0; k < pairs; k++) {
        sizes[x->ndim - 1 - k] += pad[2 * k] + pad[2 * k + 1];
        grows = grows || pad[2 * k] > 0 || pad[2 * k + 1] > 0;
    }
    part = kept_part(c, x, pad, pairs);
    if (grows)
        out = part ? padded_empty(c, x, sizes) : NULL;
    else
        out = eng_clone(c->e, part);
    if (out && grows && eng_c_computes(c))
        fill_in(c, part, pad, pairs, out);
    eng_unref(part);
    eng_c_give(c, out);
}

void eng_b_pad(struct eng_bw *b)
{
    int64_t back[2 * VS_MAX_DIMS];
    struct eng_arg args[] = {eng_at(b->g[0]), eng_aints(back, (int)b->a[ARG_pad_pad].count),
                             eng_ai(0)};

    for (uint32_t i = 0; i < b->a[ARG_pad_pad].count; i++)
        back[i] = -b->a[ARG_pad_pad].v.ints[i];
    eng_b_give(b, ARG_pad_input, eng_call1(b->e, ENG_OP_pad, args));
}
