/*
 * tui/loop.h - the session on a terminal, or without one.
 *
 * For:            cli/cmd_tui.c.
 * Must not know:  arguments.
 * Invariant:      a screen on the terminal is the screen that tui_dump prints for the same keys and size.
 */
#ifndef TUI_LOOP_H
#define TUI_LOOP_H

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "tui/app.h"

/* Type `keys` ("<left>3s:goto 12<enter>"). Returns false where they asked to quit. */
bool tui_type(struct tui_app *app, const char *keys);
/* The screen as text; with_styles: and below it the styles (tui/term/surface_text.h). */
void tui_dump(struct tui_app *app, bool with_styles, struct vs_text *out);

/*
 * Let the user drive until they quit. The app is open; its mouse, theme and ASCII as wanted. *signal: what ended it, 0 where the user did.
 * VS_E_UNSUPPORTED: there is no terminal that would do.
 */
VS_MUST_USE enum vs_status tui_loop(struct tui_app *app, const char *keys, int *signal,
                                    struct vs_error *err);

#endif
