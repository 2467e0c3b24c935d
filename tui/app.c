/*
 * tui/app.c - see app.h: opening and closing a session, and functions for views. Actions are in act.c.
 *
 * Must not know:  terminals, ncurses.
 * Invariant:      the current event lies inside the window.
 */
#include "tui/app.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/index/timeline.h"
#include "replay/inspect/step.h"
#include "replay/report/uncertainty.h"
#include "tui/change.h"
#include "tui/diff.h"
#include "tui/program.h"
#include "tui/results.h"
#include "tui/sql.h"
#include "whatif/whatif.h"

/* A window is widened to the borders of pyramid cells where a column covers at least this many of them. */
#define PIECES_TO_SNAP 4

/*
 * Views in the panes at start, in the order of the panes of layout.c, the main one first. The second row: with two
 * traces.
 */
static const char *const FIRST_PANES[TUI_PANE_MAX] = {"timeline", "source", "blocks",
                                                      "why",      "ops",    "whatif"};
/* The set-up has at most one column in this many, however many events it has. */
#define SETUP_PART 8

/*
 * A trace without a net has no ops. Its requests are shown with their place in the segments and, if it was imported, by
 * module.
 */
static const char *const IMPORT_PANES[TUI_PANE_MAX] = {"timeline", "source",  "blocks",
                                                       "why",      "modules", "segments"};
static const char *const PROGRAM_PANES[TUI_PANE_MAX] = {"timeline", "source", "blocks",
                                                        "why",      "peak",   "segments"};
static const char *const PAIR_PANES[TUI_PANE_MAX] = {"diff",   "pairs", "timeline",
                                                     "source", "why",   "blocks"};

/* ---- opening, closing ---- */

static void panes_set(struct tui_app *app, const char *const names[TUI_PANE_MAX])
{
    for (size_t i = 0; i < TUI_PANE_MAX; i++) {
        app->panes[i] = tui_view_find(names[i]);
        VS_ASSERT(app->panes[i] >= 0);
    }
    app->focus = 0;
    app->previous = tui_view_find("timeline");
    app->home = tui_app_arrangement(app);
}

static void views_init(struct tui_app *app)
{
    for (size_t i = 0; tui_view_at(i); i++) {
        VS_ASSERT(i < TUI_VIEW_MAX);
        app->view_state[i] = vs_calloc(1, tui_view_at(i)->state_size + 1);
    }
    panes_set(app, FIRST_PANES);
}

static void views_release(struct tui_app *app)
{
    for (size_t i = 0; tui_view_at(i); i++) {
        if (app->view_state[i] && tui_view_at(i)->release)
            tui_view_at(i)->release(app->view_state[i]);
        vs_free(app->view_state[i]);
    }
}

/* Sets everything that is derived from app->base.trace, which is open. */
static enum vs_status begin(struct tui_app *app, struct vs_error *err)
{
    enum vs_status st;

    st = tui_run_open(&app->base, app->opening, app->opening_user, err);
    if (!st)
        st = rpl_marks_open(app->base.trace, &app->marks, err);
    if (st)
        return st;
    tui_breaks_load(app);
    if (rpl_trace_is_program(app->base.trace))
        panes_set(app, PROGRAM_PANES);
    else if (!rpl_trace_source_text(app->base.trace))
        panes_set(app, IMPORT_PANES);
    app->capacity = rpl_capacity(app->base.trace);
    /* a toggle unknown to this program only prevents what-ifs */
    st = wif_toggles(app->base.trace, &app->change.recorded, err);
    if (st)
        app->change.failure = vs_strdup(err->text);
    app->window = (struct tui_window){app->base.events ? 1 : 0, app->base.events};
    tui_app_go(app,
               app->base.oom         ? app->base.oom
               : app->base.top.event ? app->base.top.event
                                     : app->base.events,
               false);
    if (app->base.oom)
        tui_app_say(
            app, "out of memory here: gk shows what fills the device, gW what helps, gs what fits");
    return VS_OK;
}

enum vs_status tui_app_open(struct tui_app *app, const char *path, struct vs_error *err)
{
    enum vs_status st;

    app->path = path;
    app->name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    views_init(app);
    st = rpl_trace_open(path, &app->base.trace, err);
    return st ? st : begin(app, err);
}

enum vs_status tui_app_take(struct tui_app *app, const char *name, struct rpl_trace *trace,
                            struct vs_error *err)
{
    app->name = name;
    views_init(app);
    app->base.trace = trace;
    return begin(app, err);
}

enum vs_status tui_app_take_other(struct tui_app *app, const char *name, struct rpl_trace *trace,
                                  struct vs_error *err)
{
    enum vs_status st = tui_change_take(app, name, trace, err);

