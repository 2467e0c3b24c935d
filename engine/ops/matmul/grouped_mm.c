/*
 * engine/ops/matmul/grouped_mm.c - products of groups of rows, one matrix a group: experts.
 *
 * `offs` [groups]: where each group ends, along the dim that a 2-D operand has in place of the groups.
 *
 *     [T, K] x [G, K, N] -> [T, N]        groups of rows
 *     [G, M, K] x [K, T] -> [M, T]        groups of columns
 *     [M, T] x [T, N] -> [G, M, N]        groups of what is summed over
 *     [G, M, K] x [G, K, N] -> [G, M, N]  no offs
 *
 * Must not know:  models.
 * Invariant:      rows of the result begin at multiples of 16 bytes; where there are no values (meta) the groups are
 *                 taken to be of equal size, which no tensor depends on.
 */
#include <inttypes.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/workspace.h"

#define ALIGN_BYTES 16

static int64_t align_elems(const struct eng_tensor *t)
{
    return ALIGN_BYTES / (int64_t)vs_dtype_bytes((enum vs_dtype)t->dtype);
}

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/* Whether t's matrices are row- or column-major, with lines at multiples of 16 bytes; false: failed. */
static bool is_laid_out(struct eng *e, const struct eng_tensor *t)
{
    int d = t->ndim - 2;
    int64_t line;
    char text[ENG_SHAPE_TEXT_MAX];

    if (t->strides[d] == 1 && t->strides[d + 1] >= at_least_one(t->sizes[d]))
        line = t->strides[d + 1];
    else if (t->strides[d + 1] == 1 && t->strides[d] >= at_least_one(t->sizes[d + 1]))
        line = t->strides[d];
    else {
        eng_fail(e, VS_E_SHAPE, "grouped_mm: invalid strides of an operand %s",
                 eng_shape_text(t, text));
        return false;
    }
    if (line % align_elems(t) || (t->ndim == 3 && t->strides[0] % align_elems(t))) {
        eng_fail(e, VS_E_SHAPE, "grouped_mm: strides of %s should be multiple of 16 bytes",
                 eng_shape_text(t, text));
        return false;
    }
    return true;
}

static bool fits(struct eng_op_call *c, const struct eng_tensor *a, const struct eng_tensor *z,
                 const struct eng_tensor *offs)
{
    bool is_batch = a->ndim == 3 && z->ndim == 3;

    if (a->ndim < 2 || a->ndim > 3 || z->ndim < 2 || z->ndim > 3 ||
        a->sizes[a->ndim - 1] != z->sizes[z->ndim - 2] ||
        (is_batch && a->sizes[0] != z->sizes[0])) {
        eng_c_cannot_multiply(c, a, z);
        return false;
    }
    if (is_batch != !offs) {
        eng_fail(c->e, VS_E_VALUE,
                 "Have to provide offsets if there is a 2d matrix, or no offset if "
                 "both matrices are 3d");
        return false;
    }
    if (offs && (offs->ndim != 1 || offs->dtype != VS_I32)) {
        eng_fail(c->e, VS_E_VALUE, "Offsets have to be a 1-D tensor of dtype int32");
        return false;
    }
    if (offs && ((a->ndim == 3 && a->sizes[0] != offs->sizes[0]) ||
                 (z->ndim == 3 && z->sizes[0] != offs->sizes[0]))) {
        eng_fail(c->e, VS_E_SHAPE, "matrix batch sizes have to match");
        return false;
    }
    if (!eng_one_dtype(c->e, a, z))
        return false;
    if (a->dtype != VS_F32 && a->dtype != VS_BF16 && a->dtype != VS_F16) {
        eng_fail(c->e, VS_E_TYPE,
                 "Expected mat_a to be Float32, BFloat16 or Float16 matrix, got %s",
                 vs_dtype_name((enum vs_dtype)a->dtype));
        return false;
    }
    return is_laid_out(c->e, a) && is_laid_out(c->e, z);
}

static struct eng_tensor *result_of(struct eng_op_call *c, const struct eng_tensor *a,
                                    const struct eng_tensor *z, int64_t groups)
{
    int64_t rows = a->sizes[a->ndim - 2], cols = z->sizes[z->ndim - 1], align = align_elems(a);
    int64_t line = (cols + align - 1) / align * align;
    int64_t sizes[3] = {groups, rows, cols}, strides[3] = {rows * line, line, 1};
    bool is_one = a->ndim != z->ndim;

    return eng_empty_strided(c->e, sizes + is_one, strides + is_one, is_one ? 2 : 3,
                             (enum vs_dtype)a->dtype, a->storage->on_host);
}

/* `view` as the kernel's [1, m, n]: matrix g of a batch, or elements [start, end) along `dim` of a matrix. */
static struct eng_view part(const struct eng_tensor *t, int64_t g, int dim, int64_t start,
                            int64_t end)
{
    struct eng_view v = eng_v(t);
    int first = t->ndim - 2;
    int64_t skip = t->ndim == 3 ? g * t->strides[0] : start * t->strides[dim];

    if (v.data)
        v.data = (char *)v.data + skip * (int64_t)vs_dtype_bytes(v.dtype);
    v.ndim = 3;
    v.sizes[1] = t->sizes[first];
    v.sizes[2] = t->sizes[first + 1];
    v.strides[1] = t->strides[first];
    v.strides[2] = t->strides[first + 1];
    v.sizes[0] = 1;
    v.strides[0] = 0;
    if (t->ndim == 2 && dim >= 0)
        v.sizes[1 + dim] = end - start;
    return v;
}

