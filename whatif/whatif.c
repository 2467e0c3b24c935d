/*
 * whatif/whatif.c - see whatif.h.
 *
 * Must not know:  files, clocks.
 * Invariant:      the only file of whatif/ that runs the net language.
 */
#include "whatif/whatif.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/core/observer.h"
#include "lang/run/inplace_checks.h"
#include "lang/run/library.h"
#include "lang/run/plan.h"
#include "lang/run/run.h"
#include "replay/trace/trace_internal.h"
#include "replay/trace/trace_mem.h"
#include "whatif/alloc.h"
#include "whatif/price.h"

/* ---- the engine's observer, into a trace in memory ---- */

/* `user` is the table of the trace itself: this is called for every event, so it avoids further indirections. */
static void on_event(void *user, const struct vs_event *event)
{
    rpl_mem_event(user, event);
}

static uint32_t on_string(void *user, const char *text)
{
    return rpl_mem_string(user, text);
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    return rpl_mem_location(user, location);
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    rpl_mem_tensor(user, desc);
}

/* A run is kept in memory: of more events than this it is refused, which is 1.8 GiB. */
#define EVENTS_MAX (UINT64_C(1) << 25)

/* $VRAMSCOPE_WHATIF_EVENTS, if it is a number, instead. */
static uint64_t events_max(void)
{
    const char *text = getenv("VRAMSCOPE_WHATIF_EVENTS");
    char *end = NULL;
    const uint64_t number = text ? strtoull(text, &end, 10) : 0;

    return number && !*end ? number : EVENTS_MAX;
}

/*
 * The listeners of a run: the trace, and the callbacks for progress and for printed text, each NULL or with `user`;
 * done and total as reported last. events_max: with more the run stops; is_too_long: it did.
 */
struct listeners {
    struct rpl_trace *out;
    uint64_t events_max;
    bool is_too_long;
    rpl_progress_fn *progress;
    wif_print_fn *print;
    void *user;
    uint64_t done;
    uint64_t total;
};

static void on_started(void *user, const struct vs_toggles *in_force, const bool *is_default)
{
    struct rpl_trace *out = ((struct listeners *)user)->out;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        rpl_trace_set_toggle(out, vs_toggle_info((enum vs_toggle)i)->name,
                             vs_toggles_get(in_force, (enum vs_toggle)i), is_default[i]);
}

/* Whether the run has too many events already or, as its first two steps show, will have more than twice as many. */
static bool is_too_long(const struct listeners *listeners)
{
    const uint64_t count = listeners->out ? rpl_trace_event_count(listeners->out) : 0;

    return count > listeners->events_max ||
           (listeners->done >= (uint64_t)2 * VS_PHASE_COUNT &&
            count * listeners->total > 2 * listeners->events_max * listeners->done);
}

/* A phase has ended: report the phases so far, without the set-up. */
static bool on_progress(void *user, const struct lang_progress *progress)
{
    struct listeners *listeners = user;

    listeners->total = (uint64_t)progress->steps * VS_PHASE_COUNT;
    listeners->done = progress->step < 0 ? 0
                                         : (uint64_t)progress->step * VS_PHASE_COUNT +
                                               (uint64_t)progress->phase + 1;
    listeners->is_too_long = is_too_long(listeners);
    if (listeners->is_too_long)
        return false;
    return !listeners->progress ||
           listeners->progress(listeners->user, listeners->done, listeners->total);
}

/* Within a phase or an in-place check: report the same progress again, to poll whether to stop. */
static bool on_stop(void *user)
{
    const struct listeners *listeners = user;

    return !listeners->progress(listeners->user, listeners->done, listeners->total);
}

/* Without a listener, output of the net is discarded: it was printed when it was recorded. */
static void on_print(void *user, const char *text, size_t len)
{
    const struct listeners *listeners = user;

    if (listeners->print)
        listeners->print(listeners->user, text, len);
}

