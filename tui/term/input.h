/*
 * tui/term/input.h - keys and mouse events, and their names.
 *
 * For:            term.c, which creates them; keys.c, which binds them; --keys and the help view.
 * Must not know:  terminals, what a key does.
 * Invariant:      tui_key_name and tui_key_parse are inverse to each other.
 *
 * A key is a Unicode code point or one of enum tui_special. The name of a special key is in angle brackets ("<left>",
 * "<C-l>"). `<lt>` is `<`; `<` alone also means itself if no name follows.
 */
#ifndef TUI_INPUT_H
#define TUI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/text.h"

#define TUI_SPECIAL UINT32_C(0x200000)
enum tui_special {
    TUI_KEY_LEFT = TUI_SPECIAL,
    TUI_KEY_RIGHT,
    TUI_KEY_UP,
    TUI_KEY_DOWN,
    TUI_KEY_HOME,
    TUI_KEY_END,
    TUI_KEY_PGUP,
    TUI_KEY_PGDN,
    TUI_KEY_BACKSPACE,
    TUI_KEY_DELETE,
    TUI_KEY_BACKTAB,
    TUI_KEY_F1,
    TUI_KEY_F2,
    TUI_KEY_RESIZE, /* the terminal has another size */
    TUI_KEY_MOUSE,
    TUI_KEY_TICK, /* nothing was typed for a while */
    TUI_KEY_PASTE_BEGIN,
    TUI_KEY_PASTE_END,
    TUI_KEY_END_OF_INPUT,
};
#define TUI_CTRL(letter) ((uint32_t)(letter)&0x1F)
#define TUI_KEY_ENTER ((uint32_t)'\n')
#define TUI_KEY_ESC ((uint32_t)0x1B)
#define TUI_KEY_TAB ((uint32_t)'\t')

enum tui_mouse {
    TUI_MOUSE_CLICK,
    TUI_MOUSE_DOUBLE,
    TUI_MOUSE_WHEEL_UP,
    TUI_MOUSE_WHEEL_DOWN,
};

/*
 * x, y, mouse: of TUI_KEY_MOUSE; w, h: of TUI_KEY_RESIZE, in x and y. is_pasted: the terminal pasted it; it is text,
 * and not a key that was typed.
 */
struct tui_input {
    uint32_t key;
    bool is_pasted;
    int x;
    int y;
    enum tui_mouse mouse;
};

/* The first key of *text; advances *text past it. 0 at the end. */
uint32_t tui_key_parse(const char **text);
/* The first "<word>" in `text` that is not the name of a key; NULL: none. */
const char *tui_keys_unknown(const char *text);
void tui_key_name(uint32_t key, struct vs_text *out);

#endif
