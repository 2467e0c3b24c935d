/*
 * whatif/ranks.c - see ranks.h.
 *
 * Must not know:  what a rank's shard is.
 * Invariant:      a rank is run at most once.
 */
#include "whatif/ranks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "whatif/whatif.h"

/* What the run of a rank came to. hash: of its allocations and frees. */
struct outcome {
    uint64_t hash;
    struct rpl_peak peak;
    bool is_oom;
};

/*
 * outcomes: those that differ, in the order in which they were met; of: of each rank, the index of its outcome.
 * group: ranks of one replica, after which the outcomes repeat; step: ranks that far apart in a group differ in their
 * shard alone, of a pipeline all, as none has an order; tp: ranks beside each other that are alike.
 */
struct session {
    struct wif_ranks *out;
    struct rpl_trace *base;
    struct rpl_trace *memory;
    const struct vs_toggles *set;
    uint64_t capacity;
    wif_ranks_next_fn *next;
    void *user;
    struct outcome *outcomes;
    size_t outcome_count;
    size_t outcome_cap;
    uint32_t *of;
    uint64_t group;
    uint64_t step;
    uint64_t tp;
};

static enum vs_status events_hash(struct rpl_trace *trace, uint64_t *out, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    *out = 0;
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind != VS_EV_ALLOC && event->kind != VS_EV_FREE)
            continue;
        *out = vs_hash_mix(*out, event->kind);
        *out = vs_hash_mix(*out, event->alloc.block);
        *out = vs_hash_mix(*out, event->alloc.requested_bytes);
    }
    st = scan->status;
    vs_free(scan);
    return st;
}

/* Keeps the outcome of a rank. */
static void outcome_add(struct session *s, uint64_t rank, const struct outcome *outcome)
{
    size_t i = 0;

    while (i < s->outcome_count && s->outcomes[i].hash != outcome->hash)
        i++;
    if (i == s->outcome_count) {
        s->outcomes = vs_grow(s->outcomes, s->outcome_count, &s->outcome_cap, sizeof(*s->outcomes));
        s->outcomes[s->outcome_count++] = *outcome;
    }
    s->of[rank] = (uint32_t)i;
}

static enum vs_status rank_run(struct session *s, uint64_t rank, struct vs_error *err)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_toggles with = {{NULL}};
    struct outcome outcome = {.hash = 0};
    char value[24];
    enum vs_status st;

    if (s->next)
        s->next(s->user, rank);
    s->out->runs++;
    snprintf(value, sizeof(value), "%" PRIu64, rank);
    vs_toggles_copy(&with, s->set);
    st = vs_toggles_set(&with, VS_TOGGLE_RANK, value, err);
    if (!st)
        st = wif_run_on(s->base, &with, s->capacity, s->memory, err);
    if (!st)
        st = rpl_summary_fill(&sum, s->memory, err);
    if (!st)
        st = events_hash(s->memory, &outcome.hash, err);
    outcome.peak = sum.peak;
    outcome.is_oom = sum.oom.event != 0;
    if (!st)
        outcome_add(s, rank, &outcome);
    rpl_summary_release(&sum);
    vs_toggles_release(&with);
    return st;
}

/*
 * Finds the outcomes of the ranks low + step, low + 2 * step, … before `high`, which is one of them: those of both ends
 * are there.
 */
static enum vs_status between(struct session *s, uint64_t low, uint64_t high, uint64_t step,
                              struct vs_error *err)
{
    const uint64_t middle = low + (high - low) / step / 2 * step;
    enum vs_status st;

    if (s->of[low] == s->of[high])
        for (uint64_t rank = low + step; rank < high; rank += step)
            s->of[rank] = s->of[low];
    if (s->of[low] == s->of[high] || middle == low)
        return VS_OK;
    st = rank_run(s, middle, err);
    if (!st)
        st = between(s, low, middle, step, err);
    return st ? st : between(s, middle, high, step, err);
}

/* Finds the outcomes of rank `first` and of each `step`-th one after it in its group. */
static enum vs_status row_fill(struct session *s, uint64_t first, struct vs_error *err)
{
    const uint64_t last = first + (s->group - 1 - first) / s->step * s->step;
    enum vs_status st = rank_run(s, first, err);

    if (st || last == first)
        return st;
    st = rank_run(s, last, err);
    return st ? st : between(s, first, last, s->step, err);
}

static void ranges_make(struct session *s)
{
    struct wif_ranks *out = s->out;
    size_t *first_of = vs_calloc(s->outcome_count, sizeof(*first_of)); /* of each outcome, + 1 */

    for (uint64_t rank = 0; rank < out->world; rank++) {
        const struct outcome *outcome = &s->outcomes[s->of[rank]];

        if (rank && s->of[rank] == s->of[rank - 1]) {
            out->items[out->count - 1].last = rank;
            continue;
        }
        if (!first_of[s->of[rank]])
            first_of[s->of[rank]] = out->count + 1;
        out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
        out->items[out->count++] = (struct wif_rank_range){.first = rank,
                                                           .last = rank,
                                                           .alike = first_of[s->of[rank]] - 1,
                                                           .peak = outcome->peak,
                                                           .is_oom = outcome->is_oom};
    }
    vs_free(first_of);
}

