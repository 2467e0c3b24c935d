/*
 * engine/ops/indexing/embedding_bag.c - sums, means and maxima of bags of rows of a table.
 *
 * Must not know:  models.
 * Invariant:      the sizes and saved tensors are those of PyTorch's CUDA implementation; the rows that are read are
 *                 summed in double on the host, and rounded once.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/host_scratch.h"
#include "engine/ops/indexing/embedding_scratch.h"
#include "engine/workspace/workspace.h"

enum { MODE_SUM, MODE_MEAN, MODE_MAX };

/* The arguments of a call, read on the host. */
struct bags {
    const struct eng *e;
    int64_t n, count, width; /* indices, bags, elements of a row */
    int64_t padding;         /* padding_idx, whose rows are ignored; -1: none */
    struct eng_host_scratch indices, bag_of,
        sizes;                             /* bag_of [n]; sizes [count]: indices that count */
    struct eng_host_scratch rows, weights; /* in double: [n, width], [n] */
    bool has_rows, has_weights;
};

static int64_t *ints(const struct eng_host_scratch *s)
{
    return s->v.data;
}

static double *doubles(const struct eng_host_scratch *s)
{
    return s->v.data;
}

static bool counts(const struct bags *b, int64_t i)
{
    return ints(&b->indices)[i] != b->padding;
}

/* padding_idx, counted from the table's end if negative; -1: none. */
static int64_t padding_of(const struct eng_arg *arg, int64_t rows)
{
    if (arg->kind == ENG_A_NONE)
        return -1;
    return arg->v.scalar.i < 0 ? arg->v.scalar.i + rows : arg->v.scalar.i;
}

/* ---- reading ---- */

/* Fills the bag of each index; false: the offsets are not valid. */
static bool sort_into_bags(struct bags *b, const struct eng_tensor *offsets)
{
    struct eng_view vo = eng_v(offsets);
    struct eng_host_scratch from = eng_host_scratch_copy(b->e, &vo, VS_I64);
    bool fits = ints(&from)[0] == 0;

    memset(b->sizes.v.data, 0, b->sizes.bytes);
    for (int64_t k = 0; k < b->count; k++) {
        int64_t end = k + 1 < b->count ? ints(&from)[k + 1] : b->n;

        fits = fits && ints(&from)[k] <= end && end <= b->n;
        for (int64_t i = ints(&from)[k]; fits && i < end; i++) {
            ints(&b->bag_of)[i] = k;
            ints(&b->sizes)[k] += counts(b, i);
        }
    }
    eng_host_scratch_put(b->e, &from);
    return fits;
}

/* The rows of the table; false: an index is out of range. */
static bool read_rows(struct bags *b, const struct eng_tensor *table)
{
    struct eng_view vt = eng_v(table);
    int64_t sizes[2] = {b->n, b->width};
    struct eng_host_scratch narrow = eng_host_scratch_get(b->e, sizes, 2, vt.dtype);
    bool fits = b->e->kernels->embedding(&vt, &b->indices.v, &narrow.v);

    b->rows = eng_host_scratch_copy(b->e, &narrow.v, VS_F64);
    b->has_rows = true;
    eng_host_scratch_put(b->e, &narrow);
    return fits;
}

static void read_weights(struct bags *b, const struct eng_tensor *weights)
{
    struct eng_view v = eng_v(weights);

    b->weights = eng_host_scratch_copy(b->e, &v, VS_F64);
    b->has_weights = true;
}

static double weight_of(const struct bags *b, int64_t i)
{
    return b->has_weights ? doubles(&b->weights)[i] : 1;
}

/*
 * Reads indices, offsets and weights; rows only if table is not NULL. The caller calls put_bags in any case. False
 * (failed): indices or offsets are out of range.
 */
