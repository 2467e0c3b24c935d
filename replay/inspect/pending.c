/*
 * replay/inspect/pending.c - see pending.h.
 *
 * Must not know:  drawing.
 * Invariant:      an item is complete once its free_completed event has been read.
 */
#include "replay/inspect/pending.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/* Events between two calls of the progress function. */
#define PROGRESS_EVENTS 65536

void rpl_pending_release(struct rpl_pending *pending)
{
    vs_free(pending->items);
    memset(pending, 0, sizeof(*pending));
}

/* waiting: bytes that wait now; by_block: numbers of items by block. */
struct reading {
    struct rpl_pending *out;
    struct vs_table by_block;
    uint64_t waiting;
};

static void freed(struct reading *r, uint64_t seq, const struct vs_event *event)
{
    struct rpl_pending *out = r->out;

    vs_table_add(&r->by_block, vs_hash_number(event->free.block), (uint32_t)out->count);
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    out->items[out->count++] = (struct rpl_pending_block){.block = event->free.block,
                                                          .address = event->free.address,
                                                          .bytes = event->free.block_bytes,
                                                          .free_seq = seq,
                                                          .done_seq = UINT64_MAX};
    r->waiting += event->free.block_bytes;
    if (r->waiting > out->highest) {
        out->highest = r->waiting;
        out->highest_seq = seq;
    }
}

static void completed(struct reading *r, uint64_t seq, const struct vs_event *event)
{
    struct vs_probe probe = vs_probe(vs_hash_number(event->free.block));

    while (vs_table_next(&r->by_block, &probe)) {
        struct rpl_pending_block *item = &r->out->items[probe.item];

        if (item->block == event->free.block && item->done_seq == UINT64_MAX) {
            item->done_seq = seq;
            r->waiting -= item->bytes;
            return;
        }
    }
}

enum vs_status rpl_pending_fill(struct rpl_pending *out, struct rpl_index *index,
                                rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct reading r = {.out = out};
    uint64_t count = rpl_index_event_count(index);
    struct rpl_scan *scan;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    rpl_pending_release(out);
    if (!rpl_trace_is_imported(trace) || !count)
        return VS_OK;
    scan = vs_alloc(sizeof(*scan));
    rpl_scan_init(scan, trace, 1, count);
    while (!st && (event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_FREE && event->free.waits_for_stream)
            freed(&r, scan->seq, event);
        else if (event->kind == VS_EV_FREE_COMPLETED)
            completed(&r, scan->seq, event);
        if (progress && scan->seq % PROGRESS_EVENTS == 0 && !progress(user, scan->seq, count))
            st = vs_fail(err, VS_E_STOPPED, "stopped");
    }
    if (!st)
        st = scan->status;
    vs_table_release(&r.by_block);
    vs_free(scan);
    return st;
}
