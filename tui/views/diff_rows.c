/*
 * tui/views/diff_rows.c - see diff_rows.h.
 *
 * Must not know:  cells, the layout of rows.
 * Invariant:      bytes come from replay/diff/diff.h and are at most added up here.
 */
#include "tui/views/diff_rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/held_until.h"
#include "tui/parts/format.h"

/* How the text of a tensor without a name begins (replay/inspect/block_text.h). */
#define ALLOCATED_BY "allocated by "

size_t tui_diff_rows_count(const struct tui_diff_rows *rows)
{
    if (!rows->diff)
        return 0;
    return rows->by == TUI_BY_MADE ? rows->diff->toggle_count + rows->diff->line_count
                                   : rows->part.row_count;
}

void tui_diff_rows_release(struct tui_diff_rows *rows)
{
    rpl_diff_part_release(&rows->part);
    rpl_diff_part_release(&rows->finer);
    rows->diff = NULL;
}

/* How much of the change of `row` another row explains: its own change, negative if it goes the other way. */
static int64_t share_of(const struct rpl_diff_row *row, const struct rpl_diff_row *other)
{
    int64_t change = (int64_t)(other->b - other->a);

    return row->b >= row->a ? change : -change;
}

/* "layers.11.attn" is one of "layers.*.attn". */
static void add_kind(const char *path, struct vs_text *out)
{
    while (*path) {
        size_t len = strcspn(path, ".");
        bool is_number = len && strspn(path, "0123456789") >= len;

        vs_text_add_n(out, is_number ? "*" : path, is_number ? 1 : len);
        path += len;
        if (*path)
            vs_text_add_char(out, *path++);
    }
}

/* The modules with most of the change of a category; those whose paths differ only in a number count as one. */
static void why_modules(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                        struct vs_text *out)
{
    struct vs_text *kinds = vs_calloc(rows->finer.row_count + 1, sizeof(*kinds));
    int64_t *shares = vs_calloc(rows->finer.row_count + 1, sizeof(*shares));
    size_t count = 0;
    size_t best = 0;
    char buf[TUI_SHORT_MAX];

    for (size_t i = 0; i < rows->finer.row_count; i++) {
        const struct rpl_diff_row *module = &rows->finer.rows[i];
        size_t k = 0;

        if (module->category != row->category)
            continue;
        add_kind(module->key, &kinds[count]);
        while (strcmp(vs_text_get(&kinds[k]), vs_text_get(&kinds[count])) != 0)
            k++;
        shares[k] += share_of(row, module);
        if (k == count)
            count++;
        else
            vs_text_clear(&kinds[count]);
    }
    for (size_t k = 1; k < count; k++)
        if (shares[k] > shares[best])
            best = k;
    if (count && shares[best] > 0)
        vs_text_addf(out, "%s %s",
                     tui_short_delta(row->b >= row->a ? shares[best] : -shares[best], buf),
                     kinds[best].len ? vs_text_get(&kinds[best]) : "(the model itself)");
    for (size_t k = 0; k <= count; k++)
        vs_text_release(&kinds[k]);
    vs_free(kinds);
    vs_free(shares);
}

/* Of a module or a line: the tensor with most of its change; NULL where none changed with it. */
static const struct rpl_diff_row *most_changed(const struct tui_diff_rows *rows,
                                               const struct rpl_diff_row *row)
{
    const struct rpl_diff_row *best = NULL;

    for (size_t i = 0; i < rows->finer.row_count; i++) {
        const struct rpl_diff_row *tensor = &rows->finer.rows[i];

        if (tensor->category != row->category ||
            share_of(row, tensor) <= (best ? share_of(row, best) : 0))
            continue;
        if (rows->by == RPL_DIFF_MODULE
                ? strcmp(row->key, tensor->module) == 0
                : row->line_a == tensor->line_a && row->line_b == tensor->line_b)
            best = tensor;
    }
    return best;
}

/* That tensor, and whether it is new, gone, or larger. */
static void why_tensor(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                       struct vs_text *out)
{
    const struct rpl_diff_row *best = most_changed(rows, row);
    char buf[TUI_SHORT_MAX];

    if (!best)
        return;
    /* the figure only where the tensor is a part of the change */
    if (best->b - best->a != row->b - row->a)
        vs_text_addf(out, "%s ", tui_short_delta((int64_t)(best->b - best->a), buf));
    rpl_diff_fate_text(rows->diff, &rows->finer, best, out);
    if (best->cause == RPL_DIFF_BOTH)
        vs_text_add(out, "of another size");
    vs_text_addf(out, ": %s", best->key);
}

void tui_diff_why_text(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                       struct vs_text *out)
{
    if (rows->by == RPL_DIFF_TENSOR)
        rpl_diff_fate_text(rows->diff, &rows->part, row, out);
    else if (row->a != row->b && rows->by == RPL_DIFF_CATEGORY)
        why_modules(rows, row, out);
    else if (row->a != row->b)
        why_tensor(rows, row, out);
}

