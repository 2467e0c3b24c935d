/*
 * tui/program.h - runs the program of the open trace again: who may, to find holders at an event, with a prompt there.
 *
 * For:            change.c, act.c.
 * Must not know:  how it is run (whatif/holders.h), terminals.
 * Invariant:      no program is started that the user has not agreed to.
 */
#ifndef TUI_PROGRAM_H
#define TUI_PROGRAM_H

#include "tui/app.h"

/*
 * May the recorded program run? VS_E_UNSUPPORTED, with its command, when the user is asked first: doing the same once
 * more agrees, for the session; and where another user or machine recorded it, unless `tui --rerun` was given.
 */
VS_MUST_USE enum vs_status tui_program_agree(struct tui_app *app, struct vs_error *err);

/*
 * The what-if of app->change.set needs the program, no result of it is kept, and the loop has ticks: then true, and it
 * runs in the background, or *err says why not. The caller puts the toggles back that are in force. False: there is
 * nothing to be done in the background.
 */
bool tui_program_begin(struct tui_app *app, struct vs_error *err);
/*
 * Call it a few times a second. When the program has ended, its run becomes the other run, and is shown where the
 * what-if panel has the keys. True: the screen has changed.
 */
bool tui_program_poll(struct tui_app *app);
/* End it; nothing is kept of it. False: it does not run. */
bool tui_program_stop(struct tui_app *app);
/* "amp=bf16: the program runs again, for 12 s" */
void tui_program_text(const struct tui_app *app, struct vs_text *out);

/* Run the program to the current event and find who holds what there, with progress; ^C stops it. */
void tui_program_holders(struct tui_app *app);
/* Wish for the command that opens a prompt of Python in the program at the current event. */
void tui_program_prompt(struct tui_app *app);

#endif
