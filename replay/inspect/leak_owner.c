/*
 * replay/inspect/leak_owner.c - see leak_owner.h.
 *
 * Must not know:  how the result is shown.
 * Invariant:      indices of nodes, edges and saves are + 1, so that 0 is none.
 */
#include "replay/inspect/leak_owner.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/index/cursor.h"
#include "replay/index/index.h"

/* Ops inside each other beyond this depth are not followed. */
#define DEPTH_MAX 32

/*
 * A backward node. edge: the first of its inputs; save: the first leaked block that it saves; seen: the number of the
 * search that visited it last
 */
struct node {
    uint64_t id;
    uint32_t edge;
    uint32_t save;
    uint32_t seen;
};

/* An input of a node, or a block that it saves; next: of the same node. */
struct link {
    uint32_t to;
    uint32_t next;
};

/* The node that made what a block holds now; 0: none. */
struct made {
    uint64_t block;
    uint32_t node;
};

/* A running op. node: of its result, 0: it has none; read: the block it read first; allocs: blocks it allocated */
struct running {
    uint32_t node;
    uint64_t read;
    uint64_t allocs;
};

/* A leaked block. seen: the number of the search that counted it last */
struct leaked {
    uint64_t block;
    uint64_t bytes;
    uint32_t seen;
    uint8_t category;
};

/*
 * nodes, links: the history. made: of blocks. ops: those that run. custom: the node of the custom function that saved
 * last. loose, read: what ops without a node allocated or overwrote, and the nodes of what they read, since an op with
 * a node began: the forward of a custom function (or of a reentrant checkpoint) if a save of an unknown node follows.
 */
struct history {
    struct node *nodes;
    size_t node_count, node_cap;
    struct vs_table by_node;
    struct link *links;
    size_t link_count, link_cap;
    struct made *made;
    size_t made_count, made_cap;
    struct vs_table by_block;
    struct running ops[DEPTH_MAX];
    size_t depth;
    uint64_t *loose;
    size_t loose_count, loose_cap;
    uint32_t *read;
    size_t read_count, read_cap;
    uint64_t custom;
    struct leaked *leaked;
    size_t leaked_count;
    struct vs_table by_leaked;
    uint32_t *stack;
    size_t stack_cap;
    uint32_t search;
};

static void history_release(struct history *h)
{
    vs_free(h->nodes);
    vs_free(h->links);
    vs_free(h->made);
    vs_free(h->loose);
    vs_free(h->read);
    vs_free(h->leaked);
    vs_free(h->stack);
    vs_table_release(&h->by_node);
    vs_table_release(&h->by_block);
    vs_table_release(&h->by_leaked);
}

/* ---- the history ---- */

static uint32_t node_find(const struct history *h, uint64_t id)
{
    struct vs_probe probe = vs_probe(vs_hash_mix(0, id));

    while (vs_table_next(&h->by_node, &probe))
        if (h->nodes[probe.item].id == id)
            return probe.item + 1;
    return 0;
}

static uint32_t node_get(struct history *h, uint64_t id)
{
    const uint32_t known = node_find(h, id);

    if (known)
        return known;
    vs_table_add(&h->by_node, vs_hash_mix(0, id), h->node_count);
    h->nodes = vs_grow(h->nodes, h->node_count, &h->node_cap, sizeof(*h->nodes));
    h->nodes[h->node_count++] = (struct node){.id = id};
    return (uint32_t)h->node_count;
}

static struct made *made_find(const struct history *h, uint64_t block)
{
    struct vs_probe probe = vs_probe(vs_hash_mix(0, block));

    while (vs_table_next(&h->by_block, &probe))
        if (h->made[probe.item].block == block)
            return &h->made[probe.item];
    return NULL;
}

static void made_set(struct history *h, uint64_t block, uint32_t node)
{
    struct made *made = made_find(h, block);

    if (made) {
        made->node = node;
        return;
    }
    if (!node)
        return;
    vs_table_add(&h->by_block, vs_hash_mix(0, block), h->made_count);
    h->made = vs_grow(h->made, h->made_count, &h->made_cap, sizeof(*h->made));
    h->made[h->made_count++] = (struct made){block, node};
}

