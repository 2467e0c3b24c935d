/*
 * tui/term/decode.h - turns what curses reads into keys and mouse events.
 *
 * For:            term.c.
 * Must not know:  signals, what a key does.
 * Invariant:      the only state is the last click, which belongs to the caller.
 */
#ifndef TUI_DECODE_H
#define TUI_DECODE_H

#include <stdint.h>
#include <wchar.h>

#include "tui/term/input.h"

/* Codes that curses gives for the sequences around pasted text (bracketed paste), defined with define_key. */
#define TUI_CODE_PASTE_BEGIN (KEY_MAX + 1)
#define TUI_CODE_PASTE_END (KEY_MAX + 2)

/* Cell and time (milliseconds of CLOCK_MONOTONIC) of the last click. Zeroed: none. */
struct tui_click {
    int x;
    int y;
    int64_t ms;
};

/*
 * The input for `got` (OK or KEY_CODE_YES) and `code` as get_wch returned them.
 *
 * Reads the rest of a mouse event or of an unknown control sequence from curses. TUI_KEY_TICK: the code has no meaning.
 * *last: updated by a click; a second click on the same cell within 400 ms is a double click.
 */
struct tui_input tui_decode(int got, wint_t code, struct tui_click *last);

#endif