static void on_note(void *user, const char *key, const char *value)
{
    rpl_trace_set_meta(user, key, value);
}

/* ---- why a value has no effect ---- */

/* The reason of a line "NAME VALUE: reason"; NULL: the line is about something else. */
static const char *reason_of(const char *line, const char *name, const char *value)
{
    size_t n = strlen(name);
    size_t v = strlen(value);

    if (strncmp(line, name, n) != 0 || line[n] != ' ' || strncmp(line + n + 1, value, v) != 0 ||
        strncmp(line + n + 1 + v, ": ", 2) != 0)
        return NULL;
    return line + n + v + 3;
}

const char *wif_no_effect(const struct rpl_trace *out, enum vs_toggle toggle, const char *value)
{
    const char *line = rpl_trace_meta(out, "refused");
    const char *name = vs_toggle_info(toggle)->name;
    bool is_refused = false;

    while (line && *line) {
        const char *reason = reason_of(line, name, value);

        if (reason)
            return reason;
        is_refused |= strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ' ';
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    /* In-place was tried for all modules, and none of them accepted it. */
    if (toggle == VS_TOGGLE_INPLACE && is_refused && !rpl_trace_meta(out, "inplace"))
        return "the old value is needed of every module that could work in place";
    return NULL;
}

/* ---- the run ---- */

enum vs_status wif_toggles(const struct rpl_trace *base, struct vs_toggles *out,
                           struct vs_error *err)
{
    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(base, i);
        enum vs_status st = VS_OK;

        if (!toggle.is_default)
            st = vs_toggles_set_named(out, toggle.name, toggle.value, err);
        if (st) {
            vs_error_prefix(err, "the trace");
            return st;
        }
    }
    return VS_OK;
}

/* The device of a run, as in struct lang_settings, and the callbacks for progress and printed text or NULL. */
struct device {
    uint64_t capacity;
    const uint64_t *addresses;
    size_t count;
    rpl_progress_fn *progress;
    wif_print_fn *print;
    void *user;
};

/* Number of events of the recording that are read between two polls whether to stop. */
#define POLL_INTERVAL 16384

/*
 * The steps that a GradScaler skipped in the recording: a run without data cannot determine them. The caller frees
 * *out with vs_free.
 */
static enum vs_status skipped_steps(struct rpl_trace *base, const struct device *device,
                                    struct lang_skip **out, size_t *count, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    uint64_t events = rpl_trace_event_count(base);
    enum vs_status st = VS_OK;
    int64_t step = -1;
    size_t cap = 0;

    *out = NULL;
    *count = 0;
    if (events)
        rpl_scan_init(scan, base, 1, events);
    while (events && !st && (event = rpl_scan_next(scan, err)) != NULL) {
        if (scan->seq % POLL_INTERVAL == 0 && device->progress &&
            !device->progress(device->user, 0, 0))
            st = vs_fail(err, VS_E_STOPPED, "stopped");
        if (event->kind == VS_EV_STEP)
            step = vs_event_step(event);
        if (event->kind != VS_EV_SKIP_STEP)
            continue;
        *out = vs_grow(*out, *count, &cap, sizeof(**out));
        (*out)[(*count)++] = (struct lang_skip){step, event->skip_step.call};
    }
    if (events && !st)
        st = scan->status;
    vs_free(scan);
    return st;
}

/* True if `set` does not change any toggle of the recording. */
static bool is_unchanged(const struct rpl_trace *base, const struct vs_toggles *set)
{
    for (size_t i = 0; set && i < rpl_trace_toggle_count(base); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(base, i);

        for (size_t k = 0; k < VS_TOGGLE_COUNT; k++)
            if (!strcmp(vs_toggle_info((enum vs_toggle)k)->name, toggle.name) &&
                vs_toggles_is_set(set, (enum vs_toggle)k) &&
                strcmp(vs_toggles_get(set, (enum vs_toggle)k), toggle.value) != 0)
                return false;
    }
    return true;
}

