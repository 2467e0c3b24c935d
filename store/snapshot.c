/*
 * store/snapshot.c - see snapshot.h.
 *
 * Must not know:  opcodes, what a stack says (snapshot_frames.c).
 * Invariant:      no more segments, blocks and events come out than a sixteenth of the file's bytes (and some), however often it repeats
 *                 them: each has some keys and values of its own in what PyTorch writes.
 */
#include "store/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/mem.h"
#include "base/text.h"
#include "store/pickle.h"
#include "store/snapshot_frames.h"
#include "store/snapshot_notes.h"

/* No record of PyTorch's takes less of the file; so many may be there in any case. */
#define RECORD_BYTES 16
#define RECORDS_ANY 4096

enum key {
    KEY_SEGMENTS,
    KEY_TRACES,
    KEY_SETTINGS,
    KEY_CONF,
    KEY_DEVICE,
    KEY_ADDRESS,
    KEY_TOTAL_SIZE,
    KEY_STREAM,
    KEY_SEGMENT_TYPE,
    KEY_POOL_ID,
    KEY_EXPANDABLE,
    KEY_BLOCKS,
    KEY_SIZE,
    KEY_REQUESTED,
    KEY_STATE,
    KEY_HISTORY,
    KEY_REAL_SIZE,
    KEY_ACTION,
    KEY_ADDR,
    KEY_DEVICE_FREE,
    KEY_FRAMES,
    KEY_TIME,
    KEY_METADATA,
    KEY_CATEGORY,
    KEY_COUNT
};

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
                                                 "category"};

/* A dict's values; bit `key` of `has`: it has one. */
struct row {
    struct sto_value at[KEY_COUNT];
    uint64_t has;
};

/*
 * with_events, with_segments: devices, as bits. Of the one being read: list, notes, device, left: how many more records may come out. actions,
 * categories: the texts that stood for each last.
 */
struct reading {
    struct sto_pickle *p;
    size_t len;
    struct sto_value top, segments, traces;
    uint64_t with_events, with_segments;
    struct vs_memlist *list;
    struct sto_stacks stacks;
    struct sto_notes notes;
    uint32_t keys[KEY_COUNT];
    struct sto_columns *columns;
    struct sto_value actions[VS_MEM_KIND_COUNT];
    struct sto_value categories[VS_CATEGORY_COUNT];
    int64_t device;
    uint64_t left;
    struct vs_error *err;
};

static enum vs_status wrong(const struct reading *r, const char *what, enum key key)
{
    return vs_fail(r->err, VS_E_FORMAT, "%s: `%s` is missing, or is not what PyTorch writes", what,
                   KEY_NAMES[key]);
}

static bool get(const struct reading *r, struct sto_value v, enum key key, struct sto_value *out)
{
    return sto_value_get(r->p, v, r->keys[key], out);
}

/* False only where there is something else than a number; *out stays where there is nothing. */
static bool get_uint(const struct reading *r, struct sto_value v, enum key key, uint64_t *out)
{
    struct sto_value found;

    return !get(r, v, key, &found) || sto_value_int(r->p, found, out);
}

static bool must_uint(const struct reading *r, struct sto_value v, enum key key, uint64_t *out)
{
    struct sto_value found;

    return get(r, v, key, &found) && sto_value_int(r->p, found, out);
}

/* Sizes and times are from 0 to 2^63 - 1; addresses and streams may be written as negative. */
static bool is_count(uint64_t n)
{
    return n <= INT64_MAX;
}

static bool get_list(const struct reading *r, struct sto_value v, enum key key,
                     struct sto_value *out)
{
    return get(r, v, key, out) && sto_value_type(*out) == STO_LIST;
}

static enum vs_status record_take(struct reading *r)
{
    if (!r->left--)
        return vs_fail(r->err, VS_E_FORMAT,
                       "it repeats itself until it is larger than any recording");
    return VS_OK;
}

/* ---- segments ---- */

