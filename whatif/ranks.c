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

/* What the run of one rank came to. hash: of its allocations and frees. */
struct outcome {
    uint64_t hash;
    struct rpl_peak peak;
    bool is_oom;
};

struct session {
    struct wif_ranks *out;
    struct rpl_trace *base;
    struct rpl_trace *memory;
    const struct vs_toggles *set;
    uint64_t capacity;
    wif_ranks_next_fn *next;
    void *user;
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

static enum vs_status rank_run(struct session *s, uint64_t rank, struct outcome *out,
                               struct vs_error *err)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_toggles with = {{NULL}};
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
        st = events_hash(s->memory, &out->hash, err);
    out->peak = sum.peak;
    out->is_oom = sum.oom.event != 0;
    rpl_summary_release(&sum);
    vs_toggles_release(&with);
    return st;
}

/* Ranks first to last are alike: they extend the last range, or begin one. */
static void range_add(struct session *s, uint64_t first, uint64_t last,
                      const struct outcome *outcome, bool extends)
{
    struct wif_ranks *out = s->out;

    if (extends) {
        out->items[out->count - 1].last = last;
        return;
    }
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    out->items[out->count++] = (struct wif_rank_range){
        .first = first, .last = last, .peak = outcome->peak, .is_oom = outcome->is_oom};
}

/* Adds the ranks after `low`, which the last range ends with, up to `high`. */
static enum vs_status between(struct session *s, uint64_t low, const struct outcome *at_low,
                              uint64_t high, const struct outcome *at_high, struct vs_error *err)
{
    const uint64_t middle = low + (high - low) / 2;
    struct outcome at_middle;
    enum vs_status st;

    if (at_low->hash == at_high->hash || high - low == 1) {
        range_add(s, high, high, at_high, at_low->hash == at_high->hash);
        return VS_OK;
    }
    st = rank_run(s, middle, &at_middle, err);
    if (!st)
        st = between(s, low, at_low, middle, &at_middle, err);
    return st ? st : between(s, middle, &at_middle, high, at_high, err);
}

/* Runs all ranks after 0: those of a pipeline are its stages, which have no order. */
static enum vs_status each(struct session *s, const struct outcome *first, struct vs_error *err)
{
    struct outcome before = *first, now = {.hash = 0};
    enum vs_status st = VS_OK;

    for (uint64_t rank = 1; rank < s->out->world && !st; rank++) {
        st = rank_run(s, rank, &now, err);
        if (!st)
            range_add(s, rank, rank, &now, now.hash == before.hash);
        before = now;
    }
    return st;
}

/* How many ranks there are, and whether they are stages. VS_E_UNSUPPORTED: only rank 0 is followed. */
static enum vs_status world_get(const struct rpl_trace *base, const struct vs_toggles *set,
                                struct wif_ranks *out, struct vs_error *err)
{
    struct vs_toggles all = {{NULL}};
    enum vs_status st = wif_toggles(base, &all, err);

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
    vs_toggles_release(&all);
    return st;
}

enum vs_status wif_ranks_fill(struct wif_ranks *out, struct rpl_trace *base,
                              const struct vs_toggles *set, uint64_t capacity,
                              wif_ranks_next_fn *next, void *user, struct vs_error *err)
{
    struct session s = {
        .out = out, .base = base, .set = set, .capacity = capacity, .next = next, .user = user};
    struct outcome first = {.hash = 0};
    struct outcome last;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    st = world_get(base, set, out, err);
    if (st)
        return st;
    s.memory = rpl_trace_new();
    st = rank_run(&s, 0, &first, err);
    if (!st)
        range_add(&s, 0, 0, &first, false);
    if (!st && out->are_stages)
        st = each(&s, &first, err);
    if (!st && !out->are_stages && out->world > 1)
        st = rank_run(&s, out->world - 1, &last, err);
    if (!st && !out->are_stages && out->world > 1)
        st = between(&s, 0, &first, out->world - 1, &last, err);
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
