/*
 * whatif/advise/advise_toggles.c - advice that toggles give: each alone, what costs nothing together, and what fits a
 * device.
 *
 * Must not know:  what a toggle does.
 * Invariant:      training stays training: `grad` is not changed in a net that trains, and neither is its batch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "whatif/advise/advise_internal.h"
#include "whatif/batch.h"
#include "whatif/sweep.h"
#include "whatif/whatif.h"

/* Budgets that are run between the least peak and the capacity. */
#define BUDGET_RUNS_MAX 6
/* What is merged lowers the peak further by one part in this many at least. */
#define GAIN_MIN 1000
/* Parts of the batch that are tried at most. */
#define PARTS_MAX 64

/* Which runs are added to the advice: those of a lower peak than `below`, and, where `must_fit`, that fit. */
struct wanted {
    uint64_t below;
    bool must_fit;
};
static const struct wanted ANY = {UINT64_MAX, false};
static const struct wanted FITTING = {UINT64_MAX, true};
static const struct wanted NOTHING = {0, false};

/* Run a change and add it where it is wanted; *run: its figures. *ran: it can be run; otherwise it is no advice. */
static enum vs_status change_try(struct wif_advising *s, const struct wif_change *change,
                                 struct wanted wanted, struct wif_figures *run, bool *ran,
                                 struct vs_error *err)
{
    struct vs_error why = VS_ERROR_INIT;
    enum vs_status st = wif_advising_run(s, change, run, &why);

    *ran = st == VS_OK;
    if (st == VS_E_STOPPED)
        return vs_fail(err, st, "%s", why.text);
    if (!st && run->peak < wanted.below && (run->fits || !wanted.must_fit))
        (void)wif_advising_add(s, change, run);
    return VS_OK;
}

/* Set one more toggle in a copy of `from` and try that. */
static enum vs_status toggle_try(struct wif_advising *s, const struct wif_change *from,
                                 enum vs_toggle toggle, const char *value, struct wanted wanted,
                                 struct wif_figures *run, bool *ran, struct vs_error *err)
{
    struct wif_change change = {.edits = {NULL, 0, 0}};
    enum vs_status st;

    *ran = false;
    wif_change_copy(&change, from);
    st = vs_toggles_set(&change.set, toggle, value, err);
    if (!st)
        st = change_try(s, &change, wanted, run, ran, err);
    wif_change_release(&change);
    return st;
}

/* ---- each alone ---- */

/*
 * Value `n` that is tried of a toggle; false: there are no more. Without a net, requests are run again alone, or the
 * program.
 */
static bool value_try(const struct wif_advising *s, enum vs_toggle toggle, size_t n,
                      char value[VS_TOGGLE_VALUE_MAX])
{
    const char *now = wif_recorded(s->base, toggle);
    const char *conf;

    if (rpl_trace_source_text(s->base))
        return toggle != VS_TOGGLE_BATCH && toggle != VS_TOGGLE_DATA &&
               (toggle != VS_TOGGLE_GRAD || !wif_trains(s->base)) &&
               vs_toggle_try(toggle, now, n, value);
    if (toggle != VS_TOGGLE_ALLOC_CONF)
        return s->options->may_rerun && wif_sweep_program_value(s->base, NULL, toggle, n, value);
    conf = wif_sweep_conf(now, n);
    snprintf(value, VS_TOGGLE_VALUE_MAX, "%s", conf ? conf : "");
    return conf != NULL;
}

/* The placement for a budget, as a value of `checkpoint`. */
static enum vs_status budget_try(struct wif_advising *s, const struct wif_change *from,
                                 uint64_t budget, struct wanted wanted, struct wif_figures *run,
                                 bool *ran, struct vs_error *err)
{
    const uint64_t unit = budget > UINT64_C(256) << 20 ? UINT64_C(1) << 20 : UINT64_C(1) << 10;
    char value[64];

    snprintf(value, sizeof(value), "auto:%" PRIu64, budget / unit * unit);
    return toggle_try(s, from, VS_TOGGLE_CHECKPOINT, value, wanted, run, ran, err);
}

/* Placements that save half and nine tenths of what the least peak saves: the last tenth costs most. */
static enum vs_status placements_try(struct wif_advising *s, struct vs_error *err)
{
    const struct wif_change nothing = {.edits = {NULL, 0, 0}};
    static const uint64_t PARTS[] = {2, 10};
    struct wif_placement least = {0};
    struct wif_figures run;
    struct vs_error why = VS_ERROR_INIT;
    const uint64_t high = s->out->base.peak;
    enum vs_status st = VS_OK;
    bool ran;

