/*
 * tui/loop.h - runs the session, on a terminal or without one.
 *
 * For:            cli/cmd_tui.c.
 * Must not know:  command-line arguments.
 * Invariant:      the terminal shows the same screen that tui_dump prints for the same keys and size.
 */
#ifndef TUI_LOOP_H
#define TUI_LOOP_H

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "tui/app.h"

/* Type `keys` ("<left>3s:goto 12<enter>"). Returns false if one of them quits. */
bool tui_type(struct tui_app *app, const char *keys);
/* The same, as somebody types who waits after each key until the views have read all that they read bit by bit. */
bool tui_type_patiently(struct tui_app *app, const char *keys);
/* Append the screen as text; with_styles: followed by the styles (tui/term/surface_text.h). */
void tui_dump(struct tui_app *app, bool with_styles, struct vs_text *out);

/*
 * Type `keys`, then run the interactive session until the user quits. The app is open, and its options for mouse,
 * theme and ASCII are set. *signal: the signal that ended the session; 0: the user quit.
 *
 * VS_E_UNSUPPORTED: there is no usable terminal.
 */
VS_MUST_USE enum vs_status tui_loop(struct tui_app *app, const char *keys, int *signal,
                                    struct vs_error *err);

#endif
