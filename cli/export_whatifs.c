/*
 * cli/export_whatifs.c - see export_whatifs.h.
 *
 * Must not know:  how the rows are shown.
 * Invariant:      a row owns its texts and columns.
 */
#include "cli/export_whatifs.h"

#include "base/mem.h"
#include "cli/progress.h"
#include "whatif/sweep.h"
#include "whatif/whatif.h"

struct cli_whatifs {
    struct exp_whatif *rows;
    size_t count;
    size_t cap;
    struct rpl_run base;
    struct cli_progress progress;
    enum vs_status status;
    struct vs_error *err;
};

static const char *costs_of(enum wif_price price)
{
    switch (price) {
    case WIF_PRICE_NONE:
        return "nothing: the same results, nothing is run again";
    case WIF_PRICE_TIME:
        return "time: the same results";
    case WIF_PRICE_NUMBERS:
        return "numbers: other rounding, or other statistics of batches";
    case WIF_PRICE_TRAINING:
        return "training: something else is trained";
    }
    return "";
}

/* Arithmetic per step, as a multiple of the recorded run's; 0 where either has none. */
static double arithmetic_of(const struct rpl_run *base, const struct rpl_run *run)
{
    if (!base->flops || !base->steps || !run->steps)
        return 0;
    return ((double)run->flops / (double)run->steps) / ((double)base->flops / (double)base->steps);
}

static enum vs_status columns_fill(struct rpl_trace *memory, struct exp_whatif *row,
                                   struct vs_error *err)
{
    struct rpl_index *index = NULL;
    struct rpl_column *columns = NULL;
    uint64_t events;
    enum vs_status st = rpl_index_open(memory, NULL, NULL, &index, err);

    if (st)
        return st;
    events = rpl_index_event_count(index);
    row->count = events < EXP_WHATIF_COLUMNS ? (size_t)events : EXP_WHATIF_COLUMNS;
    columns = vs_calloc(row->count + 1, sizeof(*columns));
    if (row->count)
        st = rpl_timeline_columns(index, 1, events, columns, row->count, err);
    row->columns = columns;
    rpl_index_free(index);
    return st;
}

static bool on_next(void *user, const struct wif_sweep *known, const char *next)
{
    struct cli_whatifs *whatifs = user;

    cli_progress_say(&whatifs->progress, "what if: %zu tried, now %s", known->count,
                     *next ? next : "the recorded toggles");
    return !whatifs->status;
}

static void on_done(void *user, const struct wif_sweep_row *row, struct rpl_trace *memory)
{
    struct cli_whatifs *whatifs = user;
    struct exp_whatif *out;

    if (!*row->label)
        whatifs->base = row->run;
    if (row->failed || !*row->label || !row->fits || row->run.peak == whatifs->base.peak ||
        whatifs->status)
        return;
    whatifs->rows = vs_grow(whatifs->rows, whatifs->count, &whatifs->cap, sizeof(*whatifs->rows));
    out = &whatifs->rows[whatifs->count++];
    *out = (struct exp_whatif){.label = vs_strdup(row->label),
                               .costs = costs_of(row->price),
                               .note = *row->refused ? vs_strdup(row->refused) : NULL,
                               .peak = row->run.peak,
                               .reserved = row->run.reserved,
                               .is_same = row->is_same,
                               .arithmetic = arithmetic_of(&whatifs->base, &row->run)};
    whatifs->status = columns_fill(memory, out, whatifs->err);
}

static void rows_clear(struct cli_whatifs *whatifs)
{
    for (size_t i = 0; i < whatifs->count; i++) {
        vs_free(whatifs->rows[i].label);
        vs_free(whatifs->rows[i].note);
        vs_free(whatifs->rows[i].columns);
    }
    whatifs->count = 0;
}

enum vs_status cli_whatifs_run(struct rpl_index *index, struct cli_whatifs **out,
                               struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct cli_whatifs *whatifs = vs_calloc(1, sizeof(*whatifs));
    struct wif_sweep sweep = {NULL, 0, 0};
    struct wif_sweep_options options = {.capacity = wif_capacity(trace),
                                        .batches = WIF_SWEEP_BATCHES_NONE,
                                        .must_train = true,
                                        .next = on_next,
                                        .done = on_done,
                                        .user = whatifs};
    struct vs_error ignored = VS_ERROR_INIT;
    enum vs_status st;

    *out = NULL;
    whatifs->err = err;
    cli_progress_init(&whatifs->progress, stderr);
    if (wif_sweep_fill(&sweep, trace, &options, &ignored))
        rows_clear(whatifs); /* not every trace can be run again */
    cli_progress_end(&whatifs->progress);
    wif_sweep_release(&sweep);
    st = whatifs->status;
    if (st) {
        cli_whatifs_free(whatifs);
        return st;
    }
    *out = whatifs;
    return VS_OK;
}

void cli_whatifs_free(struct cli_whatifs *whatifs)
{
    if (!whatifs)
        return;
    rows_clear(whatifs);
    vs_free(whatifs->rows);
    vs_free(whatifs);
}

const struct exp_whatif *cli_whatifs_rows(const struct cli_whatifs *whatifs, size_t *count)
{
    *count = whatifs ? whatifs->count : 0;
    return whatifs ? whatifs->rows : NULL;
}
