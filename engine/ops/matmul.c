/*
 * engine/ops/matmul.c - matrix products, and the ops PyTorch makes of them.
 *
 * Must not know:  models.
 * Invariant:      whether an operand is copied (a batch that cannot be folded into a view) is decided as PyTorch's matmul decides it, and
 *                 the copy is what autograd saves.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/op_internal.h"
#include "engine/ops/ops.h"
#include "engine/scratch.h"

static void *shape_error(struct eng_op_call *c, const struct eng_tensor *a,
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

/* Does one of the two last dims lie densely, and the other in steps that do not overlap: what cuBLAS can read? */
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

/* t, or a dense copy of it that lives as long as the op runs. A new reference. */
static struct eng_tensor *readable(struct eng *e, struct eng_tensor *t)
{
    return is_readable(t) ? eng_ref(t) : eng_op1(e, ENG_OP_clone_contiguous, t);
}

/* What cuBLAS takes; is_fused: cuBLASLt does it, with the bias. Products of nothing are not made. */
static void library_scratch(struct eng_op_call *c, const struct eng_tensor *out, bool is_fused)
{
    if (!out || out->storage->on_host || !eng_numel(out))
        return;
    if (is_fused)
        eng_scratch_gemm_lt(c->e);
    else
        eng_scratch_gemm(c->e);
}

/* out = beta * out + alpha * a x z, and its arithmetic counted. Operands that have to be copied are, the right one first. */
static void multiply(struct eng_op_call *c, struct eng_tensor *a, struct eng_tensor *z,
                     struct eng_tensor *out, double alpha, double beta, bool is_fused)
{
    struct eng_tensor *rz, *ra;

    if (!out)
        return;
    rz = readable(c->e, z);
    ra = readable(c->e, a);
    library_scratch(c, out, is_fused);
    if (ra && rz) {
        struct eng_view va = batched(ra), vz = batched(rz), vo = batched(out);

        eng_add_flops(c->e, 2 * (uint64_t)vo.sizes[0] * (uint64_t)vo.sizes[1] *
                                (uint64_t)vo.sizes[2] * (uint64_t)va.sizes[2]);
        if (eng_c_computes(c))
            c->e->kernels->matmul(&va, &vz, &vo, alpha, beta);
    }
    eng_unref(ra);
    eng_unref(rz);
}

