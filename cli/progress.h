/*
 * cli/progress.h - shows the progress of a run: a bar on a terminal, one line per step elsewhere.
 *
 * For:            the record command; `whatif --each`.
 * Must not know:  what is being run.
 * Invariant:      on a terminal the bar is erased before anything else is printed; elsewhere no control characters are
 *                 written.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"

/* out: the stream that is written to, borrowed; the other fields are private. */
struct cli_progress {
    FILE *out;
    bool is_terminal;
    bool is_drawn;
    int columns;
    int64_t step_said;
    uint64_t lines_said;
    uint64_t began_ns;
    uint64_t drawn_ns;
};

/* The state to show. phase: its name, one word; phase_number, phase_count: which of how many; loss NaN: not known. */
struct cli_progress_state {
    int64_t step;
    int64_t steps;
    const char *phase;
    int phase_number;
    int phase_count;
    double loss;
    uint64_t events;
};

/* Initialise `progress` for the stream `out`, and find out whether that is a terminal. */
void cli_progress_init(struct cli_progress *progress, FILE *out);
/* Draw the bar on a terminal. Cheap to call often: it draws at most 20 times a second. */
void cli_progress_show(struct cli_progress *progress, const struct cli_progress_state *state);
/* Show a formatted text of one line in place of the bar; without a terminal at most every half minute. */
void cli_progress_say(struct cli_progress *progress, const char *fmt, ...) VS_PRINTF(2, 3);
/* Say a formatted text of one line about something that is done. On a terminal nothing: the bar says it. */
void cli_progress_done(struct cli_progress *progress, const char *fmt, ...) VS_PRINTF(2, 3);
/*
 * Call once at the end of each step. Without a terminal it prints a line: of few steps each, of more the first at once,
 * the next after two seconds, then after three, and so on, and always the last step.
 */
void cli_progress_step(struct cli_progress *progress, const struct cli_progress_state *state);
/* Erase the bar. */
void cli_progress_end(struct cli_progress *progress);

#endif
