/*
 * export/snapshot.c - a trace as the memory snapshot that PyTorch would have dumped.
 *
 * For:            torch.cuda._memory_viz, PyTorch's viewer, `vramscope import`.
 * Must not know:  pickle opcodes (export/pickle.c), the contents of stacks (export/snapshot_frames.c).
 * Invariant:      the events and the state at their end are those of the allocator: undoing the events leads from this
 *                 state to the one that the trace began with.
 *
 * The file is written in one pass, each event as it is read. The segments follow the events; the order does not matter,
 * since readers look keys up by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "engine/alloc/alloc.h"
#include "engine/alloc/conf.h"
#include "export/formats.h"
#include "export/pickle.h"
#include "export/snapshot_internal.h"
#include "replay/index/lifetimes.h"

/* The highest device number in PyTorch; a higher one would write as many empty lists into the file. */
#define DEVICE_MAX 63

static uint64_t time_us(const struct snapshot *s, uint64_t time_ns)
{
    return s->d->start_us + time_ns / 1000;
}

/* ---- events ---- */

/* The stream of the segment that an address is in. */
static uint64_t stream_at(const struct snapshot *s, uint64_t address)
{
    return exp_ranges_find(&s->d->ranges, address).stream;
}

/*
 * One entry of the allocator's history. address_word: what PyTorch calls the address; of an oom entry that field has
 * the device's free bytes.
 */
struct entry {
    enum exp_word action;
    enum exp_word address_word;
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    enum exp_frames frames;
};

/* The caller ends the dict. */
static void entry_begin(struct snapshot *s, const struct vs_event *event, const struct entry *entry)
{
    exp_pickle_item(&s->p, &s->list);
    exp_pickle_dict(&s->p);
    exp_snapshot_word(s, WORD_ACTION);
    exp_snapshot_word(s, entry->action);
    exp_snapshot_uint(s, entry->address_word, entry->address);
    exp_snapshot_uint(s, WORD_SIZE, entry->bytes);
    exp_snapshot_uint(s, WORD_STREAM, entry->stream);
    exp_snapshot_uint(s, WORD_TIME_US, time_us(s, event->time_ns));
    if (exp_snapshot_has_frames(s, event->location)) {
        exp_snapshot_word(s, WORD_FRAMES);
        exp_snapshot_frames(s, event->location, entry->frames);
    }
}

static void alloc_put(struct snapshot *s, const struct vs_event *event)
{
    const uint64_t block = event->alloc.block;
    bool is_workspace = event->alloc.category == VS_CAT_WORKSPACE;
    unsigned noted = block <= s->d->block_count ? s->d->last[block] & ~EXP_WAITS : 0;
    enum vs_category last = (enum vs_category)(noted ? noted - 1u : event->alloc.category);

    entry_begin(s, event,
                &(struct entry){WORD_ALLOC, WORD_ADDR, event->alloc.address,
                                event->alloc.requested_bytes, stream_at(s, event->alloc.address),
                                is_workspace ? EXP_FRAMES_WORKSPACE : EXP_FRAMES_TENSOR});
    exp_snapshot_word(s, WORD_CATEGORY);
    exp_snapshot_category(s, last);
    exp_pickle_dict_end(&s->p);
}

/* The viewer that colours by category needs a category in every entry, so the others are marked as unknown. */
static void segment_put(struct snapshot *s, enum exp_word action, const struct vs_event *event,
                        bool has_category)
{
    entry_begin(s, event,
                &(struct entry){action, WORD_ADDR, event->segment.address, event->segment.bytes,
                                stream_at(s, event->segment.address), EXP_FRAMES_PLAIN});
    if (has_category) {
        exp_snapshot_word(s, WORD_CATEGORY);
        exp_snapshot_category(s, VS_CAT_OTHER);
    }
    exp_pickle_dict_end(&s->p);
}

static void free_put(struct snapshot *s, enum exp_word action, const struct vs_event *event)
{
    entry_begin(s, event,
                &(struct entry){action, WORD_ADDR, event->free.address, event->free.requested_bytes,
                                stream_at(s, event->free.address), EXP_FRAMES_PLAIN});
    exp_pickle_dict_end(&s->p);
}

