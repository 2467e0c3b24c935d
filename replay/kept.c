/*
 * replay/kept.c - see kept.h.
 *
 * Must not know:  how it is shown.
 * Invariant:      a gain compares two highest points of the whole trace: as it was, and with the block gone early.
 */
#include "replay/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Those who are alive at the event and so far have not been read after it. */
struct candidates {
    struct rpl_block *items;
    size_t count;
    size_t cap;
};

static bool is_permanent(const struct rpl_block *block)
{
    return block->category == VS_CAT_PARAMETER || block->category == VS_CAT_BUFFER ||
           block->category == VS_CAT_OPTIMIZER;
}

/* The last moment at which it mattered: when it was read last, or made. */
static uint64_t last_needed(const struct rpl_block *block)
{
    return block->last_use_seq ? block->last_use_seq : block->alloc_seq;
}

static int by_id(const void *a, const void *b)
{
    const struct rpl_block *x = a;
    const struct rpl_block *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_block *x = a;
    const struct rpl_block *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return by_id(a, b);
}

static void candidates_take(struct candidates *list, const struct rpl_live *live)
{
    uint64_t since = rpl_live_working_since(live);

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];

        if (is_permanent(block) || last_needed(block) >= since)
            continue;
        list->items = vs_grow(list->items, list->count, &list->cap, sizeof(*list->items));
        list->items[list->count++] = *block;
    }
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_id);
}

/* It is read after all: bytes 0 takes it off the list. */
static void candidate_used(struct candidates *list, uint64_t id)
{
    struct rpl_block key = {.id = id};
    struct rpl_block *found =
        list->count ? bsearch(&key, list->items, list->count, sizeof(key), by_id) : NULL;

    if (found)
        found->bytes = 0;
}

/* First reading: who they are. */
static enum vs_status find(struct candidates *list, struct rpl_trace *trace, uint64_t at,
                           struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct rpl_live live;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    rpl_live_init(&live);
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while (!st && (event = rpl_scan_next(scan, err)) != NULL) {
        if (scan->seq <= at)
            st = rpl_live_apply(&live, scan->seq, event, err);
        else if (event->kind == VS_EV_USE)
            candidate_used(list, event->a);
        if (!st && scan->seq == at)
            candidates_take(list, &live);
    }
    if (!st)
        st = scan->status;
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}

/*
 * Second reading: the highest points without them.
 *
 * highest     as it was; highest_without[i] with item i gone early, the last one with all of them gone
 * is_gone     item i is not needed any more and not given back yet
 */
struct gains {
    uint64_t highest;
    uint64_t highest_without[RPL_KEPT_MAX + 1];
    bool is_gone[RPL_KEPT_MAX];
    uint64_t gone;
};

static void gains_event(struct gains *g, const struct rpl_kept_list *list,
                        const struct rpl_live *live, uint64_t seq)
{
    uint64_t since = rpl_live_working_since(live);

    for (size_t i = 0; i < list->count; i++) {
        const struct rpl_block *block = &list->items[i].block;

        if (!g->is_gone[i] && seq > last_needed(block) && since > last_needed(block) &&
            rpl_live_block(live, block->id)) {
            g->is_gone[i] = true;
            g->gone += block->bytes;
        } else if (g->is_gone[i] && !rpl_live_block(live, block->id)) {
            g->is_gone[i] = false;
            g->gone -= block->bytes;
        }
        if (live->allocated - (g->is_gone[i] ? block->bytes : 0) > g->highest_without[i])
            g->highest_without[i] = live->allocated - (g->is_gone[i] ? block->bytes : 0);
    }
    if (live->allocated > g->highest)
        g->highest = live->allocated;
    if (live->allocated - g->gone > g->highest_without[RPL_KEPT_MAX])
        g->highest_without[RPL_KEPT_MAX] = live->allocated - g->gone;
}

static enum vs_status measure(struct rpl_kept_list *list, struct rpl_trace *trace,
                              struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct gains g;
    struct rpl_live live;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    memset(&g, 0, sizeof(g));
    rpl_live_init(&live);
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while (!st && (event = rpl_scan_next(scan, err)) != NULL) {
        st = rpl_live_apply(&live, scan->seq, event, err);
        if (!st && (event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE))
            gains_event(&g, list, &live, scan->seq);
    }
    if (!st)
        st = scan->status;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].gain = g.highest - g.highest_without[i];
    list->gain = g.highest - g.highest_without[RPL_KEPT_MAX];
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}

enum vs_status rpl_kept_fill(struct rpl_kept_list *out, struct rpl_trace *trace, uint64_t at,
                             struct vs_error *err)
{
    struct candidates list = {NULL, 0, 0};
    enum vs_status st;

    VS_ASSERT(at >= 1 && at <= rpl_trace_event_count(trace));
    memset(out, 0, sizeof(*out));
    st = find(&list, trace, at, err);
    if (st)
        goto out;
    if (list.count)
        qsort(list.items, list.count, sizeof(*list.items), by_bytes);
    for (size_t i = 0; i < list.count && list.items[i].bytes; i++) {
        if (out->count < RPL_KEPT_MAX)
            out->items[out->count++].block = list.items[i];
        out->total += list.items[i].bytes;
        out->total_count++;
    }
    st = measure(out, trace, err);
out:
    vs_free(list.items);
    return st;
}
