/*
 * whatif/grid/table.c - see table.h.
 *
 * Must not know:  how it is shown.
 */
#include "whatif/grid/table.h"

#include <string.h>

#include "base/mem.h"
#include "whatif/grid/front.h"

void wif_grid_table_add(struct wif_grid_table *table, const struct vs_toggles *toggles,
                        const struct sto_result *result)
{
    struct wif_grid_row *row;

    table->rows = vs_grow(table->rows, table->count, &table->cap, sizeof(*table->rows));
    row = &table->rows[table->count++];
    *row = (struct wif_grid_row){.result = *result};
    vs_toggles_copy(&row->toggles, toggles);
}

void wif_grid_table_fill(struct wif_grid_table *table)
{
    const struct sto_result **results = vs_calloc(table->count + 1, sizeof(*results));
    bool *is_on = vs_calloc(table->count + 1, sizeof(*is_on));

    for (size_t i = 0; i < table->count; i++)
        results[i] = &table->rows[i].result;
    wif_grid_front(results, table->count, is_on);
    for (size_t i = 0; i < table->count; i++)
        table->rows[i].is_on = is_on[i];
    vs_free(is_on);
    vs_free(results);
}

/* ---- reading ---- */

/* err: of the first row that cannot be read. */
struct reading {
    struct wif_grid_table *table;
    struct vs_error err;
};

static void on_result(void *user, const char *config, const struct sto_setting *settings,
                      size_t count, const struct sto_result *result)
{
    struct reading *reading = user;
    struct vs_toggles toggles = {{NULL}};
    enum vs_status st = reading->err.status;

    (void)config;
    for (size_t i = 0; i < count && !st; i++)
        st = vs_toggles_set_named(&toggles, settings[i].toggle, settings[i].value, &reading->err);
    if (!st)
        wif_grid_table_add(reading->table, &toggles, result);
    vs_toggles_release(&toggles);
}

enum vs_status wif_grid_table_read(const char *path, struct wif_grid_table *out,
                                   struct vs_error *err)
{
    struct reading reading = {.table = out, .err = VS_ERROR_INIT};
    struct sto_results *results = NULL;
    const struct sto_results_head *head;
    enum vs_status st = sto_results_read(path, &results, err);

    if (st)
        return st;
    head = sto_results_head_get(results);
    out->net = vs_strdup(head->net);
    out->text = vs_strdup(head->text);
    out->seed = head->seed;
    out->capacity = head->capacity;
    st = sto_results_each(results, on_result, &reading, err);
    if (!st && reading.err.status) {
        *err = reading.err;
        st = VS_E_VALUE;
        vs_error_prefix(err, "%s", path);
    }
    sto_results_close(results);
    if (!st)
        wif_grid_table_fill(out);
    return st;
}

/* ---- what it has ---- */

const char *wif_grid_value(const struct wif_grid_row *row, enum vs_toggle toggle)
{
    return vs_toggles_is_set(&row->toggles, toggle) ? vs_toggles_get(&row->toggles, toggle) : "-";
}

bool wif_grid_table_differs(const struct wif_grid_table *table, enum vs_toggle toggle)
{
    if (table->count == 1)
        return vs_toggles_is_set(&table->rows[0].toggles, toggle);
    for (size_t i = 1; i < table->count; i++)
        if (strcmp(wif_grid_value(&table->rows[i], toggle),
                   wif_grid_value(&table->rows[0], toggle)) != 0)
            return true;
    return false;
}

bool wif_grid_table_has_run(const struct wif_grid_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!table->rows[i].result.is_refused)
            return true;
    return false;
}

void wif_grid_table_release(struct wif_grid_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        vs_toggles_release(&table->rows[i].toggles);
    vs_free(table->rows);
    vs_free(table->net);
    vs_free(table->text);
    memset(table, 0, sizeof(*table));
}
