/*
 * replay/match/match_items.c - converts the events of a recording and of a trace to items that can be compared.
 *
 * Must not know:  when items agree.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/match/match_internal.h"

#define NOWHERE SIZE_MAX

/*
 * An address or a block number in use.
 *
 * which  its block; NOWHERE: none now
 * freed  index of the item that freed it last, to which a free_completed belongs; NOWHERE: none
 */
struct used_key {
    uint64_t key;
    size_t which;
    size_t freed;
    uint8_t cls;
};

/* A segment that exists now. */
struct area {
    uint64_t address;
    uint64_t bytes;
    size_t number;
};

/* areas: the current segments, in no order; there are at most about a thousand. */
struct reading {
    struct rpl_match_side *side;
    struct used_key *used;
    size_t used_count, used_cap;
    /* Finds a used key by its key. */
    struct vs_table by_key;
    struct area *areas;
    size_t area_count, area_cap;
    uint64_t live;
    uint64_t live_peak;
    /* Requested bytes of the blocks that were freed without an allocation before. */
    uint64_t before;
};

static void reading_release(struct reading *r)
{
    vs_free(r->used);
    vs_table_release(&r->by_key);
    vs_free(r->areas);
}

/* The location with this key, added if necessary. Valid until the next call. */
static struct used_key *used_get(struct reading *r, uint64_t key)
{
    const uint64_t hash = vs_hash_number(key);
    struct vs_probe probe = vs_probe(hash);
    struct used_key *slot;

    while (vs_table_next(&r->by_key, &probe))
        if (r->used[probe.item].key == key)
            return &r->used[probe.item];
    vs_table_add(&r->by_key, hash, r->used_count);
    r->used = vs_grow(r->used, r->used_count, &r->used_cap, sizeof(*r->used));
    slot = &r->used[r->used_count++];
    *slot = (struct used_key){.key = key, .which = NOWHERE, .freed = NOWHERE};
    return slot;
}

static struct rpl_match_item *item_add(struct reading *r, enum vs_mem_kind kind, uint64_t bytes,
                                       uint64_t at)
{
    struct rpl_match_side *side = r->side;
    struct rpl_match_item *item;

    side->items = vs_grow(side->items, side->count, &side->cap, sizeof(*side->items));
    item = &side->items[side->count++];
    *item = (struct rpl_match_item){.kind = (uint8_t)kind,
                                    .bytes = bytes,
                                    .at = at,
                                    .events = 1,
                                    .segment = NOWHERE,
                                    .which = NOWHERE};
    return item;
}

/* ---- segments ---- */

static size_t segment_add(struct reading *r, uint64_t address, uint64_t bytes)
{
    struct rpl_match_side *side = r->side;

    side->segment_bytes = vs_grow(side->segment_bytes, side->segment_count, &side->segment_cap,
                                  sizeof(*side->segment_bytes));
    side->segment_bytes[side->segment_count] = bytes;
    r->areas = vs_grow(r->areas, r->area_count, &r->area_cap, sizeof(*r->areas));
    r->areas[r->area_count++] = (struct area){address, bytes, side->segment_count};
    return side->segment_count++;
}

static struct area *area_of(const struct reading *r, uint64_t address)
{
    for (size_t i = r->area_count; i-- > 0;)
        if (address - r->areas[i].address < r->areas[i].bytes)
            return &r->areas[i];
    return NULL;
}

static void segment_event(struct reading *r, enum vs_mem_kind kind, uint64_t address,
                          uint64_t bytes, uint64_t at, bool is_wanted)
{
    size_t number = NOWHERE;

    if (kind == VS_MEM_SEGMENT_ALLOC) {
        number = segment_add(r, address, bytes);
    } else if (kind == VS_MEM_SEGMENT_FREE) {
        struct area *area = area_of(r, address);

        if (area) {
            number = area->number;
            *area = r->areas[--r->area_count];
        }
    }
    if (is_wanted)
        item_add(r, kind, bytes, at)->which = number;
}

/* ---- allocations ---- */

static void alloc_event(struct reading *r, uint64_t key, uint64_t address, uint64_t bytes,
                        uint8_t cls, uint64_t at, bool is_wanted)
{
    struct used_key *slot = used_get(r, key);
    struct rpl_match_item *item;
    const struct area *area;

    slot->cls = cls;
    slot->freed = NOWHERE;
    slot->which = r->side->which_count++;
    if (!is_wanted)
        return;
    area = area_of(r, address);
    item = item_add(r, VS_MEM_ALLOC, bytes, at);
    item->cls = cls;
    item->which = slot->which;
    if (area) {
        item->segment = area->number;
        item->offset = address - area->address;
    }
    r->live += bytes;
    if (r->live > r->live_peak)
        r->live_peak = r->live;
}

/*
 * A block that is freed without having been allocated was in use before the first event, so it counts from there on.
 */
static void free_event(struct reading *r, uint64_t key, uint64_t bytes, uint64_t at,
                       enum rpl_match_scope scope)
{
    struct used_key *slot = used_get(r, key);
    struct rpl_match_item *item;

    slot->freed = NOWHERE;
    if (slot->which != NOWHERE && scope == RPL_MATCH_TENSORS && slot->cls != VS_MEM_TENSOR) {
        slot->which = NOWHERE;
        return;
    }
    if (slot->which == NOWHERE) {
        slot->which = r->side->which_count++;
        slot->cls = VS_MEM_TENSOR;
        r->before += bytes;
        r->live += bytes;
        r->live_peak += bytes;
    }
    slot->freed = r->side->count;
    item = item_add(r, VS_MEM_FREE_REQUESTED, bytes, at);
    item->cls = slot->cls;
    item->which = slot->which;
    slot->which = NOWHERE;
    r->live -= bytes;
}

