/*
 * replay/inspect/why.c - see why.h.
 *
 * Must not know:  how the answer is shown.
 * Invariant:      up to the event holders come and go; after it only what they lead to is looked for.
 */
#include "replay/inspect/why.h"

#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

struct questions {
    struct rpl_why *whys;
    size_t count;
    struct vs_table by_block;
    size_t open; /* blocks not yet given back */
};

static void questions_init(struct questions *q, struct rpl_why *whys, size_t count)
{
    q->whys = whys;
    q->count = count;
    q->open = count;
    memset(&q->by_block, 0, sizeof(q->by_block));
    vs_table_reserve(&q->by_block, count);
    for (size_t i = 0; i < count; i++)
        vs_table_add(&q->by_block, vs_hash_number(whys[i].id), i);
}

static struct rpl_why *question(const struct questions *q, uint64_t id)
{
    struct vs_probe probe = vs_probe(vs_hash_number(id));

    while (vs_table_next(&q->by_block, &probe))
        if (q->whys[probe.item].id == id)
            return &q->whys[probe.item];
    return NULL;
}

static void holder_add(struct rpl_why *why, uint64_t seq, const struct vs_event *event)
{
    bool is_save = event->kind == VS_EV_SAVE;
    struct rpl_holder *holder;

    why->holders =
        vs_grow(why->holders, why->holder_count, &why->holder_cap, sizeof(*why->holders));
    holder = &why->holders[why->holder_count++];
    *holder = (struct rpl_holder){
        .since_seq = seq,
        .tensor = (uint32_t)(is_save ? event->save.tensor : event->hold.tensor),
        .location = event->location,
    };
    if (is_save) {
        holder->kind = event->save.is_checkpoint_input ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED;
        holder->node = event->save.node;
    } else {
        holder->kind = event->hold.holder < VS_HOLDER_COUNT ? (enum vs_holder)event->hold.holder
                                                            : VS_HOLD_LOCAL;
        holder->name = (uint32_t)event->hold.name;
        holder->scope = (uint32_t)event->hold.scope;
    }
}

static bool is_let_go(const struct rpl_holder *holder, const struct vs_event *event)
{
    if (event->kind == VS_EV_UNSAVE)
        return holder->node == event->save.node &&
               holder->kind ==
                   (event->save.is_checkpoint_input ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED);
    return holder->kind == (enum vs_holder)event->hold.holder &&
           holder->name == (uint32_t)event->hold.name &&
           holder->scope == (uint32_t)event->hold.scope;
}

/* Of several that fit, the one that holds the same tensor goes, and of those the oldest: a name is bound anew before it lets go. */
static void holder_remove(struct rpl_why *why, const struct vs_event *event)
{
    const uint64_t tensor = event->kind == VS_EV_UNSAVE ? event->save.tensor : event->hold.tensor;
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < why->holder_count; i++) {
        if (!is_let_go(&why->holders[i], event))
            continue;
        if (why->holders[i].tensor == (uint32_t)tensor) {
            found = i;
            break;
        }
        if (found == SIZE_MAX)
            found = i;
    }
    if (found == SIZE_MAX)
        return;
    memmove(&why->holders[found], &why->holders[found + 1],
            (why->holder_count - found - 1) * sizeof(*why->holders));
    why->holder_count--;
}

/* A backward node begins: now its name is known. */
static void node_name(struct questions *q, const struct vs_event *event)
{
    for (size_t i = 0; i < q->count; i++)
        for (size_t k = 0; k < q->whys[i].holder_count; k++)
            if (q->whys[i].holders[k].node == event->op.node &&
                q->whys[i].holders[k].kind == VS_HOLD_SAVED)
                q->whys[i].holders[k].name = (uint32_t)event->op.name;
}

/* An event up to the one asked about. */
static void before(struct questions *q, uint64_t seq, const struct vs_event *event)
{
    struct rpl_why *why;

    if (event->kind == VS_EV_OP_BEGIN) {
        if (event->op.role == VS_OP_BACKWARD && event->op.node)
            node_name(q, event);
        return;
    }
    why = question(q, vs_event_block(event));
    if (!why)
        return;
    if (event->kind == VS_EV_HOLD || event->kind == VS_EV_SAVE)
        holder_add(why, seq, event);
    else if (event->kind == VS_EV_DROP || event->kind == VS_EV_UNSAVE)
        holder_remove(why, event);
}

/* An event after it. */
static void after(struct questions *q, uint64_t seq, const struct vs_event *event)
{
    struct rpl_why *why;

    if (event->kind == VS_EV_OP_BEGIN && event->op.role == VS_OP_BACKWARD && event->op.node)
        node_name(q, event);
    if (event->kind != VS_EV_USE && event->kind != VS_EV_FREE)
        return;
    why = question(q, vs_event_block(event));
    if (!why || !why->is_alive)
        return;
    if (event->kind == VS_EV_FREE && !why->free_seq) {
        why->free_seq = seq;
        why->free_location = event->location;
        q->open--;
    } else if (event->kind == VS_EV_USE && !why->next_use_seq) {
        why->next_use_seq = seq;
        why->next_use_location = event->location;
    }
}

/* At the event itself: who is alive, and as what. */
static void snapshot(struct questions *q, const struct rpl_live *live)
{
    for (size_t i = 0; i < q->count; i++) {
        const struct rpl_block *block = rpl_live_block(live, q->whys[i].id);

        if (block) {
            q->whys[i].is_alive = true;
            q->whys[i].block = *block;
        } else {
            q->whys[i].holder_count = 0;
            q->open--;
        }
    }
}

