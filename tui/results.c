/*
 * tui/results.c - see results.h.
 *
 * Must not know:  drawing.
 */
#include "tui/results.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/sweep/results.h"
#include "tui/change.h"
#include "whatif/whatif.h"

void tui_results_free(struct tui_results *results)
{
    if (!results)
        return;
    wif_grid_table_release(&results->table);
    vs_free(results->order);
    vs_free(results->path);
    vs_free(results);
}

bool tui_results_is_file(const char *path)
{
    return sto_results_is_file(path);
}

/* The class of a row: 0: on the front, 1: it fits, 2: it does not, 3: refused. */
static int class_of(const struct wif_grid_row *row)
{
    return row->result.is_refused ? 3 : !row->result.fits ? 2 : !row->is_on;
}

static int in_order(const void *x, const void *y)
{
    const struct wif_grid_row *const *a = x;
    const struct wif_grid_row *const *b = y;
    const uint64_t p = (*a)->result.allocated;
    const uint64_t q = (*b)->result.allocated;

    if (class_of(*a) != class_of(*b))
        return class_of(*a) - class_of(*b);
    if (p != q)
        return p < q ? -1 : 1;
    return *a < *b ? -1 : *a > *b; /* rows of one array: as they were found */
}

static void order_make(struct tui_results *results)
{
    const struct wif_grid_table *table = &results->table;
    const struct wif_grid_row **rows = vs_calloc(table->count + 1, sizeof(*rows));

    results->order = vs_calloc(table->count + 1, sizeof(*results->order));
    for (size_t i = 0; i < table->count; i++)
        rows[i] = &table->rows[i];
    qsort(rows, table->count, sizeof(*rows), in_order);
    for (size_t i = 0; i < table->count; i++)
        results->order[i] = (size_t)(rows[i] - table->rows);
    vs_free(rows);
}

/* Read a file; the results that were shown stay where it cannot be read. */
static enum vs_status results_read(struct tui_app *app, const char *path, struct vs_error *err)
{
    struct tui_results *results = vs_calloc(1, sizeof(*results));
    enum vs_status st = wif_grid_table_read(path, &results->table, err);

    if (st) {
        tui_results_free(results);
        return st;
    }
    results->path = vs_strdup(path);
    results->number = app->results ? app->results->number + 1 : 1;
    order_make(results);
    tui_results_free(app->results);
    app->results = results;
    return VS_OK;
}

void tui_results_open(struct tui_app *app, const char *path)
{
    struct vs_error err = VS_ERROR_INIT;

    if (!*path && app->results)
        path = app->results->path;
    if (!*path) {
        tui_app_fail(app, "`:results FILE` needs the file that `vramscope sweep -o FILE` wrote");
        return;
    }
    if (results_read(app, path, &err)) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    tui_app_say(app, "%zu configurations", app->results->table.count);
    tui_app_view(app, "results");
}

enum vs_status tui_results_begin(struct tui_app *app, const char *path, struct vs_error *err)
{
    struct rpl_trace *source = NULL;
    struct rpl_trace *base = NULL;
    enum vs_status st = results_read(app, path, err);
    char seed[24];

    if (st)
        return st;
    source = rpl_trace_new();
    base = rpl_trace_new();
    rpl_trace_set_source(source, app->results->table.net, app->results->table.text);
    snprintf(seed, sizeof(seed), "%" PRIu64, app->results->table.seed);
    rpl_trace_set_meta(source, "seed", seed);
    st = wif_run(source, NULL, base, err);
    rpl_trace_free(source);
    if (st) {
        rpl_trace_free(base);
        return st;
    }
    st = tui_app_take(app, app->results->table.net, base, err);
    if (!st)
        tui_app_view(app, "results");
    return st;
}

void tui_results_show(struct tui_app *app, size_t row)
{
    const struct wif_grid_table *table = &app->results->table;
    const struct wif_grid_row *chosen = &table->rows[app->results->order[row]];
    const char *text = rpl_trace_source_text(app->base.trace);
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_OK;

    if (!text || strcmp(text, table->text) != 0) {
        tui_app_fail(app, "the results are of another net: %s", table->net);
        return;
    }
    if (chosen->result.is_refused) {
        tui_app_fail(app, "%s", tui_reason_short(app, chosen->result.reason));
        return;
    }
    for (int i = 0; i < VS_TOGGLE_COUNT && !st; i++)
        if (vs_toggles_is_set(&chosen->toggles, (enum vs_toggle)i))
            st = tui_change_put(app, &set, (enum vs_toggle)i,
                                vs_toggles_get(&chosen->toggles, (enum vs_toggle)i), &err);
    if (st) {
        tui_app_fail(app, "%s", err.text);
    } else {
        vs_toggles_copy(&app->change.set, &set);
        tui_app_change(app);
    }
    vs_toggles_release(&set);
}
