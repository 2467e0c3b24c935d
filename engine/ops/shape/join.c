/*
 * engine/ops/shape/join.c - ops that concatenate, repeat, flip and roll tensors.
 *
 * Must not know:  models.
 * Invariant:      the gradients of cat and stack are views of the result's gradient: nothing is copied.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

static void copy_part(struct eng_op_call *c, struct eng_tensor *out, int dim, int64_t start,
                      const struct eng_tensor *x)
{
    struct eng_view vx, vo;

    if (!eng_c_computes(c))
        return;
    vx = eng_v(x);
    vo = eng_v(out);
    vo.data = vo.data
                  ? (char *)vo.data + (uint64_t)(start * vo.strides[dim]) * vs_dtype_bytes(vo.dtype)
                  : NULL;
    vo.sizes[dim] = x->sizes[dim];
    c->e->kernels->copy(&vx, &vo);
}

/* PyTorch skips inputs of shape [0] whatever the others' shape is. */
static bool is_skipped(const struct eng_tensor *t)
{
    return t->ndim == 1 && t->sizes[0] == 0;
}

/* The result is channels-last if every part is. */
static struct eng_tensor *cat_empty(struct eng_op_call *c, const int64_t *sizes,
                                    enum vs_dtype dtype, const struct eng_tensor *first)
{
    int64_t strides[VS_MAX_DIMS];

    for (uint32_t i = 0; i < c->a[ARG_cat_tensors].count; i++) {
        const struct eng_tensor *t = c->a[ARG_cat_tensors].v.tensors[i];

        if (!is_skipped(t) && !eng_suggests_channels_last(t))
            return eng_c_empty(c, sizes, first->ndim, dtype, first);
    }
    if (first->ndim != 4 && first->ndim != 5)
        return eng_c_empty(c, sizes, first->ndim, dtype, first);
    eng_channels_last_strides(sizes, first->ndim, strides);
    return eng_empty_strided(c->e, sizes, strides, first->ndim, dtype, first->storage->on_host);
}

/* tensors of equal sizes but along dim -> one */
void eng_f_cat(struct eng_op_call *c)
{
    struct eng_tensor *const *ts = c->a[ARG_cat_tensors].v.tensors;
    uint32_t count = c->a[ARG_cat_tensors].count;
    const struct eng_tensor *first = NULL;
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    enum vs_dtype dtype;
    int64_t at = 0;
    int dim = 0;

    if (!count) {
        eng_fail(c->e, VS_E_VALUE, "cat: expected a non-empty list of tensors");
        return;
    }
    for (uint32_t i = 0; i < count && !first; i++)
        first = is_skipped(ts[i]) ? NULL : ts[i];
    if (!first)
        first = ts[0];
    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_cat_dim), first->ndim, &dim))
        return;
    memcpy(sizes, first->sizes, sizeof(sizes));
    sizes[dim] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (is_skipped(ts[i]))
            continue;
        for (int d = 0; d < first->ndim || d < ts[i]->ndim; d++) {
            if (first->ndim != ts[i]->ndim || (d != dim && ts[i]->sizes[d] != first->sizes[d])) {
                char ta[ENG_SHAPE_TEXT_MAX], tb[ENG_SHAPE_TEXT_MAX];

                eng_fail(c->e, VS_E_SHAPE,
                         "cat: sizes of tensors must match except in dimension %d: %s and %s", dim,
                         eng_shape_text(first, ta), eng_shape_text(ts[i], tb));
                return;
            }
        }
        sizes[dim] += ts[i]->sizes[dim];
    }
    dtype = eng_result_dtype(ts, (int)count, NULL);
    out = cat_empty(c, sizes, dtype, first);
    if (!out)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (is_skipped(ts[i]))
            continue;
        copy_part(c, out, dim, at, ts[i]);
        at += ts[i]->sizes[dim];
    }
    eng_c_give(c, out);
}

/* each input's gradient is a slice of g */
void eng_b_cat(struct eng_bw *b)
{
    int count = (int)b->a[ARG_cat_tensors].count;
    int64_t dim = b->a[ARG_cat_dim].v.scalar.i;
    int64_t at = 0;

    dim = dim < 0 ? dim + b->g[0]->ndim : dim;
    for (int i = 0; i < count; i++) {
        const struct eng_edge *edge = eng_b_edge(b, ARG_cat_tensors, i);
        int64_t length;

        if (edge->ndim == 1 && edge->sizes[0] == 0) {
            if (eng_edge_is_wanted(edge))
                eng_b_give_at(b, ARG_cat_tensors, i,
                              eng_zeros(b->e, edge->sizes, 1, (enum vs_dtype)b->g[0]->dtype,
                                        b->g[0]->storage->on_host));
            continue;
        }
        length = edge->sizes[dim];
        if (eng_edge_is_wanted(edge))
            eng_b_give_at(b, ARG_cat_tensors, i, eng_narrow(b->e, b->g[0], dim, at, length));
        at += length;
    }
}

