/*
 * engine/ops/reduction/sort.c - sort, argsort, topk.
 *
 * Must not know:  models.
 * Invariant:      values have the input's memory layout; the gradient is zeros with g written at the values' source
 *                 indices.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

#define SMALL_SORT 4096 /* lines with more elements are sorted by segments on the device */

static struct eng_view as_line(struct eng_view v)
{
    if (!v.ndim) {
        v.ndim = 1;
        v.sizes[0] = 1;
        v.strides[0] = 1;
    }
    return v;
}

/* Copies that the device makes for lines longer than SMALL_SORT that do not lie one element after the other. */
static struct eng_tensor *scratch_line_last(struct eng_op_call *c, struct eng_tensor *x, int dim,
                                            enum vs_dtype dtype)
{
    int64_t strides[VS_MAX_DIMS];
    int64_t next = x->sizes[dim];

    for (int d = x->ndim - 1; d >= 0; d--) {
        strides[d] = d == dim ? 1 : next;
        next *= d == dim ? 1 : x->sizes[d];
    }
    return eng_empty_strided(c->e, x->sizes, strides, x->ndim, dtype, x->storage->on_host);
}

static void line_scratch(struct eng_op_call *c, const struct eng_tensor *x, int64_t length)
{
    if (!x->storage->on_host && length)
        eng_scratch_sort_lines(c->e, (uint64_t)(eng_numel(x) / length), (uint64_t)length,
                               (enum vs_dtype)x->dtype);
}

/* (values, indices) of x sorted along dim; both new. */
static void sorted(struct eng_op_call *c, struct eng_tensor *x, int dim, bool descending,
                   struct eng_tensor **values, struct eng_tensor **indices)
{
    int64_t n = x->ndim ? x->sizes[dim] : 1;

    *values = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    *indices = *values ? eng_c_empty_like(c, x, VS_I64) : NULL;
    if (!*indices)
        return;
    if (n <= SMALL_SORT) {
        if (x->ndim && eng_numel(x)) /* 0, 1, 2, …: what the indices are filled with */
            eng_unref(eng_c_empty(c, &n, 1, VS_I64, x));
    } else if (!eng_is_non_overlapping_and_dense(x) || x->strides[dim] != 1) {
        struct eng_tensor *line = scratch_line_last(c, x, dim, (enum vs_dtype)x->dtype);
        struct eng_tensor *v = scratch_line_last(c, x, dim, (enum vs_dtype)x->dtype);
        struct eng_tensor *i = scratch_line_last(c, x, dim, VS_I64);

        line_scratch(c, x, n);
        eng_unref(i);
        eng_unref(v);
        eng_unref(line);
    } else {
        line_scratch(c, x, n);
    }
    if (eng_runs(c->e)) {
        struct eng_view vx = as_line(eng_v(x)), vv = as_line(eng_v(*values)),
                        vi = as_line(eng_v(*indices));

        eng_run_sort(c->e, x->storage->on_host, &vx, dim, descending, &vv, &vi);
    }
}

/* (input, dim, descending, stable) */
void eng_f_sort(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_sort_input), *values, *indices;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_sort_dim), x->ndim, &dim))
        return;
    sorted(c, x, dim, eng_c_bool(c, ARG_sort_descending), &values, &indices);
    eng_c_give(c, values);
    eng_c_give(c, indices);
}

/* sort's indices */
void eng_f_argsort(struct eng_op_call *c)
{
    struct eng_arg args[] = {c->a[ARG_argsort_input], c->a[ARG_argsort_dim],
                             c->a[ARG_argsort_descending], c->a[ARG_argsort_stable]};
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_sort, args, &ret))
        return;
    eng_c_give(c, eng_ref(ret.few[1]));
    eng_ret_release(&ret);
}

/* zeros with g written at the indices along dim */
static struct eng_tensor *put_back(struct eng_bw *b, const struct eng_edge *edge,
                                   const struct eng_arg *dim, struct eng_tensor *indices)
{
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    struct eng_arg args[] = {eng_at(zeros), *dim, eng_at(indices), eng_at(b->g[0])};
    struct eng_ret ret;

    if (zeros && indices && eng_call_inplace(b->e, ENG_OP_scatter, args, &ret))
        eng_ret_release(&ret);
    return zeros;
}

void eng_b_sort(struct eng_bw *b)
{
    eng_b_give(b, ARG_sort_input,
               put_back(b, eng_b_edge(b, ARG_sort_input, 0), &b->a[ARG_sort_dim],
                        b->saved[SAVED_sort_result1]));
}

void eng_b_topk(struct eng_bw *b)
{
    eng_b_give(b, ARG_topk_input,
               put_back(b, eng_b_edge(b, ARG_topk_input, 0), &b->a[ARG_topk_dim],
                        b->saved[SAVED_topk_result1]));
}

/* ---- topk ---- */

/* The first k of each sorted line, written to values and indices. Scratch of the host. */
static void take_first(struct eng_op_call *c, struct eng_tensor *x, int dim, bool largest,
                       struct eng_tensor *values, struct eng_tensor *indices)
{
    struct eng_tensor *v = eng_empty(c->e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, true);
    struct eng_tensor *i = eng_empty(c->e, x->sizes, x->ndim, VS_I64, true);

    if (v && i && eng_runs(c->e)) {
        struct eng_view vx = as_line(eng_v(x)), vv = as_line(eng_v(v)), vi = as_line(eng_v(i)),
                        to_v = as_line(eng_v(values)), to_i = as_line(eng_v(indices));

        eng_run_sort(c->e, x->storage->on_host, &vx, dim, largest, &vv, &vi);
        vv.sizes[dim] = vi.sizes[dim] = to_v.sizes[dim];
        if (c->e->kernels && !c->e->failed) {
            c->e->kernels->copy(&vv, &to_v);
            c->e->kernels->copy(&vi, &to_i);
        }
    }
    eng_unref(i);
    eng_unref(v);
}

/* (input, k, dim, largest, sorted) */
void eng_f_topk(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_topk_input), *values, *indices, *dense;
    int64_t k = eng_c_int(c, ARG_topk_k);
    int64_t sizes[VS_MAX_DIMS];
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_topk_dim), x->ndim, &dim))
        return;
    if (k < 0 || k > (x->ndim ? x->sizes[dim] : 1)) {
        eng_fail(c->e, VS_E_VALUE, "topk: k (%" PRId64 ") is out of range for dimension %d", k,
                 dim);
        return;
    }
    memcpy(sizes, x->sizes, sizeof(sizes));
    sizes[dim] = k;
    values = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    indices = values ? eng_c_empty(c, sizes, x->ndim, VS_I64, x) : NULL;
    dense = indices ? eng_contiguous(c->e, x) : NULL;
    if (dense)
        take_first(c, x, dim, eng_c_bool(c, ARG_topk_largest), values, indices);
    eng_unref(dense);
    eng_c_give(c, values);
    eng_c_give(c, indices);
}
