/*
 * replay/report/traffic.h - how many bytes ops read and write, beside their arithmetic.
 *
 * For:            the report; lessons about the cost of memory access.
 * Must not know:  caches, GPUs, how the figures are shown.
 * Invariant:      a tensor counts once for each op that reads it, and once for the op that makes or overwrites it.
 *
 * The bytes of an op are those of the distinct tensors that it reads (of an expanded tensor, the elements that are
 * there), of the tensors allocated while it is the innermost op, and of those it overwrites. An op that allocates and
 * overwrites nothing makes a view and moves nothing. It is what has to be moved if no cache helps and nothing is fused:
 * a figure to compare nets with, not one of a GPU. Of a recorded program an op is the outermost one, with all that is
 * inside of it, and overwrites its first argument if its name says that it is in place.
 */
#ifndef RPL_TRAFFIC_H
#define RPL_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/* All calls of one op in one role. name: string id; role: enum vs_op_role. */
struct rpl_traffic_row {
    uint32_t name;
    uint8_t role;
    uint64_t calls;
    uint64_t bytes;
    uint64_t flops;
};

/* Zero-initialised: empty. row_count rows, the most bytes first. bytes: of all ops. */
struct rpl_traffic {
    struct rpl_traffic_row *rows;
    size_t row_count;
    size_t row_cap;
    uint64_t bytes;
};

/*
 * Fill `out`, which is zeroed or released, from all ops of the trace. Empty for a trace without their arithmetic.
 * Release it, also after a failure. O(events). Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_traffic_fill(struct rpl_traffic *out, struct rpl_trace *trace,
                                            struct vs_error *err);
void rpl_traffic_release(struct rpl_traffic *traffic);
/* Put the rows into their order, after their bytes were changed. */
void rpl_traffic_sort(struct rpl_traffic *traffic);

/* Bytes of the ops called `name`, in every role. */
uint64_t rpl_traffic_of(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                        const char *name);

/* Append the ops that move the most bytes; nothing where there are none. And the JSON member "traffic". */
void rpl_traffic_text(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                      struct vs_text *out);
void rpl_traffic_json(const struct rpl_traffic *traffic, const struct rpl_trace *trace,
                      struct vs_json *json);

#endif
