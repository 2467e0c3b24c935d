/*
 * engine/device/cpu/cpu_lines.c - walking views line by line along one dim.
 */
#include "engine/device/cpu/cpu_lines.h"

#include "base/error.h"

#define WORK 32768 /* elements of a task, about */

struct lines {
    struct cpu_iter it; /* over the other dims */
    int64_t stride[CPU_OPERANDS];
    int64_t group;
    size_t scratch_bytes;
    cpu_line_fn *fn;
    void *ctx;
};

struct row_ctx {
    const struct lines *l;
    void *scratch;
};

static void lines_row(void *arg, int64_t index, int64_t n, char *const *data,
                      const int64_t *strides)
{
    const struct row_ctx *r = arg;
    struct cpu_line line = {.scratch = r->scratch};

    for (int64_t i = 0; i < n; i++) {
        line.index = index + i;
        for (int k = 0; k < r->l->it.operands; k++) {
            line.p[k] = data[k] + i * strides[k];
            line.stride[k] = r->l->stride[k];
        }
        r->l->fn(r->l->ctx, &line);
    }
}

static void lines_task(void *arg, int64_t task)
{
    const struct lines *l = arg;
    struct row_ctx r = {l, l->scratch_bytes ? cpu_mem_get(l->scratch_bytes) : NULL};
    int64_t begin = task * l->group;

    cpu_iter_range(&l->it, begin, cpu_min(begin + l->group, l->it.total), lines_row, &r);
    if (r.scratch)
        cpu_mem_put(r.scratch, l->scratch_bytes);
}

void cpu_lines_run(int operands, const struct eng_view *const *views, int dim, int64_t cost,
                   size_t scratch_bytes, cpu_line_fn *fn, void *ctx)
{
    struct lines l = {.scratch_bytes = scratch_bytes, .fn = fn, .ctx = ctx};
    struct eng_view flat[CPU_OPERANDS];
    const struct eng_view *ptrs[CPU_OPERANDS];

    VS_ASSERT(operands <= CPU_OPERANDS);
    for (int k = 0; k < operands; k++) {
        flat[k] = *views[k];
        if (flat[k].ndim == 0) { /* a single number is a line of one */
            l.stride[k] = (int64_t)vs_dtype_bytes(flat[k].dtype);
        } else {
            VS_ASSERT(dim >= 0 && dim < flat[k].ndim);
            l.stride[k] = cpu_stride(&flat[k], dim);
            flat[k].sizes[dim] = 1;
        }
        ptrs[k] = &flat[k];
    }
    cpu_iter_init(&l.it, operands, ptrs, CPU_ORDER_ROW_MAJOR);
    if (l.it.total == 0)
        return;
    l.group = cpu_max(1, WORK / cpu_max(1, cost));
    cpu_parallel((l.it.total + l.group - 1) / l.group, lines_task, &l);
}
