/*
 * engine/ops/matmul/matmul.c - matrix products, and the ops PyTorch makes of them.
 *
 * Must not know:  models.
 * Invariant:      whether an operand is copied (a batch that cannot be folded into a view) is decided as PyTorch's
 *                 matmul decides it, and the copy is what autograd saves.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/workspace.h"

void *eng_c_cannot_multiply(struct eng_op_call *c, const struct eng_tensor *a,
                            const struct eng_tensor *z)
{
    char ta[ENG_SHAPE_TEXT_MAX], tz[ENG_SHAPE_TEXT_MAX];

    return eng_fail(c->e, VS_E_SHAPE, "%s: shapes %s and %s cannot be multiplied",
                    eng_op_get(c->id)->name, eng_shape_text(a, ta), eng_shape_text(z, tz));
}

static bool same_dtype(struct eng_op_call *c, const struct eng_tensor *a,
                       const struct eng_tensor *z)
{
    if (a->dtype == z->dtype)
        return true;
    eng_fail(c->e, VS_E_TYPE, "%s: expected all operands to have the same dtype, got %s and %s",
             eng_op_get(c->id)->name, vs_dtype_name((enum vs_dtype)a->dtype),
             vs_dtype_name((enum vs_dtype)z->dtype));
    return false;
}

/* A 2-D or 3-D tensor as the kernel's [b, m, n]. */
static struct eng_view batched(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    if (t->ndim == 3)
        return v;
    v.ndim = 3;
    v.sizes[2] = t->sizes[1];
    v.sizes[1] = t->sizes[0];
    v.sizes[0] = 1;
    v.strides[2] = t->strides[1];
    v.strides[1] = t->strides[0];
    v.strides[0] = 0;
    return v;
}

/* Whether cuBLAS can read t: one of its two last dims has stride 1, and the other's steps do not overlap. */
static bool is_readable(const struct eng_tensor *t)
{
    int d = t->ndim - 2;
    int64_t rows = t->sizes[d] > 1 ? t->sizes[d] : 1,
            cols = t->sizes[d + 1] > 1 ? t->sizes[d + 1] : 1;

    if (t->ndim == 2 && eng_is_non_overlapping_and_dense(t))
        return true;
    if ((t->strides[d] == 1 && t->strides[d + 1] >= rows) ||
        (t->strides[d + 1] == 1 && t->strides[d] >= cols))
        return true;
    return t->ndim == 3 && eng_is_contiguous(t) && t->strides[1] && t->strides[2];
}

/* t, or a dense copy of it that is freed when the op returns. A new reference. */
static struct eng_tensor *readable(struct eng *e, struct eng_tensor *t)
{
    return is_readable(t) ? eng_ref(t) : eng_op1(e, ENG_OP_clone_contiguous, t);
}

/*
 * out = beta * out + alpha * a x z. Copies operands that cuBLAS cannot read, the right one first.
 */
static void multiply(struct eng_op_call *c, struct eng_tensor *a, struct eng_tensor *z,
                     struct eng_tensor *out, double alpha, double beta, bool is_fused)
{
    struct eng_tensor *rz, *ra;

    if (!out)
        return;
    rz = readable(c->e, z);
    ra = readable(c->e, a);
    if (ra && rz) {
        struct eng_view va = batched(ra), vz = batched(rz), vo = batched(out);

        eng_run_matmul(c->e, out->storage->on_host, is_fused, &va, &vz, &vo, alpha, beta);
    }
    eng_unref(ra);
    eng_unref(rz);
}

/* [n,m] x [m,p] -> [n,p] */
void eng_f_mm(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, ARG_mm_input), *z = eng_c_tensor(c, ARG_mm_mat2);
    struct eng_tensor *out;

    if (a->ndim != 2 || z->ndim != 2 || a->sizes[1] != z->sizes[0]) {
        eng_c_cannot_multiply(c, a, z);
        return;
    }
    if (!same_dtype(c, a, z))
        return;
    out = eng_c_empty(c, (int64_t[]){a->sizes[0], z->sizes[1]}, 2, (enum vs_dtype)a->dtype, a);
    multiply(c, a, z, out, 1, 0, false);
    eng_c_give(c, out);
}

