/*
 * engine/ops/indexing/gather.c - reading and writing by one index tensor: index_select, gather, scatter, embedding,
 * one_hot.
 *
 * Must not know:  models.
 * Invariant:      the gradient of a read is zeros of the input's shape with the result's gradient added at the indices.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/indexing/embedding_scratch.h"
#include "engine/workspace/workspace.h"

static void *index_out_of_range(struct eng *e, const char *what)
{
    return eng_fail(e, VS_E_VALUE, "%s: an index is out of range", what);
}

/* ---- one index tensor along a dim ---- */

static bool check_index(struct eng_op_call *c, const struct eng_tensor *index)
{
    if (index->dtype == VS_I64 || index->dtype == VS_I32)
        return true;
    eng_fail(c->e, VS_E_TYPE, "%s: expected an index tensor of int64, got %s",
             eng_op_get(c->id)->name, vs_dtype_name((enum vs_dtype)index->dtype));
    return false;
}

void eng_f_index_select(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_index_select_input);
    struct eng_tensor *index = eng_c_tensor(c, ARG_index_select_index);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_index_select_dim), x->ndim, &dim) ||
        !check_index(c, index))
        return;
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[dim] = eng_numel(index);
    out = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vi = eng_v(index), vo = eng_v(out);

        if (!c->e->kernels->index_select(&vx, dim, &vi, &vo))
            index_out_of_range(c->e, "index_select");
    }
    eng_c_give(c, out);
}

/* Zeros with the input's sizes, into which the gradient of a read is written. */
static struct eng_tensor *input_zeros(struct eng_bw *b, const struct eng_edge *edge)
{
    return eng_zeros(b->e, edge->sizes, edge->ndim, (enum vs_dtype)b->g[0]->dtype,
                     b->g[0]->storage->on_host);
}

void eng_b_index_select(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_index_select_input, 0);
    struct eng_tensor *zeros = input_zeros(b, edge);
    int64_t dim = b->a[ARG_index_select_dim].v.scalar.i;

    if (zeros && b->saved[SAVED_index_select_index] && b->e->kernels) {
        struct eng_view vz = eng_v(zeros), vi = eng_v(b->saved[SAVED_index_select_index]),
                        vg = eng_v(b->g[0]);

        if (!b->e->kernels->index_add(&vz, (int)(dim < 0 ? dim + edge->ndim : dim), &vi, &vg))
            index_out_of_range(b->e, "index_select");
    }
    eng_b_give(b, ARG_index_select_input, zeros);
}

/* (input, dim, index, source, alpha): input with alpha * source added at the indices */
void eng_f_index_add(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_index_add_input),
                      *index = eng_c_tensor(c, ARG_index_add_index);
    struct eng_tensor *source = eng_c_tensor(c, ARG_index_add_source);
    struct eng_tensor *out, *scaled;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_index_add_dim), x->ndim, &dim) ||
        !check_index(c, index))
        return;
    if (x->ndim != source->ndim || index->ndim > 1 || eng_numel(index) != source->sizes[dim] ||
        x->dtype != source->dtype) {
        char tx[ENG_SHAPE_TEXT_MAX], ts[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE,
                 "index_add: a source of shape %s (%s) does not fit input %s (%s) and %" PRId64
                 " indices",
                 eng_shape_text(source, ts), vs_dtype_name((enum vs_dtype)source->dtype),
                 eng_shape_text(x, tx), vs_dtype_name((enum vs_dtype)x->dtype), eng_numel(index));
        return;
    }
    out = c->inplace ? eng_ref(x) : eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    scaled = eng_empty(c->e, source->sizes, source->ndim, (enum vs_dtype)source->dtype, true);
    if (out && scaled && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vo = eng_v(out), vi = eng_v(index), vs = eng_v(source),
                        vt = eng_v(scaled);
        struct eng_cell cell;
        struct eng_view alpha = eng_v_scalar(c->a[ARG_index_add_alpha].v.scalar, scaled, &cell);
        double p[4] = {1};

        c->e->kernels->binary(ENG_B_MUL, vs.dtype, &vs, &alpha, &vt, p);
        if (!c->inplace)
            c->e->kernels->copy(&vx, &vo);
        if (!c->e->kernels->index_add(&vo, dim, &vi, &vt))
            index_out_of_range(c->e, "index_add");
    }
    eng_unref(scaled);
    eng_c_give(c, out);
}

