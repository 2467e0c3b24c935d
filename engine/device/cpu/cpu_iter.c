/*
 * engine/device/cpu/cpu_iter.c - walking several strided views of the same sizes together.
 */
#include "engine/device/cpu/cpu_iter.h"

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"

int64_t cpu_numel(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        n *= v->sizes[d];
    return n;
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Whether dim a is looped inside dim b. Operand 0 decides; the others decide if it has no preference. */
static bool is_inside(const struct cpu_iter *it, int a, int b)
{
    for (int k = 0; k < it->operands; k++) {
        int64_t sa = magnitude(it->strides[k][a]);
        int64_t sb = magnitude(it->strides[k][b]);

        if (sa != sb)
            return sa < sb;
    }
    return false;
}

static void swap_dims(struct cpu_iter *it, int a, int b)
{
    int64_t size = it->sizes[a];

    it->sizes[a] = it->sizes[b];
    it->sizes[b] = size;
    for (int k = 0; k < it->operands; k++) {
        int64_t s = it->strides[k][a];

        it->strides[k][a] = it->strides[k][b];
        it->strides[k][b] = s;
    }
}

static void sort_dims(struct cpu_iter *it)
{
    for (int i = 1; i < it->ndim; i++) {
        for (int j = i; j > 0 && is_inside(it, j, j - 1); j--)
            swap_dims(it, j, j - 1);
    }
}

static bool is_one(const struct cpu_iter *it, int inner, int outer)
{
    for (int k = 0; k < it->operands; k++) {
        if (it->strides[k][outer] != it->strides[k][inner] * it->sizes[inner])
            return false;
    }
    return true;
}

static void join_dims(struct cpu_iter *it)
{
    int n = 0;

    for (int d = 1; d < it->ndim; d++) {
        if (is_one(it, n, d)) {
            it->sizes[n] *= it->sizes[d];
        } else {
            n++;
            if (n != d)
                swap_dims(it, n, d);
        }
    }
    it->ndim = n + 1;
}

void cpu_iter_init(struct cpu_iter *it, int operands, const struct eng_view *const *views,
                   enum cpu_order order)
{
    int ndim = views[0]->ndim;

    VS_ASSERT(operands >= 1 && operands <= CPU_OPERANDS);
    it->operands = operands;
    it->ndim = 0;
    it->total = cpu_numel(views[0]);
    for (int k = 0; k < operands; k++) {
        VS_ASSERT(views[k]->ndim == ndim);
        it->data[k] = views[k]->data;
    }
    for (int d = ndim - 1; d >= 0; d--) {
        for (int k = 1; k < operands; k++)
            VS_ASSERT(views[k]->sizes[d] == views[0]->sizes[d]);
        if (views[0]->sizes[d] == 1)
            continue;
        it->sizes[it->ndim] = views[0]->sizes[d];
        for (int k = 0; k < operands; k++)
            it->strides[k][it->ndim] = cpu_stride(views[k], d);
        it->ndim++;
    }
    if (it->ndim == 0) { /* one element: a contiguous row of one */
        it->ndim = 1;
        it->sizes[0] = 1;
        for (int k = 0; k < operands; k++)
            it->strides[k][0] = (int64_t)vs_dtype_bytes(views[k]->dtype);
        return;
    }
    if (order == CPU_ORDER_ANY)
        sort_dims(it);
    join_dims(it);
}

void cpu_iter_range(const struct cpu_iter *it, int64_t begin, int64_t end, cpu_row_fn *fn,
                    void *ctx)
{
    int64_t strides[CPU_OPERANDS];

    for (int k = 0; k < it->operands; k++)
        strides[k] = it->strides[k][0];
    while (begin < end) {
        char *data[CPU_OPERANDS];
        int64_t first = begin % it->sizes[0];
        int64_t rest = begin / it->sizes[0];
        int64_t n = cpu_min(it->sizes[0] - first, end - begin);

        for (int k = 0; k < it->operands; k++)
            data[k] = it->data[k] + first * strides[k];
        for (int d = 1; d < it->ndim; d++) {
            int64_t i = rest % it->sizes[d];

            rest /= it->sizes[d];
            for (int k = 0; k < it->operands; k++)
                data[k] += i * it->strides[k][d];
        }
        fn(ctx, begin, n, data, strides);
        begin += n;
    }
}

struct run {
    const struct cpu_iter *it;
    int64_t piece;
    cpu_row_fn *fn;
    void *ctx;
};

static void run_piece(void *arg, int64_t task)
{
    const struct run *r = arg;
    int64_t begin = task * r->piece;

    cpu_iter_range(r->it, begin, cpu_min(begin + r->piece, r->it->total), r->fn, r->ctx);
}

void cpu_iter_run(const struct cpu_iter *it, int64_t piece, cpu_row_fn *fn, void *ctx)
{
    struct run r = {it, piece, fn, ctx};

    if (it->total <= 0)
        return;
    cpu_parallel((it->total + piece - 1) / piece, run_piece, &r);
}
