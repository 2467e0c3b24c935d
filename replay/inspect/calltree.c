/*
 * replay/inspect/calltree.c - see calltree.h.
 *
 * Must not know:  drawing.
 * Invariant:      a caller has a lower number than the calls below it.
 */
#include "replay/inspect/calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/trace/callstack.h"

#define FRAMES_MAX 256
/* The file whose frames only call the forward of a module, two for each. */
#define CALLER "torch/nn/modules/module.py:"

/* A key and the node that belongs to it: of an event, a stack, or a location. */
struct known {
    uint64_t key;
    uint32_t node;
};
struct known_list {
    struct known *items;
    size_t count;
    size_t cap;
    struct vs_table by_key;
};

/*
 * calls      `count` nodes; by_call: their numbers by parent, name and line
 * events     nodes of the allocations that were seen; stacks, locations: of call stacks and of locations
 * names      texts of the calls, owned
 * order      numbers of the nodes that have bytes, as rpl_calltree_order says
 */
struct rpl_calltree {
    const struct rpl_trace *trace;
    struct rpl_call *calls;
    size_t count;
    size_t cap;
    struct vs_table by_call;
    struct known_list events;
    struct known_list stacks;
    struct known_list locations;
    char **names;
    size_t name_count;
    size_t name_cap;
    uint32_t *order;
    size_t order_count;
    size_t order_cap;
};

/* ---- nodes ---- */

static uint64_t call_hash(uint32_t parent, const char *name, uint32_t line)
{
    return vs_hash_mix(vs_hash_mix(vs_hash_bytes(name, strlen(name)), parent), line);
}

/* A copy of a name that stays as long as the tree. */
static const char *name_keep(struct rpl_calltree *tree, const char *name)
{
    tree->names = vs_grow(tree->names, tree->name_count, &tree->name_cap, sizeof(*tree->names));
    tree->names[tree->name_count] = vs_strdup(name);
    return tree->names[tree->name_count++];
}

/* The call of `name` at `line` that `parent` makes. */
static uint32_t call_get(struct rpl_calltree *tree, uint32_t parent, const char *name,
                         uint32_t line)
{
    uint64_t hash = call_hash(parent, name, line);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&tree->by_call, &probe)) {
        const struct rpl_call *call = &tree->calls[probe.item];

        if (call->parent == parent && call->line == line && strcmp(call->name, name) == 0)
            return probe.item;
    }
    vs_table_add(&tree->by_call, hash, tree->count);
    tree->calls = vs_grow(tree->calls, tree->count, &tree->cap, sizeof(*tree->calls));
    tree->calls[tree->count] = (struct rpl_call){.name = name_keep(tree, name),
                                                 .line = line,
                                                 .parent = parent,
                                                 .depth = tree->calls[parent].depth + 1};
    return (uint32_t)tree->count++;
}

static bool known_find(const struct known_list *list, uint64_t key, uint32_t *node)
{
    struct vs_probe probe = vs_probe(vs_hash_number(key));

    while (vs_table_next(&list->by_key, &probe))
        if (list->items[probe.item].key == key) {
            *node = list->items[probe.item].node;
            return true;
        }
    return false;
}

static void known_add(struct known_list *list, uint64_t key, uint32_t node)
{
    vs_table_add(&list->by_key, vs_hash_number(key), list->count);
    list->items = vs_grow(list->items, list->count, &list->cap, sizeof(*list->items));
    list->items[list->count++] = (struct known){key, node};
}

/* ---- where an allocation belongs ---- */

/* The node of a location of a net, or of a recording without stacks: its module's path, its function and line. */
static uint32_t node_of_location(struct rpl_calltree *tree, uint32_t id)
{
    const struct vs_location *location = rpl_trace_location(tree->trace, id);
    const char *path = rpl_trace_string(tree->trace, location->module);
    const char *func = rpl_trace_string(tree->trace, location->func);
    uint32_t node = 0;

    if (known_find(&tree->locations, id, &node))
        return node;
    while (*path) {
        size_t len = strcspn(path, ".");
        char *part = vs_strndup(path, len);

        node = call_get(tree, node, part, 0);
        vs_free(part);
        path += len + (path[len] == '.');
    }
    if (!node || *func || location->line)
        node = call_get(tree, node, func, location->line);
    known_add(&tree->locations, id, node);
    return node;
}

