/*
 * whatif/alloc.c - see alloc.h.
 *
 * Must not know:  files, the net language.
 * Invariant:      events that are not allocator events (steps, phases, categories) are at the same positions between
 *                 the requests as in the trace.
 */
#include "whatif/alloc.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/target.h"
#include "base/text.h"
#include "engine/alloc_history/rerun.h"
#include "whatif/record.h"

/* Progress is reported once per this many requests. */
#define PROGRESS_INTERVAL 4096

/* A freed block that waits until another stream has finished using it. */
struct waiting {
    uint64_t address;
    uint64_t block;
};

/*
 * next       index of the next event of the trace to emit again
 * waiting    the freed blocks that wait now
 * fits       requests that were refused in the recording and fit now
 * locations, strings  those of the result for each of the trace, which may have one twice: once per device
 */
struct rerun {
    struct rpl_trace *out;
    uint32_t *locations;
    uint32_t *strings;
    uint32_t string_count;
    struct wif_record rec;
    struct waiting *waiting;
    size_t waiting_count, waiting_cap;
    struct eng_alloc_conf recorded;
    struct eng_alloc_conf conf;
    struct eng_rerun *rerun;
    size_t next;
    uint64_t fits;
};

/* ---- the result ---- */

/* Emit the events that are not allocator events, up to the trace's event `end`. */
static void others_emit(struct rerun *a, size_t end)
{
    for (; a->next < end; a->next++) {
        const struct vs_event *event = &a->rec.events[a->next];
        uint64_t *strings[VS_EVENT_STRINGS_MAX];
        struct vs_event copy;

        switch ((enum vs_event_kind)event->kind) {
        case VS_EV_ALLOC:
        case VS_EV_FREE:
        case VS_EV_FREE_COMPLETED:
        case VS_EV_ANY_SEGMENT:
        case VS_EV_OOM:
            break;
        case VS_EV_ANY_OF_PROGRAM:
        case VS_EVENT_KIND_COUNT:
            copy = *event;
            copy.location = a->locations[event->location];
            for (size_t k = vs_event_strings(&copy, strings); k-- > 0;)
                *strings[k] = *strings[k] <= a->string_count ? a->strings[*strings[k]] : 0;
            rpl_trace_add_event(a->out, &copy);
            break;
        }
    }
}

static void waiting_add(struct rerun *a, const struct vs_event *event)
{
    a->waiting = vs_grow(a->waiting, a->waiting_count, &a->waiting_cap, sizeof(*a->waiting));
    a->waiting[a->waiting_count++] = (struct waiting){event->free.address, event->free.block};
}

/* Remove the waiting block at the address, and return its number; 0: there is none. */
static uint64_t waiting_take(struct rerun *a, uint64_t address)
{
    for (size_t i = a->waiting_count; i-- > 0;)
        if (a->waiting[i].address == address) {
            uint64_t block = a->waiting[i].block;

            a->waiting[i] = a->waiting[--a->waiting_count];
            return block;
        }
    return 0;
}

/*
 * The block that an allocation or a free is about: one of the recording, or a new one for a request that was refused
 * and fits now.
 */
static uint64_t block_of(const struct rerun *a, const struct vs_event *from)
{
    return from->kind == VS_EV_OOM ? a->rec.last + a->fits : vs_event_block(from);
}

/* The category of what was refused: that of the latest allocation before it at the same place, or else `other`. */
static uint8_t refused_category(const struct rerun *a, const struct vs_event *oom)
{
    for (const struct vs_event *event = oom; event-- > a->rec.events;)
        if (event->kind == VS_EV_ALLOC && event->location == oom->location)
            return event->alloc.category;
    return VS_CAT_OTHER;
}

static void alloc_fill(const struct rerun *a, const struct vs_event *from,
                       const struct eng_alloc_event *ev, struct vs_event *out)
{
    const bool is_recorded = from->kind == VS_EV_ALLOC;

    out->kind = VS_EV_ALLOC;
    out->alloc.block = block_of(a, from);
    out->alloc.requested_bytes = ev->bytes;
    out->alloc.block_bytes = eng_block_bytes(ev->block);
    out->alloc.address = ev->address;
    out->alloc.tensor = is_recorded ? from->alloc.tensor : 0;
    out->alloc.category = is_recorded ? from->alloc.category : refused_category(a, from);
}