/*
 * The addresses at which the driver of a GPU put the recorded segments, which decide between free blocks of equal
 * size: an unchanged run uses them again. The caller frees *out with vs_free.
 */
static enum vs_status recorded_addresses(struct rpl_trace *base, uint64_t **out, size_t *count,
                                         struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    uint64_t events = rpl_trace_event_count(base);
    enum vs_status st = VS_OK;
    size_t cap = 0;

    if (events)
        rpl_scan_init(scan, base, 1, events);
    while (events && (event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind != VS_EV_SEGMENT_ALLOC)
            continue;
        *out = vs_grow(*out, *count, &cap, sizeof(**out));
        (*out)[(*count)++] = event->segment.address;
    }
    if (events)
        st = scan->status;
    vs_free(scan);
    return st;
}

/* Set toggles, seed, capacity and source of the new trace. */
static void out_begin(struct rpl_trace *out, const struct rpl_trace *base, uint64_t capacity)
{
    static const char *const KEPT[] = {"seed", "source_kind"};

    rpl_trace_clear(out);
    rpl_trace_set_source(out, rpl_trace_source_name(base), rpl_trace_source_text(base));
    rpl_trace_set_meta(out, "device", "meta");
    for (size_t i = 0; i < sizeof(KEPT) / sizeof(KEPT[0]); i++)
        if (rpl_trace_meta(base, KEPT[i]))
            rpl_trace_set_meta(out, KEPT[i], rpl_trace_meta(base, KEPT[i]));
    if (capacity) {
        char text[24];

        snprintf(text, sizeof(text), "%" PRIu64, capacity);
        rpl_trace_set_meta(out, "capacity", text);
    }
}

/* Merge `set` over the toggles of the recording. */
static enum vs_status toggles_merge(const struct rpl_trace *base, const struct vs_toggles *set,
                                    struct vs_toggles *out, struct vs_error *err)
{
    enum vs_status st = wif_toggles(base, out, err);

    for (size_t i = 0; i < VS_TOGGLE_COUNT && !st; i++)
        if (set && vs_toggles_is_set(set, (enum vs_toggle)i))
            st =
                vs_toggles_set(out, (enum vs_toggle)i, vs_toggles_get(set, (enum vs_toggle)i), err);
    return st;
}

/* What all runs of the net of a trace share; attached to the trace as its user data. */
struct shared {
    struct lang_library *library;
    struct lang_inplace_checks *inplace_checks;
    struct lang_plans *plans;
};

static void shared_free(void *user_data)
{
    struct shared *shared = user_data;

    lang_inplace_checks_free(shared->inplace_checks);
    lang_plans_free(shared->plans);
    lang_library_free(shared->library);
    vs_free(shared);
}

/*
 * What all what-ifs of a trace share: the parsed prelude, the results of the in-place checks and the placements of
 * checkpoints. They are computed once and do not change the result of a run.
 */
static enum vs_status shared_of(struct rpl_trace *base, const struct shared **out,
                                struct vs_error *err)
{
    struct shared *shared = rpl_trace_user_data(base);
    enum vs_status st = VS_OK;

    if (!shared) {
        shared = vs_calloc(1, sizeof(*shared));
        shared->inplace_checks = lang_inplace_checks_new();
        shared->plans = lang_plans_new();
        rpl_trace_set_user_data(base, shared, shared_free);
    }
    if (!shared->library)
        st = lang_library_new(&shared->library, err);
    *out = shared;
    return st;
}

uint64_t wif_capacity(const struct rpl_trace *base)
{
    uint64_t capacity = 0;

    return rpl_trace_meta_uint(base, "capacity", &capacity) ? capacity : 0;
}

/*
 * Without a net only the requests can be run again. On the recorded device the recording itself shows when it was
 * full.
 */
