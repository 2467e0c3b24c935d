/*
 * tui/term/decode.c - see decode.h.
 *
 * Must not know:  signals, how long to wait for input, what a key does.
 * Invariant:      a code without a meaning gives TUI_KEY_TICK.
 */
#include "tui/term/decode.h"

#include <time.h>

#include <curses.h>

#define DOUBLE_CLICK_MS 400

static struct tui_input plain(uint32_t key)
{
    return (struct tui_input){.key = key};
}

/* Whether this click follows one on the same cell within DOUBLE_CLICK_MS. Updates *last. */
static bool is_second_click(struct tui_click *last, int x, int y)
{
    struct timespec now;
    int64_t ms;
    bool is_second;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    is_second = x == last->x && y == last->y && ms - last->ms < DOUBLE_CLICK_MS;
    last->x = is_second ? -1 : x;
    last->y = y;
    last->ms = ms;
    return is_second;
}

static struct tui_input mouse_input(struct tui_click *last)
{
    struct tui_input input = plain(TUI_KEY_MOUSE);
    MEVENT event;

    if (getmouse(&event) != OK)
        return plain(TUI_KEY_TICK);
    input.x = event.x;
    input.y = event.y;
    if (event.bstate & BUTTON4_PRESSED)
        input.mouse = TUI_MOUSE_WHEEL_UP;
    else if (event.bstate & BUTTON5_PRESSED)
        input.mouse = TUI_MOUSE_WHEEL_DOWN;
    else
        input.mouse = is_second_click(last, event.x, event.y) ? TUI_MOUSE_DOUBLE : TUI_MOUSE_CLICK;
    return input;
}

static uint32_t special_of(wint_t code)
{
    static const struct {
        wint_t code;
        uint32_t key;
    } TABLE[] = {
        {KEY_LEFT, TUI_KEY_LEFT},
        {KEY_RIGHT, TUI_KEY_RIGHT},
        {KEY_UP, TUI_KEY_UP},
        {KEY_DOWN, TUI_KEY_DOWN},
        {KEY_HOME, TUI_KEY_HOME},
        {KEY_END, TUI_KEY_END},
        {KEY_PPAGE, TUI_KEY_PGUP},
        {KEY_NPAGE, TUI_KEY_PGDN},
        {KEY_BACKSPACE, TUI_KEY_BACKSPACE},
        {KEY_DC, TUI_KEY_DELETE},
        {KEY_BTAB, TUI_KEY_BACKTAB},
        {KEY_F(1), TUI_KEY_F1},
        {KEY_F(2), TUI_KEY_F2},
        {KEY_ENTER, TUI_KEY_ENTER},
        {KEY_RESIZE, TUI_KEY_RESIZE},
        {TUI_CODE_PASTE_BEGIN, TUI_KEY_PASTE_BEGIN},
        {TUI_CODE_PASTE_END, TUI_KEY_PASTE_END},
    };

    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        if (TABLE[i].code == code)
            return TABLE[i].key;
    return TUI_KEY_TICK;
}

/*
 * After <esc>: skips the rest of a control sequence that terminfo does not describe: `[`, parameters and a final
 * letter, which the terminal sends at once. Read as keys, its <esc> would close the view; keys typed by hand come one
 * by one. False: <esc> was typed.
 */
static bool sequence_pass(void)
{
    wint_t code = 0;
    wint_t next = 0;

    if (get_wch(&code) != OK)
        return false;
    if (code != '[' || get_wch(&next) != OK) {
        unget_wch((wchar_t)code);
        return false;
    }
    while ((next < 0x40 || next > 0x7E) && get_wch(&next) == OK)
        continue;
    return true;
}

struct tui_input tui_decode(int got, wint_t code, struct tui_click *last)
{
    if (got == KEY_CODE_YES && code == KEY_MOUSE)
        return mouse_input(last);
    if (got == KEY_CODE_YES)
        return plain(special_of(code));
    if (code == '\r')
        return plain(TUI_KEY_ENTER);
    if (code == 0x7F)
        return plain(TUI_KEY_BACKSPACE);
    if (code == TUI_KEY_ESC && sequence_pass())
        return plain(TUI_KEY_TICK);
    return plain((uint32_t)code);
}
