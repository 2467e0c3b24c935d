/*
 * recording/snapshot.c - see snapshot.h.
 *
 * Must not know:  opcodes, the analysis of stacks (snapshot_frames.c).
 * Invariant:      the number of segments, blocks and events is limited to a sixteenth of the file's bytes (plus a
 *                 constant), even if a hostile pickle repeats values: each record that PyTorch writes takes more.
 */
#include "recording/snapshot.h"

#include <inttypes.h>
#include <string.h>

#include "base/event.h"
#include "base/mem.h"
#include "base/text.h"
#include "recording/snapshot_between.h"
#include "recording/snapshot_internal.h"

/* Minimum size of a record written by PyTorch; the limit is never below this number of records. */
#define RECORD_BYTES 16
#define RECORDS_ANY 4096

static const char *const KEY_NAMES[KEY_COUNT] = {"segments",
                                                 "device_traces",
                                                 "allocator_settings",
                                                 "PYTORCH_CUDA_ALLOC_CONF",
                                                 "device",
                                                 "address",
                                                 "total_size",
                                                 "stream",
                                                 "segment_type",
                                                 "segment_pool_id",
                                                 "is_expandable",
                                                 "blocks",
                                                 "size",
                                                 "requested_size",
                                                 "state",
                                                 "history",
                                                 "real_size",
                                                 "action",
                                                 "addr",
                                                 "device_free",
                                                 "frames",
                                                 "time_us",
                                                 "user_metadata",
                                                 "category",
                                                 "facts",
                                                 "forward_frames"};

enum vs_status rec_reading_wrong(const struct rec_reading *r, const char *what,
                                 enum rec_snapshot_key key)
{
    return vs_fail(r->err, VS_E_FORMAT, "%s: `%s` is missing, or is not what PyTorch writes", what,
                   KEY_NAMES[key]);
}

enum vs_status rec_reading_take(struct rec_reading *r)
{
    if (!r->left--)
        return vs_fail(
            r->err, VS_E_FORMAT,
            "its lists repeat their items by reference until they are larger than any recording");
    return VS_OK;
}

/* ---- events ---- */

static enum vs_mem_kind kind_of(struct rec_reading *r, struct rec_value action)
{
    size_t kind = VS_MEM_OTHER;

    for (size_t k = 0; k < VS_MEM_KIND_COUNT; k++)
        if (rec_value_same(r->actions[k], action))
            return (enum vs_mem_kind)k;
    for (size_t k = 0; k < VS_MEM_OTHER && kind == VS_MEM_OTHER; k++)
        if (rec_value_is_text(r->p, action, vs_mem_kind_name((enum vs_mem_kind)k)))
            kind = k;
    r->actions[kind] = action;
    return (enum vs_mem_kind)kind;
}

/* The category that torch.profiler and `vramscope export` call `word`, + 1. 0: neither has such a category. */
static uint8_t category_of(struct rec_reading *r, struct rec_value word)
{
    static const struct {
        const char *name;
        enum vs_category category;
    } OTHERS[] = {
        {"unknown", VS_CAT_OTHER},
        {"optimizer_state", VS_CAT_OPTIMIZER},
        {"autograd_detail", VS_CAT_TEMPORARY},
    };
    size_t found = VS_CATEGORY_COUNT;

    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
        if (rec_value_same(r->categories[c], word))
            return (uint8_t)(c + 1);
    for (size_t c = 0; c < VS_CATEGORY_COUNT && found == VS_CATEGORY_COUNT; c++)
        if (rec_value_is_text(r->p, word, vs_category_name((enum vs_category)c)))
            found = c;
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        if (rec_value_is_text(r->p, word, OTHERS[i].name))
            found = OTHERS[i].category;
    if (found == VS_CATEGORY_COUNT)
        return 0;
    r->categories[found] = word;
    return (uint8_t)(found + 1);
}

static void place_set(struct rec_reading *r, struct rec_value frames, struct vs_mem_event *event)
{
    const struct rec_stack *stack = rec_stacks_get(&r->stacks, frames);

    event->stack = stack->id;
    event->op = stack->op;
    event->func = stack->func;
    event->file = stack->file;
    event->line = stack->line;
    event->cls = event->kind == VS_MEM_ALLOC ? stack->cls : (uint8_t)VS_MEM_TENSOR;
}

/* Of an event of a backward node, which has no stack: the line of the op that made the node. */
static void line_set(struct rec_reading *r, struct rec_value frames, struct vs_mem_event *event)
{
    const struct rec_stack *stack = rec_stacks_get(&r->stacks, frames);

    event->func = stack->func;
    event->file = stack->file;
    event->line = stack->line;
}

static enum vs_status event_read(struct rec_reading *r, struct rec_value v)
{
    struct rec_fields row;
    struct vs_mem_event *event;
    enum vs_mem_kind kind;
    enum rec_snapshot_key where;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t stream = 0;
    uint64_t time_us = 0;
    enum vs_status st = rec_reading_take(r);