/* PyTorch writes the rounded size here. */
static void oom_put(struct snapshot *s, const struct vs_event *event)
{
    const uint64_t requested = event->oom.requested_bytes;
    uint64_t bytes = requested ? eng_alloc_round_bytes(&s->conf, requested) : 0;

    entry_begin(s, event,
                &(struct entry){WORD_OOM, WORD_DEVICE_FREE, event->oom.device_free_bytes, bytes,
                                event->oom.stream, EXP_FRAMES_PLAIN});
    exp_pickle_dict_end(&s->p);
}

static bool waits(const struct snapshot *s, uint64_t block)
{
    return block <= s->d->block_count && (s->d->last[block] & EXP_WAITS);
}

/* The segments as they are with this event: before it where it takes one away, so that it still has a stream itself. */
static void ranges_follow(struct snapshot *s, const struct vs_event *event, bool is_before)
{
    bool adds = event->kind == VS_EV_SEGMENT_ALLOC || event->kind == VS_EV_SEGMENT_MAP;
    bool removes = event->kind == VS_EV_SEGMENT_FREE || event->kind == VS_EV_SEGMENT_UNMAP;

    if (adds && is_before)
        exp_ranges_add(&s->d->ranges,
                       &(struct exp_range){event->segment.address, event->segment.bytes,
                                           event->segment.stream, event->segment.private_pool});
    else if (removes && !is_before)
        exp_ranges_remove(&s->d->ranges, event->segment.address, event->segment.bytes);
}

static void kind_put(struct snapshot *s, const struct vs_event *event)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        alloc_put(s, event);
        break;
    case VS_EV_FREE:
        free_put(s, WORD_FREE_REQUESTED, event);
        if (!waits(s, event->free.block))
            free_put(s, WORD_FREE_COMPLETED, event);
        break;
    case VS_EV_FREE_COMPLETED:
        free_put(s, WORD_FREE_COMPLETED, event);
        break;
    case VS_EV_SEGMENT_ALLOC:
        segment_put(s, WORD_SEGMENT_ALLOC, event, true);
        break;
    case VS_EV_SEGMENT_MAP:
        segment_put(s, WORD_SEGMENT_MAP, event, true);
        break;
    case VS_EV_SEGMENT_FREE:
        segment_put(s, WORD_SEGMENT_FREE, event, false);
        break;
    case VS_EV_SEGMENT_UNMAP:
        segment_put(s, WORD_SEGMENT_UNMAP, event, false);
        break;
    case VS_EV_OOM:
        oom_put(s, event);
        break;
    case VS_EV_ANY_OF_PROGRAM:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

static void event_put(struct snapshot *s, const struct vs_event *event)
{
    ranges_follow(s, event, true);
    if (s->scan.seq >= s->d->first)
        kind_put(s, event);
    ranges_follow(s, event, false);
}

/* Calls `put` with every event. */
static enum vs_status events_each(struct snapshot *s,
                                  void (*put)(struct snapshot *s, const struct vs_event *event),
                                  struct vs_error *err)
{
    uint64_t count = rpl_index_event_count(s->d->index);
    const struct vs_event *event;

    if (!count)
        return VS_OK;
    rpl_scan_init(&s->scan, s->d->trace, 1, count);
    while (!exp_out_is_failed(s->p.out) && (event = rpl_scan_next(&s->scan, err)) != NULL)
        put(s, event);
    return s->scan.status;
}

static const struct exp_device *device_find(const struct snapshot *s, uint64_t number)
{
    for (size_t i = 0; i < s->device_count; i++)
        if (s->devices[i].device == number)
            return &s->devices[i];
    return NULL;
}

/* One list for each device; empty for devices without a recording. */
static enum vs_status traces_put(struct snapshot *s, struct vs_error *err)
{
    uint64_t last = s->devices[s->device_count - 1].device;
    struct exp_pickle_list devices;
    enum vs_status st = VS_OK;

    exp_snapshot_word(s, WORD_DEVICE_TRACES);
    exp_pickle_list(&s->p, &devices);
    for (uint64_t number = 0; number <= last && !st; number++) {
        const struct exp_device *found = device_find(s, number);

        exp_pickle_item(&s->p, &devices);
        exp_pickle_list(&s->p, &s->list);
        s->d = found ? &s->devices[found - s->devices] : NULL;
        if (s->d)
            st = events_each(s, event_put, err);
        exp_pickle_list_end(&s->p, &s->list);
    }
    exp_pickle_list_end(&s->p, &devices);
    return st;
}

