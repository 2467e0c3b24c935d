/*
 * tui/change.h - opens runs, and the what-if: toggles that differ from the recorded ones, and the run with them.
 *
 * For:            app.c, the what-if view.
 * Must not know:  drawing.
 * Invariant:      `set` only has values that differ from the recorded ones, and is what ran: a change that cannot be
 *                 run is undone.
 */
#ifndef TUI_CHANGE_H
#define TUI_CHANGE_H

#include "tui/app.h"

/* Host memory of the what-if cache. */
#define TUI_WHATIF_CACHE_BYTES (UINT64_C(256) << 20)
/* Message while a what-if runs. */
#define TUI_RUNNING "running the net again"

/*
 * Open index, cursor and breakpoints of run->trace; progress as rpl_index_open. Call tui_run_release after a failure,
 * too.
 */
VS_MUST_USE enum vs_status tui_run_open(struct tui_run *run, rpl_progress_fn *progress, void *user,
                                        struct vs_error *err);
/* Update the fields that depend on the index, after the index was refreshed. */
VS_MUST_USE enum vs_status tui_run_update(struct tui_run *run, struct vs_error *err);
/* Release everything, including the trace. */
void tui_run_release(struct tui_run *run);
/* Open the trace at `path` as the other run. Errors as tui_app_open. */
VS_MUST_USE enum vs_status tui_change_open(struct tui_app *app, const char *path,
                                           struct vs_error *err);
/* The same with a trace in memory, which belongs to the app, also after a failure. */
VS_MUST_USE enum vs_status tui_change_take(struct tui_app *app, const char *name,
                                           struct rpl_trace *trace, struct vs_error *err);
/* Release the other run and the state of the what-if. */
void tui_change_release(struct tui_app *app);

/* The toggle in row `row` of the panel: what matters first. VS_TOGGLE_COUNT past the end. */
enum vs_toggle tui_change_row(size_t row);
/*
 * What stands for the value of a toggle of a program where the recording does not know what the script itself says. As
 * a value it takes the toggle out of the set.
 */
#define TUI_CHANGE_OWN "own"
/* The same as it is shown. */
#define TUI_CHANGE_OWN_TEXT "script's own"
/* Is no value in force that is known? */
bool tui_change_is_own(const struct tui_app *app, enum vs_toggle toggle);
/* The value that the recording had, and the one in force; or TUI_CHANGE_OWN. Borrowed until the next change. */
const char *tui_change_recorded(const struct tui_app *app, enum vs_toggle toggle);
const char *tui_change_value(const struct tui_app *app, enum vs_toggle toggle);
/* '*': changed by the user; 'x': switched on; ' ': neither, as a value that cannot be switched off never is. */
char tui_change_mark(const struct tui_app *app, enum vs_toggle toggle);
/* Set `toggle` to `value`; the recorded value removes it from the set. Nothing is run. VS_E_VALUE: not legal. */
VS_MUST_USE enum vs_status tui_change_set(struct tui_app *app, enum vs_toggle toggle,
                                          const char *value, struct vs_error *err);
/* The same in another set of values that differ from the recorded ones. */
VS_MUST_USE enum vs_status tui_change_put(const struct tui_app *app, struct vs_toggles *set,
                                          enum vs_toggle toggle, const char *value,
                                          struct vs_error *err);
/*
 * The next (`by` 1) or previous (-1) value of `toggle`, cyclic; counts are doubled or halved. False: there is none.
 * `out` has VS_TOGGLE_VALUE_MAX bytes.
 */
VS_MUST_USE bool tui_change_next(const struct tui_app *app, enum vs_toggle toggle, int by,
                                 char *out);
/* The what-if cache of the recorded run. Borrowed. */
struct wif_cache *tui_change_cache(struct tui_app *app);
/* The cache of what-ifs of the net with the lines that are added to it now; the same where there are none. */
struct wif_cache *tui_change_results(struct tui_app *app);
/* The lines that the shown run has beside those of the recorded net. Borrowed until the next change. */
const struct wif_edits *tui_change_edits(const struct tui_app *app);
/* Run the net with these toggles and lines over those in force, and show it, as tui_app_change. */
void tui_change_remedy(struct tui_app *app, const struct vs_toggles *set,
                       const struct wif_edits *edits);
/* Toggles that were set and are not run, because of `reason`: those in force are set again, and the panel says why. */
void tui_change_refuse(struct tui_app *app, const char *reason);
/* The reason without the file and the class of an exception of the net: "FILE: ValueError: REASON". Borrowed. */
const char *tui_reason_short(const struct tui_app *app, const char *reason);
/* Runs the net as recorded where a what-if is to be compared with that run: change.whole. */
VS_MUST_USE enum vs_status tui_change_whole(struct tui_app *app, struct vs_error *err);
/* Fills change.compare for the other run, which is open. moved: bytes that its ops move in all; 0: not known yet. */
VS_MUST_USE enum vs_status tui_change_compare(struct tui_app *app, uint64_t moved,
                                              struct vs_error *err);
/* Is the recorded run, as `compare` has it, that of change.whole? */
bool tui_change_is_whole(const struct tui_app *app);
/* The peak of the recorded run, also where the trace has only its end. */
uint64_t tui_change_recorded_peak(const struct tui_app *app);
/* Toggles in the set, and lines. */
size_t tui_change_count(const struct tui_app *app);
/* "amp=bf16 checkpoint=blocks `del x1` after line 20" */
void tui_change_text(const struct tui_app *app, struct vs_text *out);
/* Set the breakpoints of `from` in `to`. */
void tui_breaks_copy(const struct rpl_breakpoints *from, struct rpl_breakpoints *to);
/* Set the stored breakpoints in the recorded run. One that cannot be read any more is left out. */
void tui_breaks_load(struct tui_app *app);
/* Take the breakpoints of the recorded run over into what tui_marks_store writes; those for one hit only are not. */
void tui_breaks_store(struct tui_app *app);
/*
 * Write marks and breakpoints that have changed to the trace, which waits for the disk: it is done while no key is
 * typed, and when the session ends. Where that fails a message says so once. False: there was nothing to write.
 */
bool tui_marks_store(struct tui_app *app);
/* Go back to the recorded toggles; a second trace is the other run again. */
void tui_change_reset(struct tui_app *app);
/*
 * Show the next of the runs: the recorded one, its what-if, the second trace. The one that is shown, or was shown last,
 * of the latter two is the other run.
 */
void tui_change_next_run(struct tui_app *app);
/* Show the other run (if there is one) or the recorded one, at the corresponding event. */
void tui_change_show(struct tui_app *app, bool is_shown);

#endif
