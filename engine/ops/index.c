/*
 * engine/ops/index.c - x[...], gather, scatter, embedding: reading and writing by index.
 *
 * Must not know:  models.
 * Invariant:      an index of ints, slices, None and ... is taken apart into selects, slices and unsqueezes, as PyTorch does; a bare
 *                 `:` is nothing at all. Tensors in it make one index op over what is left.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/op_internal.h"
#include "engine/ops/ops.h"

static void *index_out_of_range(struct eng *e, const char *what)
{
    return eng_fail(e, VS_E_VALUE, "%s: an index is out of range", what);
}

/* ---- x[...] ---- */

/* What is left after the ints, slices, None and ... : a tensor and, per dim, an index tensor or NULL. */
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

static struct eng_tensor *apply_slice(struct eng *e, struct eng_tensor *t, int dim, const struct eng_index *item)
{
    struct eng_arg args[] = {eng_at(t), eng_ai(dim), item->has_start ? eng_ai(item->start) : eng_anone(),
                             item->has_stop ? eng_ai(item->stop) : eng_anone(), eng_ai(item->step)};

    return eng_call1(e, ENG_OP_slice, args);
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

static bool take_apart(struct eng *e, struct eng_tensor *x, const struct eng_index *items, uint32_t count, struct indexed *out)
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
            if (!items[i].has_start && !items[i].has_stop && items[i].step == 1)
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
                         "indexing with a bool mask gives a result whose size depends on the data: use torch.where or masked_fill");
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
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct indexed part;

    if (!take_apart(c->e, x, c->a[1].v.index, c->a[1].count, &part)) {
        eng_unref(part.t);
        return;
    }
    if (part.count) {
        struct eng_arg args[] = {eng_at(part.t), eng_atensors(part.at, part.count)};

        eng_c_give(c, eng_call1(c->e, ENG_OP_index, args));
        eng_unref(part.t);
        return;
    }
    if (part.t == x) { /* x[...], x[:]: a tensor object of its own over the same memory */
        struct eng_arg args[] = {eng_at(x), eng_aints(x->sizes, x->ndim)};
        struct eng_tensor *alias = eng_call1(c->e, ENG_OP_alias, args);

        eng_unref(part.t);
        eng_c_give(c, alias);
        return;
    }
    eng_c_give(c, part.t);
}

void eng_f_alias(struct eng_op_call *c)
{
    eng_c_give(c, eng_alias(eng_c_tensor(c, 0)));
}

/* The value as a tensor of the target's dtype on its side; a number becomes a 0-dim tensor there. A new reference. */
static struct eng_tensor *value_tensor(struct eng_op_call *c, const struct eng_tensor *target)
{
    if (c->a[2].kind == ENG_A_TENSOR)
        return eng_ref(c->a[2].v.tensor);
    return eng_full(c->e, NULL, 0, eng_c_float(c, 2), (enum vs_dtype)target->dtype, target->storage->on_host);
}

void eng_f_setitem(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *value = value_tensor(c, x);
    struct indexed part;

    if (value && take_apart(c->e, x, c->a[1].v.index, c->a[1].count, &part)) {
        if (part.count) {
            struct eng_arg args[] = {eng_at(part.t), eng_atensors(part.at, part.count), eng_at(value), eng_ab(false)};
            struct eng_ret ret;

            if (eng_call_inplace(c->e, ENG_OP_index_put_, args, &ret))
                eng_ret_release(&ret);
        } else {
            eng_copy_into(c->e, part.t, value);
        }
        eng_unref(part.t);
    }
    eng_unref(value);
    eng_c_give(c, eng_ref(x));
}

/* ---- index with tensors ---- */

/* x with the indexed dims first, the indices broadcast, and where they go in the result. */
struct index_plan {
    struct eng_view x;
    struct eng_view idx[VS_MAX_DIMS];
    int n;                        /* index tensors */
    int64_t sizes[VS_MAX_DIMS];   /* of the result */
    int ndim;
    int idx_at, idx_ndim;         /* where in the result the indices' dims stand */
};