/* [n,m] x [m,p] -> [n,p] */
void eng_f_mm(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, 0), *z = eng_c_tensor(c, 1);
    struct eng_tensor *out;

    if (a->ndim != 2 || z->ndim != 2 || a->sizes[1] != z->sizes[0]) {
        shape_error(c, a, z);
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
    struct eng_tensor *a = eng_c_tensor(c, 0), *z = eng_c_tensor(c, 1);
    struct eng_tensor *out;

    if (a->ndim != 3 || z->ndim != 3 || a->sizes[0] != z->sizes[0] || a->sizes[2] != z->sizes[1]) {
        shape_error(c, a, z);
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
 * Is beta * self + a x z one kernel of cuBLASLt? With a bias, a vector along the rows of the product and beta 1, where z has more than one row
 * and column; in the half types also with a self that lies as the product does.
 */
static bool is_fused(const struct eng_op_call *c, const struct eng_tensor *self,
                     const struct eng_tensor *z, const struct eng_tensor *out)
{
    bool is_bias = self->ndim == 1 && out && self->sizes[0] == out->sizes[1] && z->sizes[0] > 1 &&
                   z->sizes[1] > 1 && eng_c_float(c, 3) == 1.0;
    bool is_addend =
        out && vs_dtype_bytes((enum vs_dtype)out->dtype) == 2 && eng_same_sizes(self, out);

    return !c->inplace && out && out->ndim == 2 && eng_is_contiguous(self) &&
           (is_bias || is_addend);
}

static void add_product(struct eng_op_call *c, int ndim)
{
    struct eng_tensor *self = eng_c_tensor(c, 0), *a = eng_c_tensor(c, 1), *z = eng_c_tensor(c, 2);
    int64_t sizes[3];
    struct eng_tensor *out;

    if (a->ndim != ndim || z->ndim != ndim || a->sizes[ndim - 1] != z->sizes[ndim - 2] ||
        (ndim == 3 && a->sizes[0] != z->sizes[0])) {
        shape_error(c, a, z);
        return;
    }
    if (!same_dtype(c, a, z) || !same_dtype(c, self, z))
        return;
    sizes[0] = a->sizes[0];
    sizes[ndim - 2] = a->sizes[ndim - 2];
    sizes[ndim - 1] = z->sizes[ndim - 1];
    out = c->inplace ? eng_ref(self) : eng_c_empty(c, sizes, ndim, (enum vs_dtype)a->dtype, a);
    if (!out)
        return;
    if (eng_c_computes(c) && !c->inplace) {
        struct eng_view vs = eng_v_expand(self, out), vo = eng_v(out);

        c->e->kernels->copy(&vs, &vo);
    }
    multiply(c, a, z, out, eng_c_float(c, 4), eng_c_float(c, 3), is_fused(c, self, z, out));
    eng_c_give(c, out);
}

void eng_f_addmm(struct eng_op_call *c)
{
    add_product(c, 2);
}

void eng_f_baddbmm(struct eng_op_call *c)
{
    add_product(c, 3);
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
    struct eng_tensor *a = eng_c_tensor(c, 0), *v = eng_c_tensor(c, 1);
    struct eng_tensor *out, *ra, *rv;

    if (a->ndim != 2 || v->ndim != 1 || a->sizes[1] != v->sizes[0]) {
        shape_error(c, a, v);
        return;
    }
    if (!same_dtype(c, a, v))
        return;
    out = eng_c_empty(c, a->sizes, 1, (enum vs_dtype)a->dtype, a);
    rv = v->strides[0] ? eng_ref(v)
                       : eng_contiguous(c->e, v); /* one number seen many times is spread out */
    ra = readable(c->e, a);
    library_scratch(c, out, false);
    eng_add_flops(c->e, 2 * (uint64_t)eng_numel(a));
    if (out && ra && rv && eng_c_computes(c)) {
        struct eng_view va = batched(ra), vv = column(rv), vo = column(out);

        c->e->kernels->matmul(&va, &vv, &vo, 1, 0);
    }
    eng_unref(ra);
    eng_unref(rv);
    eng_c_give(c, out);
}

/* [n] . [n] -> [] */
void eng_f_dot(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, 0), *z = eng_c_tensor(c, 1);
    struct eng_tensor *out;

    if (a->ndim != 1 || z->ndim != 1 || a->sizes[0] != z->sizes[0]) {
        shape_error(c, a, z);
        return;
    }
    if (!same_dtype(c, a, z))
        return;
    out = eng_c_empty(c, NULL, 0, (enum vs_dtype)a->dtype, a);
    library_scratch(c, out, false);
    eng_add_flops(c->e, 2 * (uint64_t)eng_numel(a));
    if (out && eng_c_computes(c)) {
        struct eng_view va = eng_v(a), vz = eng_v(z), vo = eng_v(out);

        va.ndim = vz.ndim = vo.ndim = 3;
        memcpy(va.sizes, (int64_t[]){1, 1, a->sizes[0]}, sizeof(int64_t) * 3);
        memcpy(va.strides, (int64_t[]){0, 0, a->strides[0]}, sizeof(int64_t) * 3);
        memcpy(vz.sizes, (int64_t[]){1, z->sizes[0], 1}, sizeof(int64_t) * 3);
        memcpy(vz.strides, (int64_t[]){0, z->strides[0], 1}, sizeof(int64_t) * 3);
        memcpy(vo.sizes, (int64_t[]){1, 1, 1}, sizeof(int64_t) * 3);
        memcpy(vo.strides, (int64_t[]){0, 0, 0}, sizeof(int64_t) * 3);
        c->e->kernels->matmul(&va, &vz, &vo, 1, 0);
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

/* The operand of `edge` lies column by column: its gradient is made in that order, so that it can be taken as it is. */
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
    if (eng_b_needs(b, 1))
        eng_b_give(b, 1, right_gradient(b->e, eng_b_edge(b, 1, 0), b->g[0], b->saved[1], 1));
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, left_gradient(b->e, eng_b_edge(b, 0, 0), b->g[0], b->saved[0], 1));
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
    if (eng_b_needs(b, 1))
        eng_b_give(b, 1, batch_gradient(b->e, b->saved[1], b->g[0], true, 1));
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, batch_gradient(b->e, b->g[0], b->saved[0], false, 1));
}

