/*
 * tests/replay/inspect/naive_kept.c - unused blocks and what freeing them early would gain, found by reading every
 * event three times.
 */
#include "tests/replay/inspect/naive.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Blocks alive at the event that no event read so far uses later. */
struct candidates {
    struct rpl_block *items;
    size_t count;
    size_t cap;
};

/* Event of the last use so far, or of the allocation. */
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

static void candidates_take(struct candidates *list, const struct rpl_live *live)
{
    uint64_t since = rpl_live_working_since(live);

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];

        if (rpl_block_is_permanent(block) || last_needed(block) >= since)
            continue;
        list->items = vs_grow(list->items, list->count, &list->cap, sizeof(*list->items));
        list->items[list->count++] = *block;
    }
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_id);
}

/* The block is used later: bytes 0 marks it as removed. */
static void candidate_used(struct candidates *list, uint64_t id)
{
    struct rpl_block key = {.id = id};
    struct rpl_block *found =
        list->count ? bsearch(&key, list->items, list->count, sizeof(key), by_id) : NULL;

    if (found)
        found->bytes = 0;
}

/* First pass: the candidates. */
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
            candidate_used(list, event->use.block);
        if (!st && scan->seq == at)
            candidates_take(list, &live);
    }
    if (!st)
        st = scan->status;
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}

/* Index of the first item allocated at the block's location with its requested size; SIZE_MAX: there is none. */
static size_t site_of(const struct rpl_kept_list *list, const struct rpl_block *block)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].block.alloc_location == block->alloc_location &&
            list->items[i].block.requested == block->requested)
            return i;
    return SIZE_MAX;
}

/*
 * A block of one of the items' allocation sites.
 *
 * last_needed  event of its last use in the whole trace, or of its allocation
 * is_gone      that event has passed, so its bytes count as freed
 * is_freed     the trace has freed it
 */
struct tail {
    uint64_t id;
    uint64_t last_needed;
    uint64_t bytes;
    size_t site;
    bool is_gone;
    bool is_freed;
};

/*
 * items    in order of id
 * waiting  indices of items past their last use whose op may still be running
 */
struct tails {
    struct tail *items;
    size_t count;
    size_t cap;
    size_t *waiting;
    size_t waiting_count;
    size_t waiting_cap;
};

static int tail_by_id(const void *a, const void *b)
{
    const struct tail *x = a;
    const struct tail *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static struct tail *tail_find(struct tails *tails, uint64_t id)
{
    struct tail key = {.id = id};

    return tails->count ? bsearch(&key, tails->items, tails->count, sizeof(key), tail_by_id) : NULL;
}

/* Second pass: all blocks of these sites with their last uses. */
static enum vs_status tails_fill(struct tails *tails, const struct rpl_kept_list *list,
                                 struct rpl_trace *trace, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        struct rpl_block block;
        struct tail *tail;

        if (event->kind == VS_EV_USE) {
            tail = tail_find(tails, event->use.block);
            if (tail)
                tail->last_needed = scan->seq;
        }
        if (event->kind != VS_EV_ALLOC)
            continue;
        block = (struct rpl_block){.alloc_location = event->location,
                                   .requested = event->alloc.requested_bytes};
        if (site_of(list, &block) == SIZE_MAX)
            continue;
        /* ids increase; a block out of order could not be found by bsearch */
        if (tails->count && tails->items[tails->count - 1].id >= event->alloc.block)
            continue;
        tails->items = vs_grow(tails->items, tails->count, &tails->cap, sizeof(*tails->items));
        tails->items[tails->count++] = (struct tail){.id = event->alloc.block,
                                                     .last_needed = scan->seq,
                                                     .bytes = event->alloc.block_bytes,
                                                     .site = site_of(list, &block)};
    }
    st = scan->status;
    vs_free(scan);
    return st;
}

/*
 * Third pass: the peaks without them. The last element of the arrays is for all sites together.
 *
 * gone      bytes past their last use at the current event, by site
 */
struct gains {
    uint64_t highest;
    uint64_t highest_without[RPL_KEPT_MAX + 1];
    uint64_t gone[RPL_KEPT_MAX + 1];
};

