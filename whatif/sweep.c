/*
 * whatif/sweep.c - see sweep.h.
 *
 * Must not know:  drawing.
 * Invariant:      every figure is that of a run of whatif/whatif.c or whatif/rerun.c, made now or cached
 *                 (whatif/cache.c).
 */
#include "whatif/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "whatif/batch.h"
#include "whatif/price.h"
#include "whatif/program_toggles.h"
#include "whatif/recipe.h"
#include "whatif/rerun.h"
#include "whatif/whatif.h"

/* Toggles that do not change results are combined in the order of what they save alone, up to so many. */
#define COMBINED_MAX 4

/*
 * base      the recorded run
 * memory    the last run on the device in question
 * other     further runs: without a limit, or with another batch
 * last      the last run on the device in question: `memory`, or a cached one
 */
struct session {
    struct wif_sweep *out;
    struct rpl_trace *base;
    struct rpl_trace *memory;
    struct rpl_trace *other;
    struct rpl_trace *last;
    const struct wif_sweep_options *options;
};

/* ---- one run ---- */

/* Run with these toggles on a device of this capacity; 0: as wif_sweep_options says. */
static enum vs_status run(struct session *s, const struct vs_toggles *set, uint64_t capacity,
                          struct rpl_trace *memory, struct rpl_run *out, struct vs_error *err)
{
    struct rpl_index *index = NULL;
    enum vs_status st =
        wif_rerun_is_needed(s->base, set)
            ? wif_rerun_load(s->base, set, s->options->progress, s->options->user, memory, err)
            : wif_run_on(s->base, set, capacity, memory, err);

    if (!st)
        st = rpl_index_open(memory, NULL, NULL, &index, err);
    if (!st)
        st = rpl_run_fill(out, index, err);
    rpl_index_free(index);
    return st;
}

/* The figures of a run: cached ones, or those of a new run. */
static enum vs_status figures(struct session *s, const struct vs_toggles *set, uint64_t capacity,
                              struct rpl_run *out, struct vs_error *err)
{
    const struct wif_result *result;
    enum vs_status st;

    if (!s->options->cache)
        return run(s, set, capacity, s->other, out, err);
    st = wif_cache_figures(s->options->cache, set, capacity, &result, err);
    if (!st)
        *out = result->run;
    return st;
}

/* A net runs within milliseconds: it is not interrupted. */
static rpl_progress_fn *progress_of(const struct session *s, const struct vs_toggles *set)
{
    return wif_rerun_is_needed(s->base, set) ? s->options->progress : NULL;
}

/* Set s->last to the run on the device in question: a cached one, or a new one. */
static enum vs_status whole(struct session *s, const struct vs_toggles *set, struct rpl_run *out,
                            struct vs_error *err)
{
    const struct wif_result *result = NULL;
    enum vs_status st;

    s->last = s->memory;
    if (s->options->cache) {
        st = wif_cache_make(s->options->cache, set, s->options->capacity, true, progress_of(s, set),
                            s->options->user, err);
        if (st && st != VS_E_OVERFLOW)
            return st;
        result = wif_cache_find(s->options->cache, set, s->options->capacity, NULL);
    }
    if (result && !result->trace && wif_rerun_is_needed(s->base, set)) {
        rpl_trace_clear(s->memory); /* its run was too large to be kept, and takes long */
        *out = result->run;
        return VS_OK;
    }
    if (!result || !result->trace)
        return run(s, set, s->options->capacity, s->memory, out, err);
    s->last = result->trace;
    *out = result->run;
    return VS_OK;
}

/* The value in effect of a toggle that is a count: the batch, or the parts it is divided into. */
static uint64_t count_of(const struct rpl_trace *base, const struct vs_toggles *set,
                         enum vs_toggle which)
{
    if (set && vs_toggles_is_set(set, which))
        return vs_toggles_count(set, which);
    return strtoull(wif_recorded(base, which), NULL, 10);
}