static void free_fill(struct rerun *a, const struct vs_event *from,
                      const struct eng_alloc_event *ev, struct vs_event *out)
{
    out->kind = VS_EV_FREE;
    out->free.block = block_of(a, from);
    out->free.requested_bytes = ev->bytes;
    out->free.block_bytes = eng_block_bytes(ev->block);
    out->free.address = ev->address;
    out->free.waits_for_stream = from->kind == VS_EV_FREE ? from->free.waits_for_stream : 0;
    if (out->free.waits_for_stream)
        waiting_add(a, out);
}

/* False if no block waits there, so no event is needed. */
static bool completed_fill(struct rerun *a, const struct eng_alloc_event *ev, struct vs_event *out)
{
    out->kind = VS_EV_FREE_COMPLETED;
    out->free.block = waiting_take(a, ev->address);
    out->free.requested_bytes = ev->bytes;
    out->free.block_bytes = eng_block_bytes(ev->block);
    out->free.address = ev->address;
    return out->free.block != 0;
}

static void on_event(void *user, const struct eng_alloc_event *ev)
{
    static const uint8_t KINDS[ENG_ALLOC_EV_COUNT] = {
        [ENG_ALLOC_EV_SEGMENT_ALLOC] = VS_EV_SEGMENT_ALLOC,
        [ENG_ALLOC_EV_SEGMENT_FREE] = VS_EV_SEGMENT_FREE,
        [ENG_ALLOC_EV_SEGMENT_MAP] = VS_EV_SEGMENT_MAP,
        [ENG_ALLOC_EV_SEGMENT_UNMAP] = VS_EV_SEGMENT_UNMAP,
        [ENG_ALLOC_EV_OOM] = VS_EV_OOM,
    };
    struct rerun *a = user;
    const size_t asked = a->rec.from[eng_rerun_at(a->rerun)];
    const size_t at =
        eng_rerun_is_same(a->rerun) ? a->rec.from[eng_rerun_equal(a->rerun) - 1] : asked;
    const struct vs_event *from = &a->rec.events[asked];
    struct vs_event out = {.kind = KINDS[ev->kind],
                           .time_ns = a->rec.events[at].time_ns,
                           .location = a->locations[a->rec.events[at].location]};

    others_emit(a, at);
    if (ev->kind == ENG_ALLOC_EV_ALLOC && from->kind == VS_EV_OOM)
        a->fits++;
    if (ev->kind == ENG_ALLOC_EV_ALLOC) {
        alloc_fill(a, from, ev, &out);
    } else if (ev->kind == ENG_ALLOC_EV_FREE_REQUESTED) {
        free_fill(a, from, ev, &out);
    } else if (ev->kind == ENG_ALLOC_EV_FREE_COMPLETED) {
        if (!completed_fill(a, ev, &out))
            return;
    } else if (ev->kind == ENG_ALLOC_EV_OOM) {
        out.oom.stream = ev->stream;
        out.oom.requested_bytes = ev->bytes;
        out.oom.segment_bytes = eng_alloc_segment_bytes(&a->conf, ev->bytes);
        out.oom.device_free_bytes = ev->address;
    } else {
        out.segment.stream = ev->stream;
        out.segment.bytes = ev->bytes;
        out.segment.address = ev->address;
        out.segment.size_pool = ev->is_small ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
    }
    rpl_trace_add_event(a->out, &out);
}

/* Pre-existing blocks are emitted as recorded. */
static void start_event(struct rerun *a, const struct vs_event *event)
{
    if (event->kind == VS_EV_FREE)
        waiting_add(a, event);
    rpl_trace_add_event(a->out, event);
}

static enum vs_status run(struct rerun *a, uint64_t capacity, rpl_progress_fn *progress, void *user,
                          struct vs_error *err)
{
    struct eng_rerun_options options = {.start = &a->rec.state,
                                        .events = a->rec.record,
                                        .event_count = a->rec.record_count,
                                        .recorded = &a->recorded,
                                        .conf = &a->conf,
                                        .capacity = capacity,
                                        .listener = {.user = a, .event = on_event}};
    enum vs_status st = eng_rerun_new(&options, &a->rerun, err);
    bool more = a->rec.record_count > 0;

    for (; !st && a->next < a->rec.start_count; a->next++)
        start_event(a, &a->rec.events[a->next]);
    while (!st && more) {
        const size_t at = eng_rerun_next(a->rerun);

        st = eng_rerun_step(a->rerun, &more, err);
        if (!st && at % PROGRESS_INTERVAL == 0 && progress &&
            !progress(user, at, a->rec.record_count))
            st = vs_fail(err, VS_E_STOPPED, "stopped");
    }
    if (!st && !eng_rerun_has_failed(a->rerun))
        others_emit(a, a->rec.event_count);
    return st;
}

