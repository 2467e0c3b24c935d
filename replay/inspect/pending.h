/*
 * replay/inspect/pending.h - freed blocks that the allocator cannot use again yet, because a stream still uses them.
 *
 * For:            the TUI's view of waiting blocks.
 * Must not know:  drawing.
 * Invariant:      right after event `seq` these blocks have the bytes that are active and not allocated.
 *
 * PyTorch counts such a block as active, not as allocated (record_stream). A trace has the free that was requested, and
 * later the event at which no stream used the block any more.
 */
#ifndef RPL_PENDING_H
#define RPL_PENDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

/*
 * A block that waits. free_seq: event at which it was freed; done_seq: at which no stream used it any more; UINT64_MAX:
 * not within the trace.
 */
struct rpl_pending_block {
    uint64_t block;
    uint64_t address;
    uint64_t bytes;
    uint64_t free_seq;
    uint64_t done_seq;
};

/* All blocks of a trace that ever waited, in order of their free. highest: most bytes that wait at one event. */
struct rpl_pending {
    struct rpl_pending_block *items;
    size_t count;
    size_t cap;
    uint64_t highest;
    uint64_t highest_seq;
};

/*
 * Fill `out`, which is zero or was filled before; the caller releases it, also after a failure. Reads all events of an
 * imported trace; other recordings have no such blocks, and nothing is read. progress may be NULL. VS_E_STOPPED: it
 * returned false. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_pending_fill(struct rpl_pending *out, struct rpl_index *index,
                                            rpl_progress_fn *progress, void *user,
                                            struct vs_error *err);
void rpl_pending_release(struct rpl_pending *pending);

#endif