static uint32_t node_of(const struct history *h, uint64_t block)
{
    const struct made *made = made_find(h, block);

    return made ? made->node : 0;
}

/* Puts `to` in front of the list that begins at *first. */
static void link_add(struct history *h, uint32_t *first, uint32_t to)
{
    h->links = vs_grow(h->links, h->link_count, &h->link_cap, sizeof(*h->links));
    h->links[h->link_count++] = (struct link){to, *first};
    *first = (uint32_t)h->link_count;
}

static void input_add(struct history *h, uint32_t node, uint32_t input)
{
    if (input && input != node)
        link_add(h, &h->nodes[node - 1].edge, input);
}

/*
 * A custom function saves when its forward has ended, for a node that no op names: its results are among what its ops
 * have allocated and overwritten.
 */
static void custom_saves(struct history *h, const struct vs_event *event)
{
    const uint32_t node = node_get(h, event->save.node);

    h->custom = event->save.node;
    input_add(h, node, node_of(h, event->save.block));
    for (size_t i = 0; i < h->read_count; i++)
        input_add(h, node, h->read[i]);
    for (size_t i = 0; i < h->loose_count; i++)
        made_set(h, h->loose[i], node);
    /* a non-reentrant checkpoint saves before its forward: what later reads its input has it in its history */
    if (event->save.is_checkpoint_input)
        made_set(h, event->save.block, node);
    h->loose_count = 0;
    h->read_count = 0;
}

static void loose_add(struct history *h, uint64_t block)
{
    h->loose = vs_grow(h->loose, h->loose_count, &h->loose_cap, sizeof(*h->loose));
    h->loose[h->loose_count++] = block;
}

static void loose_read(struct history *h, uint32_t node)
{
    if (!node || (h->read_count && h->read[h->read_count - 1] == node))
        return;
    h->read = vs_grow(h->read, h->read_count, &h->read_cap, sizeof(*h->read));
    h->read[h->read_count++] = node;
}

static void op_begins(struct history *h, const struct vs_event *event)
{
    const bool has_node = event->op.node && event->op.role != VS_OP_BACKWARD;

    if (event->op.node) { /* not the forward of a custom function */
        h->loose_count = 0;
        h->read_count = 0;
    }
    if (h->depth++ < DEPTH_MAX)
        h->ops[h->depth - 1] = (struct running){.node = has_node ? node_get(h, event->op.node) : 0};
}

static void note(struct history *h, const struct vs_event *event)
{
    struct running *op = h->depth && h->depth <= DEPTH_MAX ? &h->ops[h->depth - 1] : NULL;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_OP_BEGIN:
        op_begins(h, event);
        break;
    case VS_EV_OP_END:
        if (op && op->node && !op->allocs && op->read)
            made_set(h, op->read, op->node);
        else if (op && !op->node && !op->allocs && node_of(h, op->read))
            loose_add(h, op->read);
        h->depth -= h->depth > 0;
        break;
    case VS_EV_USE:
        if (op && op->node) {
            input_add(h, op->node, node_of(h, event->use.block));
            op->read = op->read ? op->read : event->use.block;
        } else if (op) {
            loose_read(h, node_of(h, event->use.block));
            op->read = op->read ? op->read : event->use.block;
        }
        break;
    case VS_EV_ALLOC:
        if (op)
            op->allocs++;
        if (op && op->node)
            made_set(h, event->alloc.block, op->node);
        else if (op)
            loose_add(h, event->alloc.block);
        break;
    case VS_EV_SAVE:
        if (event->save.is_checkpoint_input || event->save.node == h->custom ||
            !node_find(h, event->save.node))
            custom_saves(h, event);
        break;
    case VS_EV_FREE:
    case VS_EV_ANY_SEGMENT:
    case VS_EV_OOM:
    case VS_EV_UNSAVE:
    case VS_EV_HOLD:
    case VS_EV_DROP:
    case VS_EV_CATEGORY:
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
    case VS_EV_PHASE:
    case VS_EV_STEP:
    case VS_EV_ANY_AMP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

static enum vs_status history_read(struct history *h, struct rpl_trace *trace, uint64_t last,
                                   struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    rpl_scan_init(scan, trace, 1, last);
    while ((event = rpl_scan_next(scan, err)) != NULL)
        note(h, event);
    st = scan->status;
    vs_free(scan);
    return st;
}

/* ---- what leaks, and who saves it ---- */

static void leaked_take(struct history *h, const struct rpl_cursor *cursor,
                        const struct rpl_block *blocks, size_t block_count)
{
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);

    h->leaked = vs_alloc((block_count + 1) * sizeof(*h->leaked));
    for (size_t i = 0; i < block_count; i++) {
        const struct rpl_block *block = &blocks[i];

        if (rpl_block_is_permanent(block))
            continue;
        vs_table_add(&h->by_leaked, vs_hash_mix(0, block->id), h->leaked_count);
        h->leaked[h->leaked_count++] = (struct leaked){block->id, block->bytes, 0, block->category};
        for (size_t k = rpl_cursor_held_first(cursor, block->id); k != SIZE_MAX;
             k = rpl_cursor_held_next(cursor, k)) {
            const uint32_t node = held[k].holder.node ? node_find(h, held[k].holder.node) : 0;

            if (node)
                link_add(h, &h->nodes[node - 1].save, (uint32_t)h->leaked_count);
        }
    }
}