static bool plan_index(struct eng *e, const struct eng_tensor *x, struct eng_tensor *const *at, int count, struct index_plan *plan)
{
    int64_t shape[VS_MAX_DIMS];
    int shape_ndim = 0;
    int rest[VS_MAX_DIMS], rest_count = 0;
    int first = -1, last = -1;
    struct eng_tensor shape_holder = {0};

    memset(plan, 0, sizeof(*plan));
    plan->x = eng_v(x);
    for (int d = 0; d < x->ndim; d++) {
        if (d >= count || !at[d]) {
            rest[rest_count++] = d;
            continue;
        }
        if (vs_dtype_is_floating((enum vs_dtype)at[d]->dtype)) {
            eng_fail(e, VS_E_TYPE, "tensors used as indices must be long, int, byte or bool tensors, got %s", vs_dtype_name((enum vs_dtype)at[d]->dtype));
            return false;
        }
        first = first < 0 ? d : first;
        last = d;
        plan->x.sizes[plan->n] = x->sizes[d];
        plan->x.strides[plan->n++] = x->strides[d];
        shape_holder.ndim = (uint8_t)shape_ndim;
        memcpy(shape_holder.sizes, shape, sizeof(shape));
        if (!eng_broadcast(e, &shape_holder, at[d], shape, &shape_ndim))
            return false;
    }
    for (int k = 0; k < rest_count; k++) {
        plan->x.sizes[plan->n + k] = x->sizes[rest[k]];
        plan->x.strides[plan->n + k] = x->strides[rest[k]];
    }
    if (rest_count + shape_ndim > VS_MAX_DIMS) {
        eng_fail(e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported", VS_MAX_DIMS);
        return false;
    }
    /* indices next to each other stay in place, else their dims come first */
    plan->idx_at = last - first + 1 == plan->n ? first : 0;
    plan->idx_ndim = shape_ndim;
    plan->ndim = rest_count + shape_ndim;
    for (int k = 0, d = 0; d < plan->ndim; d++)
        plan->sizes[d] = d >= plan->idx_at && d < plan->idx_at + shape_ndim ? shape[d - plan->idx_at] : x->sizes[rest[k++]];
    shape_holder.ndim = (uint8_t)shape_ndim;
    memcpy(shape_holder.sizes, shape, sizeof(shape));
    for (int d = 0, k = 0; d < count; d++) {
        if (at[d])
            plan->idx[k++] = eng_v_expand(at[d], &shape_holder);
    }
    return true;
}

/* A view of `t` (of the result's shape) with the indices' dims first, as the kernels want it. */
static struct eng_view indices_first(const struct eng_tensor *t, const struct index_plan *plan)
{
    struct eng_view v = eng_v(t);
    int k = 0;

    for (int d = 0; d < plan->idx_ndim; d++, k++) {
        v.sizes[k] = t->sizes[plan->idx_at + d];
        v.strides[k] = t->strides[plan->idx_at + d];
    }
    for (int d = 0; d < t->ndim; d++) {
        if (d >= plan->idx_at && d < plan->idx_at + plan->idx_ndim)
            continue;
        v.sizes[k] = t->sizes[d];
        v.strides[k++] = t->strides[d];
    }
    return v;
}

void eng_f_index(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct index_plan plan;
    struct eng_tensor *out;

    if (!plan_index(c->e, x, c->a[1].v.tensors, (int)c->a[1].count, &plan))
        return;
    out = eng_c_empty(c, plan.sizes, plan.ndim, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vo = indices_first(out, &plan);

        if (!c->e->kernels->index_get(&plan.x, plan.idx, plan.n, &vo))
            index_out_of_range(c->e, "index");
    }
    eng_c_give(c, out);
}

/*
 * Scratch of an accumulating index_put on the device: the linear index is made (a remainder and a product per index), sorted
 * with its positions, and let go of. Observed on CUDA, see docs/oracle-findings.md.
 */
static void index_put_scratch(struct eng *e, int64_t n, int indices)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    struct eng_tensor *linear = NULL;
    struct eng_tensor *sorted[3] = {0};

    for (int i = 0; i < indices; i++) {
        struct eng_tensor *wrapped = eng_empty(e, &n, 1, VS_I64, false);
        struct eng_tensor *scaled = eng_empty(e, &n, 1, VS_I64, false);

        eng_unref(wrapped);
        if (linear)
            eng_unref(scaled); /* added into the first */
        else
            linear = scaled;
    }
    for (int i = 0; i < 3; i++)
        sorted[i] = eng_empty(e, &n, 1, VS_I64, false);
    for (int i = 2; i >= 0; i--)
        eng_unref(sorted[i]);
    eng_unref(linear);
    eng_category_default(e, before);
}