static bool get_bags(struct bags *b, struct eng *e, const struct eng_tensor *indices,
                     const struct eng_tensor *offsets, const struct eng_tensor *weights,
                     const struct eng_tensor *table)
{
    struct eng_view vi = eng_v(indices);

    b->e = e;
    b->indices = eng_host_scratch_copy(e, &vi, VS_I64);
    b->bag_of = eng_host_scratch_get(e, &b->n, 1, VS_I64);
    b->sizes = eng_host_scratch_get(e, &b->count, 1, VS_I64);
    if (weights)
        read_weights(b, weights);
    if (!sort_into_bags(b, offsets)) {
        eng_fail(e, VS_E_VALUE,
                 "embedding_bag: offsets[0] has to be 0 and offsets must not decrease or exceed "
                 "the %" PRId64 " indices",
                 b->n);
        return false;
    }
    if (table && !read_rows(b, table)) {
        eng_fail(e, VS_E_VALUE, "embedding_bag: an index is outside the table of %" PRId64 " rows",
                 table->sizes[0]);
        return false;
    }
    return true;
}

static void put_bags(const struct bags *b)
{
    if (b->has_rows)
        eng_host_scratch_put(b->e, &b->rows);
    if (b->has_weights)
        eng_host_scratch_put(b->e, &b->weights);
    eng_host_scratch_put(b->e, &b->sizes);
    eng_host_scratch_put(b->e, &b->bag_of);
    eng_host_scratch_put(b->e, &b->indices);
}

/* ---- forward ---- */

/* out [count, width], zeroed; best [count, width]: the row of each maximum, -1 if a bag is empty. */
static void reduce_bags(const struct bags *b, int mode, double *out, int64_t *best)
{
    for (int64_t i = 0; i < b->n; i++) {
        int64_t bag = ints(&b->bag_of)[i];
        const double *row = doubles(&b->rows) + i * b->width;

        for (int64_t k = 0; k < b->width && counts(b, i); k++) {
            int64_t at = bag * b->width + k;

            if (mode == MODE_MAX && (best[at] < 0 || row[k] > out[at])) {
                out[at] = row[k];
                best[at] = ints(&b->indices)[i];
            } else if (mode != MODE_MAX) {
                out[at] += row[k] * weight_of(b, i);
            }
        }
    }
    for (int64_t at = 0; mode == MODE_MEAN && at < b->count * b->width; at++) {
        int64_t size = ints(&b->sizes)[at / b->width];

        out[at] /= size ? (double)size : 1;
    }
}

/* The values of the results; best NULL: no maxima. */
static void compute(struct eng_op_call *c, struct bags *b, int mode, const struct eng_tensor *out,
                    const struct eng_tensor *bag_of, const struct eng_tensor *sizes,
                    const struct eng_tensor *best)
{
    int64_t shape[2] = {b->count, b->width};
    struct eng_host_scratch sums = eng_host_scratch_get(c->e, shape, 2, VS_F64);
    struct eng_host_scratch rows = eng_host_scratch_get(c->e, shape, 2, VS_I64);
    struct eng_view vo = eng_v(out), vb = eng_v(bag_of), vs = eng_v(sizes);

    memset(sums.v.data, 0, sums.bytes);
    memset(rows.v.data, 0xff, rows.bytes);
    if (get_bags(b, c->e, eng_c_tensor(c, ARG_embedding_bag_leaf_indices),
                 eng_c_tensor(c, ARG_embedding_bag_leaf_offsets),
                 eng_c_tensor(c, ARG_embedding_bag_leaf_per_sample_weights),
                 eng_c_tensor(c, ARG_embedding_bag_leaf_weight))) {
        reduce_bags(b, mode, doubles(&sums), ints(&rows));
        c->e->kernels->copy(&sums.v, &vo);
        c->e->kernels->copy(&b->bag_of.v, &vb);
        vs.sizes[0] = b->count;
        c->e->kernels->copy(&b->sizes.v, &vs);
        if (best) {
            struct eng_view vm = eng_v(best);

            c->e->kernels->copy(&rows.v, &vm);
        }
    }
    put_bags(b);
    eng_host_scratch_put(c->e, &rows);
    eng_host_scratch_put(c->e, &sums);
}