    if (st)
        return st;
    row.has = rec_value_row(r->p, v, r->columns, row.at);
    if (!rec_fields_has(&row, KEY_ACTION) || rec_value_type(row.at[KEY_ACTION]) != REC_TEXT)
        return rec_reading_wrong(r, "an event", KEY_ACTION);
    kind = kind_of(r, row.at[KEY_ACTION]);
    if (kind == VS_MEM_OTHER) { /* of a fork or a newer version: not an allocator event */
        r->list->other_count++;
        return VS_OK;
    }
    where = kind == VS_MEM_OOM ? KEY_DEVICE_FREE : KEY_ADDR;
    if (!rec_fields_has(&row, where) || !rec_fields_uint(r, &row, where, &address) ||
        (kind == VS_MEM_OOM && !rec_is_count(address)))
        return rec_reading_wrong(r, "an event", where);
    if (!rec_fields_has(&row, KEY_SIZE) || !rec_fields_uint(r, &row, KEY_SIZE, &bytes) ||
        !rec_is_count(bytes))
        return rec_reading_wrong(r, "an event", KEY_SIZE);
    if (!rec_fields_uint(r, &row, KEY_STREAM, &stream))
        return rec_reading_wrong(r, "an event", KEY_STREAM);
    if (!rec_fields_uint(r, &row, KEY_TIME, &time_us) || !rec_is_count(time_us))
        return rec_reading_wrong(r, "an event", KEY_TIME);
    event = vs_memlist_add_event(r->list, kind, address, bytes, stream);
    event->time_us = time_us;
    rec_notes_event(&r->notes, rec_fields_has(&row, KEY_METADATA) ? &row.at[KEY_METADATA] : NULL,
                    time_us);
    if (rec_fields_has(&row, KEY_FRAMES))
        place_set(r, row.at[KEY_FRAMES], event);
    if (rec_fields_has(&row, KEY_FORWARD_FRAMES) && !event->line)
        line_set(r, row.at[KEY_FORWARD_FRAMES], event);
    if (kind == VS_MEM_ALLOC && rec_fields_has(&row, KEY_CATEGORY))
        event->category = category_of(r, row.at[KEY_CATEGORY]);
    if (rec_fields_has(&row, KEY_FACTS))
        rec_facts_event(&r->facts, row.at[KEY_FACTS], event);
    return VS_OK;
}

static enum vs_status events_read(struct rec_reading *r)
{
    struct rec_value trace;
    size_t count;
    enum vs_status st = VS_OK;

    if (r->device < 0 || (uint64_t)r->device >= rec_value_count(r->p, r->traces))
        return VS_OK;
    trace = rec_value_at(r->p, r->traces, (size_t)r->device);
    if (rec_value_type(trace) != REC_LIST)
        return rec_reading_wrong(r, "the snapshot", KEY_TRACES);
    count = rec_value_count(r->p, trace);
    r->list->events = vs_reserve(r->list->events, count < r->left ? count : (size_t)r->left,
                                 &r->list->event_cap, sizeof(*r->list->events));
    for (size_t i = 0; i < count && !st; i++) {
        st = event_read(r, rec_value_at(r->p, trace, i));
        if (st)
            vs_error_prefix(r->err, "event %zu of device %" PRId64, i, r->device);
    }
    return st;
}

/* ---- the device ---- */

/* Find the devices that have events and those that have segments, as bit sets; PyTorch supports at most 64 devices. */
static void devices_find(struct rec_reading *r)
{
    for (size_t i = 0; i < rec_value_count(r->p, r->traces) && i < 64; i++)
        if (rec_value_count(r->p, rec_value_at(r->p, r->traces, i)))
            r->with_events |= UINT64_C(1) << i;
    for (size_t i = 0; i < rec_value_count(r->p, r->segments); i++) {
        uint64_t device = rec_segment_device(r, rec_value_at(r->p, r->segments, i));

        if (device < 64)
            r->with_segments |= UINT64_C(1) << device;
    }
}

static enum vs_status device_choose(struct rec_reading *r)
{
    uint64_t among = r->with_events ? r->with_events : r->with_segments;
    const bool takes_first = r->device == REC_SNAPSHOT_FIRST;
    struct vs_text text = {NULL, 0, 0};

    if (r->device != REC_SNAPSHOT_ANY && !takes_first) {
        if (r->device < 64 && (r->with_events | r->with_segments) >> r->device & 1)
            return VS_OK;
        return vs_fail(r->err, VS_E_VALUE, "the snapshot has no data of device %" PRId64,
                       r->device);
    }
    r->device = 0;
    while (among && !(among >> r->device & 1))
        r->device++;
    if (takes_first || !(among & (among - 1)))
        return VS_OK;
    for (unsigned i = 0; i < 64; i++)
        if (among >> i & 1)
            vs_text_addf(&text, "%s%u", text.len ? ", " : "", i);
    vs_fail(r->err, VS_E_VALUE, "the snapshot has several devices; choose one of %s",
            vs_text_get(&text));
    vs_text_release(&text);
    return VS_E_VALUE;
}

