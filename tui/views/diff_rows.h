/*
 * tui/views/diff_rows.h - the text of the rows of a difference: what a row stands for, and what caused its change.
 *
 * For:            the diff view.
 * Must not know:  cells, the layout of rows.
 * Invariant:      the wording is that of `vramscope diff`.
 */
#ifndef TUI_VIEWS_DIFF_ROWS_H
#define TUI_VIEWS_DIFF_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "replay/diff/diff.h"
#include "tui/parts/page.h"

/* Kinds of rows: enum rpl_diff_by, and TUI_BY_MADE: toggles and lines of the net, i.e. how the runs were configured. */
#define TUI_BY_MADE RPL_DIFF_BY_COUNT
#define TUI_BY_COUNT (RPL_DIFF_BY_COUNT + 1)

/*
 * diff     borrowed; NULL: there are no rows
 * part     the rows; finer: rows that explain them: modules of a category, tensors of a module or line
 */
struct tui_diff_rows {
    const struct rpl_diff *diff;
    int by;
    struct rpl_diff_part part;
    struct rpl_diff_part finer;
};

size_t tui_diff_rows_count(const struct tui_diff_rows *rows);
void tui_diff_rows_release(struct tui_diff_rows *rows);
/* The name of a row; is_short: a tensor without its shape and without "allocated by". */
void tui_diff_name_text(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                        bool is_short, struct vs_text *out);
/* Cells that the longest name needs, at most `most`. */
int tui_diff_names_width(const struct tui_diff_rows *rows, bool is_short, int most);
/* The largest cause of its change, or what happened to a tensor; nothing if nothing changed. */
void tui_diff_why_text(const struct tui_diff_rows *rows, const struct rpl_diff_row *row,
                       struct vs_text *out);
/* The whole text of row `row`, with or without figures; of TUI_BY_MADE a line as in a patch. */
void tui_diff_row_text(const struct tui_diff_rows *rows, size_t row, bool has_figures,
                       struct vs_text *out);

/* What stands between the sentence on A and the one on B. */
#define TUI_DIFF_AND_B "; B"
/*
 * Append what holds the tensor of row `row` in A and B at `events`, or released it: "A: local `x1` keeps it to line 25;
 * B: `x` is bound again on line 18". Of a module or a line, the tensor with most of its change; nothing for others.
 */
void tui_diff_held_text(const struct tui_diff_rows *rows, size_t row,
                        struct rpl_index *const indices[2], const uint64_t events[2],
                        struct vs_text *out);
/*
 * Fill `page` with what stands below the list: row `row` in full and what holds its tensor, in lines of at most `w`
 * cells. held: "A: …; B: …"; "" for none.
 */
void tui_diff_detail_fill(const struct tui_diff_rows *rows, size_t row, const char *held, int w,
                          struct tui_page *page);

#endif