/* [b,n,m] x [b,m,p] -> [b,n,p] */
void eng_f_bmm(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, ARG_bmm_input), *z = eng_c_tensor(c, ARG_bmm_mat2);
    struct eng_tensor *out;

    if (a->ndim != 3 || z->ndim != 3 || a->sizes[0] != z->sizes[0] || a->sizes[2] != z->sizes[1]) {
        eng_c_cannot_multiply(c, a, z);
        return;
    }
    if (!same_dtype(c, a, z))
        return;
    out = eng_c_empty(c, (int64_t[]){a->sizes[0], a->sizes[1], z->sizes[2]}, 3,
                      (enum vs_dtype)a->dtype, a);
    multiply(c, a, z, out, 1, 0, false);
    eng_c_give(c, out);
}

/*
 * Is beta * self + a x z one kernel of cuBLASLt? With a bias, a vector along the rows of the product and beta 1, where
 * z has more than one row and column; in the half types also with a self that lies as the product does.
 */
static bool is_fused(const struct eng_op_call *c, const struct eng_tensor *self,
                     const struct eng_tensor *z, double beta, const struct eng_tensor *out)
{
    bool is_bias = self->ndim == 1 && out && self->sizes[0] == out->sizes[1] && z->sizes[0] > 1 &&
                   z->sizes[1] > 1 && beta == 1.0;
    bool is_addend =
        out && vs_dtype_bytes((enum vs_dtype)out->dtype) == 2 && eng_same_sizes(self, out);

    return !c->inplace && out && out->ndim == 2 && eng_is_contiguous(self) &&
           (is_bias || is_addend);
}

/* beta * self + alpha * (a x z), matrices or batches of them: of ndim dimensions. */
static void add_product(struct eng_op_call *c, int ndim, struct eng_tensor *self,
                        struct eng_tensor *a, struct eng_tensor *z, double beta, double alpha)
{
    int64_t sizes[3];
    struct eng_tensor *out, *share = NULL;

    if (a->ndim != ndim || z->ndim != ndim || a->sizes[ndim - 1] != z->sizes[ndim - 2] ||
        (ndim == 3 && a->sizes[0] != z->sizes[0])) {
        eng_c_cannot_multiply(c, a, z);
        return;
    }
    if (!same_dtype(c, a, z) || !same_dtype(c, self, z))
        return;
    sizes[0] = a->sizes[0];
    sizes[ndim - 2] = a->sizes[ndim - 2];
    sizes[ndim - 1] = z->sizes[ndim - 1];
    if (self->shares > 1 && !c->inplace) {
        self = share = eng_div_scalar(c->e, self, self->shares);
        if (!share)
            return;
    }
    out = c->inplace ? eng_ref(self) : eng_c_empty(c, sizes, ndim, (enum vs_dtype)a->dtype, a);
    if (!out) {
        eng_unref(share);
        return;
    }
    if (eng_c_computes(c) && !c->inplace) {
        struct eng_view vs = eng_v_expand(self, out), vo = eng_v(out);

        c->e->kernels->copy(&vs, &vo);
    }
    multiply(c, a, z, out, alpha, beta, is_fused(c, self, z, beta, out));
    eng_unref(share);
    eng_c_give(c, out);
}

void eng_f_addmm(struct eng_op_call *c)
{
    add_product(c, 2, eng_c_tensor(c, ARG_addmm_input), eng_c_tensor(c, ARG_addmm_mat1),
                eng_c_tensor(c, ARG_addmm_mat2), eng_c_float(c, ARG_addmm_beta),
                eng_c_float(c, ARG_addmm_alpha));
}

void eng_f_baddbmm(struct eng_op_call *c)
{
    add_product(c, 3, eng_c_tensor(c, ARG_baddbmm_input), eng_c_tensor(c, ARG_baddbmm_batch1),
                eng_c_tensor(c, ARG_baddbmm_batch2), eng_c_float(c, ARG_baddbmm_beta),
                eng_c_float(c, ARG_baddbmm_alpha));
}

/* A vector of n elements as the kernel's [1, n, 1]. */
static struct eng_view column(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    v.ndim = 3;
    v.sizes[1] = t->sizes[0];
    v.strides[1] = t->strides[0];
    v.sizes[0] = v.sizes[2] = 1;
    v.strides[0] = 0;
    v.strides[2] = 1;
    return v;
}