/* saved: mat1, mat2. Order: mat1, mat2, input (its broadcast is summed after the node). */
void eng_b_addmm(struct eng_bw *b)
{
    double beta = b->a[3].v.scalar.f, alpha = b->a[4].v.scalar.f;

    if (eng_b_needs(b, 1))
        eng_b_give(b, 1, left_gradient(b->e, eng_b_edge(b, 1, 0), b->g[0], b->saved[1], alpha));
    if (eng_b_needs(b, 2))
        eng_b_give(b, 2, right_gradient(b->e, eng_b_edge(b, 2, 0), b->g[0], b->saved[0], alpha));
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, times(b->e, eng_ref(b->g[0]), beta));
}

void eng_b_baddbmm(struct eng_bw *b)
{
    double beta = b->a[3].v.scalar.f, alpha = b->a[4].v.scalar.f;

    if (eng_b_needs(b, 1))
        eng_b_give(b, 1, batch_gradient(b->e, b->g[0], b->saved[1], false, alpha));
    if (eng_b_needs(b, 2))
        eng_b_give(b, 2, batch_gradient(b->e, b->saved[0], b->g[0], true, alpha));
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, times(b->e, eng_ref(b->g[0]), beta));
}

/* input: g[:,None] * vec; vec: input^T g. saved: input, vec */
void eng_b_mv(struct eng_bw *b)
{
    struct eng *e = b->e;

    if (eng_b_needs(b, 0)) {
        struct eng_tensor *column = eng_unsqueeze(e, b->g[0], 1);

        eng_b_give(b, 0, eng_mul(e, column, b->saved[1]));
        eng_unref(column);
    }
    if (eng_b_needs(b, 1)) {
        struct eng_tensor *turned = eng_t(e, b->saved[0]);

        eng_b_give(b, 1, eng_op2(e, ENG_OP_mv, turned, b->g[0]));
        eng_unref(turned);
    }
}

void eng_b_dot(struct eng_bw *b)
{
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, eng_mul(b->e, b->g[0], b->saved[1]));
    if (eng_b_needs(b, 1))
        eng_b_give(b, 1, eng_mul(b->e, b->g[0], b->saved[0]));
}

/* ---- matmul ---- */

/* Should the larger operand's batch be folded into its rows, so that one mm does it? */
static bool should_fold(const struct eng_tensor *a, const struct eng_tensor *z, bool a_is_larger)
{
    const struct eng_tensor *large = a_is_larger ? a : z;
    const struct eng_tensor *small = a_is_larger ? z : a;

    if (large->ndim < 3 || small->ndim > 2)
        return false;
    /* a view answers as its base does, made under no_grad too */
    if (eng_requires_grad(small) || eng_requires_grad(small->base))
        return true;
    if (a->ndim == 2)
        return false;
    if (!eng_numel(large))
        return true;
    /* the rows of the larger one (seen transposed where it is the right operand) must follow each other in memory */
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
        return shape_error(c, a, z);
    if (!eng_broadcast(e, &batch_a, &batch_z, batch, &count))
        return NULL;
    for (int i = 0; i < count; i++)
        product *= batch[i];
    ea = batch_operand(e, a, batch, count, product, n, m1, false);
    ez = batch_operand(e, z, batch, count, product, m2, p, z->ndim == 1);
    out = eng_bmm(e, ea, ez);
    if (a->ndim > 1)
        batch[count++] = n;
    if (z->ndim > 1)
        batch[count++] = p;
    out = unsafe_view(e, out, batch, count);
    eng_unref(ez);
    eng_unref(ea);
    return out;
}