/* ---- annotations: steps and phases ---- */

static void annotation_put(struct snapshot *s, enum exp_word stage, const char *name,
                           uint64_t time_ns)
{
    exp_pickle_item(&s->p, &s->list);
    exp_pickle_dict(&s->p);
    exp_snapshot_word(s, WORD_NAME);
    exp_pickle_text(&s->p, name);
    exp_snapshot_word(s, WORD_STAGE);
    exp_snapshot_word(s, stage);
    exp_snapshot_uint(s, WORD_DEVICE, s->d->device);
    exp_snapshot_uint(s, WORD_TIME_US, time_us(s, time_ns));
    exp_pickle_dict_end(&s->p);
}

static void phase_end(struct snapshot *s, uint64_t time_ns)
{
    if (s->d->phase)
        annotation_put(s, WORD_END, vs_phase_name((enum vs_phase)(s->d->phase - 1)), time_ns);
    s->d->phase = 0;
}

/* The annotation that torch.profiler writes for its steps. */
static void step_end(struct snapshot *s, uint64_t time_ns)
{
    char name[40];

    phase_end(s, time_ns);
    snprintf(name, sizeof(name), "ProfilerStep#%llu", (unsigned long long)(s->d->step - 1));
    if (s->d->step)
        annotation_put(s, WORD_END, name, time_ns);
    s->d->step = 0;
}

static void annotate(struct snapshot *s, const struct vs_event *event)
{
    char name[40];

    if (s->scan.seq < s->d->first)
        return;
    s->d->last_ns = event->time_ns;
    if (event->kind == VS_EV_STEP) {
        step_end(s, event->time_ns);
        s->d->step = event->step.number_plus_one;
        snprintf(name, sizeof(name), "ProfilerStep#%llu", (unsigned long long)(s->d->step - 1));
        if (s->d->step)
            annotation_put(s, WORD_START, name, event->time_ns);
    } else if (event->kind == VS_EV_PHASE && event->phase.phase < VS_PHASE_COUNT) {
        phase_end(s, event->time_ns);
        s->d->phase = event->phase.phase + 1;
        annotation_put(s, WORD_START, vs_phase_name((enum vs_phase)event->phase.phase),
                       event->time_ns);
    }
}

static enum vs_status annotations_put(struct snapshot *s, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    exp_snapshot_word(s, WORD_EXTERNAL_ANNOTATIONS);
    exp_pickle_list(&s->p, &s->list);
    for (size_t i = 0; i < s->device_count && !st; i++) {
        s->d = &s->devices[i];
        st = events_each(s, annotate, err);
        step_end(s, s->d->last_ns);
    }
    exp_pickle_list_end(&s->p, &s->list);
    return st;
}

/* ---- the whole ---- */

/* Find the last category of each block, and whether its free was delayed. */
static void block_note(struct snapshot *s, const struct vs_event *event)
{
    const uint64_t block = vs_event_block(event);
    uint8_t *last = block <= s->d->block_count ? &s->d->last[block] : NULL;

    if (event->kind == VS_EV_CATEGORY && last && event->category.category < VS_CATEGORY_COUNT)
        *last = (uint8_t)((*last & EXP_WAITS) | (event->category.category + 1));
    else if (event->kind == VS_EV_FREE_COMPLETED && last)
        *last |= EXP_WAITS;
}

/* Parse "2026-11-21T21:14:40Z"; 0: the trace has no time of recording. */
static uint64_t created_us(const struct rpl_trace *trace)
{
    const char *text = rpl_trace_meta(trace, "created");
    struct tm tm = {.tm_sec = 0};
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
    time_t seconds = end && !*end ? timegm(&tm) : 0;

    return seconds > 0 ? (uint64_t)seconds * 1000000 : 0;
}

/* Blocks that are live at the peak get their category there, so the snapshot's peak has the trace's composition. */
static enum vs_status peak_note(struct snapshot *s, struct vs_error *err)
{
    struct rpl_cursor *cursor = rpl_cursor_new(s->d->index);
    enum vs_status st = rpl_cursor_seek(cursor, rpl_index_top(s->d->index).event, err);

