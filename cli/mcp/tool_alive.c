/*
 * cli/mcp/tool_alive.c - the tools `holders` and `why_alive`: who keeps memory alive at an event.
 *
 * Must not know:  the protocol; how holders are found in a program: that needs the program to run, which no tool does.
 * Invariant:      the bytes of all groups add up to what is allocated.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/mcp/mcp.h"
#include "replay/index/cursor.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/retained.h"
#include "replay/trace/found.h"

#define TOP 10
#define TOP_MAX 30
#define GROUPS_MAX 20

/* Why a program's holders are not known there; nothing where they are. */
static void put_note(const struct mcp_at *at, struct vs_json *json)
{
    if (rpl_trace_is_imported(at->trace) && !rpl_found_has(at->trace, at->event)) {
        struct vs_text note = {NULL, 0, 0};

        vs_text_add(&note, "holders are not known at this event: the trace is of a program, which "
                           "would have to run again up to it. The user can do that in a terminal: "
                           "vramscope why ");
        vs_text_add(&note, vs_text_get(&at->path));
        vs_text_addf(&note, " --at %" PRIu64, at->event);
        vs_json_put_string(json, "note", vs_text_get(&note));
        vs_text_release(&note);
    }
}

static void put_here(const struct mcp_at *at, struct vs_json *json)
{
    const struct rpl_live *live = rpl_cursor_live(at->cursor);

    vs_json_put_uint(json, "event", at->event);
    vs_json_put_int(json, "step", live->step);
    vs_json_put_string(json, "phase", vs_phase_name(live->phase));
    vs_json_put_uint(json, "allocated", live->allocated);
    vs_json_put_uint(json, "reserved", live->reserved);
}

/* ---- holders ---- */

static void put_node(const struct rpl_trace *trace, const struct rpl_retained_node *node,
                     struct vs_json *json)
{
    struct vs_text text = {NULL, 0, 0};

    rpl_retained_text(trace, node, &text);
    mcp_put_clipped(json, "held_by", vs_text_get(&text), 200);
    vs_json_put_uint(json, "bytes", node->bytes);
    vs_json_put_uint(json, "blocks", node->blocks);
    vs_text_release(&text);
}

/* The names below the group that nodes[i] is, at most `top`; returns the index of what follows the group. */
static size_t put_names(const struct rpl_trace *trace, const struct rpl_retained *all, size_t i,
                        size_t top, struct vs_json *json)
{
    size_t names = 0;

    vs_json_key(json, "names");
    vs_json_array(json);
    for (i++; i < all->count && all->nodes[i].level != RPL_RETAINED_GROUP; i++) {
        if (all->nodes[i].level != RPL_RETAINED_NAME || names++ >= top)
            continue;
        vs_json_object(json);
        put_node(trace, &all->nodes[i], json);
        if (i + 1 < all->count && all->nodes[i + 1].level == RPL_RETAINED_BLOCK)
            vs_json_put_uint(json, "largest_block", all->nodes[i + 1].block);
        vs_json_end(json);
    }
    vs_json_end(json);
    vs_json_put_uint(json, "names_in_all", names);
    return i;
}

static enum vs_status holders_run(const struct mcp_call *call, struct vs_json *json,
                                  struct vs_error *err)
{
    struct mcp_at at = {.trace = NULL};
    struct rpl_retained all = {.nodes = NULL};
    uint64_t top;
    size_t groups = 0;
    enum vs_status st = mcp_arg_count(call, "top", TOP, TOP_MAX, &top, err);

    if (!st)
        st = mcp_at_open(&at, call, err);
    if (!st) {
        rpl_retained_fill(&all, at.cursor);
        put_here(&at, json);
        put_note(&at, json);
        vs_json_key(json, "groups");
        vs_json_array(json);
        for (size_t i = 0; i < all.count && groups < GROUPS_MAX; groups++) {
            vs_json_object(json);
            put_node(at.trace, &all.nodes[i], json);
            i = put_names(at.trace, &all, i, (size_t)top, json);
            vs_json_end(json);
        }
        vs_json_end(json);
    }
    rpl_retained_release(&all);
    mcp_at_release(&at);
    return st;
}