    if (!wif_place(s->base, NULL, WIF_BUDGET_LEAST, NULL, NULL, &least, &why) && least.peak < high)
        for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]) && !st; i++) {
            const uint64_t budget = least.peak + (high - least.peak) / PARTS[i];
            struct wif_placement placement = {0};

            /* the placement of the least peak is listed already */
            if (!wif_place(s->base, NULL, budget, NULL, NULL, &placement, &why) &&
                placement.recompute_flops < least.recompute_flops)
                st = budget_try(s, &nothing, budget, ANY, &run, &ran, err);
            wif_placement_release(&placement);
        }
    wif_placement_release(&least);
    return st;
}

enum vs_status wif_advising_toggles(struct wif_advising *s, struct vs_error *err)
{
    const struct wif_change nothing = {.edits = {NULL, 0, 0}};
    char value[VS_TOGGLE_VALUE_MAX];
    struct wif_figures run;
    enum vs_status st = VS_OK;
    bool ran;

    for (size_t i = 0; !st && i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;

        for (size_t n = 0; !st && value_try(s, toggle, n, value); n++)
            st = toggle_try(s, &nothing, toggle, value, ANY, &run, &ran, err);
    }
    if (!st && rpl_trace_source_text(s->base))
        st = placements_try(s, err);
    return st;
}

/* ---- together ---- */

/* Merge toggles and lines into a change; false where a toggle is set already. */
static bool change_merge(struct wif_change *change, const struct vs_toggles *set,
                         const struct wif_edits *edits, struct vs_error *err)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i) &&
            (vs_toggles_is_set(&change->set, (enum vs_toggle)i) ||
             vs_toggles_set(&change->set, (enum vs_toggle)i, vs_toggles_get(set, (enum vs_toggle)i),
                            err)))
            return false;
    wif_edits_merge(&change->edits, edits);
    return true;
}

static int by_peak(const void *a, const void *b)
{
    const struct wif_advice *x = *(struct wif_advice *const *)a;
    const struct wif_advice *y = *(struct wif_advice *const *)b;

    if (x->run.peak != y->run.peak)
        return x->run.peak < y->run.peak ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* Copies of the advice of a price, the lowest peak first: adding moves the list. The caller releases and frees them. */
static struct wif_change *changes_of(const struct wif_advise *out, enum wif_price price,
                                     size_t *count, struct vs_error *err)
{
    struct wif_change *changes = vs_calloc(out->count + 1, sizeof(*changes));
    const struct wif_advice **order = vs_calloc(out->count + 1, sizeof(*order));

    *count = 0;
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].price == price)
            order[(*count)++] = &out->items[i];
    qsort(order, *count, sizeof(*order), by_peak);
    for (size_t i = 0; i < *count; i++)
        (void)change_merge(&changes[i], &order[i]->set, &order[i]->edits, err);
    vs_free(order);
    return changes;
}

/*
 * Merge the advice of a price into *all, the lowest peak first, as long as the peak falls further. Each result is
 * added; *run: the figures of *all.
 */
static enum vs_status merge_fill(struct wif_advising *s, enum wif_price price,
                                 struct wif_change *all, struct wif_figures *run,
                                 struct vs_error *err)
{
    const uint64_t least = s->out->base.peak / GAIN_MIN;
    size_t count;
    struct wif_change *changes = changes_of(s->out, price, &count, err);
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < count && !st; i++) {
        struct wif_change with = {.edits = {NULL, 0, 0}};
        struct wif_figures figures;
        bool ran = false;

        wif_change_copy(&with, all);
        if (change_merge(&with, &changes[i].set, &changes[i].edits, err))
            st = change_try(s, &with, (struct wanted){run->peak - least, false}, &figures, &ran,
                            err);
        if (ran && figures.peak < run->peak - least) {
            wif_change_copy(all, &with);
            *run = figures;
        }
        wif_change_release(&with);
    }
    for (size_t i = 0; i < count; i++)
        wif_change_release(&changes[i]);
    vs_free(changes);
    return st;
}

/* ---- within a capacity ---- */

/*
 * The cheapest placement on top of `from` whose run fits on the device: the largest of a few budgets. Allocated bytes
 * within the capacity are not enough where segments are fragmented. *run: its figures; not `fits`: none does.
 */
static enum vs_status placement_fit(struct wif_advising *s, const struct wif_change *from,
                                    struct wif_figures *run, struct vs_error *err)
{
    struct wif_placement least = {0};
    struct rpl_trace *base = NULL;
    struct vs_error why = VS_ERROR_INIT;
    struct wif_figures got;
    uint64_t high = s->out->capacity;
    uint64_t found = 0;
    uint64_t low;
    bool ran = false;
    enum vs_status st = wif_advising_base(s, from, &base, err);