/* ---- owners ---- */

/* Counts a leaked block (index + 1), once in a search. */
static uint64_t leaked_count_once(struct history *h, uint32_t index)
{
    struct leaked *leaked = &h->leaked[index - 1];

    if (leaked->seen == h->search)
        return 0;
    leaked->seen = h->search;
    return leaked->bytes;
}

/* Visits the node, unless this search has: its saved blocks are counted, its inputs pushed. */
static uint64_t visit(struct history *h, uint32_t index, size_t *depth)
{
    struct node *node = &h->nodes[index - 1];
    uint64_t bytes = 0;

    if (node->seen == h->search)
        return 0;
    node->seen = h->search;
    for (uint32_t i = node->save; i; i = h->links[i - 1].next)
        bytes += leaked_count_once(h, h->links[i - 1].to);
    for (uint32_t i = node->edge; i; i = h->links[i - 1].next) {
        h->stack = vs_grow(h->stack, *depth, &h->stack_cap, sizeof(*h->stack));
        h->stack[(*depth)++] = h->links[i - 1].to;
    }
    return bytes;
}

/*
 * What this block and its history keep alive, without what this search has counted before. *by_history: set to true if
 * some of it is of the history.
 */
static uint64_t bytes_behind(struct history *h, uint64_t block, bool *by_history)
{
    const uint32_t first = node_of(h, block);
    struct vs_probe probe = vs_probe(vs_hash_mix(0, block));
    uint64_t bytes = 0, own;
    size_t depth = 0;

    while (vs_table_next(&h->by_leaked, &probe))
        if (h->leaked[probe.item].block == block)
            bytes += leaked_count_once(h, probe.item + 1);
    own = bytes;
    if (first)
        bytes += visit(h, first, &depth);
    while (depth)
        bytes += visit(h, h->stack[--depth], &depth);
    *by_history |= bytes > own;
    return bytes;
}

/* A name that holds a block. name: without the index of an item, so that all items of a list are one owner */
struct candidate {
    const char *scope, *name;
    size_t name_len;
    const struct rpl_held *held;
};

static int by_owner(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    const size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = strcmp(a->scope, b->scope);

    if (!order)
        order = strncmp(a->name, b->name, len);
    if (!order && a->name_len != b->name_len)
        order = a->name_len < b->name_len ? -1 : 1;
    if (!order)
        order = (int)a->held->holder.kind - (int)b->held->holder.kind;
    return order;
}

static int by_owner_and_time(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int order = by_owner(a, b);

    if (order)
        return order;
    return a->held->holder.since_seq < b->held->holder.since_seq   ? -1
           : a->held->holder.since_seq > b->held->holder.since_seq ? 1
                                                                   : 0;
}

static bool is_name(enum vs_holder kind)
{
    return kind == VS_HOLD_LOCAL || kind == VS_HOLD_ATTR || kind == VS_HOLD_ITEM ||
           kind == VS_HOLD_ARGS;
}