static bool check(struct eng_op_call *c)
{
    struct eng_tensor *table = eng_c_tensor(c, ARG_embedding_bag_leaf_weight),
                      *indices = eng_c_tensor(c, ARG_embedding_bag_leaf_indices),
                      *offsets = eng_c_tensor(c, ARG_embedding_bag_leaf_offsets),
                      *weights = eng_c_tensor(c, ARG_embedding_bag_leaf_per_sample_weights);
    int64_t mode = eng_c_int(c, ARG_embedding_bag_leaf_mode);

    if (table->ndim != 2 || indices->ndim != 1 || offsets->ndim != 1 || offsets->sizes[0] < 1)
        eng_fail(c->e, VS_E_SHAPE,
                 "embedding_bag: expected a 2-D weight, 1-D indices and at least one offset");
    else if (indices->dtype != VS_I64 || offsets->dtype != VS_I64)
        eng_fail(c->e, VS_E_UNSUPPORTED,
                 "embedding_bag: indices and offsets have to be int64 here, got %s and %s",
                 vs_dtype_name((enum vs_dtype)indices->dtype),
                 vs_dtype_name((enum vs_dtype)offsets->dtype));
    else if (mode < MODE_SUM || mode > MODE_MAX)
        eng_fail(c->e, VS_E_VALUE, "embedding_bag: mode has to be 0 (sum), 1 (mean) or 2 (max)");
    else if (eng_c_bool(c, ARG_embedding_bag_leaf_sparse))
        eng_fail(c->e, VS_E_UNSUPPORTED, "embedding_bag: sparse=True is not supported");
    else if (weights && mode != MODE_SUM)
        eng_fail(c->e, VS_E_VALUE, "embedding_bag: per_sample_weights only with mode='sum'");
    else if (weights && (weights->dtype != table->dtype || !eng_same_sizes(weights, indices)))
        eng_fail(c->e, VS_E_VALUE,
                 "embedding_bag: per_sample_weights must have the type of the weight and the sizes "
                 "of the indices");
    return !c->e->failed;
}

/* (out, offset2bag, bag_size, max_indices), allocated in the order bag_size, offset2bag, out, max_indices */
void eng_f_embedding_bag_leaf(struct eng_op_call *c)
{
    struct eng_tensor *table = eng_c_tensor(c, ARG_embedding_bag_leaf_weight),
                      *indices = eng_c_tensor(c, ARG_embedding_bag_leaf_indices),
                      *offsets = eng_c_tensor(c, ARG_embedding_bag_leaf_offsets);
    struct eng_tensor *out, *bag_of, *sizes, *best;
    int mode = (int)eng_c_int(c, ARG_embedding_bag_leaf_mode);
    struct bags b = {.count = 0};
    int64_t shape[2], none = 0;

    if (!check(c))
        return;
    b.padding = padding_of(&c->a[ARG_embedding_bag_leaf_padding_idx], table->sizes[0]);
    b.n = indices->sizes[0];
    b.count = offsets->sizes[0] - eng_c_bool(c, ARG_embedding_bag_leaf_include_last_offset);
    b.width = table->sizes[1];
    shape[0] = b.count;
    shape[1] = b.width;
    sizes = eng_c_empty(c, offsets->sizes, 1, VS_I64, indices);
    bag_of = sizes ? eng_c_empty(c, &b.n, 1, VS_I64, indices) : NULL;
    out = bag_of ? eng_c_empty(c, shape, 2, (enum vs_dtype)table->dtype, table) : NULL;
    if (mode == MODE_MAX)
        best = out ? eng_c_empty(c, shape, 2, VS_I64, indices) : NULL;
    else
        best = out ? eng_c_empty(c, &none, 1, VS_I64, indices) : NULL;
    if (best && eng_c_computes(c) && eng_numel(out)) {
        if (b.n) {
            compute(c, &b, mode, out, bag_of, sizes, mode == MODE_MAX ? best : NULL);
        } else {
            struct eng_view vo = eng_v(out);

            c->e->kernels->fill(&vo, (struct eng_scalar){0});
        }
    }
    eng_c_give(c, out);
    eng_c_give(c, bag_of);
    eng_c_give(c, sizes);
    eng_c_give(c, best);
}

void eng_f_embedding_bag(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_embedding_bag_leaf, c->a, &ret))
        return;
    for (uint32_t i = 0; i < ret.count; i++)
        eng_c_give(c, ret.few[i]);
}

/* ---- backward ---- */

/* How often the row of each index is read in this call, into `often` [n]. */
static void count_rows(const struct bags *b, double *often)
{
    for (int64_t i = 0; i < b->n; i++) {
        often[i] = 0;
        for (int64_t k = 0; k < b->n; k++)
            often[i] += ints(&b->indices)[k] == ints(&b->indices)[i];
    }
}

