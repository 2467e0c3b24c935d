/*
 * tui/app.h - the state of a session: the runs, the current event, the panes; and the functions that change it.
 *
 * For:            views (which read it), screen.c (which draws it), loop.c (which passes input to it).
 * Must not know:  terminals, ncurses.
 * Invariant:      `at` is an event of the shown run (0 only where it has none), and its cursor stands there.
 */
#ifndef TUI_APP_H
#define TUI_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "base/toggle.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/diff/compare.h"
#include "replay/index/cursor.h"
#include "replay/index/index.h"
#include "replay/ranks/ranks.h"
#include "replay/trace/marks.h"
#include "replay/trace/trace.h"
#include "tui/parts/config.h"
#include "tui/parts/keys.h"
#include "tui/parts/layout.h"
#include "tui/parts/prompt.h"
#include "tui/precompute.h"
#include "tui/term/theme.h"
#include "tui/view.h"
#include "whatif/cache.h"
#include "whatif/cost.h"
#include "whatif/edit.h"

struct tui_gains;
struct wif_rerun_job;

/*
 * The recorded program, which runs again in the background (tui/program.h).
 *
 * job      NULL: it does not run
 * set      with these toggles
 * began    since this time, of CLOCK_MONOTONIC
 * seconds  for so long, when the screen was drawn last
 * is_over  it has ended, and its result is being shown
 */
struct tui_rerun {
    struct wif_rerun_job *job;
    struct vs_toggles set;
    struct timespec began;
    int64_t seconds;
    bool is_over;
};

/*
 * An open run: the recorded one, a what-if or a second trace.
 *
 * breaks     breakpoints of the run; they belong to the index
 * events     number of events
 * last_step  event with which the last training step begins; setup_last: last event before the first one, 0: none
 * oom        event of the first refused allocation; 0: none. oom_bytes: the bytes it requested
 * reserved_max   highest bytes in segments
 * number     number of a what-if (whatif/cache.h), or of a second trace, from UINT64_MAX down; what was computed of a
 *            run is valid while index and number are the same
 * gains      what would lower its peak (tui/gains.h); NULL: not asked for yet. mistakes: likely ones, likewise
 */
struct tui_run {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
    struct rpl_breakpoints *breaks;
    struct rpl_top top;
    uint64_t events;
    uint64_t last_step;
    uint64_t setup_last;
    uint64_t oom;
    uint64_t oom_bytes;
    uint64_t reserved_max;
    uint64_t number;
    struct tui_gains *gains;
    struct tui_mistakes *mistakes;
};

/* A range of events, both ends included. */
struct tui_window {
    uint64_t first;
    uint64_t last;
};

enum tui_unit { TUI_UNIT_BYTES, TUI_UNIT_PEAK, TUI_UNIT_DEVICE, TUI_UNIT_COUNT };

/*
 * The recorded run from its beginning, where the trace has only its end: its figures, the bytes that its ops move in a
 * step, and where its peak is. is_known: it has run
 */
struct tui_whole {
    bool is_known;
    struct rpl_run run;
    double moved;
    struct vs_text where;
};

/*
 * The other run: a what-if with its toggles, or a second trace.
 *
 * set       toggles whose values differ from the recorded ones; in_force: those of the latest what-if that ran
 * edits     lines of the net that the what-if adds, over the recorded ones; edits_in_force: those of the latest one
 * edited, edited_cache   the net with `edits`, and the results of its what-ifs; NULL where there are none
 * is_run    there is another run, and `compare` compares the recorded one with it
 * is_shown  the views show this run instead of the recorded one
 * whole     what `compare` compares a what-if with where the trace has only the end of its run
 * moved_ratio   bytes that ops read and write in a step, after over before; 0: the base has no ops
 * cache     results of what-ifs, NULL until the first; `run`, `uncertainty`, `cost` and `refused` belong to the latest
 * toggle    the chosen row of the panel
 * uncertainty   whether its peak is exact; cost: time of its recomputed ops
 * failure   why the latest change of the toggles had no effect; NULL: it had
 * name      name of the second trace, borrowed; NULL: `run` is a what-if
 * second    the second trace while `run` is a what-if, and its name second_name; no trace: none, or it is `run`
 * opened    second traces that were opened so far
 * diff      comparison of the two runs (tui/diff.h); NULL until it is needed. diff_serial: number of the latest one
 */
