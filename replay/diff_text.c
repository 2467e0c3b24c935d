/*
 * replay/diff_text.c - the difference for people; see diff.h.
 *
 * Must not know:  terminals, where the text goes.
 * Invariant:      what is left out of a list is one line with its sum, so what is shown adds up as well.
 */
#include <inttypes.h>

#include "base/bytes.h"
#include "replay/diff.h"

/* A change to more than this many times as much says nothing in per cent. */
#define TIMES_MAX 10

static void add_figures(struct vs_text *out, uint64_t a, uint64_t b)
{
    char x[VS_BYTES_TEXT_MAX];
    char y[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%12s%12s%13s", vs_bytes_text(a, x), vs_bytes_text(b, y),
                 vs_bytes_delta_text((int64_t)(b - a), d));
    if (a && b / a < TIMES_MAX)
        vs_text_addf(out, "  %+6.1f %%", 100.0 * ((double)b - (double)a) / (double)a);
    else
        vs_text_add_fill(out, ' ', 10);
}

static void add_where(const struct rpl_diff_side *side, const char *word, const char *name,
                      struct vs_text *out)
{
    const struct rpl_peak *at = &side->at;
    const struct vs_place *place = rpl_trace_place(side->trace, at->place);
    const char *op = rpl_trace_string(side->trace, place->op);
    const char *module = rpl_trace_string(side->trace, place->module);

    vs_text_addf(out, "%s  %s: event %" PRIu64 ", step %" PRId64 ", %s", word, name, at->event,
                 at->step, vs_phase_name(at->phase));
    if (*op)
        vs_text_addf(out, ", %s", op);
    if (*module)
        vs_text_addf(out, " of %s", module);
    if (place->line)
        vs_text_addf(out, ", line %" PRIu32, place->line);
    vs_text_add(out, at->is_recompute ? ", in a checkpoint's re-run\n" : "\n");
}

static void add_toggles(const struct rpl_diff *diff, struct vs_text *out)
{
    for (size_t i = 0; i < diff->toggle_count; i++) {
        const struct rpl_diff_toggle *t = &diff->toggles[i];

        vs_text_addf(out, "%s%s: %s -> %s\n", i ? "         " : "toggles  ", t->name,
                     t->a ? t->a : "unknown", t->b ? t->b : "unknown");
    }
}

static void add_key(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                    struct vs_text *out)
{
    if (diff->by == RPL_DIFF_CATEGORY) {
        vs_text_addf(out, "  %s", row->key);
        return;
    }
    vs_text_addf(out, "  %-10s  ", vs_category_name(row->category));
    if (diff->by == RPL_DIFF_MODULE) {
        vs_text_add(out, *row->key ? row->key : "(the model itself)");
        return;
    }
    if (row->line_a && row->line_b && row->line_a != row->line_b)
        vs_text_addf(out, "line %" PRIu32 " -> %" PRIu32, row->line_a, row->line_b);
    else if (row->line_a || row->line_b)
        vs_text_addf(out, "line %" PRIu32, row->line_a ? row->line_a : row->line_b);
    else
        vs_text_add(out, "on no line");
    if (row->line_a && !row->line_b)
        vs_text_add(out, " of A");
    if (row->line_b && !row->line_a)
        vs_text_add(out, " of B");
    if (*row->key)
        vs_text_addf(out, " | %s", row->key);
}

static void add_rows(const struct rpl_diff *diff, const struct rpl_diff_part *part, size_t top,
                     struct vs_text *out)
{
    uint64_t a = part->a;
    uint64_t b = part->b;
    size_t shown = part->row_count < top ? part->row_count : top;

    for (size_t i = 0; i < shown; i++) {
        const struct rpl_diff_row *row = &part->rows[i];

        vs_text_add(out, "  ");
        add_figures(out, row->a, row->b);
        add_key(diff, row, out);
        vs_text_add_char(out, '\n');
        a -= row->a;
        b -= row->b;
    }
    if (shown < part->row_count) {
        vs_text_add(out, "  ");
        add_figures(out, a, b);
        vs_text_addf(out, "  … %zu more\n", part->row_count - shown);
    }
}

void rpl_diff_text(const struct rpl_diff *diff, const char *name_a, const char *name_b, size_t top,
                   struct vs_text *out)
{
    add_where(&diff->a, "A", name_a, out);
    add_where(&diff->b, "B", name_b, out);
    add_toggles(diff, out);
    vs_text_addf(out, "\n  %12s%12s%13s\n  ", "A", "B", "change");
    add_figures(out, diff->moment.a, diff->moment.b);
    vs_text_addf(out, "  allocated, by %s:\n", rpl_diff_by_name(diff->by));
    add_rows(diff, &diff->moment, top, out);
    if (diff->is_same)
        vs_text_add(out, "\nnothing differs\n");
}
