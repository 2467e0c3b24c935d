/*
 * tui/term/facts.h - what the terminal can do, found out without changing it.
 *
 * For:            `vramscope doctor`.
 * Must not know:  what is drawn.
 * Invariant:      nothing is written to the terminal, and its settings stay as they are.
 */
#ifndef TUI_TERM_FACTS_H
#define TUI_TERM_FACTS_H

#include <stdbool.h>

#define TUI_TERM_NAME 64

/*
 * name         TERM, or ""
 * is_terminal  stdout is one
 * is_known     terminfo describes it; places: it can place the cursor, which the TUI needs
 * is_utf8      the locale can write Unicode
 * colours      how many; 0: none, or not known
 * w, h         its size; 0: not known
 */
struct tui_term_facts {
    char name[TUI_TERM_NAME];
    bool is_terminal;
    bool is_known;
    bool places;
    bool is_utf8;
    int colours;
    int w, h;
};

/* Sets the program's locale from the environment, as tui_term_open does. */
void tui_term_facts(struct tui_term_facts *out);

#endif