static bool state_get(const struct reading *r, struct sto_value v, enum vs_mem_block_state *out)
{
    static const struct {
        const char *name;
        enum vs_mem_block_state state;
    } STATES[] = {
        {"inactive", VS_MEM_INACTIVE},
        {"active_allocated", VS_MEM_ALLOCATED},
        {"active_pending_free", VS_MEM_PENDING_FREE},
        {"active_awaiting_free", VS_MEM_PENDING_FREE},
    };
    struct sto_value found;

    if (!get(r, v, KEY_STATE, &found))
        return false;
    for (size_t i = 0; i < sizeof(STATES) / sizeof(STATES[0]); i++)
        if (sto_value_is_text(r->p, found, STATES[i].name)) {
            *out = STATES[i].state;
            return true;
        }
    return false;
}

/* Where it is not said: the newest entry of the history (2.0), else the whole block. */
static bool requested_get(const struct reading *r, struct sto_value v, uint64_t bytes,
                          uint64_t *out)
{
    struct sto_value history;

    *out = bytes;
    if (get(r, v, KEY_REQUESTED, &history))
        return sto_value_int(r->p, history, out);
    if (get_list(r, v, KEY_HISTORY, &history) && sto_value_count(r->p, history))
        return get_uint(r, sto_value_at(r->p, history, 0), KEY_REAL_SIZE, out);
    return true;
}

/* Where it was allocated; of 2.0, the newest entry of its history says it. */
static void block_place_set(struct reading *r, struct sto_value v, struct vs_mem_block *block)
{
    struct sto_value frames;
    const struct sto_stack *stack;

    if (get_list(r, v, KEY_HISTORY, &frames) && sto_value_count(r->p, frames))
        v = sto_value_at(r->p, frames, 0);
    if (!get(r, v, KEY_FRAMES, &frames))
        return;
    stack = sto_stacks_get(&r->stacks, frames);
    block->stack = stack->id;
    block->op = stack->op;
    block->func = stack->func;
    block->file = stack->file;
    block->line = stack->line;
    block->cls = stack->cls;
}

static enum vs_status block_read(struct reading *r, struct sto_value v)
{
    struct vs_mem_block block = {.state = VS_MEM_INACTIVE};
    enum vs_status st = record_take(r);

    if (st)
        return st;
    if (!must_uint(r, v, KEY_SIZE, &block.bytes) || !is_count(block.bytes))
        return wrong(r, "a block", KEY_SIZE);
    if (!state_get(r, v, &block.state))
        return wrong(r, "a block", KEY_STATE);
    if (!requested_get(r, v, block.bytes, &block.requested) || !is_count(block.requested))
        return wrong(r, "a block", KEY_REQUESTED);
    if (block.state == VS_MEM_INACTIVE)
        block.requested = 0; /* of the last owner, long gone */
    else
        block_place_set(r, v, &block);
    vs_memlist_add_block(r->list, block);
    return VS_OK;
}

static bool pool_read(const struct reading *r, struct sto_value v, struct vs_mem_segment *out)
{
    struct sto_value pool;

    if (!get(r, v, KEY_POOL_ID, &pool))
        return true;
    return sto_value_count(r->p, pool) == 2 &&
           sto_value_int(r->p, sto_value_at(r->p, pool, 0), &out->pool_graph) &&
           sto_value_int(r->p, sto_value_at(r->p, pool, 1), &out->pool_user);
}

static enum vs_status segment_read(struct reading *r, struct sto_value v)
{
    struct vs_mem_segment *segment = vs_memlist_add_segment(r->list);
    struct sto_value found;
    enum vs_status st = record_take(r);

