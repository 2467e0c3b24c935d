/*
 * replay/alive.c - see alive.h.
 *
 * Must not know:  drawing.
 * Invariant:      what has a place in the index is not read again: who holds comes from the cursor, what is to come from the lives.
 */
#include "replay/alive.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index_internal.h"
#include "replay/lives.h"
#include "replay/pack.h"
#include "replay/step.h"

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
        if (holder->kind == VS_HOLD_SAVED && holder->node)
            st = rpl_node_name(rpl_cursor_index(cursor), holder->node, &holder->name, err);
    }
    return st;
}

enum vs_status rpl_alive_why(struct rpl_cursor *cursor, struct rpl_why *why, struct vs_error *err)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    const struct rpl_block *block = rpl_live_block(rpl_cursor_live(cursor), why->id);
    struct rpl_why empty = {.id = why->id, .holders = why->holders, .holder_cap = why->holder_cap};
    struct vs_event event;
    struct rpl_life life;
    enum vs_status st;

    *why = empty;
    if (!block)
        return VS_OK;
    why->is_alive = true;
    why->block = *block;
    st = rpl_life_get(index, why->id, &life, err);
    if (st)
        return st;
    why->name = life.name;
    why->free_seq = life.free_seq;
    st = holders_fill(why, cursor, err);
    if (!st)
        st = rpl_step_next_use(index, why->id, rpl_cursor_seq(cursor), &why->next_use_seq, err);
    if (!st && why->next_use_seq) {
        st = rpl_index_event(index, why->next_use_seq, &event, err);
        why->next_use_place = st ? 0 : event.place;
    }
    if (!st && why->free_seq) {
        st = rpl_index_event(index, why->free_seq, &event, err);
        why->free_place = st ? 0 : event.place;
    }
    return st;
}

/* ---- what is kept ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_block *x = a;
    const struct rpl_block *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Who is alive, was not read by what is running, and will not be read again; the largest first. The caller frees it. */
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
        struct rpl_life life;
        enum vs_status st;

        if (rpl_block_is_permanent(block) || needed >= since)
            continue;
        st = rpl_life_get(rpl_cursor_index(cursor), block->id, &life, err);
        if (st)
            return st;
        if (life.last_use_seq <= rpl_cursor_seq(cursor))
            (*out)[(*count)++] = *block;
    }
    qsort(*out, *count, sizeof(**out), by_bytes);
    return VS_OK;
}

/*
 * From event `seq` on so many bytes more (or, freed, fewer) of a site are of no use to anyone. Site RPL_KEPT_MAX is all sites together.
 */
struct border {
    uint64_t seq;
    size_t site;
    uint64_t bytes;
    bool is_end;
};

/*
 * borders    in order of seq
 * next       the first one that is not yet in `idle`
 * idle       bytes of no use right now, by site; idle_max: the most there ever are of all together
 * best       highest allocated bytes found so far, without what is of no use, by site
 * open       pieces that have borders inside, and could change something
 */
struct gains {
    struct rpl_index *index;
    const struct rpl_kept_list *list;
    struct border *borders;
    size_t border_count;
    size_t border_cap;
    size_t next;
    uint64_t idle[RPL_KEPT_MAX + 1];
    uint64_t idle_max;
    uint64_t best[RPL_KEPT_MAX + 1];
    uint64_t *open;
    size_t open_count;
    size_t open_cap;
};

static int by_seq(const void *a, const void *b)
{
    const struct border *x = a;
    const struct border *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return y->is_end - x->is_end;
}

/* Which of the items were made where this block was, and as large: an item's number, or SIZE_MAX. */
static size_t site_of(const struct rpl_kept_list *list, uint32_t place, uint64_t requested)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].block.alloc_place == place &&
            list->items[i].block.requested == requested)
            return i;
    return SIZE_MAX;
}

static void border_add(struct gains *g, uint64_t seq, size_t site, uint64_t bytes, bool is_end)
{
    g->borders = vs_grow(g->borders, g->border_count, &g->border_cap, sizeof(*g->borders));
    g->borders[g->border_count++] = (struct border){seq, site, bytes, is_end};
}

/* The places of all blocks, side by side: looking through the rows themselves would take most of the time of an answer. */
static enum vs_status places_gather(struct rpl_index *index, struct vs_error *err)
{
    size_t count = index->rows.count;

    if (index->row_place_count == count)
        return VS_OK;
    index->row_places = vs_realloc(index->row_places, count, sizeof(*index->row_places));
    for (size_t i = index->row_place_count; i < count; i++) {
        const struct rpl_row *row;
        enum vs_status st = rpl_index_row(index, i, &row, err);

        if (st)
            return st;
        index->row_places[i] = row->place;
    }
    index->row_place_count = count;
    return VS_OK;
}