/* Where group i ends, at most `total`, from `ends`; those of equal size without. */
static int64_t end_of(const int64_t *ends, int64_t i, int64_t groups, int64_t total)
{
    int64_t end = ends ? ends[i] : total * (i + 1) / groups;

    return end < 0 ? 0 : end > total ? total : end;
}

/* The products of all groups, one after the other. */
static void multiply_groups(struct eng_op_call *c, const struct eng_tensor *a,
                            const struct eng_tensor *z, const struct eng_tensor *out,
                            int64_t groups, const int64_t *ends)
{
    /* the dim of each 2-D tensor along which the groups lie */
    int da = z->ndim == 3 ? 0 : 1, dz = a->ndim == 3 ? 1 : 0, dout = z->ndim == 3 ? 0 : 1;
    int64_t total = a->ndim == 2 ? a->sizes[da] : z->sizes[dz], start = 0;

    for (int64_t i = 0; i < groups; i++) {
        int64_t end = end_of(ends, i, groups, total);
        struct eng_view va = part(a, i, da, start, end), vz = part(z, i, dz, start, end),
                        vo = part(out, i, dout, start, end);

        if (end < start)
            break;
        eng_run_matmul(c->e, out->storage->on_host, false, &va, &vz, &vo, 1, 0);
        start = end;
    }
}

static void multiply_batch(struct eng_op_call *c, const struct eng_tensor *a,
                           const struct eng_tensor *z, const struct eng_tensor *out)
{
    struct eng_view va = eng_v(a), vz = eng_v(z), vo = eng_v(out);

    eng_run_matmul(c->e, out->storage->on_host, false, &va, &vz, &vo, 1, 0);
}

/* (input, mat2, offs) */
void eng_f_grouped_mm(struct eng_op_call *c)
{
    struct eng_tensor *a = eng_c_tensor(c, ARG_grouped_mm_input),
                      *z = eng_c_tensor(c, ARG_grouped_mm_mat2),
                      *offs = eng_c_tensor(c, ARG_grouped_mm_offs), *ends = NULL, *out;
    int64_t groups;

    if (!fits(c, a, z, offs))
        return;
    groups = offs ? offs->sizes[0] : a->sizes[0];
    out = result_of(c, a, z, groups);
    if (out && offs && eng_c_computes(c)) {
        ends = eng_empty(c->e, &groups, 1, VS_I64, true);
        if (ends) {
            struct eng_view from = eng_v(offs), to = eng_v(ends);

            c->e->kernels->copy(&from, &to);
        }
    }
    if (out && !offs)
        multiply_batch(c, a, z, out);
    else if (out && !c->e->failed)
        multiply_groups(c, a, z, out, groups, ends ? eng_v(ends).data : NULL);
    eng_unref(ends);
    eng_c_give(c, out);
}

/* ---- backward ---- */

/* a x z, of groups if `offs`, turned if `is_turned`. */
static struct eng_tensor *product(struct eng *e, struct eng_tensor *a, struct eng_tensor *z,
                                  struct eng_tensor *offs, bool is_turned)
{
    struct eng_arg args[] = {[ARG_grouped_mm_input] = eng_at(a),
                             [ARG_grouped_mm_mat2] = eng_at(z),
                             [ARG_grouped_mm_offs] =
                                 offs ? eng_at(offs) : (struct eng_arg){.kind = ENG_A_NONE}};
    struct eng_tensor *out = eng_call1(e, ENG_OP_grouped_mm, args), *turned;

    if (!is_turned || !out)
        return out;
    turned = eng_transpose(e, out, -2, -1);
    eng_unref(out);
    return turned;
}

/* Whether the operand of `edge` is column-major: its gradient is computed in that layout. */
static bool is_column_major(const struct eng_edge *edge, int ndim)
{
    return edge->strides[ndim - 2] == 1 && edge->strides[ndim - 1] == edge->sizes[ndim - 2];
}

static struct eng_tensor *right_gradient(struct eng_bw *b, struct eng_tensor *a,
                                         struct eng_tensor *offs)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_grouped_mm_mat2, 0);
    bool is_turned = is_column_major(edge, edge->ndim);
    struct eng_tensor *t = eng_transpose(b->e, is_turned ? b->g[0] : a, -2, -1);
    struct eng_tensor *out =
        is_turned ? product(b->e, t, a, offs, true) : product(b->e, t, b->g[0], offs, false);

    eng_unref(t);
    return out;
}

static struct eng_tensor *left_gradient(struct eng_bw *b, struct eng_tensor *z,
                                        struct eng_tensor *offs)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_grouped_mm_input, 0);
    bool is_turned = is_column_major(edge, edge->ndim);
    struct eng_tensor *t = eng_transpose(b->e, is_turned ? b->g[0] : z, -2, -1);
    struct eng_tensor *out =
        is_turned ? product(b->e, z, t, offs, true) : product(b->e, b->g[0], t, offs, false);

    eng_unref(t);
    return out;
}

/* saved: mat2, offs, input. The second operand's gradient is made first. */
void eng_b_grouped_mm(struct eng_bw *b)
{
    struct eng_tensor *offs = b->saved[SAVED_grouped_mm_offs];

    if (eng_b_needs(b, ARG_grouped_mm_mat2))
        eng_b_give(b, ARG_grouped_mm_mat2,
                   right_gradient(b, b->saved[SAVED_grouped_mm_input], offs));
    if (eng_b_needs(b, ARG_grouped_mm_input))
        eng_b_give(b, ARG_grouped_mm_input,
                   left_gradient(b, b->saved[SAVED_grouped_mm_mat2], offs));
}
