/*
 * tui/waiting.c - see waiting.h.
 *
 * Must not know:  what work is done.
 * Invariant:      waiting keys do not stop the work; <C-c> does.
 */
#include "tui/waiting.h"

#include <inttypes.h>

/* Delay before progress is first drawn, so that quick work is not announced, and interval after that. */
#define FIRST_MS 2
#define SHOW_MS 100

void tui_waiting_init(struct tui_waiting *waiting, struct tui_app *app, const char *words)
{
    waiting->app = app;
    waiting->words = words;
    waiting->is_shown = false;
    clock_gettime(CLOCK_MONOTONIC, &waiting->shown);
}

bool tui_waiting_show(void *user, uint64_t done, uint64_t total)
{
    struct tui_waiting *waiting = user;
    struct timespec now;

    if (waiting->app->wants_stop && waiting->app->wants_stop())
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - waiting->shown.tv_sec) * 1000 +
            (now.tv_nsec - waiting->shown.tv_nsec) / 1000000 <
        (waiting->is_shown ? SHOW_MS : FIRST_MS))
        return true;
    waiting->shown = now;
    waiting->is_shown = true;
    if (total)
        tui_app_say(waiting->app, "%s: %" PRIu64 " %%, <C-c> stops", waiting->words,
                    done * 100 / total);
    else
        tui_app_say(waiting->app, "%s; <C-c> stops", waiting->words);
    tui_app_show(waiting->app);
    return true;
}