struct frames {
    const char *funcs[FRAMES_MAX];
    uint32_t lines[FRAMES_MAX];
    size_t count;
};

static void on_frame(void *user, const char *func, uint32_t line)
{
    struct frames *frames = user;

    if (frames->count == FRAMES_MAX || strncmp(func, CALLER, sizeof(CALLER) - 1) == 0)
        return;
    frames->funcs[frames->count] = func;
    frames->lines[frames->count++] = line;
}

/* The node of call stack `stack`, which event `seq` has. */
static enum vs_status node_of_stack(struct rpl_calltree *tree, uint32_t stack, uint64_t seq,
                                    uint32_t *node, struct vs_error *err)
{
    struct frames frames = {.count = 0};
    enum vs_status st;

    if (known_find(&tree->stacks, stack, node))
        return VS_OK;
    st = rpl_trace_stack_each(tree->trace, seq, on_frame, &frames, err);
    if (st)
        return st;
    *node = 0;
    for (size_t i = frames.count; i-- > 0;)
        *node = call_get(tree, *node, frames.funcs[i], frames.lines[i]);
    known_add(&tree->stacks, stack, *node);
    return VS_OK;
}

/* Make the nodes of the events `seqs`, of which none is known. locations: of the same events. */
static enum vs_status events_add(struct rpl_calltree *tree, const uint64_t *seqs,
                                 const uint32_t *locations, size_t count, struct vs_error *err)
{
    uint32_t *stacks = vs_calloc(count + 1, sizeof(*stacks));
    enum vs_status st = rpl_trace_stacks_of(tree->trace, seqs, count, stacks, err);

    for (size_t i = 0; i < count && !st; i++) {
        uint32_t node = 0;

        if (stacks[i])
            st = node_of_stack(tree, stacks[i], seqs[i], &node, err);
        else
            node = node_of_location(tree, locations[i]);
        if (!st)
            known_add(&tree->events, seqs[i], node);
    }
    vs_free(stacks);
    return st;
}

/* Make the nodes of all live blocks, and of the event at the cursor, that have none. */
static enum vs_status blocks_learn(struct rpl_calltree *tree, const struct rpl_cursor *cursor,
                                   struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    uint64_t *seqs = vs_calloc(live->block_count + 1, sizeof(*seqs));
    uint32_t *locations = vs_calloc(live->block_count + 1, sizeof(*locations));
    uint64_t here = rpl_cursor_seq(cursor);
    size_t count = 0;
    uint32_t node;
    bool has_here = !here || known_find(&tree->events, here, &node);
    enum vs_status st;

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];

        if (known_find(&tree->events, block->alloc_seq, &node))
            continue;
        has_here |= block->alloc_seq == here;
        seqs[count] = block->alloc_seq;
        locations[count++] = block->alloc_location;
    }
    if (!has_here) {
        seqs[count] = here;
        locations[count++] = rpl_cursor_here(cursor).event.location;
    }
    st = events_add(tree, seqs, locations, count, err);
    vs_free(seqs);
    vs_free(locations);
    return st;
}

/* ---- order ---- */

/* A child of a node, for sorting. */
struct child {
    const struct rpl_call *call;
    uint32_t number;
};

