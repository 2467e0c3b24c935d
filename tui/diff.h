/*
 * tui/diff.h - the comparison of the two runs of a session: their alignment, and its current row.
 *
 * For:            the diff views; which event of one run is which of the other.
 * Must not know:  drawing, why two events belong together (replay/diff/align.h).
 * Invariant:      it is computed once for two runs, and released with either of them.
 *
 * A is the recorded run, B the other run: a second trace or a what-if.
 */
#ifndef TUI_DIFF_H
#define TUI_DIFF_H

#include "replay/diff/diff.h"
#include "tui/app.h"

/*
 * diff      open if is_made; is_busy: it is being computed
 * row       the row of the pairs that was chosen last; tui_diff_row checks whether it is still the current one
 * serial    different for each comparison: results of an earlier one are no longer valid
 * failure   why there is none; NULL: no failure
 */
struct tui_diff {
    struct rpl_diff diff;
    bool is_made;
    bool is_busy;
    size_t row;
    uint64_t serial;
    char *failure;
};

/*
 * Compute the comparison if there is none. progress may be NULL. Errors: those of rpl_diff_open; tui_diff_get then
 * does not retry.
 */
VS_MUST_USE enum vs_status tui_diff_open(struct tui_app *app, rpl_progress_fn *progress, void *user,
                                         struct vs_error *err);
/*
 * The comparison, computed if needed, with progress in the status line; NULL: only one run, failed, or being computed.
 */
struct tui_diff *tui_diff_get(struct tui_app *app);
/* The message where there is no comparison: why, and what to do. */
const char *tui_diff_missing(const struct tui_app *app);
/* A key of a diff view without a comparison: true if it is one of the diff keys; the status line then says why. */
VS_MUST_USE bool tui_diff_key_missing(struct tui_app *app, enum tui_action action);
/* Release the comparison: one of the runs is released, or it has to be computed again. */
void tui_diff_forget(struct tui_app *app);

/* ---- without a comparison these return NULL, 0 or SIZE_MAX, or do nothing ---- */

const struct rpl_pairs *tui_diff_pairs(const struct tui_app *app);
/* The current row: that of the current event, or a following one of the other run alone. SIZE_MAX: before the first. */
size_t tui_diff_row(const struct tui_app *app);
/* The event of the other run at the current row. */
uint64_t tui_diff_other(const struct tui_app *app);
/* Go to `row`: both runs go to their event of it, or to the last one before it. */
void tui_diff_go(struct tui_app *app, size_t row, bool is_jump);
/* Go to the next (or previous) difference `count` times, and describe it in the status line. */
void tui_diff_next(struct tui_app *app, bool is_back, int64_t count);

#endif
