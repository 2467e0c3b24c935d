/*
 * replay/inspect/alive.c - see alive.h.
 *
 * Must not know:  how the results are shown.
 * Invariant:      no event is read for what the index has: holders come from the cursor, last uses and frees from the
 *                 lifetimes.
 */
#include "replay/inspect/alive.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/index_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/index/unused.h"
#include "replay/inspect/block_name.h"
#include "replay/inspect/step.h"

/* ---- why ---- */

static enum vs_status holders_fill(struct rpl_why *why, const struct rpl_cursor *cursor,
                                   struct vs_error *err)
{
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);
    enum vs_status st = VS_OK;

    for (size_t i = rpl_cursor_held_first(cursor, why->id); !st && i != SIZE_MAX;
         i = rpl_cursor_held_next(cursor, i)) {
        struct rpl_holder *holder;

        why->holders =
            vs_grow(why->holders, why->holder_count, &why->holder_cap, sizeof(*why->holders));
        holder = &why->holders[why->holder_count++];
        *holder = held[i].holder;
        if (holder->kind == VS_HOLD_SAVED && holder->node && !holder->name)
            st = rpl_node_name(rpl_cursor_index(cursor), holder->node, &holder->name, err);
    }
    return st;
}

enum vs_status rpl_alive_why_here(struct rpl_cursor *cursor, struct rpl_why *why,
                                  struct vs_error *err)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    const struct rpl_block *block = rpl_live_block(rpl_cursor_live(cursor), why->id);
    struct rpl_why empty = {
        .id = why->id, .title = why->title, .holders = why->holders, .holder_cap = why->holder_cap};
    struct rpl_lifetime life;
    enum vs_status st;

    vs_text_clear(&empty.title);
    *why = empty;
    if (!block)
        return VS_OK;
    why->is_alive = true;
    why->block = *block;
    st = rpl_lifetime_get(index, why->id, &life, err);
    if (st)
        return st;
    why->name = life.name;
    if (!life.name && (block->category == VS_CAT_GRADIENT || block->category == VS_CAT_OPTIMIZER))
        (void)rpl_block_name(cursor, block, &life, &why->title);
    why->parameter = rpl_block_parameter(cursor, block, &life);
    why->free_seq = life.free_seq;
    return holders_fill(why, cursor, err);
}

enum vs_status rpl_alive_why(struct rpl_cursor *cursor, struct rpl_why *why, struct vs_error *err)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    struct vs_event event;
    enum vs_status st = rpl_alive_why_here(cursor, why, err);

    if (!st && why->is_alive)
        st = rpl_step_next_use(index, why->id, rpl_cursor_seq(cursor), &why->next_use_seq, err);
    if (!st && why->next_use_seq) {
        st = rpl_index_event(index, why->next_use_seq, &event, err);
        why->next_use_location = st ? 0 : event.location;
    }
    if (!st && why->free_seq) {
        st = rpl_index_event(index, why->free_seq, &event, err);
        why->free_location = st ? 0 : event.location;
    }
    return st;
}

void rpl_why_release(struct rpl_why *why)
{
    vs_free(why->holders);
    vs_text_release(&why->title);
    memset(why, 0, sizeof(*why));
}

/* ---- unused blocks ---- */

/* *out: the unused blocks at the cursor, the largest first. The caller frees it. */
static enum vs_status kept_find(struct rpl_cursor *cursor, struct rpl_block **out, size_t *count,
                                struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    uint64_t since = rpl_live_working_since(live);

    *out = vs_alloc((live->block_count + 1) * sizeof(**out));
    *count = 0;
    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        uint64_t needed = block->last_use_seq ? block->last_use_seq : block->alloc_seq;
        struct rpl_lifetime life;
        enum vs_status st;

        if (rpl_block_is_permanent(block) || needed >= since)
            continue;
        st = rpl_lifetime_get(rpl_cursor_index(cursor), block->id, &life, err);
        if (st)
            return st;
        if (life.last_use_seq <= rpl_cursor_seq(cursor))
            (*out)[(*count)++] = *block;
    }
    qsort(*out, *count, sizeof(**out), rpl_block_by_bytes);
    return VS_OK;
}

