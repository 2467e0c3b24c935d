/*
 * whatif/cache.c - see cache.h.
 *
 * Must not know:  files, drawing.
 * Invariant:      `bytes` is the sum over the complete runs. Reading one makes it larger, so each is measured again
 *                 when it is found or no longer shown.
 */
#include "whatif/cache.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/index/index_internal.h"
#include "replay/report/traffic.h"
#include "replay/trace/trace_internal.h"
#include "replay/trace/trace_mem.h"
#include "whatif/rerun.h"
#include "whatif/whatif.h"

/* A speculative run is stopped when its events alone take more than bytes_max / LARGE_PART. */
#define LARGE_PART 4

/*
 * key    toggles and capacity as text
 * used   clock of its last use
 * bytes  of the complete run
 */
struct entry {
    struct wif_result result;
    char *key;
    uint64_t hash;
    uint64_t used;
    uint64_t bytes;
};

/*
 * shown     what wif_cache_get returned last
 * is_stray  it is not among the entries any more
 * spare     an empty trace whose memory the next run reuses
 * costs     times of the recording, read for the first result
 * may_rerun  the recorded program may be run again
 * offered    a run of it in the background that has the next result; borrowed, NULL: none
 */
struct wif_cache {
    struct rpl_trace *base;
    uint64_t bytes_max;
    struct entry **entries;
    size_t count;
    size_t cap;
    uint64_t bytes;
    uint64_t clock;
    uint64_t runs;
    struct entry *shown;
    bool is_stray;
    struct rpl_trace *spare;
    struct wif_costs *costs;
    bool may_rerun;
    struct wif_rerun_job *offered;
};

struct wif_cache *wif_cache_new(struct rpl_trace *base, uint64_t bytes_max)
{
    struct wif_cache *cache = vs_calloc(1, sizeof(*cache));

    cache->base = base;
    cache->bytes_max = bytes_max;
    return cache;
}

void wif_cache_allow_rerun(struct wif_cache *cache)
{
    cache->may_rerun = true;
}

void wif_cache_offer(struct wif_cache *cache, struct wif_rerun_job *job)
{
    cache->offered = job;
}

/* ---- complete runs ---- */

/* Keep the memory of this trace for the next run, unless it is more than most runs need. */
static void spare_store(struct wif_cache *cache, struct rpl_trace *trace)
{
    rpl_trace_free(cache->spare);
    cache->spare = trace;
    if (rpl_mem_bytes(rpl_trace_memory(trace)) > cache->bytes_max / LARGE_PART) {
        rpl_trace_free(trace);
        cache->spare = NULL;
    }
}

static void entry_recount(struct wif_cache *cache, struct entry *entry)
{
    if (entry != cache->shown)
        rpl_mem_close(rpl_trace_memory(entry->result.trace));
    cache->bytes -= entry->bytes;
    entry->bytes = rpl_mem_bytes(rpl_trace_memory(entry->result.trace)) +
                   rpl_index_bytes(entry->result.index) + rpl_cursor_bytes(entry->result.cursor);
    cache->bytes += entry->bytes;
}

/* Free the complete run; the figures stay. */
static void run_drop(struct wif_cache *cache, struct entry *entry)
{
    struct wif_result *result = &entry->result;

    if (!result->trace)
        return;
    rpl_cursor_free(result->cursor);
    rpl_index_free(result->index);
    spare_store(cache, result->trace);
    result->cursor = NULL;
    result->index = NULL;
    result->trace = NULL;
    cache->bytes -= entry->bytes;
    entry->bytes = 0;
}

static void entry_free(struct wif_cache *cache, struct entry *entry)
{
    run_drop(cache, entry);
    vs_free(entry->result.failure);
    vs_free(entry->result.refused);
    vs_free(entry->key);
    vs_free(entry);
}

/* Free complete runs, the least recently used first, until the rest is within bytes_max. */
static void limit_apply(struct wif_cache *cache)
{
    while (cache->bytes > cache->bytes_max) {
        struct entry *oldest = NULL;

        for (size_t i = 0; i < cache->count; i++) {
            struct entry *entry = cache->entries[i];

            if (entry->result.trace && entry != cache->shown &&
                (!oldest || entry->used < oldest->used))
                oldest = entry;
        }
        if (!oldest)
            return;
        run_drop(cache, oldest);
    }
}