/*
 * True if `batch` samples fit on the device. A batch that cannot be run at all (one that is not divisible by the parts
 * of gradient accumulation, for example) does not fit.
 */
static bool fits(struct session *s, const struct vs_toggles *set, uint64_t batch)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles with = {{NULL}};
    struct rpl_run got;
    char text[32];
    enum vs_status st;

    vs_toggles_copy(&with, set);
    snprintf(text, sizeof(text), "%" PRIu64, batch);
    st = vs_toggles_set(&with, VS_TOGGLE_BATCH, text, &err);
    if (!st)
        st = figures(s, &with, s->options->capacity, &got, &err);
    vs_toggles_release(&with);
    return !st && !got.oom;
}

/* ---- the largest batch ---- */

/* A row and its session, for the callback. */
struct batch_search {
    struct session *session;
    const struct vs_toggles *set;
};

static bool on_batch(void *user, uint64_t batch)
{
    const struct batch_search *search = user;

    return fits(search->session, search->set, batch);
}

/* Search the largest batch of a row. Parts of a batch are equal, so the unit is the number of parts. */
static void batch_find(struct session *s, struct wif_sweep_row *row)
{
    struct batch_search search = {s, &row->set};
    uint64_t unit = count_of(s->base, &row->set, VS_TOGGLE_ACCUMULATE);

    row->batch = wif_batch_largest(count_of(s->base, &row->set, VS_TOGGLE_BATCH), unit, row->fits,
                                   on_batch, &search, &row->is_batch_max);
}

/* ---- rows ---- */

/* "a=1 b=2": the toggles that differ from `set`. The caller frees it. */
static char *label_of(const struct vs_toggles *with, const struct vs_toggles *set)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;

        if (!vs_toggles_is_set(with, toggle) ||
            (set && vs_toggles_is_set(set, toggle) &&
             strcmp(vs_toggles_get(set, toggle), vs_toggles_get(with, toggle)) == 0))
            continue;
        vs_text_addf(&text, "%s%s=%s", text.len ? " " : "", vs_toggle_info(toggle)->name,
                     vs_toggles_get(with, toggle));
    }
    vs_text_add(&text, "");
    return vs_text_take(&text);
}

static void row_release(struct wif_sweep_row *row)
{
    vs_free(row->label);
    vs_free(row->reason);
    vs_free(row->refused);
    vs_free(row->no_effect);
    vs_toggles_release(&row->set);
}

/*
 * Run a row on the device in question and, if it does not fit there, once more without a limit. A program has the limit
 * of its GPU: its figures are those until memory ran out. Returns why it failed, which row->reason says, too.
 */
static enum vs_status row_run(struct session *s, struct wif_sweep_row *row)
{
    struct vs_error failure = VS_ERROR_INIT;
    const char *refused;

    row->failed = whole(s, &row->set, &row->run, &failure) != VS_OK;
    row->fits = !row->failed && !row->run.oom;
    row->is_cut = !row->failed && !row->fits && wif_rerun_is_needed(s->base, &row->set);
    if (!row->failed && !row->fits && !row->is_cut)
        row->failed = figures(s, &row->set, WIF_NO_LIMIT, &row->run, &failure) != VS_OK;
    row->reason = row->failed ? vs_strdup(failure.text) : NULL;
    refused = row->failed ? NULL : rpl_trace_meta(s->last, "refused");
    row->refused = vs_strdup(refused ? refused : "");
    return failure.status;
}

/* Why the one toggle that the row changes has no effect here. */
static char *no_effect_text(const struct session *s, const struct wif_sweep_row *row,
                            enum vs_toggle toggle)
{
    const char *text =
        row->failed ? NULL : wif_no_effect(s->last, toggle, vs_toggles_get(&row->set, toggle));

    return text ? vs_strndup(text, strcspn(text, "\n")) : NULL;
}

