/*
 * engine/ops/matmul/linear.c - matmul, linear and outer: what PyTorch makes of the products in matmul.c.
 *
 * Must not know:  models.
 * Invariant:      whether an operand is copied (a batch that cannot be folded into a view) is decided as PyTorch's
 *                 matmul decides it, and the copy is what autograd saves.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* ---- matmul ---- */

/* Whether the larger operand's batch is folded into its rows, so that one mm computes the product. */
static bool should_fold(const struct eng_tensor *a, const struct eng_tensor *z, bool a_is_larger)
{
    const struct eng_tensor *large = a_is_larger ? a : z;
    const struct eng_tensor *small = a_is_larger ? z : a;

    if (large->ndim < 3 || small->ndim > 2)
        return false;
    /* a view requires a gradient if its base does, even if it was created under no_grad */
    if (eng_requires_grad(small) || eng_requires_grad(small->base))
        return true;
    if (a->ndim == 2)
        return false;
    if (!eng_numel(large))
        return true;
    /* the larger operand's rows (of its transpose, if it is the right one) must be adjacent in memory */
    for (int i = 0; i < large->ndim - 2; i++) {
        int64_t next_stride = i + 1 == large->ndim - 2 && !a_is_larger
                                  ? large->strides[large->ndim - 1]
                                  : large->strides[i + 1];
        int64_t next_size = i + 1 == large->ndim - 2 && !a_is_larger ? large->sizes[large->ndim - 1]
                                                                     : large->sizes[i + 1];

        if (large->strides[i] != next_stride * next_size)
            return false;
    }
    return true;
}

static struct eng_tensor *unsafe_view(struct eng *e, struct eng_tensor *t_taken,
                                      const int64_t *sizes, int ndim)
{
    struct eng_arg args[] = {eng_at(t_taken), eng_aints(sizes, ndim)};
    struct eng_tensor *out = t_taken ? eng_call1(e, ENG_OP_unsafe_view, args) : NULL;

    eng_unref(t_taken);
    return out;
}

static struct eng_tensor *folded_matmul(struct eng *e, struct eng_tensor *a, struct eng_tensor *z,
                                        bool a_is_larger)
{
    struct eng_tensor *t1 = a_is_larger ? eng_ref(a) : eng_transpose(e, z, -1, -2);
    struct eng_tensor *t2 = a_is_larger ? eng_ref(z) : a->ndim == 2 ? eng_t(e, a) : eng_ref(a);
    int64_t sizes[VS_MAX_DIMS], folded_sizes[2];
    struct eng_tensor *folded, *product, *out = NULL;
    int n;

    if (!t1 || !t2)
        goto done;
    n = t1->ndim - 1;
    memcpy(sizes, t1->sizes, sizeof(sizes));
    folded_sizes[0] = 1;
    for (int i = 0; i < n; i++)
        folded_sizes[0] *= sizes[i];
    folded_sizes[1] = t1->sizes[t1->ndim - 1];
    folded = eng_reshape(e, t1, folded_sizes, 2);
    if (t2->ndim == 2) {
        sizes[n++] = t2->sizes[1];
        product = eng_mm(e, folded, t2);
    } else {
        product = eng_op2(e, ENG_OP_mv, folded, t2);
    }
    out = unsafe_view(e, product, sizes, n);
    eng_unref(folded);
    if (!a_is_larger && t2->ndim == 2 && out) {
        struct eng_tensor *turned = eng_transpose(e, out, -1, -2);

        eng_slot_set(&out, eng_contiguous(e, turned));
        eng_unref(turned);
    }
done:
    eng_unref(t2);
    eng_unref(t1);
    return out;
}