void eng_f_stack(struct eng_op_call *c)
{
    struct eng_tensor *const *ts = c->a[ARG_stack_tensors].v.tensors;
    uint32_t count = c->a[ARG_stack_tensors].count;
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    int dim, n = 0;

    if (!count) {
        eng_fail(c->e, VS_E_VALUE, "stack expects a non-empty list of tensors");
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_stack_dim), ts[0]->ndim + 1, &dim))
        return;
    for (int d = 0; d <= ts[0]->ndim; d++) {
        if (d == dim)
            sizes[n++] = count;
        if (d < ts[0]->ndim)
            sizes[n++] = ts[0]->sizes[d];
    }
    out = eng_c_empty(c, sizes, n, eng_result_dtype(ts, (int)count, NULL), ts[0]);
    if (!out)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct eng_view vx, vo;

        if (!eng_same_sizes(ts[i], ts[0])) {
            char ta[ENG_SHAPE_TEXT_MAX], tb[ENG_SHAPE_TEXT_MAX];

            eng_fail(c->e, VS_E_SHAPE,
                     "stack expects each tensor to be equal size, but got %s and %s",
                     eng_shape_text(ts[0], ta), eng_shape_text(ts[i], tb));
            eng_unref(out);
            return;
        }
        if (!eng_c_computes(c))
            continue;
        vx = eng_v(ts[i]);
        vo = eng_v(out);
        vo.data =
            (char *)vo.data + (uint64_t)((int64_t)i * vo.strides[dim]) * vs_dtype_bytes(vo.dtype);
        for (int d = dim; d + 1 < n; d++) {
            vo.sizes[d] = vo.sizes[d + 1];
            vo.strides[d] = vo.strides[d + 1];
        }
        vo.ndim = n - 1;
        c->e->kernels->copy(&vx, &vo);
    }
    eng_c_give(c, out);
}

void eng_b_stack(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), b->a[ARG_stack_dim]};
    struct eng_ret ret;

    if (!eng_call(b->e, ENG_OP_unbind, args, &ret))
        return;
    for (uint32_t i = 0; i < ret.count; i++)
        eng_b_give_at(b, ARG_stack_tensors, (int)i, ret.tensors[i]);
    ret.count = 0; /* handed over */
    eng_ret_release(&ret);
}

/* out[i] = x[i mod size] in every dim */
void eng_f_repeat(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_repeat_input);
    int n = (int)c->a[ARG_repeat_repeats].count;
    int lead = n - x->ndim;
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;

    if (lead < 0 || n * 2 > VS_MAX_DIMS * 2 || n > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_SHAPE,
                 "repeat: the number of repeats cannot be smaller than the number of dimensions of "
                 "the tensor (%d)",
                 x->ndim);
        return;
    }
    for (int d = 0; d < n; d++)
        sizes[d] = c->a[ARG_repeat_repeats].v.ints[d] * (d >= lead ? x->sizes[d - lead] : 1);
    out = eng_c_empty(c, sizes, n, (enum vs_dtype)x->dtype, x);
    if (!out)
        return;
    if (eng_c_computes(c) && eng_numel(out)) {
        /* every copy of x is a block of out; walk over the blocks */
        int64_t at[VS_MAX_DIMS] = {0};

        for (;;) {
            struct eng_view vx = eng_v(x);
            struct eng_view vo = eng_v(out);
            int d;

            for (d = 0; d < n; d++) {
                int64_t size = d >= lead ? x->sizes[d - lead] : 1;

                vo.data = (char *)vo.data +
                          (uint64_t)(at[d] * size * vo.strides[d]) * vs_dtype_bytes(vo.dtype);
                vo.sizes[d] = size;
            }
            for (d = 0; d < x->ndim; d++) {
                vo.sizes[d] = vo.sizes[d + lead];
                vo.strides[d] = vo.strides[d + lead];
            }
            vo.ndim = x->ndim;
            c->e->kernels->copy(&vx, &vo);
            for (d = n - 1; d >= 0 && ++at[d] == c->a[ARG_repeat_repeats].v.ints[d]; d--)
                at[d] = 0;
            if (d < 0)
                break;
        }
    }
    eng_c_give(c, out);
}

/* new dims summed one by one, then g seen as [r0, s0, r1, s1, …] and summed over the r that are not 1 */
void eng_b_repeat(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_repeat_input, 0);
    int n = (int)b->a[ARG_repeat_repeats].count;
    int lead = n - edge->ndim;
    int64_t sizes[2 * VS_MAX_DIMS], dims[VS_MAX_DIMS];
    struct eng_tensor *g = eng_ref(b->g[0]), *folded;
    int64_t first = 0;
    int k = 0, m = 0;

    for (int d = 0; d < lead; d++)
        eng_slot_set(&g, eng_sum_dims(b->e, g, &first, 1, false));
    for (int d = lead; d < n; d++) {
        int64_t r = b->a[ARG_repeat_repeats].v.ints[d];

        if (r != 1) {
            dims[m++] = k;
            sizes[k++] = r;
        }
        sizes[k++] = edge->sizes[d - lead];
    }
    if (k > VS_MAX_DIMS) {
        eng_fail(b->e, VS_E_UNSUPPORTED, "repeat: the gradient needs more than %d dimensions",
                 VS_MAX_DIMS);
        eng_unref(g);
        return;
    }
    if (m) {
        folded = eng_reshape(b->e, g, sizes, k);
        eng_slot_set(&g, NULL);
        g = eng_sum_dims(b->e, folded, dims, m, false);
        eng_unref(folded);
    }
    eng_b_give(b, ARG_repeat_input, g);
}