/* x[indices] = or += values, in place */
void eng_f_index_put(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *values = eng_c_tensor(c, 2);
    struct index_plan plan;
    struct eng_tensor shape = {0};

    if (!plan_index(c->e, x, c->a[1].v.tensors, (int)c->a[1].count, &plan))
        return;
    if (eng_c_bool(c, 3) && !x->storage->on_host) {
        int64_t n = 1;

        for (int d = 0; d < plan.idx_ndim; d++)
            n *= plan.sizes[plan.idx_at + d];
        index_put_scratch(c->e, n, plan.n);
    }
    if (eng_c_computes(c)) {
        struct eng_tensor expanded = *values;
        struct eng_view vv;

        shape.ndim = (uint8_t)plan.ndim;
        memcpy(shape.sizes, plan.sizes, sizeof(shape.sizes));
        vv = eng_v_expand(values, &shape);
        expanded.ndim = (uint8_t)plan.ndim;
        memcpy(expanded.sizes, vv.sizes, sizeof(expanded.sizes));
        memcpy(expanded.strides, vv.strides, sizeof(expanded.strides));
        vv = indices_first(&expanded, &plan);
        if (!c->e->kernels->index_put(&plan.x, plan.idx, plan.n, &vv, eng_c_bool(c, 3)))
            index_out_of_range(c->e, "index_put");
    }
    eng_c_give(c, eng_ref(x));
}

/* zeros of the input, g added where it was read. The index tensors are kept in the node's edges' place: see save rules. */
void eng_b_index(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int count = (int)b->a[1].count;
    struct eng_tensor *at[VS_MAX_DIMS] = {0};
    struct eng_arg args[] = {eng_at(zeros), eng_atensors(at, count), eng_at(b->g[0]), eng_ab(true)};
    struct eng_ret ret;

    for (int i = 0; i < count; i++)
        at[i] = b->saved[i];
    if (zeros && !b->e->failed && eng_call_inplace(b->e, ENG_OP_index_put_, args, &ret))
        eng_ret_release(&ret);
    eng_b_give(b, 0, zeros);
}

/* values: g read at the indices; input: g with zeros there */
void eng_b_index_put(struct eng_bw *b)
{
    int count = (int)b->a[1].count;
    struct eng_tensor *at[VS_MAX_DIMS] = {0};

    for (int i = 0; i < count; i++)
        at[i] = b->saved[i];
    if (b->e->failed)
        return;
    if (eng_b_needs(b, 0)) {
        struct eng_tensor *g = eng_clone(b->e, b->g[0]);
        struct eng_tensor *zero = eng_zeros(b->e, NULL, 0, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
        struct eng_arg args[] = {eng_at(g), eng_atensors(at, count), eng_at(zero), eng_ab(false)};
        struct eng_ret ret;

        if (g && zero && eng_call_inplace(b->e, ENG_OP_index_put_, args, &ret))
            eng_ret_release(&ret);
        eng_unref(zero);
        eng_b_give(b, 0, g);
    }
    if (eng_b_needs(b, 2)) {
        struct eng_arg args[] = {eng_at(b->g[0]), eng_atensors(at, count)};

        eng_b_give(b, 2, eng_call1(b->e, ENG_OP_index, args));
    }
}

/* ---- one index tensor along a dim ---- */

static bool check_index(struct eng_op_call *c, const struct eng_tensor *index)
{
    if (index->dtype == VS_I64 || index->dtype == VS_I32)
        return true;
    eng_fail(c->e, VS_E_TYPE, "%s: expected an index tensor of int64, got %s", eng_op_get(c->id)->name, vs_dtype_name((enum vs_dtype)index->dtype));
    return false;
}

void eng_f_index_select(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *index = eng_c_tensor(c, 2);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim) || !check_index(c, index))
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

/* The zeros that the gradients of reads are written into. */
static struct eng_tensor *input_zeros(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);

    return eng_zeros(b->e, edge->sizes, edge->ndim, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
}

