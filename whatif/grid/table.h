/*
 * whatif/grid/table.h - all configurations of a sweep with their results, made by runs or read from a file.
 *
 * For:            `vramscope sweep`, the view of its results.
 * Must not know:  how it is shown.
 */
#ifndef WIF_GRID_TABLE_H
#define WIF_GRID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "store/sweep/results.h"

/* A configuration and its result. is_on: on the Pareto front, from wif_grid_table_fill on. */
struct wif_grid_row {
    struct vs_toggles toggles;
    struct sto_result result;
    bool is_on;
};

/*
 * Zero-initialise. net: the file of the net, owned; text: what it says, owned, NULL: the table was not read from a
 * file; capacity: of the device, in bytes, 0: none was given
 */
struct wif_grid_table {
    char *net;
    char *text;
    uint64_t seed;
    uint64_t capacity;
    struct wif_grid_row *rows;
    size_t count;
    size_t cap;
};

/* Add a row; the toggles are copied. */
void wif_grid_table_add(struct wif_grid_table *table, const struct vs_toggles *toggles,
                        const struct sto_result *result);
/* Find the front, when all rows are there. */
void wif_grid_table_fill(struct wif_grid_table *table);
/*
 * Read a file of results, and find the front. VS_E_VALUE: a toggle that this program does not know. Others: those of
 * sto_results_read. Release `out`, which is zeroed or released before, also after a failure.
 */
VS_MUST_USE enum vs_status wif_grid_table_read(const char *path, struct wif_grid_table *out,
                                               struct vs_error *err);
/* Whether the toggle has several values in the table; of one row: whether it is set. */
bool wif_grid_table_differs(const struct wif_grid_table *table, enum vs_toggle toggle);
/* The value of a toggle that is set; "-": it has no meaning there, or is as the net says. Borrowed. */
const char *wif_grid_value(const struct wif_grid_row *row, enum vs_toggle toggle);
/* Whether any configuration could be run. */
bool wif_grid_table_has_run(const struct wif_grid_table *table);
void wif_grid_table_release(struct wif_grid_table *table);

#endif
