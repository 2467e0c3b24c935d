/*
 * tui/term/term.h - the terminal: taken, given back on every way out, and read.
 *
 * For:            run.c.
 * Must not know:  what is drawn, what a key does.
 * Invariant:      however the program ends (return, vs_die, a crash, a signal but SIGKILL), the terminal is as it was found.
 */
#ifndef TUI_TERM_H
#define TUI_TERM_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "tui/term/input.h"

/*
 * Take the terminal. Keys are read from stdin, or from /dev/tty where stdin is none. One at a time.
 *
 * VS_E_UNSUPPORTED: there is no terminal, or it cannot place a cursor (TERM=dumb), or TERM is unknown; the text says which, and
 * what to do instead.
 */
VS_MUST_USE enum vs_status tui_term_open(bool with_mouse, struct vs_error *err);
void tui_term_close(void);

/* Whether the locale can write Unicode. */
bool tui_term_is_utf8(void);
/* How many colours it has; 0: none. */
int tui_term_colours(void);
void tui_term_size(int *w, int *h);
void tui_term_mouse(bool is_on);
/* Hand the terminal to the shell until the user comes back (as on ^Z). Everything has to be drawn again. */
void tui_term_suspend(void);
/* Run `command` in the shell with the terminal in its hands, and wait. Its exit status, -1 where it could not be started. */
int tui_term_run(const char *command);
/* Send bytes to the terminal beside the drawing (OSC 52). */
void tui_term_write(const char *bytes, size_t len);

/*
 * The next input. Waits, at most `wait_ms` (below 0: for ever); after that TUI_KEY_TICK. A resize has been taken note of when this
 * returns it. TUI_KEY_END_OF_INPUT: the terminal is gone, or a signal asks to end.
 */
struct tui_input tui_term_read(int wait_ms);
/*
 * While something long is done: was ^C typed since, which is then for this, or is the terminal gone? What was typed before a ^C is forgotten,
 * everything else is kept for tui_term_read.
 */
bool tui_term_wants_stop(void);
/* The next input, which tui_term_read will give; false: nothing was typed, and no signal asks for anything. */
bool tui_term_peek(struct tui_input *out);
/* More input is waiting, so the screen need not be drawn yet. */
bool tui_term_is_pending(void);
/* The signal that asked to end, 0: none. */
int tui_term_signal(void);

#endif