/* ---- the whole ---- */

static void conf_read(struct rec_reading *r, struct rec_value top)
{
    struct rec_value settings;
    struct rec_value conf;
    size_t len = 0;
    const char *text;

    if (!rec_reading_get(r, top, KEY_SETTINGS, &settings) ||
        !rec_reading_get(r, settings, KEY_CONF, &conf))
        return;
    text = rec_value_text(r->p, conf, &len);
    if (text)
        r->list->conf = vs_strndup(text, len);
}

/* Read one device into its list; called once per device. */
static enum vs_status device_read(struct rec_reading *r, int64_t device, struct vs_memlist *list)
{
    enum vs_status st;

    r->list = list;
    r->device = device;
    r->left = r->len / RECORD_BYTES + RECORDS_ANY;
    r->stacks.list = list;
    rec_stacks_begin(&r->stacks);
    r->notes = (struct rec_notes){.pickle = r->p, .list = list};
    rec_notes_begin(&r->notes);
    r->facts.pickle = r->p;
    r->facts.list = list;
    rec_facts_begin(&r->facts);
    st = device_choose(r);
    list->devices = r->with_events | r->with_segments;
    if (!st)
        st = rec_segments_read(r);
    list->device = st ? 0 : (uint64_t)r->device;
    if (!st)
        st = events_read(r);
    if (!st && rec_value_type(r->top) == REC_DICT) {
        conf_read(r, r->top);
        rec_observed_read(&r->facts, r->top);
        rec_between_read(r->p, r->top, r->list);
    }
    if (!st && !rec_notes_read(&r->notes, r->top, r->left))
        st = vs_fail(r->err, VS_E_FORMAT,
                     "`external_annotations` are not what PyTorch writes: no list of names with "
                     "stage and time");
    list->has_addresses = true;
    list->has_state = true;
    return st;
}

/* On failure the caller releases everything with reading_end(). */
static enum vs_status reading_begin(struct rec_reading *r, const char *bytes, size_t len,
                                    struct vs_error *err)
{
    enum vs_status st = rec_pickle_read(bytes, len, &r->p, err);

    if (st)
        return st;
    r->len = len;
    r->err = err;
    for (size_t i = 0; i < KEY_COUNT; i++)
        r->keys[i] = rec_pickle_key(r->p, KEY_NAMES[i]);
    r->columns = rec_columns_new(r->p, KEY_NAMES, KEY_COUNT);
    r->stacks.pickle = r->p;
    r->top = rec_pickle_top(r->p);
    r->segments = r->top;
    if (rec_value_type(r->top) != REC_LIST &&
        !rec_reading_get_list(r, r->top, KEY_SEGMENTS, &r->segments))
        return vs_fail(r->err, VS_E_FORMAT,
                       "it is a pickle, but not a memory snapshot: it has no `segments`");
    if (rec_value_type(r->top) == REC_DICT && rec_reading_get(r, r->top, KEY_TRACES, &r->traces) &&
        rec_value_type(r->traces) != REC_LIST)
        return rec_reading_wrong(r, "the snapshot", KEY_TRACES);
    devices_find(r);
    return VS_OK;
}

static void reading_end(struct rec_reading *r)
{
    rec_stacks_release(&r->stacks);
    rec_facts_release(&r->facts);
    rec_columns_free(r->columns);
    rec_pickle_free(r->p);
}

bool rec_snapshot_is(const char *bytes, size_t len)
{
    /*
     * protocols 2 and later begin with their number; earlier ones with a dict or list, as no text format read here does
     */
    return len > 2 && (((unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5) ||
                       (bytes[0] && strchr("(}]", bytes[0]) != NULL));
}

enum vs_status rec_snapshot_read(const char *bytes, size_t len, int64_t device,
                                 struct vs_memlist *out, struct vs_error *err)
{
    struct rec_reading r = {.p = NULL};
    enum vs_status st = reading_begin(&r, bytes, len, err);

    if (!st)
        st = device_read(&r, device, out);
    reading_end(&r);
    return st;
}

enum vs_status rec_snapshot_read_all(const char *bytes, size_t len, struct vs_memlist **out,
                                     size_t *count, struct vs_error *err)
{
    struct rec_reading r = {.p = NULL};
    enum vs_status st = reading_begin(&r, bytes, len, err);
    const uint64_t devices = r.with_events | r.with_segments;

    *count = devices & (devices - 1) ? (size_t)__builtin_popcountll(devices) : 1;
    *out = vs_calloc(*count, sizeof(**out));
    if (!st && *count == 1)
        st = device_read(&r, REC_SNAPSHOT_FIRST, *out);
    for (int64_t device = 0, i = 0; device < 64 && *count > 1 && !st; device++)
        if (devices >> device & 1)
            st = device_read(&r, device, &(*out)[i++]);
    reading_end(&r);
    return st;
}
