/*
 * engine/device/cpu/cpu_lines.h - iterates over the lines of views along one dim.
 *
 * For:            softmax, cumsum, sort, max_dim, gather, scatter.
 * Must not know:  what is done with a line.
 * Invariant:      lines are independent; one thread processes a whole line.
 */
#ifndef ENG_DEVICE_CPU_LINES_H
#define ENG_DEVICE_CPU_LINES_H

#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"

/*
 * One line. p[k]: its first element in operand k. stride[k]: the stride in bytes along the dim. scratch: the
 * requested number of bytes, per thread, not preserved between lines.
 */
struct cpu_line {
    char *p[CPU_OPERANDS];
    int64_t stride[CPU_OPERANDS];
    int64_t index; /* number of the line */
    void *scratch;
};

typedef void cpu_line_fn(void *ctx, const struct cpu_line *line);

/*
 * Calls fn for each line along `dim` of views, whose sizes are equal except along dim. `cost`: work of one line, in
 * elements. scratch_bytes may be 0.
 */
void cpu_lines_run(int operands, const struct eng_view *const *views, int dim, int64_t cost,
                   size_t scratch_bytes, cpu_line_fn *fn, void *ctx);

#endif
