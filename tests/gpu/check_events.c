/*
 * tests/gpu/check_events.c - compares the events of the device with those of meta, one by one.
 *
 * Only the device has library workspaces. Where there are any, they, the segments and the offsets in segments are
 * ignored, and everything else is compared. Where there are none (with a target both devices have the workspaces that
 * PyTorch would use), each block must also be at the same offset of the same segment, and the segments must be equal. A
 * what-if on meta replays the device's workspaces, so it must agree in all of this.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/target.h"
#include "tests/facts/grid.h"
#include "tests/gpu/check.h"
#include "whatif/whatif.h"

#define FEW 4
#define FEW_PAIRS 6
#define NOWHERE UINT64_MAX

struct segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t number;
};

/*
 * One of the two traces, read in step with the other.
 *
 * number_of    a block's number among those that count, by its id; 0: it is a workspace
 * keeps        workspaces count as well
 */
struct side {
    struct rpl_trace *trace;
    struct rpl_scan *scan;
    uint64_t *number_of;
    uint64_t blocks;
    struct segment *segments;
    size_t segment_count, segment_cap;
    uint64_t segments_seen;
    uint64_t reserved;
    uint64_t workspaces;
    bool keeps;
};

static bool is_segment(const struct vs_event *ev)
{
    return ev->kind == VS_EV_SEGMENT_ALLOC || ev->kind == VS_EV_SEGMENT_FREE ||
           ev->kind == VS_EV_SEGMENT_MAP || ev->kind == VS_EV_SEGMENT_UNMAP;
}

static struct side side_new(struct rpl_trace *trace)
{
    uint64_t events = rpl_trace_event_count(trace);
    struct side s = {.trace = trace};

    s.scan = vs_alloc(sizeof(*s.scan));
    s.number_of = vs_calloc((size_t)events + 2, sizeof(*s.number_of));
    s.workspaces = facts_workspaces(trace);
    rpl_scan_init(s.scan, trace, 1, events);
    return s;
}

static void side_release(struct side *s)
{
    vs_free(s->scan);
    vs_free(s->number_of);
    vs_free(s->segments);
}

/* ---- segments ---- */

/* The number of the segment that contains an address, and the offset in it. */
static uint64_t segment_of(const struct side *s, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < s->segment_count; i++) {
        const struct segment *g = &s->segments[i];

        if (address >= g->address && address < g->address + g->bytes) {
            *offset = address - g->address;
            return g->number;
        }
    }
    *offset = 0;
    return NOWHERE;
}

/* Neighbours that were mapped one after the other are one: an expandable segment grows. */
static void segment_add(struct side *s, uint64_t address, uint64_t bytes, bool grows)
{
    s->reserved += bytes;
    for (size_t i = 0; i < s->segment_count && grows; i++) {
        if (s->segments[i].address + s->segments[i].bytes == address) {
            s->segments[i].bytes += bytes;
            return;
        }
    }
    s->segments = vs_grow(s->segments, s->segment_count, &s->segment_cap, sizeof(*s->segments));
    s->segments[s->segment_count++] = (struct segment){address, bytes, s->segments_seen++};
}

static void segment_follow(struct side *s, const struct vs_event *ev)
{
    if (ev->kind == VS_EV_SEGMENT_ALLOC || ev->kind == VS_EV_SEGMENT_MAP)
        segment_add(s, ev->segment.address, ev->segment.bytes, ev->kind == VS_EV_SEGMENT_MAP);
    else
        s->reserved -= ev->segment.bytes;
    for (size_t i = 0; i < s->segment_count && ev->kind == VS_EV_SEGMENT_FREE; i++) {
        if (s->segments[i].address == ev->segment.address) {
            s->segments[i] = s->segments[--s->segment_count];
            return;
        }
    }
}

/* ---- events that count ---- */

/*
 * The next event that counts, with ids and addresses made comparable: a block by its number, an address by segment (in
 * block_bytes) and offset (in address). False at the end.
 */
