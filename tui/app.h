/*
 * tui/app.h - the session: which run is looked at, where, through which panes; and what each action does to that.
 *
 * For:            views (which read it), screen.c (which draws it), loop.c (which feeds it).
 * Must not know:  terminals, ncurses.
 * Invariant:      `at` is an event of the shown run (0 only where it has none), and its cursor stands there.
 */
#ifndef TUI_APP_H
#define TUI_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/toggle.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/diff/compare.h"
#include "replay/index/cursor.h"
#include "replay/index/index.h"
#include "replay/trace/marks.h"
#include "replay/trace/trace.h"
#include "tui/parts/keys.h"
#include "tui/parts/layout.h"
#include "tui/precompute.h"
#include "tui/prompt.h"
#include "tui/term/theme.h"
#include "tui/view.h"
#include "whatif/cache.h"
#include "whatif/cost.h"

/* A run to look at: the recorded one, or a what-if. breaks belong to the index; last_step: the event with which the last training step begins.
 * oom: the first refused allocation, and how many bytes it wanted; 0: there is none. number: of a what-if (whatif/cache.h): what was found out about a run
 * is good while its index and this are the same. */
struct tui_run {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
    struct rpl_breakpoints *breaks;
    struct rpl_top top;
    uint64_t events;
    uint64_t last_step;
    uint64_t oom;
    uint64_t oom_bytes;
    uint64_t number;
};

/* A stretch of events, both included. */
struct tui_window {
    uint64_t first;
    uint64_t last;
};

enum tui_unit { TUI_UNIT_BYTES, TUI_UNIT_PEAK, TUI_UNIT_DEVICE, TUI_UNIT_COUNT };

/*
 * What the what-if panel asks for and what came of it.
 * set      toggles that are not as recorded
 * is_run   `run` and `compare` are the answer to `set`; else, where something is set, `failure` says why there is none
 * is_shown the views show it, and not the recorded run
 * answers  what-ifs that were run, NULL until the first; `run`, `bound`, `cost` and `refused` are of the one asked for last
 * toggle   the row of the panel that is chosen
 * bound    how sure its peak is; cost: what its second runs take
 * name     `run` is no what-if but another trace, which is called so and is ours; NULL: a what-if
 * diff     the two held against each other (tui/diff.h); NULL until it is asked for. diff_serial: of the last one
 */
struct tui_change {
    struct vs_toggles set;
    struct vs_toggles recorded;
    struct tui_run run;
    struct rpl_compare compare;
    struct wif_cache *answers;
    enum vs_toggle toggle;
    struct rpl_uncertainty bound;
    struct wif_cost cost;
    bool is_run;
    bool is_shown;
    const char *name;
    struct tui_diff *diff;
    uint64_t diff_serial;
    char *failure;
    const char *refused;
};

#define TUI_JUMP_MAX 64
#define TUI_FILTER_MAX 8
#define TUI_WINDOW_MAX 16

struct tui_app;
struct tui_diff;
/* Show how things stand in the midst of long work. */
typedef void tui_pump_fn(void *user, struct tui_app *app);

/* What the loop has to do for the app. */
enum tui_wish {
    TUI_WISH_NOTHING,
    TUI_WISH_QUIT,
    TUI_WISH_SUSPEND,
    TUI_WISH_REDRAW,
    TUI_WISH_COPY, /* `copied` to the clipboard */
    TUI_WISH_EDIT, /* `copied` is a shell command */
    TUI_WISH_MOUSE,
    TUI_WISH_COUNT
};

/*
 * name         what to call the trace
 * base         the recorded run; change: the what-if
 * capacity     bytes of the device; 0: not known
 * at           event looked at, in the shown run
 * moves        goes up whenever what a view shows may have changed: run, event, filters, hidden categories
 * window       of the timeline; windows: those before it
 * range_from   other end of the range, 0: none
 * block        the chosen block; 0: none. It is of the shown run
 * hidden       categories left out of lists, a bit each
 * view_state   of each view; panes: the view in each pane; detail: of the pane below the main one where there are two
 * previous     the view that the last one took the place of
 * w, h         of the screen; columns: how many the timeline has
 * message      for the status line, until the next key; is_bad: it is a failure
 * wish, copied for the loop; pump of it, NULL without a terminal
 * typed  the next input that waits, which is left where it is; false: none does. NULL without a terminal
 * precompute  what is run ahead of the next key; is_lazy: nothing is
 * wants_stop  the user asks to stop what is being done; NULL without a terminal
 * opening  told how much of a trace without an index is read; set before tui_app_open, or NULL
 */