static enum vs_status run_imported(struct rpl_trace *base, const struct vs_toggles *set,
                                   const struct device *device, struct rpl_trace *out,
                                   struct vs_error *err)
{
    uint64_t capacity = device->capacity == wif_capacity(base) ? 0 : device->capacity;

    return wif_alloc_run(base, set, capacity, device->progress, device->user, out, err);
}

/*
 * What a run of the net of `base` needs, but for what it reports to. The caller releases *toggles and frees *skips,
 * which settings borrows, also after a failure.
 */
static enum vs_status settings_make(struct rpl_trace *base, const struct vs_toggles *set,
                                    const struct device *device, struct lang_settings *settings,
                                    struct vs_toggles *toggles, struct lang_skip **skips,
                                    struct vs_error *err)
{
    const struct shared *shared = NULL;
    enum vs_status st = toggles_merge(base, set, toggles, err);

    settings->file_name = rpl_trace_source_name(base);
    settings->text = rpl_trace_source_text(base);
    settings->len = strlen(settings->text);
    settings->toggles = toggles;
    settings->capacity = device->capacity;
    settings->stop = device->progress ? on_stop : NULL;
    settings->print = on_print;
    if (!st)
        st = shared_of(base, &shared, err);
    /* Only dynamic loss scaling skips steps; reading a whole file would take most of the time of a small net's run. */
    if (!st && wif_scales_loss(vs_toggles_get(toggles, VS_TOGGLE_AMP)))
        st = skipped_steps(base, device, skips, &settings->skip_count, err);
    if (st)
        return st;
    settings->library = shared->library;
    settings->inplace_checks = shared->inplace_checks;
    settings->plans = shared->plans;
    settings->skips = *skips;
    settings->workspaces = rpl_trace_meta(base, "workspaces");
    if (!rpl_trace_meta_uint(base, "seed", &settings->seed))
        settings->seed = 0;
    return VS_OK;
}

/* Whether `base` has a net that can be run again. */
static enum vs_status net_check(const struct rpl_trace *base, struct vs_error *err)
{
    if (rpl_trace_source_text(base))
        return VS_OK;
    return vs_fail(err, VS_E_UNSUPPORTED,
                   "this trace has no net, so no toggle can be tried on it; record a net file "
                   "to run what-ifs");
}

static enum vs_status too_long(const struct listeners *listeners, struct vs_error *err)
{
    char events[VS_BYTES_TEXT_MAX];
    char steps[VS_BYTES_TEXT_MAX];

    return vs_fail(
        err, VS_E_UNSUPPORTED,
        "%s steps have more than the %s events that a what-if keeps in memory; set steps=3 "
        "to run three of them, or VRAMSCOPE_WHATIF_EVENTS to the events to be kept",
        vs_bytes_exact_text(listeners->total / VS_PHASE_COUNT, steps),
        vs_bytes_exact_text(listeners->events_max, events));
}

static enum vs_status run_on(struct rpl_trace *base, const struct vs_toggles *set,
                             const struct device *device, struct rpl_trace *out,
                             struct vs_error *err)
{
    struct eng_observer observer = {rpl_trace_memory(out), on_event, on_string, on_location,
                                    on_tensor};
    struct listeners listeners = {.out = out,
                                  .events_max = events_max(),
                                  .progress = device->progress,
                                  .print = device->print,
                                  .user = device->user};
    struct vs_toggles toggles = {{NULL}};
    struct lang_settings settings = {.observer = &observer,
                                     .segment_addresses = device->addresses,
                                     .segment_count = device->count,
                                     .user = &listeners,
                                     .started = on_started,
                                     .progress = on_progress};
    struct lang_result result;
    uint64_t *addresses = NULL;
    struct lang_skip *skips = NULL;
    enum vs_status st;