    memset(run, 0, sizeof(*run));
    if (st)
        return st;
    if (wif_place(base, &from->set, WIF_BUDGET_LEAST, NULL, NULL, &least, &why))
        return VS_OK;
    low = least.peak;
    wif_placement_release(&least);
    /* the whole capacity, the least peak, and then between the largest that fits and the least that does not */
    for (int i = 0; i < BUDGET_RUNS_MAX && !st && low <= high; i++) {
        uint64_t budget = i == 0 ? high : i == 1 ? low : low + (high - low) / 2;
        bool fits;

        st = budget_try(s, from, budget, NOTHING, &got, &ran, err);
        fits = ran && got.fits;
        if (fits)
            found = budget;
        if (fits == (i == 0) && i < 2)
            break;
        if (fits)
            low = budget;
        else
            high = budget;
    }
    return found && !st ? budget_try(s, from, found, FITTING, run, &ran, err) : st;
}

/* Parts of the batch, from 2 on, until it fits. */
static enum vs_status accumulate_fit(struct wif_advising *s, const struct wif_change *from,
                                     struct wif_figures *run, struct vs_error *err)
{
    const uint64_t batch = strtoull(wif_recorded(s->base, VS_TOGGLE_BATCH), NULL, 10);
    char value[32];
    bool ran;
    enum vs_status st = VS_OK;

    memset(run, 0, sizeof(*run));
    for (uint64_t parts = 2; !st && !run->fits && parts <= PARTS_MAX && batch % parts == 0;
         parts *= 2) {
        snprintf(value, sizeof(value), "%" PRIu64, parts);
        st = toggle_try(s, from, VS_TOGGLE_ACCUMULATE, value, FITTING, run, &ran, err);
    }
    return st;
}

/* What costs nothing, and on top of it checkpoints, parts of the batch, and bf16 with each, until one fits. */
static enum vs_status capacity_fit(struct wif_advising *s, const struct wif_change *free,
                                   struct vs_error *err)
{
    struct wif_change bf16 = {.edits = {NULL, 0, 0}};
    struct wif_figures placed;
    struct wif_figures other;
    bool ran = false;
    enum vs_status st = placement_fit(s, free, &placed, err);

    if (!st)
        st = accumulate_fit(s, free, &other, err);
    wif_change_copy(&bf16, free);
    if (!st && strcmp(wif_recorded(s->base, VS_TOGGLE_AMP), "off") == 0)
        st = vs_toggles_set(&bf16.set, VS_TOGGLE_AMP, "bf16", err);
    if (!st)
        st = change_try(s, &bf16, FITTING, &other, &ran, err);
    if (!st && !placed.fits && !(ran && other.fits))
        st = placement_fit(s, &bf16, &placed, err);
    wif_change_release(&bf16);
    return st;
}

/* Toggles of an advice that change the numbers. */
static size_t numbers_changed(const struct wif_advice *advice)
{
    size_t count = 0;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        count += vs_toggles_is_set(&advice->set, (enum vs_toggle)i) &&
                 !(vs_toggle_info((enum vs_toggle)i)->flags & VS_TOGGLE_SAME);
    return count;
}

/* Does it copy what autograd saves to the host and back? */
static bool is_offloaded(const struct wif_advice *advice)
{
    return vs_toggles_is_set(&advice->set, VS_TOGGLE_OFFLOAD) &&
           strcmp(vs_toggles_get(&advice->set, VS_TOGGLE_OFFLOAD), "off") != 0;
}

/*
 * By price, then by what changes the numbers, by copies to the host, by arithmetic, and by the peak. A byte that goes
 * over PCIe takes some fifty times as long as one in the memory of a GPU, so recomputing is nearly always faster.
 */
static bool is_cheaper(const struct wif_advice *a, const struct wif_advice *b)
{
    if (a->price != b->price)
        return a->price < b->price;
    if (numbers_changed(a) != numbers_changed(b))
        return numbers_changed(a) < numbers_changed(b);
    if (is_offloaded(a) != is_offloaded(b))
        return is_offloaded(b);
    if (a->run.recompute_flops != b->run.recompute_flops)
        return a->run.recompute_flops < b->run.recompute_flops;
    return a->run.peak < b->run.peak;
}

struct wif_advice *wif_advising_headline(struct wif_advising *s)
{
    const struct wif_advise *out = s->out;
    struct wif_advice *best = NULL;

    if (!out->capacity || out->base.fits)
        return NULL;
    for (size_t i = 0; i < out->count; i++) {
        struct wif_advice *advice = &out->items[i];

        if (advice->run.fits && advice->price != WIF_PRICE_TRAINING &&
            (!best || is_cheaper(advice, best)))
            best = advice;
    }
    for (size_t i = 0; i < out->count; i++)
        out->items[i].is_headline = &out->items[i] == best;
    return best;
}

/* ---- batches ---- */

struct batch_search {
    struct wif_advising *s;
    const struct wif_change *change;
    enum vs_status stopped;
    struct vs_error err;
};

