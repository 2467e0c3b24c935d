/*
 * import/partial.h - imports the consistent part of a recording that the allocator cannot have produced.
 *
 * For:            `vramscope import`, if import/importing.h refuses: a truncated, modified or merged history, or
 *                 another allocator.
 * Must not know:  how the recording was read.
 * Invariant:      live blocks never overlap, only live blocks are freed, and omitted events are counted by reason.
 *
 * The allocator is not replayed: the size of a block is the requested size rounded up (if its addresses are aligned
 * like PyTorch's), ignoring remainders that the allocator did not split; segments are taken from the events.
 * Pre-existing blocks are those that are freed without an allocation, and those in the state at the end that no event
 * mentions.
 */
#ifndef IMP_PARTIAL_H
#define IMP_PARTIAL_H

#include "import/import.h"

/* Why an event was omitted, or is uncertain. */
enum imp_loss {
    IMP_LOSS_SEGMENT,
    IMP_LOSS_SEGMENT_EVENT,
    IMP_LOSS_ALLOC_THERE,
    IMP_LOSS_ALLOC_OVER,
    IMP_LOSS_ALLOC_SIZE,
    IMP_LOSS_FREE,
    IMP_LOSS_END,
    IMP_LOSS_DROPPED, /* events with a reason above are omitted; those with a reason below are kept but uncertain */
    IMP_LOSS_STRAY = IMP_LOSS_DROPPED, /* not in any segment */
    IMP_LOSS_OPEN,                     /* not in the state at the end */
    IMP_LOSS_SEGMENT_OPEN,             /* the same for a segment */
    IMP_LOSS_COUNT
};

/* A description, such as "allocations over other blocks". */
const char *imp_loss_text(enum imp_loss loss);

/*
 * Fill `out` (zeroed or released) with the consistent part. reason: why the import is incomplete; copied. The caller
 * releases it. O(n log n).
 */
void imp_make_partial(const struct vs_memlist *list, const char *reason, struct imp_import *out);

#endif