    memset(&result, 0, sizeof(result));
    if (!rpl_trace_source_text(base) && rpl_trace_is_imported(base) && !rpl_trace_is_program(base))
        return run_imported(base, set, device, out, err);
    st = net_check(base, err);
    if (st)
        return st;
    st = settings_make(base, set, device, &settings, &toggles, &skips, err);
    if (st)
        goto out;
    /* With another capacity segments are returned at other times, and two could get the same address. */
    if (rpl_trace_meta(base, "gpu") && !device->addresses && is_unchanged(base, set) &&
        device->capacity == wif_capacity(base)) {
        st = recorded_addresses(base, &addresses, &settings.segment_count, err);
        settings.segment_addresses = addresses;
        if (st)
            goto out;
    }
    out_begin(out, base, device->capacity);
    st = lang_run(&settings, &result, err);
    if (st == VS_E_OOM && result.has_oom)
        st = VS_OK;
    if (st && listeners.is_too_long)
        st = too_long(&listeners, err);
    wif_run_notes(&result, on_note, out);
out:
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    vs_free(addresses);
    vs_free(skips);
    return st;
}

void wif_placement_release(struct wif_placement *placement)
{
    vs_free(placement->regions);
    memset(placement, 0, sizeof(*placement));
}

enum vs_status wif_place(struct rpl_trace *base, const struct vs_toggles *set, uint64_t budget,
                         rpl_progress_fn *progress, void *user, struct wif_placement *out,
                         struct vs_error *err)
{
    struct device device = {.progress = progress, .user = user};
    struct listeners listeners = {.progress = progress, .user = user};
    struct lang_settings settings = {.user = &listeners};
    struct vs_toggles toggles = {{NULL}};
    struct lang_placement found = {0};
    struct lang_skip *skips = NULL;
    enum vs_status st = net_check(base, err);

    memset(out, 0, sizeof(*out));
    if (st)
        return st;
    st = settings_make(base, set, &device, &settings, &toggles, &skips, err);
    if (!st)
        st = lang_plan_find(&settings, budget, &found, err);
    if (!st)
        *out = (struct wif_placement){found.peak, found.recompute_flops, found.total_flops,
                                      found.text};
    vs_toggles_release(&toggles);
    vs_free(skips);
    return st;
}

enum vs_status wif_run(struct rpl_trace *base, const struct vs_toggles *set, struct rpl_trace *out,
                       struct vs_error *err)
{
    return wif_run_on(base, set, wif_capacity(base), out, err);
}

enum vs_status wif_run_on(struct rpl_trace *base, const struct vs_toggles *set, uint64_t capacity,
                          struct rpl_trace *out, struct vs_error *err)
{
    return run_on(base, set, &(struct device){.capacity = capacity}, out, err);
}

enum vs_status wif_run_observed(struct rpl_trace *base, const struct vs_toggles *set,
                                uint64_t capacity, rpl_progress_fn *progress, void *user,
                                struct rpl_trace *out, struct vs_error *err)
{
    return run_on(base, set,
                  &(struct device){.capacity = capacity, .progress = progress, .user = user}, out,
                  err);
}

enum vs_status wif_run_printed(struct rpl_trace *base, const struct vs_toggles *set,
                               wif_print_fn *print, void *user, struct rpl_trace *out,
                               struct vs_error *err)
{
    return run_on(base, set,
                  &(struct device){.capacity = wif_capacity(base), .print = print, .user = user},
                  out, err);
}

enum vs_status wif_prepare(struct rpl_trace *base, bool *did, struct vs_error *err)
{
    const struct shared *known = rpl_trace_user_data(base);

    *did = rpl_trace_source_text(base) && !(known && known->library);
    return *did ? shared_of(base, &known, err) : VS_OK;
}

enum vs_status wif_run_placed(struct rpl_trace *base, const struct vs_toggles *set,
                              const uint64_t *addresses, size_t count, struct rpl_trace *out,
                              struct vs_error *err)
{
    return run_on(
        base, set,
        &(struct device){.capacity = wif_capacity(base), .addresses = addresses, .count = count},
        out, err);
}
