/*
 * engine/device/cpu/cpu_iter.h - walking several strided views of the same sizes together.
 *
 * For:            kernels that treat elements alike.
 * Must not know:  what is done to the elements.
 * Invariant:      every element is visited exactly once, whatever the strides, in pieces that do not depend on threads.
 */
#ifndef ENG_DEVICE_CPU_ITER_H
#define ENG_DEVICE_CPU_ITER_H

#include "engine/device/kernels.h"

#define CPU_OPERANDS 4

/* Dimensions of size 1 dropped, neighbours that are one in memory joined; dim 0 is the innermost. Strides in bytes. */
struct cpu_iter {
    int operands;
    int ndim;
    int64_t total;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[CPU_OPERANDS][VS_MAX_DIMS];
    char *data[CPU_OPERANDS];
};

enum cpu_order {
    CPU_ORDER_ANY,      /* dims sorted so that operand 0 is walked along its smallest strides */
    CPU_ORDER_ROW_MAJOR /* index i is the i-th element of the views in row-major order */
};

/* n elements along the innermost dim, the first of them number `index`. */
typedef void cpu_row_fn(void *ctx, int64_t index, int64_t n, char *const *data,
                        const int64_t *strides);

/* views[0 … operands-1], all of the same sizes. */
void cpu_iter_init(struct cpu_iter *it, int operands, const struct eng_view *const *views,
                   enum cpu_order order);
/* fn over elements [begin, end), in order, on this thread. */
void cpu_iter_range(const struct cpu_iter *it, int64_t begin, int64_t end, cpu_row_fn *fn,
                    void *ctx);
/* fn over all of them, in pieces of `piece` elements over the threads. */
void cpu_iter_run(const struct cpu_iter *it, int64_t piece, cpu_row_fn *fn, void *ctx);

#endif
