/*
 * tui/change.c - see change.h.
 *
 * Must not know:  drawing.
 * Invariant:      if a run fails, the recorded one is shown.
 */
#include "tui/change.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/inspect/step.h"
#include "tui/diff.h"
#include "tui/gains.h"
#include "tui/program.h"
#include "tui/waiting.h"
#include "whatif/rerun.h"
#include "whatif/whatif.h"

/* ---- runs ---- */

/* Releases everything of a run but its index and cursor. */
static enum vs_status run_begin(struct tui_run *run, struct vs_error *err)
{
    run->breaks = rpl_breakpoints_new(run->index);
    return tui_run_update(run, err);
}

enum vs_status tui_run_open(struct tui_run *run, rpl_progress_fn *progress, void *user,
                            struct vs_error *err)
{
    enum vs_status st = rpl_index_open(run->trace, progress, user, &run->index, err);

    if (st)
        return st;
    run->cursor = rpl_cursor_new(run->index);
    return run_begin(run, err);
}

enum vs_status tui_run_update(struct tui_run *run, struct vs_error *err)
{
    uint64_t steps = rpl_step_total(run->index, RPL_VERB_STEP);
    struct rpl_step first;
    struct vs_event event;
    enum vs_status st;

    run->oom = rpl_index_oom(run->index);
    run->oom_bytes = 0;
    if (run->oom) {
        st = rpl_index_event(run->index, run->oom, &event, err);
        if (st)
            return st;
        run->oom_bytes = event.oom.requested_bytes;
    }
    tui_gains_free(run->gains);
    run->gains = NULL;
    tui_mistakes_forget(run);
    run->reserved_max = rpl_index_reserved_max(run->index);
    run->top = rpl_index_top(run->index);
    run->events = rpl_index_event_count(run->index);
    run->last_step = 0;
    run->setup_last =
        rpl_trace_step_first(run->trace, &first) && first.first_seq ? first.first_seq - 1 : 0;
    return steps ? rpl_step_nth(run->index, RPL_VERB_STEP, steps, &run->last_step, err) : VS_OK;
}

void tui_run_release(struct tui_run *run)
{
    tui_gains_free(run->gains);
    tui_mistakes_forget(run);
    rpl_breakpoints_free(run->breaks);
    rpl_cursor_free(run->cursor);
    rpl_index_free(run->index);
    rpl_trace_free(run->trace);
    *run = (struct tui_run){.trace = NULL};
}

/* A second trace is kept open in `second`; a what-if stays in the cache. */
static void run_leave(struct tui_change *change)
{
    if (change->name) {
        change->second = change->run;
        change->second_name = change->name;
    } else {
        rpl_breakpoints_free(change->run.breaks);
        tui_gains_free(change->run.gains);
        tui_mistakes_forget(&change->run);
    }
    change->run = (struct tui_run){.trace = NULL};
    change->uncertainty = (struct rpl_uncertainty){.allocs = 0};
    change->name = NULL;
}

/* No result of these may be the other run. */
static void edited_release(struct tui_change *change)
{
    wif_cache_free(change->edited_cache);
    rpl_trace_free(change->edited);
    change->edited_cache = NULL;
    change->edited = NULL;
}

void tui_change_release(struct tui_app *app)
{
    struct tui_change *change = &app->change;

    tui_diff_forget(app);
    run_leave(change);
    tui_run_release(&change->second);
    wif_cache_free(change->cache);
    edited_release(change);
    wif_edits_release(&change->edits);
    wif_edits_release(&change->edits_in_force);
    vs_toggles_release(&change->set);
    vs_toggles_release(&change->in_force);
    vs_toggles_release(&change->recorded);
    vs_free(change->failure);
    vs_text_release(&change->whole.where);
}

/* ---- running and showing ---- */

/* Moves the cursor to the corresponding event of the run that is shown from now on. */
static void show(struct tui_app *app, bool is_shown, uint64_t at, struct tui_window window)
{
    app->change.is_shown = is_shown;
    app->window = window;
    app->window_count = 0;
    app->range_from = 0;
    app->block = 0;
    app->jump_count = app->jump_at = 0;
    app->before_jump = 0;
    tui_app_go(app, at, false);
}

