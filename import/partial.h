/*
 * import/partial.h - what can be kept of a recording that cannot have come about as it says.
 *
 * For:            `vramscope import`, where import/importing.h refuses: a cut or patched history, a merged one, one of another allocator.
 * Must not know:  how the recording was read.
 * Invariant:      no two blocks that are alive lie over each other, nothing is freed that is not alive, and what is left out is counted by
 *                 reason.
 *
 * The allocator is not asked: a block is the request rounded up (where addresses are, too), without what the allocator did not split off; segments come and go as
 * the events say. What was alive before the first event is what is freed without having been allocated, and what is there at the end
 * without any event.
 */
#ifndef IMP_PARTIAL_H
#define IMP_PARTIAL_H

#include "import/import.h"

/* Why something was left out, or is not sure. */
enum imp_loss {
    IMP_LOSS_SEGMENT,
    IMP_LOSS_SEGMENT_EVENT,
    IMP_LOSS_ALLOC_THERE,
    IMP_LOSS_ALLOC_OVER,
    IMP_LOSS_ALLOC_SIZE,
    IMP_LOSS_FREE,
    IMP_LOSS_END,
    IMP_LOSS_DROPPED, /* those up to here are left out; of those that follow, something is not sure */
    IMP_LOSS_STRAY = IMP_LOSS_DROPPED, /* kept, but in no segment */
    IMP_LOSS_OPEN,                     /* kept, but not in the state at the end */
    IMP_LOSS_SEGMENT_OPEN,             /* the same of a segment */
    IMP_LOSS_COUNT
};

/* "allocations over other blocks" */
const char *imp_loss_text(enum imp_loss loss);

/* Fill `out` (zeroed, or released before) with what can be kept; `reason`: why it is not the whole, copied. Release it. O(n log n). */
void imp_make_partial(const struct vs_memlist *list, const char *reason, struct imp_import *out);

#endif