static void gone_add(struct gains *g, struct tail *tail, bool add)
{
    tail->is_gone = add;
    g->gone[tail->site] =
        add ? g->gone[tail->site] + tail->bytes : g->gone[tail->site] - tail->bytes;
    g->gone[RPL_KEPT_MAX] =
        add ? g->gone[RPL_KEPT_MAX] + tail->bytes : g->gone[RPL_KEPT_MAX] - tail->bytes;
}

/* An event of a block of a site: its last use, or its free. */
static void tail_event(struct gains *g, struct tails *tails, uint64_t seq,
                       const struct vs_event *event)
{
    struct tail *tail = tail_find(tails, vs_event_block(event));

    if (!tail)
        return;
    if (event->kind == VS_EV_FREE) {
        if (tail->is_gone)
            gone_add(g, tail, false);
        tail->is_freed = true;
    } else if (tail->last_needed == seq) {
        tails->waiting = vs_grow(tails->waiting, tails->waiting_count, &tails->waiting_cap,
                                 sizeof(*tails->waiting));
        tails->waiting[tails->waiting_count++] = (size_t)(tail - tails->items);
    }
}

/* Waiting blocks whose op has ended are unused from here on. */
static void waiting_settle(struct gains *g, struct tails *tails, const struct rpl_live *live)
{
    uint64_t since = rpl_live_working_since(live);
    size_t kept = 0;

    for (size_t i = 0; i < tails->waiting_count; i++) {
        struct tail *tail = &tails->items[tails->waiting[i]];

        if (tail->is_freed)
            continue;
        if (since > tail->last_needed)
            gone_add(g, tail, true);
        else
            tails->waiting[kept++] = tails->waiting[i];
    }
    tails->waiting_count = kept;
}

static void highest_update(struct gains *g, const struct rpl_kept_list *list, uint64_t allocated)
{
    if (allocated > g->highest)
        g->highest = allocated;
    for (size_t i = 0; i <= RPL_KEPT_MAX; i++)
        if ((i < list->count || i == RPL_KEPT_MAX) &&
            allocated - g->gone[i] > g->highest_without[i])
            g->highest_without[i] = allocated - g->gone[i];
}

static enum vs_status measure(struct rpl_kept_list *list, struct tails *tails,
                              struct rpl_trace *trace, struct vs_error *err)
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
        bool is_change = event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE;

        st = rpl_live_apply(&live, scan->seq, event, err);
        if (st)
            break;
        if (is_change)
            waiting_settle(&g, tails, &live);
        if (is_change || event->kind == VS_EV_USE)
            tail_event(&g, tails, scan->seq, event);
        if (is_change)
            highest_update(&g, list, live.allocated);
    }
    if (!st)
        st = scan->status;
    for (size_t i = 0; i < list->count; i++) {
        size_t site = site_of(list, &list->items[i].block);

        list->items[i].gain = g.highest - g.highest_without[site];
    }
    list->gain = g.highest - g.highest_without[RPL_KEPT_MAX];
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}

enum vs_status naive_kept_fill(struct rpl_kept_list *out, struct rpl_trace *trace, uint64_t at,
                               struct vs_error *err)
{
    struct candidates list = {NULL, 0, 0};
    struct tails tails;
    enum vs_status st;

    VS_ASSERT(at >= 1 && at <= rpl_trace_event_count(trace));
    memset(out, 0, sizeof(*out));
    memset(&tails, 0, sizeof(tails));
    st = find(&list, trace, at, err);
    if (st)
        goto out;
    if (list.count)
        qsort(list.items, list.count, sizeof(*list.items), rpl_block_by_bytes);
    for (size_t i = 0; i < list.count && list.items[i].bytes; i++) {
        if (out->count < RPL_KEPT_MAX)
            out->items[out->count++].block = list.items[i];
        out->total += list.items[i].bytes;
        out->total_count++;
    }
    if (!out->count)
        goto out;
    st = tails_fill(&tails, out, trace, err);
    if (!st)
        st = measure(out, &tails, trace, err);
out:
    vs_free(tails.items);
    vs_free(tails.waiting);
    vs_free(list.items);
    return st;
}