static bool next(struct side *s, bool with_addresses, struct vs_event *out)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *ev;
    uint64_t block;

    while ((ev = rpl_scan_next(s->scan, &err)) != NULL) {
        *out = *ev;
        out->time_ns = 0;
        if (is_segment(ev)) {
            segment_follow(s, ev);
            if (!with_addresses)
                continue;
            out->segment.address = 0;
            return true;
        }
        if (!vs_event_has_block(ev))
            return true;
        if (ev->kind == VS_EV_ALLOC && (s->keeps || ev->alloc.category != VS_CAT_WORKSPACE))
            s->number_of[ev->alloc.block] = ++s->blocks;
        block = vs_event_block(ev);
        if (block && !s->number_of[block])
            continue; /* of a workspace */
        vs_event_block_set(out, block ? s->number_of[block] : 0);
        if (ev->kind == VS_EV_CAST)
            out->cast.from_block = ev->cast.from_block ? s->number_of[ev->cast.from_block] : 0;
        if (ev->kind == VS_EV_ALLOC || ev->kind == VS_EV_FREE || ev->kind == VS_EV_FREE_COMPLETED) {
            uint64_t segment = segment_of(s, ev->alloc.address, &out->alloc.address);

            out->alloc.block_bytes =
                with_addresses ? segment << 40 | ev->alloc.block_bytes
                               : 0; /* how much of a block is used depends on its neighbours */
            if (!with_addresses)
                out->alloc.address = 0;
        }
        return true;
    }
    return false;
}

/* Which of a, c and d are ids of strings; ids are those of a trace. */
static void strings_of(uint8_t kind, bool *a, bool *c, bool *d)
{
    *a = kind == VS_EV_OP_BEGIN || kind == VS_EV_OP_END || kind == VS_EV_RECOMPUTE_BEGIN ||
         kind == VS_EV_RECOMPUTE_END;
    *c = kind == VS_EV_HOLD || kind == VS_EV_DROP || kind == VS_EV_USE;
    *d = kind == VS_EV_HOLD || kind == VS_EV_DROP;
}

static bool is_same_field(const struct side *x, uint64_t a, const struct side *y, uint64_t b,
                          bool is_string)
{
    return is_string ? !strcmp(rpl_trace_string(x->trace, (uint32_t)a),
                               rpl_trace_string(y->trace, (uint32_t)b))
                     : a == b;
}

static bool is_same(const struct side *x, const struct vs_event *a, const struct side *y,
                    const struct vs_event *b)
{
    const struct vs_location *p = rpl_trace_location(x->trace, a->location);
    const struct vs_location *q = rpl_trace_location(y->trace, b->location);
    bool of_a, of_c, of_d;

    strings_of(a->kind, &of_a, &of_c, &of_d);
    return a->kind == b->kind && is_same_field(x, a->raw.a, y, b->raw.a, of_a) &&
           a->raw.b == b->raw.b && is_same_field(x, a->raw.c, y, b->raw.c, of_c) &&
           is_same_field(x, a->raw.d, y, b->raw.d, of_d) && a->raw.e == b->raw.e &&
           a->raw.aux == b->raw.aux && p->phase == q->phase && p->line == q->line &&
           is_same_field(x, p->module, y, q->module, true) &&
           is_same_field(x, p->func, y, q->func, true) && is_same_field(x, p->op, y, q->op, true);
}

/* Returns the number of equal events; describes the first different one in `why`. */
static uint64_t compare(struct rpl_trace *ours, struct rpl_trace *meta, uint64_t *workspaces,
                        char *why, size_t size)
{
    struct side x = side_new(ours);
    struct side y = side_new(meta);
    struct vs_event a, b;
    uint64_t same = 0;
    bool with_addresses = x.workspaces == y.workspaces;
    bool has_a = true;
    bool has_b = true;

    *workspaces = x.workspaces;
    x.keeps = y.keeps = with_addresses;
    while (!*why && (has_a || has_b)) {
        char text[2][FACTS_EVENT_MAX];

        has_a = next(&x, with_addresses, &a);
        has_b = next(&y, with_addresses, &b);
        if (has_a && has_b && is_same(&x, &a, &y, &b)) {
            same++;
            continue;
        }
        if (has_a || has_b)
            snprintf(why, size, "after %" PRIu64 " events: %.300s; on meta: %.300s", same,
                     has_a ? facts_event_text(ours, x.scan->seq, &a, text[0]) : "the end",
                     has_b ? facts_event_text(meta, y.scan->seq, &b, text[1]) : "the end");
    }
    if (!*why && with_addresses && x.reserved != y.reserved)
        snprintf(why, size, "%" PRIu64 " bytes are reserved, on meta %" PRIu64, x.reserved,
                 y.reserved);
    side_release(&x);
    side_release(&y);
    return same;
}

