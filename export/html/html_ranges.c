/*
 * export/html/html_ranges.c - the timeline of a run and of its what-ifs, in a bounded number of columns.
 *
 * Must not know:  blocks.
 * Invariant:      the bytes by category of a column add up to the highest allocated bytes of its events.
 *
 * Most figures of a column are those of the column before it, so all are written as differences.
 */
#include "base/mem.h"
#include "export/html/html_internal.h"
#include "replay/index/timeline.h"

/* Write figure `get` of each column, less that of the column before it. */
typedef int64_t figure_fn(const struct rpl_column *column, size_t which);

static void differences_put(struct vs_json *json, const char *key, const struct rpl_column *columns,
                            size_t count, figure_fn *get, size_t which)
{
    int64_t before = 0;

    vs_json_key(json, key);
    vs_json_array(json);
    for (size_t i = 0; i < count; i++) {
        int64_t now = get(&columns[i], which);

        vs_json_int(json, now - before);
        before = now;
    }
    vs_json_end(json);
}

static int64_t first_of(const struct rpl_column *column, size_t which)
{
    (void)which;
    return (int64_t)column->first_seq;
}

static int64_t highest_at(const struct rpl_column *column, size_t which)
{
    (void)which;
    return (int64_t)column->max_seq;
}

static int64_t allocated_of(const struct rpl_column *column, size_t which)
{
    (void)which;
    return (int64_t)column->allocated_max;
}

static int64_t lowest_of(const struct rpl_column *column, size_t which)
{
    (void)which;
    return (int64_t)column->allocated_min;
}

static int64_t reserved_of(const struct rpl_column *column, size_t which)
{
    (void)which;
    return (int64_t)column->reserved_max;
}

static int64_t step_of(const struct rpl_column *column, size_t which)
{
    (void)which;
    return column->step;
}

static int64_t phase_of(const struct rpl_column *column, size_t which)
{
    (void)which;
    return (int64_t)column->phase;
}

static int64_t category_of(const struct rpl_column *column, size_t which)
{
    return (int64_t)column->by_category[which];
}

static bool has_category(const struct rpl_column *columns, size_t count, size_t category)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].by_category[category])
            return true;
    return false;
}

/* Columns without events, of a range with fewer events than columns, are left out. */
static size_t columns_pack(struct rpl_column *columns, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (columns[i].last_seq >= columns[i].first_seq)
            columns[kept++] = columns[i];
    return kept;
}

static enum vs_status range_put(struct html *html, uint64_t first, uint64_t last, size_t most,
                                struct vs_error *err)
{
    struct vs_json *json = html->json;
    size_t count = last - first + 1 < most ? (size_t)(last - first + 1) : most;
    struct rpl_column *columns = vs_calloc(count, sizeof(*columns));
    enum vs_status st = rpl_timeline_columns(html->index, first, last, columns, count, err);

    if (st)
        goto out;
    count = columns_pack(columns, count);
    vs_json_object(json);
    vs_json_put_uint(json, "first", first);
    vs_json_put_uint(json, "last", last);
    differences_put(json, "from", columns, count, first_of, 0);
    differences_put(json, "highest_at", columns, count, highest_at, 0);
    differences_put(json, "lowest", columns, count, lowest_of, 0);
    differences_put(json, "reserved", columns, count, reserved_of, 0);
    differences_put(json, "step", columns, count, step_of, 0);
    differences_put(json, "phase", columns, count, phase_of, 0);
    vs_json_key(json, "by_category");
    vs_json_object(json);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        if (has_category(columns, count, i))
            differences_put(json, vs_category_name((enum vs_category)i), columns, count,
                            category_of, i);
    vs_json_end(json);
    vs_json_end(json);
out:
    vs_free(columns);
    return st;
}

enum vs_status exp_html_ranges(struct html *html, struct vs_error *err)
{
    uint64_t events = rpl_index_event_count(html->index);
    enum vs_status st = VS_OK;

    vs_json_key(html->json, "ranges");
    vs_json_array(html->json);
    if (events)
        st = range_put(html, 1, events,
                       events <= HTML_STEP_COLUMNS ? HTML_STEP_COLUMNS : HTML_COLUMNS, err);
    if (!st && events > HTML_STEP_COLUMNS && html->step_first)
        st = range_put(html, html->step_first, html->step_last, HTML_STEP_COLUMNS, err);
    vs_json_end(html->json);
    return st;
}

void exp_html_whatifs(struct html *html)
{
    const struct exp_options *options = html->options;
    struct vs_json *json = html->json;

    vs_json_key(json, "whatifs");
    vs_json_array(json);
    for (size_t i = 0; i < options->whatif_count && i < HTML_WHATIFS_MAX; i++) {
        const struct exp_whatif *whatif = &options->whatifs[i];

        vs_json_object(json);
        vs_json_put_string(json, "set", whatif->label);
        vs_json_put_string(json, "note", whatif->note);
        vs_json_put_string(json, "costs", whatif->costs);
        vs_json_put_uint(json, "peak", whatif->peak);
        vs_json_put_int(json, "delta", (int64_t)(whatif->peak - html->sum->peak.allocated));
        vs_json_put_uint(json, "reserved", whatif->reserved);
        vs_json_put_bool(json, "same_results", whatif->is_same);
        vs_json_put_double(json, "arithmetic", whatif->arithmetic);
        differences_put(json, "allocated", whatif->columns, whatif->count, allocated_of, 0);
        differences_put(json, "step", whatif->columns, whatif->count, step_of, 0);
        differences_put(json, "phase", whatif->columns, whatif->count, phase_of, 0);
        vs_json_end(json);
    }
    vs_json_end(json);
}