/* ---- meta data ---- */

static void meta_uint(struct rpl_trace *out, const char *key, uint64_t value)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%" PRIu64, value);
    rpl_trace_set_meta(out, key, vs_text_get(&text));
    vs_text_release(&text);
}

static void notes_add(const struct rerun *a, const struct vs_toggles *set)
{
    struct vs_text text = {NULL, 0, 0};
    uint64_t bytes = 0;
    char buf[VS_BYTES_TEXT_MAX];

    for (size_t i = 0; i < a->rec.state.segment_count; i++)
        bytes += a->rec.state.segments[i].bytes;
    if (set && vs_toggles_is_set(set, VS_TOGGLE_ALLOC_CONF) && bytes)
        vs_text_addf(
            &text,
            "alloc-conf: %s were reserved in %zu segments before the recording began; they "
            "stay as they were made",
            vs_bytes_text(bytes, buf), a->rec.state.segment_count);
    if (a->fits)
        vs_text_addf(&text,
                     "%sout of memory: %" PRIu64 " refused requests fit now; each is given back at "
                     "once, and the run goes on as the recorded one did after it was refused",
                     text.len ? "\n" : "", a->fits);
    if (text.len)
        rpl_trace_set_meta(a->out, "refused", vs_text_get(&text));
    vs_text_release(&text);
}

static void end_note(const struct rerun *a)
{
    struct eng_record_state state = {.segments = NULL};

    eng_record_state_of(eng_rerun_alloc(a->rerun), &state);
    meta_uint(a->out, "end_segments", state.segment_count);
    meta_uint(a->out, "end_blocks", state.block_count);
    eng_record_state_release(&state);
    if (eng_rerun_capacity(a->rerun) != ENG_NO_LIMIT)
        meta_uint(a->out, "capacity", eng_rerun_capacity(a->rerun));
}

static uint32_t string_in(struct rpl_trace *out, const struct rpl_trace *base, uint32_t id)
{
    return id ? rpl_trace_add_string(out, rpl_trace_string(base, id)) : 0;
}

/* A trace of several devices has a string once per device; the result has it once. */
static void locations_add(struct rerun *a, const struct rpl_trace *base)
{
    const uint32_t count = rpl_trace_location_count(base);

    a->locations = vs_calloc((size_t)count + 1, sizeof(*a->locations));
    a->string_count = rpl_trace_string_count(base);
    a->strings = vs_calloc((size_t)a->string_count + 1, sizeof(*a->strings));
    for (uint32_t i = 1; i <= a->string_count; i++)
        a->strings[i] = rpl_trace_add_string(a->out, rpl_trace_string(base, i));
    for (uint32_t i = 1; i <= count; i++) {
        struct vs_location location = *rpl_trace_location(base, i);

        location.module = string_in(a->out, base, location.module);
        location.func = string_in(a->out, base, location.func);
        location.op = string_in(a->out, base, location.op);
        a->locations[i] = rpl_trace_add_location(a->out, &location);
    }
}

/* Copy the meta data of the recording that the what-if does not change. */
static void out_begin(struct rerun *a, const struct rpl_trace *base, const struct vs_toggles *set)
{
    static const char *const KEPT[] = {
        "source_kind",    "source_name",   "device",      "device_number",  "blocks_before",
        "start_events",   "alloc_conf",    "derived",     "derived_from",   "steps_by",
        "steps_alike",    "observed",      "observed_of", "observed_ended", "observed_between",
        "observed_saves", "recomputed_ops"};

    rpl_trace_clear(a->out);
    locations_add(a, base);
    for (uint32_t i = 1; i <= rpl_trace_tensor_count(base); i++) {
        struct vs_tensor_desc desc;

        if (rpl_trace_tensor(base, i, &desc))
            rpl_trace_add_tensor(a->out, &desc);
    }
    for (size_t i = 0; i < sizeof(KEPT) / sizeof(KEPT[0]); i++)
        if (rpl_trace_meta(base, KEPT[i]))
            rpl_trace_set_meta(a->out, KEPT[i], rpl_trace_meta(base, KEPT[i]));
    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(base, i);

        rpl_trace_set_toggle(a->out, toggle.name, toggle.value, toggle.is_default);
    }
    for (int i = 0; set && i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            rpl_trace_set_toggle(a->out, vs_toggle_info((enum vs_toggle)i)->name,
                                 vs_toggles_get(set, (enum vs_toggle)i), false);
}

/* ---- settings ---- */

