/*
 * engine/device/cpu/cpu_iter.h - iterates over several strided views of equal sizes together.
 *
 * For:            elementwise kernels.
 * Must not know:  what is done with the elements.
 * Invariant:      every element is visited exactly once, whatever the strides, in pieces that do not depend on the
 *                 number of threads.
 */
#ifndef ENG_DEVICE_CPU_ITER_H
#define ENG_DEVICE_CPU_ITER_H

#include "engine/device/kernels.h"

#define CPU_OPERANDS 4

/*
 * Dims of size 1 are removed, and dims that are contiguous with each other are merged; dim 0 is the innermost.
 * Strides in bytes.
 */
struct cpu_iter {
    int operands;
    int ndim;
    int64_t total;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[CPU_OPERANDS][VS_MAX_DIMS];
    char *data[CPU_OPERANDS];
};

enum cpu_order {
    /* dims are sorted so that operand 0 is visited along its smallest strides */
    CPU_ORDER_ANY,
    CPU_ORDER_ROW_MAJOR /* index i is element i of the views in row-major order */
};

/* Called for n elements along the innermost dim; `index` is the number of the first one. */
typedef void cpu_row_fn(void *ctx, int64_t index, int64_t n, char *const *data,
                        const int64_t *strides);

/* Begins with views[0 … operands-1], all of equal sizes. */
void cpu_iter_init(struct cpu_iter *it, int operands, const struct eng_view *const *views,
                   enum cpu_order order);
/* Calls fn for the elements [begin, end), in order, on this thread. */
void cpu_iter_range(const struct cpu_iter *it, int64_t begin, int64_t end, cpu_row_fn *fn,
                    void *ctx);
/* Calls fn for all elements, in pieces of `piece` elements divided among the threads. */
void cpu_iter_run(const struct cpu_iter *it, int64_t piece, cpu_row_fn *fn, void *ctx);

#endif