void eng_b_index_select(struct eng_bw *b)
{
    struct eng_tensor *zeros = input_zeros(b);
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    int64_t dim = b->a[1].v.scalar.i;

    if (zeros && b->saved[0] && b->e->kernels) {
        struct eng_view vz = eng_v(zeros), vi = eng_v(b->saved[0]), vg = eng_v(b->g[0]);

        if (!b->e->kernels->index_add(&vz, (int)(dim < 0 ? dim + edge->ndim : dim), &vi, &vg))
            index_out_of_range(b->e, "index_select");
    }
    eng_b_give(b, 0, zeros);
}

void eng_f_gather(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *index = eng_c_tensor(c, 2);
    struct eng_tensor *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim) || !check_index(c, index))
        return;
    if (index->ndim != x->ndim) {
        eng_fail(c->e, VS_E_SHAPE, "gather: index tensor must have the same number of dimensions as the input tensor (%d), got %d", x->ndim, index->ndim);
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
    struct eng_tensor *zeros = input_zeros(b);
    struct eng_arg args[] = {eng_at(zeros), b->a[1], eng_at(b->saved[0]), eng_at(b->g[0])};
    struct eng_ret ret;

    if (zeros && b->saved[0] && eng_call_inplace(b->e, ENG_OP_scatter_add, args, &ret))
        eng_ret_release(&ret);
    eng_b_give(b, 0, zeros);
}

/* scatter, scatter.value, scatter_add: out = input, then written at the indices */
void eng_f_scatter(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *index = eng_c_tensor(c, 2);
    struct eng_tensor *src = eng_c_tensor(c, 3);
    struct eng_tensor *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim) || !check_index(c, index))
        return;
    out = c->inplace ? eng_ref(x) : eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vi = eng_v(index), vo = eng_v(out), vs;

        if (!c->inplace)
            c->e->kernels->copy(&vx, &vo);
        if (src) {
            vs = eng_v(src); /* only the part under the index is read */
            memcpy(vs.sizes, vi.sizes, sizeof(vs.sizes));
        }
        if (!c->e->kernels->scatter(&vo, dim, &vi, src ? &vs : NULL, src ? (struct eng_scalar){0} : c->a[3].v.scalar, c->id == ENG_OP_scatter_add))
            index_out_of_range(c->e, "scatter");
    }
    eng_c_give(c, out);
}

static struct eng_tensor *scattered_zero(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), b->a[1], eng_at(b->saved[0]), eng_ai(0)};

    return b->saved[0] ? eng_call1(b->e, ENG_OP_scatter_value, args) : NULL;
}

static struct eng_tensor *gathered(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), b->a[1], eng_at(b->saved[0])};

    return b->saved[0] ? eng_call1(b->e, ENG_OP_gather, args) : NULL;
}

void eng_b_scatter_value(struct eng_bw *b)
{
    eng_b_give(b, 0, scattered_zero(b));
}

void eng_b_scatter(struct eng_bw *b)
{
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, scattered_zero(b));
    if (eng_b_needs(b, 3))
        eng_b_give(b, 3, gathered(b));
}

void eng_b_scatter_add(struct eng_bw *b)
{
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, eng_ref(b->g[0]));
    if (eng_b_needs(b, 3))
        eng_b_give(b, 3, gathered(b));
}

/* ---- embedding ---- */