static enum vs_status toggles_check(const struct vs_toggles *set, struct vs_error *err)
{
    for (int i = 0; set && i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i) && i != VS_TOGGLE_ALLOC_CONF &&
            i != VS_TOGGLE_TARGET)
            return vs_fail(
                err, VS_E_UNSUPPORTED,
                "this trace has no net (it was imported), so `%s` cannot be tried on "
                "it; alloc-conf and target, which need only its requests, can. To try other "
                "toggles, record the net itself",
                vs_toggle_info((enum vs_toggle)i)->name);
    return VS_OK;
}

static enum vs_status confs_parse(struct rerun *a, const struct rpl_trace *base,
                                  const struct vs_toggles *set, struct vs_error *err)
{
    const char *recorded = rpl_trace_meta(base, "alloc_conf");
    enum vs_status st = VS_OK;

    eng_alloc_conf_init(&a->recorded);
    if (recorded)
        st = eng_alloc_conf_parse(recorded, &a->recorded, err);
    a->conf = a->recorded;
    if (st || !set || !vs_toggles_is_set(set, VS_TOGGLE_ALLOC_CONF))
        return st;
    eng_alloc_conf_init(&a->conf);
    if (vs_toggles_is(set, VS_TOGGLE_ALLOC_CONF, "default"))
        return VS_OK;
    st = eng_alloc_conf_parse(vs_toggles_get(set, VS_TOGGLE_ALLOC_CONF), &a->conf, err);
    if (st)
        vs_error_prefix(err, "alloc-conf=%s", vs_toggles_get(set, VS_TOGGLE_ALLOC_CONF));
    return st;
}

enum vs_status wif_alloc_run(struct rpl_trace *base, const struct vs_toggles *set,
                             uint64_t capacity, rpl_progress_fn *progress, void *user,
                             struct rpl_trace *out, struct vs_error *err)
{
    const struct vs_target *target =
        set ? vs_target_find(vs_toggles_get(set, VS_TOGGLE_TARGET)) : NULL;
    struct rerun a = {.out = out};
    const char *partial = rpl_trace_meta(base, "partial");
    enum vs_status st = toggles_check(set, err);

    if (!st && partial)
        st =
            vs_fail(err, VS_E_UNSUPPORTED,
                    "this history was imported in part (%s), so its requests are not all known and "
                    "cannot be run again",
                    partial);
    if (!st)
        st = confs_parse(&a, base, set, err);
    if (st)
        return st;
    out_begin(&a, base, set);
    st = wif_record_fill(&a.rec, base, err);
    if (!st)
        st = run(&a, target && !capacity ? target->capacity_bytes : capacity, progress, user, err);
    if (!st) {
        notes_add(&a, set);
        end_note(&a);
    }
    eng_rerun_free(a.rerun);
    wif_record_release(&a.rec);
    vs_free(a.waiting);
    vs_free(a.locations);
    vs_free(a.strings);
    return st;
}

/* ---- one request ---- */

/* The allocator settings of a trace; NULL: PyTorch's defaults. */
static const char *conf_of(const struct rpl_trace *trace)
{
    if (rpl_trace_meta(trace, "alloc_conf"))
        return rpl_trace_meta(trace, "alloc_conf");
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        if (strcmp(toggle.name, vs_toggle_info(VS_TOGGLE_ALLOC_CONF)->name) == 0 &&
            strcmp(toggle.value, "default") != 0)
            return toggle.value;
    }
    return NULL;
}

enum vs_status wif_request_of(const struct rpl_trace *trace, uint64_t bytes,
                              struct rpl_request *out, struct vs_error *err)
{
    const char *text = conf_of(trace);
    struct eng_alloc_conf conf;
    enum vs_status st = VS_OK;

    eng_alloc_conf_init(&conf);
    if (text)
        st = eng_alloc_conf_parse(text, &conf, err);
    if (st)
        return st;
    /* More than any device has, so that rounding does not overflow. */
    if (bytes > UINT64_MAX / 4)
        bytes = UINT64_MAX / 4;
    out->rounded = eng_alloc_round_bytes(&conf, bytes ? bytes : 1);
    out->segment = eng_alloc_segment_bytes(&conf, out->rounded);
    out->max_split = conf.max_split_bytes == ENG_NO_LIMIT ? UINT64_MAX : conf.max_split_bytes;
    return VS_OK;
}

const char *wif_conf_key(unsigned i, const char **legal, const char **text)
{
    const struct eng_alloc_conf_key *key = eng_alloc_conf_key_get(i);

    if (!key)
        return NULL;
    *legal = key->legal;
    *text = key->text;
    return key->name;
}