static struct tui_window window_map(const struct tui_app *app, const struct tui_run *from,
                                    const struct tui_run *to, struct tui_window window)
{
    struct tui_window whole = {to->events ? 1 : 0, to->events};

    if (window.first <= 1 && window.last >= from->events)
        return whole;
    window.first = tui_app_map(app, window.first);
    window.last = tui_app_map(app, window.last);
    return window.first < window.last ? window : whole;
}

void tui_change_show(struct tui_app *app, bool is_shown)
{
    const struct tui_run *from = tui_app_run(app);
    const struct tui_run *to = is_shown ? &app->change.run : &app->base;
    uint64_t at;

    if (is_shown == app->change.is_shown || (is_shown && !app->change.is_run))
        return;
    /* a what-if has the breakpoints of the session; a second trace has its own */
    if (is_shown && !app->change.name) {
        rpl_breakpoints_free(app->change.run.breaks);
        app->change.run.breaks = rpl_breakpoints_new(app->change.run.index);
        tui_breaks_copy(app->base.breaks, app->change.run.breaks);
    }
    /* a cursor at the peak, or at an out-of-memory error, moves to that of the other run: these are compared */
    if (app->at == from->top.event || (from->oom && app->at == from->oom))
        at = to->oom && app->at == from->oom ? to->oom : to->top.event;
    else
        at = tui_diff_other(app);
    show(app, is_shown, at, window_map(app, from, to, app->window));
}

static void failure_set(struct tui_change *change, const char *text)
{
    vs_free(change->failure);
    change->failure = text ? vs_strdup(text) : NULL;
}

struct wif_cache *tui_change_cache(struct tui_app *app)
{
    if (!app->change.cache)
        app->change.cache = wif_cache_new(app->base.trace, TUI_WHATIF_CACHE_BYTES);
    return app->change.cache;
}

struct wif_cache *tui_change_results(struct tui_app *app)
{
    return app->change.edited_cache ? app->change.edited_cache : tui_change_cache(app);
}

const struct wif_edits *tui_change_edits(const struct tui_app *app)
{
    static const struct wif_edits NONE = {NULL, 0, 0};

    return app->change.is_shown && !app->change.name ? &app->change.edits_in_force : &NONE;
}

/*
 * Makes the net with the lines of change->edits, whose what-ifs are run from now on. The other run is left, because it
 * may be one of the net with the lines before.
 */
static enum vs_status edit(struct tui_app *app, struct vs_error *err)
{
    struct tui_change *change = &app->change;
    enum vs_status st;

    tui_diff_forget(app);
    if (!change->name)
        run_leave(change);
    edited_release(change);
    change->is_run = change->is_run && change->name;
    if (!change->edits.count)
        return VS_OK;
    st = wif_edited_new(app->base.trace, &change->edits, &change->edited, err);
    if (!st)
        change->edited_cache = wif_cache_new(change->edited, TUI_WHATIF_CACHE_BYTES);
    return st;
}

/* Makes the what-if of change->set the other run. */
static enum vs_status run_change(struct tui_app *app, struct vs_error *err)
{
    struct tui_change *change = &app->change;
    const struct wif_result *answer;
    struct tui_waiting waiting;
    enum vs_status st;

    tui_diff_forget(app);
    run_leave(change);
    change->is_run = false;
    if (wif_rerun_is_needed(app->base.trace, &change->set)) {
        st = wif_rerun_check(&change->set, err);
        if (!st)
            st = tui_program_agree(app, err);
        if (st)
            return st;
        wif_cache_allow_rerun(tui_change_cache(app));
    }
    st = tui_change_whole(app, err);
    if (st)
        return st;
    tui_waiting_init(&waiting, app, TUI_RUNNING);
    st = wif_cache_get(tui_change_results(app), &change->set, wif_capacity(app->base.trace),
                       tui_waiting_show, &waiting, &answer, err);
    if (st)
        return st;
    change->run = (struct tui_run){.trace = answer->trace,
                                   .index = answer->index,
                                   .cursor = answer->cursor,
                                   .number = answer->number};
    change->uncertainty = answer->uncertainty;
    change->cost = answer->cost;
    change->refused = *answer->refused ? answer->refused : NULL;
    st = run_begin(&change->run, err);
    if (!st)
        st = tui_change_compare(app, answer->moved, err);
    if (st)
        return st;
    change->is_run = true;
    return VS_OK;
}

