/*
 * engine/ops/sharding.c - the two copies of fully sharded data parallelism: out of what an all-gather received, and
 * into what a reduce-scatter is given.
 *
 * Must not know:  processes, units, collectives.
 * Invariant:      nothing is allocated; the tables of pointers of PyTorch's kernels are the caller's.
 */
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* `rows` times `width` elements that lie `stride` apart from row to row, from element `first` of t's on. */
static struct eng_view rows_of(const struct eng_tensor *t, int64_t first, int64_t rows,
                               int64_t width, int64_t stride)
{
    struct eng_view v = eng_v(t);

    if (v.data)
        v.data = (char *)v.data + (uint64_t)first * vs_dtype_bytes(v.dtype);
    v.ndim = 2;
    v.sizes[0] = rows;
    v.sizes[1] = width;
    v.strides[0] = stride;
    v.strides[1] = 1;
    return v;
}

/*
 * (tensors, gathered [world, width]): each row of `gathered` has a part for each tensor, one after the other; a tensor
 * gets its part of all rows.
 */
void eng_f_split_with_sizes_copy(struct eng_op_call *c)
{
    const struct eng_arg *list = &c->a[ARG_split_with_sizes_copy_tensors];
    const struct eng_tensor *gathered = eng_c_tensor(c, ARG_split_with_sizes_copy_input);
    const int64_t world = gathered->sizes[0], width = gathered->sizes[1];
    int64_t at = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct eng_tensor *out = list->v.tensors[i];
        const int64_t part = eng_numel(out) / world;

        if (eng_c_computes(c) && part > 0) {
            struct eng_view from = rows_of(gathered, at, world, part, width);
            struct eng_view to = rows_of(out, 0, world, part, part);

            c->e->kernels->copy(&from, &to);
        }
        at += part;
    }
    eng_c_give_list(c, NULL, 0);
}

/* Elements [at, at+part) of all rows of `out`: those of `from` as they lie in memory, then zeros. */
static void chunk_one(const struct eng_kernels *k, const struct eng_tensor *from,
                      const struct eng_tensor *out, int64_t at, int64_t part)
{
    const int64_t world = out->sizes[0], width = out->sizes[1], count = eng_numel(from),
                  full = count / part, rest = count % part;
    const struct eng_scalar zero = {true, 0, 0};
    struct eng_view a, b;

    if (full > 0) {
        a = rows_of(from, 0, full, part, part);
        b = rows_of(out, at, full, part, width);
        k->copy(&a, &b);
    }
    if (rest > 0) {
        a = rows_of(from, full * part, 1, rest, rest);
        b = rows_of(out, full * width + at, 1, rest, width);
        k->copy(&a, &b);
        b = rows_of(out, full * width + at + rest, 1, part - rest, width);
        k->fill(&b, zero);
    }
    if (full + (rest > 0) < world) {
        b = rows_of(out, (full + (rest > 0)) * width + at, world - full - (rest > 0), part, width);
        k->fill(&b, zero);
    }
}

/*
 * (out [world, width], tensors): each tensor is padded to `world` parts of ceil(rows / world) of its rows; row r of
 * `out` gets part r of all tensors. The tensors are dense.
 */
void eng_f_chunk_cat(struct eng_op_call *c)
{
    struct eng_tensor *out = eng_c_tensor(c, ARG_chunk_cat_out);
    const struct eng_arg *list = &c->a[ARG_chunk_cat_tensors];
    const int64_t world = out->sizes[0];
    int64_t at = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct eng_tensor *t = list->v.tensors[i];
        const int64_t rows = t->sizes[0];
        const int64_t part = rows ? (rows + world - 1) / world * (eng_numel(t) / rows) : 0;

        if (eng_c_computes(c) && part > 0)
            chunk_one(c->e->kernels, t, out, at, part);
        at += part;
    }
    eng_c_give(c, eng_ref(out));
}
