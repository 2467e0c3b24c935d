/*
 * cli/grid/grid.c - see grid.h.
 *
 * Must not know:  where the results are from.
 */
#include "cli/grid/grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "whatif/grid/front.h"

#define REASONS_SHOWN 8

/* ---- counts ---- */

struct counts {
    size_t fit;
    size_t do_not_fit;
    size_t refused;
    size_t noted;
    size_t on;
};

static struct counts counts_of(const struct wif_grid_table *table)
{
    struct counts counts = {.fit = 0};

    for (size_t i = 0; i < table->count; i++) {
        const struct wif_grid_row *row = &table->rows[i];

        counts.refused += row->result.is_refused;
        counts.fit += !row->result.is_refused && row->result.fits;
        counts.do_not_fit += !row->result.is_refused && !row->result.fits;
        counts.noted += *row->result.notes != '\0';
        counts.on += row->is_on;
    }
    return counts;
}

/* ---- text ---- */

/* The width of each toggle's column; 0: it is the same in all rows. */
static void widths_fill(const struct wif_grid_table *table, int *widths)
{
    for (size_t t = 0; t < VS_TOGGLE_COUNT; t++) {
        const enum vs_toggle toggle = (enum vs_toggle)t;
        size_t width = strlen(vs_toggle_info(toggle)->name);

        for (size_t i = 0; i < table->count; i++) {
            const size_t len = strlen(wif_grid_value(&table->rows[i], toggle));

            width = len > width ? len : width;
        }
        widths[t] = wif_grid_table_differs(table, toggle) ? (int)width : 0;
    }
}

static void head_text(const int *widths, struct vs_text *out)
{
    for (size_t t = 0; t < VS_TOGGLE_COUNT; t++)
        if (widths[t])
            vs_text_addf(out, "%-*s  ", widths[t], vs_toggle_info((enum vs_toggle)t)->name);
    vs_text_addf(out, "%12s%12s%14s%12s%14s\n", "peak", "reserved", "GFLOP/sample", "recomputed",
                 "sent a step");
}

static void figures_text(const struct sto_result *result, struct vs_text *out)
{
    char peak[VS_BYTES_TEXT_MAX], reserved[VS_BYTES_TEXT_MAX], sent[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%12s%12s%14.4g", vs_bytes_text(result->allocated, peak),
                 vs_bytes_text(result->reserved, reserved), wif_grid_flops(result) / 1e9);
    if (result->recompute_flops)
        vs_text_addf(out, "%10.1f %%",
                     100.0 * (double)result->recompute_flops / (double)result->total_flops);
    else
        vs_text_addf(out, "%12s", "-");
    vs_text_addf(out, "%14s%s\n",
                 result->collective_count ? vs_bytes_text(wif_grid_step_sent(result), sent) : "-",
                 result->fits ? "" : "  does not fit");
}

static void row_text(const struct wif_grid_row *row, const int *widths, struct vs_text *out)
{
    for (size_t t = 0; t < VS_TOGGLE_COUNT; t++)
        if (widths[t])
            vs_text_addf(out, "%-*s  ", widths[t], wif_grid_value(row, (enum vs_toggle)t));
    if (row->result.is_refused)
        vs_text_addf(out, "%12s\n", "refused");
    else
        figures_text(&row->result, out);
}

static int by_peak(const void *x, const void *y)
{
    const struct wif_grid_row *const *a = x;
    const struct wif_grid_row *const *b = y;
    const uint64_t p = (*a)->result.allocated;
    const uint64_t q = (*b)->result.allocated;

    if (p != q)
        return p < q ? -1 : 1;
    return *a < *b ? -1 : *a > *b; /* rows of one array: as they were given */
}

static void front_text(const struct wif_grid_table *table, const int *widths, struct vs_text *out)
{
    const struct wif_grid_row **on = vs_calloc(table->count + 1, sizeof(*on));
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].is_on)
            on[count++] = &table->rows[i];
    qsort(on, count, sizeof(*on), by_peak);
    vs_text_addf(out,
                 "\n%zu on the Pareto front: no other configuration that fits is better in one of "
                 "these and as good in the\nothers: samples of each process, number of "
                 "processes, peak, and arithmetic and traffic for each sample\n\n",
                 count);
    head_text(widths, out);
    for (size_t i = 0; i < count; i++)
        row_text(on[i], widths, out);
    vs_free(on);
}

/* Each reason once, with how often there is one, in the order in which they come. */
static void reasons_text(const struct wif_grid_table *table, struct vs_text *out)
{
    const char *shown[REASONS_SHOWN];
    size_t count = 0;
    size_t left = 0;

    vs_text_add(out, "\nrefused:\n");
    for (size_t i = 0; i < table->count; i++) {
        const char *reason = table->rows[i].result.reason;
        size_t times = 0, k = 0;

        if (!table->rows[i].result.is_refused)
            continue;
        while (k < count && strcmp(shown[k], reason) != 0)
            k++;
        if (k < count)
            continue;
        if (count == REASONS_SHOWN) {
            left++;
            continue;
        }
        shown[count++] = reason;
        for (size_t n = i; n < table->count; n++)
            times += table->rows[n].result.is_refused &&
                     strcmp(table->rows[n].result.reason, reason) == 0;
        vs_text_addf(out, "%6zu: ", times);
        vs_text_add_words(out, reason, strlen(reason), 8, 8, 120);
        vs_text_add_char(out, '\n');
    }
    if (left)
        vs_text_addf(out, "  and %zu for other reasons, which --json has\n", left);
}

