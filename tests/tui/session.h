/*
 * tests/tui/session.h - opens traces in a session and captures its screen, for the tests of tui/.
 */
#ifndef TESTS_TUI_SESSION_H
#define TESTS_TUI_SESSION_H

#include "tui/app.h"

/*
 * A recording of a sample net on meta, made once a name: "variables", "lenet". `toggle` ("checkpoint=blocks") or NULL.
 * Its path.
 */
const char *session_trace(const char *net, const char *toggle);
/* Open it at this size, without breakpoints that an earlier session stored; session_reopen: with them. */
void session_open(struct tui_app *app, const char *path, int w, int h);
void session_reopen(struct tui_app *app, const char *path, int w, int h);
/* Two of them, B beside A. */
void session_open_pair(struct tui_app *app, const char *a, const char *b, int w, int h);
/* Type, and compare nothing. */
void session_type(struct tui_app *app, const char *keys);
/*
 * Does the background work of the loop without input, until nothing is left to do or until the `found_at`-th poll of
 * the keyboard finds `key`, which is not consumed; 0: never.
 */
void session_background(struct tui_app *app, uint64_t found_at, uint32_t key);
/* The screen as text, heap memory; with styles below it. */
char *session_screen(struct tui_app *app, bool with_styles);
/* Fails where the screen does not have `text`, and prints it. */
void session_expect(struct tui_app *app, const char *text);
void session_expect_not(struct tui_app *app, const char *text);

#endif
