/*
 * replay/report/non_pytorch.h - what a program took from the driver beside PyTorch's segments: cuBLAS, NCCL, other libraries, its own calls.
 *
 * For:            the report on a program that was recorded at both levels.
 * Must not know:  where the traces lie.
 * Invariant:      a block of the driver's is PyTorch's, or is outside, never both; the two add up to all.
 *
 * The traces have clocks of their own, so blocks are matched by what they are: PyTorch's is what has the address and the size of one of its
 * segments. Physical memory (expandable segments) has no address that both know: of its bytes as many are PyTorch's as it mapped at most.
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
 * at       event of the driver's trace at which it had given most; 0: it gave nothing
 * peak     bytes then; pytorch: of its segments; outside: the rest
 * makers   of the blocks outside, by function and line
 */
struct rpl_non_pytorch {
    uint64_t at;
    uint64_t peak;
    uint64_t pytorch;
    uint64_t outside;
    struct rpl_alloc_sites makers;
};

/* Zero-initialise `out`; release it also after a failure. Errors: those of reading the traces. O(events). */
VS_MUST_USE enum vs_status rpl_non_pytorch_fill(struct rpl_non_pytorch *out,
                                                struct rpl_trace *pytorch, struct rpl_trace *driver,
                                                struct vs_error *err);
void rpl_non_pytorch_release(struct rpl_non_pytorch *outside);

/* A sentence, and the first `top` of who made it. */
void rpl_non_pytorch_text(const struct rpl_non_pytorch *outside, size_t top, struct vs_text *out);
/* {"event", "peak", "pytorch", "outside", "by_line"}; null of NULL. */
void rpl_non_pytorch_json(const struct rpl_non_pytorch *outside, size_t top, struct vs_json *json);

#endif
