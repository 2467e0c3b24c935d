/*
 * engine/ops/indexing/index_tensor.c - index and index_put: reading and writing where tensors say.
 *
 * Must not know:  how x[...] is split into ops (index.c).
 * Invariant:      indices are moved to x's device, broadcast and given equal strides before anything is read or
 *                 written, with the same copies in the same order as PyTorch; index_put_scratch allocates the other
 *                 memory of an accumulating write.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"

static void *index_out_of_range(struct eng *e, const char *what)
{
    return eng_fail(e, VS_E_VALUE, "%s: an index is out of range", what);
}

/* x with the indexed dims first, the indices broadcast, and where they go in the result. */
struct index_plan {
    struct eng_view x;
    struct eng_view idx[VS_MAX_DIMS];
    bool on_host[VS_MAX_DIMS];  /* of an index: it is on the host, x is not */
    int n;                      /* index tensors */
    int64_t sizes[VS_MAX_DIMS]; /* of the result */
    int ndim;
    int idx_at, idx_ndim; /* the indices' dims in the result: first, number */
};

static bool plan_index(struct eng *e, const struct eng_tensor *x, struct eng_tensor *const *at,
                       int count, struct index_plan *plan)
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
            eng_fail(e, VS_E_TYPE,
                     "tensors used as indices must be long, int, byte or bool tensors, got %s",
                     vs_dtype_name((enum vs_dtype)at[d]->dtype));
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
        eng_fail(e, VS_E_UNSUPPORTED, "tensors of more than %d dimensions are not supported",
                 VS_MAX_DIMS);
        return false;
    }
    /* indices next to each other stay in place, else their dims come first */
    plan->idx_at = last - first + 1 == plan->n ? first : 0;
    plan->idx_ndim = shape_ndim;
    plan->ndim = rest_count + shape_ndim;
    for (int k = 0, d = 0; d < plan->ndim; d++)
        plan->sizes[d] = d >= plan->idx_at && d < plan->idx_at + shape_ndim
                             ? shape[d - plan->idx_at]
                             : x->sizes[rest[k++]];
    shape_holder.ndim = (uint8_t)shape_ndim;
    memcpy(shape_holder.sizes, shape, sizeof(shape));
    for (int d = 0, k = 0; d < count; d++) {
        if (!at[d])
            continue;
        plan->on_host[k] = at[d]->storage->on_host && !x->storage->on_host;
        plan->idx[k++] = eng_v_expand(at[d], &shape_holder);
    }
    return true;
}

static bool views_alike(const struct eng_view *a, const struct eng_view *b)
{
    return !memcmp(a->strides, b->strides, sizeof(*a->strides) * (size_t)a->ndim);
}

/* A copy of an index, as `to` makes it: strides are kept where it is dense. */
static struct eng_tensor *index_to(struct eng *e, struct eng_tensor *t, enum vs_dtype dtype,
                                   bool on_host)
{
    struct eng_tensor *copy =
        eng_is_non_overlapping_and_dense(t)
            ? eng_empty_strided(e, t->sizes, t->strides, t->ndim, dtype, on_host)
            : eng_empty(e, t->sizes, t->ndim, dtype, on_host);

    if (copy)
        eng_copy_into(e, copy, t);
    return copy;
}

/*
 * The indices as the kernels read them: int64, on x's device. Converted indices are in `made`, the others are as in
 * `at`.
 */
static void indices_bring(struct eng *e, const struct eng_tensor *x, struct eng_tensor *const *at,
                          int count, struct eng_tensor **here, struct eng_tensor **made)
{
    for (int i = 0; i < count; i++) {
        here[i] = at[i];
        if (here[i] && here[i]->storage->on_host && !x->storage->on_host)
            here[i] = made[i] =
                index_to(e, here[i], (enum vs_dtype)here[i]->dtype, x->storage->on_host);
        if (here[i] && here[i]->dtype == VS_I32) {
            struct eng_tensor *narrow = made[i];

            here[i] = made[i] = index_to(e, here[i], VS_I64, x->storage->on_host);
            eng_unref(narrow);
        }
    }
}

