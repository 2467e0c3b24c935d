/*
 * replay/diff/diff_text.c - the difference as text; see diff.h.
 *
 * Must not know:  terminals, where the text goes.
 * Invariant:      omitted rows are shown as one line with their sum, so the rows shown add up as well.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "replay/diff/diff.h"
#include "replay/inspect/block_text.h"
#include "replay/report/report.h"

/* Changes by a larger factor than this are not shown in per cent. */
#define TIMES_MAX 10
#define LINES_SHOWN 20

static void add_figures(struct vs_text *out, uint64_t a, uint64_t b)
{
    char x[VS_BYTES_TEXT_MAX];
    char y[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%12s%12s%13s", vs_bytes_text(a, x), vs_bytes_text(b, y),
                 vs_bytes_delta_text((int64_t)(b - a), d));
    if (a && b / a < TIMES_MAX)
        vs_text_addf(out, "  %8s", vs_change_text((double)a, (double)b, d));
    else
        vs_text_add_fill(out, ' ', 10);
}

static void add_where(const struct rpl_diff_side *side, const char *word, const char *name,
                      struct vs_text *out)
{
    const struct rpl_peak *at = &side->at;
    const struct vs_location *location = rpl_trace_location(side->trace, at->location);
    const char *op = rpl_trace_string(side->trace, location->op);
    const char *module = rpl_trace_string(side->trace, location->module);

    vs_text_addf(out, "%s  %s: event %" PRIu64 ", step %" PRId64 ", %s", word, name, at->event,
                 at->step, vs_phase_name(at->phase));
    if (*op)
        vs_text_addf(out, ", %s", op);
    if (*module)
        vs_text_addf(out, " of %s", module);
    if (location->line)
        vs_text_addf(out, ", line %" PRIu32, location->line);
    vs_text_add(out, at->is_recompute ? ", in a checkpoint's re-run\n" : "\n");
}

static void add_toggles(const struct rpl_diff *diff, struct vs_text *out)
{
    size_t line_count = 0;
    size_t unknown = 0;
    bool is_known_in_a = false;

    for (size_t i = 0; i < diff->toggle_count; i++) {
        const struct rpl_diff_toggle *t = &diff->toggles[i];

        if (t->a && t->b)
            vs_text_addf(out, "%s%s: %s -> %s\n", line_count++ ? "         " : "toggles  ", t->name,
                         t->a, t->b);
        else if (++unknown == 1)
            is_known_in_a = t->a != NULL;
    }
    if (unknown)
        vs_text_addf(out, "%sof %s not known: it is not a recording of a net\n",
                     line_count ? "         " : "toggles  ", is_known_in_a ? "B" : "A");
}

/* The differing lines of the net as in a patch, at most LINES_SHOWN. */
static void add_lines(const struct rpl_diff *diff, struct vs_text *out)
{
    for (size_t i = 0; i < diff->line_count && i < LINES_SHOWN; i++) {
        const struct rpl_diff_line *line = &diff->lines[i];

        vs_text_add(out, i ? "         " : "net      ");
        vs_text_addf(out, "%c%4" PRIu32 " | %s\n",
                     !line->b  ? '-'
                     : line->a ? '='
                               : '+',
                     line->b ? line->b : line->a, line->text);
    }
    if (diff->line_count > LINES_SHOWN)
        vs_text_addf(out, "         … %zu more lines\n", diff->line_count - LINES_SHOWN);
}