struct tui_change {
    struct vs_toggles set;
    struct vs_toggles in_force;
    struct vs_toggles recorded;
    struct wif_edits edits;
    struct wif_edits edits_in_force;
    struct rpl_trace *edited;
    struct wif_cache *edited_cache;
    struct tui_run run;
    struct rpl_compare compare;
    struct tui_whole whole;
    double moved_ratio;
    struct wif_cache *cache;
    enum vs_toggle toggle;
    struct rpl_uncertainty uncertainty;
    struct wif_cost cost;
    bool is_run;
    bool is_shown;
    const char *name;
    struct tui_run second;
    const char *second_name;
    uint64_t opened;
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
struct tui_results;
struct tui_sql;
/* Draws the screen during long work. */
typedef void tui_pump_fn(void *user, struct tui_app *app);

/* Which view is in each pane, and which pane has the focus. */
struct tui_arrangement {
    int panes[TUI_PANE_MAX];
    int focus;
};

/* What the loop has to do for the app. */
enum tui_wish {
    TUI_WISH_NOTHING,
    TUI_WISH_QUIT,
    TUI_WISH_SUSPEND,
    TUI_WISH_REDRAW,
    TUI_WISH_COPY, /* `copied` to the clipboard */
    TUI_WISH_EDIT, /* `copied` is a shell command */
    TUI_WISH_RUN,  /* the same, which says itself what fails */
    TUI_WISH_MOUSE,
    TUI_WISH_COUNT
};

/* Bytes that all ops of a trace read and write in a step; it had `events` events then, 0: not measured yet. */
struct tui_moved {
    uint64_t events;
    double bytes;
};

/*
 * name         name of the trace; path: of its file, as it was given, NULL of a trace in memory
 * base         the recorded run; change: the other run
 * moved        of the base, measured with the first other run
 * capacity     bytes of the device; 0: not known
 * at           current event of the shown run
 * moves        incremented whenever a view's contents may have changed: run, event, filters, hidden categories
 * news         incremented by background work that changed what is on the screen, which is then drawn again
 * window       events shown by the timeline; windows: the previous ones
 * range_from   other end of the range, 0: none
 * block        the chosen block of the shown run; 0: none
 * hidden       categories that lists leave out, one bit each
 * view_state   state of each view; panes: index of the view in each pane
 * previous     index of the view that the newest view replaced
 * home         the panes at start; before: those that the newest view changed, if has_before; all: those that a
 *              maximised pane hides
 * w, h         size of the screen; columns: columns of the timeline
 * ranks        the ranks of the run, of which the base is one; owned, NULL: none were asked for
 * results      the latest results of a sweep (tui/results.h); NULL until the first
 * sql          the latest `:sql` and its rows (tui/sql.h); NULL until the first
 * message      text of the status line until the next key; is_bad: it reports a failure
 * wish, copied what the loop has to do; pump: draws during long work, NULL without a terminal
 * config       the user's file: keys, and errors in it, which the help view lists
 * changed      options that keys have changed, one bit of enum tui_option each: they are remembered
 * typed        peeks at the next input; false: there is none. NULL without a terminal
 * may_rerun    the recorded program may be run again; rerun_said: the user was shown its command
 * has_ticks    the loop calls tui_program_poll now and then, so a program may run in the background: rerun
 * precompute   speculative what-if runs; is_lazy: there are none
 * wants_stop   whether the user wants to stop the current work; NULL without a terminal
 * opening      progress of reading a trace without an index; set before tui_app_open, or NULL
 */
struct tui_app {
    const char *name;
    const char *path;
    struct tui_run base;
    struct tui_change change;
    struct tui_moved moved;
    struct rpl_marks *marks;
    uint64_t capacity;
    uint64_t at;
    uint64_t moves;
    uint64_t news;
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
    struct tui_arrangement home;
    struct tui_arrangement before;
    struct tui_arrangement all;
    bool has_before;
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
    bool may_rerun;
    bool rerun_said;
    bool has_ticks;
    struct tui_rerun rerun;
    struct tui_config config;
    unsigned changed;
    struct tui_pending pending;
    struct tui_prompt prompt;
    struct rpl_ranks *ranks;
    struct tui_results *results;
    struct tui_sql *sql;
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
 * Open the trace at `path`. The app is zeroed; release it after a failure, too. The current event is that of the first
 * refused allocation, else the peak, else the last event. Errors: those of opening and reading the trace.
 */
VS_MUST_USE enum vs_status tui_app_open(struct tui_app *app, const char *path,
                                        struct vs_error *err);
/*
 * The same with a trace in memory, which belongs to the app from now on, also after a failure. `name` (borrowed) names
 * it.
 */
VS_MUST_USE enum vs_status tui_app_take(struct tui_app *app, const char *name,
                                        struct rpl_trace *trace, struct vs_error *err);
/*
 * Open the trace at `path` as the other run, which it is until a toggle is changed, and show the diff views. Errors as
 * tui_app_open.
 */
VS_MUST_USE enum vs_status tui_app_open_other(struct tui_app *app, const char *path,
                                              struct vs_error *err);
/* The same with a trace in memory, as tui_app_take. */
VS_MUST_USE enum vs_status tui_app_take_other(struct tui_app *app, const char *name,
                                              struct rpl_trace *trace, struct vs_error *err);
void tui_app_release(struct tui_app *app);
/* Set the size of the screen, in cells. */
void tui_app_resize(struct tui_app *app, int w, int h);
/* Process one input. The result is in the app, including wish and message. */
void tui_app_input(struct tui_app *app, const struct tui_input *input);
/* Perform an action as if its key had been typed. */
void tui_app_act(struct tui_app *app, const struct tui_command *command);
/* Update the rows of every visible view; call it before each draw. */
void tui_app_sync(struct tui_app *app);
/*
 * Do a piece of background work, while no input waits: write marks, go on with what a visible view reads, prefetch
 * events near one that the next key may go to, or advance a speculative what-if run. Returns after a few milliseconds
 * or when a key is typed. False: nothing is left to do.
 */
bool tui_app_background(struct tui_app *app);
/* Only a piece of what the visible views read bit by bit. False: they are complete. */
bool tui_app_read_on(struct tui_app *app);
/* Read events that were recorded since the last call; true: there were some. */
bool tui_app_refresh(struct tui_app *app);

/* ---- for views ---- */

/* The run that is shown. */
const struct tui_run *tui_app_run(const struct tui_app *app);
/* The run that is not shown; NULL: there is only one. */
const struct tui_run *tui_app_other(const struct tui_app *app);
/*
 * The event of the other run that corresponds to event `seq` of the shown run: by their alignment if it exists, else at
 * the same fraction of the same phase and step.
 */
uint64_t tui_app_map(const struct tui_app *app, uint64_t seq);
/* The same between any two runs, of which index and events are set: at the same fraction of the same phase and step. */
uint64_t tui_run_map(const struct tui_run *from, const struct tui_run *to, uint64_t seq);
/* The event of the shown run that corresponds to event `seq` of the recorded run. */
uint64_t tui_app_map_recorded(const struct tui_app *app, uint64_t seq);

/* Go to event `seq` of the shown run. is_jump: add the current event to the list of jumps. */
void tui_app_go(struct tui_app *app, uint64_t seq, bool is_jump);
/*
 * How the columns of the timeline are shared: the first `columns` of them show the window's events up to `last`, which
 * are of the set-up. 0: all columns have equally many events.
 */
struct tui_split {
    uint64_t last;
    int columns;
};
struct tui_split tui_app_split(const struct tui_app *app);

/* Show `window`, clipped to the run, in the timeline; the previous window is kept for `:zoom-back`. */
void tui_app_window(struct tui_app *app, struct tui_window window);
void tui_app_choose_block(struct tui_app *app, uint64_t block);
/* Show the view with this name in a pane and focus it. */
void tui_app_view(struct tui_app *app, const char *name);
void tui_app_view_at(struct tui_app *app, int view);
/* The arrangement of the panes now; tui_app_arrange: have it again. */
struct tui_arrangement tui_app_arrangement(const struct tui_app *app);
void tui_app_arrange(struct tui_app *app, const struct tui_arrangement *panes);
/* Whether the view with this name is in a pane that is drawn. */
bool tui_app_shows(const struct tui_app *app, const char *name);
/* The view of the focused pane. */
const struct tui_view *tui_app_focused(const struct tui_app *app);
bool tui_app_is_hidden(const struct tui_app *app, int category);
/* Whether `text` contains all filters. */
bool tui_app_passes(const struct tui_app *app, const char *text);
/* Whether bars are drawn with letters: the theme has no colours, or the user chose letters. */
bool tui_app_has_letters(const struct tui_app *app);

/* Draw the screen during long work; call it now and then. */
void tui_app_show(struct tui_app *app);
/* The same for work that any key stops. False: a key was typed, and nothing was drawn. */
bool tui_app_pump(struct tui_app *app);
/* Run the what-if of `change.set` and show it. Where that fails, the toggles before it are in force again. */
void tui_app_change(struct tui_app *app);

/* Set the message of the status line; tui_app_fail: as a failure. */
void tui_app_say(struct tui_app *app, const char *fmt, ...) VS_PRINTF(2, 3);
void tui_app_fail(struct tui_app *app, const char *fmt, ...) VS_PRINTF(2, 3);

/* `bytes` in the chosen unit: "8.1 MiB" or a percentage. `buf` has VS_BYTES_TEXT_MAX bytes; returns buf. */
const char *tui_app_bytes(const struct tui_app *app, uint64_t bytes, char *buf);

#endif
