/*
 * tui/act.h - the parts of what actions do: moving in the run, `:`-commands, copying.
 *
 * For:            act.c, which deals them out.
 * Must not know:  terminals.
 * Invariant:      each returns false for an action that is not its own.
 */
#ifndef TUI_ACT_H
#define TUI_ACT_H

#include "tui/app.h"

/* move.c: stepping, running, peaks, jumps, marks, zoom. */
VS_MUST_USE bool tui_move_act(struct tui_app *app, const struct tui_command *command);

/* Set the break with this condition, or remove it where it is set. */
void tui_break_turn(struct tui_app *app, const char *condition);

/* A `:`-command with words of its own: its name, what stands behind it, what it does. */
struct tui_command_info {
    const char *name;
    const char *words;
    const char *help;
};
/* commands.c: number `i`; NULL past the end. */
const struct tui_command_info *tui_command_info(size_t i);
/* Do `line`, which was typed after the colon. */
void tui_command_run(struct tui_app *app, const char *line);
/* complete.c: the line with its last word completed, as far as all that fits has in common; what fits, for the status line, in *fits. */
void tui_command_complete(const struct tui_app *app, const char *line, struct vs_text *out,
                          struct vs_text *fits);

/* search.c: to the next (or the last) row with app->search, `count` times. */
void tui_search(struct tui_app *app, bool is_backward, int64_t count);

#endif