/* [n,m] x [m] -> [n] */
void eng_f_mv(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, ARG_mv_input), *v = eng_c_tensor(c, ARG_mv_vec);
    struct eng_tensor *out, *ra, *rv;

    if (a->ndim != 2 || v->ndim != 1 || a->sizes[1] != v->sizes[0]) {
        eng_c_cannot_multiply(c, a, v);
        return;
    }
    if (!same_dtype(c, a, v))
        return;
    out = eng_c_empty(c, a->sizes, 1, (enum vs_dtype)a->dtype, a);
    /* a vector with stride 0 is copied to a dense one */
    rv = v->strides[0] ? eng_ref(v) : eng_contiguous(c->e, v);
    ra = readable(c->e, a);
    if (out && ra && rv) {
        struct eng_view va = batched(ra), vv = column(rv), vo = column(out);

        eng_run_matmul(c->e, out->storage->on_host, false, &va, &vv, &vo, 1, 0);
    }
    eng_unref(ra);
    eng_unref(rv);
    eng_c_give(c, out);
}

/* [n] . [n] -> [] */
void eng_f_dot(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, ARG_dot_input), *z = eng_c_tensor(c, ARG_dot_tensor);
    struct eng_tensor *out;

    if (a->ndim != 1 || z->ndim != 1 || a->sizes[0] != z->sizes[0]) {
        eng_c_cannot_multiply(c, a, z);
        return;
    }
    if (!same_dtype(c, a, z))
        return;
    out = eng_c_empty(c, NULL, 0, (enum vs_dtype)a->dtype, a);
    if (out) {
        struct eng_view va = eng_v(a), vz = eng_v(z), vo = eng_v(out);

        va.ndim = vz.ndim = vo.ndim = 3;
        memcpy(va.sizes, (int64_t[]){1, 1, a->sizes[0]}, sizeof(int64_t) * 3);
        memcpy(va.strides, (int64_t[]){0, 0, a->strides[0]}, sizeof(int64_t) * 3);
        memcpy(vz.sizes, (int64_t[]){1, z->sizes[0], 1}, sizeof(int64_t) * 3);
        memcpy(vz.strides, (int64_t[]){0, z->strides[0], 1}, sizeof(int64_t) * 3);
        memcpy(vo.sizes, (int64_t[]){1, 1, 1}, sizeof(int64_t) * 3);
        memcpy(vo.strides, (int64_t[]){0, 0, 0}, sizeof(int64_t) * 3);
        eng_run_matmul(c->e, out->storage->on_host, false, &va, &vz, &vo, 1, 0);
    }
    eng_c_give(c, out);
}

/* ---- backward ---- */

static struct eng_tensor *times(struct eng *e, struct eng_tensor *t, double factor)
{
    struct eng_tensor *scaled;

    if (!t || factor == 1.0)
        return t;
    scaled = eng_mul_scalar(e, t, factor);
    eng_unref(t);
    return scaled;
}

/* Whether the operand of `edge` is column-major: its gradient is then computed in that layout and needs no copy. */
static bool is_column_major(const struct eng_edge *edge)
{
    return edge->strides[0] == 1 && edge->strides[1] == edge->sizes[0];
}

/* (z g^T)^T or g z^T: the gradient of the left operand */
static struct eng_tensor *left_gradient(struct eng *e, const struct eng_edge *edge,
                                        struct eng_tensor *g, struct eng_tensor *z, double alpha)
{
    struct eng_tensor *turned, *product, *out;

    if (is_column_major(edge)) {
        turned = eng_t(e, g);
        product = eng_mm(e, z, turned);
        out = eng_t(e, product);
    } else {
        turned = eng_t(e, z);
        product = eng_mm(e, g, turned);
        out = eng_ref(product);
    }
    eng_unref(product);
    eng_unref(turned);
    return times(e, out, alpha);
}

/* (g^T a)^T or a^T g: the gradient of the right operand */
static struct eng_tensor *right_gradient(struct eng *e, const struct eng_edge *edge,
                                         struct eng_tensor *g, struct eng_tensor *a, double alpha)
{
    struct eng_tensor *turned, *product, *out;

    if (is_column_major(edge)) {
        turned = eng_t(e, g);
        product = eng_mm(e, turned, a);
        out = eng_t(e, product);
    } else {
        turned = eng_t(e, a);
        product = eng_mm(e, turned, g);
        out = eng_ref(product);
    }
    eng_unref(product);
    eng_unref(turned);
    return times(e, out, alpha);
}

/* saved: mat2, input. The second operand's gradient is made first. */
void eng_b_mm(struct eng_bw *b)
{
    if (eng_b_needs(b, ARG_mm_mat2))
        eng_b_give(b, ARG_mm_mat2,
                   right_gradient(b->e, eng_b_edge(b, ARG_mm_mat2, 0), b->g[0],
                                  b->saved[SAVED_mm_input], 1));
    if (eng_b_needs(b, ARG_mm_input))
        eng_b_give(b, ARG_mm_input,
                   left_gradient(b->e, eng_b_edge(b, ARG_mm_input, 0), b->g[0],
                                 b->saved[SAVED_mm_mat2], 1));
}

