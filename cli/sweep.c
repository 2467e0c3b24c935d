/*
 * cli/sweep.c - see sweep.h.
 *
 * Must not know:  how a row was computed.
 * Invariant:      a row is 100 columns wide, unless its name is too long.
 */
#include "cli/sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

#define NAME_W 37

/* The part of the table to which a row belongs. */
enum part { PART_FITS, PART_TOO_LARGE, PART_NO_EFFECT, PART_FAILED };

static enum part part_of(const struct wif_sweep_row *row)
{
    if (row->failed)
        return PART_FAILED;
    if (row->no_effect)
        return PART_NO_EFFECT;
    return row->fits ? PART_FITS : PART_TOO_LARGE;
}

static bool has_batch(const struct cli_sweep *table)
{
    for (size_t i = 1; i < table->sweep->count; i++)
        if (table->sweep->items[i].batch)
            return true;
    return false;
}

static bool is_measured(const struct cli_sweep *table)
{
    return table->costs && table->costs[0].is_measured;
}

static void add_head(const struct cli_sweep *table, struct vs_text *out)
{
    vs_text_addf(out, "  %-*s%11s%12s%9s%11s%12s", NAME_W, "tried", "peak", "change", "",
                 "reserved", "recomputed");
    if (is_measured(table))
        vs_text_add(out, "     on GPU");
    vs_text_add(out, has_batch(table) ? "   max batch\n" : "\n");
}

static void add_figures(const struct cli_sweep *table, const struct wif_sweep_row *row,
                        struct vs_text *out)
{
    const struct rpl_run *run = &row->run;
    int64_t delta = (int64_t)(run->peak - table->base);
    char buf[VS_BYTES_TEXT_MAX];

    if (row->is_cut) {
        vs_text_addf(out, "  ended out of memory, with %s allocated until then\n",
                     vs_bytes_text(run->peak, buf));
        return;
    }
    vs_text_addf(out, "%11s", vs_bytes_text(run->peak, buf));
    vs_text_addf(out, "%12s", vs_bytes_delta_text(delta, buf));
    vs_text_addf(out, "%9s",
                 table->base ? vs_change_text((double)table->base, (double)run->peak, buf) : "");
    vs_text_addf(out, "%11s", vs_bytes_text(run->reserved, buf));
    if (run->recompute_flops)
        vs_text_addf(out, "%10.1f %%", 100.0 * (double)run->recompute_flops / (double)run->flops);
    else if (row->batch || is_measured(table))
        vs_text_add_fill(out, ' ', 12);
    if (is_measured(table) && run->recompute_flops)
        vs_text_addf(out, "%+8.3f ms", table->costs[row - table->sweep->items].rerun_ns / 1e6);
    else if (is_measured(table) && row->batch)
        vs_text_add_fill(out, ' ', 11);
    if (row->batch)
        vs_text_addf(out, "%*s%" PRIu64, row->is_batch_max ? 6 : 8, row->is_batch_max ? ">=" : "",
                     row->batch);
    vs_text_add_char(out, '\n');
}

/* The text of an error without the toggle's name, which is in the row already. */
static const char *reason_of(const struct wif_sweep_row *row)
{
    const char *again = strstr(row->reason, row->label);
    const char *why = again ? again + strlen(row->label) : row->reason;

    return why + strspn(why, ": ");
}

static void add_row(const struct cli_sweep *table, const struct wif_sweep_row *row,
                    struct vs_text *out)
{
    const char *label = *row->label ? row->label : "(as recorded)";
    const char *why;

    vs_text_addf(out, "%c %-*s", row->is_same && !row->failed ? '=' : ' ', NAME_W, label);
    if (row->failed) {
        vs_text_addf(out, "  %.*s\n", (int)strcspn(reason_of(row), "\n"), reason_of(row));
        return;
    }
    if (row->no_effect) {
        vs_text_addf(out, "  no effect: %s\n", row->no_effect);
        return;
    }
    if (strlen(label) > NAME_W) {
        vs_text_add_char(out, '\n');
        vs_text_add_fill(out, ' ', NAME_W + 2);
    }
    add_figures(table, row, out);
    why = table->whys ? table->whys[row - table->sweep->items] : NULL;
    if (why) {
        vs_text_add(out, "    why: ");
        vs_text_add_words(out, why, strlen(why), 9, 9, CLI_SWEEP_WIDTH);
        vs_text_add_char(out, '\n');
    }
}

static int by_part_and_peak(const void *a, const void *b)
{
    const struct wif_sweep_row *x = *(const struct wif_sweep_row *const *)a;
    const struct wif_sweep_row *y = *(const struct wif_sweep_row *const *)b;

    if (part_of(x) != part_of(y))
        return part_of(x) < part_of(y) ? -1 : 1;
    if (!x->failed && x->run.peak != y->run.peak)
        return x->run.peak < y->run.peak ? -1 : 1;
    return strcmp(x->label, y->label);
}

void cli_sweep_text(const struct cli_sweep *table, struct vs_text *out)
{
    const size_t count = table->sweep->count;
    const struct wif_sweep_row **rows =
        vs_alloc((count + 1) * sizeof(const struct wif_sweep_row *));
    size_t shown = 0;
    bool is_mixed;
    char buf[VS_BYTES_TEXT_MAX];

    /* the recorded run is shown above the table; its row is only needed for the batch size */
    for (size_t i = 0; i < count; i++)
        if (i || table->sweep->items[i].batch || !table->sweep->items[i].fits)
            rows[shown++] = &table->sweep->items[i];
    qsort(rows, shown, sizeof(const struct wif_sweep_row *), by_part_and_peak);
    is_mixed = false;
    for (size_t i = 0; i < shown; i++)
        is_mixed |= part_of(rows[i]) == PART_TOO_LARGE;
    add_head(table, out);
    for (size_t i = 0; i < shown; i++) {
        enum part part = part_of(rows[i]);

        if (is_mixed && table->capacity && part <= PART_TOO_LARGE &&
            (!i || part != part_of(rows[i - 1])))
            vs_text_addf(out,
                         part == PART_FITS ? "fits %s:\n"
                         : rows[i]->is_cut ? "too large for %s:\n"
                                           : "too large for %s, so run without a limit:\n",
                         vs_bytes_text(table->capacity, buf));
        add_row(table, rows[i], out);
    }
    vs_text_add(out, "\n= losses and gradients are the same, bit by bit\n");
    vs_free(rows);
}