/* Index of the first item allocated at this location with this requested size; SIZE_MAX: there is none. */
static size_t site_of(const struct rpl_kept_list *list, uint32_t location, uint64_t requested)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].block.alloc_location == location &&
            list->items[i].block.requested == requested)
            return i;
    return SIZE_MAX;
}

/* By index of an allocation site: index of the first item of the site; SIZE_MAX: there is none. The caller frees it. */
static size_t *items_of_sites(const struct rpl_kept_list *list, const struct rpl_unused *unused)
{
    size_t *items = vs_alloc((unused->site_count + 1) * sizeof(*items));

    for (size_t i = 0; i < unused->site_count; i++)
        items[i] = site_of(list, unused->sites[i].location, unused->sites[i].requested);
    return items;
}

/*
 * best: by item, the peak of the trace without the unused bytes of the item's site; best[RPL_KEPT_MAX]: without those
 * of all items' sites.
 */
static void best_find(const struct rpl_kept_list *list, const struct rpl_unused *unused,
                      uint64_t *best)
{
    size_t *items = items_of_sites(list, unused);
    uint64_t *unused_of = vs_calloc(unused->site_count + 1, sizeof(*unused_of));
    uint64_t now[RPL_KEPT_MAX + 1] = {0};
    size_t at = 0;

    for (size_t i = 0; i <= RPL_KEPT_MAX; i++)
        best[i] = unused->floor;
    for (size_t s = 0; s < unused->state_count; s++) {
        uint64_t allocated = unused->states[s].allocated;

        for (; at < unused->states[s].end; at++) {
            const struct rpl_unused_change *c = &unused->changes[at];

            if (items[c->site] == SIZE_MAX)
                continue;
            now[RPL_KEPT_MAX] += c->bytes - unused_of[c->site];
            now[items[c->site]] = unused_of[c->site] = c->bytes;
        }
        for (size_t i = 0; i < list->count; i++)
            if (allocated - now[i] > best[i])
                best[i] = allocated - now[i];
        if (allocated - now[RPL_KEPT_MAX] > best[RPL_KEPT_MAX])
            best[RPL_KEPT_MAX] = allocated - now[RPL_KEPT_MAX];
    }
    vs_free(items);
    vs_free(unused_of);
}

static enum vs_status gains_fill(struct rpl_kept_list *list, struct rpl_index *index,
                                 struct vs_error *err)
{
    uint64_t highest = index->facts.allocated_max;
    uint64_t best[RPL_KEPT_MAX + 1];
    const struct rpl_unused *unused;
    enum vs_status st = rpl_unused_get(index, &unused, err);

    if (st)
        return st;
    best_find(list, unused, best);
    for (size_t i = 0; i < list->count; i++) {
        const struct rpl_block *block = &list->items[i].block;

        list->items[i].gain =
            highest - best[site_of(list, block->alloc_location, block->requested)];
    }
    list->gain = highest - best[RPL_KEPT_MAX];
    return VS_OK;
}

enum vs_status rpl_alive_kept(struct rpl_cursor *cursor, struct rpl_kept_list *out,
                              struct vs_error *err)
{
    struct rpl_block *blocks = NULL;
    size_t count = 0;
    enum vs_status st;

    VS_ASSERT(rpl_cursor_seq(cursor) >= 1);
    memset(out, 0, sizeof(*out));
    st = kept_find(cursor, &blocks, &count, err);
    for (size_t i = 0; !st && i < count && blocks[i].bytes; i++) {
        if (out->count < RPL_KEPT_MAX)
            out->items[out->count++].block = blocks[i];
        out->total += blocks[i].bytes;
        out->total_count++;
    }
    if (!st && out->count)
        st = gains_fill(out, rpl_cursor_index(cursor), err);
    vs_free(blocks);
    return st;
}

/* ---- leaks ---- */

/*
 * Set the events between which leaked blocks are allocated, without the last `left_out` steps; out->at stays 0 where
 * there are too few steps.
 */
static void leak_begin(struct rpl_leak *out, const struct rpl_trace *trace, size_t left_out)
{
    size_t count = rpl_trace_step_count(trace);

    memset(out, 0, sizeof(*out));
    /* where the recording was cut off, the last step is incomplete */
    if (count && !rpl_trace_is_complete(trace))
        count--;
    count -= left_out < count ? left_out : count;
    /* needed: set-up, the first step, a step that may leak, and the step after it */
    if (count < 4)
        return;
    out->first_seq = rpl_trace_step(trace, 2).first_seq;
    out->last_seq = rpl_trace_step(trace, count - 2).last_seq;
    out->at = rpl_trace_step(trace, count - 1).last_seq;
    out->steps = count - 3;
}

