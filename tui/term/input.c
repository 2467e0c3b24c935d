/*
 * tui/term/input.c - see input.h.
 *
 * Must not know:  terminals, what a key does.
 * Invariant:      each name is in the table once.
 */
#include "tui/term/input.h"

#include <string.h>

#include "tui/term/surface.h"

static const struct {
    const char *name;
    uint32_t key;
} NAMES[] = {
    {"left", TUI_KEY_LEFT},
    {"right", TUI_KEY_RIGHT},
    {"up", TUI_KEY_UP},
    {"down", TUI_KEY_DOWN},
    {"home", TUI_KEY_HOME},
    {"end", TUI_KEY_END},
    {"pgup", TUI_KEY_PGUP},
    {"pgdn", TUI_KEY_PGDN},
    {"bs", TUI_KEY_BACKSPACE},
    {"del", TUI_KEY_DELETE},
    {"btab", TUI_KEY_BACKTAB},
    {"f1", TUI_KEY_F1},
    {"f2", TUI_KEY_F2},
    {"tab", TUI_KEY_TAB},
    {"enter", TUI_KEY_ENTER},
    {"esc", TUI_KEY_ESC},
    {"space", ' '},
    {"lt", '<'},
    {"resize", TUI_KEY_RESIZE},
    {"mouse", TUI_KEY_MOUSE},
    {"tick", TUI_KEY_TICK},
    {"C-?", 0x7F},
};
#define NAME_COUNT (sizeof(NAMES) / sizeof(NAMES[0]))

/* The name that stands in brackets at `text`; its length with them in *len. 0: there is none. */
static uint32_t named(const char *text, size_t *len)
{
    for (size_t i = 0; i < NAME_COUNT; i++) {
        size_t n = strlen(NAMES[i].name);

        if (strncmp(text + 1, NAMES[i].name, n) == 0 && text[n + 1] == '>') {
            *len = n + 2;
            return NAMES[i].key;
        }
    }
    /* those that no table of keys has are typed with ctrl, too */
    if (strncmp(text, "<C-", 3) == 0 && text[3] && text[4] == '>' &&
        ((text[3] >= 'a' && text[3] <= 'z') || strchr("\\]^_", text[3]))) {
        *len = 5;
        return TUI_CTRL(text[3]);
    }
    return 0;
}

uint32_t tui_key_parse(const char **text)
{
    size_t len;
    uint32_t key = **text == '<' ? named(*text, &len) : 0;

    if (!key)
        return tui_utf8_next(text);
    *text += len;
    return key;
}

const char *tui_keys_unknown(const char *text)
{
    while (*text) {
        const char *at = text;
        size_t word =
            strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

        if (tui_key_parse(&text) == '<' && text == at + 1 && word && at[word + 1] == '>')
            return at;
    }
    return NULL;
}

void tui_key_name(uint32_t key, struct vs_text *out)
{
    char bytes[4];

    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (NAMES[i].key == key) {
            vs_text_addf(out, "<%s>", NAMES[i].name);
            return;
        }
    }
    if (key < 0x20)
        vs_text_addf(out, "<C-%c>", (char)(key + (key <= 'z' - 'a' + 1 ? 'a' - 1 : '@')));
    else if (key < TUI_SPECIAL)
        vs_text_add_n(out, bytes, (size_t)tui_utf8_put(key, bytes));
}