/* Names are given to tensors after their blocks were made. */
static void names_fill(struct questions *q, const struct rpl_trace *trace)
{
    uint32_t count = rpl_trace_tensor_count(trace);

    for (uint32_t id = 1; id <= count; id++) {
        struct vs_tensor_desc desc;
        struct rpl_why *why;

        if (!rpl_trace_tensor(trace, id, &desc) || !desc.name)
            continue;
        why = question(q, desc.block);
        if (why && why->is_alive)
            why->name = desc.name;
    }
}

enum vs_status rpl_why_fill(struct rpl_trace *trace, uint64_t at, struct rpl_why *whys,
                            size_t count, struct vs_error *err)
{
    struct questions q = {.open = 0};
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct rpl_live live;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    VS_ASSERT(at >= 1 && at <= rpl_trace_event_count(trace));
    rpl_live_init(&live);
    questions_init(&q, whys, count);
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while (!st && (q.open || scan->seq < at) && (event = rpl_scan_next(scan, err)) != NULL) {
        if (scan->seq > at) {
            after(&q, scan->seq, event);
            continue;
        }
        st = rpl_live_apply(&live, scan->seq, event, err);
        before(&q, scan->seq, event);
        if (scan->seq == at)
            snapshot(&q, &live);
    }
    if (!st)
        st = scan->status;
    if (!st)
        names_fill(&q, trace);
    vs_table_release(&q.by_block);
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}

void rpl_why_release(struct rpl_why *why)
{
    vs_free(why->holders);
    memset(why, 0, sizeof(*why));
}

/* ---- in words ---- */

/* Copy `pattern`, putting in name, scope and line; the part about a line or scope that is not known is left out. */
static void fill_pattern(const char *pattern, const char *name, const char *scope, uint32_t line,
                         struct vs_text *out)
{
    static const char *const LINES[] = {", line %l", " of line %l"};
    static const char *const SCOPES[] = {" of `%s`", " in `%s`"};

    while (*pattern) {
        size_t skip = 0;

        for (size_t i = 0; i < 2; i++) {
            if (!line && strncmp(pattern, LINES[i], strlen(LINES[i])) == 0)
                skip = strlen(LINES[i]);
            if (!*scope && strncmp(pattern, SCOPES[i], strlen(SCOPES[i])) == 0)
                skip = strlen(SCOPES[i]);
        }
        if (!skip && *pattern == '%') {
            if (pattern[1] == 'n')
                vs_text_add(out, name);
            else if (pattern[1] == 's')
                vs_text_add(out, scope);
            else
                vs_text_addf(out, "%" PRIu32, line);
            skip = 2;
        }
        if (!skip) {
            vs_text_add_char(out, *pattern);
            skip = 1;
        }
        pattern += skip;
    }
}

void rpl_holder_text(const struct rpl_trace *trace, const struct rpl_holder *holder,
                     struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, holder->location);
    const char *name = rpl_trace_string(trace, holder->name);
    const char *pattern = vs_holder_text(holder->kind);

    if (holder->kind == VS_HOLD_SAVED && !holder->name) {
        name = rpl_trace_string(trace, location->op);
        pattern = "saved for the backward of `%n` of line %l";
    }
    if (holder->kind == VS_HOLD_CHECKPOINT && !holder->name) {
        name = rpl_trace_string(trace, location->module);
        if (!*name)
            name = rpl_trace_string(trace, location->func);
    }
    fill_pattern(pattern, name, rpl_trace_string(trace, holder->scope), location->line, out);
}

void rpl_shape_text(const struct rpl_trace *trace, uint32_t tensor, struct vs_text *out)
{
    struct vs_tensor_desc desc;

    if (!rpl_trace_tensor(trace, tensor, &desc))
        return;
    vs_text_addf(out, "%s[", vs_dtype_text((enum vs_dtype)desc.dtype));
    for (unsigned i = 0; i < desc.ndim; i++)
        vs_text_addf(out, "%s%" PRId64, i ? ", " : "", desc.sizes[i]);
    vs_text_add_char(out, ']');
}

void rpl_block_text(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, why->block.alloc_location);
    const char *op = rpl_trace_string(trace, location->op);
    const char *module = rpl_trace_string(trace, location->module);

    if (why->name) {
        vs_text_add(out, rpl_trace_string(trace, why->name));
        return;
    }
    if (!why->block.tensor && why->block.category == VS_CAT_WORKSPACE)
        vs_text_addf(out, "workspace of %s", *op ? op : "a library");
    else if (*op)
        vs_text_addf(out, "made by %s", op);
    else if (why->block.category == VS_CAT_OTHER && !location->line && rpl_trace_is_imported(trace))
        vs_text_add(out, "no stack recorded");
    else
        vs_text_add(out, vs_category_name((enum vs_category)why->block.category));
    if (*module)
        vs_text_addf(out, " in %s", module);
    /* where the trace has no file, the function says in which one the line is */
    if (location->line && !rpl_trace_source_text(trace) && *rpl_trace_string(trace, location->func))
        vs_text_addf(out, ", %s:%" PRIu32, rpl_trace_string(trace, location->func), location->line);
    else if (location->line)
        vs_text_addf(out, ", line %" PRIu32, location->line);
}