/*
 * As PyTorch's kernel requires, makes dense copies of indices whose strides differ after broadcasting. Fills copies,
 * which the caller releases, the last one first.
 */
static void indices_made_alike(struct eng *e, struct index_plan *plan, bool on_host,
                               struct eng_tensor **copies)
{
    bool alike = true;

    for (int k = 1; k < plan->n; k++)
        alike = alike && views_alike(&plan->idx[0], &plan->idx[k]);
    for (int k = 0; k < plan->n && !alike; k++) {
        struct eng_tensor shape = {.ndim = (uint8_t)plan->idx_ndim};

        memcpy(shape.sizes, plan->idx[k].sizes, sizeof(shape.sizes));
        memcpy(shape.strides, plan->idx[k].strides, sizeof(shape.strides));
        if (eng_is_contiguous(&shape))
            continue;
        copies[k] = eng_empty(e, shape.sizes, shape.ndim, plan->idx[k].dtype, on_host);
        if (copies[k]) {
            struct eng_view to = eng_v(copies[k]);

            if (e->kernels)
                e->kernels->copy(&plan->idx[k], &to);
            plan->idx[k] = to;
        }
    }
}

/*
 * The indices of one call. here: the indices that are read, by dim of x; made: those of them that were converted;
 * copies: dense copies, by number of the index, which replace the converted ones.
 */
struct indices {
    struct eng_tensor *here[VS_MAX_DIMS];
    struct eng_tensor *made[VS_MAX_DIMS];
    struct eng_tensor *copies[VS_MAX_DIMS];
};

/*
 * Plans the call, with all indices on the device and equal in size. False, with nothing to release, where that is
 * impossible.
 */
static bool indices_ready(struct eng *e, const struct eng_tensor *x, const struct eng_arg *at,
                          struct index_plan *plan, struct indices *ix)
{
    const int count = (int)at->count;

    memset(ix, 0, sizeof(*ix));
    indices_bring(e, x, at->v.tensors, count, ix->here, ix->made);
    if (!e->failed && plan_index(e, x, ix->here, count, plan)) {
        indices_made_alike(e, plan, x->storage->on_host, ix->copies);
        for (int i = 0, k = 0; i < count; i++)
            if (ix->here[i] && ix->copies[k++])
                eng_slot_set(&ix->made[i], NULL);
        return true;
    }
    for (int i = 0; i < count; i++)
        eng_unref(ix->made[i]);
    return false;
}

/* Releases the indices, for a read from the last to the first, for a write from the first to the last. */
static void indices_release(struct indices *ix, bool is_last_first)
{
    for (int i = 0; i < VS_MAX_DIMS; i++) {
        int at = is_last_first ? VS_MAX_DIMS - 1 - i : i;

        eng_unref(ix->copies[at]);
        eng_unref(ix->made[at]);
    }
}

/* A view of `t`, which has the result's sizes, with the indices' dims first, as the kernels expect it. */
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
    struct eng_tensor *x = eng_c_tensor(c, ARG_index_input);
    struct indices ix;
    struct index_plan plan;
    struct eng_tensor *out;

    if (!indices_ready(c->e, x, &c->a[ARG_index_indices], &plan, &ix))
        return;
    out = eng_c_empty(c, plan.sizes, plan.ndim, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vo = indices_first(out, &plan);

        if (!c->e->kernels->index_get(&plan.x, plan.idx, plan.n, &vo))
            index_out_of_range(c->e, "index");
    }
    indices_release(&ix, true);
    eng_c_give(c, out);
}

static struct eng_tensor *longs(struct eng *e, int64_t n)
{
    return eng_empty(e, &n, 1, VS_I64, false);
}

static int64_t plan_numel(const struct index_plan *plan)
{
    int64_t n = 1;

    for (int d = 0; d < plan->ndim; d++)
        n *= plan->sizes[d];
    return n;
}

