/*
 * cli/advise/advise_text.c - advice as text; see advise.h.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/advise/advise.h"
#include "replay/report/dropped.h"

#define LABEL_W 42
#define WIDTH 100
/* Changes by less than one part in this many of the peak are counted, not listed. */
#define SHARE_MIN 1000

static const char *const PRICES[] = {
    [WIF_PRICE_NONE] =
        "Costs nothing: losses and gradients stay the same, bit by bit, and nothing is run again",
    [WIF_PRICE_TIME] =
        "Same losses and gradients, for time: what is recomputed or moved, or slower calls",
    [WIF_PRICE_NUMBERS] = "The same training with other rounding or other statistics of batches",
    [WIF_PRICE_TRAINING] = "Trains something else",
};

static const char *const FINDINGS[] = {
    [WIF_FINDING_LEAK] = "leak",
    [WIF_FINDING_KEPT] = "kept",
    [WIF_FINDING_UNREAD] = "unread",
};

static void add_bytes(struct vs_text *out, const char *fmt, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s%s", fmt, vs_bytes_text(bytes, buf));
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* ---- the recorded run ---- */

static void add_batch(const char *words, uint64_t batch, bool is_max, struct vs_text *out)
{
    vs_text_addf(out, "%s%s%" PRIu64, words, is_max ? "at least " : "", batch);
}

static void add_base(const struct wif_advise *advise, const struct rpl_trace *trace,
                     struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    if (!advise->base.peak)
        return;
    if (advise->is_oom && rpl_trace_is_imported(trace))
        add_bytes(out,
                  "the recorded run ended out of memory; with the bytes that were refused it would "
                  "have needed ",
                  advise->base.peak);
    else if (advise->is_oom)
        add_bytes(out, "the recorded run ended out of memory; to its end it would need ",
                  advise->base.peak);
    else
        add_bytes(out,
                  rpl_has_dropped(trace) ? "as recorded, the whole run: peak "
                                         : "as recorded: peak ",
                  advise->base.peak);
    add_bytes(out, ", reserved ", advise->base.reserved);
    if (advise->capacity)
        vs_text_addf(out, "; it %s %s", advise->base.fits ? "fits" : "does not fit",
                     vs_bytes_text(advise->capacity, buf));
    if (advise->batch)
        add_batch(", and the largest batch that does is ", advise->batch, advise->is_batch_max,
                  out);
    vs_text_add_char(out, '\n');
}

/* ---- changes ---- */

/* By how many per cent more the ops read and write. */
static double moved_more(const struct wif_advise *advise, const struct wif_figures *run)
{
    const double before = (double)advise->base.moved;

    return before > 0.0 ? 100.0 * ((double)run->moved - before) / before : 0.0;
}

/* Nothing where it is not a tenth of a per cent. */
static void add_moved(const struct wif_advise *advise, const struct wif_figures *run,
                      struct vs_text *out)
{
    const double change = moved_more(advise, run);
    char buf[VS_CHANGE_TEXT_MAX];

    if (change >= 0.05 || change <= -0.05)
        vs_text_addf(out, "%11s", vs_change_text(100.0, 100.0 + change, buf));
    else
        vs_text_add_fill(out, ' ', 11);
}

static void add_figures(const struct wif_advise *advise, const struct wif_figures *run,
                        struct vs_text *out)
{
    const int64_t delta = (int64_t)(run->peak - advise->base.peak);
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%11s", vs_bytes_text(run->peak, buf));
    vs_text_addf(out, "%12s", vs_bytes_delta_text(delta, buf));
    vs_text_addf(out, "%9s", vs_change_text((double)advise->base.peak, (double)run->peak, buf));
    if (run->recompute_flops > advise->base.recompute_flops)
        vs_text_addf(out, "%7.1f %%", percent(run->recompute_flops, run->flops));
    else
        vs_text_add_fill(out, ' ', 9);
    add_moved(advise, run, out);
    if (run->cost.is_measured)
        vs_text_addf(out, "%+8.3f ms", run->cost.rerun_ns / 1e6);
    if (advise->capacity && !run->fits)
        vs_text_add(out, "  too large");
    else if (delta >= 0)
        add_bytes(out, "  fits, reserved ", run->reserved);
}

static void add_sentence(const char *words, const char *sentence, struct vs_text *out)
{
    vs_text_addf(out, "      %s", words);
    vs_text_add_words(out, sentence, strlen(sentence), 6 + strlen(words), 6, WIDTH);
    vs_text_add_char(out, '\n');
}

/* The lines of the net that are changed. */
static void add_lines(const struct wif_advice *advice, const struct rpl_trace *trace,
                      struct vs_text *out)
{
    for (size_t i = 0; i < advice->edits.count; i++) {
        const struct wif_edit *edit = &advice->edits.items[i];
        size_t len;
        const char *line = rpl_trace_source_line(trace, edit->line, &len);

        vs_text_addf(out, "      %5" PRIu32 " %c %.*s\n", edit->line, edit->replaces ? '-' : '|',
                     (int)len, line);
        vs_text_addf(out, "            + %s\n", edit->text + strspn(edit->text, " \t"));
    }
}

static void add_label(const char *label, struct vs_text *out)
{
    vs_text_addf(out, "  %-*s", LABEL_W, label);
    if (strlen(label) > LABEL_W) {
        vs_text_add_char(out, '\n');
        vs_text_add_fill(out, ' ', LABEL_W + 2);
    }
}

static void add_row(const struct wif_advise *advise, const struct wif_advice *advice,
                    const struct rpl_trace *trace, struct vs_text *out)
{
    add_label(advice->label, out);
    add_figures(advise, &advice->run, out);
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    vs_text_add_char(out, '\n');
    /* of several changes each has this in its own row */
    if (advice->label[0] == '`')
        add_lines(advice, trace, out);
    else if (advice->price >= WIF_PRICE_NUMBERS && *advice->costs && !strchr(advice->label, ' '))
        add_sentence("costs: ", advice->costs, out);
}

static bool is_listed(const struct wif_advise *advise, const struct wif_advice *advice)
{
    if (advice->run.peak >= advise->base.peak) /* it makes the run fit */
        return true;
    return advise->base.peak - advice->run.peak >= advise->base.peak / SHARE_MIN;
}

static void add_head(const struct wif_advise *advise, struct vs_text *out)
{
    vs_text_addf(out, "\n  %-*s%11s%12s%9s%11s%9s", LABEL_W, "change", "peak", "", "", "recomputed",
                 "moved");
    vs_text_add(out, advise->base.cost.is_measured ? "     on GPU\n" : "\n");
}

static void add_changes(const struct wif_advise *advise, const struct rpl_trace *trace,
                        struct vs_text *out)
{
    size_t left_out = 0;
    int price = -1;

    for (size_t i = 0; i < advise->count; i++) {
        const struct wif_advice *advice = &advise->items[i];

        if (!is_listed(advise, advice)) {
            left_out++;
            continue;
        }
        if (advice->is_headline)
            continue;
        if (price < 0)
            add_head(advise, out);
        if ((int)advice->price != price)
            vs_text_addf(out, "%s\n", PRICES[advice->price]);
        price = (int)advice->price;
        add_row(advise, advice, trace, out);
    }
    if (left_out)
        vs_text_addf(out, "\n%zu more lower%s the peak by less than 0.1 %%\n", left_out,
                     left_out == 1 ? "s" : "");
    if (!advise->count && advise->base.peak)
        vs_text_add(out, "\nNothing that was tried lowers the peak.\n");
}

/* What is not listed because something as cheap lowers the peak as much. */
static void add_dominated(const struct wif_advise *advise, struct vs_text *out)
{
    struct vs_text line = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];

    for (size_t i = 0; i < advise->dominated_count; i++) {
        const struct wif_advice *advice = &advise->dominated[i];

        if (is_listed(advise, advice))
            vs_text_addf(&line, "%s%s %s (%s)", line.len ? "; " : "", advice->label,
                         vs_bytes_text(advice->run.peak, buf), advice->by);
    }
    if (line.len) {
        vs_text_add(out,
                    "\nLeft out, as another change costs no more and lowers the peak as much:\n  ");
        vs_text_add_words(out, line.data, line.len, 2, 2, WIDTH);
        vs_text_add_char(out, '\n');
    }
    vs_text_release(&line);
}