    if (!st)
        panes_set(app, PAIR_PANES);
    app->moves++;
    return st;
}

enum vs_status tui_app_open_other(struct tui_app *app, const char *path, struct vs_error *err)
{
    enum vs_status st = tui_change_open(app, path, err);

    if (!st)
        panes_set(app, PAIR_PANES);
    app->moves++;
    return st;
}

void tui_app_release(struct tui_app *app)
{
    (void)tui_program_stop(app);
    if (app->marks)
        (void)tui_marks_store(app);
    views_release(app);
    tui_precompute_release(&app->precompute);
    tui_change_release(app);
    rpl_marks_free(app->marks);
    tui_run_release(&app->base);
    for (size_t i = 0; i < app->filter_count; i++)
        vs_free(app->filters[i]);
    vs_free(app->search);
    tui_prompt_release(&app->prompt);
    tui_results_free(app->results);
    tui_sql_free(app->sql);
    if (app->ranks)
        rpl_ranks_release(app->ranks);
    vs_free(app->ranks);
    tui_config_release(&app->config);
    vs_text_release(&app->message);
    vs_text_release(&app->copied);
    memset(app, 0, sizeof(*app));
}

/* ---- messages ---- */

static void say(struct tui_app *app, bool is_bad, const char *fmt, va_list ap) VS_PRINTF(3, 0);
static void say(struct tui_app *app, bool is_bad, const char *fmt, va_list ap)
{
    vs_text_clear(&app->message);
    vs_text_addfv(&app->message, fmt, ap);
    app->is_bad = is_bad;
}

void tui_app_say(struct tui_app *app, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(app, false, fmt, ap);
    va_end(ap);
}

void tui_app_fail(struct tui_app *app, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(app, true, fmt, ap);
    va_end(ap);
}

const char *tui_app_bytes(const struct tui_app *app, uint64_t bytes, char *buf)
{
    uint64_t whole = 0;
    struct vs_text text = {NULL, 0, 0};

    if (app->unit == TUI_UNIT_PEAK)
        whole = tui_app_run(app)->top.allocated;
    else if (app->unit == TUI_UNIT_DEVICE)
        whole = app->capacity;
    if (!whole)
        return vs_bytes_text(bytes, buf);
    vs_text_addf(&text, "%.1f %%", 100.0 * (double)bytes / (double)whole);
    strncpy(buf, vs_text_get(&text), VS_BYTES_TEXT_MAX - 1);
    buf[VS_BYTES_TEXT_MAX - 1] = 0;
    vs_text_release(&text);
    return buf;
}

bool tui_app_has_letters(const struct tui_app *app)
{
    return app->is_letters || app->is_ascii || app->theme == TUI_THEME_MONO;
}

void tui_app_show(struct tui_app *app)
{
    if (app->pump)
        app->pump(app->pump_user, app);
}

bool tui_app_pump(struct tui_app *app)
{
    struct tui_input input;

    if (app->typed && app->typed(&input))
        return false;
    tui_app_show(app);
    return true;
}

/* ---- runs ---- */

const struct tui_run *tui_app_run(const struct tui_app *app)
{
    return app->change.is_shown ? &app->change.run : &app->base;
}

const struct tui_run *tui_app_other(const struct tui_app *app)
{
    if (!app->change.is_run)
        return NULL;
    return app->change.is_shown ? &app->base : &app->change.run;
}

/* First event and the one after the last of the stretch that begins with stop `n` of `verb`. */
static bool stretch(const struct tui_run *run, enum rpl_verb verb, uint64_t n, uint64_t *first,
                    uint64_t *end, struct vs_error *err)
{
    *first = 1;
    *end = run->events + 1;
    if (n && rpl_step_nth(run->index, verb, n, first, err))
        return false;
    return n >= rpl_step_total(run->index, verb) ||
           !rpl_step_nth(run->index, verb, n + 1, end, err);
}

/* The event of the other run at the same share of the same phase or, without such a phase, step. */
uint64_t tui_run_map(const struct tui_run *from, const struct tui_run *to, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t totals[2] = {rpl_step_total(from->index, RPL_VERB_PHASE),
                          rpl_step_total(to->index, RPL_VERB_PHASE)};
    /* phases may differ (accumulate, grad=eval): then steps are compared */
    enum rpl_verb verb = totals[0] == totals[1] ? RPL_VERB_PHASE : RPL_VERB_STEP;
    uint64_t n;
    uint64_t first[2];
    uint64_t end[2];
    double part;

    if (!seq || !to->events)
        return 0;
    if (rpl_step_number(from->index, verb, seq, &n, &err) ||
        !stretch(from, verb, n, &first[0], &end[0], &err))
        return to->events;
    if (n > rpl_step_total(to->index, verb))
        n = rpl_step_total(to->index, verb);
    if (!stretch(to, verb, n, &first[1], &end[1], &err) || end[0] <= first[0])
        return to->events;
    part = (double)(seq - first[0]) / (double)(end[0] - first[0]);
    seq = first[1] + (uint64_t)(part * (double)(end[1] - first[1]));
    return seq < to->events ? seq : to->events;
}