/* A block of one of the sites, perhaps: from the moment at which it is of no use to that at which it goes. */
static enum vs_status borders_of(struct gains *g, size_t i, struct vs_error *err)
{
    const struct rpl_row *row;
    size_t site;
    enum vs_status st = rpl_index_row(g->index, i, &row, err);

    if (st || !row->idle_seq || row->idle_seq == row->free_seq)
        return st;
    site = site_of(g->list, row->place, row->requested);
    if (site == SIZE_MAX)
        return VS_OK;
    border_add(g, row->idle_seq, site, row->bytes, false);
    if (row->free_seq)
        border_add(g, row->free_seq, site, row->bytes, true);
    return VS_OK;
}

static enum vs_status borders_find(struct gains *g, struct vs_error *err)
{
    size_t count = g->index->rows.count;
    uint64_t places[RPL_PLACE_BITS / 64] = {0};
    uint64_t now = 0;
    enum vs_status st = places_gather(g->index, err);

    for (size_t i = 0; i < g->list->count; i++) {
        uint32_t bit = g->list->items[i].block.alloc_place % RPL_PLACE_BITS;

        places[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    for (size_t i = 0; !st && i < count; i++) {
        uint32_t bit = g->index->row_places[i] % RPL_PLACE_BITS;

        if (places[bit / 64] >> bit % 64 & 1)
            st = borders_of(g, i, err);
    }
    if (g->border_count)
        qsort(g->borders, g->border_count, sizeof(*g->borders), by_seq);
    for (size_t i = 0; i < g->border_count; i++) {
        now = g->borders[i].is_end ? now - g->borders[i].bytes : now + g->borders[i].bytes;
        g->idle_max = now > g->idle_max ? now : g->idle_max;
    }
    return st;
}

/* Take in the borders up to event `seq`. */
static void borders_pass(struct gains *g, uint64_t seq)
{
    for (; g->next < g->border_count && g->borders[g->next].seq <= seq; g->next++) {
        const struct border *b = &g->borders[g->next];

        g->idle[b->site] = b->is_end ? g->idle[b->site] - b->bytes : g->idle[b->site] + b->bytes;
        g->idle[RPL_KEPT_MAX] =
            b->is_end ? g->idle[RPL_KEPT_MAX] - b->bytes : g->idle[RPL_KEPT_MAX] + b->bytes;
    }
}

static void best_update(struct gains *g, uint64_t allocated)
{
    for (size_t i = 0; i <= RPL_KEPT_MAX; i++)
        if ((i < g->list->count || i == RPL_KEPT_MAX) && allocated - g->idle[i] > g->best[i])
            g->best[i] = allocated - g->idle[i];
}

/*
 * A piece with borders inside. With the least that is of no use anywhere in it: can its highest point matter to any site? `idle` is then that
 * of the piece's start.
 */
static bool piece_matters(const struct gains *g, uint64_t highest, uint64_t end)
{
    uint64_t least[RPL_KEPT_MAX + 1];
    uint64_t now[RPL_KEPT_MAX + 1];

    memcpy(now, g->idle, sizeof(now));
    memcpy(least, g->idle, sizeof(least));
    for (size_t i = g->next; i < g->border_count && g->borders[i].seq < end; i++) {
        const struct border *b = &g->borders[i];
        const size_t sites[] = {b->site, RPL_KEPT_MAX};

        for (size_t k = 0; k < 2; k++) {
            uint64_t *n = &now[sites[k]];

            *n = b->is_end ? *n - b->bytes : *n + b->bytes;
            least[sites[k]] = *n < least[sites[k]] ? *n : least[sites[k]];
        }
    }
    for (size_t i = 0; i <= RPL_KEPT_MAX; i++)
        if ((i < g->list->count || i == RPL_KEPT_MAX) && highest > least[i] &&
            highest - least[i] > g->best[i])
            return true;
    return false;
}

/*
 * The node `i` of `level`, and all below it, in order of events: what can be said without reading events is; pieces that must be read are listed.
 */
static enum vs_status node_visit(struct gains *g, size_t level, size_t i, uint64_t size,
                                 struct vs_error *err)
{
    uint64_t first = 1 + (uint64_t)i * size;
    const struct rpl_node *node;
    uint64_t highest;
    enum vs_status st = rpl_index_node(g->index, level, i, &node, err);

    if (st)
        return st;
    highest = node->allocated_max;
    /* even with nothing idle here it cannot exceed what is left of the top with all of it idle */
    if (highest <= g->index->facts.allocated_max - g->idle_max)
        return VS_OK;
    borders_pass(g, first);
    if (g->next == g->border_count || g->borders[g->next].seq >= first + size) {
        best_update(g, highest);
        return VS_OK;
    }
    if (level == 0) {
        g->open = vs_grow(g->open, g->open_count, &g->open_cap, sizeof(*g->open));
        g->open[g->open_count++] = (uint64_t)i;
        return VS_OK;
    }
    for (size_t k = i * RPL_FAN; !st && k < (i + 1) * RPL_FAN; k++)
        if (k < g->index->levels[level - 1].count)
            st = node_visit(g, level - 1, k, size / RPL_FAN, err);
    return st;
}

/* A chunk whose changes are being passed. seq: the last one; allocated: right after it. */
struct changes {
    size_t chunk;
    struct rpl_unpack in;
    uint64_t seq;
    uint64_t allocated;
    bool has_chunk;
};

/* To right before the piece, which lies after the one before. */
static enum vs_status changes_to(struct gains *g, struct changes *c, uint64_t first,
                                 struct vs_error *err)
{
    size_t chunk = rpl_index_chunk_of(first);
    struct rpl_blob blob;
    enum vs_status st;

    if (c->has_chunk && c->chunk == chunk)
        return VS_OK;
    st = rpl_index_blob(g->index, RPL_PART_CHANGES, chunk, &blob, err);
    if (st)
        return st;
    /* those of a chunk stay where they are, and their seal was looked at when they were read */
    c->in = rpl_unpack_again(blob.bytes, blob.len);
    c->chunk = chunk;
    c->has_chunk = true;
    c->seq = rpl_index_chunk_first(chunk);
    c->allocated = g->index->chunks[chunk].allocated;
    return VS_OK;
}

/* The next change before event `end`: the cursor is then right after it. */
static bool change_next(struct changes *c, uint64_t end)
{
    struct rpl_unpack before = c->in;
    uint64_t seq;

    if (c->in.at == c->in.end)
        return false;
    seq = c->seq + rpl_unpack_uint(&c->in);
    if (seq >= end) {
        c->in = before;
        return false;
    }
    c->seq = seq;
    c->allocated = rpl_unpack_bytes(&c->in, c->allocated);
    return true;
}

/* The moments of a piece right after each change; between changes nothing is other than there. */
static enum vs_status piece_read(struct gains *g, struct changes *c, uint64_t piece,
                                 struct vs_error *err)
{
    uint64_t first = 1 + piece * RPL_PIECE_EVENTS;
    uint64_t end = first + RPL_PIECE_EVENTS;
    const struct rpl_node *node;
    enum vs_status st = rpl_index_node(g->index, 0, (size_t)piece, &node, err);

    if (st)
        return st;
    borders_pass(g, first - 1);
    if (!piece_matters(g, node->allocated_max, end))
        return VS_OK;
    st = changes_to(g, c, first, err);
    if (st)
        return st;
    while (change_next(c, first))
        continue;
    while (change_next(c, end)) {
        borders_pass(g, c->seq);
        best_update(g, c->allocated);
    }
    return VS_OK;
}

static enum vs_status measure(struct gains *g, struct vs_error *err)
{
    struct changes changes = {.has_chunk = false};
    uint64_t size = RPL_PIECE_EVENTS;
    size_t top = 0;
    enum vs_status st = VS_OK;

    while (top + 1 < RPL_LEVEL_COUNT && g->index->levels[top + 1].count) {
        top++;
        size *= RPL_FAN;
    }
    for (size_t i = 0; !st && i < g->index->levels[top].count; i++)
        st = node_visit(g, top, i, size, err);
    g->next = 0;
    memset(g->idle, 0, sizeof(g->idle));
    for (size_t i = 0; !st && i < g->open_count; i++)
        st = piece_read(g, &changes, g->open[i], err);
    return st;
}

static enum vs_status gains_fill(struct rpl_kept_list *list, struct rpl_index *index,
                                 struct vs_error *err)
{
    uint64_t highest = index->facts.allocated_max;
    struct gains g = {.index = index, .list = list};
    enum vs_status st = borders_find(&g, err);

    /* where every moment was passed by, the top is at least lowered by all there ever was of no use */
    for (size_t i = 0; i <= RPL_KEPT_MAX; i++)
        g.best[i] = highest - g.idle_max;
    if (!st)
        st = measure(&g, err);
    for (size_t i = 0; !st && i < list->count; i++) {
        const struct rpl_block *block = &list->items[i].block;

        list->items[i].gain = highest - g.best[site_of(list, block->alloc_place, block->requested)];
    }
    list->gain = highest - g.best[RPL_KEPT_MAX];
    vs_free(g.borders);
    vs_free(g.open);
    return st;
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

enum vs_status rpl_alive_leak(struct rpl_index *index, struct rpl_leak *out, struct vs_error *err)
{
    enum vs_status st;

    rpl_leak_begin(out, index->trace);
    if (!out->at || out->at > index->event_count)
        return VS_OK;
    if (!index->scan)
        index->scan = rpl_cursor_new(index);
    st = rpl_cursor_seek(index->scan, out->at, err);
    if (!st)
        rpl_leak_take(out, rpl_cursor_live(index->scan));
    return st;
}