const struct mcp_tool mcp_tool_holders = {
    .name = "holders",
    .title = "Who holds memory",
    .description =
        "Who holds the memory that is allocated right after an event (the peak, if none is given): "
        "groups such as the variables of a function, the attributes of a module or what autograd "
        "saved, with names below them. The bytes of a group or name are what would be freed "
        "without it.",
    .schema =
        "{\"type\": \"object\", \"properties\": {\"trace\": {\"type\": \"string\", "
        "\"description\": \"path of the trace file\"}, \"event\": {\"type\": \"integer\", "
        "\"minimum\": 0, \"description\": \"number of an event; 0: the peak\"}, \"top\": "
        "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 30, \"description\": \"names in "
        "each group; 10\"}}}",
    .run = holders_run,
};

/* ---- why_alive ---- */

/*
 * Of a block that is not alive at the event: when it was, and who held it right before it was freed. A number that no
 * block of the trace has is refused.
 */
static enum vs_status put_dead(struct mcp_at *at, uint64_t id, struct vs_json *json,
                               struct vs_error *err)
{
    struct rpl_why why = {.id = id};
    struct rpl_lifetime life = {.alloc_seq = 0};
    enum vs_status st = VS_OK;

    if (id <= rpl_lifetime_count(at->index))
        st = rpl_lifetime_get(at->index, id, &life, err);
    if (!st && !life.alloc_seq)
        st = vs_fail(err, VS_E_USAGE, "the trace has no block %" PRIu64, id);
    if (!st)
        st = rpl_cursor_seek(at->cursor, life.free_seq ? life.free_seq - 1 : life.alloc_seq, err);
    if (!st)
        st = rpl_alive_why(at->cursor, &why, err);
    if (!st) {
        rpl_why_distinct(at->trace, &why);
        vs_json_put_string(json, "why_not",
                           life.alloc_seq > at->event ? "not yet allocated at this event"
                                                      : "already freed at this event");
        vs_json_key(json, "last_alive");
        vs_json_object(json);
        vs_json_put_uint(json, "event", rpl_cursor_seq(at->cursor));
        vs_json_key(json, "block");
        mcp_block_json(at->trace, &why, json);
        if (why.free_seq) {
            vs_json_key(json, "freed_by");
            mcp_location_json(at->trace, why.free_location, json);
        }
        vs_json_end(json);
    }
    rpl_why_release(&why);
    return st;
}

static enum vs_status why_run(const struct mcp_call *call, struct vs_json *json,
                              struct vs_error *err)
{
    struct mcp_at at = {.trace = NULL};
    struct rpl_why why = {.id = 0};
    enum vs_status st = mcp_arg_count(call, "block", 0, INT64_MAX, &why.id, err);

    if (!st && !why.id)
        st = vs_fail(err, VS_E_USAGE, "the argument `block` must be a number of a block");
    if (!st)
        st = mcp_at_open(&at, call, err);
    if (!st)
        st = rpl_alive_why(at.cursor, &why, err);
    if (!st) {
        rpl_why_distinct(at.trace, &why);
        put_here(&at, json);
        put_note(&at, json);
        vs_json_put_bool(json, "is_alive", why.is_alive);
        vs_json_key(json, "block");
        if (why.is_alive)
            mcp_block_json(at.trace, &why, json);
        else
            vs_json_null(json);
        if (!why.is_alive)
            st = put_dead(&at, why.id, json, err);
        if (why.is_alive && why.free_seq) {
            vs_json_key(json, "freed_by");
            mcp_location_json(at.trace, why.free_location, json);
        }
        if (why.is_alive && why.next_use_seq) {
            vs_json_key(json, "next_use_by");
            mcp_location_json(at.trace, why.next_use_location, json);
        }
    }
    rpl_why_release(&why);
    mcp_at_release(&at);
    return st;
}

const struct mcp_tool mcp_tool_why_alive = {
    .name = "why_alive",
    .title = "Why a block is alive",
    .description =
        "Why one block is alive right after an event (the peak, if none is given): who holds it, "
        "which op reads it next, and which event frees it; of one that is not alive there, when it "
        "was and who held it last. Blocks have numbers, as `peak`, "
        "`holders` and the view `block` of `query` give them.",
    .schema =
        "{\"type\": \"object\", \"properties\": {\"trace\": {\"type\": \"string\", "
        "\"description\": \"path of the trace file\"}, \"block\": {\"type\": \"integer\", "
        "\"minimum\": 1, \"description\": \"number of the block\"}, \"event\": {\"type\": "
        "\"integer\", \"minimum\": 0, \"description\": \"number of an event; 0: the peak\"}}, "
        "\"required\": [\"block\"]}",
    .run = why_run,
};
