/*
 * tui/parts/prompt.h - the line at the bottom that `:`, `/` and `\` read, with history and completion.
 *
 * For:            app.c.
 * Must not know:  what is done with the line.
 * Invariant:      the text is UTF-8, and `at` is at the beginning of a character.
 */
#ifndef TUI_PROMPT_H
#define TUI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define TUI_HISTORY_MAX 32

/*
 * kind     ':', '/' or '\'; 0: it is not open
 * text, at the line, and the byte offset of the cursor
 * tabs     how often <tab> was typed since any other key
 * history  the last lines of each kind share one list; history_at: which is shown, history_count: a new one
 */
struct tui_prompt {
    char kind;
    struct vs_text text;
    size_t at;
    size_t tabs;
    struct {
        char kind;
        char *line;
    } history[TUI_HISTORY_MAX];
    size_t history_count;
    size_t history_at;
};

enum tui_prompted {
    TUI_PROMPT_GOES_ON,
    TUI_PROMPT_DONE, /* text is the line; it is closed and in the history */
    TUI_PROMPT_LEFT,
    TUI_PROMPT_COMPLETE, /* <tab>: the caller completes */
};

void tui_prompt_open(struct tui_prompt *prompt, char kind, const char *text);
enum tui_prompted tui_prompt_type(struct tui_prompt *prompt, uint32_t key);
/* Replace the line; the cursor is placed at its end. */
void tui_prompt_set(struct tui_prompt *prompt, const char *text);
void tui_prompt_release(struct tui_prompt *prompt);

#endif