/* The mesh of shard=fsdp; what does not divide the world is refused when the first rank runs. */
static void mesh_get(struct session *s, const struct vs_toggles *all)
{
    const uint64_t replicas = vs_toggles_count(all, VS_TOGGLE_REPLICATE);
    const uint64_t cp = vs_toggles_count(all, VS_TOGGLE_CP);
    const uint64_t tp = vs_toggles_count(all, VS_TOGGLE_TP);

    s->out->cp_size = cp;
    if (replicas <= s->group && s->group % replicas == 0)
        s->group /= replicas;
    if (tp <= s->group && s->group % tp == 0)
        s->tp = tp;
    s->step = cp <= s->group && cp * s->tp <= s->group ? cp * s->tp : s->group;
}

/* How many ranks there are, and which of them may differ. VS_E_UNSUPPORTED: only rank 0 is followed. */
static enum vs_status world_get(struct session *s, struct vs_error *err)
{
    struct wif_ranks *out = s->out;
    const struct vs_toggles *set = s->set;
    struct vs_toggles all = {{NULL}};
    enum vs_status st = wif_toggles(s->base, &all, err);

    for (size_t i = 0; i < VS_TOGGLE_COUNT && !st; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            st = vs_toggles_set(&all, (enum vs_toggle)i, vs_toggles_get(set, (enum vs_toggle)i),
                                err);
    if (!st && (vs_toggles_is(&all, VS_TOGGLE_SHARD, "zero1") ||
                vs_toggles_is(&all, VS_TOGGLE_SHARD, "deepspeed-zero1") ||
                vs_toggles_is(&all, VS_TOGGLE_SHARD, "deepspeed-zero2")))
        st = vs_fail(
            err, VS_E_UNSUPPORTED,
            "shard=%s: which ranks are alike does not follow from their numbers, so all would run; "
            "name one with --set rank=N",
            vs_toggles_get(&all, VS_TOGGLE_SHARD));
    else if (!st && !vs_toggles_is(&all, VS_TOGGLE_SHARD, "fsdp") &&
             !vs_toggles_is(&all, VS_TOGGLE_SHARD, "deepspeed-zero3") &&
             !vs_toggles_is(&all, VS_TOGGLE_SHARD, "tp") &&
             !vs_toggles_is(&all, VS_TOGGLE_SHARD, "pp"))
        st = vs_fail(
            err, VS_E_UNSUPPORTED,
            "shard=%s is followed for rank 0 alone; ranks are compared with --set shard=fsdp",
            vs_toggles_get(&all, VS_TOGGLE_SHARD));
    out->world = vs_toggles_count(&all, VS_TOGGLE_WORLD);
    out->are_stages = vs_toggles_is(&all, VS_TOGGLE_SHARD, "pp");
    out->cp_size = 1;
    s->group = out->world;
    s->step = out->are_stages ? out->world : 1;
    s->tp = 1;
    if (vs_toggles_is(&all, VS_TOGGLE_SHARD, "fsdp"))
        mesh_get(s, &all);
    vs_toggles_release(&all);
    return st;
}

enum vs_status wif_ranks_fill(struct wif_ranks *out, struct rpl_trace *base,
                              const struct vs_toggles *set, uint64_t capacity,
                              wif_ranks_next_fn *next, void *user, struct vs_error *err)
{
    struct session s = {
        .out = out, .base = base, .set = set, .capacity = capacity, .next = next, .user = user};
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    st = world_get(&s, err);
    if (st)
        return st;
    if (out->world > WIF_RANKS_MAX)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "world=%" PRIu64
                       ": at most %d ranks are compared; name one with --set rank=N",
                       out->world, WIF_RANKS_MAX);
    s.memory = rpl_trace_new();
    s.of = vs_calloc(out->world, sizeof(*s.of));
    for (uint64_t first = 0; first < s.step && !st; first += s.tp)
        st = row_fill(&s, first, err);
    for (uint64_t rank = 0; rank < out->world && !st; rank++)
        s.of[rank] = s.of[rank % s.group / s.tp * s.tp];
    if (!st)
        ranges_make(&s);
    vs_free(s.of);
    vs_free(s.outcomes);
    for (size_t i = 1; i < out->count; i++)
        if (out->items[i].peak.allocated > out->items[out->highest].peak.allocated)
            out->highest = i;
    rpl_trace_free(s.memory);
    return st;
}

void wif_ranks_release(struct wif_ranks *ranks)
{
    vs_free(ranks->items);
    memset(ranks, 0, sizeof(*ranks));
}