/* Whether to search the largest batch for the row that was added last. */
static bool finds_batch(const struct session *s)
{
    return s->options->capacity && rpl_trace_source_text(s->base) &&
           (s->options->batches == WIF_SWEEP_BATCHES_ALL ||
            (s->options->batches == WIF_SWEEP_BATCHES_RECORDED && s->out->count == 1));
}

/*
 * Add the row of `with`.
 *
 * is_same  it does not change results
 * toggle   the only toggle it changes, VS_TOGGLE_COUNT: none or several
 * below    keep the row only if its peak is less
 */
static enum vs_status row_add(struct session *s, const struct vs_toggles *with, bool is_same,
                              enum vs_toggle toggle, uint64_t below, struct vs_error *err)
{
    struct wif_sweep *out = s->out;
    char *label = label_of(with, s->options->set);
    struct wif_sweep_row *row;

    if (s->options->next && !s->options->next(s->options->user, out, label)) {
        vs_free(label);
        return vs_fail(err, VS_E_STOPPED, "stopped while trying toggles");
    }
    out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    row = &out->items[out->count];
    memset(row, 0, sizeof(*row));
    row->label = label;
    row->is_same = is_same;
    vs_toggles_copy(&row->set, with);
    if (row_run(s, row) == VS_E_STOPPED) {
        row_release(row);
        return vs_fail(err, VS_E_STOPPED, "stopped");
    }
    row->price = wif_price(
        s->base, with, out->count && row->run.recompute_flops > out->items[0].run.recompute_flops);
    if (toggle != VS_TOGGLE_COUNT)
        row->no_effect = no_effect_text(s, row, toggle);
    if (below != UINT64_MAX && (row->failed || row->is_cut || row->run.peak >= below)) {
        row_release(row);
        return VS_OK;
    }
    out->count++;
    if (!row->failed && finds_batch(s))
        batch_find(s, row);
    if (s->options->done)
        s->options->done(s->options->user, row, s->last);
    return VS_OK;
}

/* The value in effect with `set` over what was recorded. */
static const char *value_with(const struct rpl_trace *base, const struct vs_toggles *set,
                              enum vs_toggle toggle)
{
    return set && vs_toggles_is_set(set, toggle) ? vs_toggles_get(set, toggle)
                                                 : wif_recorded(base, toggle);
}

/* The value in effect without the sweep. */
static const char *value_now(const struct session *s, enum vs_toggle toggle)
{
    return value_with(s->base, s->options->set, toggle);
}

const char *wif_sweep_conf(const char *now, size_t n)
{
    static const char *const CONFS[] = {"default", "expandable_segments:True",
                                        "max_split_size_mb:128", "max_split_size_mb:512",
                                        "roundup_power2_divisions:8"};

    for (size_t i = 0; i < sizeof(CONFS) / sizeof(CONFS[0]); i++)
        if (strcmp(CONFS[i], now) != 0 && n-- == 0)
            return CONFS[i];
    return NULL;
}

static enum vs_status confs_add(struct session *s, struct vs_error *err)
{
    const char *now = value_now(s, VS_TOGGLE_ALLOC_CONF);
    const char *conf;
    enum vs_status st = VS_OK;

    for (size_t n = 0; !st && (conf = wif_sweep_conf(now, n)) != NULL; n++) {
        struct vs_toggles with = {{NULL}};

        if (s->options->set)
            vs_toggles_copy(&with, s->options->set);
        st = vs_toggles_set(&with, VS_TOGGLE_ALLOC_CONF, conf, err);
        if (!st)
            st = row_add(s, &with, true, VS_TOGGLE_ALLOC_CONF, UINT64_MAX, err);
        vs_toggles_release(&with);
    }
    return st;
}

static enum vs_status singles_add(struct session *s, struct vs_error *err)
{
    char value[VS_TOGGLE_VALUE_MAX];
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;
        bool is_same = vs_toggle_info(toggle)->flags & VS_TOGGLE_SAME;

