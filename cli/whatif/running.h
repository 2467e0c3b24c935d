/*
 * cli/whatif/running.h - while a recorded program runs again for a command: what is shown, and the signals that end the
 * command.
 *
 * For:            commands that run programs again.
 * Must not know:  what the program runs for.
 * Invariant:      a signal that would end this process does so in cli_running_end: by then the caller has ended the
 *                 program and removed what is temporary.
 */
#ifndef CLI_RUNNING_H
#define CLI_RUNNING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cli/progress.h"

/* Zero-initialise; all fields are private. */
struct cli_running {
    struct cli_progress progress;
    const char *what;
    struct timespec began;
    sigset_t held;
    sigset_t mask;
    bool is_begun;
};

/*
 * Hold back SIGTERM and SIGHUP, and SIGINT unless the program has the terminal (is_at_terminal). Signals that this
 * process ignores are left alone.
 */
void cli_running_begin(struct cli_running *running, bool is_at_terminal);
/*
 * Say `what` runs, a clause such as "the program is running again": without a terminal as a line on stderr now,
 * otherwise by cli_running_progress. `what` is borrowed until cli_running_clear.
 */
void cli_running_say(struct cli_running *running, const char *what);
/* Whether a signal that is held back has come: the program is to be ended. */
bool cli_running_is_stopped(const struct cli_running *running);
/*
 * An rpl_progress_fn; user: a struct cli_running. Draws what was said last and for how long it has run; false: as
 * cli_running_is_stopped.
 */
bool cli_running_progress(void *user, uint64_t done, uint64_t total);
/* Erase what was drawn; the next message has the line for itself. */
void cli_running_clear(struct cli_running *running);
/* Let the signals have their effect: where one came, this process ends here. Nothing if it was not begun. */
void cli_running_end(struct cli_running *running);

#endif