/* Linear indices are sorted as numbers of slices, the dims behind the indexed ones. */
static int64_t largest_key(const struct index_plan *plan)
{
    int64_t last = 0, slice = 1;

    for (int d = 0; d < plan->x.ndim; d++) {
        last += (plan->x.sizes[d] - 1) * plan->x.strides[d];
        if (d >= plan->n + plan->idx_at)
            slice *= plan->x.sizes[d];
    }
    return slice ? last / slice : 0;
}

/* Checks the user's indices: the largest, the smallest, and whether each is in range. */
static void range_check_scratch(struct eng *e)
{
    struct eng_tensor *most = eng_empty(e, NULL, 0, VS_I64, false);
    struct eng_tensor *least = eng_empty(e, NULL, 0, VS_I64, false);

    eng_unref(eng_empty(e, NULL, 0, VS_BOOL, false));
    eng_unref(eng_empty(e, NULL, 0, VS_BOOL, false));
    eng_unref(most);
    eng_unref(least);
}

/*
 * Scratch memory of an accumulating index_put on the device: the linear index is computed (a remainder and a product
 * per index, on the host for a host index, which is then moved; all but the first are added in place), then sorted
 * together with its positions. Before that, dense copies are made of `values`, if it does not have the sizes of the
 * plan or is not dense, and of the destination `whole`, if it is not NULL. Observed on CUDA, see
 * docs/internals/oracle-findings.md.
 */
static void index_put_scratch(struct eng *e, int64_t n, const struct index_plan *plan,
                              const struct eng_tensor *values, const struct eng_tensor *whole)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    struct eng_tensor *linear = NULL, *copy = NULL, *dense = NULL;
    struct eng_tensor *sorted[3] = {0};

    for (int i = 0; i < plan->n; i++) {
        struct eng_tensor *wrapped, *scaled;

        if (!e->backward_depth && !plan->on_host[i])
            range_check_scratch(e);
        wrapped = plan->on_host[i] ? NULL : longs(e, n);
        scaled = longs(e, n);
        eng_unref(wrapped);
        if (linear)
            eng_unref(scaled);
        else
            linear = scaled;
    }
    if (!eng_is_contiguous(values) || eng_numel(values) < plan_numel(plan))
        dense = eng_empty(e, plan->sizes, plan->ndim, (enum vs_dtype)values->dtype, false);
    if (whole)
        copy = eng_empty(e, whole->sizes, whole->ndim, (enum vs_dtype)whole->dtype, false);
    for (int i = 0; i < 3; i++)
        sorted[i] = longs(e, n);
    eng_scratch_sort(e, (uint64_t)n, largest_key(plan));
    for (int i = 2; i >= 0; i--)
        eng_unref(sorted[i]);
    eng_unref(copy);
    eng_unref(dense);
    eng_unref(linear);
    eng_category_default(e, before);
}

/* Whether the destination of an accumulating write is dense, with the indexed dims first if they are not adjacent. */
static bool is_written_dense(const struct eng_tensor *x, const struct index_plan *plan)
{
    struct eng_tensor turned = {.ndim = x->ndim};

    if (plan->idx_at)
        return eng_is_contiguous(x);
    memcpy(turned.sizes, plan->x.sizes, sizeof(turned.sizes));
    memcpy(turned.strides, plan->x.strides, sizeof(turned.strides));
    return eng_is_contiguous(&turned);
}

/* Writes `values` at the elements that the plan selects. */
static void index_write(struct eng_op_call *c, const struct index_plan *plan,
                        struct eng_tensor *values)
{
    struct eng_tensor shape = {.ndim = (uint8_t)plan->ndim};
    struct eng_tensor expanded = *values;
    struct eng_view vv;