/* The names that hold a block, those of one owner together, the latest last. The caller frees the array. */
static struct candidate *candidates_new(const struct rpl_trace *trace,
                                        const struct rpl_cursor *cursor, size_t *count)
{
    size_t held_count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &held_count);
    struct candidate *all = vs_alloc((held_count + 1) * sizeof(*all));

    *count = 0;
    for (size_t i = 0; i < held_count; i++) {
        const struct rpl_holder *holder = &held[i].holder;
        const char *name = rpl_trace_string(trace, holder->name);

        if (!is_name(holder->kind) || !held[i].block)
            continue;
        all[(*count)++] = (struct candidate){
            .scope = rpl_trace_string(trace, holder->scope),
            .name = name,
            .name_len = holder->kind == VS_HOLD_ITEM ? strcspn(name, "[") : strlen(name),
            .held = &held[i]};
    }
    qsort(all, *count, sizeof(*all), by_owner_and_time);
    return all;
}

static void owner_find(struct history *h, const struct rpl_trace *trace,
                       const struct rpl_cursor *cursor, struct rpl_leak_owner *out)
{
    size_t count;
    struct candidate *all = candidates_new(trace, cursor, &count);
    uint64_t bytes = 0;
    bool by_history = false;

    for (size_t i = 0; i < count; i++) {
        if (!i || by_owner(&all[i - 1], &all[i]) != 0) {
            bytes = 0;
            by_history = false;
            h->search++;
        }
        bytes += bytes_behind(h, all[i].held->block, &by_history);
        if ((i + 1 == count || by_owner(&all[i], &all[i + 1]) != 0) && bytes > out->bytes)
            *out = (struct rpl_leak_owner){true, by_history, all[i].held->holder,
                                           all[i].held->block, bytes};
    }
    vs_free(all);
}

/* The blocks allocated from first_seq to last_seq. */
static size_t blocks_between(const struct rpl_live *live, uint64_t first_seq, uint64_t last_seq,
                             struct rpl_block *out)
{
    size_t count = 0;

    for (size_t i = 0; i < live->block_count; i++)
        if (live->blocks[i].alloc_seq >= first_seq && live->blocks[i].alloc_seq <= last_seq)
            out[count++] = live->blocks[i];
    return count;
}

/* leak: its blocks; NULL: those from first_seq to last_seq. */
static enum vs_status owner_of(struct rpl_index *index, uint64_t at, const struct rpl_leak *leak,
                               uint64_t first_seq, uint64_t last_seq, struct rpl_leak_owner *out,
                               uint64_t *by_category, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct history h = {.nodes = NULL};
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    enum vs_status st = rpl_cursor_seek(cursor, at, err);

    memset(out, 0, sizeof(*out));
    memset(by_category, 0, VS_CATEGORY_COUNT * sizeof(*by_category));
    if (!st)
        st = history_read(&h, trace, at, err);
    if (!st) {
        const struct rpl_live *live = rpl_cursor_live(cursor);
        struct rpl_block *blocks = vs_alloc((live->block_count + 1) * sizeof(*blocks));

        leaked_take(&h, cursor, blocks,
                    leak ? rpl_leak_blocks(leak, trace, live, blocks)
                         : blocks_between(live, first_seq, last_seq, blocks));
        vs_free(blocks);
        for (size_t i = 0; i < h.leaked_count; i++)
            by_category[h.leaked[i].category] += h.leaked[i].bytes;
        owner_find(&h, trace, cursor, out);
    }
    history_release(&h);
    rpl_cursor_free(cursor);
    return st;
}

enum vs_status rpl_owner_of(struct rpl_index *index, uint64_t at, uint64_t first_seq,
                            uint64_t last_seq, struct rpl_leak_owner *out, uint64_t *by_category,
                            struct vs_error *err)
{
    return owner_of(index, at, NULL, first_seq, last_seq, out, by_category, err);
}

enum vs_status rpl_leak_owner(struct rpl_index *index, const struct rpl_leak *leak,
                              struct rpl_leak_owner *out, struct vs_error *err)
{
    uint64_t by_category[VS_CATEGORY_COUNT];

    memset(out, 0, sizeof(*out));
    if (!leak->count)
        return VS_OK;
    return owner_of(index, leak->at, leak, 0, 0, out, by_category, err);
}