void cli_grid_text(const struct wif_grid_table *table, bool all, struct vs_text *out)
{
    const struct counts counts = counts_of(table);
    int widths[VS_TOGGLE_COUNT];
    char capacity[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%zu configuration%s of %s: ", table->count, table->count == 1 ? "" : "s",
                 table->net);
    if (table->count && counts.refused == table->count) {
        vs_text_add(out, "none can be run\n");
    } else {
        vs_text_addf(out, "%zu fit", counts.fit);
        if (table->capacity)
            vs_text_addf(out, " %s", vs_bytes_text(table->capacity, capacity));
        vs_text_addf(out, ", %zu do not, %zu refused\n", counts.do_not_fit, counts.refused);
    }
    widths_fill(table, widths);
    if (all && table->count) {
        vs_text_add_char(out, '\n');
        head_text(widths, out);
        for (size_t i = 0; i < table->count; i++)
            row_text(&table->rows[i], widths, out);
    } else if (counts.on) {
        front_text(table, widths, out);
    }
    if (counts.refused)
        reasons_text(table, out);
    if (counts.noted)
        vs_text_addf(
            out, "\nin %zu configurations a part of a toggle was not applied; --json says which\n",
            counts.noted);
}

/* ---- JSON ---- */

static void collectives_json(const struct sto_result *result, struct vs_json *json)
{
    vs_json_key(json, "collectives");
    vs_json_array(json);
    for (size_t i = 0; i < result->collective_count; i++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "name", result->collectives[i].name);
        vs_json_put_uint(json, "count", result->collectives[i].count);
        vs_json_put_uint(json, "bytes", result->collectives[i].bytes);
        vs_json_put_uint(json, "sent", result->collectives[i].sent);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void figures_json(const struct wif_grid_row *row, struct vs_json *json)
{
    const struct sto_result *result = &row->result;

    vs_json_put_bool(json, "fits", result->fits);
    vs_json_put_bool(json, "front", row->is_on);
    vs_json_put_uint(json, "batch", result->batch);
    vs_json_put_uint(json, "processes", result->processes);
    vs_json_put_uint(json, "sharing", result->sharing);
    vs_json_put_uint(json, "parameters", result->parameters);
    vs_json_put_uint(json, "allocated", result->allocated);
    vs_json_put_uint(json, "requested", result->requested);
    vs_json_put_uint(json, "reserved", result->reserved);
    vs_json_put_int(json, "step", result->step);
    vs_json_put_string(json, "phase", vs_phase_name(result->phase));
    vs_json_put_uint(json, "steps", result->steps);
    vs_json_put_uint(json, "total_flops", result->total_flops);
    vs_json_put_uint(json, "recompute_flops", result->recompute_flops);
    vs_json_put_uint(json, "host_bytes", result->host_bytes);
    vs_json_put_uint(json, "sent", wif_grid_step_sent(result));
    collectives_json(result, json);
    vs_json_put_string(json, "refused", *result->notes ? result->notes : NULL);
}

static void row_json(const struct wif_grid_row *row, struct vs_json *json)
{
    vs_json_object(json);
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    for (size_t t = 0; t < VS_TOGGLE_COUNT; t++)
        if (vs_toggles_is_set(&row->toggles, (enum vs_toggle)t))
            vs_json_put_string(json, vs_toggle_info((enum vs_toggle)t)->name,
                               vs_toggles_get(&row->toggles, (enum vs_toggle)t));
    vs_json_end(json);
    vs_json_put_string(json, "error", row->result.is_refused ? row->result.reason : NULL);
    if (!row->result.is_refused)
        figures_json(row, json);
    vs_json_end(json);
}

void cli_grid_json(const struct wif_grid_table *table, struct vs_text *out)
{
    const struct counts counts = counts_of(table);
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "net", table->net);
    vs_json_put_uint(&json, "seed", table->seed);
    vs_json_key(&json, "capacity");
    if (table->capacity)
        vs_json_uint(&json, table->capacity);
    else
        vs_json_null(&json);
    vs_json_put_uint(&json, "fit", counts.fit);
    vs_json_put_uint(&json, "do_not_fit", counts.do_not_fit);
    vs_json_put_uint(&json, "refused", counts.refused);
    vs_json_key(&json, "configurations");
    vs_json_array(&json);
    for (size_t i = 0; i < table->count; i++)
        row_json(&table->rows[i], &json);
    vs_json_end(&json);
    vs_json_end(&json);
}
