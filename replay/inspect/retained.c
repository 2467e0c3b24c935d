/*
 * replay/inspect/retained.c - see retained.h.
 *
 * Must not know:  drawing.
 * Invariant:      nodes are compared by numbers; texts are made of those that are shown.
 */
#include "replay/inspect/retained.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Where a block stands. group_bytes, name_bytes: of all blocks there, once they are known. */
struct rpl_retained_entry {
    unsigned kind;
    uint32_t scope;
    uint32_t name;
    uint32_t line;
    bool is_shared;
    uint64_t bytes;
    uint64_t block;
    uint64_t group_bytes;
    uint64_t name_bytes;
};

void rpl_retained_release(struct rpl_retained *retained)
{
    vs_free(retained->nodes);
    vs_free(retained->entries);
    memset(retained, 0, sizeof(*retained));
}

/* ---- where a block stands ---- */

static struct rpl_retained_entry entry_of(const struct rpl_trace *trace,
                                          const struct rpl_holder *holder)
{
    const struct vs_location *location = rpl_trace_location(trace, holder->location);
    struct rpl_retained_entry entry = {.kind = (unsigned)holder->kind};

    switch (holder->kind) {
    case VS_HOLD_LOCAL:
    case VS_HOLD_ATTR:
    case VS_HOLD_ITEM:
        entry.scope = holder->scope;
        entry.name = holder->name;
        break;
    case VS_HOLD_SAVED:
    case VS_HOLD_CHECKPOINT:
        entry.name = location->module;
        entry.line = location->line;
        break;
    case VS_HOLD_ARGS:
    case VS_HOLD_GRAD:
    case VS_HOLD_CACHE:
    case VS_HOLD_GRAPH:
    case VS_HOLD_CPP:
    case VS_HOLDER_COUNT:
        entry.name = holder->name;
        break;
    }
    return entry;
}

static bool is_same_group(const struct rpl_retained_entry *a, const struct rpl_retained_entry *b)
{
    return a->kind == b->kind && a->scope == b->scope;
}

static bool is_same_name(const struct rpl_retained_entry *a, const struct rpl_retained_entry *b)
{
    return a->name == b->name && a->line == b->line && a->is_shared == b->is_shared;
}

static struct rpl_retained_entry block_entry(const struct rpl_cursor *cursor,
                                             const struct rpl_block *block)
{
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    struct rpl_retained_entry entry = {.kind = RPL_RETAINED_NONE, .scope = block->category + 1u};
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);
    size_t first = rpl_cursor_held_first(cursor, block->id);
    uint32_t kinds = 0;

    for (size_t i = first; i != SIZE_MAX; i = rpl_cursor_held_next(cursor, i)) {
        struct rpl_retained_entry next = entry_of(trace, &held[i].holder);

        kinds |= UINT32_C(1) << next.kind;
        if (i == first) {
            entry = next;
        } else if (entry.kind == RPL_RETAINED_SEVERAL || !is_same_group(&entry, &next)) {
            entry = (struct rpl_retained_entry){.kind = RPL_RETAINED_SEVERAL};
        } else if (entry.name != next.name || entry.line != next.line) {
            entry.name = entry.line = 0;
            entry.is_shared = true;
        }
    }
    if (entry.kind == RPL_RETAINED_SEVERAL)
        entry.name = kinds;
    entry.bytes = block->bytes;
    entry.block = block->id;
    return entry;
}

/* ---- order ---- */

#define ORDER(a, b)                                                                                \
    do {                                                                                           \
        if ((a) != (b))                                                                            \
            return (a) < (b) ? -1 : 1;                                                             \
    } while (0)

static int by_node(const void *a, const void *b)
{
    const struct rpl_retained_entry *x = a;
    const struct rpl_retained_entry *y = b;

    ORDER(x->kind, y->kind);
    ORDER(x->scope, y->scope);
    ORDER(x->is_shared, y->is_shared);
    ORDER(x->name, y->name);
    ORDER(x->line, y->line);
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_retained_entry *x = a;
    const struct rpl_retained_entry *y = b;
    int order;

    ORDER(y->group_bytes, x->group_bytes);
    ORDER(x->kind, y->kind);
    ORDER(x->scope, y->scope);
    ORDER(y->name_bytes, x->name_bytes);
    order = by_node(a, b);
    if (order)
        return order;
    ORDER(y->bytes, x->bytes);
    ORDER(x->block, y->block);
    return 0;
}

/* Entries are ordered by node: add up those of each. */
static void sums_fill(struct rpl_retained_entry *entries, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        uint64_t bytes = 0;

        for (end = i; end < count && is_same_group(&entries[i], &entries[end]); end++)
            bytes += entries[end].bytes;
        for (size_t j = i; j < end; j++)
            entries[j].group_bytes = bytes;
        for (size_t j = i, next; j < end; j = next) {
            bytes = 0;
            for (next = j; next < end && is_same_name(&entries[j], &entries[next]); next++)
                bytes += entries[next].bytes;
            for (size_t k = j; k < next; k++)
                entries[k].name_bytes = bytes;
        }
    }
}

/* ---- nodes ---- */

static struct rpl_retained_node *node_add(struct rpl_retained *out, enum rpl_retained_level level,
                                          const struct rpl_retained_entry *entry)
{
    struct rpl_retained_node *node;

    out->nodes = vs_grow(out->nodes, out->count, &out->cap, sizeof(*out->nodes));
    node = &out->nodes[out->count++];
    *node = (struct rpl_retained_node){.level = level,
                                       .kind = entry->kind,
                                       .name = entry->name,
                                       .scope = entry->scope,
                                       .line = entry->line,
                                       .is_shared = entry->is_shared};
    return node;
}

