/*
 * cli/grid/grid.h - the results of a sweep as text and as JSON.
 *
 * For:            cli/grid/cmd_sweep.c.
 * Must not know:  where the results are from.
 */
#ifndef CLI_GRID_H
#define CLI_GRID_H

#include <stdbool.h>

#include "base/text.h"
#include "whatif/grid/table.h"

/* The front, or all rows, in columns of the toggles that differ; then why others were refused. */
void cli_grid_text(const struct wif_grid_table *table, bool all, struct vs_text *out);
/* All rows; docs/formats/json.md has the names. */
void cli_grid_json(const struct wif_grid_table *table, struct vs_text *out);

#endif