/* g for the input; for the source the elements of g at the indices. saved: index */
void eng_b_index_add(struct eng_bw *b)
{
    double alpha = b->a[ARG_index_add_alpha].v.scalar.f;

    if (eng_b_needs(b, ARG_index_add_input))
        eng_b_give(b, ARG_index_add_input, eng_ref(b->g[0]));
    if (eng_b_needs(b, ARG_index_add_source)) {
        struct eng_arg args[] = {eng_at(b->g[0]), b->a[ARG_index_add_dim],
                                 eng_at(b->saved[SAVED_index_add_index])};
        const struct eng_edge *edge = eng_b_edge(b, ARG_index_add_source, 0);
        struct eng_tensor *part =
            b->saved[SAVED_index_add_index] ? eng_call1(b->e, ENG_OP_index_select, args) : NULL;
        struct eng_tensor *seen = eng_expand(b->e, part, edge->sizes, edge->ndim);

        eng_b_give(b, ARG_index_add_source,
                   alpha == 1 ? eng_ref(seen) : eng_mul_scalar(b->e, seen, alpha));
        eng_unref(seen);
        eng_unref(part);
    }
}

void eng_f_gather(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_gather_input);
    struct eng_tensor *index = eng_c_tensor(c, ARG_gather_index);
    struct eng_tensor *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_gather_dim), x->ndim, &dim) || !check_index(c, index))
        return;
    if (index->ndim != x->ndim) {
        eng_fail(c->e, VS_E_SHAPE,
                 "gather: index tensor must have the same number of dimensions as the input tensor "
                 "(%d), got %d",
                 x->ndim, index->ndim);
        return;
    }
    out = eng_c_empty(c, index->sizes, index->ndim, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vi = eng_v(index), vo = eng_v(out);

        if (!c->e->kernels->gather(&vx, dim, &vi, &vo))
            index_out_of_range(c->e, "gather");
    }
    eng_c_give(c, out);
}

/* zeros.scatter_add_(dim, index, g). saved: index, input */
void eng_b_gather(struct eng_bw *b)
{
    struct eng_tensor *zeros = input_zeros(b, eng_b_edge(b, ARG_gather_input, 0));
    struct eng_arg args[] = {eng_at(zeros), b->a[ARG_gather_dim],
                             eng_at(b->saved[SAVED_gather_index]), eng_at(b->g[0])};
    struct eng_ret ret;

    if (zeros && b->saved[SAVED_gather_index] &&
        eng_call_inplace(b->e, ENG_OP_scatter_add, args, &ret))
        eng_ret_release(&ret);
    eng_b_give(b, ARG_gather_input, zeros);
}

/* out = input, then src, or value where src is NULL, written (scatter_add: added) at the indices along dim */
static void scatter(struct eng_op_call *c, struct eng_tensor *x, int64_t asked_dim,
                    struct eng_tensor *index, const struct eng_tensor *src, struct eng_scalar value)
{
    struct eng_tensor *out;
    int dim;

    if (!eng_wrap_dim(c->e, asked_dim, x->ndim, &dim) || !check_index(c, index))
        return;
    out = c->inplace ? eng_ref(x) : eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vi = eng_v(index), vo = eng_v(out), vs;

        if (!c->inplace)
            c->e->kernels->copy(&vx, &vo);
        if (src) {
            vs = eng_v(src); /* only as much of src as the index has is read */
            memcpy(vs.sizes, vi.sizes, sizeof(vs.sizes));
        }
        if (!c->e->kernels->scatter(&vo, dim, &vi, src ? &vs : NULL, value,
                                    c->id == ENG_OP_scatter_add))
            index_out_of_range(c->e, "scatter");
    }
    eng_c_give(c, out);
}

