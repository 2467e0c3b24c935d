/*
 * tui/views/fragmentation.c - see fragmentation.h.
 *
 * Must not know:  terminals.
 * Invariant:      a search that was stopped leaves no result.
 */
#include "tui/views/fragmentation.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "tui/change.h"
#include "whatif/whatif.h"

/* Holes of less than this share of the reserved bytes are not fragmentation. */
#define FRAGMENTED_PERCENT 10.0

/* The settings that change how segments are cut, the one without a cost in time first. */
static const char *const SETTINGS[] = {
    "expandable_segments:True",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "roundup_power2_divisions:8",
};
#define SETTING_COUNT (sizeof(SETTINGS) / sizeof(SETTINGS[0]))

/*
 * Where a request was refused, memory is fragmented if the holes together are large enough for it; elsewhere, by their
 * share.
 */
bool tui_fragmentation_text(const struct rpl_space *space, const struct tui_app *app,
                            struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    double percent = 100.0 * (double)space->free_bytes / (double)space->reserved;
    bool is_refused = run->oom && app->at == run->oom;
    bool is_fragmented =
        is_refused ? space->free_bytes >= run->oom_bytes : percent >= FRAGMENTED_PERCENT;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];

    vs_text_add(out, is_fragmented ? "fragmentation: " : "not fragmentation: ");
    if (is_refused)
        vs_text_addf(out, "%s requested, ", vs_bytes_text(run->oom_bytes, a));
    vs_text_addf(out, "%s of %s (%.1f %%) are free", vs_bytes_text(space->free_bytes, a),
                 vs_bytes_text(space->reserved, b), percent);
    if (!is_refused)
        vs_text_add(out, " in segments");
    return is_fragmented;
}

/* rpl_progress_fn; user: the app. A key that is typed stops the search. */
static bool go_on(void *user, uint64_t done, uint64_t total)
{
    const struct tui_app *app = user;
    struct tui_input input;

    (void)done;
    (void)total;
    return !app->typed || !app->typed(&input);
}

/* The figures of the recorded run with `setting`, NULL: without one; a part of `out`. */
static enum vs_status figures_get(struct tui_app *app, const char *setting, struct rpl_run *out,
                                  struct vs_error *err)
{
    struct wif_cache *cache = tui_change_cache(app);
    const uint64_t capacity = wif_capacity(app->base.trace);
    const struct wif_result *result = NULL;
    struct vs_toggles set = {{NULL}};
    struct vs_text pair = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (setting) {
        vs_text_addf(&pair, "alloc-conf=%s", setting);
        st = vs_toggles_set_pair(&set, vs_text_get(&pair), err);
    }
    if (!st)
        st = wif_cache_make(cache, &set, capacity, true, go_on, app, err);
    if (!st)
        st = wif_cache_figures(cache, &set, capacity, &result, err);
    if (!st && result->status)
        st = vs_fail(err, result->status, "%s", result->failure);
    if (!st)
        *out = result->run;
    vs_text_release(&pair);
    vs_toggles_release(&set);
    return st;
}

void tui_tried_run(struct tui_tried *tried, struct tui_app *app)
{
    struct tui_tried found = {.count = SETTING_COUNT};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_run before;
    struct rpl_run run;
    enum vs_status st;

    if (tried->count)
        return;
    st = figures_get(app, NULL, &before, &err);
    found.before = found.after = before.reserved;
    for (size_t i = 0; i < SETTING_COUNT && !st; i++) {
        bool fits;

        st = figures_get(app, SETTINGS[i], &run, &err);
        if (st)
            break;
        /* of a run that ends early, what it reserved says nothing */
        fits = before.oom && !run.oom;
        if ((run.oom && !before.oom) || (found.is_fitting && !fits) ||
            (fits == found.is_fitting && run.reserved >= found.after))
            continue;
        found.best = SETTINGS[i];
        found.after = run.reserved;
        found.is_fitting = fits;
    }
    if (st == VS_E_STOPPED)
        return;
    if (st)
        found.failure = vs_strndup(err.text, strcspn(err.text, "\n"));
    *tried = found;
}

void tui_tried_text(const struct tui_tried *tried, struct vs_text *out)
{
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];

    if (tried->failure)
        vs_text_addf(out, "no alloc-conf could be run: %s", tried->failure);
    else if (!tried->count)
        vs_text_add(out, "gs runs the settings of alloc-conf that may help");
    else if (!tried->best)
        vs_text_addf(out, "none of %zu settings of alloc-conf that were run reserves less",
                     tried->count);
    else if (tried->is_fitting)
        vs_text_addf(out, "it fits, reserved %s: `:set alloc-conf=%s`",
                     vs_bytes_text(tried->after, a), tried->best);
    else
        vs_text_addf(out, "reserved %s (%s): `:set alloc-conf=%s`", vs_bytes_text(tried->after, a),
                     vs_bytes_delta_text((int64_t)(tried->after - tried->before), b), tried->best);
}

void tui_tried_release(struct tui_tried *tried)
{
    vs_free(tried->failure);
    memset(tried, 0, sizeof(*tried));
}
