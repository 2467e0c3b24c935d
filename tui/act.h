/*
 * tui/act.h - the functions that perform actions: moving in the run, `:` commands, searching.
 *
 * For:            act.c, which dispatches actions.
 * Must not know:  terminals.
 * Invariant:      each returns false for an action that is not its own.
 */
#ifndef TUI_ACT_H
#define TUI_ACT_H

#include "tui/app.h"

/* move.c: stepping, running, peaks, jumps, marks, zoom. */
VS_MUST_USE bool tui_move_act(struct tui_app *app, const struct tui_command *command);
/* The event `columns` columns of the timeline on, or back; the columns of a quarter of it. */
uint64_t tui_move_column(const struct tui_app *app, int64_t columns);
int64_t tui_move_quarter(const struct tui_app *app);

/* act.c: show a view because a key, a click or a command asks for it. */
void tui_view_open(struct tui_app *app, int view);

/* Set a breakpoint with this condition, or remove it if there is one. */
void tui_break_turn(struct tui_app *app, const char *condition);

/* A `:` command with arguments: its name, its arguments, what it does. */
struct tui_command_info {
    const char *name;
    const char *words;
    const char *help;
};
/* commands.c: number `i`; NULL past the end. */
const struct tui_command_info *tui_command_info(size_t i);
/* Run `line`, which was typed after the colon. */
void tui_command_run(struct tui_app *app, const char *line);
/* complete.c: `line` with its last word extended by the common prefix of all completions; *fits: the list of them. */
void tui_command_complete(struct tui_app *app, const char *line, struct vs_text *out,
                          struct vs_text *fits);

/* search.c: go to the next (or previous) row that contains app->search, `count` times. */
void tui_search(struct tui_app *app, bool is_backward, int64_t count);

/* While the value of a toggle is typed into the prompt: a message with the values that are legal in this net. */
void tui_value_hint(struct tui_app *app);

#endif
