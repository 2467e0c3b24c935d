/*
 * replay/inspect/block_name.c - see block_name.h.
 *
 * Must not know:  where the text goes.
 * Invariant:      names come from holders and lifetimes; nothing is guessed from an op.
 */
#include "replay/inspect/block_name.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"

/* Events between the op that makes optimizer state of a parameter, and its allocation. */
#define STATE_EVENTS 8
/* Events between the release of a block's last holder, and its free. */
#define RELEASE_EVENTS 8

/* ---- names ---- */

/* The name of the parameter that the op which allocated optimizer state read; 0: unknown. */
static uint32_t state_parameter(struct rpl_index *index, const struct rpl_block *block)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct rpl_lifetime life;
    struct vs_event event;

    for (uint64_t seq = block->alloc_seq; seq > 1 && block->alloc_seq - seq < STATE_EVENTS;) {
        if (rpl_index_event(index, --seq, &event, &ignored) || event.kind == VS_EV_OP_BEGIN)
            return 0;
        if (event.kind == VS_EV_USE && !rpl_lifetime_get(index, event.use.block, &life, &ignored) &&
            life.name)
            return life.name;
    }
    return 0;
}

uint32_t rpl_block_parameter(const struct rpl_cursor *cursor, const struct rpl_block *block,
                             const struct rpl_lifetime *life)
{
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);

    if (life->name)
        return life->name;
    for (size_t i = rpl_cursor_held_first(cursor, block->id); i != SIZE_MAX;
         i = rpl_cursor_held_next(cursor, i))
        if (held[i].holder.kind == VS_HOLD_GRAD && held[i].holder.name)
            return held[i].holder.name;
    return block->category == VS_CAT_OPTIMIZER ? state_parameter(rpl_cursor_index(cursor), block)
                                               : 0;
}

/* "state[...]['exp_avg']": the text between the last two quotes. */
static const char *last_key(const char *name, size_t *len)
{
    const char *end = strrchr(name, '\'');
    const char *from = end;

    while (from && from > name && from[-1] != '\'')
        from--;
    if (!from || from == name)
        return NULL;
    *len = (size_t)(end - from);
    return from;
}

/* "exp_avg of fc1.weight", of a holder that is an item of a dictionary. */
static bool add_state(const struct rpl_cursor *cursor, const struct rpl_block *block,
                      const char *name, struct vs_text *out)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    size_t len;
    const char *key = last_key(name, &len);
    uint32_t parameter;

    if (!key)
        return false;
    vs_text_add_n(out, key, len);
    parameter = state_parameter(index, block);
    if (parameter)
        vs_text_addf(out, " of %s", rpl_trace_string(rpl_index_trace(index), parameter));
    return true;
}

/* The name that a holder gives a block; false: none. */
static bool add_holder(const struct rpl_cursor *cursor, const struct rpl_block *block,
                       const struct rpl_holder *holder, struct vs_text *out)
{
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    const char *name = rpl_trace_string(trace, holder->name);

    if (!*name)
        return false;
    switch (holder->kind) {
    case VS_HOLD_GRAD:
        vs_text_addf(out, "grad of %s", name);
        return true;
    case VS_HOLD_ITEM:
        if (block->category == VS_CAT_OPTIMIZER && add_state(cursor, block, name, out))
            return true;
        vs_text_add(out, name);
        return true;
    case VS_HOLD_ATTR:
    case VS_HOLD_LOCAL:
        vs_text_add(out, name);
        return true;
    case VS_HOLD_ARGS:
    case VS_HOLD_SAVED:
    case VS_HOLD_CHECKPOINT:
    case VS_HOLD_CACHE:
    case VS_HOLD_GRAPH:
    case VS_HOLD_CPP:
    case VS_HOLDER_COUNT:
        break;
    }
    return false;
}

bool rpl_block_name(const struct rpl_cursor *cursor, const struct rpl_block *block,
                    const struct rpl_lifetime *life, struct vs_text *out)
{
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    size_t count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &count);
    /* a gradient is named by its parameter, whatever else holds it */
    const bool is_grad = block->category == VS_CAT_GRADIENT;
    size_t first;

    if (life->name) {
        vs_text_add(out, rpl_trace_string(trace, life->name));
        return true;
    }
    first = rpl_cursor_held_first(cursor, block->id);
    for (size_t i = first; is_grad && i != SIZE_MAX; i = rpl_cursor_held_next(cursor, i))
        if (held[i].holder.kind == VS_HOLD_GRAD && add_holder(cursor, block, &held[i].holder, out))
            return true;
    for (size_t i = first; i != SIZE_MAX; i = rpl_cursor_held_next(cursor, i))
        if (add_holder(cursor, block, &held[i].holder, out))
            return true;
    return false;
}

