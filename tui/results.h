/*
 * tui/results.h - the results of a sweep beside a run of its net: the command `:results`.
 *
 * For:            commands.c, `vramscope tui RESULTS`, the view results.
 * Must not know:  drawing.
 * Invariant:      the file is only read.
 */
#ifndef TUI_RESULTS_H
#define TUI_RESULTS_H

#include "tui/app.h"
#include "whatif/grid/table.h"

/*
 * order   indices of the rows: the Pareto front, the lowest peak first; then what else fits, what does not fit, and
 *         what was refused
 * number  how many files were read before it
 */
struct tui_results {
    char *path;
    struct wif_grid_table table;
    size_t *order;
    uint64_t number;
};

/* Whether there is a file of results at `path`. */
bool tui_results_is_file(const char *path);
/* Read the file `path` and show its rows. A failure is reported in the status line. */
void tui_results_open(struct tui_app *app, const char *path);
/*
 * Open a session on a file of results: its base is a run of the net as the file has it, without data. Errors: those of
 * reading the file and running the net.
 */
VS_MUST_USE enum vs_status tui_results_begin(struct tui_app *app, const char *path,
                                             struct vs_error *err);
/* Run the what-if with the toggles of row `row`. */
void tui_results_show(struct tui_app *app, size_t row);
void tui_results_free(struct tui_results *results);

#endif