void tui_diff_name_text(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                        bool is_short, struct vs_text *out)
{
    const size_t prefix = strlen(ALLOCATED_BY);

    if (is_short && rows->by == RPL_DIFF_TENSOR)
        vs_text_add(out, row->key + (strncmp(row->key, ALLOCATED_BY, prefix) == 0 ? prefix : 0));
    else
        rpl_diff_row_text(rows->diff, row, out);
}

int tui_diff_names_width(const struct tui_diff_rows *rows, bool is_short, int most)
{
    struct vs_text text = {NULL, 0, 0};
    int w = 0;

    for (size_t i = 0; rows->by != TUI_BY_MADE && i < rows->part.row_count && w < most; i++) {
        vs_text_clear(&text);
        tui_diff_name_text(rows, &rows->part.rows[i], is_short, &text);
        if (tui_text_width(vs_text_get(&text)) > w)
            w = tui_text_width(vs_text_get(&text));
    }
    vs_text_release(&text);
    return w < most ? w : most;
}

/* Append a toggle or a line of the net, as in a patch. */
static void made_text(const struct rpl_diff *diff, size_t i, struct vs_text *out)
{
    const struct rpl_diff_line *line;

    if (i < diff->toggle_count) {
        const struct rpl_diff_toggle *toggle = &diff->toggles[i];

        vs_text_addf(out, "%s: %s -> %s", toggle->name, toggle->a ? toggle->a : "unknown",
                     toggle->b ? toggle->b : "unknown");
        return;
    }
    line = &diff->lines[i - diff->toggle_count];
    vs_text_addf(out, "%c%5" PRIu32 "  %s",
                 !line->b  ? '-'
                 : line->a ? '='
                           : '+',
                 line->b ? line->b : line->a, line->text);
}

void tui_diff_row_text(const struct tui_diff_rows *rows, size_t row, bool has_figures,
                       struct vs_text *out)
{
    const struct rpl_diff_row *at;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];
    struct vs_text why = {NULL, 0, 0};

    if (row >= tui_diff_rows_count(rows))
        return;
    if (rows->by == TUI_BY_MADE) {
        made_text(rows->diff, row, out);
        return;
    }
    at = &rows->part.rows[row];
    if (rows->by != RPL_DIFF_CATEGORY)
        vs_text_addf(out, "%s  ", vs_category_name(at->category));
    rpl_diff_row_text(rows->diff, at, out);
    if (has_figures)
        vs_text_addf(out, "  %s  %s  %s", vs_bytes_text(at->a, a), vs_bytes_text(at->b, b),
                     vs_bytes_delta_text((int64_t)(at->b - at->a), d));
    if (rows->by != RPL_DIFF_TENSOR)
        vs_text_addf(out, "  blocks %" PRIu64 " -> %" PRIu64, at->blocks_a, at->blocks_b);
    tui_diff_why_text(rows, at, &why);
    if (why.len)
        vs_text_addf(out, "  %s", vs_text_get(&why));
    vs_text_release(&why);
}

void tui_diff_held_text(const struct tui_diff_rows *rows, size_t row,
                        struct rpl_index *const indices[2], const uint64_t events[2],
                        struct vs_text *out)
{
    struct vs_error ignored = VS_ERROR_INIT;
    const struct rpl_diff_row *at;

    if (rows->by == TUI_BY_MADE || rows->by == RPL_DIFF_CATEGORY || row >= rows->part.row_count)
        return;
    at = &rows->part.rows[row];
    if (rows->by != RPL_DIFF_TENSOR)
        at = at->a != at->b ? most_changed(rows, at) : NULL;
    if (!at)
        return;
    for (int is_b = 0; is_b < 2; is_b++) {
        const struct rpl_alloc *alloc = is_b ? at->alloc_b : at->alloc_a;

        if (!alloc)
            continue;
        vs_text_addf(out, "%s: ", !is_b ? "A" : out->len ? TUI_DIFF_AND_B : "B");
        if (rpl_held_until_text(indices[is_b], alloc->block, events[is_b], out, &ignored))
            return;
    }
}

void tui_diff_detail_fill(const struct tui_diff_rows *rows, size_t row, const char *held, int w,
                          struct tui_page *page)
{
    const char *b = strstr(held, TUI_DIFF_AND_B ": ");
    struct vs_text text = {NULL, 0, 0};

    tui_page_clear(page);
    if (row >= tui_diff_rows_count(rows))
        return;
    tui_diff_row_text(rows, row, false, &text);
    tui_page_wrap(page, w - 1, 1, TUI_STRONG, vs_text_get(&text));
    vs_text_clear(&text);
    /* a sentence for each run has a line of its own where both do not fit into one */
    if (b && tui_text_width(held) >= w - 1) {
        vs_text_add_n(&text, held, (size_t)(b - held));
        tui_page_wrap(page, w - 1, 1, TUI_PLAIN, vs_text_get(&text));
        held = b + strlen(TUI_DIFF_AND_B) - 1;
    }
    tui_page_wrap(page, w - 1, 1, TUI_PLAIN, held);
    vs_text_release(&text);
}