    if (st)
        return st;
    if (!must_uint(r, v, KEY_ADDRESS, &segment->address))
        return wrong(r, "a segment", KEY_ADDRESS);
    if (!must_uint(r, v, KEY_TOTAL_SIZE, &segment->bytes) || !is_count(segment->bytes))
        return wrong(r, "a segment", KEY_TOTAL_SIZE);
    if (!get_uint(r, v, KEY_STREAM, &segment->stream))
        return wrong(r, "a segment", KEY_STREAM);
    if (!pool_read(r, v, segment))
        return wrong(r, "a segment", KEY_POOL_ID);
    segment->is_small =
        get(r, v, KEY_SEGMENT_TYPE, &found) && sto_value_is_text(r->p, found, "small");
    if (get(r, v, KEY_EXPANDABLE, &found) && !sto_value_bool(found, &segment->is_expandable))
        return wrong(r, "a segment", KEY_EXPANDABLE);
    if (!get_list(r, v, KEY_BLOCKS, &found))
        return wrong(r, "a segment", KEY_BLOCKS);
    for (size_t i = 0; i < sto_value_count(r->p, found) && !st; i++)
        st = block_read(r, sto_value_at(r->p, found, i));
    return st;
}

static uint64_t device_of(const struct reading *r, struct sto_value segment)
{
    uint64_t device = 0;

    return get_uint(r, segment, KEY_DEVICE, &device) ? device : 0;
}

static int by_address(const void *a, const void *b)
{
    const struct vs_mem_segment *x = a;
    const struct vs_mem_segment *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static enum vs_status segments_read(struct reading *r)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < sto_value_count(r->p, r->segments) && !st; i++) {
        struct sto_value segment = sto_value_at(r->p, r->segments, i);

        if ((int64_t)device_of(r, segment) == r->device)
            st = segment_read(r, segment);
        if (st)
            vs_error_prefix(r->err, "segment %zu", i);
    }
    if (!st && r->list->segment_count)
        qsort(r->list->segments, r->list->segment_count, sizeof(*r->list->segments), by_address);
    return st;
}

/* ---- events ---- */

static enum vs_mem_kind kind_of(struct reading *r, struct sto_value action)
{
    size_t kind = VS_MEM_OTHER;

    for (size_t k = 0; k < VS_MEM_KIND_COUNT; k++)
        if (sto_value_same(r->actions[k], action))
            return (enum vs_mem_kind)k;
    for (size_t k = 0; k < VS_MEM_OTHER && kind == VS_MEM_OTHER; k++)
        if (sto_value_is_text(r->p, action, vs_mem_kind_name((enum vs_mem_kind)k)))
            kind = k;
    r->actions[kind] = action;
    return (enum vs_mem_kind)kind;
}

/* What torch.profiler and `vramscope export` call an allocation; + 1. 0: a word of neither. */
static uint8_t category_of(struct reading *r, struct sto_value word)
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
        if (sto_value_same(r->categories[c], word))
            return (uint8_t)(c + 1);
    for (size_t c = 0; c < VS_CATEGORY_COUNT && found == VS_CATEGORY_COUNT; c++)
        if (sto_value_is_text(r->p, word, vs_category_name((enum vs_category)c)))
            found = c;
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        if (sto_value_is_text(r->p, word, OTHERS[i].name))
            found = OTHERS[i].category;
    if (found == VS_CATEGORY_COUNT)
        return 0;
    r->categories[found] = word;
    return (uint8_t)(found + 1);
}

static bool has(const struct row *row, enum key key)
{
    return row->has >> key & 1;
}

/* False only where there is something else than a number; *out stays where there is nothing. */
static bool row_uint(const struct reading *r, const struct row *row, enum key key, uint64_t *out)
{
    return !has(row, key) || sto_value_int(r->p, row->at[key], out);
}

static void place_set(struct reading *r, struct sto_value frames, struct vs_mem_event *event)
{
    const struct sto_stack *stack = sto_stacks_get(&r->stacks, frames);

    event->stack = stack->id;
    event->op = stack->op;
    event->func = stack->func;
    event->file = stack->file;
    event->line = stack->line;
    event->cls = event->kind == VS_MEM_ALLOC ? stack->cls : (uint8_t)VS_MEM_TENSOR;
}

static enum vs_status event_read(struct reading *r, struct sto_value v)
{
    struct row row;
    struct vs_mem_event *event;
    enum vs_mem_kind kind;
    enum key where;
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t stream = 0;
    uint64_t time_us = 0;
    enum vs_status st = record_take(r);

