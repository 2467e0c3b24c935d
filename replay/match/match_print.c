/*
 * replay/match/match_print.c - the result of a comparison as text and as JSON.
 *
 * Must not know:  when items agree.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "replay/match/match.h"

#define LINES_BEFORE 4
#define LINES_AFTER 5

/* Where an event of either side happened; texts are borrowed. step: only of the trace. */
struct spot {
    const char *op;
    const char *func;
    const char *file;
    const char *module;
    uint32_t line;
    enum vs_phase phase;
    bool is_ours;
};

static bool event_get(const struct rpl_match *match, uint64_t seq, struct vs_event *out)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;

    rpl_scan_init(scan, match->trace, seq, seq);
    event = rpl_scan_next(scan, &err);
    if (event)
        *out = *event;
    vs_free(scan);
    return event != NULL;
}

static struct spot spot_real(const struct rpl_match *match, const struct rpl_match_item *item)
{
    const struct vs_mem_event *event = &match->list->events[item->at];

    return (struct spot){.op = vs_memlist_text(match->list, event->op),
                         .func = vs_memlist_text(match->list, event->func),
                         .file = vs_memlist_text(match->list, event->file),
                         .module = "",
                         .line = event->line};
}

static struct spot spot_ours(const struct rpl_match *match, const struct rpl_match_item *item)
{
    struct spot spot = {.op = "", .func = "", .file = "", .module = "", .is_ours = true};
    struct vs_event event;
    const struct vs_location *location;

    if (!event_get(match, item->at, &event))
        return spot;
    location = rpl_trace_location(match->trace, event.location);
    spot.op = rpl_trace_string(match->trace, location->op);
    spot.func = rpl_trace_string(match->trace, location->func);
    spot.module = rpl_trace_string(match->trace, location->module);
    spot.line = location->line;
    spot.phase = (enum vs_phase)location->phase;
    return spot;
}

/* ---- text ---- */

static void add_item(const struct rpl_match *match, const struct rpl_match_item *item,
                     struct vs_text *out)
{
    const char *name = item->kind == VS_MEM_FREE_REQUESTED
                           ? "free"
                           : vs_mem_kind_name((enum vs_mem_kind)item->kind);

    vs_text_addf(out, "%-5s %12" PRIu64, name, item->bytes);
    if (item->which == SIZE_MAX)
        return;
    vs_text_addf(out,
                 item->kind == VS_MEM_ALLOC || item->kind == VS_MEM_SEGMENT_ALLOC ? "  as %zu"
                                                                                  : "  of %zu",
                 item->which);
    if (match->scope == RPL_MATCH_ALL && item->segment != SIZE_MAX)
        vs_text_addf(out, " at %" PRIu64 " in segment %zu", item->offset, item->segment);
}

static void add_spot(const struct spot *spot, struct vs_text *out)
{
    if (*spot->op)
        vs_text_addf(out, "  %s", spot->op);
    if (*spot->module)
        vs_text_addf(out, " of %s", spot->module);
    if (spot->line && *spot->file)
        vs_text_addf(out, "  %s:%" PRIu32, spot->file, spot->line);
    else if (spot->line)
        vs_text_addf(out, "  line %" PRIu32, spot->line);
    if (*spot->func)
        vs_text_addf(out, " in %s", spot->func);
    if (spot->is_ours)
        vs_text_addf(out, "  (%s)", vs_phase_name(spot->phase));
}

static void add_line(const struct rpl_match *match, const struct rpl_match_side *side, size_t i,
                     bool is_ours, struct vs_text *out)
{
    struct spot spot;

    vs_text_add(out, is_ours ? "    ours      " : "    recorded  ");
    if (i >= side->count) {
        vs_text_add(out, "nothing more\n");
        return;
    }
    add_item(match, &side->items[i], out);
    spot = is_ours ? spot_ours(match, &side->items[i]) : spot_real(match, &side->items[i]);
    add_spot(&spot, out);
    vs_text_add_char(out, '\n');
}

static const char *why_text(const struct rpl_match *match)
{
    switch (match->why) {
    case RPL_MATCH_SAME:
        return "";
    case RPL_MATCH_END:
        return match->same_items < match->real.count ? "ours ends here"
                                                     : "the recording ends here, ours allocates on";
    case RPL_MATCH_KIND:
        return "another kind of event";
    case RPL_MATCH_BYTES:
        return "other bytes";
    case RPL_MATCH_WHICH:
        return "another allocation is given back";
    case RPL_MATCH_WHERE:
        return "another place in the segments";
    }
    return "";
}

