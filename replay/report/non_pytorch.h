/*
 * replay/report/non_pytorch.h - memory not from PyTorch: what cuBLAS, NCCL, other libraries and a program's own calls
 * allocated.
 *
 * For:            the report on a program that was recorded both at PyTorch's allocator and at the driver.
 * Must not know:  where the two traces are stored.
 * Invariant:      each block that the driver gave is either PyTorch's or not; the two add up to all.
 *
 * The two traces have separate clocks, so blocks are matched by address and size: a block is PyTorch's if one of its
 * segments has the same. Physical memory (expandable segments) has no address common to both traces; of its bytes as
 * many count as PyTorch's as PyTorch had mapped at most.
 */
#ifndef RPL_NON_PYTORCH_H
#define RPL_NON_PYTORCH_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/inspect/alloc_sites.h"
#include "replay/trace/trace.h"

/*
 * at       event of the driver's trace with the most allocated bytes; 0: the driver allocated nothing
 * peak     bytes allocated then; pytorch: those of PyTorch's segments; rest: of other blocks (JSON: outside)
 * sites    allocation sites of the blocks that are not PyTorch's, by function and line
 */
struct rpl_non_pytorch {
    uint64_t at;
    uint64_t peak;
    uint64_t pytorch;
    uint64_t rest;
    struct rpl_alloc_sites sites;
};

/*
 * Fill `out`, which the caller zero-initialises and releases, also after a failure. `pytorch` and `driver` are the
 * traces of the same process. Errors: those of reading the traces. O(events of both).
 */
VS_MUST_USE enum vs_status rpl_non_pytorch_fill(struct rpl_non_pytorch *out,
                                                struct rpl_trace *pytorch, struct rpl_trace *driver,
                                                struct vs_error *err);
void rpl_non_pytorch_release(struct rpl_non_pytorch *memory);

/* Append a sentence, and a line for each of the first `top` sites. */
void rpl_non_pytorch_text(const struct rpl_non_pytorch *memory, size_t top, struct vs_text *out);
/* Write the object {"event", "peak", "pytorch", "outside", "by_line"}; null where `memory` is NULL. */
void rpl_non_pytorch_json(const struct rpl_non_pytorch *memory, size_t top, struct vs_json *json);

/*
 * The trace of the same process's calls of the driver on the same device as `trace`, which is at `path`: one of the
 * files beside it that its `driver_trace` names. The caller frees it. NULL: there is none, or it cannot be read.
 */
struct rpl_trace *rpl_driver_trace_open(const struct rpl_trace *trace, const char *path);

#endif