/* A batch of one that wants a gradient is not expanded (which would make its gradient a batch) but squeezed away. */
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
    struct eng_tensor *a = eng_c_tensor(c, 0), *z = eng_c_tensor(c, 1);
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

        /* squeezed in place: not a view of anything */
        eng_c_give(c, unsafe_view(e, product, &z->sizes[1], 1));
        eng_unref(row);
    } else if (a->ndim == 2 && z->ndim == 2) {
        eng_c_give(c, eng_mm(e, a, z));
    } else if (should_fold(a, z, a_is_larger)) {
        if (a->sizes[a->ndim - 1] != (z->ndim > 1 ? z->sizes[z->ndim - 2] : z->sizes[0]))
            shape_error(c, a, z);
        else
            eng_c_give(c, folded_matmul(e, a, z, a_is_larger));
    } else if (!squeezed_matmul(c, a, z)) {
        eng_c_give(c, batched_matmul(c, a, z));
    }
}

/* ---- linear ---- */

/* x [.., in], weight [out, in], bias [out] -> [.., out] */
void eng_f_linear(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, 0), *weight = eng_c_tensor(c, 1),
                      *bias = eng_c_tensor(c, 2);
    struct eng_tensor *turned, *flat, *product;
    int64_t sizes[VS_MAX_DIMS];

    if (weight->ndim > 2 || !x->ndim || x->sizes[x->ndim - 1] != weight->sizes[weight->ndim - 1]) {
        char tx[ENG_SHAPE_TEXT_MAX], tw[ENG_SHAPE_TEXT_MAX];

        eng_fail(e, VS_E_SHAPE,
                 "linear: input %s does not fit weight %s: the last dimensions must be equal",
                 eng_shape_text(x, tx), eng_shape_text(weight, tw));
        return;
    }
    turned = eng_t(e, weight);
    if (bias && x->ndim == 2) {
        struct eng_arg args[] = {eng_at(bias), eng_at(x), eng_at(turned), eng_ai(1), eng_ai(1)};

        eng_c_give(c, turned ? eng_call1(e, ENG_OP_addmm, args) : NULL);
    } else if (bias && eng_is_contiguous(x)) {
        int64_t rows[2] = {1, x->sizes[x->ndim - 1]};

        for (int i = 0; i + 1 < x->ndim; i++)
            rows[0] *= x->sizes[i];
        memcpy(sizes, x->sizes, sizeof(sizes));
        sizes[x->ndim - 1] = weight->sizes[0];
        flat = eng_reshape(e, x, rows, 2);
        {
            struct eng_arg args[] = {eng_at(bias), eng_at(flat), eng_at(turned), eng_ai(1),
                                     eng_ai(1)};
            struct eng_arg view[2];

            product = flat && turned ? eng_call1(e, ENG_OP_addmm, args) : NULL;
            view[0] = eng_at(product);
            view[1] = eng_aints(sizes, x->ndim);
            eng_c_give(c, product ? eng_call1(e, ENG_OP_unsafe_view, view) : NULL);
        }
        eng_unref(product);
        eng_unref(flat);
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
    struct eng_tensor *column = eng_unsqueeze(c->e, eng_c_tensor(c, 0), 1);

    eng_c_give(c, eng_mul(c->e, column, eng_c_tensor(c, 1)));
    eng_unref(column);
}
