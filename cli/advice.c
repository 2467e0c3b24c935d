/*
 * cli/advice.c - suggests what to change after a recording ran out of memory; see sweep.h.
 *
 * Must not know:  how a net is run.
 * Invariant:      a suggestion that is said to fit was run to its end with the capacity of the recorded device.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/sweep.h"
#include "replay/report/report.h"
#include "replay/report/uncertainty.h"
#include "whatif/whatif.h"

/* The results: the run to its end without a limit, and the what-ifs on the recorded device. */
struct advice {
    struct rpl_trace *memory;
    struct rpl_report need;
    struct wif_sweep sweep;
    uint64_t capacity;
    bool has_net;
    bool is_tried;
};

static void advice_release(struct advice *advice)
{
    wif_sweep_release(&advice->sweep);
    rpl_report_release(&advice->need);
    rpl_trace_free(advice->memory);
}

/* memory stays NULL if there is no advice. The caller releases it, after a failure, too. */
static enum vs_status advice_fill(struct advice *advice, struct rpl_trace *trace,
                                  struct vs_error *err)
{
    struct wif_sweep_options request = {.capacity = rpl_capacity(trace),
                                        .batches = WIF_SWEEP_BATCHES_RECORDED};
    struct vs_error no = VS_ERROR_INIT;
    enum vs_status st;

    memset(advice, 0, sizeof(*advice));
    advice->capacity = request.capacity;
    advice->has_net = rpl_trace_source_text(trace) != NULL;
    if (!request.capacity || (!advice->has_net && rpl_trace_is_program(trace)))
        return VS_OK;
    advice->memory = rpl_trace_new();
    st = wif_run_on(trace, NULL, WIF_NO_LIMIT, advice->memory, err);
    if (!st)
        st = rpl_report_fill(&advice->need, advice->memory, 0, err);
    if (!st)
        advice->is_tried =
            !wif_sweep_fill(&advice->sweep, trace, &request, &no) && !advice->sweep.items[0].fits;
    return st;
}

/* Whether a row runs the recorded training: it does not fail, and sets neither `batch` nor `grad`. */
static bool is_training(const struct wif_sweep_row *row)
{
    return *row->label && !row->failed && !vs_toggles_is_set(&row->set, VS_TOGGLE_GRAD) &&
           !vs_toggles_is_set(&row->set, VS_TOGGLE_BATCH);
}

/* Whether a row is advice: such a training that also fits into that device. */
static bool is_advice(const struct wif_sweep_row *row)
{
    return is_training(row) && row->fits;
}

/* The rows of the table: the run as recorded, and the advice; borrowed from `all`. The caller frees the items. */
static struct wif_sweep advice_of(const struct wif_sweep *all)
{
    struct wif_sweep some = {vs_alloc(all->count * sizeof(*some.items)), 0, 0};

    for (size_t i = 0; i < all->count; i++)
        if (!i || is_advice(&all->items[i]))
            some.items[some.count++] = all->items[i];
    some.items[0].fits = true; /* reported above the table, not in it */
    some.items[0].batch = 0;
    return some;
}

static void add_batch(const struct wif_sweep_row *as_is, struct vs_text *out)
{
    if (as_is->batch)
        vs_text_addf(
            out, "With the recorded toggles, a batch of %" PRIu64 " is the largest that fits.\n",
            as_is->batch);
    else
        vs_text_add(out, "With the recorded toggles, not even one sample fits.\n");
}

/*
 * If no row is advice: the row with the lowest peak; NULL: there is advice, or no row needs less than the recorded run.
 */
static const struct wif_sweep_row *closest(const struct wif_sweep *sweep)
{
    const struct wif_sweep_row *best = &sweep->items[0];

    for (size_t i = 1; i < sweep->count; i++) {
        const struct wif_sweep_row *row = &sweep->items[i];

        if (is_advice(row))
            return NULL;
        if (is_training(row) && row->run.peak < best->run.peak)
            best = row;
    }
    return best == &sweep->items[0] ? NULL : best;
}

