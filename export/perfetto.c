/*
 * export/perfetto.c - a trace over time in the Trace Event Format: ui.perfetto.dev, chrome://tracing.
 *
 * For:            looking at ops and bytes on one axis.
 * Must not know:  which slices are open (export/slices.c).
 * Invariant:      events are sorted by time; on every track slices are nested, and every slice that begins also ends.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "export/formats.h"
#include "export/slices.h"
#include "replay/index/cursor.h"

/* How many of the largest blocks at the peak have an arrow from their allocation to the peak. */
#define ARROWS 16

/* A block that is alive at the peak, allocated at event `seq`. */
struct arrow {
    uint64_t seq;
    uint64_t id;
    uint64_t bytes;
};

/*
 * shown      totals that the counters show now
 * arrows     in order of seq, arrow_count of them; next_arrow: the first not yet begun
 * begun      bit i: arrow i has a beginning
 */
struct perfetto {
    struct exp_out *out;
    struct rpl_index *index;
    struct rpl_trace *trace;
    struct rpl_live live;
    struct exp_slices slices;
    uint64_t shown[VS_CATEGORY_COUNT + 3];
    struct arrow arrows[ARROWS];
    size_t arrow_count;
    size_t next_arrow;
    uint32_t begun;
    struct rpl_top top;
    struct rpl_scan scan;
};

/* ---- counters ---- */

static void counter_put(struct perfetto *p, uint64_t time_ns, size_t i, const char *before,
                        const char *name, uint64_t value)
{
    if (p->shown[i] == value)
        return;
    p->shown[i] = value;
    exp_slice_event(&p->slices, 'C', 0, time_ns);
    exp_put_text(p->out, ", \"name\": \"");
    exp_put_text(p->out, before);
    exp_put_text(p->out, name);
    exp_put_member(p->out, "\", \"args\": {\"bytes\": ", value);
    exp_put_text(p->out, "}}");
}

static void counters_put(struct perfetto *p, uint64_t time_ns)
{
    const struct rpl_live *live = &p->live;

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        counter_put(p, time_ns, i, "category: ", vs_category_name((enum vs_category)i),
                    live->by_category[i]);
    counter_put(p, time_ns, VS_CATEGORY_COUNT, "", "allocated", live->allocated);
    counter_put(p, time_ns, VS_CATEGORY_COUNT + 1, "", "requested", live->requested);
    counter_put(p, time_ns, VS_CATEGORY_COUNT + 2, "", "reserved", live->reserved);
}

/* ---- arrows ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct arrow *x = a;
    const struct arrow *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_seq(const void *a, const void *b)
{
    const struct arrow *x = a;
    const struct arrow *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The largest blocks at the peak. */
static enum vs_status arrows_find(struct perfetto *p, struct vs_error *err)
{
    struct rpl_cursor *cursor = rpl_cursor_new(p->index);
    enum vs_status st = rpl_cursor_seek(cursor, p->top.event, err);
    const struct rpl_live *live = rpl_cursor_live(cursor);
    struct arrow *all = NULL;

    if (!st && live->block_count) {
        all = vs_calloc(live->block_count, sizeof(*all));
        for (size_t i = 0; i < live->block_count; i++)
            all[i] = (struct arrow){live->blocks[i].alloc_seq, live->blocks[i].id,
                                    live->blocks[i].bytes};
        qsort(all, live->block_count, sizeof(*all), by_bytes);
        p->arrow_count = live->block_count < ARROWS ? live->block_count : ARROWS;
        memcpy(p->arrows, all, p->arrow_count * sizeof(*all));
        qsort(p->arrows, p->arrow_count, sizeof(*p->arrows), by_seq);
    }
    vs_free(all);
    rpl_cursor_free(cursor);
    return st;
}

static void arrow_end_put(struct perfetto *p, char which, const struct arrow *arrow,
                          uint64_t time_ns)
{
    exp_slice_event(&p->slices, which, EXP_TRACK_OPS, time_ns);
    exp_put_text(p->out, ", \"cat\": \"peak\", \"name\": \"alive at the peak\"");
    exp_put_member(p->out, ", \"id\": ", arrow->id);
    exp_put_text(p->out, which == 'f' ? ", \"bp\": \"e\"" : "");
    exp_put_member(p->out, ", \"args\": {\"bytes\": ", arrow->bytes);
    exp_put_text(p->out, "}}");
}

/* An arrow connects two slices; where no op runs there is no slice, so there can be no arrow. */
static void arrows_put(struct perfetto *p, uint64_t seq, uint64_t time_ns)
{
    bool has_slice = exp_slices_depth(&p->slices, EXP_TRACK_OPS) > 0;

    for (; p->next_arrow < p->arrow_count && p->arrows[p->next_arrow].seq == seq; p->next_arrow++)
        if (has_slice && seq < p->top.event) {
            arrow_end_put(p, 's', &p->arrows[p->next_arrow], time_ns);
            p->begun |= UINT32_C(1) << p->next_arrow;
        }
    for (size_t i = 0; seq == p->top.event && has_slice && i < p->arrow_count; i++)
        if (p->begun >> i & 1)
            arrow_end_put(p, 'f', &p->arrows[i], time_ns);
}

