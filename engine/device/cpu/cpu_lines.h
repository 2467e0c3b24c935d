/*
 * engine/device/cpu/cpu_lines.h - walking views line by line along one dim.
 *
 * For:            softmax, cumsum, sort, max_dim, gather, scatter.
 * Must not know:  what is done along a line.
 * Invariant:      lines are independent; each is handled whole, by one thread.
 */
#ifndef ENG_DEVICE_CPU_LINES_H
#define ENG_DEVICE_CPU_LINES_H

#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"

/*
 * One line: p[k] is its first element in operand k, stride[k] the byte stride along the dim, scratch the bytes asked
 * for (per thread that works, not kept between lines).
 */
struct cpu_line {
    char *p[CPU_OPERANDS];
    int64_t stride[CPU_OPERANDS];
    int64_t index; /* number of the line */
    void *scratch;
};

typedef void cpu_line_fn(void *ctx, const struct cpu_line *line);

/*
 * fn for each line along `dim` of views (all of the same sizes but along dim), `cost` elements of work each;
 * scratch_bytes may be 0.
 */
void cpu_lines_run(int operands, const struct eng_view *const *views, int dim, int64_t cost,
                   size_t scratch_bytes, cpu_line_fn *fn, void *ctx);

#endif