void rpl_retained_fill(struct rpl_retained *out, const struct rpl_cursor *cursor)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    size_t count = live->block_count;
    size_t group = 0;
    size_t name = 0;

    out->count = 0;
    if (count > out->entry_cap) {
        out->entry_cap = count;
        out->entries = vs_realloc(out->entries, count, sizeof(*out->entries));
    }
    if (!count)
        return;
    for (size_t i = 0; i < count; i++)
        out->entries[i] = block_entry(cursor, &live->blocks[i]);
    qsort(out->entries, count, sizeof(*out->entries), by_node);
    sums_fill(out->entries, count);
    qsort(out->entries, count, sizeof(*out->entries), by_bytes);
    for (size_t i = 0; i < count; i++) {
        const struct rpl_retained_entry *entry = &out->entries[i];
        bool is_group = !i || !is_same_group(entry, &out->entries[i - 1]);
        bool is_name = is_group || !is_same_name(entry, &out->entries[i - 1]);
        struct rpl_retained_node *node;

        if (is_group) {
            node_add(out, RPL_RETAINED_GROUP, entry)->bytes = entry->group_bytes;
            group = out->count - 1;
        }
        if (is_name) {
            node_add(out, RPL_RETAINED_NAME, entry)->bytes = entry->name_bytes;
            name = out->count - 1;
        }
        node = node_add(out, RPL_RETAINED_BLOCK, entry);
        node->bytes = entry->bytes;
        node->blocks = 1;
        node->block = entry->block;
        out->nodes[group].blocks++;
        out->nodes[name].blocks++;
    }
}

/* ---- words ---- */

/* Of blocks without a known holder: what their category says of it. */
static void category_add(enum vs_category category, struct vs_text *out)
{
    switch (category) {
    case VS_CAT_PARAMETER:
    case VS_CAT_BUFFER:
        vs_text_addf(out, "the model: %ss (derived)", vs_category_name(category));
        return;
    case VS_CAT_GRADIENT:
        vs_text_add(out, "the .grad of parameters (derived)");
        return;
    case VS_CAT_OPTIMIZER:
        vs_text_add(out, "the optimizer (derived)");
        return;
    case VS_CAT_SAVED:
    case VS_CAT_CHECKPOINT:
        vs_text_add(out, "autograd, for backward (derived)");
        return;
    case VS_CAT_WORKSPACE:
        vs_text_add(out, "running ops and libraries: workspaces");
        return;
    case VS_CAT_INPUT:
    case VS_CAT_ACTIVATION:
    case VS_CAT_CAST:
    case VS_CAT_TEMPORARY:
    case VS_CAT_OTHER:
    case VS_CATEGORY_COUNT:
        break;
    }
    vs_text_addf(out, "no holder that is known: %s", vs_category_name(category));
}

static void group_add(const struct rpl_trace *trace, const struct rpl_retained_node *node,
                      struct vs_text *out)
{
    static const char *const KINDS[] = {
        [VS_HOLD_ARGS] = "arguments of calls",
        [VS_HOLD_GRAD] = "the .grad of parameters",
        [VS_HOLD_SAVED] = "autograd, for backward",
        [VS_HOLD_CHECKPOINT] = "checkpoints, to run again",
        [VS_HOLD_CACHE] = "autocast's weight cache",
        [VS_HOLD_GRAPH] = "gradients on their way",
        [VS_HOLD_CPP] = "C++ alone",
        [RPL_RETAINED_SEVERAL] = "several of these at once",
    };
    const char *scope = rpl_trace_string(trace, node->scope);

    if (node->kind == VS_HOLD_LOCAL)
        vs_text_addf(out, "variables of %s", *scope ? scope : "the program");
    else if (node->kind == VS_HOLD_ATTR)
        vs_text_addf(out, "attributes of %s", *scope ? scope : "the model");
    else if (node->kind == VS_HOLD_ITEM)
        vs_text_addf(out, "items in %s", *scope ? scope : "the program");
    else if (node->kind == RPL_RETAINED_NONE)
        category_add((enum vs_category)(node->scope - 1), out);
    else
        vs_text_add(out, KINDS[node->kind]);
}

/* "local, saved": kinds of holders. */
static void kinds_add(uint32_t kinds, struct vs_text *out)
{
    const char *between = "";

    for (unsigned i = 0; i < VS_HOLDER_COUNT; i++)
        if (kinds >> i & 1) {
            vs_text_addf(out, "%s%s", between, vs_holder_name((enum vs_holder)i));
            between = ", ";
        }
}

void rpl_retained_text(const struct rpl_trace *trace, const struct rpl_retained_node *node,
                       struct vs_text *out)
{
    const char *name;

    if (node->level == RPL_RETAINED_GROUP) {
        group_add(trace, node, out);
        return;
    }
    if (node->kind == RPL_RETAINED_SEVERAL) {
        kinds_add(node->name, out);
        return;
    }
    name = rpl_trace_string(trace, node->name);
    if (node->kind == RPL_RETAINED_NONE)
        vs_text_add(out, "blocks");
    else if (node->is_shared)
        vs_text_add(out, "several of them at once");
    else if (*name)
        vs_text_add(out, name);
    else
        vs_text_add(out, node->line ? "the model" : "without a name");
    if (node->line)
        vs_text_addf(out, ", line %" PRIu32, node->line);
}