/* ---- marks ---- */

static void location_put(struct perfetto *p, uint32_t id)
{
    const struct vs_location *location = rpl_trace_location(p->trace, id);

    exp_put_text(p->out, ", \"module\": ");
    exp_put_json(p->out, rpl_trace_string(p->trace, location->module));
    exp_put_text(p->out, ", \"function\": ");
    exp_put_json(p->out, rpl_trace_string(p->trace, location->func));
    exp_put_member(p->out, ", \"line\": ", location->line);
    exp_put_text(p->out, ", \"op\": ");
    exp_put_json(p->out, rpl_trace_string(p->trace, location->op));
}

static void peak_put(struct perfetto *p, uint64_t seq, const struct vs_event *event)
{
    char bytes[VS_BYTES_TEXT_MAX];

    exp_slice_event(&p->slices, 'i', EXP_TRACK_OPS, event->time_ns);
    exp_put_text(p->out, ", \"s\": \"g\", \"name\": \"peak ");
    exp_put_text(p->out, vs_bytes_text(p->live.allocated, bytes));
    exp_put_member(p->out, "\", \"args\": {\"allocated\": ", p->live.allocated);
    exp_put_member(p->out, ", \"requested\": ", p->live.requested);
    exp_put_member(p->out, ", \"reserved\": ", p->live.reserved);
    exp_put_member(p->out, ", \"event\": ", seq);
    location_put(p, event->location);
    exp_put_text(p->out, "}}");
}

static void oom_put(struct perfetto *p, uint64_t seq, const struct vs_event *event)
{
    exp_slice_event(&p->slices, 'i', EXP_TRACK_OPS, event->time_ns);
    exp_put_text(p->out, ", \"s\": \"g\", \"name\": \"out of memory\"");
    exp_put_member(p->out, ", \"args\": {\"requested\": ", event->oom.requested_bytes);
    exp_put_member(p->out, ", \"segment\": ", event->oom.segment_bytes);
    exp_put_member(p->out, ", \"device_free\": ", event->oom.device_free_bytes);
    exp_put_member(p->out, ", \"allocated\": ", p->live.allocated);
    exp_put_member(p->out, ", \"event\": ", seq);
    location_put(p, event->location);
    exp_put_text(p->out, "}}");
}

/* ---- the whole ---- */

static enum vs_status event_put(struct perfetto *p, const struct vs_event *event,
                                struct vs_error *err)
{
    uint64_t seq = p->scan.seq;
    uint64_t before = p->live.allocated;
    enum vs_status st = rpl_live_apply(&p->live, seq, event, err);

    if (st)
        return st;
    exp_slices_follow(&p->slices, seq, event, before);
    counters_put(p, event->time_ns);
    if (event->kind == VS_EV_ALLOC)
        arrows_put(p, seq, event->time_ns);
    if (seq == p->top.event)
        peak_put(p, seq, event);
    if (event->kind == VS_EV_OOM)
        oom_put(p, seq, event);
    return VS_OK;
}

static enum vs_status events_put(struct perfetto *p, struct vs_error *err)
{
    uint64_t count = rpl_index_event_count(p->index);
    const struct vs_event *event;
    enum vs_status st = VS_OK;
    uint64_t last_ns = 0;

    if (!count)
        return VS_OK;
    rpl_scan_init(&p->scan, p->trace, 1, count);
    while (!st && !exp_out_is_failed(p->out) && (event = rpl_scan_next(&p->scan, err)) != NULL) {
        st = event_put(p, event, err);
        last_ns = event->time_ns;
    }
    exp_slices_end(&p->slices, last_ns, p->live.allocated);
    return st ? st : p->scan.status;
}

enum vs_status exp_perfetto_write(struct rpl_index *index, const struct exp_options *options,
                                  struct exp_out *out, struct vs_error *err)
{
    struct perfetto *p = vs_calloc(1, sizeof(*p));
    enum vs_status st;

    p->out = out;
    p->index = index;
    p->trace = rpl_index_trace(index);
    p->top = rpl_index_top(index);
    rpl_live_init(&p->live);
    st = arrows_find(p, err);
    exp_put_text(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
    exp_slices_begin(&p->slices, p->trace, out,
                     options->name ? options->name : rpl_trace_source_name(p->trace));
    memset(p->shown, 0, sizeof(p->shown));
    if (!st)
        st = events_put(p, err);
    exp_put_text(out, "\n]}\n");
    exp_slices_release(&p->slices);
    rpl_live_release(&p->live);
    vs_free(p);
    return st;
}
