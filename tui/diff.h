/*
 * tui/diff.h - the two runs of a session held against each other: their alignment, and the row of it that is looked at.
 *
 * For:            the diff views; which event of one run is which of the other.
 * Must not know:  drawing, why two events belong together (replay/diff/align.h).
 * Invariant:      it is made once for two runs, and gone with either.
 *
 * A is the recorded run, B the other one: a second trace, or a what-if.
 */
#ifndef TUI_DIFF_H
#define TUI_DIFF_H

#include "replay/diff/diff.h"
#include "tui/app.h"

/*
 * diff      open where is_made
 * row       of the pairs, the one looked at last; tui_diff_row says whether it still is
 * serial    another one each time: what was asked of an older one is worth nothing
 * failure   why there is none
 */
struct tui_diff {
    struct rpl_diff diff;
    bool is_made;
    bool is_busy;
    size_t row;
    uint64_t serial;
    char *failure;
};

/* Make it, if it is not there yet. progress may be NULL. Errors: those of rpl_diff_open; it is then not tried again by tui_diff_get. */
VS_MUST_USE enum vs_status tui_diff_open(struct tui_app *app, rpl_progress_fn *progress, void *user,
                                         struct vs_error *err);
/* It, made if need be, with progress on the status line; NULL: there are no two runs, it failed, or it is being made. */
struct tui_diff *tui_diff_get(struct tui_app *app);
/* What to say where there is none: why, and what to do. */
const char *tui_diff_missing(const struct tui_app *app);
/* A key of a diff view where there is none: true where it was one of its own, which is answered by saying so. */
VS_MUST_USE bool tui_diff_key_missing(struct tui_app *app, enum tui_action action);
/* One of the runs goes, or it is to be made anew. */
void tui_diff_forget(struct tui_app *app);

/* ---- where it has been made; else NULL, 0, SIZE_MAX, no difference ---- */

const struct rpl_pairs *tui_diff_pairs(const struct tui_app *app);
/* The row that is looked at: that of the event looked at, or one of the other run alone right behind it. SIZE_MAX: before the first. */
size_t tui_diff_row(const struct tui_app *app);
/* The event of the other run there. */
uint64_t tui_diff_other(const struct tui_app *app);
/* Look at `row`: both runs go there, as far as they have it. */
void tui_diff_go(struct tui_app *app, size_t row, bool is_jump);
/* To the beginning of the next stretch that differs (or of the last one), `count` times, and say which it is. */
void tui_diff_next(struct tui_app *app, bool is_back, int64_t count);

#endif