    memcpy(shape.sizes, plan->sizes, sizeof(shape.sizes));
    vv = eng_v_expand(values, &shape);
    expanded.ndim = (uint8_t)plan->ndim;
    memcpy(expanded.sizes, vv.sizes, sizeof(expanded.sizes));
    memcpy(expanded.strides, vv.strides, sizeof(expanded.strides));
    vv = indices_first(&expanded, plan);
    if (!c->e->kernels->index_put(&plan->x, plan->idx, plan->n, &vv,
                                  eng_c_bool(c, ARG_index_put_accumulate)))
        index_out_of_range(c->e, "index_put");
}

/* x[indices] = or += values, in place */
void eng_f_index_put(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_index_put_input);
    struct eng_tensor *values = eng_c_tensor(c, ARG_index_put_values);
    const bool adds = eng_c_bool(c, ARG_index_put_accumulate);
    struct indices ix = {{NULL}, {NULL}, {NULL}};
    struct index_plan plan;

    if (adds ? !plan_index(c->e, x, c->a[ARG_index_put_indices].v.tensors,
                           (int)c->a[ARG_index_put_indices].count, &plan)
             : !indices_ready(c->e, x, &c->a[ARG_index_put_indices], &plan, &ix))
        return;
    if (adds && !x->storage->on_host) {
        int64_t n = 1;

        for (int d = 0; d < plan.idx_ndim; d++)
            n *= plan.sizes[plan.idx_at + d];
        index_put_scratch(c->e, n, &plan, values, is_written_dense(x, &plan) ? NULL : x);
    }
    if (eng_c_computes(c))
        index_write(c, &plan, values);
    indices_release(&ix, false);
    eng_c_give(c, eng_ref(x));
}

/*
 * zeros of the input, g added where it was read. The index tensors are kept in the node's edges' place: see save rules.
 */
void eng_b_index(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_index_input, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int count = (int)b->a[ARG_index_indices].count;
    struct eng_tensor *at[VS_MAX_DIMS] = {0};
    struct eng_arg args[] = {eng_at(zeros), eng_atensors(at, count), eng_at(b->g[0]), eng_ab(true)};
    struct eng_ret ret;

    for (int i = 0; i < count; i++)
        at[i] = b->saved[SAVED_index_indices + i];
    if (zeros && !b->e->failed && eng_call_inplace(b->e, ENG_OP_index_put_, args, &ret))
        eng_ret_release(&ret);
    eng_b_give(b, ARG_index_input, zeros);
}

/* input: g with zeros (of the values' shape) there, or g where the values were added; values: g read at the indices */
void eng_b_index_put(struct eng_bw *b)
{
    int count = (int)b->a[ARG_index_put_indices].count;
    struct eng_tensor *at[VS_MAX_DIMS] = {0};

    for (int i = 0; i < count; i++)
        at[i] = b->saved[SAVED_index_put_indices + i];
    if (b->e->failed)
        return;
    if (eng_b_needs(b, ARG_index_put_input) && b->a[ARG_index_put_accumulate].v.flag) {
        eng_b_give(b, ARG_index_put_input, eng_ref(b->g[0]));
    } else if (eng_b_needs(b, ARG_index_put_input)) {
        const struct eng_edge *values = eng_b_edge(b, ARG_index_put_values, 0);
        struct eng_tensor *zero = eng_zeros(b->e, values->sizes, values->ndim,
                                            (enum vs_dtype)b->g[0]->dtype, values->on_host);
        struct eng_tensor *g = eng_clone(b->e, b->g[0]);
        struct eng_arg args[] = {eng_at(g), eng_atensors(at, count), eng_at(zero), eng_ab(false)};
        struct eng_ret ret;

        if (g && zero && eng_call_inplace(b->e, ENG_OP_index_put_, args, &ret))
            eng_ret_release(&ret);
        eng_unref(zero);
        eng_b_give(b, ARG_index_put_input, g);
    }
    if (eng_b_needs(b, ARG_index_put_values)) {
        struct eng_arg args[] = {eng_at(b->g[0]), eng_atensors(at, count)};

        eng_b_give(b, ARG_index_put_values, eng_call1(b->e, ENG_OP_index, args));
    }
}
