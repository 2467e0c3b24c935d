/*
 * tui/waiting.h - how far long work is, on the status line, and whether it is to stop.
 *
 * For:            whatever may take longer than a key should.
 * Must not know:  what the work is.
 * Invariant:      short work shows nothing.
 */
#ifndef TUI_WAITING_H
#define TUI_WAITING_H

#include <time.h>

#include "tui/app.h"

/* words: "running the net again"; shown: when the progress was drawn last, or the work began; is_shown: it was drawn. */
struct tui_waiting {
    struct tui_app *app;
    const char *words;
    struct timespec shown;
    bool is_shown;
};

void tui_waiting_init(struct tui_waiting *waiting, struct tui_app *app, const char *words);
/* rpl_progress_fn; user: struct tui_waiting. False where the user wants it to stop. */
bool tui_waiting_show(void *user, uint64_t done, uint64_t total);

#endif
