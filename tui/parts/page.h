/*
 * tui/parts/page.h - a scrolled page of text; each line has parts of different roles (styles).
 *
 * For:            the text views: why, peak, help.
 * Must not know:  the contents of the lines.
 * Invariant:      the list is the first member, as required of the state of a list view.
 */
#ifndef TUI_PAGE_H
#define TUI_PAGE_H

#include <stdint.h>

#include "base/text.h"
#include "tui/parts/list.h"
#include "tui/term/surface.h"

#define TUI_PARTS_MAX 6

/* A part of a line: begins at byte `from` of the text and at cell `column`; 0: right after the previous part. */
struct tui_part {
    size_t from;
    int column;
    enum tui_role role;
};

/*
 * A line. block, seq: the block and the event it is about; choice: what its view does on enter; 0: none. is_more: it
 * continues the line before, and both are one stop of the cursor.
 */
struct tui_page_line {
    struct vs_text text;
    struct tui_part parts[TUI_PARTS_MAX];
    int part_count;
    uint64_t block;
    uint64_t seq;
    size_t choice;
    bool is_more;
};

struct tui_page {
    struct tui_list list;
    struct tui_page_line *lines;
    size_t count;
    size_t cap;
};

/* Remove all lines; their memory and the cursor position are kept. */
void tui_page_clear(struct tui_page *page);
void tui_page_release(struct tui_page *page);
/* Append a line with one part; the result is valid until the next call. */
struct tui_page_line *tui_page_add(struct tui_page *page, enum tui_role role, const char *fmt, ...)
    VS_PRINTF(3, 4);
/* Append a part to the last line. column: the cell it begins at; 0: right after the previous part. Text beyond
 * TUI_PARTS_MAX parts is appended to the last part. */
void tui_page_more(struct tui_page *page, int column, enum tui_role role, const char *fmt, ...)
    VS_PRINTF(4, 5);
/* Append `text` as lines of at most `w` cells, broken at newlines and blanks; `indent` blanks replace the indentation
 * of each line. */
void tui_page_wrap(struct tui_page *page, int w, int indent, enum tui_role role, const char *text);
/*
 * Break the last line at blanks into lines of at most `w` cells; those after the first begin with `indent` blanks. All
 * are one stop of the cursor, and about the same block and event.
 */
void tui_page_fold(struct tui_page *page, int w, int indent);
/* Draw the visible lines, with the selected one highlighted. */
void tui_page_draw(const struct tui_page *page, struct tui_canvas *c, bool is_focused);

/*
 * Move the cursor as tui_list_act does, but to the beginnings of wrapped lines; false: the action is not a movement.
 */
bool tui_page_act(struct tui_page *page, enum tui_action action, int64_t count);

struct tui_app;
/* The functions draw, text and release of a view whose state begins with its only page. */
void tui_page_view_draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                        bool is_focused);
void tui_page_view_text(const void *state, const struct tui_app *app, size_t row,
                        struct vs_text *out);
void tui_page_view_release(void *state);

#endif