/* expand to [batch…, rows, cols] and see it as [product of batch, rows, cols] */
static struct eng_tensor *batch_operand(struct eng *e, struct eng_tensor *t, const int64_t *batch,
                                        int batch_ndim, int64_t product, int64_t rows, int64_t cols,
                                        bool is_vector)
{
    int64_t sizes[VS_MAX_DIMS], flat[3] = {product, rows, cols};
    int n = batch_ndim;
    struct eng_tensor *expanded, *out;

    memcpy(sizes, batch, sizeof(*batch) * (size_t)batch_ndim);
    sizes[n++] = rows;
    if (!is_vector)
        sizes[n++] = cols;
    expanded = eng_expand(e, t, sizes, n);
    out = eng_reshape(e, expanded, flat, is_vector ? 2 : 3);
    eng_unref(expanded);
    if (is_vector && out)
        eng_slot_set(&out, eng_unsqueeze(e, out, 2));
    return out;
}

static struct eng_tensor *batched_matmul(struct eng_op_call *c, struct eng_tensor *a,
                                         struct eng_tensor *z)
{
    struct eng *e = c->e;
    int64_t n = a->ndim > 1 ? a->sizes[a->ndim - 2] : 1;
    int64_t m1 = a->sizes[a->ndim - 1];
    int64_t m2 = z->ndim > 1 ? z->sizes[z->ndim - 2] : z->sizes[0];
    int64_t p = z->ndim > 1 ? z->sizes[z->ndim - 1] : 1;
    struct eng_tensor batch_a = {0}, batch_z = {0};
    int64_t batch[VS_MAX_DIMS], product = 1;
    struct eng_tensor *ea, *ez, *out;
    int count;

    batch_a.ndim = (uint8_t)(a->ndim > 2 ? a->ndim - 2 : 0);
    batch_z.ndim = (uint8_t)(z->ndim > 2 ? z->ndim - 2 : 0);
    memcpy(batch_a.sizes, a->sizes, sizeof(batch_a.sizes));
    memcpy(batch_z.sizes, z->sizes, sizeof(batch_z.sizes));
    if (m1 != m2)
        return eng_c_cannot_multiply(c, a, z);
    if (!eng_broadcast(e, &batch_a, &batch_z, batch, &count))
        return NULL;
    for (int i = 0; i < count; i++)
        product *= batch[i];
    ea = batch_operand(e, a, batch, count, product, n, m1, false);
    ez = batch_operand(e, z, batch, count, product, m2, p, z->ndim == 1);
    out = eng_bmm(e, ea, ez);
    if (z->ndim == 1)
        eng_slot_set(&out, eng_squeeze(e, out, 2));
    if (a->ndim > 1)
        batch[count++] = n;
    if (z->ndim > 1)
        batch[count++] = p;
    out = unsafe_view(e, out, batch, count);
    eng_unref(ez);
    eng_unref(ea);
    return out;
}

/*
 * A batch dim of size 1 that needs a gradient is removed, not expanded: expanding would make its gradient a whole
 * batch.
 */
static bool squeezed_matmul(struct eng_op_call *c, struct eng_tensor *a, struct eng_tensor *z)
{
    bool left = a->sizes[0] == 1 && eng_requires_grad(a);
    struct eng_tensor *squeezed;

    if (a->ndim != 3 || z->ndim != 3 || a->sizes[0] == z->sizes[0] ||
        !(left || (z->sizes[0] == 1 && eng_requires_grad(z))))
        return false;
    squeezed = eng_squeeze(c->e, left ? a : z, 0);
    eng_c_give(c, left ? eng_op2(c->e, ENG_OP_matmul, squeezed, z)
                       : eng_op2(c->e, ENG_OP_matmul, a, squeezed));
    eng_unref(squeezed);
    return true;
}