/* ---- the recording ---- */

/* Add the segments that existed at the start of the recording. */
static void areas_begin(struct reading *r, const struct vs_memlist *list)
{
    for (size_t i = 0; i < list->segment_count; i++) {
        bool is_made = false;

        for (size_t e = 0; e < list->event_count && !is_made; e++)
            is_made = list->events[e].kind == VS_MEM_SEGMENT_ALLOC &&
                      list->events[e].address == list->segments[i].address;
        if (!is_made)
            segment_add(r, list->segments[i].address, list->segments[i].bytes);
    }
}

static void completed_event(struct reading *r, uint64_t key)
{
    struct used_key *slot = used_get(r, key);

    if (slot->freed == NOWHERE)
        return;
    r->side->items[slot->freed].events++;
    slot->freed = NOWHERE;
}

static void list_event(struct rpl_match *match, struct reading *r, size_t at)
{
    const struct vs_mem_event *event = &match->list->events[at];
    const bool is_all = match->scope == RPL_MATCH_ALL;
    bool is_wanted;

    switch ((enum vs_mem_kind)event->kind) {
    case VS_MEM_ALLOC:
        is_wanted = match->scope != RPL_MATCH_TENSORS || event->cls == VS_MEM_TENSOR;
        if (!is_wanted) {
            match->left_out[event->cls]++;
            match->left_out_bytes[event->cls] += event->bytes;
        }
        alloc_event(r, event->address, event->address, event->bytes, event->cls, at, is_wanted);
        break;
    case VS_MEM_FREE_REQUESTED:
        free_event(r, event->address, event->bytes, at, match->scope);
        break;
    case VS_MEM_FREE_COMPLETED:
        if (is_all)
            completed_event(r, event->address);
        break;
    case VS_MEM_SEGMENT_ALLOC:
    case VS_MEM_SEGMENT_FREE:
    case VS_MEM_SEGMENT_MAP:
    case VS_MEM_SEGMENT_UNMAP:
        segment_event(r, (enum vs_mem_kind)event->kind, event->address, event->bytes, at, is_all);
        break;
    case VS_MEM_OOM:
        item_add(r, VS_MEM_OOM, 0, at);
        break;
    case VS_MEM_SNAPSHOT:
    case VS_MEM_OTHER:
    case VS_MEM_KIND_COUNT:
        break;
    }
}

enum vs_status rpl_match_read_list(struct rpl_match *match, struct vs_error *err)
{
    struct reading r = {.side = &match->real};

    if (match->scope == RPL_MATCH_ALL && !match->list->has_addresses)
        return vs_fail(err, VS_E_VALUE,
                       "the list has no addresses, so segments cannot be compared");
    if (match->scope == RPL_MATCH_ALL)
        areas_begin(&r, match->list);
    for (size_t i = 0; i < match->list->event_count; i++)
        list_event(match, &r, i);
    for (size_t i = 0; i < match->real.count; i++)
        match->events += match->real.items[i].events;
    match->real.requested_peak = r.live_peak;
    reading_release(&r);
    return VS_OK;
}

/* ---- the trace ---- */

/* Before the first event compared only the state is tracked: where segments and blocks are. */
static void trace_event(struct rpl_match *match, struct reading *r, const struct vs_event *event,
                        uint64_t seq, bool is_inside)
{
    const bool is_all = is_inside && match->scope == RPL_MATCH_ALL;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        /* Blocks from before the window are unknown to it, except those that are omitted from the comparison. */
        if (is_inside || (!event->alloc.tensor && match->scope == RPL_MATCH_TENSORS))
            alloc_event(r, event->alloc.block, event->alloc.address, event->alloc.requested_bytes,
                        event->alloc.tensor ? VS_MEM_TENSOR : VS_MEM_SCRATCH, seq,
                        is_inside && (event->alloc.tensor || match->scope != RPL_MATCH_TENSORS));
        break;
    case VS_EV_FREE:
        if (is_inside)
            free_event(r, event->free.block, event->free.requested_bytes, seq, match->scope);
        break;
    case VS_EV_SEGMENT_ALLOC:
        segment_event(r, VS_MEM_SEGMENT_ALLOC, event->segment.address, event->segment.bytes, seq,
                      is_all);
        break;
    case VS_EV_SEGMENT_FREE:
        segment_event(r, VS_MEM_SEGMENT_FREE, event->segment.address, event->segment.bytes, seq,
                      is_all);
        break;
    case VS_EV_SEGMENT_MAP:
        segment_event(r, VS_MEM_SEGMENT_MAP, event->segment.address, event->segment.bytes, seq,
                      is_all);
        break;
    case VS_EV_SEGMENT_UNMAP:
        segment_event(r, VS_MEM_SEGMENT_UNMAP, event->segment.address, event->segment.bytes, seq,
                      is_all);
        break;
    case VS_EV_OOM:
        if (is_inside)
            item_add(r, VS_MEM_OOM, 0, seq);
        break;
    case VS_EV_ANY_OF_PROGRAM:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

enum vs_status rpl_match_read_trace(struct rpl_match *match, uint64_t first_seq,
                                    struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct reading r = {.side = &match->ours};
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, match->trace, 1, rpl_trace_event_count(match->trace));
    while ((event = rpl_scan_next(scan, err)) != NULL)
        trace_event(match, &r, event, scan->seq, scan->seq >= first_seq);
    st = scan->status;
    match->ours.requested_peak = r.live_peak;
    reading_release(&r);
    vs_free(scan);
    return st;
}