/* ---- flip, roll ---- */

/* Copy with dims mirrored or rotated, one slice of the moving dim at a time. */
static void shuffle_dim(struct eng_op_call *c, const struct eng_view *vx, const struct eng_view *vo,
                        int dim, int64_t shift, bool mirror)
{
    int64_t size = vx->sizes[dim];

    for (int64_t i = 0; i < size; i++) {
        struct eng_view from = *vx;
        struct eng_view to = *vo;
        int64_t target = mirror ? size - 1 - i : ((i + shift) % size + size) % size;

        from.data =
            (char *)from.data + (uint64_t)(i * from.strides[dim]) * vs_dtype_bytes(from.dtype);
        to.data = (char *)to.data + (uint64_t)(target * to.strides[dim]) * vs_dtype_bytes(to.dtype);
        from.sizes[dim] = 1;
        to.sizes[dim] = 1;
        c->e->kernels->copy(&from, &to);
    }
}

/*
 * Reverses the order of the elements along the dims. The intermediate results between two dims are host scratch memory.
 */
void eng_f_flip(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_flip_input);
    uint32_t count = c->a[ARG_flip_dims].count;
    struct eng_tensor *out, *from;
    int dims[VS_MAX_DIMS];

    for (uint32_t i = 0; i < count; i++) {
        int dim;

        if (!eng_wrap_dim(c->e, c->a[ARG_flip_dims].v.ints[i], x->ndim, &dim))
            return;
        for (uint32_t k = 0; k < i; k++) {
            if (dims[k] == dim) {
                eng_fail(c->e, VS_E_VALUE,
                         "flip: dim %d appears multiple times in the list of dims", dim);
                return;
            }
        }
        dims[i] = dim;
    }
    out = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    if (!out)
        return;
    from = eng_ref(x);
    for (uint32_t i = 0; i < count && from && eng_c_computes(c) && x->ndim; i++) {
        struct eng_tensor *to =
            i + 1 == count ? eng_ref(out)
                           : eng_empty(c->e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, true);

        if (to) {
            struct eng_view vf = eng_v(from), vt = eng_v(to);

            shuffle_dim(c, &vf, &vt, dims[i], 0, true);
        }
        eng_slot_set(&from, to);
    }
    if ((!count || !x->ndim) && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vo = eng_v(out);

        c->e->kernels->copy(&vx, &vo);
    }
    eng_unref(from);
    eng_c_give(c, out);
}

void eng_b_flip(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), b->a[ARG_flip_dims]};

    eng_b_give(b, ARG_flip_input, eng_call1(b->e, ENG_OP_flip, args));
}

static struct eng_tensor *rolled(struct eng_op_call *c, struct eng_tensor *x, int dim,
                                 int64_t shift)
{
    struct eng_tensor *dense = eng_contiguous(c->e, x);
    struct eng_tensor *out =
        x ? eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x) : NULL;

    if (dense && out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(dense), vo = eng_v(out);

        shuffle_dim(c, &vx, &vo, dim, shift, false);
    }
    eng_unref(dense);
    return out;
}

/* Rolls one dim after the other; the intermediate results are freed when the op returns, the last one first. */
void eng_f_roll(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_roll_input);
    struct eng_tensor *step[VS_MAX_DIMS + 1] = {x};
    uint32_t count = c->a[ARG_roll_shifts].count;

    if (count != c->a[ARG_roll_dims].count || !count || count > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_VALUE, "roll: shifts and dims must have the same length");
        return;
    }
    for (uint32_t i = 0; i < count && step[i]; i++) {
        int dim;

        if (!x->ndim || !eng_wrap_dim(c->e, c->a[ARG_roll_dims].v.ints[i], x->ndim, &dim)) {
            eng_fail(c->e, VS_E_VALUE, "roll: a 0-dim tensor has no dim to roll along");
            break;
        }
        step[i + 1] = rolled(c, step[i], dim, c->a[ARG_roll_shifts].v.ints[i]);
    }
    eng_c_give(c, eng_ref(step[count]));
    for (uint32_t i = count; i > 0; i--)
        eng_unref(step[i]);
}

void eng_b_roll(struct eng_bw *b)
{
    int64_t back[VS_MAX_DIMS];
    struct eng_arg args[] = {eng_at(b->g[0]), eng_aints(back, (int)b->a[ARG_roll_shifts].count),
                             b->a[ARG_roll_dims]};

    for (uint32_t i = 0; i < b->a[ARG_roll_shifts].count; i++)
        back[i] = -b->a[ARG_roll_shifts].v.ints[i];
    eng_b_give(b, ARG_roll_input, eng_call1(b->e, ENG_OP_roll, args));
}