    if (st)
        return st;
    row.has = sto_value_row(r->p, v, r->columns, row.at);
    if (!has(&row, KEY_ACTION) || sto_value_type(row.at[KEY_ACTION]) != STO_TEXT)
        return wrong(r, "an event", KEY_ACTION);
    kind = kind_of(r, row.at[KEY_ACTION]);
    if (kind == VS_MEM_OTHER) { /* of a fork, or newer: nothing the allocator did */
        r->list->other_count++;
        return VS_OK;
    }
    where = kind == VS_MEM_OOM ? KEY_DEVICE_FREE : KEY_ADDR;
    if (!has(&row, where) || !row_uint(r, &row, where, &address) ||
        (kind == VS_MEM_OOM && !is_count(address)))
        return wrong(r, "an event", where);
    if (!has(&row, KEY_SIZE) || !row_uint(r, &row, KEY_SIZE, &bytes) || !is_count(bytes))
        return wrong(r, "an event", KEY_SIZE);
    if (!row_uint(r, &row, KEY_STREAM, &stream))
        return wrong(r, "an event", KEY_STREAM);
    if (!row_uint(r, &row, KEY_TIME, &time_us) || !is_count(time_us))
        return wrong(r, "an event", KEY_TIME);
    event = vs_memlist_add_event(r->list, kind, address, bytes, stream);
    event->time_us = time_us;
    sto_notes_event(&r->notes, has(&row, KEY_METADATA) ? &row.at[KEY_METADATA] : NULL, time_us);
    if (has(&row, KEY_FRAMES))
        place_set(r, row.at[KEY_FRAMES], event);
    if (kind == VS_MEM_ALLOC && has(&row, KEY_CATEGORY))
        event->category = category_of(r, row.at[KEY_CATEGORY]);
    return VS_OK;
}

static enum vs_status events_read(struct reading *r)
{
    struct sto_value trace;
    enum vs_status st = VS_OK;

    if (r->device < 0 || (uint64_t)r->device >= sto_value_count(r->p, r->traces))
        return VS_OK;
    trace = sto_value_at(r->p, r->traces, (size_t)r->device);
    if (sto_value_type(trace) != STO_LIST)
        return wrong(r, "the snapshot", KEY_TRACES);
    for (size_t i = 0; i < sto_value_count(r->p, trace) && !st; i++) {
        st = event_read(r, sto_value_at(r->p, trace, i));
        if (st)
            vs_error_prefix(r->err, "event %zu of device %" PRId64, i, r->device);
    }
    return st;
}

/* ---- the device ---- */

/* The devices that have events, and those that have segments, as bits; PyTorch counts at most 64. */
static void devices_find(struct reading *r)
{
    for (size_t i = 0; i < sto_value_count(r->p, r->traces) && i < 64; i++)
        if (sto_value_count(r->p, sto_value_at(r->p, r->traces, i)))
            r->with_events |= UINT64_C(1) << i;
    for (size_t i = 0; i < sto_value_count(r->p, r->segments); i++) {
        uint64_t device = device_of(r, sto_value_at(r->p, r->segments, i));

        if (device < 64)
            r->with_segments |= UINT64_C(1) << device;
    }
}

static enum vs_status device_choose(struct reading *r)
{
    uint64_t among = r->with_events ? r->with_events : r->with_segments;
    const bool takes_first = r->device == STO_SNAPSHOT_FIRST;
    struct vs_text text = {NULL, 0, 0};