static void add_advice(const struct wif_sweep *sweep, uint64_t capacity, bool has_net,
                       const char *name, struct vs_text *out)
{
    struct wif_sweep some = advice_of(sweep);
    struct cli_sweep table = {.sweep = &some, .base = sweep->items[0].run.peak};
    const struct wif_sweep_row *near = closest(sweep);
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "\nWhat would fit %s, %s\n\n", vs_bytes_text(capacity, buf),
                 has_net
                     ? "each run to its end"
                     : "up to the refused bytes; what would be requested afterwards is not known");
    if (some.count > 1) {
        cli_sweep_text(&table, out);
    } else {
        vs_text_add(out, has_net ? "  nothing that was tried"
                                 : "  no setting of the allocator that was tried");
        if (near)
            vs_text_addf(out, "; the closest is %s with %s", near->label,
                         vs_bytes_text(near->run.peak, buf));
        vs_text_add(out, "\n\n");
    }
    if (has_net)
        add_batch(&sweep->items[0], out);
    if (some.count > 1)
        vs_text_addf(out, "`vramscope tui %s --set …` steps through such a run; ", name);
    vs_text_addf(out, "`vramscope whatif %s --each` lists all that was tried.\n", name);
    vs_free(some.items);
}

enum vs_status cli_advice_text(struct rpl_trace *trace, const char *name, struct vs_text *out,
                               struct vs_error *err)
{
    struct advice advice;
    enum vs_status st = advice_fill(&advice, trace, err);

    if (!st && advice.memory)
        rpl_report_need_text(&advice.need, advice.capacity, out);
    if (!st && advice.is_tried)
        add_advice(&advice.sweep, advice.capacity, advice.has_net, name, out);
    advice_release(&advice);
    return st;
}

/* ---- JSON ---- */

static void set_json(const struct wif_sweep_row *row, struct vs_json *json)
{
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(&row->set, (enum vs_toggle)i))
            vs_json_put_string(json, vs_toggle_info((enum vs_toggle)i)->name,
                               vs_toggles_get(&row->set, (enum vs_toggle)i));
    vs_json_end(json);
}

static void row_json(const struct wif_sweep_row *row, struct vs_json *json)
{
    vs_json_object(json);
    set_json(row, json);
    vs_json_put_uint(json, "allocated", row->run.peak);
    vs_json_put_uint(json, "reserved", row->run.reserved);
    vs_json_put_uint(json, "recompute_flops", row->run.recompute_flops);
    vs_json_put_uint(json, "total_flops", row->run.flops);
    vs_json_put_bool(json, "same_results", row->is_same);
    vs_json_end(json);
}

static int by_peak(const void *a, const void *b)
{
    const struct wif_sweep_row *x = *(const struct wif_sweep_row *const *)a;
    const struct wif_sweep_row *y = *(const struct wif_sweep_row *const *)b;

    if (x->run.peak != y->run.peak)
        return x->run.peak < y->run.peak ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* The rows that fit, the lowest peak first. */
static void fits_json(const struct wif_sweep *sweep, struct vs_json *json)
{
    const struct wif_sweep_row **rows =
        vs_alloc((sweep->count + 1) * sizeof(const struct wif_sweep_row *));
    size_t count = 0;

    for (size_t i = 1; i < sweep->count; i++)
        if (is_advice(&sweep->items[i]))
            rows[count++] = &sweep->items[i];
    qsort(rows, count, sizeof(const struct wif_sweep_row *), by_peak);
    vs_json_key(json, "fits");
    vs_json_array(json);
    for (size_t i = 0; i < count; i++)
        row_json(rows[i], json);
    vs_json_end(json);
    vs_free(rows);
}

static void sweep_json(const struct advice *advice, struct vs_json *json)
{
    const struct wif_sweep_row *near = closest(&advice->sweep);
    uint64_t batch = advice->sweep.items[0].batch;

    fits_json(&advice->sweep, json);
    vs_json_key(json, "closest");
    if (near)
        row_json(near, json);
    else
        vs_json_null(json);
    vs_json_key(json, "max_batch");
    if (advice->has_net && batch)
        vs_json_uint(json, batch);
    else
        vs_json_null(json);
}

enum vs_status cli_advice_json(struct rpl_trace *trace, struct vs_json *json, struct vs_error *err)
{
    struct advice advice;
    enum vs_status st = advice_fill(&advice, trace, err);

    if (st || !advice.memory) {
        vs_json_null(json);
    } else {
        vs_json_object(json);
        vs_json_put_uint(json, "capacity", advice.capacity);
        vs_json_key(json, "needs");
        rpl_peak_json(advice.memory, &advice.need.sum.peak, json);
        if (advice.is_tried)
            sweep_json(&advice, json);
        vs_json_end(json);
    }
    advice_release(&advice);
    return st;
}
