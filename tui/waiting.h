/*
 * tui/waiting.h - shows the progress of long work in the status line, and lets the user stop it.
 *
 * For:            operations that may take noticeably long.
 * Must not know:  what work is done.
 * Invariant:      work that ends quickly shows nothing.
 */
#ifndef TUI_WAITING_H
#define TUI_WAITING_H

#include <time.h>

#include "tui/app.h"

/* words: "running the net again"; shown: time when the progress was drawn last, or the work
 * began; is_shown: it has been drawn. */
struct tui_waiting {
    struct tui_app *app;
    const char *words;
    struct timespec shown;
    bool is_shown;
};

void tui_waiting_init(struct tui_waiting *waiting, struct tui_app *app, const char *words);
/* An rpl_progress_fn; user: struct tui_waiting. False: the user wants the work to stop. */
bool tui_waiting_show(void *user, uint64_t done, uint64_t total);

#endif
