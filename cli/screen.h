/*
 * cli/screen.h - the options of commands that open the TUI, and the TUI on a terminal or printed as text.
 *
 * For:            `tui` and `lesson --tui`, whose tables of options have some of: size, keys, dump, styles, theme,
 *                 ascii, no-mouse.
 * Must not know:  what a screen shows.
 * Invariant:      --dump needs no terminal and prints the screen that the same keys would show.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>

#include "cli/args.h"
#include "tui/app.h"

/*
 * w, h: of the screen that is printed. keys: to type first. has_theme: an option or NO_COLOR gives the theme. The
 * others are as the options say.
 */
struct cli_screen {
    int w;
    int h;
    const char *keys;
    enum tui_theme theme;
    bool has_theme;
    bool is_dump;
    bool has_styles;
    bool has_letters;
    bool is_ascii;
    bool has_mouse;
};

/* Read the options. VS_E_USAGE: a size, key or theme is wrong; the message says what would be right. */
VS_MUST_USE enum vs_status cli_screen_read(const struct cli_args *args, struct cli_screen *out,
                                           struct vs_error *err);

/*
 * Show the app, which is open, until it is left, or print its screen, with the keys and options of the user's file
 * (tui/parts/config.h). `first` is typed before the keys of the options. On a terminal, options that keys changed are
 * written to that file at the end. Returns the exit status of the command.
 */
int cli_screen_run(const struct cli_screen *screen, struct tui_app *app, const char *first);

#endif