/* scatter, scatter_add */
void eng_f_scatter(struct eng_op_call *c)
{
    scatter(c, eng_c_tensor(c, ARG_scatter_input), eng_c_int(c, ARG_scatter_dim),
            eng_c_tensor(c, ARG_scatter_index), eng_c_tensor(c, ARG_scatter_src),
            (struct eng_scalar){0});
}

void eng_f_scatter_value(struct eng_op_call *c)
{
    scatter(c, eng_c_tensor(c, ARG_scatter_value_input), eng_c_int(c, ARG_scatter_value_dim),
            eng_c_tensor(c, ARG_scatter_value_index), NULL, c->a[ARG_scatter_value_value].v.scalar);
}

/* g with zeros at the indices */
static struct eng_tensor *scattered_zero(struct eng_bw *b, const struct eng_arg *dim,
                                         struct eng_tensor *index)
{
    struct eng_arg args[] = {eng_at(b->g[0]), *dim, eng_at(index), eng_ai(0)};

    return index ? eng_call1(b->e, ENG_OP_scatter_value, args) : NULL;
}

/* the elements of g at the indices */
static struct eng_tensor *gathered(struct eng_bw *b, const struct eng_arg *dim,
                                   struct eng_tensor *index)
{
    struct eng_arg args[] = {eng_at(b->g[0]), *dim, eng_at(index)};

    return index ? eng_call1(b->e, ENG_OP_gather, args) : NULL;
}

void eng_b_scatter_value(struct eng_bw *b)
{
    eng_b_give(
        b, ARG_scatter_value_input,
        scattered_zero(b, &b->a[ARG_scatter_value_dim], b->saved[SAVED_scatter_value_index]));
}

void eng_b_scatter(struct eng_bw *b)
{
    if (eng_b_needs(b, ARG_scatter_input))
        eng_b_give(b, ARG_scatter_input,
                   scattered_zero(b, &b->a[ARG_scatter_dim], b->saved[SAVED_scatter_index]));
    if (eng_b_needs(b, ARG_scatter_src))
        eng_b_give(b, ARG_scatter_src,
                   gathered(b, &b->a[ARG_scatter_dim], b->saved[SAVED_scatter_index]));
}

void eng_b_scatter_add(struct eng_bw *b)
{
    if (eng_b_needs(b, ARG_scatter_add_input))
        eng_b_give(b, ARG_scatter_add_input, eng_ref(b->g[0]));
    if (eng_b_needs(b, ARG_scatter_add_src))
        eng_b_give(b, ARG_scatter_add_src,
                   gathered(b, &b->a[ARG_scatter_add_dim], b->saved[SAVED_scatter_add_index]));
}

/* ---- embedding ---- */

/* weight [V, D], indices [...] -> [..., D] */
void eng_f_embedding(struct eng_op_call *c)
{
    struct eng_tensor *weight = eng_c_tensor(c, ARG_embedding_weight);
    struct eng_tensor *indices = eng_c_tensor(c, ARG_embedding_indices);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *dense;

    if (!check_index(c, indices))
        return;
    if (weight->ndim != 2 || indices->ndim + 1 > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_SHAPE, "embedding: the weight must be 2-D");
        return;
    }
    if (eng_c_bool(c, ARG_embedding_sparse)) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "embedding: sparse=True is not supported");
        return;
    }
    memcpy(sizes, indices->sizes, sizeof(sizes));
    sizes[indices->ndim] = weight->sizes[1];
    dense = eng_contiguous(c->e, indices);
    out = dense ? eng_c_empty(c, sizes, indices->ndim + 1, (enum vs_dtype)weight->dtype, weight)
                : NULL;
    if (out && eng_c_computes(c)) {
        struct eng_view vw = eng_v(weight), vi = eng_v(dense), vo = eng_v(out);

        vi.ndim = 1;
        vi.sizes[0] = eng_numel(indices);
        vi.strides[0] = 1;
        vo.ndim = 2;
        vo.sizes[0] = vi.sizes[0];
        vo.sizes[1] = weight->sizes[1];
        vo.strides[0] = weight->sizes[1];
        vo.strides[1] = 1;
        if (!c->e->kernels->embedding(&vw, &vi, &vo))
            eng_fail(c->e, VS_E_VALUE,
                     "embedding: an index is outside the table of %" PRId64 " rows",
                     weight->sizes[0]);
    }
    eng_unref(dense);
    eng_c_give(c, out);
}