uint64_t tui_app_map(const struct tui_app *app, uint64_t seq)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    const struct tui_run *other = app->change.is_shown ? &app->base : &app->change.run;

    if (pairs)
        return rpl_pairs_event(pairs, app->change.is_shown, seq);
    return tui_run_map(tui_app_run(app), other, seq);
}

uint64_t tui_app_map_recorded(const struct tui_app *app, uint64_t seq)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);

    if (!app->change.is_shown)
        return seq;
    return pairs ? rpl_pairs_event(pairs, false, seq)
                 : tui_run_map(&app->base, &app->change.run, seq);
}

/* ---- where ---- */

/*
 * A window of many events per column is widened to borders of pyramid cells, so that no column needs its events to be
 * read.
 */
static struct tui_window window_snapped(const struct tui_app *app, struct tui_window window)
{
    uint64_t events = tui_app_run(app)->events;
    uint64_t columns = app->columns > 0 ? (uint64_t)app->columns : 1;

    if ((window.last - window.first) / columns < PIECES_TO_SNAP * RPL_PIECE_EVENTS)
        return window;
    window.first = (window.first - 1) / RPL_PIECE_EVENTS * RPL_PIECE_EVENTS + 1;
    window.last = (window.last + RPL_PIECE_EVENTS - 1) / RPL_PIECE_EVENTS * RPL_PIECE_EVENTS;
    if (window.last > events)
        window.last = events;
    return window;
}

struct tui_split tui_app_split(const struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    uint64_t first = app->window.first ? app->window.first : 1;
    uint64_t events = app->window.last + 1 - first;
    uint64_t setup = run->setup_last >= first ? run->setup_last + 1 - first : 0;
    struct tui_split split = {run->setup_last, app->columns / SETUP_PART};

    /* it never has more than its share, and none where the window shows nothing else */
    if (!setup || setup >= events || split.columns < 1 ||
        setup * (uint64_t)app->columns <= events * (uint64_t)split.columns)
        split.columns = 0;
    return split;
}

/* Shift the window so that `at` is in it. */
static void window_follow(struct tui_app *app)
{
    uint64_t size = app->window.last - app->window.first;
    uint64_t events = tui_app_run(app)->events;

    if (app->at >= app->window.first && app->at <= app->window.last)
        return;
    app->window.first = app->at > size / 2 ? app->at - size / 2 : 1;
    app->window.last = app->window.first + size;
    if (app->window.last > events) {
        app->window.last = events;
        app->window.first = events > size ? events - size : 1;
    }
    app->window = window_snapped(app, app->window);
}

static void jump_push(struct tui_app *app)
{
    if (app->jump_at < app->jump_count)
        app->jump_count = app->jump_at;
    if (app->jump_count == TUI_JUMP_MAX) {
        memmove(&app->jumps[0], &app->jumps[1], (TUI_JUMP_MAX - 1) * sizeof(app->jumps[0]));
        app->jump_count--;
    }
    app->jumps[app->jump_count++] = app->at;
    app->jump_at = app->jump_count;
    app->before_jump = app->at;
}

void tui_app_go(struct tui_app *app, uint64_t seq, bool is_jump)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;

    if (seq > run->events)
        seq = run->events;
    if (!seq && run->events)
        seq = 1;
    if (is_jump && seq != app->at)
        jump_push(app);
    app->moves++;
    app->at = seq;
    if (rpl_cursor_seek(run->cursor, seq, &err)) {
        app->at = rpl_cursor_seq(run->cursor);
        tui_app_fail(app, "%s", err.text);
    }
    window_follow(app);
}

void tui_app_window(struct tui_app *app, struct tui_window window)
{
    uint64_t events = tui_app_run(app)->events;

    if (window.last > events)
        window.last = events;
    if (!window.first && events)
        window.first = 1;
    if (window.first > window.last)
        return;
    window = window_snapped(app, window);
    if (window.first == app->window.first && window.last == app->window.last)
        return;
    if (app->window_count == TUI_WINDOW_MAX) {
        memmove(&app->windows[0], &app->windows[1], (TUI_WINDOW_MAX - 1) * sizeof(app->windows[0]));
        app->window_count--;
    }
    app->windows[app->window_count++] = app->window;
    app->window = window;
    window_follow(app);
    app->moves++;
}

void tui_app_choose_block(struct tui_app *app, uint64_t block)
{
    if (app->block != block)
        app->moves++;
    app->block = block;
}