void eng_f_matmul(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *a = eng_c_tensor(c, ARG_matmul_input),
                      *z = eng_c_tensor(c, ARG_matmul_other);
    bool a_is_larger = a->ndim >= z->ndim;

    if (!a->ndim || !z->ndim) {
        eng_fail(e, VS_E_SHAPE,
                 "both arguments to matmul need to be at least 1-D, but they are %d-D and %d-D",
                 a->ndim, z->ndim);
        return;
    }
    if (a->ndim == 1 && z->ndim == 1) {
        eng_c_give(c, eng_op2(e, ENG_OP_dot, a, z));
    } else if (a->ndim == 2 && z->ndim == 1) {
        eng_c_give(c, eng_op2(e, ENG_OP_mv, a, z));
    } else if (a->ndim == 1 && z->ndim == 2) {
        struct eng_tensor *row = eng_unsqueeze(e, a, 0);
        struct eng_tensor *product = eng_mm(e, row, z);

        /* the dim is removed in place: not a view */
        eng_c_give(c, unsafe_view(e, product, &z->sizes[1], 1));
        eng_unref(row);
    } else if (a->ndim == 2 && z->ndim == 2) {
        eng_c_give(c, eng_mm(e, a, z));
    } else if (should_fold(a, z, a_is_larger)) {
        if (a->sizes[a->ndim - 1] != (z->ndim > 1 ? z->sizes[z->ndim - 2] : z->sizes[0]))
            eng_c_cannot_multiply(c, a, z);
        else
            eng_c_give(c, folded_matmul(e, a, z, a_is_larger));
    } else if (!squeezed_matmul(c, a, z)) {
        eng_c_give(c, batched_matmul(c, a, z));
    }
}

/* ---- linear ---- */

/*
 * All rows of x as one matrix, for one addmm. The view of x is created before the view of the weight, so backward runs
 * the latter's node first.
 */
static void flattened_linear(struct eng_op_call *c, struct eng_tensor *x, struct eng_tensor *weight,
                             struct eng_tensor *bias)
{
    int64_t rows[2] = {1, x->sizes[x->ndim - 1]}, sizes[VS_MAX_DIMS];
    struct eng_tensor *flat, *turned;
    struct eng_arg args[5];

    for (int i = 0; i + 1 < x->ndim; i++)
        rows[0] *= x->sizes[i];
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[x->ndim - 1] = weight->sizes[0];
    flat = eng_reshape(c->e, x, rows, 2);
    turned = eng_t(c->e, weight);
    args[0] = eng_at(bias);
    args[1] = eng_at(flat);
    args[2] = eng_at(turned);
    args[3] = args[4] = eng_ai(1);
    if (flat && turned)
        eng_c_give(c, unsafe_view(c->e, eng_call1(c->e, ENG_OP_addmm, args), sizes, x->ndim));
    eng_unref(flat);
    eng_unref(turned);
}

/* x [.., in], weight [out, in], bias [out] -> [.., out] */
void eng_f_linear(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_linear_input),
                      *weight = eng_c_tensor(c, ARG_linear_weight),
                      *bias = eng_c_tensor(c, ARG_linear_bias);
    struct eng_tensor *turned, *product;

    if (weight->ndim > 2 || !x->ndim || x->sizes[x->ndim - 1] != weight->sizes[weight->ndim - 1]) {
        char tx[ENG_SHAPE_TEXT_MAX], tw[ENG_SHAPE_TEXT_MAX];

        eng_fail(e, VS_E_SHAPE,
                 "linear: input %s does not fit weight %s: the last dimensions must be equal",
                 eng_shape_text(x, tx), eng_shape_text(weight, tw));
        return;
    }
    if (bias && bias->ndim == 1 && x->ndim != 2 && eng_is_contiguous(x)) {
        flattened_linear(c, x, weight, bias);
        return;
    }
    turned = eng_t(e, weight);
    if (bias && x->ndim == 2) {
        struct eng_arg args[] = {eng_at(bias), eng_at(x), eng_at(turned), eng_ai(1), eng_ai(1)};

        eng_c_give(c, turned ? eng_call1(e, ENG_OP_addmm, args) : NULL);
    } else {
        product = eng_op2(e, ENG_OP_matmul, x, turned);
        if (bias && product) {
            struct eng_tensor *same = eng_add_(e, product, bias);

            eng_unref(same);
        }
        eng_c_give(c, product);
    }
    eng_unref(turned);
}

/* [n] x [m] -> [n,m] */
void eng_f_outer(struct eng_op_call *c)
{
    struct eng_tensor *column = eng_unsqueeze(c->e, eng_c_tensor(c, ARG_outer_input), 1);

    eng_c_give(c, eng_mul(c->e, column, eng_c_tensor(c, ARG_outer_vec2)));
    eng_unref(column);
}