/*
 * A text for a block that no op allocated: the function that allocated it, its name in front of its file's; otherwise
 * the text of its category.
 */
static void add_site(const struct rpl_trace *trace, const struct rpl_block *block,
                     const struct vs_location *location, struct vs_text *out)
{
    const char *func = rpl_trace_string(trace, location->func);
    const char *name = strrchr(func, ':');

    if (rpl_trace_is_imported(trace) && !*func && block->category == VS_CAT_OTHER)
        vs_text_add(out, "no stack recorded");
    else if (!rpl_trace_is_imported(trace) || !*func)
        vs_text_add(out, vs_category_text((enum vs_category)block->category));
    else if (name)
        vs_text_addf(out, "%s  %.*s", name + 1, (int)(name - func), func);
    else
        vs_text_add(out, func);
}

void rpl_block_origin(const struct rpl_trace *trace, const struct rpl_block *block,
                      struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, block->alloc_location);
    const char *op = rpl_trace_string(trace, location->op);
    const char *module = rpl_trace_string(trace, location->module);

    if (!*op)
        add_site(trace, block, location, out);
    else
        vs_text_addf(out, "%s%s%s%s", module, *module ? " " : "", op,
                     !block->tensor && block->category == VS_CAT_WORKSPACE ? " workspace" : "");
}

/* ---- events ---- */

/* " (`fc1.weight`)", or where nothing with a name holds it " (conv1 _convolution)"; nothing where it is `known`. */
static void add_what(const struct rpl_cursor *cursor, const struct rpl_block *block,
                     const struct rpl_lifetime *life, const char *known, struct vs_text *out)
{
    struct vs_text name = {NULL, 0, 0};

    if (rpl_block_name(cursor, block, life, &name)) {
        if (strcmp(vs_text_get(&name), known) != 0)
            vs_text_addf(out, " (`%s`)", vs_text_get(&name));
    } else {
        rpl_block_origin(rpl_index_trace(rpl_cursor_index(cursor)), block, &name);
        if (name.len)
            vs_text_addf(out, " (%s)", vs_text_get(&name));
    }
    vs_text_release(&name);
}

/* "block 30 (`fc1.weight`)", without its name where that is `known`. */
static void add_block(const struct rpl_cursor *cursor, uint64_t id, const char *known,
                      struct vs_text *out)
{
    struct vs_error ignored = VS_ERROR_INIT;
    const struct rpl_block *block = rpl_live_block(rpl_cursor_live(cursor), id);
    struct rpl_lifetime life;

    if (!id) {
        vs_text_add(out, "a tensor on the host");
        return;
    }
    vs_text_addf(out, "block %" PRIu64, id);
    if (block && !rpl_lifetime_get(rpl_cursor_index(cursor), id, &life, &ignored))
        add_what(cursor, block, &life, known, out);
}

/* The name under which the last holder of a block released it, right before it was freed; false: none. */
static bool add_released(struct rpl_index *index, const struct rpl_lifetime *life,
                         struct vs_text *out)
{
    const struct rpl_trace *trace = rpl_index_trace(index);
    struct vs_error ignored = VS_ERROR_INIT;
    struct vs_event event;

    for (uint64_t seq = life->free_seq; seq > 1 && life->free_seq - seq < RELEASE_EVENTS;) {
        enum vs_holder kind;

        if (rpl_index_event(index, --seq, &event, &ignored))
            return false;
        if (event.kind != VS_EV_DROP || event.hold.block != life->id || !event.hold.name)
            continue;
        kind = (enum vs_holder)event.hold.holder;
        if (kind != VS_HOLD_LOCAL && kind != VS_HOLD_ATTR && kind != VS_HOLD_GRAD)
            continue;
        vs_text_addf(out, " (`%s%s`)", kind == VS_HOLD_GRAD ? "grad of " : "",
                     rpl_trace_string(trace, (uint32_t)event.hold.name));
        return true;
    }
    return false;
}

/* "block 30 (`x1`)" of a block that this event freed. */
static void add_freed(const struct rpl_cursor *cursor, uint64_t id, struct vs_text *out)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    struct vs_error ignored = VS_ERROR_INIT;
    struct rpl_lifetime life;
    struct rpl_block block;

    vs_text_addf(out, "block %" PRIu64, id);
    if (rpl_lifetime_get(index, id, &life, &ignored))
        return;
    if (life.name) {
        vs_text_addf(out, " (`%s`)", rpl_trace_string(rpl_index_trace(index), life.name));
        return;
    }
    if (add_released(index, &life, out))
        return;
    memset(&block, 0, sizeof(block));
    block.id = id;
    block.tensor = life.tensor;
    block.alloc_location = life.location;
    block.category = VS_CAT_OTHER;
    if (*rpl_trace_string(rpl_index_trace(index),
                          rpl_trace_location(rpl_index_trace(index), life.location)->op)) {
        vs_text_add(out, " (");
        rpl_block_origin(rpl_index_trace(index), &block, out);
        vs_text_add(out, ")");
    }
}

