/*
 * cli/mcp/parts.c - what the answers of several tools have in common; see mcp.h.
 *
 * Must not know:  which tool asks.
 * Invariant:      each part is bounded, whatever the trace says.
 */
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "cli/mcp/mcp.h"
#include "replay/index/cursor.h"
#include "replay/inspect/block_text.h"
#include "replay/report/figures.h"
#include "replay/report/summary.h"
#include "replay/trace/scripts.h"

#define HOLDERS_MAX 8
#define TEXT_MAX 300

void mcp_add_clipped(struct vs_json *json, const char *text, size_t max)
{
    struct vs_text clipped = {NULL, 0, 0};

    if (!text || strlen(text) <= max) {
        vs_json_string(json, text);
        return;
    }
    vs_text_add_n(&clipped, text, vs_utf8_cut(text, max));
    vs_text_add(&clipped, "…");
    vs_json_string(json, vs_text_get(&clipped));
    vs_text_release(&clipped);
}

void mcp_put_clipped(struct vs_json *json, const char *key, const char *text, size_t max)
{
    vs_json_key(json, key);
    mcp_add_clipped(json, text, max);
}

void mcp_add_word(const char *text, struct vs_text *out)
{
    static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_./@%+=:,-";

    if (*text && !text[strspn(text, PLAIN)]) {
        vs_text_add(out, text);
        return;
    }
    vs_text_add_char(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            vs_text_add(out, "'\\''");
        else
            vs_text_add_char(out, *text);
    vs_text_add_char(out, '\'');
}

enum vs_status mcp_add_path(const struct mcp_call *call, struct vs_text *out, struct vs_error *err)
{
    struct vs_text path = {NULL, 0, 0};
    const enum vs_status st = mcp_arg_path(call, "trace", &path, err);

    if (!st)
        mcp_add_word(vs_text_get(&path), out);
    vs_text_release(&path);
    return st;
}

static void put_where_known(struct vs_json *json, const char *key, const char *text)
{
    if (text && *text)
        mcp_put_clipped(json, key, text, TEXT_MAX);
}

void mcp_location_json(const struct rpl_trace *trace, uint32_t id, struct vs_json *json)
{
    const struct vs_location *location = rpl_trace_location(trace, id);
    struct vs_text line = {NULL, 0, 0};
    size_t len;
    const char *source = rpl_location_source(trace, location, &len);

    vs_json_object(json);
    put_where_known(json, "function", rpl_trace_string(trace, location->func));
    if (location->line)
        vs_json_put_uint(json, "line", location->line);
    put_where_known(json, "op", rpl_trace_string(trace, location->op));
    put_where_known(json, "module", rpl_trace_string(trace, location->module));
    vs_text_add_n(&line, source, len);
    put_where_known(json, "source", vs_text_get(&line));
    vs_text_release(&line);
    vs_json_end(json);
}

static void put_event(struct vs_json *json, const char *key, uint64_t event)
{
    vs_json_key(json, key);
    if (event)
        vs_json_uint(json, event);
    else
        vs_json_null(json);
}

void mcp_block_json(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_json *json)
{
    const struct rpl_block *block = &why->block;
    struct vs_text text = {NULL, 0, 0};

    vs_json_object(json);
    vs_json_put_uint(json, "block", block->id);
    vs_json_put_uint(json, "bytes", block->bytes);
    vs_json_put_string(json, "category", vs_category_name((enum vs_category)block->category));
    rpl_why_text(trace, why, &text);
    put_where_known(json, "what", vs_text_get(&text));
    vs_text_clear(&text);
    rpl_shape_text(trace, block->tensor, &text);
    put_where_known(json, "shape", vs_text_get(&text));
    vs_json_put_uint(json, "allocated_at_event", block->alloc_seq);
    vs_json_key(json, "allocated_by");
    mcp_location_json(trace, block->alloc_location, json);
    put_event(json, "last_use_event", block->last_use_seq);
    put_event(json, "next_use_event", why->next_use_seq);
    put_event(json, "freed_at_event", why->free_seq);
    vs_json_key(json, "held_by");
    vs_json_array(json);
    for (size_t i = 0; i < why->holder_count && i < HOLDERS_MAX; i++) {
        vs_text_clear(&text);
        rpl_holder_text(trace, &why->holders[i], &text);
        mcp_add_clipped(json, vs_text_get(&text), TEXT_MAX);
    }
    vs_json_end(json);
    vs_json_put_uint(json, "holders", why->holder_count);
    vs_json_end(json);
    vs_text_release(&text);
}

/* The event that is asked for; without one that of out of memory or of the peak. */
static enum vs_status event_get(struct mcp_at *at, const struct mcp_call *call,
                                struct vs_error *err)
{
    struct rpl_summary sum = {.events = 0};
    enum vs_status st =
        mcp_arg_count(call, "event", 0, rpl_trace_event_count(at->trace), &at->event, err);

    if (!st && !at->event)
        st = rpl_figures_summary(at->trace, &sum, err);
    if (!st && !at->event)
        at->event = sum.oom.event ? sum.oom.event : sum.peak.event;
    rpl_summary_release(&sum);
    return st;
}

enum vs_status mcp_at_open(struct mcp_at *at, const struct mcp_call *call, struct vs_error *err)
{
    enum vs_status st = mcp_add_path(call, &at->path, err);

    if (!st)
        st = mcp_arg_trace(call, "trace", &at->trace, err);

    if (!st)
        st = event_get(at, call, err);
    if (!st)
        st = rpl_index_open(at->trace, mcp_goes_on, (void *)(uintptr_t)call, &at->index, err);
    if (!st) {
        at->cursor = rpl_cursor_new(at->index);
        st = rpl_cursor_seek(at->cursor, at->event, err);
    }
    return st;
}

void mcp_at_release(struct mcp_at *at)
{
    vs_text_release(&at->path);
    rpl_cursor_free(at->cursor);
    rpl_index_free(at->index);
    rpl_trace_free(at->trace);
}