/* The gradient of each row that was read, [n, width] in the table's type. */
static struct eng_host_scratch row_gradients(const struct bags *b, const struct eng_tensor *grad,
                                             bool is_mean, bool by_frequency)
{
    int64_t shape[2] = {b->n, b->width};
    struct eng_view vg = eng_v(grad);
    struct eng_host_scratch g = eng_host_scratch_copy(b->e, &vg, VS_F64);
    struct eng_host_scratch wide = eng_host_scratch_get(b->e, shape, 2, VS_F64);
    struct eng_host_scratch often = eng_host_scratch_get(b->e, &b->n, 1, VS_F64), narrow;

    if (by_frequency)
        count_rows(b, doubles(&often));
    for (int64_t i = 0; i < b->n; i++) {
        int64_t bag = ints(&b->bag_of)[i];
        double factor = weight_of(b, i);

        if (is_mean)
            factor /= (double)ints(&b->sizes)[bag];
        if (by_frequency)
            factor /= doubles(&often)[i];
        for (int64_t k = 0; k < b->width; k++)
            doubles(&wide)[i * b->width + k] =
                counts(b, i) ? doubles(&g)[bag * b->width + k] * factor : 0;
    }
    narrow = eng_host_scratch_copy(b->e, &wide.v, vg.dtype);
    eng_host_scratch_put(b->e, &often);
    eng_host_scratch_put(b->e, &wide);
    eng_host_scratch_put(b->e, &g);
    return narrow;
}

/* What the gradient formulas of one node share. */
struct bag_bw {
    struct eng_bw *b;
    struct eng_tensor *indices, *offsets, *weights, *g;
    struct bags bags;
    int mode;
};

/* Adds to the zeroed table. Without data only the workspace of the kernel is allocated. */
static void add_rows(struct bag_bw *k, const struct eng_tensor *table)
{
    struct eng *e = k->b->e;
    struct eng_view vt = eng_v(table), vi = eng_v(k->indices),
                    vg = {.dtype = vt.dtype, .ndim = 2, .sizes = {k->bags.n, k->bags.width}};
    bool by_frequency = k->b->a[ARG_embedding_bag_leaf_scale_grad_by_freq].v.flag;
    struct eng_host_scratch g = {.bytes = 0};

    if (e->kernels && !get_bags(&k->bags, e, k->indices, k->offsets, k->weights, NULL)) {
        put_bags(&k->bags);
        return;
    }
    if (e->kernels) {
        g = row_gradients(&k->bags, k->g, k->mode == MODE_MEAN, by_frequency);
        vg = g.v;
    }
    eng_run_embedding_backward(e, table->storage->on_host, &vg, &vi, k->bags.padding, &vt);
    if (e->kernels) {
        eng_host_scratch_put(e, &g);
        put_bags(&k->bags);
    }
}

/* Adds each maximum's gradient to the row it was taken from. */
static void add_maxima(struct bag_bw *k, const struct eng_tensor *table)
{
    const struct eng *e = k->b->e;
    struct eng_view vg = eng_v(k->g), vt = eng_v(table),
                    vr = eng_v(k->b->saved[SAVED_embedding_bag_leaf_result3]);
    struct eng_host_scratch g = eng_host_scratch_copy(e, &vg, vg.dtype);
    struct eng_host_scratch wide = eng_host_scratch_copy(e, &vg, VS_F64);
    struct eng_host_scratch rows = eng_host_scratch_copy(e, &vr, VS_I64);

    for (int64_t i = 0; i < vr.sizes[0] * vr.sizes[1]; i++) {
        if (ints(&rows)[i] < 0) { /* an empty bag */
            ints(&rows)[i] = 0;
            doubles(&wide)[i] = 0;
        }
    }
    e->kernels->copy(&wide.v, &g.v);
    (void)e->kernels->scatter(&vt, 0, &rows.v, &g.v, (struct eng_scalar){0}, true);
    eng_host_scratch_put(e, &rows);
    eng_host_scratch_put(e, &wide);
    eng_host_scratch_put(e, &g);
}

/* The table's gradient: sums and means are sorted by row first, whatever the number of indices. */
static struct eng_tensor *table_gradient(struct bag_bw *k)
{
    struct eng *e = k->b->e;
    const struct eng_edge *edge = eng_b_edge(k->b, ARG_embedding_bag_leaf_weight, 0);
    enum vs_dtype dtype = (enum vs_dtype)k->g->dtype;
    struct eng_tensor *sorted[2] = {0}, *frequency = NULL, *table;
    bool sorts = k->mode != MODE_MAX && !k->indices->storage->on_host;

