/*
 * engine/ops/conv/edge_pad.c - padding with the tensor's own elements: reflection and replication, along the last
 * one, two or three dims.
 *
 * Must not know:  models.
 * Invariant:      each position along a padded dim has one source index; forward selects by these indices, backward
 *                 adds by them. Reflection reads row-major copies (of the gradient only in one or two dims),
 *                 replication reads any strides.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/conv/volume.h"
#include "engine/ops/functions.h"

static bool reflects(enum eng_op_id id)
{
    return id == ENG_OP_reflection_pad1d || id == ENG_OP_reflection_pad2d ||
           id == ENG_OP_reflection_pad3d;
}

/* The source index of position i of the padded dim, for a dim of size n padded by `before` elements in front. */
static int64_t source_of(int64_t i, int64_t n, int64_t before, bool reflect)
{
    i -= before;
    if (i < 0)
        return reflect ? -i : 0;
    if (i >= n)
        return reflect ? 2 * (n - 1) - i : n - 1;
    return i;
}

/* The source indices of a padded dim, in kernel memory; the caller frees it (8 bytes per position). */
static struct eng_view index_list(const struct eng *e, int64_t out, int64_t in, int64_t before,
                                  bool reflect)
{
    struct eng_view v = {.dtype = VS_I64, .ndim = 1, .sizes = {out}, .strides = {1}};
    int64_t *places = e->kernels->mem_get((uint64_t)out * sizeof(*places));

    for (int64_t i = 0; i < out; i++)
        places[i] = source_of(i, in, before, reflect);
    v.data = places;
    return v;
}

/*
 * One dim of big from small by selection, or small (zeroed) from big by addition; both have the same sizes in all other
 * dims.
 */
static void run_dim(const struct eng *e, const struct eng_view *small, const struct eng_view *big,
                    int dim, int64_t before, bool reflect, bool forward)
{
    struct eng_view index = index_list(e, big->sizes[dim], small->sizes[dim], before, reflect);

    if (forward)
        (void)e->kernels->index_select(small, dim, &index, big);
    else
        (void)e->kernels->index_add(small, dim, &index, big);
    e->kernels->mem_put(index.data, (uint64_t)index.sizes[0] * sizeof(int64_t));
}

/* The last `dims` dims, from the last one on; in between the result is in memory of the kernels. */
static void run(const struct eng *e, const struct eng_view *small, const struct eng_view *big,
                const int64_t *padding, int dims, bool reflect, bool forward)
{
    int last = small->ndim - 1;
    struct eng_host_scratch between[2];
    const struct eng_view *views[4] = {small};

    for (int k = 0; k < dims - 1; k++) {
        struct eng_view wide = *views[k];

        wide.sizes[last - k] = big->sizes[last - k];
        between[k] = eng_host_scratch_get(e, wide.sizes, wide.ndim, wide.dtype);
        if (!forward)
            e->kernels->fill(&between[k].v, (struct eng_scalar){0});
        views[k + 1] = &between[k].v;
    }
    views[dims] = big;
    for (int i = 0; i < dims; i++) {
        int k = forward ? i : dims - 1 - i;

        run_dim(e, views[k], views[k + 1], last - k, padding[2 * k], reflect, forward);
    }
    for (int k = dims - 2; k >= 0; k--)
        eng_host_scratch_put(e, &between[k]);
}

/* How many dims a row of the table pads. */
static int padded_dims(enum eng_op_id id)
{
    if (id == ENG_OP_reflection_pad3d || id == ENG_OP_replication_pad3d)
        return 3;
    return id == ENG_OP_reflection_pad1d || id == ENG_OP_replication_pad1d ? 1 : 2;
}

/* Sizes after padding (left, right[, top, bottom]); false: failed. */
static bool padded_sizes(struct eng_op_call *c, const struct eng_tensor *x, int dims,
                         int64_t *sizes)
{
    const int64_t *padding = c->a[ARG_edge_pad_padding].v.ints;

    if ((int)c->a[ARG_edge_pad_padding].count != 2 * dims ||
        (x->ndim != dims + 1 && x->ndim != dims + 2)) {
        eng_fail(c->e, VS_E_SHAPE, "pad: expected a %d-D or %d-D input and %d paddings, got %d-D",
                 dims + 1, dims + 2, 2 * dims, x->ndim);
        return false;
    }
    memcpy(sizes, x->sizes, sizeof(*sizes) * VS_MAX_DIMS);
    for (int k = 0; k < dims; k++) {
        int d = x->ndim - 1 - k;

        if (reflects(c->id) &&
            (padding[2 * k] >= x->sizes[d] || padding[2 * k + 1] >= x->sizes[d])) {
            eng_fail(c->e, VS_E_VALUE,
                     "Padding size should be less than the corresponding input dimension, but got: "
                     "padding (%" PRId64 ", %" PRId64 ") at dimension %d of size %" PRId64,
                     padding[2 * k], padding[2 * k + 1], d, x->sizes[d]);
            return false;
        }
        sizes[d] += padding[2 * k] + padding[2 * k + 1];
        if (padding[2 * k] < 0 || padding[2 * k + 1] < 0 || x->sizes[d] < 1) {
            eng_fail(c->e, VS_E_UNSUPPORTED, "pad: negative paddings are not supported here");
            return false;
        }
    }
    return true;
}

/* (input, padding) */
void eng_f_edge_pad(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_edge_pad_input), *dense, *out;
    int dims = padded_dims(c->id);
    int64_t sizes[VS_MAX_DIMS];

    if (!padded_sizes(c, x, dims, sizes))
        return;
    out = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    dense = out && reflects(c->id) ? eng_contiguous(c->e, x) : eng_ref(x);
    if (out && dense && eng_c_computes(c)) {
        struct eng_view vx = eng_v(dense), vo = eng_v(out);

        run(c->e, &vx, &vo, c->a[ARG_edge_pad_padding].v.ints, dims, reflects(c->id), true);
    }
    eng_unref(dense);
    eng_c_give(c, out);
}

/* row-major zeros with each element of g added at its source index; the input is saved only for its shape */
void eng_b_edge_pad(struct eng_bw *b)
{
    struct eng *e = b->e;
    const struct eng_edge *edge = eng_b_edge(b, ARG_edge_pad_input, 0);
    struct eng_tensor *gx = eng_empty(e, edge->sizes, edge->ndim, (enum vs_dtype)b->g[0]->dtype,
                                      b->g[0]->storage->on_host);
    bool copies = reflects(b->node->op) && b->node->op != ENG_OP_reflection_pad3d;
    struct eng_tensor *g = copies ? eng_contiguous(e, b->g[0]) : eng_ref(b->g[0]);

    if (gx && g && e->kernels) {
        struct eng_view vg = eng_v(g), vo = eng_v(gx);
        struct eng_scalar zero = {0};

        e->kernels->fill(&vo, zero);
        run(e, &vo, &vg, b->a[ARG_edge_pad_padding].v.ints,
            (int)b->a[ARG_edge_pad_padding].count / 2, reflects(b->node->op), false);
    }
    eng_unref(g);
    eng_b_give(b, ARG_edge_pad_input, gx);
}