    for (size_t i = 0; !st && i < rpl_cursor_live(cursor)->block_count; i++) {
        const struct rpl_block *block = &rpl_cursor_live(cursor)->blocks[i];

        if (block->id <= s->d->block_count)
            s->d->last[block->id] =
                (uint8_t)((s->d->last[block->id] & EXP_WAITS) | (block->category + 1u));
    }
    rpl_cursor_free(cursor);
    return st;
}

static enum vs_status device_begin(struct snapshot *s, struct vs_error *err)
{
    struct exp_device *d = s->d;
    enum vs_status st;

    if (rpl_trace_meta_uint(d->trace, "device_number", &d->device) && d->device > DEVICE_MAX)
        return vs_fail(err, VS_E_DAMAGED, "the trace is of device %llu; PyTorch has none above %d",
                       (unsigned long long)d->device, DEVICE_MAX);
    d->start_us = created_us(d->trace);
    d->block_count = rpl_lifetime_count(d->index);
    d->last = vs_calloc((size_t)d->block_count + 1, sizeof(*d->last));
    exp_snapshot_frames_init(s);
    /* pre-existing blocks come first in a trace; PyTorch has no events for them */
    if (!rpl_trace_meta_uint(d->trace, "start_events", &d->first))
        d->first = 0;
    d->first++;
    st = events_each(s, block_note, err);
    return st ? st : peak_note(s, err);
}

static int by_number(const void *a, const void *b)
{
    const struct exp_device *x = a;
    const struct exp_device *y = b;

    return (x->device > y->device) - (x->device < y->device);
}

/* The device of `index` and, unless only one is exported, the other devices of its trace. */
static enum vs_status devices_open(struct snapshot *s, struct rpl_index *index, bool is_alone,
                                   struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    size_t count = is_alone ? 0 : rpl_trace_device_count(trace);
    enum vs_status st = VS_OK;

    s->devices = vs_calloc(count + 1, sizeof(*s->devices));
    s->devices[s->device_count++] = (struct exp_device){.index = index, .trace = trace};
    for (size_t i = 0; i < count && !st; i++) {
        struct exp_device *d = &s->devices[s->device_count];

        if (i == rpl_trace_device_now(trace))
            continue;
        d->is_owned = true;
        s->device_count++;
        st = rpl_trace_open_device(trace, i, &d->trace, err);
        if (!st)
            st = rpl_index_open(d->trace, NULL, NULL, &d->index, err);
    }
    for (size_t i = 0; i < s->device_count && !st; i++) {
        s->d = &s->devices[i];
        st = device_begin(s, err);
    }
    if (!st)
        qsort(s->devices, s->device_count, sizeof(*s->devices), by_number);
    return st;
}

static void devices_close(struct snapshot *s)
{
    for (size_t i = 0; i < s->device_count; i++) {
        struct exp_device *d = &s->devices[i];

        exp_ranges_release(&d->ranges);
        vs_free(d->stacks);
        vs_free(d->last);
        if (d->is_owned) {
            rpl_index_free(d->index);
            rpl_trace_free(d->trace);
        }
    }
    vs_free(s->devices);
}

enum vs_status exp_snapshot_write(struct rpl_index *index, const struct exp_options *options,
                                  struct exp_out *out, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct snapshot *s = vs_calloc(1, sizeof(*s));
    enum vs_status st;

    s->p.out = out;
    eng_alloc_conf_init(&s->conf);
    st = eng_alloc_conf_parse(exp_snapshot_conf(trace), &s->conf, err);
    if (!st)
        st = devices_open(s, index, options->is_alone, err);
    if (st)
        goto out;
    exp_pickle_begin(&s->p, out);
    exp_pickle_dict(&s->p);
    st = traces_put(s, err);
    if (!st)
        st = exp_snapshot_segments(s, err);
    exp_snapshot_settings(s, trace);
    if (!st)
        st = annotations_put(s, err);
    exp_pickle_dict_end(&s->p);
    exp_pickle_end(&s->p);
out:
    devices_close(s);
    vs_free(s);
    return st;
}