        if (toggle == VS_TOGGLE_GRAD && s->options->must_train && wif_trains(s->base))
            continue;
        for (size_t n = 0; !st && vs_toggle_try(toggle, value_now(s, toggle), n, value); n++) {
            struct vs_toggles with = {{NULL}};

            if (s->options->set)
                vs_toggles_copy(&with, s->options->set);
            st = vs_toggles_set(&with, toggle, value, err);
            if (!st)
                st = row_add(s, &with, is_same, toggle, UINT64_MAX, err);
            vs_toggles_release(&with);
        }
    }
    return st;
}

/* ---- rows of a program ---- */

/* A value that is tried of a program if it can be applied to one at all. */
static bool program_value(const struct rpl_trace *base, const struct vs_toggles *set,
                          enum vs_toggle toggle, size_t n, char *value)
{
    const bool is_known = (set && vs_toggles_is_set(set, toggle)) || wif_known(base, toggle);
    const char *now =
        toggle == VS_TOGGLE_OPTIMIZER && !is_known ? "" : value_with(base, set, toggle);

    if (toggle == VS_TOGGLE_ALLOC_CONF || (toggle == VS_TOGGLE_BATCH && !is_known))
        return false;
    if (toggle == VS_TOGGLE_CHECKPOINT_IMPL &&
        strcmp(value_with(base, set, VS_TOGGLE_CHECKPOINT), "off") == 0)
        return false;
    if (!(vs_toggle_info(toggle)->flags & VS_TOGGLE_PROGRAM))
        return vs_toggle_try(toggle, now, n, value);
    for (size_t i = 0; vs_toggle_choice(toggle, i, value); i++)
        if (strcmp(value, now) != 0 && n-- == 0)
            return true;
    return false;
}

bool wif_sweep_program_value(const struct rpl_trace *base, const struct vs_toggles *set,
                             enum vs_toggle toggle, size_t n, char value[VS_TOGGLE_VALUE_MAX])
{
    for (size_t i = 0; program_value(base, set, toggle, i, value); i++)
        if (!wif_program_refusal(toggle, value) && n-- == 0)
            return true;
    return false;
}

static enum vs_status program_singles_add(struct session *s, struct vs_error *err)
{
    char value[VS_TOGGLE_VALUE_MAX];
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;
        const bool is_same = vs_toggle_info(toggle)->flags & VS_TOGGLE_SAME;

        for (size_t n = 0;
             !st && wif_sweep_program_value(s->base, s->options->set, toggle, n, value); n++) {
            struct vs_toggles with = {{NULL}};

            if (s->options->set)
                vs_toggles_copy(&with, s->options->set);
            st = vs_toggles_set(&with, toggle, value, err);
            if (!st)
                st = row_add(s, &with, is_same, toggle, UINT64_MAX, err);
            vs_toggles_release(&with);
        }
    }
    return st;
}

/* ---- combinations ---- */

/* The toggle that row `i`, which changes one, changes. */
static enum vs_toggle toggle_of(const struct session *s, size_t i)
{
    const struct vs_toggles *set = &s->out->items[i].set;

    for (size_t t = 0; t < VS_TOGGLE_COUNT; t++) {
        enum vs_toggle toggle = (enum vs_toggle)t;

        if (vs_toggles_is_set(set, toggle) &&
            !(s->options->set && vs_toggles_is_set(s->options->set, toggle) &&
              strcmp(vs_toggles_get(s->options->set, toggle), vs_toggles_get(set, toggle)) == 0))
            return toggle;
    }
    return VS_TOGGLE_COUNT;
}

/* For each toggle that does not change results, the row with the lowest peak, the best first; *count of them. */
static void best_rows(const struct session *s, size_t *best, size_t *count)
{
    const struct wif_sweep *out = s->out;

    *count = 0;
    for (size_t i = 1; i < out->count; i++) {
        const struct wif_sweep_row *row = &out->items[i];
        size_t at = 0;

        if (row->failed || row->is_cut || !row->is_same || row->run.peak >= out->items[0].run.peak)
            continue;
        while (at < *count && toggle_of(s, best[at]) != toggle_of(s, i))
            at++;
        if (at == *count)
            best[(*count)++] = i;
        else if (row->run.peak < out->items[best[at]].run.peak)
            best[at] = i;
    }
    for (size_t i = 1; i < *count; i++)
        for (size_t k = i; k && out->items[best[k]].run.peak < out->items[best[k - 1]].run.peak;
             k--) {
            size_t swap = best[k];

            best[k] = best[k - 1];
            best[k - 1] = swap;
        }
}