static void add_line_key(const struct rpl_diff_row *row, struct vs_text *out)
{
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

/* "freed in B @812, relu of line 33": why the counterpart is not counted. */
static void add_fate(const struct rpl_diff_side *side, const struct rpl_alloc *mate, uint64_t at,
                     const char *which, struct vs_text *out)
{
    const struct vs_location *location;

    if (mate->seq > at) {
        vs_text_addf(out, "later in %s, @%" PRIu64, which, mate->seq);
        return;
    }
    if (!mate->free_seq)
        return;
    location = rpl_trace_location(side->trace, mate->free_location);
    vs_text_addf(out, "freed in %s @%" PRIu64, which, mate->free_seq);
    if (*rpl_trace_string(side->trace, location->op))
        vs_text_addf(out, ", %s", rpl_trace_string(side->trace, location->op));
    if (location->line)
        vs_text_addf(out, " of line %" PRIu32, location->line);
}

void rpl_diff_fate_text(const struct rpl_diff *diff, const struct rpl_diff_part *part,
                        const struct rpl_diff_row *row, struct vs_text *out)
{
    switch (row->cause) {
    case RPL_DIFF_BOTH:
        break;
    case RPL_DIFF_ONLY_A:
        vs_text_add(out, "only A allocates it");
        break;
    case RPL_DIFF_ONLY_B:
        vs_text_add(out, "only B allocates it");
        break;
    case RPL_DIFF_NOT_IN_B:
        add_fate(&diff->b, row->alloc_b, part->event_b, "B", out);
        break;
    case RPL_DIFF_NOT_IN_A:
        add_fate(&diff->a, row->alloc_a, part->event_a, "A", out);
        break;
    case RPL_DIFF_CAUSE_COUNT:
        break;
    }
}

static void add_tensor_key(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                           struct vs_text *out)
{
    const struct rpl_diff_side *side = row->blocks_b ? &diff->b : &diff->a;
    const struct rpl_alloc *made = row->blocks_b ? row->alloc_b : row->alloc_a;

    rpl_shape_text(side->trace, made->tensor, out);
    vs_text_addf(out, "%s%s", made->tensor ? "  " : "", row->key);
    if (made->step >= 0)
        vs_text_addf(out, ", step %" PRId64, made->step);
}

void rpl_diff_row_text(const struct rpl_diff *diff, const struct rpl_diff_row *row,
                       struct vs_text *out)
{
    switch (diff->options.by) {
    case RPL_DIFF_CATEGORY:
        vs_text_add(out, row->key);
        return;
    case RPL_DIFF_MODULE:
        vs_text_add(out, *row->key ? row->key : "(the model itself)");
        return;
    case RPL_DIFF_LINE:
        add_line_key(row, out);
        return;
    case RPL_DIFF_TENSOR:
        add_tensor_key(diff, row, out);
        return;
    case RPL_DIFF_BY_COUNT:
        break;
    }
}

static void add_key(const struct rpl_diff *diff, const struct rpl_diff_part *part,
                    const struct rpl_diff_row *row, struct vs_text *out)
{
    struct vs_text fate = {NULL, 0, 0};

    vs_text_add(out, "  ");
    if (diff->options.by != RPL_DIFF_CATEGORY)
        vs_text_addf(out, "%-10s  ", vs_category_name(row->category));
    rpl_diff_row_text(diff, row, out);
    if (diff->options.by == RPL_DIFF_TENSOR)
        rpl_diff_fate_text(diff, part, row, &fate);
    if (fate.len)
        vs_text_addf(out, "; %s", vs_text_get(&fate));
    vs_text_release(&fate);
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
        add_key(diff, part, row, out);
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

/* The change by cause. */
static void add_causes(const struct rpl_diff_part *part, struct vs_text *out)
{
    static const char *const WORDS[RPL_DIFF_CAUSE_COUNT] = {
        "in tensors that both have there",
        "in tensors that only A ever allocates",
        "in tensors that only B ever allocates",
        "in tensors of A that B allocates, but does not have there",
        "in tensors of B that A allocates, but does not have there",
    };

    vs_text_add(out, "\nwhy\n");
    for (int i = 0; i < RPL_DIFF_CAUSE_COUNT; i++) {
        const struct rpl_diff_sum *sum = &part->causes[i];
        uint64_t blocks = sum->blocks_a > sum->blocks_b ? sum->blocks_a : sum->blocks_b;

        if (!blocks)
            continue;
        vs_text_add(out, "  ");
        add_figures(out, sum->a, sum->b);
        vs_text_addf(out, "  %s: %" PRIu64 "\n", WORDS[i], blocks);
    }
}

static void add_part(const struct rpl_diff *diff, const struct rpl_diff_part *part, size_t top,
                     const char *title, struct vs_text *out)
{
    vs_text_add(out, "\n  ");
    add_figures(out, part->a, part->b);
    vs_text_addf(out, "  %s:\n", title);
    if (part->is_same)
        vs_text_add(out, "  the same, tensor by tensor\n");
    else
        add_rows(diff, part, top, out);
}

/* What a side's steps leak, and the name that keeps it alive; nothing where it leaks nothing. */
static void add_leak(const struct rpl_diff_side *side, const char *label, struct vs_text *out)
{
    const struct rpl_leak *leak = &side->leak;
    char buf[VS_BYTES_TEXT_MAX];

    if (!leak->count)
        return;
    vs_text_addf(out, "\n%s leaks %s a step\n", label,
                 vs_bytes_text(leak->bytes / leak->steps, buf));
    rpl_leak_owner_text(side->trace, &side->leak_owner, leak->bytes, out);
}

static void add_allocations(const struct rpl_diff *diff, struct vs_text *out)
{
    vs_text_addf(out,
                 "\n%" PRIu64 " allocations are in both, of these %" PRIu64
                 " in another order; %" PRIu64 " only in A, %" PRIu64 " only in B\n",
                 diff->paired, diff->moved, diff->only_a, diff->only_b);
}

void rpl_diff_text(const struct rpl_diff *diff, const char *name_a, const char *name_b, size_t top,
                   struct vs_text *out)
{
    char title[64];

    add_where(&diff->a, "A", name_a, out);
    add_where(&diff->b, "B", name_b, out);
    add_toggles(diff, out);
    add_lines(diff, out);
    vs_text_addf(out, "\n  %12s%12s%13s\n  ", "A", "B", "change");
    add_figures(out, diff->live.a, diff->live.b);
    vs_text_addf(out, "  allocated there, by %s:\n", rpl_diff_by_name(diff->options.by));
    add_rows(diff, &diff->live, top, out);
    if (diff->a.at.step != diff->b.at.step && diff->a.at.step >= 0 && diff->b.at.step >= 0)
        vs_text_addf(out, "  step %" PRId64 " of A is compared with step %" PRId64 " of B\n",
                     diff->a.at.step, diff->b.at.step);
    if (!diff->live.is_same)
        add_causes(&diff->live, out);
    if (diff->options.step >= 0) {
        snprintf(title, sizeof(title), "step %" PRId64 " allocates in all", diff->options.step);
        add_part(diff, &diff->step, top, title, out);
    }
    /* A memory snapshot does not contain saved tensors. */
    if (!rpl_trace_is_imported(diff->a.trace) && !rpl_trace_is_imported(diff->b.trace))
        add_part(diff, &diff->saved, top, "saved for backward when the last loss ends (requested)",
                 out);
    add_leak(&diff->a, "A", out);
    add_leak(&diff->b, "B", out);
    add_allocations(diff, out);
    if (diff->is_same)
        vs_text_add(out, "nothing differs\n");
}