    if (sorts)
        eng_embedding_sort(e, k->bags.n, edge->sizes[0], sorted);
    if (sorts && k->b->a[ARG_embedding_bag_leaf_scale_grad_by_freq].v.flag)
        frequency = eng_embedding_frequency(e, k->bags.n);
    table = eng_zeros(e, edge->sizes, 2, dtype, k->g->storage->on_host);
    if (table && eng_runs(e) && k->mode == MODE_MAX && e->kernels && eng_numel(k->g))
        add_maxima(k, table);
    else if (table && eng_runs(e) && k->mode != MODE_MAX && k->bags.n && k->bags.width)
        add_rows(k, table);
    if (sorts)
        eng_embedding_segments(e, k->bags.n, edge->sizes[0], edge->sizes[1], dtype);
    eng_unref(frequency);
    eng_unref(sorted[1]);
    eng_unref(sorted[0]);
    return table;
}

/* Each index's weight has the dot product of its row and its bag's gradient. */
static struct eng_tensor *weights_gradient(struct bag_bw *k)
{
    struct eng *e = k->b->e;
    struct eng_tensor *table = k->b->saved[SAVED_embedding_bag_leaf_weight];
    struct eng_tensor *out = table ? eng_empty(e, k->indices->sizes, 1, (enum vs_dtype)k->g->dtype,
                                               k->g->storage->on_host)
                                   : NULL;
    struct eng_host_scratch g, dots;
    struct eng_view vg, vo;

    if (!out || !e->kernels || !k->bags.n)
        return out;
    vg = eng_v(k->g);
    vo = eng_v(out);
    if (get_bags(&k->bags, e, k->indices, k->offsets, NULL, table)) {
        g = eng_host_scratch_copy(e, &vg, VS_F64);
        dots = eng_host_scratch_get(e, &k->bags.n, 1, VS_F64);
        for (int64_t i = 0; i < k->bags.n; i++) {
            int64_t bag = ints(&k->bags.bag_of)[i];
            double sum = 0;

            for (int64_t d = 0; d < k->bags.width && counts(&k->bags, i); d++)
                sum += doubles(&g)[bag * k->bags.width + d] *
                       doubles(&k->bags.rows)[i * k->bags.width + d];
            doubles(&dots)[i] = sum;
        }
        e->kernels->copy(&dots.v, &vo);
        eng_host_scratch_put(e, &dots);
        eng_host_scratch_put(e, &g);
    }
    put_bags(&k->bags);
    k->bags.has_rows = false;
    return out;
}

/* saved: indices, offsets, per_sample_weights, weight, offset2bag, bag_size, max_indices */
void eng_b_embedding_bag_leaf(struct eng_bw *b)
{
    struct bag_bw k = {.b = b,
                       .indices = b->saved[SAVED_embedding_bag_leaf_indices],
                       .offsets = b->saved[SAVED_embedding_bag_leaf_offsets],
                       .weights = b->saved[SAVED_embedding_bag_leaf_per_sample_weights],
                       .mode = (int)b->a[ARG_embedding_bag_leaf_mode].v.scalar.i};

    if (!k.indices || !k.offsets)
        return;
    k.bags.n = k.indices->sizes[0];
    k.bags.count = b->g[0]->sizes[0];
    k.bags.width = b->g[0]->sizes[1];
    k.bags.padding = padding_of(&b->a[ARG_embedding_bag_leaf_padding_idx],
                                eng_b_edge(b, ARG_embedding_bag_leaf_weight, 0)->sizes[0]);
    k.g = b->g[0];
    if (k.weights && eng_b_needs(b, ARG_embedding_bag_leaf_per_sample_weights))
        eng_b_give(b, ARG_embedding_bag_leaf_per_sample_weights, weights_gradient(&k));
    k.g = eng_contiguous(b->e, b->g[0]);
    if (k.g && eng_b_needs(b, ARG_embedding_bag_leaf_weight))
        eng_b_give(b, ARG_embedding_bag_leaf_weight, table_gradient(&k));
    eng_unref(k.g);
}