static int by_caller_and_bytes(const void *x, const void *y)
{
    const struct child *a = x;
    const struct child *b = y;

    if (a->call->parent != b->call->parent)
        return a->call->parent < b->call->parent ? -1 : 1;
    if (a->call->bytes != b->call->bytes)
        return a->call->bytes > b->call->bytes ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The calls that have bytes, by caller. The caller frees the array. */
static struct child *children_find(const struct rpl_calltree *tree, size_t *count)
{
    struct child *children = vs_calloc(tree->count + 1, sizeof(*children));

    *count = 0;
    for (size_t i = 1; i < tree->count; i++)
        if (tree->calls[i].bytes)
            children[(*count)++] = (struct child){&tree->calls[i], (uint32_t)i};
    qsort(children, *count, sizeof(*children), by_caller_and_bytes);
    return children;
}

static void order_make(struct rpl_calltree *tree)
{
    size_t count;
    struct child *children = children_find(tree, &count);
    /* first child of each caller + 1, and the calls that are still to be listed, the next one last */
    size_t *first = vs_calloc(tree->count + 1, sizeof(*first));
    uint32_t *open = vs_calloc(count + 1, sizeof(*open));
    size_t open_count = 0;

    for (size_t i = count; i-- > 0;)
        first[children[i].call->parent] = i + 1;
    tree->order_count = 0;
    open[open_count++] = 0;
    while (open_count) {
        uint32_t node = open[--open_count];
        size_t from = first[node];
        size_t end = from;

        if (node) {
            tree->order =
                vs_grow(tree->order, tree->order_count, &tree->order_cap, sizeof(*tree->order));
            tree->order[tree->order_count++] = node;
        }
        while (from && end <= count && children[end - 1].call->parent == node)
            end++;
        for (size_t i = end; i-- > from;)
            open[open_count++] = children[i - 1].number;
    }
    vs_free(children);
    vs_free(first);
    vs_free(open);
}

/* ---- the whole ---- */

struct rpl_calltree *rpl_calltree_new(const struct rpl_trace *trace)
{
    struct rpl_calltree *tree = vs_calloc(1, sizeof(*tree));

    tree->trace = trace;
    tree->calls = vs_grow(tree->calls, 0, &tree->cap, sizeof(*tree->calls));
    tree->calls[tree->count++] = (struct rpl_call){.name = ""};
    return tree;
}

static void known_release(struct known_list *list)
{
    vs_free(list->items);
    vs_table_release(&list->by_key);
}

void rpl_calltree_free(struct rpl_calltree *tree)
{
    if (!tree)
        return;
    for (size_t i = 0; i < tree->name_count; i++)
        vs_free(tree->names[i]);
    vs_free(tree->names);
    vs_free(tree->calls);
    vs_free(tree->order);
    vs_table_release(&tree->by_call);
    known_release(&tree->events);
    known_release(&tree->stacks);
    known_release(&tree->locations);
    vs_free(tree);
}

static void block_count(struct rpl_calltree *tree, const struct rpl_block *block)
{
    uint32_t node = 0;

    (void)known_find(&tree->events, block->alloc_seq, &node);
    for (;; node = tree->calls[node].parent) {
        struct rpl_call *call = &tree->calls[node];

        call->bytes += block->bytes;
        call->blocks++;
        if (block->bytes > call->largest_bytes ||
            (block->bytes == call->largest_bytes && block->id < call->largest)) {
            call->largest = block->id;
            call->largest_bytes = block->bytes;
        }
        if (!node)
            return;
    }
}

enum vs_status rpl_calltree_fill(struct rpl_calltree *tree, const struct rpl_cursor *cursor,
                                 struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    enum vs_status st = blocks_learn(tree, cursor, err);
    uint32_t here = 0;

    if (st)
        return st;
    for (size_t i = 0; i < tree->count; i++) {
        struct rpl_call *call = &tree->calls[i];

        call->bytes = call->blocks = call->largest = call->largest_bytes = 0;
        call->is_here = false;
    }
    for (size_t i = 0; i < live->block_count; i++)
        block_count(tree, &live->blocks[i]);
    if (known_find(&tree->events, rpl_cursor_seq(cursor), &here))
        for (; here; here = tree->calls[here].parent)
            tree->calls[here].is_here = true;
    order_make(tree);
    return VS_OK;
}

const struct rpl_call *rpl_calltree_all(const struct rpl_calltree *tree, size_t *count)
{
    *count = tree->count;
    return tree->calls;
}

const uint32_t *rpl_calltree_order(const struct rpl_calltree *tree, size_t *count)
{
    *count = tree->order_count;
    return tree->order;
}