/* PyTorch sorts the indices by row above this number. */
#define EMBEDDING_SORT_FROM 3072

/* grad [..., width], indices [...] -> [rows, width]: a row is the sum of the gradients of its uses */
static struct eng_tensor *table_gradient(struct eng *e, struct eng_tensor *grad,
                                         struct eng_tensor *table_indices, int64_t rows,
                                         int64_t padding_idx)
{
    const int64_t sizes[2] = {rows, grad->sizes[grad->ndim - 1]};
    struct eng_tensor *indices = eng_contiguous(e, table_indices);
    struct eng_tensor *g, *table;
    struct eng_tensor *sorted[2] = {0};
    int64_t n;

    if (!indices)
        return NULL;
    n = eng_numel(indices);
    g = eng_contiguous(e, grad);
    if (n > EMBEDDING_SORT_FROM && !indices->storage->on_host)
        eng_embedding_sort(e, n, rows, sorted);
    table = eng_zeros(e, sizes, 2, (enum vs_dtype)grad->dtype, grad->storage->on_host);
    if (table && g && eng_runs(e)) {
        struct eng_view vg = eng_v(g), vi = eng_v(indices), vt = eng_v(table);

        vi.ndim = 1;
        vi.sizes[0] = n;
        vi.strides[0] = 1;
        vg.ndim = 2;
        vg.sizes[0] = n;
        vg.sizes[1] = sizes[1];
        vg.strides[0] = sizes[1];
        vg.strides[1] = 1;
        eng_run_embedding_backward(e, table->storage->on_host, &vg, &vi, padding_idx, &vt);
    }
    if (sorted[0])
        eng_embedding_segments(e, n, rows, sizes[1], (enum vs_dtype)grad->dtype);
    eng_unref(sorted[1]);
    eng_unref(sorted[0]);
    eng_unref(g);
    eng_unref(indices);
    return table;
}

void eng_b_embedding(struct eng_bw *b)
{
    eng_b_give(b, ARG_embedding_weight,
               table_gradient(b->e, b->g[0], b->saved[SAVED_embedding_indices],
                              eng_b_edge(b, ARG_embedding_weight, 0)->sizes[0],
                              b->a[ARG_embedding_padding_idx].v.scalar.i));
}

/* The same as an op: the gradient of a table of num_weights rows, of which the process may have others. */
void eng_f_embedding_dense_backward(struct eng_op_call *c)
{
    eng_c_give(c, table_gradient(c->e, eng_c_tensor(c, ARG_embedding_dense_backward_grad),
                                 eng_c_tensor(c, ARG_embedding_dense_backward_indices),
                                 eng_c_int(c, ARG_embedding_dense_backward_num_weights),
                                 eng_c_int(c, ARG_embedding_dense_backward_padding_idx)));
}

/* indices [...] -> [..., num_classes] of 0 and 1 */
void eng_f_one_hot(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_one_hot_tensor);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    int64_t classes = eng_c_int(c, ARG_one_hot_num_classes);

    if (classes <= 0) {
        eng_fail(c->e, VS_E_UNSUPPORTED,
                 "one_hot: give num_classes: without it the result's size depends on the data");
        return;
    }
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[x->ndim] = classes;
    out = eng_c_empty(c, sizes, x->ndim + 1, VS_I64, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vo = eng_v(out), vi = eng_v(x);

        vi.sizes[x->ndim] = 1;
        vi.strides[x->ndim] = 0;
        vi.ndim++;
        c->e->kernels->fill(&vo, (struct eng_scalar){true, 0, 0});
        if (!c->e->kernels->scatter(&vo, x->ndim, &vi, NULL, (struct eng_scalar){true, 1, 1},
                                    false))
            index_out_of_range(c->e, "one_hot");
    }
    eng_c_give(c, out);
}