/* ---- panes ---- */

const struct tui_view *tui_app_focused(const struct tui_app *app)
{
    return tui_view_at((size_t)app->panes[app->focus]);
}

void tui_app_resize(struct tui_app *app, int w, int h)
{
    app->w = w;
    app->h = h;
    tui_layout_fill(&app->layout, w, h, app->is_single);
    /* the focused view is taken along */
    if (app->layout.pane_count && app->focus >= app->layout.pane_count) {
        int view = app->panes[app->focus];

        app->panes[app->focus] = app->panes[0];
        app->panes[0] = view;
        app->focus = 0;
    }
    app->moves++;
}

struct tui_arrangement tui_app_arrangement(const struct tui_app *app)
{
    struct tui_arrangement now = {.focus = app->focus};

    memcpy(now.panes, app->panes, sizeof(now.panes));
    return now;
}

void tui_app_arrange(struct tui_app *app, const struct tui_arrangement *panes)
{
    memcpy(app->panes, panes->panes, sizeof(app->panes));
    app->focus = panes->focus;
    tui_app_resize(app, app->w, app->h);
}

void tui_app_view_at(struct tui_app *app, int view)
{
    const char *beside = tui_view_at((size_t)view)->beside;

    app->moves++;
    if (app->panes[app->focus] != view) {
        app->previous = app->panes[app->focus];
        app->before = tui_app_arrangement(app);
        app->has_before = true;
    }
    for (int i = 0; i < app->layout.pane_count; i++) {
        if (app->panes[i] == view) {
            app->focus = i;
            return;
        }
    }
    /* another pane is replaced if there is one: the new view is meant to be read beside the focused one */
    if (app->layout.pane_count > 2 && beside && app->panes[app->focus] == tui_view_find(beside)) {
        app->focus = app->focus == 1 ? 0 : 1;
        app->previous = app->panes[app->focus];
    }
    /* the two views swap their panes, so that no view is in two */
    for (int i = 0; i < TUI_PANE_MAX; i++)
        if (app->panes[i] == view)
            app->panes[i] = app->panes[app->focus];
    app->panes[app->focus] = view;
    if (app->layout.pane_count == 2 && app->focus == 0 && beside && app->panes[1] != view) {
        int other = tui_view_find(beside);

        for (int i = 0; i < TUI_PANE_MAX; i++)
            if (app->panes[i] == other)
                app->panes[i] = app->panes[1];
        app->panes[1] = other;
    }
}

void tui_app_view(struct tui_app *app, const char *name)
{
    int view = tui_view_find(name);

    VS_ASSERT(view >= 0);
    tui_app_view_at(app, view);
}

bool tui_app_shows(const struct tui_app *app, const char *name)
{
    int view = tui_view_find(name);

    for (int i = 0; i < app->layout.pane_count; i++)
        if (app->panes[i] == view)
            return true;
    return false;
}

void tui_app_sync(struct tui_app *app)
{
    for (int i = 0; i < app->layout.pane_count; i++) {
        const struct tui_view *view = tui_view_at((size_t)app->panes[i]);
        struct tui_rect at = app->layout.panes[i];

        if (view->sync)
            view->sync(app->view_state[app->panes[i]], app, at.w, at.h - 1);
    }
}

bool tui_app_read_on(struct tui_app *app)
{
    for (int i = 0; i < app->layout.pane_count; i++) {
        const struct tui_view *view = tui_view_at((size_t)app->panes[i]);

        if (view->read_on && view->read_on(app->view_state[app->panes[i]], app))
            return true;
    }
    return false;
}

/* ---- a recording that grows ---- */

bool tui_app_refresh(struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;
    bool was_complete = rpl_trace_is_complete(app->base.trace);
    bool was_at_end = app->at == app->base.events;
    bool was_whole = app->window.first <= 1 && app->window.last == app->base.events;
    uint64_t added = 0;

    if (rpl_index_refresh(app->base.index, &added, &err)) {
        tui_app_fail(app, "%s", err.text);
        app->is_following = false;
        return true;
    }
    /* nothing more comes: no need to look for it, and the header says so */
    if (rpl_trace_is_complete(app->base.trace))
        app->is_following = false;
    if (!added)
        return !was_complete && !app->is_following;
    tui_diff_forget(app); /* the comparison does not include the new events */
    if (app->change.cache)
        wif_cache_forget(app->change.cache);
    if (tui_run_update(&app->base, &err))
        tui_app_fail(app, "%s", err.text);
    app->moves++;
    if (app->change.is_shown)
        return true;
    if (was_whole)
        app->window = (struct tui_window){1, app->base.events};
    tui_app_go(app, was_at_end ? app->base.events : app->at, false);
    return true;
}
