/*
 * tui/parts/prompt.c - see prompt.h.
 *
 * Must not know:  what is done with the line.
 * Invariant:      the text is UTF-8, and `at` is at the beginning of a character.
 */
#include "tui/parts/prompt.h"

#include <string.h>

#include "base/mem.h"
#include "tui/term/input.h"
#include "tui/term/surface.h"

void tui_prompt_open(struct tui_prompt *prompt, char kind, const char *text)
{
    prompt->kind = kind;
    prompt->tabs = 0;
    prompt->history_at = prompt->history_count;
    tui_prompt_set(prompt, text);
}

void tui_prompt_set(struct tui_prompt *prompt, const char *text)
{
    char *copy = vs_strdup(text); /* `text` may point into this very buffer */

    vs_text_clear(&prompt->text);
    vs_text_add(&prompt->text, copy);
    prompt->at = prompt->text.len;
    vs_free(copy);
}

void tui_prompt_release(struct tui_prompt *prompt)
{
    for (size_t i = 0; i < prompt->history_count; i++)
        vs_free(prompt->history[i].line);
    vs_text_release(&prompt->text);
    memset(prompt, 0, sizeof(*prompt));
}

static void remember(struct tui_prompt *prompt)
{
    const char *line = vs_text_get(&prompt->text);
    size_t n = prompt->history_count;

    if (!*line || (n && prompt->history[n - 1].kind == prompt->kind &&
                   strcmp(prompt->history[n - 1].line, line) == 0))
        return;
    if (n == TUI_HISTORY_MAX) {
        vs_free(prompt->history[0].line);
        memmove(&prompt->history[0], &prompt->history[1], (n - 1) * sizeof(prompt->history[0]));
        n--;
    }
    prompt->history[n].kind = prompt->kind;
    prompt->history[n].line = vs_strdup(line);
    prompt->history_count = n + 1;
}

/* The previous or next line of the history of this prompt. */
static void recall(struct tui_prompt *prompt, int by)
{
    size_t at = prompt->history_at;

    for (;;) {
        if (by < 0 ? at == 0 : at >= prompt->history_count)
            return;
        at = by < 0 ? at - 1 : at + 1;
        if (at == prompt->history_count || prompt->history[at].kind == prompt->kind)
            break;
    }
    prompt->history_at = at;
    tui_prompt_set(prompt, at < prompt->history_count ? prompt->history[at].line : "");
}

static size_t before(const struct tui_prompt *prompt, size_t at)
{
    const char *data = vs_text_get(&prompt->text);

    while (at > 0 && (data[--at] & 0xC0) == 0x80)
        continue;
    return at;
}

static size_t after(const struct tui_prompt *prompt, size_t at)
{
    const char *text = vs_text_get(&prompt->text) + at;
    const char *next = text;

    return tui_utf8_next(&next) ? at + (size_t)(next - text) : at;
}

/* Take bytes from … to - 1 out and put `more` there. */
static void replace(struct tui_prompt *prompt, size_t from, size_t to, const char *more, size_t len)
{
    char *rest = vs_strdup(vs_text_get(&prompt->text) + to);
    char *head = vs_strndup(vs_text_get(&prompt->text), from);

    vs_text_clear(&prompt->text);
    vs_text_add(&prompt->text, head);
    vs_text_add_n(&prompt->text, more, len);
    vs_text_add(&prompt->text, rest);
    prompt->at = from + len;
    vs_free(head);
    vs_free(rest);
}

static size_t word_before(const struct tui_prompt *prompt)
{
    const char *data = vs_text_get(&prompt->text);
    size_t at = prompt->at;

    while (at > 0 && data[at - 1] == ' ')
        at--;
    while (at > 0 && data[at - 1] != ' ')
        at--;
    return at;
}

static void edit(struct tui_prompt *prompt, uint32_t key)
{
    char bytes[4];

    if (key == TUI_KEY_LEFT)
        prompt->at = before(prompt, prompt->at);
    else if (key == TUI_KEY_RIGHT)
        prompt->at = after(prompt, prompt->at);
    else if (key == TUI_KEY_HOME || key == TUI_CTRL('a'))
        prompt->at = 0;
    else if (key == TUI_KEY_END || key == TUI_CTRL('e'))
        prompt->at = prompt->text.len;
    else if (key == TUI_KEY_BACKSPACE || key == TUI_CTRL('h'))
        replace(prompt, before(prompt, prompt->at), prompt->at, "", 0);
    else if (key == TUI_KEY_DELETE)
        replace(prompt, prompt->at, after(prompt, prompt->at), "", 0);
    else if (key == TUI_CTRL('u'))
        replace(prompt, 0, prompt->at, "", 0);
    else if (key == TUI_CTRL('w'))
        replace(prompt, word_before(prompt), prompt->at, "", 0);
    else if (key == TUI_KEY_UP || key == TUI_CTRL('p'))
        recall(prompt, -1);
    else if (key == TUI_KEY_DOWN || key == TUI_CTRL('n'))
        recall(prompt, 1);
    else if (key >= 0x20 && key < TUI_SPECIAL)
        replace(prompt, prompt->at, prompt->at, bytes, (size_t)tui_utf8_put(key, bytes));
}

enum tui_prompted tui_prompt_type(struct tui_prompt *prompt, uint32_t key)
{
    bool is_backspace = key == TUI_KEY_BACKSPACE || key == TUI_CTRL('h');

    if (key == TUI_KEY_ESC || key == TUI_CTRL('c') || (is_backspace && !prompt->text.len)) {
        prompt->kind = 0;
        return TUI_PROMPT_LEFT;
    }
    if (key == TUI_KEY_ENTER) {
        remember(prompt);
        prompt->kind = 0;
        return TUI_PROMPT_DONE;
    }
    if (key == TUI_KEY_TAB) {
        prompt->tabs++;
        return TUI_PROMPT_COMPLETE;
    }
    prompt->tabs = 0;
    edit(prompt, key);
    return TUI_PROMPT_GOES_ON;
}