static bool has_oom(struct rpl_trace *run, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    bool found = false;

    rpl_scan_init(scan, run, 1, rpl_trace_event_count(run));
    while (!found && (event = rpl_scan_next(scan, err)) != NULL)
        found = event->kind == VS_EV_OOM;
    found |= scan->status != VS_OK;
    vs_free(scan);
    return found;
}

static bool on_batch(void *user, uint64_t batch)
{
    struct batch_search *search = user;
    struct wif_advising *s = search->s;
    struct wif_change with = {.edits = {NULL, 0, 0}};
    struct rpl_trace *base = NULL;
    char value[32];
    bool fits = false;
    enum vs_status st;

    snprintf(value, sizeof(value), "%" PRIu64, batch);
    wif_change_copy(&with, search->change);
    st = vs_toggles_set(&with.set, VS_TOGGLE_BATCH, value, &search->err);
    if (!st && s->options->next && !s->options->next(s->options->user, s->tried, value))
        search->stopped = VS_E_STOPPED;
    if (!st && !search->stopped)
        st = wif_advising_base(s, &with, &base, &search->err);
    if (!st && !search->stopped) {
        s->tried++;
        st = wif_run_on(base, &with.set, s->out->capacity, s->memory, &search->err);
        fits = !st && !has_oom(s->memory, &search->err);
    }
    wif_change_release(&with);
    return fits;
}

static enum vs_status batch_find(struct wif_advising *s, const struct wif_change *change, bool fits,
                                 uint64_t *out, bool *is_max, struct vs_error *err)
{
    struct batch_search search = {.s = s, .change = change};
    const uint64_t now = strtoull(wif_recorded(s->base, VS_TOGGLE_BATCH), NULL, 10);
    const char *parts = vs_toggles_is_set(&change->set, VS_TOGGLE_ACCUMULATE)
                            ? vs_toggles_get(&change->set, VS_TOGGLE_ACCUMULATE)
                            : wif_recorded(s->base, VS_TOGGLE_ACCUMULATE);

    *out = wif_batch_largest(now, strtoull(parts, NULL, 10), fits, on_batch, &search, is_max);
    if (search.stopped)
        return vs_fail(err, VS_E_STOPPED, "stopped while trying batches");
    return VS_OK;
}

/* The largest batch as recorded and with the headline. */
static enum vs_status batches_find(struct wif_advising *s, struct wif_advice *headline,
                                   struct vs_error *err)
{
    const struct wif_change nothing = {.edits = {NULL, 0, 0}};
    enum vs_status st =
        batch_find(s, &nothing, s->out->base.fits, &s->out->batch, &s->out->is_batch_max, err);

    if (!st && headline) {
        const struct wif_change change = {headline->set, headline->edits};

        st = batch_find(s, &change, true, &headline->batch, &headline->is_batch_max, err);
    }
    return st;
}

enum vs_status wif_advising_program_together(struct wif_advising *s, struct vs_error *err)
{
    static const enum wif_price PRICES[] = {WIF_PRICE_NONE, WIF_PRICE_TIME, WIF_PRICE_NUMBERS};
    struct wif_change all = {.edits = {NULL, 0, 0}};
    struct wif_figures run = s->out->base;
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < sizeof(PRICES) / sizeof(PRICES[0]); i++)
        st = merge_fill(s, PRICES[i], &all, &run, err);
    wif_change_release(&all);
    return st;
}

enum vs_status wif_advising_together(struct wif_advising *s, struct vs_error *err)
{
    struct wif_advise *out = s->out;
    struct wif_change free = {.edits = {NULL, 0, 0}};
    struct wif_advice *headline = NULL;
    struct wif_figures run;
    bool ran;
    struct wif_change all = {.edits = {NULL, 0, 0}};
    enum vs_status st;

    run = out->base;
    st = merge_fill(s, WIF_PRICE_NONE, &free, &run, err);
    wif_change_copy(&all, &free);
    if (!st)
        st = merge_fill(s, WIF_PRICE_NUMBERS, &all, &run, err);
    if (!st)
        st = toggle_try(s, &free, VS_TOGGLE_CHECKPOINT, "auto", ANY, &run, &ran, err);
    if (!st)
        st = toggle_try(s, &all, VS_TOGGLE_CHECKPOINT, "auto", ANY, &run, &ran, err);
    wif_change_release(&all);
    headline = wif_advising_headline(s);
    if (!st && out->capacity && !out->base.fits && (!headline || headline->price != WIF_PRICE_NONE))
        st = capacity_fit(s, &free, err);
    headline = wif_advising_headline(s);
    if (!st && out->capacity)
        st = batches_find(s, headline, err);
    wif_change_release(&free);
    return st;
}