static struct eng_tensor *batch_gradient(struct eng *e, struct eng_tensor *a, struct eng_tensor *z,
                                         bool turn_left, double alpha)
{
    struct eng_tensor *turned = eng_transpose(e, turn_left ? a : z, 1, 2);
    struct eng_tensor *out = turn_left ? eng_bmm(e, turned, z) : eng_bmm(e, a, turned);

    eng_unref(turned);
    return times(e, out, alpha);
}

/* saved: mat2, input */
void eng_b_bmm(struct eng_bw *b)
{
    if (eng_b_needs(b, ARG_bmm_mat2))
        eng_b_give(b, ARG_bmm_mat2,
                   batch_gradient(b->e, b->saved[SAVED_bmm_input], b->g[0], true, 1));
    if (eng_b_needs(b, ARG_bmm_input))
        eng_b_give(b, ARG_bmm_input,
                   batch_gradient(b->e, b->g[0], b->saved[SAVED_bmm_mat2], false, 1));
}

/* saved: mat1, mat2. Order: mat1, mat2, input (its broadcast is summed after the node). */
void eng_b_addmm(struct eng_bw *b)
{
    double beta = b->a[ARG_addmm_beta].v.scalar.f, alpha = b->a[ARG_addmm_alpha].v.scalar.f;

    if (eng_b_needs(b, ARG_addmm_mat1))
        eng_b_give(b, ARG_addmm_mat1,
                   left_gradient(b->e, eng_b_edge(b, ARG_addmm_mat1, 0), b->g[0],
                                 b->saved[SAVED_addmm_mat2], alpha));
    if (eng_b_needs(b, ARG_addmm_mat2))
        eng_b_give(b, ARG_addmm_mat2,
                   right_gradient(b->e, eng_b_edge(b, ARG_addmm_mat2, 0), b->g[0],
                                  b->saved[SAVED_addmm_mat1], alpha));
    if (eng_b_needs(b, ARG_addmm_input))
        eng_b_give(b, ARG_addmm_input, times(b->e, eng_ref(b->g[0]), beta));
}

void eng_b_baddbmm(struct eng_bw *b)
{
    double beta = b->a[ARG_baddbmm_beta].v.scalar.f, alpha = b->a[ARG_baddbmm_alpha].v.scalar.f;

    if (eng_b_needs(b, ARG_baddbmm_batch1))
        eng_b_give(b, ARG_baddbmm_batch1,
                   batch_gradient(b->e, b->g[0], b->saved[SAVED_baddbmm_batch2], false, alpha));
    if (eng_b_needs(b, ARG_baddbmm_batch2))
        eng_b_give(b, ARG_baddbmm_batch2,
                   batch_gradient(b->e, b->saved[SAVED_baddbmm_batch1], b->g[0], true, alpha));
    if (eng_b_needs(b, ARG_baddbmm_input))
        eng_b_give(b, ARG_baddbmm_input, times(b->e, eng_ref(b->g[0]), beta));
}

/* input: g[:,None] * vec; vec: input^T g. saved: input, vec */
void eng_b_mv(struct eng_bw *b)
{
    struct eng *e = b->e;

    if (eng_b_needs(b, ARG_mv_input)) {
        struct eng_tensor *column = eng_unsqueeze(e, b->g[0], 1);

        eng_b_give(b, ARG_mv_input, eng_mul(e, column, b->saved[SAVED_mv_vec]));
        eng_unref(column);
    }
    if (eng_b_needs(b, ARG_mv_vec)) {
        struct eng_tensor *turned = eng_t(e, b->saved[SAVED_mv_input]);

        eng_b_give(b, ARG_mv_vec, eng_op2(e, ENG_OP_mv, turned, b->g[0]));
        eng_unref(turned);
    }
}

void eng_b_dot(struct eng_bw *b)
{
    if (eng_b_needs(b, ARG_dot_input))
        eng_b_give(b, ARG_dot_input, eng_mul(b->e, b->g[0], b->saved[SAVED_dot_tensor]));
    if (eng_b_needs(b, ARG_dot_tensor))
        eng_b_give(b, ARG_dot_tensor, eng_mul(b->e, b->g[0], b->saved[SAVED_dot_input]));
}
