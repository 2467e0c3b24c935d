/*
 * tui/diff_rows.h - the rows of a difference in words: what each is about, and why it is what it is.
 *
 * For:            the diff view.
 * Must not know:  cells, where rows stand.
 * Invariant:      the same words as `vramscope diff` has.
 */
#ifndef TUI_DIFF_ROWS_H
#define TUI_DIFF_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "replay/diff/diff.h"

/* By what: enum rpl_diff_by, and how the two were made: toggles, lines of the net. */
#define TUI_BY_MADE RPL_DIFF_BY_COUNT
#define TUI_BY_COUNT (RPL_DIFF_BY_COUNT + 1)

/*
 * diff     borrowed; NULL: there are no rows
 * part     the rows, taken last; finer: those that say why: of a category its modules, of a module or a line their tensors
 */
struct tui_diff_rows {
    const struct rpl_diff *diff;
    int by;
    struct rpl_diff_part part;
    struct rpl_diff_part finer;
};

size_t tui_diff_rows_count(const struct tui_diff_rows *rows);
void tui_diff_rows_release(struct tui_diff_rows *rows);
/* What a row is about; is_short: a tensor without its shape. */
void tui_diff_name_text(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                        bool is_short, struct vs_text *out);
/* Who made most of its change, or what became of a tensor; nothing where nothing changed. */
void tui_diff_why_text(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                       struct vs_text *out);
/* All that is known of row `row`, with its figures or without; of how they were made a line as in a patch. */
void tui_diff_row_text(const struct tui_diff_rows *rows, size_t row, bool has_figures,
                       struct vs_text *out);

#endif