    if (r->device != STO_SNAPSHOT_ANY && !takes_first) {
        if (r->device < 64 && (r->with_events | r->with_segments) >> r->device & 1)
            return VS_OK;
        return vs_fail(r->err, VS_E_VALUE, "the snapshot has nothing of device %" PRId64,
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

static void conf_read(struct reading *r, struct sto_value top)
{
    struct sto_value settings;
    struct sto_value conf;
    size_t len = 0;
    const char *text;

    if (!get(r, top, KEY_SETTINGS, &settings) || !get(r, settings, KEY_CONF, &conf))
        return;
    text = sto_value_text(r->p, conf, &len);
    if (text)
        r->list->conf = vs_strndup(text, len);
}

/* One device into a list of its own; once for each. */
static enum vs_status device_read(struct reading *r, int64_t device, struct vs_memlist *list)
{
    enum vs_status st;

    r->list = list;
    r->device = device;
    r->left = r->len / RECORD_BYTES + RECORDS_ANY;
    r->stacks.list = list;
    sto_stacks_begin(&r->stacks);
    r->notes = (struct sto_notes){.pickle = r->p, .list = list};
    sto_notes_begin(&r->notes);
    st = device_choose(r);
    list->devices = r->with_events | r->with_segments;
    if (!st)
        st = segments_read(r);
    list->device = st ? 0 : (uint64_t)r->device;
    if (!st)
        st = events_read(r);
    if (!st && sto_value_type(r->top) == STO_DICT)
        conf_read(r, r->top);
    if (!st && !sto_notes_read(&r->notes, r->top, r->left))
        st = vs_fail(r->err, VS_E_FORMAT,
                     "`external_annotations` are not what PyTorch writes: no list of names with "
                     "stage and time");
    list->has_addresses = true;
    list->has_state = true;
    return st;
}

/* Lets go of nothing where it fails: reading_end does. */
static enum vs_status reading_begin(struct reading *r, const char *bytes, size_t len,
                                    struct vs_error *err)
{
    enum vs_status st = sto_pickle_read(bytes, len, &r->p, err);

    if (st)
        return st;
    r->len = len;
    r->err = err;
    for (size_t i = 0; i < KEY_COUNT; i++)
        r->keys[i] = sto_pickle_key(r->p, KEY_NAMES[i]);
    r->columns = sto_columns_new(r->p, KEY_NAMES, KEY_COUNT);
    r->stacks.pickle = r->p;
    r->top = sto_pickle_top(r->p);
    r->segments = r->top;
    if (sto_value_type(r->top) != STO_LIST && !get_list(r, r->top, KEY_SEGMENTS, &r->segments))
        return vs_fail(r->err, VS_E_FORMAT,
                       "it is a pickle, but no memory snapshot: it has no `segments`");
    if (sto_value_type(r->top) == STO_DICT && get(r, r->top, KEY_TRACES, &r->traces) &&
        sto_value_type(r->traces) != STO_LIST)
        return wrong(r, "the snapshot", KEY_TRACES);
    devices_find(r);
    return VS_OK;
}

static void reading_end(struct reading *r)
{
    sto_stacks_release(&r->stacks);
    sto_columns_free(r->columns);
    sto_pickle_free(r->p);
}

bool sto_snapshot_is(const char *bytes, size_t len)
{
    /* protocol 2 and later say so; before, a dict or list begins by itself, and no text that we read begins like one */
    return len > 2 && (((unsigned char)bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5) ||
                       (bytes[0] && strchr("(}]", bytes[0]) != NULL));
}

enum vs_status sto_snapshot_read(const char *bytes, size_t len, int64_t device,
                                 struct vs_memlist *out, struct vs_error *err)
{
    struct reading r = {.p = NULL};
    enum vs_status st = reading_begin(&r, bytes, len, err);

    if (!st)
        st = device_read(&r, device, out);
    reading_end(&r);
    return st;
}

enum vs_status sto_snapshot_read_all(const char *bytes, size_t len, struct vs_memlist **out,
                                     size_t *count, struct vs_error *err)
{
    struct reading r = {.p = NULL};
    enum vs_status st = reading_begin(&r, bytes, len, err);
    const uint64_t devices = r.with_events | r.with_segments;

    *count = devices & (devices - 1) ? (size_t)__builtin_popcountll(devices) : 1;
    *out = vs_calloc(*count, sizeof(**out));
    if (!st && *count == 1)
        st = device_read(&r, STO_SNAPSHOT_FIRST, *out);
    for (int64_t device = 0, i = 0; device < 64 && *count > 1 && !st; device++)
        if (devices >> device & 1)
            st = device_read(&r, device, &(*out)[i++]);
    reading_end(&r);
    return st;
}
