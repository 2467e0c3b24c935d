/*
 * tui/parts/config.h - the user's file: keys of their own, and options that are remembered.
 *
 * For:            cli/screen.c, which reads and writes it; the help view, which shows it.
 * Must not know:  sessions, terminals.
 * Invariant:      a line with an error has no effect; every other line has.
 *
 * A line is one of
 *
 *     key ACTION KEYS…     as a row of keys.def: `key op s <C-n>`; see keymap.h
 *     theme THEME          dark, light or mono
 *     glyphs GLYPHS        blocks or letters
 *     unit UNIT            bytes, peak or device
 *     mouse on|off
 *
 * or empty, or a comment, which begins with #.
 */
#ifndef TUI_CONFIG_H
#define TUI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "tui/parts/keymap.h"

/* Options that are remembered, by their words. */
enum tui_option {
    TUI_OPTION_THEME,
    TUI_OPTION_GLYPHS,
    TUI_OPTION_UNIT,
    TUI_OPTION_MOUSE,
    TUI_OPTION_COUNT
};

const char *tui_option_name(enum tui_option option);
/* The word of value number `value`, in the order of the list above; NULL past the last one. */
const char *tui_option_word(enum tui_option option, int value);

/*
 * What the file says. Zero-initialise; release with tui_config_release.
 *
 * values   number of the option's word + 1; 0: the file has none
 * errors   a line each: "FILE:LINE: what is wrong"; error_count of them
 */
struct tui_config {
    struct tui_keymap keys;
    int values[TUI_OPTION_COUNT];
    struct vs_text errors;
    size_t error_count;
};

/* XDG_CONFIG_HOME/vramscope/config, else ~/.config/vramscope/config; heap memory. NULL: there is no home. */
char *tui_config_path(void);
/* Add what `text` says; `path` names it in errors. */
void tui_config_parse(struct tui_config *config, const char *path, const char *text);
/* The same with the file at `path`. A file that does not exist says nothing; one that cannot be read is an error. */
void tui_config_read(struct tui_config *config, const char *path);
void tui_config_release(struct tui_config *config);

/* Give an option a value in `text`, the contents of such a file: in its line, or in a new one at the end. */
void tui_config_set(struct vs_text *text, enum tui_option option, int value);
/*
 * Write options into the file at `path`: those with values[] > 0, numbered as in struct tui_config. Its other lines
 * stay as they are; file and folder are made where they do not exist. The file is replaced as a whole.
 *
 * VS_E_IO: it cannot be read or written.
 */
VS_MUST_USE enum vs_status tui_config_remember(const char *path, const int values[TUI_OPTION_COUNT],
                                               struct vs_error *err);

#endif
