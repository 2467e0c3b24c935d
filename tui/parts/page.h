/*
 * tui/parts/page.h - lines of text in parts of different roles, scrolled.
 *
 * For:            views that are read: why, peak, help.
 * Must not know:  what the lines say.
 * Invariant:      the list comes first, as a view's state wants it.
 */
#ifndef TUI_PAGE_H
#define TUI_PAGE_H

#include <stdint.h>

#include "base/text.h"
#include "tui/parts/list.h"
#include "tui/term/surface.h"

#define TUI_PARTS_MAX 6

/* A part begins at byte `from` of the line and at cell `column`, or right behind the part before where column is 0. */
struct tui_part {
    size_t from;
    int column;
    enum tui_role role;
};

/* block: the block the line is about, seq: the event; 0: none. */
struct tui_page_line {
    struct vs_text text;
    struct tui_part parts[TUI_PARTS_MAX];
    int part_count;
    uint64_t block;
    uint64_t seq;
};

struct tui_page {
    struct tui_list list;
    struct tui_page_line *lines;
    size_t count;
    size_t cap;
};

/* No lines; the memory of the old ones is kept, and so is where one was. */
void tui_page_clear(struct tui_page *page);
void tui_page_release(struct tui_page *page);
/* A new line with one part; valid until the next. */
struct tui_page_line *tui_page_add(struct tui_page *page, enum tui_role role, const char *fmt, ...)
    VS_PRINTF(3, 4);
/* One more part of the last line. column: where it begins, 0: right behind. More than TUI_PARTS_MAX run on in the last one. */
void tui_page_more(struct tui_page *page, int column, enum tui_role role, const char *fmt, ...)
    VS_PRINTF(4, 5);
/* Lines of at most `w` cells from `text`, broken at its newlines and at blanks, each after `indent` blanks in place of its own. */
void tui_page_wrap(struct tui_page *page, int w, int indent, enum tui_role role, const char *text);
/* The lines that fit, the chosen one marked. */
void tui_page_draw(const struct tui_page *page, struct tui_canvas *c, bool is_focused);

struct tui_app;
/* For a view that is a page alone, whose state begins with it: its functions draw, text and release. */
void tui_page_view_draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                        bool is_focused);
void tui_page_view_text(const void *state, const struct tui_app *app, size_t row,
                        struct vs_text *out);
void tui_page_view_release(void *state);

#endif