/* The index of the item that differs; if the trace goes on past the recording, of its first allocation there. */
static size_t difference_at(const struct rpl_match *match)
{
    size_t i = match->same_items;

    if (i >= match->real.count)
        while (i < match->ours.count && match->ours.items[i].kind != VS_MEM_ALLOC)
            i++;
    return i;
}

void rpl_match_text(const struct rpl_match *match, struct vs_text *out)
{
    size_t at = difference_at(match);
    const char *line;
    size_t len = 0;

    if (rpl_match_is_equal(match))
        return;
    vs_text_addf(out, "\nfirst difference, after %" PRIu64 " events: %s\n", match->same_events,
                 why_text(match));
    add_line(match, &match->real, at, false, out);
    add_line(match, &match->ours, at, true, out);
    if (at < match->ours.count) {
        struct spot spot = spot_ours(match, &match->ours.items[at]);

        line = rpl_trace_source_line(match->trace, spot.line, &len);
        if (len)
            vs_text_addf(out, "    %9" PRIu32 " | %.*s\n", spot.line, (int)len, line);
    }
    if (at)
        vs_text_add(out, "\nbefore it\n");
    for (size_t i = at > LINES_BEFORE ? at - LINES_BEFORE : 0; i < at; i++)
        add_line(match, &match->ours, i, true, out);
    if (at + 1 < match->real.count || at + 1 < match->ours.count)
        vs_text_add(out, at ? "after it\n" : "\nafter it\n");
    for (size_t i = at + 1; i < at + LINES_AFTER; i++)
        if (i < match->real.count)
            add_line(match, &match->real, i, false, out);
    for (size_t i = at + 1; i < at + LINES_AFTER; i++)
        if (i < match->ours.count)
            add_line(match, &match->ours, i, true, out);
}

/* ---- JSON ---- */

static void item_json(const struct rpl_match *match, const struct rpl_match_side *side, size_t at,
                      bool is_ours, struct vs_json *json)
{
    const struct rpl_match_item *item = &side->items[at];
    struct spot spot;

    if (at >= side->count) {
        vs_json_null(json);
        return;
    }
    spot = is_ours ? spot_ours(match, item) : spot_real(match, item);
    vs_json_object(json);
    vs_json_put_uint(json, is_ours ? "event" : "entry", item->at);
    vs_json_put_string(json, "kind", vs_mem_kind_name((enum vs_mem_kind)item->kind));
    vs_json_put_uint(json, "bytes", item->bytes);
    if (item->which != SIZE_MAX)
        vs_json_put_uint(json, "which", item->which);
    if (item->segment != SIZE_MAX) {
        vs_json_put_uint(json, "segment", item->segment);
        vs_json_put_uint(json, "offset", item->offset);
    }
    vs_json_put_string(json, "op", *spot.op ? spot.op : NULL);
    vs_json_put_string(json, "function", *spot.func ? spot.func : NULL);
    if (is_ours) {
        vs_json_put_string(json, "module", spot.module);
        vs_json_put_string(json, "phase", vs_phase_name(spot.phase));
    } else {
        vs_json_put_string(json, "file", *spot.file ? spot.file : NULL);
    }
    vs_json_put_uint(json, "line", spot.line);
    vs_json_end(json);
}

static void left_out_json(const struct rpl_match *match, struct vs_json *json)
{
    vs_json_key(json, "left_out");
    vs_json_object(json);
    for (size_t i = 0; i < VS_MEM_CLASS_COUNT; i++) {
        if (!match->left_out[i])
            continue;
        vs_json_key(json, vs_mem_class_name((enum vs_mem_class)i));
        vs_json_object_flat(json);
        vs_json_put_uint(json, "allocations", match->left_out[i]);
        vs_json_put_uint(json, "bytes", match->left_out_bytes[i]);
        vs_json_end(json);
    }
    vs_json_end(json);
}

void rpl_match_json(const struct rpl_match *match, struct vs_json *json)
{
    size_t at = difference_at(match);

    vs_json_put_string(json, "compared", rpl_match_scope_name(match->scope));
    vs_json_put_bool(json, "equal", rpl_match_is_equal(match));
    vs_json_put_uint(json, "matched", match->same_events);
    vs_json_put_uint(json, "events", match->events);
    vs_json_put_uint(json, "reordered", match->reordered);
    left_out_json(match, json);
    vs_json_key(json, "difference");
    if (rpl_match_is_equal(match)) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_string(json, "why", why_text(match));
    vs_json_key(json, "recorded");
    item_json(match, &match->real, at, false, json);
    vs_json_key(json, "ours");
    item_json(match, &match->ours, at, true, json);
    vs_json_end(json);
}
