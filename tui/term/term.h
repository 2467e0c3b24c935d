/*
 * tui/term/term.h - the terminal: opening, restoring it however the program ends, and reading input.
 *
 * For:            loop.c.
 * Must not know:  what is drawn, what a key does.
 * Invariant:      however the program ends (return, vs_die, a crash, a signal but SIGKILL), the terminal is as it was
 *                 found.
 */
#ifndef TUI_TERM_H
#define TUI_TERM_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "tui/term/input.h"

/*
 * Open the terminal. Keys are read from stdin, or from /dev/tty if stdin is no terminal. Only one may be open.
 *
 * VS_E_UNSUPPORTED: there is no terminal, or it cannot place a cursor (TERM=dumb), or TERM is unknown; the text says
 * which, and what to do instead.
 */
VS_MUST_USE enum vs_status tui_term_open(bool with_mouse, struct vs_error *err);
void tui_term_close(void);

/* Whether the locale can write Unicode. */
bool tui_term_is_utf8(void);
/* How many colours it has; 0: none. */
int tui_term_colours(void);
void tui_term_size(int *w, int *h);
void tui_term_mouse(bool is_on);
/* Suspend the program as ^Z does, until the shell continues it. Everything has to be drawn again afterwards. */
void tui_term_suspend(void);
/* Run `command` with sh on the restored terminal, and wait for it. Its exit status; -1: it could not be started. */
int tui_term_run(const char *command);
/* Send bytes to the terminal apart from the drawing (OSC 52). */
void tui_term_write(const char *bytes, size_t len);

/*
 * The next input. Waits at most `wait_ms` milliseconds (negative: without a limit), then returns TUI_KEY_TICK. When it
 * returns TUI_KEY_RESIZE, curses knows the new size. TUI_KEY_END_OF_INPUT: the terminal is gone, or a signal ends the
 * program.
 */
struct tui_input tui_term_read(int wait_ms);
/*
 * Poll during long work: true if ^C was typed, or the terminal is gone. A ^C is consumed and discards the input before
 * it; all other input is kept for tui_term_read.
 */
bool tui_term_wants_stop(void);
/* The next input, which stays queued for tui_term_read; false: there is none. */
bool tui_term_peek(struct tui_input *out);
/* Whether input is waiting, so that drawing can be postponed. */
bool tui_term_is_pending(void);
/* Number of the signal that ends the program; 0: none. */
int tui_term_signal(void);

#endif