struct tui_app {
    const char *name;
    struct tui_run base;
    struct tui_change change;
    struct rpl_marks *marks;
    uint64_t capacity;
    uint64_t at;
    uint64_t moves;
    struct tui_window window;
    struct tui_window windows[TUI_WINDOW_MAX];
    size_t window_count;
    uint64_t range_from;
    uint64_t block;
    uint32_t hidden;
    char *filters[TUI_FILTER_MAX];
    size_t filter_count;
    char *search;
    uint64_t jumps[TUI_JUMP_MAX];
    size_t jump_count;
    size_t jump_at;
    uint64_t before_jump;
    void *view_state[TUI_VIEW_MAX];
    int panes[TUI_PANE_MAX];
    int focus;
    bool is_single;
    int previous;
    int w;
    int h;
    int columns;
    struct tui_layout layout;
    enum tui_unit unit;
    enum tui_theme theme;
    bool is_letters;
    bool is_ascii;
    bool has_mouse;
    bool is_following;
    bool is_lazy;
    struct tui_pending pending;
    struct tui_prompt prompt;
    struct vs_text message;
    bool is_bad;
    enum tui_wish wish;
    struct vs_text copied;
    tui_pump_fn *pump;
    void *pump_user;
    bool (*typed)(struct tui_input *out);
    bool (*wants_stop)(void);
    struct tui_precompute precompute;
    rpl_progress_fn *opening;
    void *opening_user;
};

/*
 * Open the trace at `path`. The app is zeroed; release it also after a failure. Cursor where memory ran out, else at the peak, which is what
 * most come for; without one at the last event. Errors: those of opening and reading it.
 */
VS_MUST_USE enum vs_status tui_app_open(struct tui_app *app, const char *path,
                                        struct vs_error *err);
/*
 * Beside it the trace at `path`, to be compared: the other run, until a toggle is flipped. The diff views come to the front. Errors as
 * tui_app_open.
 */
VS_MUST_USE enum vs_status tui_app_open_other(struct tui_app *app, const char *path,
                                              struct vs_error *err);
void tui_app_release(struct tui_app *app);
/* The screen has this size now. */
void tui_app_resize(struct tui_app *app, int w, int h);
/* One input. What it led to is in the app, wish and message included. */
void tui_app_input(struct tui_app *app, const struct tui_input *input);
/* Do an action as if its key had been typed. */
void tui_app_act(struct tui_app *app, const struct tui_command *command);
/* Before each draw: every view that is seen brings its rows up to date. */
void tui_app_sync(struct tui_app *app);
/*
 * Nothing is typed: have one of the places ready that the next key may lead to, or a what-if that it may ask for. Takes a millisecond at most, or until
 * something is typed; false: there is nothing left to do.
 */
bool tui_app_background(struct tui_app *app);
/* Take in what has been recorded since; true: there was something. */
bool tui_app_refresh(struct tui_app *app);

/* ---- for views ---- */

/* The run that is shown. */
const struct tui_run *tui_app_run(const struct tui_app *app);
/* The other one, for the overlay; NULL: there is none. */
const struct tui_run *tui_app_other(const struct tui_app *app);
/*
 * The event of the other run that corresponds to event `seq` of the one that is shown: by the alignment of the two where it has been made, else
 * the same phase of the same step, as far into it.
 */
uint64_t tui_app_map(const struct tui_app *app, uint64_t seq);
/* The event of the run that is shown for one of the recorded one. */
uint64_t tui_app_map_recorded(const struct tui_app *app, uint64_t seq);

/* Go to event `seq` of the shown run. is_jump: the way back is remembered. */
void tui_app_go(struct tui_app *app, uint64_t seq, bool is_jump);
/* Show `window`, cut to the run; the one before is remembered. */
void tui_app_window(struct tui_app *app, struct tui_window window);
void tui_app_choose_block(struct tui_app *app, uint64_t block);
/* Bring the view with this name into a pane and give it the focus. */
void tui_app_view(struct tui_app *app, const char *name);
void tui_app_view_at(struct tui_app *app, int view);
/* The view of the focused pane. */
const struct tui_view *tui_app_focused(const struct tui_app *app);
bool tui_app_is_hidden(const struct tui_app *app, int category);
/* Whether `text` has all words of the filters. */
bool tui_app_passes(const struct tui_app *app, const char *text);
/* Letters in bars: the theme has no colours, or the user wants them. */
bool tui_app_has_letters(const struct tui_app *app);

/* From long work, now and then: show how things stand. */
void tui_app_show(struct tui_app *app);
/* The same from work that any key stops: false where one has been typed; nothing is shown then. */
bool tui_app_pump(struct tui_app *app);
/* Run what `change.set` says, and show it. */
void tui_app_change(struct tui_app *app);

/* For the status line. */
void tui_app_say(struct tui_app *app, const char *fmt, ...) VS_PRINTF(2, 3);
void tui_app_fail(struct tui_app *app, const char *fmt, ...) VS_PRINTF(2, 3);

/* "8.1 MiB", or a share, in the unit the user has chosen. `buf` has VS_BYTES_TEXT_MAX bytes; returns buf. */
const char *tui_app_bytes(const struct tui_app *app, uint64_t bytes, char *buf);

#endif
