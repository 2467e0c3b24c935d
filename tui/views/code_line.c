/*
 * tui/views/code_line.c - see code_line.h.
 */
#include "tui/views/code_line.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "tui/parts/format.h"

static bool is_keyword(const char *word, size_t len)
{
    static const char *const WORDS[] = {
        "and",    "as",    "assert", "break", "class", "continue", "def",
        "del",    "elif",  "else",   "for",   "from",  "if",       "in",
        "import", "is",    "lambda", "not",   "or",    "pass",     "raise",
        "return", "while", "with",   "self",  "None",  "True",     "False",
    };

    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        if (strlen(WORDS[i]) == len && strncmp(WORDS[i], word, len) == 0)
            return true;
    return false;
}

void tui_code_draw(struct tui_canvas *c, int x, int y, const char *text, int len)
{
    int i = 0;

    while (i < len) {
        int from = i;
        enum tui_role role = TUI_PLAIN;
        char *piece;

        if (text[i] == '#') {
            i = len;
            role = TUI_COMMENT;
        } else if (isalpha((unsigned char)text[i]) || text[i] == '_') {
            while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_'))
                i++;
            if (is_keyword(text + from, (size_t)(i - from)))
                role = TUI_KEYWORD;
        } else {
            i++;
            while (i < len && (text[i] & 0x80))
                i++;
        }
        piece = vs_strndup(text + from, (size_t)(i - from));
        x = tui_text(c, x, y, tui_style(role), piece);
        vs_free(piece);
    }
}