static int by_location(const void *a, const void *b)
{
    const struct rpl_block *x = a, *y = b;

    if (x->alloc_location != y->alloc_location)
        return x->alloc_location < y->alloc_location ? -1 : 1;
    return (x->alloc_seq > y->alloc_seq) - (x->alloc_seq < y->alloc_seq);
}

/* Is the event `seq` in a later step of training than the event `before`? */
static bool is_later_step(const struct rpl_trace *trace, uint64_t before, uint64_t seq)
{
    for (size_t i = 1; i < rpl_trace_step_count(trace); i++) {
        const uint64_t first = rpl_trace_step(trace, i).first_seq;

        if (before < first && first <= seq)
            return true;
    }
    return false;
}

size_t rpl_leak_blocks(const struct rpl_leak *leak, const struct rpl_trace *trace,
                       const struct rpl_live *live, struct rpl_block *out)
{
    const uint64_t first_step = rpl_trace_step(trace, 1).first_seq;
    size_t count = 0;
    size_t kept = 0;
    size_t end;

    for (size_t i = 0; i < live->block_count; i++)
        if (live->blocks[i].alloc_seq >= first_step && live->blocks[i].alloc_seq <= leak->last_seq)
            out[count++] = live->blocks[i];
    qsort(out, count, sizeof(*out), by_location);
    for (size_t start = 0; start < count; start = end) {
        for (end = start + 1; end < count; end++)
            if (out[end].alloc_location != out[start].alloc_location)
                break;
        if (!is_later_step(trace, out[start].alloc_seq, out[end - 1].alloc_seq))
            continue;
        for (size_t i = start; i < end; i++)
            if (out[i].alloc_seq >= leak->first_seq)
                out[kept++] = out[i];
    }
    return kept;
}

/* Fill in the leaked blocks; `live` is the state right after out->at. */
static void leak_take(struct rpl_leak *out, const struct rpl_trace *trace,
                      const struct rpl_live *live)
{
    struct rpl_block *leaked = vs_alloc((live->block_count + 1) * sizeof(*leaked));

    out->count = rpl_leak_blocks(out, trace, live, leaked);
    for (size_t i = 0; i < out->count; i++)
        out->bytes += leaked[i].bytes;
    qsort(leaked, out->count, sizeof(*leaked), rpl_block_by_bytes);
    out->block_count = out->count < RPL_LEAK_MAX ? (size_t)out->count : RPL_LEAK_MAX;
    memcpy(out->blocks, leaked, out->block_count * sizeof(*leaked));
    vs_free(leaked);
}

/* Find the leaked blocks without the last `left_out` steps. */
static enum vs_status leak_find(struct rpl_index *index, size_t left_out, struct rpl_leak *out,
                                struct vs_error *err)
{
    enum vs_status st;

    leak_begin(out, index->trace, left_out);
    if (!out->at || out->at > index->event_count)
        return VS_OK;
    if (!index->scan)
        index->scan = rpl_cursor_new(index);
    st = rpl_cursor_seek(index->scan, out->at, err);
    if (!st)
        leak_take(out, index->trace, rpl_cursor_live(index->scan));
    return st;
}

/* A snapshot that is imported was taken while the program ran; a program is recorded to its end. */
static bool goes_on_to_the_end(const struct rpl_trace *trace)
{
    return rpl_trace_is_program(trace) || rpl_trace_meta(trace, "dumped");
}

/*
 * The last step of a recorded program goes on to the end of the recording, where its variables are gone: where nothing
 * leaks at that end, the end of the step before it is looked at.
 */
enum vs_status rpl_alive_leak(struct rpl_index *index, struct rpl_leak *out, struct vs_error *err)
{
    enum vs_status st = leak_find(index, 0, out, err);
    struct rpl_leak before;

    if (st || !out->at || out->count || !goes_on_to_the_end(index->trace))
        return st;
    st = leak_find(index, 1, &before, err);
    if (!st && before.count)
        *out = before;
    return st;
}