/* weight [V, D], indices [...] -> [..., D] */
void eng_f_embedding(struct eng_op_call *c)
{
    struct eng_tensor *weight = eng_c_tensor(c, 0);
    struct eng_tensor *indices = eng_c_tensor(c, 1);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;

    if (!check_index(c, indices))
        return;
    if (weight->ndim != 2 || indices->ndim + 1 > VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_SHAPE, "embedding: the weight must be 2-D");
        return;
    }
    if (eng_c_bool(c, 4)) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "embedding: sparse=True is not supported");
        return;
    }
    memcpy(sizes, indices->sizes, sizeof(sizes));
    sizes[indices->ndim] = weight->sizes[1];
    out = eng_c_empty(c, sizes, indices->ndim + 1, (enum vs_dtype)weight->dtype, weight);
    if (out && eng_c_computes(c)) {
        struct eng_view vw = eng_v(weight), vi = eng_v(indices), vo = eng_v(out);
        struct eng_tensor *dense = NULL;

        if (!eng_is_contiguous(indices)) {
            dense = eng_empty(c->e, indices->sizes, indices->ndim, (enum vs_dtype)indices->dtype, true);
            if (dense) {
                struct eng_view vd = eng_v(dense);

                c->e->kernels->copy(&vi, &vd);
                vi = vd;
            }
        }
        vi.ndim = 1;
        vi.sizes[0] = eng_numel(indices);
        vi.strides[0] = 1;
        vo.ndim = 2;
        vo.sizes[0] = vi.sizes[0];
        vo.sizes[1] = weight->sizes[1];
        vo.strides[0] = weight->sizes[1];
        vo.strides[1] = 1;
        if (!c->e->kernels->embedding(&vw, &vi, &vo))
            eng_fail(c->e, VS_E_VALUE, "embedding: an index is outside the table of %" PRId64 " rows", weight->sizes[0]);
        eng_unref(dense);
    }
    eng_c_give(c, out);
}

/*
 * Scratch of the sorted path, taken above 3072 indices: sorted and original positions (kept), a range. After the table: counts, and buffers a
 * segment and a partial segment. Measured without a device, see docs/oracle-findings.md.
 */
static void embedding_sort_scratch(struct eng *e, int64_t n, struct eng_tensor **kept)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    struct eng_tensor *range;

    kept[0] = eng_empty(e, &n, 1, VS_I64, false);
    kept[1] = eng_empty(e, &n, 1, VS_I64, false);
    range = eng_empty(e, &n, 1, VS_I64, false);
    eng_unref(range);
    eng_category_default(e, before);
}

#define ROWS_PER_PARTIAL_SEGMENT 10

static void embedding_segment_scratch(struct eng *e, int64_t n, int64_t rows)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    int64_t segments = n < rows ? n : rows;
    int64_t partials = n / ROWS_PER_PARTIAL_SEGMENT + segments;
    const int64_t sizes[] = {n, 1, segments, segments, 1, partials, partials};
    struct eng_tensor *scratch[7];

    for (int i = 0; i < 7; i++)
        scratch[i] = eng_empty(e, &sizes[i], 1, VS_I64, false);
    for (int i = 6; i >= 0; i--)
        eng_unref(scratch[i]);
    eng_category_default(e, before);
}

#define EMBEDDING_SORT_FROM 3072

void eng_b_embedding(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *indices = b->saved[0];
    struct eng_tensor *g, *table;
    struct eng_tensor *sorted[2] = {0};
    int64_t n;

    if (!indices)
        return;
    n = eng_numel(indices);
    g = eng_contiguous(b->e, b->g[0]);
    if (n > EMBEDDING_SORT_FROM && !indices->storage->on_host)
        embedding_sort_scratch(b->e, n, sorted);
    table = eng_zeros(b->e, edge->sizes, 2, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    if (table && g && b->e->kernels) {
        struct eng_tensor *dense = eng_contiguous(b->e, indices);
        struct eng_view vg = eng_v(g), vi = eng_v(dense), vt = eng_v(table);

        vi.ndim = 1;
        vi.sizes[0] = n;
        vi.strides[0] = 1;
        vg.ndim = 2;
        vg.sizes[0] = n;
        vg.sizes[1] = edge->sizes[1];
        vg.strides[0] = edge->sizes[1];
        vg.strides[1] = 1;
        b->e->kernels->embedding_backward(&vg, &vi, b->a[2].v.scalar.i, &vt);
        eng_unref(dense);
    }
    if (sorted[0])
        embedding_segment_scratch(b->e, n, edge->sizes[0]);
    eng_unref(sorted[1]);
    eng_unref(sorted[0]);
    eng_unref(g);
    eng_b_give(b, 0, table);
}

/* indices [...] -> [..., num_classes] of 0 and 1 */
void eng_f_one_hot(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    int64_t classes = eng_c_int(c, 1);

    if (classes <= 0) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "one_hot: give num_classes: without it the result's size depends on the data");
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
        if (!c->e->kernels->scatter(&vo, x->ndim, &vi, NULL, (struct eng_scalar){true, 1, 1}, false))
            index_out_of_range(c->e, "one_hot");
    }
    eng_c_give(c, out);
}
