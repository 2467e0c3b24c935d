/*
 * cli/progress.h - how far a run is: a bar on a terminal, a line a step elsewhere.
 *
 * For:            the record command; `whatif --each`.
 * Must not know:  what runs.
 * Invariant:      on a terminal the bar's line is empty again before anything else is printed; elsewhere there are no control characters.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"

/* out: where to, stderr; the rest is the bar's own. */
struct cli_progress {
    FILE *out;
    bool is_terminal;
    bool is_drawn;
    int columns;
    int64_t step_said;
    uint64_t drawn_ns;
};

/* What to say. `phase` is a word; loss NaN: not known. */
struct cli_progress_state {
    int64_t step;
    int64_t steps;
    const char *phase;
    int phase_number;
    int phase_count;
    double loss;
    uint64_t events;
};

void cli_progress_init(struct cli_progress *progress, FILE *out);
/* Cheap to call often: a terminal is drawn on at most 20 times a second. */
void cli_progress_show(struct cli_progress *progress, const struct cli_progress_state *state);
/* The same with other words, one line of them. */
void cli_progress_say(struct cli_progress *progress, const char *fmt, ...) VS_PRINTF(2, 3);
/* A step is over: said in a line of its own where there is no terminal; of many steps, one a second and the last. Once a step. */
void cli_progress_step(struct cli_progress *progress, const struct cli_progress_state *state);
/* Take the bar away. */
void cli_progress_end(struct cli_progress *progress);

#endif