/* Add the row of `with` if its peak is below that of row *best, and set *best to it. */
static enum vs_status row_add_better(struct session *s, const struct vs_toggles *with, bool is_same,
                                     size_t *best, struct vs_error *err)
{
    const size_t count = s->out->count;
    enum vs_status st =
        row_add(s, with, is_same, VS_TOGGLE_COUNT, s->out->items[*best].run.peak, err);

    if (!st && s->out->count > count)
        *best = count;
    return st;
}

/*
 * Combine the best toggle with the next best, if that is better still, and so on; and the best combination with bf16,
 * which changes results slightly.
 */
static enum vs_status combinations_add(struct session *s, struct vs_error *err)
{
    size_t rows[VS_TOGGLE_COUNT];
    size_t count;
    size_t best;
    enum vs_status st = VS_OK;

    best_rows(s, rows, &count);
    best = count ? rows[0] : 0;
    for (size_t i = 1; !st && i < count && i < COMBINED_MAX; i++) {
        enum vs_toggle toggle = toggle_of(s, rows[i]);
        struct vs_toggles with = {{NULL}};

        vs_toggles_copy(&with, &s->out->items[best].set);
        st =
            vs_toggles_set(&with, toggle, vs_toggles_get(&s->out->items[rows[i]].set, toggle), err);
        if (!st)
            st = row_add_better(s, &with, true, &best, err);
        vs_toggles_release(&with);
    }
    if (!st && best && strcmp(value_now(s, VS_TOGGLE_AMP), "off") == 0) {
        struct vs_toggles with = {{NULL}};

        vs_toggles_copy(&with, &s->out->items[best].set);
        st = vs_toggles_set(&with, VS_TOGGLE_AMP, "bf16", err);
        if (!st)
            st = row_add_better(s, &with, false, &best, err);
        vs_toggles_release(&with);
    }
    return st;
}

enum vs_status wif_sweep_fill(struct wif_sweep *out, struct rpl_trace *base,
                              const struct wif_sweep_options *options, struct vs_error *err)
{
    struct session s = {.out = out, .base = base, .options = options};
    struct vs_toggles nothing = {{NULL}};
    const bool has_net = rpl_trace_source_text(base) != NULL;
    const bool is_rerun = options->may_rerun && wif_recipe_is_in(base);
    enum vs_status st;

    if (!has_net && (!rpl_trace_is_imported(base) || rpl_trace_is_program(base)))
        return vs_fail(
            err, VS_E_UNSUPPORTED,
            "this trace has no net, so no toggle can be tried on it; record a net file to "
            "run what-ifs");
    s.memory = rpl_trace_new();
    s.other = rpl_trace_new();
    st =
        row_add(&s, options->set ? options->set : &nothing, true, VS_TOGGLE_COUNT, UINT64_MAX, err);
    /* A net that cannot be run at all is reported once. */
    if (!st && out->items[0].failed)
        st = vs_fail(err, VS_E_VALUE, "%s", out->items[0].reason);
    if (!st)
        st = has_net ? singles_add(&s, err) : confs_add(&s, err);
    if (!st && is_rerun)
        st = program_singles_add(&s, err);
    if (!st && (has_net || is_rerun))
        st = combinations_add(&s, err);
    rpl_trace_free(s.memory);
    rpl_trace_free(s.other);
    return st;
}

void wif_sweep_release(struct wif_sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        row_release(&sweep->items[i]);
    vs_free(sweep->items);
    memset(sweep, 0, sizeof(*sweep));
}