/* ", `fc1.weight`": what is allocated, where the trace names it; what op allocates it the reader of the event sees. */
static void add_parameter(const struct rpl_cursor *cursor, uint64_t id, struct vs_text *out)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    struct vs_error ignored = VS_ERROR_INIT;
    struct rpl_lifetime life;

    if (!rpl_lifetime_get(index, id, &life, &ignored) && life.name)
        vs_text_addf(out, ", `%s`", rpl_trace_string(rpl_index_trace(index), life.name));
}

/* "`x1` of Net.forward": the holder of a hold or drop event. */
static void add_event_holder(const struct rpl_trace *trace, const struct vs_event *event,
                             struct vs_text *out)
{
    const char *name = rpl_trace_string(trace, (uint32_t)event->hold.name);
    const char *scope = rpl_trace_string(trace, (uint32_t)event->hold.scope);
    enum vs_holder kind = (enum vs_holder)event->hold.holder;

    if (kind == VS_HOLD_GRAD)
        vs_text_addf(out, "the grad of %s", *name ? name : "a tensor");
    else if (kind == VS_HOLD_ARGS)
        vs_text_addf(out, "the call of %s", *name ? name : "a function");
    else if (kind == VS_HOLD_CACHE)
        vs_text_add(out, "autocast's weight cache");
    else if (kind == VS_HOLD_GRAPH)
        vs_text_addf(out, "the gradient on its way to %s", *name ? name : "a node");
    else
        vs_text_addf(out, "`%s`%s%s", name, *scope ? " of " : "", scope);
}

void rpl_event_text(const struct rpl_cursor *cursor, const struct vs_event *event,
                    struct vs_text *out)
{
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    const char *name = "";
    char buf[VS_BYTES_TEXT_MAX];

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        vs_text_addf(out, "alloc %s", vs_bytes_delta_text((int64_t)event->alloc.block_bytes, buf));
        add_parameter(cursor, event->alloc.block, out);
        return;
    case VS_EV_FREE:
        vs_text_addf(out, "free %s, ", vs_bytes_delta_text(-(int64_t)event->free.block_bytes, buf));
        add_freed(cursor, event->free.block, out);
        vs_text_add(out, event->free.waits_for_stream ? ", waits for another stream" : "");
        return;
    case VS_EV_HOLD:
    case VS_EV_DROP:
        name = rpl_trace_string(trace, (uint32_t)event->hold.name);
        add_event_holder(trace, event, out);
        vs_text_add(out, event->kind == VS_EV_HOLD ? " takes " : " releases ");
        add_block(cursor, event->hold.block, name, out);
        return;
    case VS_EV_SAVE:
        vs_text_add(out,
                    event->save.is_checkpoint_input ? "a checkpoint keeps " : "autograd saves ");
        add_block(cursor, event->save.block, name, out);
        return;
    case VS_EV_UNSAVE:
        vs_text_add(out, event->save.is_checkpoint_input ? "a checkpoint releases "
                                                         : "autograd releases ");
        add_block(cursor, event->save.block, name, out);
        return;
    case VS_EV_USE:
        vs_text_addf(out, "%s reads ", rpl_trace_string(trace, (uint32_t)event->use.op));
        add_block(cursor, event->use.block, name, out);
        return;
    case VS_EV_CATEGORY:
        add_block(cursor, event->category.block, name, out);
        vs_text_addf(out, " becomes %s",
                     vs_category_name((enum vs_category)event->category.category));
        return;
    case VS_EV_CAST:
        vs_text_add(out, "autocast copies into ");
        add_block(cursor, event->cast.block, name, out);
        return;
    case VS_EV_PHASE:
        vs_text_addf(out, "%s begins", vs_phase_name((enum vs_phase)event->phase.phase));
        return;
    case VS_EV_STEP:
        if (vs_event_step(event) >= 0)
            vs_text_addf(out, "step %" PRId64 " begins", vs_event_step(event));
        else
            vs_text_add(out, "set-up begins");
        return;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_MAP:
    case VS_EV_SEGMENT_UNMAP:
        vs_text_addf(out, "%s: %s", vs_event_kind_text((enum vs_event_kind)event->kind),
                     vs_bytes_text(event->segment.bytes, buf));
        return;
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
        return;
    case VS_EV_OOM:
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
    case VS_EV_SCALE:
    case VS_EV_SKIP_STEP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    vs_text_add(out, vs_event_kind_text((enum vs_event_kind)event->kind));
}
