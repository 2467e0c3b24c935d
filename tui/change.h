/*
 * tui/change.h - runs to look at, and the what-if: toggles that are not as recorded, and the run they give.
 *
 * For:            app.c, the what-if view.
 * Must not know:  drawing.
 * Invariant:      `set` only has values that differ from the recorded ones.
 */
#ifndef TUI_CHANGE_H
#define TUI_CHANGE_H

#include "tui/app.h"

/* Host memory of the what-ifs that are kept. */
#define TUI_ANSWERS_BYTES (UINT64_C(256) << 20)
/* What is said while one is run. */
#define TUI_RUNNING "running the net again"

/* Index, cursor and breaks of run->trace, which is set; progress as rpl_index_open. On failure tui_run_release is still the caller's. */
VS_MUST_USE enum vs_status tui_run_open(struct tui_run *run, rpl_progress_fn *progress, void *user,
                                        struct vs_error *err);
/* What of it follows from its index, which has been refreshed. */
VS_MUST_USE enum vs_status tui_run_update(struct tui_run *run, struct vs_error *err);
/* All of it, the trace too. */
void tui_run_release(struct tui_run *run);
/* The trace at `path` as the other run. Errors as tui_app_open. */
VS_MUST_USE enum vs_status tui_change_open(struct tui_app *app, const char *path,
                                           struct vs_error *err);
/* What there is of the other run, and of the change. */
void tui_change_release(struct tui_app *app);

/* The value that the recording had, and the one in force. Borrowed until the next change. */
const char *tui_change_recorded(const struct tui_app *app, enum vs_toggle toggle);
const char *tui_change_value(const struct tui_app *app, enum vs_toggle toggle);
/* Ask for `value`; as recorded takes the toggle out of the set. VS_E_VALUE: not legal. Nothing is run. */
VS_MUST_USE enum vs_status tui_change_set(struct tui_app *app, enum vs_toggle toggle,
                                          const char *value, struct vs_error *err);
/* The same in another set of values that differ from the recorded ones. */
VS_MUST_USE enum vs_status tui_change_put(const struct tui_app *app, struct vs_toggles *set,
                                          enum vs_toggle toggle, const char *value,
                                          struct vs_error *err);
/*
 * The value `by` (1, -1) after the one in force, round the end; counts are doubled and halved. False: there is none to step to. `out` has VS_TOGGLE_VALUE_MAX
 * bytes.
 */
VS_MUST_USE bool tui_change_next(const struct tui_app *app, enum vs_toggle toggle, int by,
                                 char *out);
/* What-ifs that were run on the recorded run, kept. Borrowed. */
struct wif_cache *tui_change_cache(struct tui_app *app);
/* Toggles in the set. */
size_t tui_change_count(const struct tui_app *app);
/* "amp=bf16 checkpoint=blocks" */
void tui_change_text(const struct tui_app *app, struct vs_text *out);
/* Show the what-if (if there is one) or the recorded run; the cursor goes to what corresponds. */
void tui_change_show(struct tui_app *app, bool is_shown);

#endif