/* The result shown until now may be freed again. */
static void shown_release(struct wif_cache *cache)
{
    struct entry *entry = cache->shown;

    cache->shown = NULL;
    if (!entry)
        return;
    if (cache->is_stray) {
        entry_free(cache, entry);
        cache->is_stray = false;
    } else if (entry->result.trace) {
        entry_recount(cache, entry);
    }
}

/* ---- entries ---- */

/* The key: toggles of `set` in the order of the table, and the capacity. The caller frees it. */
static char *key_of(const struct vs_toggles *set, uint64_t capacity)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%" PRIu64, capacity);
    for (int i = 0; set && i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            vs_text_addf(&text, " %s=%s", vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(set, (enum vs_toggle)i));
    return vs_text_take(&text);
}

static struct entry *entry_find(struct wif_cache *cache, const char *key)
{
    const uint64_t hash = vs_hash_bytes(key, strlen(key));

    for (size_t i = 0; i < cache->count; i++) {
        struct entry *entry = cache->entries[i];

        if (entry->hash == hash && strcmp(entry->key, key) == 0) {
            entry->used = ++cache->clock;
            return entry;
        }
    }
    return NULL;
}

/* Remove the least recently used figures. */
static void entry_drop_oldest(struct wif_cache *cache)
{
    size_t oldest = SIZE_MAX;

    for (size_t i = 0; i < cache->count; i++)
        if (cache->entries[i] != cache->shown &&
            (oldest == SIZE_MAX || cache->entries[i]->used < cache->entries[oldest]->used))
            oldest = i;
    entry_free(cache, cache->entries[oldest]);
    cache->entries[oldest] = cache->entries[--cache->count];
}

/* Add an entry without a result; takes ownership of `key`. */
static struct entry *entry_add(struct wif_cache *cache, char *key)
{
    struct entry *entry = vs_calloc(1, sizeof(*entry));

    if (cache->count == WIF_FIGURES_MAX)
        entry_drop_oldest(cache);
    entry->key = key;
    entry->hash = vs_hash_bytes(key, strlen(key));
    entry->used = ++cache->clock;
    cache->entries = vs_grow(cache->entries, cache->count, &cache->cap, sizeof(*cache->entries));
    cache->entries[cache->count++] = entry;
    return entry;
}

void wif_cache_forget(struct wif_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        if (cache->entries[i] == cache->shown)
            cache->is_stray = true;
        else
            entry_free(cache, cache->entries[i]);
    }
    cache->count = 0;
    wif_costs_free(cache->costs);
    cache->costs = NULL;
}

void wif_cache_free(struct wif_cache *cache)
{
    if (!cache)
        return;
    shown_release(cache);
    wif_cache_forget(cache);
    rpl_trace_free(cache->spare);
    vs_free(cache->entries);
    vs_free(cache);
}

/* ---- running ---- */

/*
 * The callback for progress.
 *
 * done, total   as reported last; building the index is a short part of the run and reported as the same
 * events_max    stop at so many events; 0: never
 * is_too_large  the run was stopped for that reason
 */
struct reporter {
    rpl_progress_fn *progress;
    void *user;
    const struct rpl_trace *trace;
    uint64_t done;
    uint64_t total;
    uint64_t events_max;
    bool is_too_large;
};

static bool run_observed(void *user, uint64_t done, uint64_t total)
{
    struct reporter *reporter = user;

    reporter->done = done;
    reporter->total = total;
    reporter->is_too_large =
        reporter->events_max && rpl_trace_event_count(reporter->trace) > reporter->events_max;
    return !reporter->is_too_large &&
           (!reporter->progress || reporter->progress(reporter->user, done, total));
}

static bool index_observed(void *user, uint64_t done, uint64_t total)
{
    struct reporter *reporter = user;

    (void)done;
    (void)total;
    return !reporter->progress ||
           reporter->progress(reporter->user, reporter->done, reporter->total);
}

/*
 * Reserve capacity for twice the recorded events, which suffices for most runs, within what a spare trace may keep,
 * half of it for events.
 */