/* Makes the second trace, if one was opened, the other run again. */
static enum vs_status run_second(struct tui_app *app, struct vs_error *err)
{
    struct tui_change *change = &app->change;
    enum vs_status st;

    if (change->name)
        return VS_OK;
    tui_diff_forget(app);
    run_leave(change);
    change->is_run = false;
    if (!change->second.trace)
        return VS_OK;
    change->run = change->second;
    change->name = change->second_name;
    change->second = (struct tui_run){.trace = NULL};
    change->second_name = NULL;
    st = tui_change_compare(app, 0, err);
    change->is_run = st == VS_OK;
    return st;
}

/* The what-if of change->set or, where no toggle is set, the second trace becomes the other run. */
static enum vs_status run_other(struct tui_app *app, struct vs_error *err)
{
    return tui_change_count(app) ? run_change(app, err) : run_second(app, err);
}

/* Sets everything that is derived from the other run's trace, which is open. */
static enum vs_status other_begin(struct tui_app *app, struct vs_error *err)
{
    struct tui_change *change = &app->change;
    enum vs_status st = tui_run_open(&change->run, app->opening, app->opening_user, err);

    if (!st)
        st = tui_change_compare(app, 0, err);
    if (st)
        return st;
    change->is_run = true;
    return tui_diff_open(app, app->opening, app->opening_user, err);
}

enum vs_status tui_change_open(struct tui_app *app, const char *path, struct vs_error *err)
{
    enum vs_status st;

    /* another second trace takes the place of the one before */
    tui_diff_forget(app);
    run_leave(&app->change);
    tui_run_release(&app->change.second);
    app->change.second = (struct tui_run){.trace = NULL};
    app->change.second_name = NULL;
    app->change.is_run = false;
    app->change.name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    app->change.run.number = UINT64_MAX - app->change.opened++;
    st = rpl_trace_open(path, &app->change.run.trace, err);
    return st ? st : other_begin(app, err);
}

enum vs_status tui_change_take(struct tui_app *app, const char *name, struct rpl_trace *trace,
                               struct vs_error *err)
{
    app->change.name = name;
    app->change.run.trace = trace;
    return other_begin(app, err);
}

/* What of the session belongs to the shown run. */
struct shown {
    bool is_other;
    uint64_t at;
    uint64_t block;
    struct tui_window window;
};

/*
 * The toggles in force are set again, because those that were set could not be run: the session is what it was before.
 * Their run is in the cache, so this takes no time.
 */
static void change_undo(struct tui_app *app, const struct shown *before)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_OK;

    vs_toggles_copy(&app->change.set, &app->change.in_force);
    if (!wif_edits_equal(&app->change.edits, &app->change.edits_in_force)) {
        wif_edits_release(&app->change.edits);
        wif_edits_merge(&app->change.edits, &app->change.edits_in_force);
        st = edit(app, &err);
    }
    if (st || run_other(app, &err)) {
        tui_app_fail(app, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        vs_toggles_release(&app->change.set);
        vs_toggles_release(&app->change.in_force);
        wif_edits_release(&app->change.edits);
        wif_edits_release(&app->change.edits_in_force);
        return;
    }
    if (before->is_other) {
        show(app, true, before->at, before->window);
        app->block = before->block;
    }
}

const char *tui_reason_short(const struct tui_app *app, const char *reason)
{
    const char *file = rpl_trace_source_name(app->base.trace);
    size_t len = file ? strlen(file) : 0;
    size_t word;

    if (!len || strncmp(reason, file, len) != 0 || strncmp(reason + len, ": ", 2) != 0)
        return reason;
    reason += len + 2;
    word = strcspn(reason, ": \n");
    return word > 5 && strncmp(reason + word - 5, "Error: ", 7) == 0 ? reason + word + 2 : reason;
}

/* Whether the reason begins with a toggle that was set: "checkpoint=conv9: no module conv9". */
static bool has_toggle(const struct tui_app *app, const char *reason)
{
    bool has = false;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        size_t len = strlen(vs_toggle_info((enum vs_toggle)i)->name);

        has |= vs_toggles_is_set(&app->change.set, (enum vs_toggle)i) &&
               strncmp(reason, vs_toggle_info((enum vs_toggle)i)->name, len) == 0 &&
               reason[len] == '=';
    }
    return has;
}

