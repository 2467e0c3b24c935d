/*
 * replay/leak.c - see leak.h.
 *
 * Must not know:  how it is shown.
 * Invariant:      only whole steps are looked at.
 */
#include "replay/leak.h"

#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_block *x = a;
    const struct rpl_block *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

enum vs_status rpl_leak_fill(struct rpl_leak *out, struct rpl_trace *trace, struct vs_error *err)
{
    size_t count = rpl_trace_step_count(trace);
    struct rpl_live live;
    uint64_t first;
    uint64_t last;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    /* where the recording was cut off, the last step is not whole */
    if (count && !rpl_trace_is_complete(trace))
        count--;
    /* the setup, the first step, one that may leak, one after it */
    if (count < 4)
        return VS_OK;
    first = rpl_trace_step(trace, 2).first_seq;
    last = rpl_trace_step(trace, count - 2).last_seq;
    out->at = rpl_trace_step(trace, count - 1).last_seq;
    out->steps = count - 3;
    rpl_live_init(&live);
    st = rpl_live_read(&live, trace, out->at, err);
    if (!st && live.block_count)
        qsort(live.blocks, live.block_count, sizeof(*live.blocks), by_bytes);
    for (size_t i = 0; i < live.block_count && !st; i++) {
        const struct rpl_block *block = &live.blocks[i];

        if (block->alloc_seq < first || block->alloc_seq > last)
            continue;
        out->bytes += block->bytes;
        out->count++;
        if (out->block_count < RPL_LEAK_MAX)
            out->blocks[out->block_count++] = *block;
    }
    rpl_live_release(&live);
    return st;
}