static void reserve(const struct wif_cache *cache, struct rpl_trace *trace)
{
    const uint64_t most = cache->bytes_max / LARGE_PART / 2;
    const uint64_t events = 2 * rpl_trace_event_count(cache->base);
    const uint64_t tensors = 2 * (uint64_t)rpl_trace_tensor_count(cache->base);
    const uint64_t events_most = most / sizeof(struct vs_event);
    const uint64_t tensors_most = most / 2 / sizeof(struct vs_tensor_desc);

    rpl_trace_clear(trace);
    rpl_mem_reserve(rpl_trace_memory(trace), (size_t)(events < events_most ? events : events_most),
                    (size_t)(tensors < tensors_most ? tensors : tensors_most));
}

static enum vs_status moved_fill(struct rpl_trace *trace, uint64_t *out, struct vs_error *err)
{
    struct rpl_traffic traffic = {NULL, 0, 0, 0};
    enum vs_status st = rpl_traffic_fill(&traffic, trace, err);

    *out = traffic.bytes;
    rpl_traffic_release(&traffic);
    return st;
}

static enum vs_status run(struct wif_cache *cache, const struct vs_toggles *set, uint64_t capacity,
                          struct reporter *reporter, struct wif_result *out, struct vs_error *err)
{
    enum vs_status st;

    out->trace = cache->spare ? cache->spare : rpl_trace_new();
    cache->spare = NULL;
    reserve(cache, out->trace);
    reporter->trace = out->trace;
    if (cache->offered)
        st = wif_rerun_take(cache->offered, run_observed, reporter, out->trace, err);
    else if (set && wif_rerun_is_needed(cache->base, set))
        st = wif_rerun_load(cache->base, set, run_observed, reporter, out->trace, err);
    else
        st = wif_run_observed(cache->base, set, capacity, run_observed, reporter, out->trace, err);
    if (!st)
        st = rpl_index_open(out->trace, index_observed, reporter, &out->index, err);
    if (!st)
        st = rpl_run_fill(&out->run, out->index, err);
    if (!st)
        st = rpl_uncertainty_fill(&out->uncertainty, out->trace, err);
    if (!st && !cache->costs)
        st = wif_costs_new(cache->base, &cache->costs, err);
    if (!st)
        st = wif_cost_fill(cache->costs, out->trace, &out->cost, err);
    if (!st)
        st = moved_fill(out->trace, &out->moved, err);
    if (st) {
        rpl_index_free(out->index);
        spare_store(cache, out->trace);
        *out = (struct wif_result){.trace = NULL};
        return reporter->is_too_large ? vs_fail(err, VS_E_OVERFLOW, "too large to be kept") : st;
    }
    rpl_mem_trim(rpl_trace_memory(out->trace));
    out->cursor = rpl_cursor_new(out->index);
    return VS_OK;
}

/* Whether a status is cached: a refusal is; a stopped run, or a recording that cannot be read at present, is not. */
static bool is_answer(enum vs_status st)
{
    return st != VS_E_STOPPED && st != VS_E_IO && st != VS_E_DAMAGED;
}

static void answer_complete(struct wif_cache *cache, struct wif_result *result, enum vs_status st,
                            const struct vs_error *err)
{
    const char *refused;

    result->number = cache->runs;
    result->status = st;
    if (st) {
        result->failure = vs_strdup(err->text);
        return;
    }
    refused = rpl_trace_meta(result->trace, "refused");
    result->refused = vs_strdup(refused ? refused : "");
}

/*
 * *out: the entry for `set`, with a result (a complete one if `whole`) or with a failure, which is also returned.
 * NULL: the run was stopped.
 */
static enum vs_status find_or_run(struct wif_cache *cache, const struct vs_toggles *set,
                                  uint64_t capacity, bool whole, struct reporter *reporter,
                                  struct entry **out, struct vs_error *err)
{
    char *key = key_of(set, capacity);
    struct entry *entry = entry_find(cache, key);
    struct wif_result made = {.trace = NULL};
    enum vs_status st = VS_OK;