/* Which toggles were set, unless the reason says which one it is about, and why they have no effect. */
static void failure_describe(struct tui_app *app, const char *reason)
{
    struct vs_text text = {NULL, 0, 0};

    reason = tui_reason_short(app, reason);
    if (!has_toggle(app, reason)) {
        tui_change_text(app, &text);
        vs_text_add(&text, ": ");
    }
    vs_text_add(&text, reason);
    failure_set(&app->change, vs_text_get(&text));
    vs_text_release(&text);
}

/* Has a program begun to run in the background, or could it not? The toggles in force are set again. */
static bool begin_in_background(struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;

    if (!tui_program_begin(app, &err))
        return false;
    app->moves++;
    failure_set(&app->change, NULL);
    if (err.status) {
        failure_describe(app, err.text);
        tui_app_fail(app, "%.*s", (int)strcspn(app->change.failure, "\n"), app->change.failure);
    } else {
        tui_app_say(app, "the program runs in the background; <C-c> stops it");
    }
    vs_toggles_copy(&app->change.set, &app->change.in_force);
    return true;
}

void tui_app_change(struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct shown before = {app->change.is_shown, app->at, app->block, app->window};
    bool was_peak = app->at == tui_app_run(app)->top.event;
    enum vs_status st = VS_OK;

    app->is_bad = false;
    if (begin_in_background(app))
        return;
    tui_change_show(app, false);
    if (was_peak)
        tui_app_go(app, app->base.top.event, false);
    failure_set(&app->change, NULL);
    app->moves++;
    if (!wif_edits_equal(&app->change.edits, &app->change.edits_in_force))
        st = edit(app, &err);
    if (!st)
        st = run_other(app, &err);
    vs_text_clear(&app->message);
    app->moves++; /* the views were drawn with the progress and have built their pages */
    if (st) {
        failure_describe(app, st == VS_E_STOPPED ? "stopped before the net had run" : err.text);
        change_undo(app, &before);
        tui_app_fail(app, "%s%.*s", st == VS_E_STOPPED ? "stopped: " : "",
                     (int)strcspn(app->change.failure, "\n"), app->change.failure);
        return;
    }
    vs_toggles_copy(&app->change.in_force, &app->change.set);
    wif_edits_release(&app->change.edits_in_force);
    wif_edits_merge(&app->change.edits_in_force, &app->change.edits);
    if (tui_change_count(app))
        tui_change_show(app, true);
    else
        tui_app_say(app, "the recorded toggles");
}

void tui_change_refuse(struct tui_app *app, const char *reason)
{
    vs_toggles_copy(&app->change.set, &app->change.in_force);
    failure_set(&app->change, reason);
    app->moves++;
    tui_app_fail(app, "%.*s", (int)strcspn(reason, "\n"), reason);
}

void tui_change_remedy(struct tui_app *app, const struct vs_toggles *set,
                       const struct wif_edits *edits)
{
    struct vs_error err = VS_ERROR_INIT;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;

        if (vs_toggles_is_set(set, toggle) &&
            tui_change_set(app, toggle, vs_toggles_get(set, toggle), &err)) {
            tui_change_refuse(app, err.text);
            return;
        }
    }
    wif_edits_merge(&app->change.edits, edits);
    tui_app_change(app);
}

void tui_change_reset(struct tui_app *app)
{
    bool was_set = tui_change_count(app) != 0;

    vs_toggles_release(&app->change.set);
    wif_edits_release(&app->change.edits);
    tui_app_change(app);
    if (!app->is_bad)
        tui_app_say(app, was_set ? "the recorded toggles" : "no toggle is changed");
}

void tui_change_next_run(struct tui_app *app)
{
    struct tui_change *change = &app->change;
    struct vs_error err = VS_ERROR_INIT;
    bool has_third =
        change->is_run && tui_change_count(app) && (change->name || change->second.trace);
    enum vs_status st = VS_OK;

    /* the recorded run, its what-if, the second trace, and the recorded run again */
    if (!has_third) {
        tui_change_show(app, !change->is_shown);
        return;
    }
    if (change->is_shown) {
        tui_change_show(app, false);
        if (change->name)
            return;
        st = run_second(app, &err);
    } else if (change->name) {
        st = run_change(app, &err);
    }
    app->moves++;
    if (st)
        tui_app_fail(app, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    else
        tui_change_show(app, true);
}
