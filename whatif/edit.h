/*
 * whatif/edit.h - a net with lines added or replaced: what a change of the source does, run like a toggle.
 *
 * For:            advice about lines.
 * Must not know:  why a line is changed.
 * Invariant:      the changed net is the recorded text with these lines changed, and nothing else.
 */
#ifndef WIF_EDIT_H
#define WIF_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

/*
 * A line of the recorded net, from 1. replaces: `text` takes its place; otherwise `text` is added after it. text: one
 * line with its indentation, without its end; owned.
 */
struct wif_edit {
    uint32_t line;
    bool replaces;
    char *text;
};

/* In ascending order of `line`; of one line in the order in which they were added. Zero-initialised: none. */
struct wif_edits {
    struct wif_edit *items;
    size_t count;
    size_t cap;
};

void wif_edits_add(struct wif_edits *edits, uint32_t line, bool replaces, const char *text);
/* The edits of `more` that are not in `edits` yet. */
void wif_edits_merge(struct wif_edits *edits, const struct wif_edits *more);
bool wif_edits_has(const struct wif_edits *edits, const struct wif_edit *edit);
/* Whether both have the same edits in the same order. */
bool wif_edits_equal(const struct wif_edits *a, const struct wif_edits *b);
void wif_edits_release(struct wif_edits *edits);

/* The text with the edits made. The caller frees it with vs_free. */
char *wif_edits_apply(const struct wif_edits *edits, const char *source) VS_MUST_USE;
/* The line of the recorded net that became line `line` of the changed one, or after which that was added. */
uint32_t wif_edits_recorded_line(const struct wif_edits *edits, uint32_t line);

/*
 * A trace that wif_run and the others take as a recording of the changed net: its source, and the toggles, the seed and
 * the optimizer steps that were skipped of `base`. It has no figures of its own. The caller frees *out; NULL on
 * failure. Errors: those of reading `base`.
 */
VS_MUST_USE enum vs_status wif_edited_new(struct rpl_trace *base, const struct wif_edits *edits,
                                          struct rpl_trace **out, struct vs_error *err);

#endif