    *out = entry;
    if (set && !cache->may_rerun && wif_rerun_is_needed(cache->base, set)) {
        st = vs_fail(err, VS_E_UNSUPPORTED, "the recorded program may not be run again");
        goto out;
    }
    if (entry && (entry->result.trace || entry->result.status || !whole)) {
        if (entry->result.status)
            st = vs_fail(err, entry->result.status, "%s", entry->result.failure);
        goto out;
    }
    cache->runs++;
    st = run(cache, set, capacity, reporter, &made, err);
    if (!is_answer(st) || reporter->is_too_large)
        goto out;
    if (entry) {
        vs_free(entry->result.failure);
        vs_free(entry->result.refused);
    } else {
        entry = entry_add(cache, key);
        key = NULL; /* handed over */
    }
    entry->result = made;
    answer_complete(cache, &entry->result, st, err);
    if (!st)
        entry_recount(cache, entry);
    *out = entry;
out:
    vs_free(key);
    return st;
}

enum vs_status wif_cache_get(struct wif_cache *cache, const struct vs_toggles *set,
                             uint64_t capacity, rpl_progress_fn *progress, void *user,
                             const struct wif_result **out, struct vs_error *err)
{
    struct reporter reporter = {.progress = progress, .user = user};
    struct entry *entry;
    enum vs_status st;

    shown_release(cache);
    st = find_or_run(cache, set, capacity, true, &reporter, &entry, err);
    cache->offered = NULL;
    if (!st) {
        cache->shown = entry;
        *out = &entry->result;
    }
    limit_apply(cache);
    return st;
}

enum vs_status wif_cache_make(struct wif_cache *cache, const struct vs_toggles *set,
                              uint64_t capacity, bool whole, rpl_progress_fn *progress, void *user,
                              struct vs_error *err)
{
    const uint64_t runs = cache->runs;
    struct reporter reporter = {.progress = progress,
                                .user = user,
                                .events_max =
                                    cache->bytes_max / LARGE_PART / sizeof(struct vs_event)};
    struct entry *entry;
    enum vs_status st = find_or_run(cache, set, capacity, whole, &reporter, &entry, err);

    if (!st && !whole && cache->runs != runs)
        run_drop(cache, entry);
    limit_apply(cache);
    return st;
}

enum vs_status wif_cache_figures(struct wif_cache *cache, const struct vs_toggles *set,
                                 uint64_t capacity, const struct wif_result **out,
                                 struct vs_error *err)
{
    const uint64_t runs = cache->runs;
    struct reporter reporter = {.progress = NULL};
    struct entry *entry;
    enum vs_status st = find_or_run(cache, set, capacity, false, &reporter, &entry, err);

    if (!st && cache->runs != runs)
        run_drop(cache, entry);
    if (!st)
        *out = &entry->result;
    return st;
}

bool wif_cache_shrink(struct wif_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        struct entry *entry = cache->entries[i];
        struct rpl_mem *mem;

        if (!entry->result.trace || entry == cache->shown)
            continue;
        mem = rpl_trace_memory(entry->result.trace);
        if (mem->is_packed)
            continue;
        if (!cache->spare)
            cache->spare = rpl_trace_new();
        rpl_trace_clear(cache->spare);
        if (rpl_mem_pack(mem, rpl_trace_memory(cache->spare)) && mem->is_packed)
            rpl_index_trim(entry->result.index);
        entry_recount(cache, entry);
        return true;
    }
    return false;
}

/* ---- lookup ---- */

const struct wif_result *wif_cache_find(struct wif_cache *cache, const struct vs_toggles *set,
                                        uint64_t capacity, uint64_t *bytes)
{
    char *key = key_of(set, capacity);
    struct entry *entry = entry_find(cache, key);

    vs_free(key);
    if (entry && entry->result.trace) {
        /* Reading it may have made it larger. */
        entry_recount(cache, entry);
        limit_apply(cache);
    }
    if (bytes)
        *bytes = entry ? entry->bytes : 0;
    return entry ? &entry->result : NULL;
}

uint64_t wif_cache_bytes(const struct wif_cache *cache)
{
    return cache->bytes;
}

uint64_t wif_cache_shown_bytes(const struct wif_cache *cache)
{
    return cache->shown ? cache->shown->bytes : 0;
}

uint64_t wif_cache_runs(const struct wif_cache *cache)
{
    return cache->runs;
}
