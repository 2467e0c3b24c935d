/*
 * engine/ops/elementwise/gate.c - activations with a second operand: glu (the other half of the input) and prelu (a
 * learnt slope).
 *
 * Must not know:  models.
 * Invariant:      the gradient of glu is one tensor that holds both halves; prelu computes the gradient of its weight
 *                 in the input's size, and autograd sums it.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* ---- glu: a * sigmoid(b), [.., 2n, ..] -> [.., n, ..] ---- */

/* Half `which` of v along dim. */
static struct eng_view half_of(struct eng_view v, int dim, int which)
{
    int64_t n = v.sizes[dim] / 2;

    v.data = v.data ? (char *)v.data + which * n * v.strides[dim] * (int64_t)vs_dtype_bytes(v.dtype)
                    : NULL;
    v.sizes[dim] = n;
    return v;
}

static bool glu_dim(struct eng *e, const struct eng_tensor *x, int64_t asked, int *dim)
{
    char tx[ENG_SHAPE_TEXT_MAX];

    if (!x->ndim) {
        eng_fail(e, VS_E_SHAPE, "glu does not support 0-dimensional tensors");
        return false;
    }
    if (!eng_wrap_dim(e, asked, x->ndim, dim))
        return false;
    if (x->sizes[*dim] % 2 == 0)
        return true;
    eng_fail(e, VS_E_SHAPE,
             "glu: halving dimension must be even, but dimension %d of %s has size %" PRId64, *dim,
             eng_shape_text(x, tx), x->sizes[*dim]);
    return false;
}

void eng_f_glu(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_glu_input);
    struct eng_tensor *half, *out;
    int dim;

    if (!glu_dim(c->e, x, eng_c_int(c, ARG_glu_dim), &dim))
        return;
    half = eng_narrow(c->e, x, dim, 0, x->sizes[dim] / 2);
    out = half ? eng_c_elementwise_out(c, &half, 1, (enum vs_dtype)x->dtype) : NULL;
    eng_unref(half);
    if (out && eng_c_computes(c)) {
        struct eng_view a = half_of(eng_v(x), dim, 0), b = half_of(eng_v(x), dim, 1);
        struct eng_view vo = eng_v(out);
        double p[4] = {0};

        c->e->kernels->binary(ENG_B_GLU, vo.dtype, &a, &b, &vo, p);
    }
    eng_c_give(c, out);
}

/* saved: input */
void eng_b_glu(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[SAVED_glu_input];
    struct eng_tensor *gx =
        x ? eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host) : NULL;
    int64_t asked = b->a[ARG_glu_dim].v.scalar.i;

    if (gx && e->kernels) {
        int dim = (int)(asked < 0 ? asked + x->ndim : asked);
        struct eng_view vg = eng_v(b->g[0]), vx = eng_v(x), vo = eng_v(gx);
        struct eng_view xa = half_of(vx, dim, 0), xb = half_of(vx, dim, 1);
        struct eng_view oa = half_of(vo, dim, 0), ob = half_of(vo, dim, 1);
        double p[4] = {0};

        e->kernels->binary(ENG_B_GLU, vo.dtype, &vg, &xb, &oa, p);
        e->kernels->ternary(ENG_T_GLU_BACKWARD, vo.dtype, &vg, &xa, &xb, &ob, p);
    }
    eng_b_give(b, ARG_glu_input, gx);
}

/* ---- prelu: x > 0 ? x : weight * x, weight one number or one a channel ---- */

static bool prelu_fits(struct eng *e, const struct eng_tensor *x, const struct eng_tensor *weight)
{
    int64_t channels = x->ndim > 1 ? x->sizes[1] : 1;

    if (x->dtype != weight->dtype) {
        eng_fail(
            e, VS_E_TYPE, "prelu: type promotion is not supported: input is %s, the weight is %s",
            vs_dtype_name((enum vs_dtype)x->dtype), vs_dtype_name((enum vs_dtype)weight->dtype));
        return false;
    }
    if (weight->ndim > 1 || (eng_numel(weight) != 1 && eng_numel(weight) != channels)) {
        eng_fail(e, VS_E_SHAPE,
                 "prelu: mismatch of parameter numbers and input channel size: found %" PRId64
                 " parameters and %" PRId64 " channels",
                 eng_numel(weight), channels);
        return false;
    }
    return true;
}

void eng_f_prelu(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_prelu_input);
    struct eng_tensor *weight = eng_c_tensor(c, ARG_prelu_weight);
    struct eng_tensor *shaped;

    if (!prelu_fits(c->e, x, weight))
        return;
    shaped = eng_ref(weight);
    if (x->ndim != weight->ndim) {
        int64_t sizes[VS_MAX_DIMS];

        for (int d = 0; d < x->ndim; d++)
            sizes[d] = d == 1 ? eng_numel(weight) : 1;
        eng_slot_set(&shaped, eng_reshape(c->e, weight, sizes, x->ndim));
    }
    eng_c_give(c, eng_op2(c->e, ENG_OP_prelu_kernel, x, shaped));
    eng_unref(shaped);
}

void eng_f_prelu_kernel(struct eng_op_call *c)
{
    struct eng_tensor *pair[] = {eng_c_tensor(c, ARG_prelu_kernel_input),
                                 eng_c_tensor(c, ARG_prelu_kernel_weight)};
    struct eng_tensor *out = eng_c_elementwise_out(c, pair, 2, (enum vs_dtype)pair[0]->dtype);

    if (out && eng_c_computes(c)) {
        struct eng_view va = eng_v_expand(pair[0], out), vb = eng_v_expand(pair[1], out),
                        vo = eng_v(out);
        double p[4] = {0};

        c->e->kernels->binary(ENG_B_PRELU, vo.dtype, &va, &vb, &vo, p);
    }
    eng_c_give(c, out);
}

/* One kernel computes both gradients, even if only one is needed; autograd sums the weight's. saved: input, weight */
void eng_b_prelu_kernel(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_op_call c = {.e = e, .id = b->node->op};
    struct eng_tensor *three[] = {b->saved[SAVED_prelu_kernel_input],
                                  b->saved[SAVED_prelu_kernel_weight], b->g[0]};
    struct eng_tensor *gx, *gw;

    if (!three[0] || !three[1])
        return;
    gx = eng_c_elementwise_out(&c, three, 3, (enum vs_dtype)three[0]->dtype);
    gw = gx ? eng_c_elementwise_out(&c, three, 3, (enum vs_dtype)three[1]->dtype) : NULL;
    if (gw && e->kernels) {
        struct eng_view vx = eng_v_expand(three[0], gx), vw = eng_v_expand(three[1], gx),
                        vg = eng_v_expand(three[2], gx), va = eng_v(gx), vb = eng_v(gw);
        double p[4] = {0};

        e->kernels->ternary(ENG_T_PRELU_BACKWARD, va.dtype, &vg, &vx, &vw, &va, p);
        e->kernels->binary(ENG_B_PRELU_WEIGHT_BACKWARD, vb.dtype, &vg, &vx, &vb, p);
    }
    if (eng_b_needs(b, ARG_prelu_kernel_input))
        eng_b_give(b, ARG_prelu_kernel_input, eng_ref(gx));
    if (eng_b_needs(b, ARG_prelu_kernel_weight))
        eng_b_give(b, ARG_prelu_kernel_weight, eng_ref(gw));
    eng_unref(gw);
    eng_unref(gx);
}