/* The run again on meta, by its trace. */
static uint64_t compare_again(struct rpl_trace *ours, char *why, size_t size)
{
    struct rpl_trace *again = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    uint64_t workspaces;
    uint64_t same = 0;
    char text[700] = "";

    if (wif_run(ours, NULL, again, &err))
        snprintf(text, sizeof(text), "%.300s", err.text);
    else
        same = compare(ours, again, &workspaces, text, sizeof(text));
    if (*text)
        snprintf(why, size, "what-if: %s", text);
    rpl_trace_free(again);
    return same;
}

static void check_net(struct check *c, const struct facts_net *net, const char *toggles)
{
    struct facts_run ours, meta;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_error meta_err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    uint64_t same = 0;
    uint64_t repeated = 0;
    uint64_t workspaces = 0;
    bool runs = facts_try_net_on(net, toggles, &c->device, &ours, &err);
    char name[300], why[1000] = "";

    snprintf(name, sizeof(name), "%s %s", net->path, toggles);
    if (facts_try_net(net, toggles, false, runs ? &ours : NULL, &meta, &meta_err) != runs)
        snprintf(why, sizeof(why), "%s: %.300s", runs ? "meta refuses it" : "the device fails",
                 runs ? meta_err.text : err.text);
    else if (runs)
        same = compare(ours.trace, meta.trace, &workspaces, why, sizeof(why));
    if (runs && !*why)
        repeated = compare_again(ours.trace, why, sizeof(why));
    check_begin(&json, &text, name);
    vs_json_put_uint(&json, "events", same);
    vs_json_put_uint(&json, "repeated", repeated);
    vs_json_put_uint(&json, "workspaces", workspaces);
    check_end(c, &json, &text, name, why);
    facts_run_release(&ours);
    facts_run_release(&meta);
}

/* The device by the name of its target, where there is one; else "". */
static void own_target(const struct eng_device *device, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; vs_target_at(i) && !*out; i++)
        if (vs_target_at(i)->capability == device->info.capability &&
            vs_target_at(i)->processors == device->info.processors)
            snprintf(out, size, " target=%s", vs_target_at(i)->name);
}

void check_events(struct check *c)
{
    char pairs[FACTS_PAIRS_MAX + 80];
    char target[64];

    own_target(&c->device, target, sizeof(target));
    for (size_t i = 0; i < (c->is_few ? FEW : FACTS_SMALL_COUNT); i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i]);

        snprintf(pairs, sizeof(pairs), "steps=2%s", target);
        if (*target && check_wants(c, net.path))
            check_net(c, &net, pairs);
        if (check_wants(c, net.path))
            check_net(c, &net, "steps=2");
        for (size_t k = 0; k < (c->is_few ? FEW_PAIRS : SIZE_MAX); k++) {
            char some[FACTS_PAIRS_MAX];

            if (!facts_pairs(k, some))
                break;
            if (i >= 4 && k % 7 != i % 7)
                continue; /* all of them on four nets, a part of them on each other one */
            snprintf(pairs, sizeof(pairs), "%s%s", some, strstr(some, "steps=") ? "" : " steps=2");
            if (check_wants(c, net.path))
                check_net(c, &net, pairs);
        }
        facts_net_release(&net);
    }
    for (size_t i = 0; i < FACTS_SAMPLE_COUNT && !c->is_few; i++) {
        struct facts_net net = facts_sample_read(&FACTS_SAMPLES[i]);

        if (check_wants(c, net.path))
            check_net(c, &net, FACTS_SAMPLES[i].toggles);
        facts_net_release(&net);
    }
}