/* The cheapest change that fits, before all others. */
static void add_headline(const struct wif_advise *advise, const struct rpl_trace *trace,
                         struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];
    const struct wif_advice *advice = advise->count ? &advise->items[0] : NULL;

    if (advice && advice->is_headline) {
        vs_text_addf(out, "\nThe cheapest that fits %s:\n", vs_bytes_text(advise->capacity, buf));
        vs_text_addf(out, "  %s\n    peak %s", advice->label, vs_bytes_text(advice->run.peak, buf));
        add_bytes(out, ", reserved ", advice->run.reserved);
        vs_text_addf(out, ", %.1f %% recomputed, %s moved",
                     percent(advice->run.recompute_flops, advice->run.flops),
                     vs_change_text(100.0, 100.0 + moved_more(advise, &advice->run), buf));
        if (advice->batch)
            add_batch("; largest batch ", advice->batch, advice->is_batch_max, out);
        vs_text_add_char(out, '\n');
        add_lines(advice, trace, out);
        if (advice->price >= WIF_PRICE_NUMBERS && *advice->costs)
            add_sentence("costs: ", advice->costs, out);
    } else if (advise->capacity && advise->base.peak && !advise->base.fits) {
        vs_text_addf(out, "\nNothing that was tried fits %s and trains the same.\n",
                     vs_bytes_text(advise->capacity, buf));
    }
}

/* ---- findings ---- */

static void add_findings(const struct wif_advise *advise, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    if (!advise->finding_count)
        return;
    vs_text_add(out, "\nWhat the trace shows, and by how much the peak would fall without it\n");
    for (size_t i = 0; i < advise->finding_count; i++) {
        const struct wif_finding *finding = &advise->findings[i];

        vs_text_addf(out, "  %-7s%11s  ", FINDINGS[finding->kind],
                     vs_bytes_text(finding->gain, buf));
        vs_text_add_words(out, finding->text, strlen(finding->text), 22, 22, WIDTH);
        vs_text_add_char(out, '\n');
    }
}

void cli_advise_text(const struct wif_advise *advise, const struct rpl_trace *trace,
                     const char *name, struct vs_text *out)
{
    vs_text_addf(out, "%s: what would help, each change run to its end\n", name);
    add_base(advise, trace, out);
    if (advise->cannot) {
        vs_text_add_words(out, advise->cannot, strlen(advise->cannot), 0, 0, WIDTH);
        vs_text_add_char(out, '\n');
    }
    rpl_mistakes_text(&advise->mistakes, out);
    add_headline(advise, trace, out);
    add_changes(advise, trace, out);
    add_dominated(advise, out);
    add_findings(advise, out);
}
