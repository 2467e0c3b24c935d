/*
 * tui/parts/page.c - see page.h.
 *
 * Must not know:  the contents of the lines.
 * Invariant:      lines beyond `count` are unused; their memory is reused.
 */
#include "tui/parts/page.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void tui_page_clear(struct tui_page *page)
{
    page->count = 0;
}

void tui_page_release(struct tui_page *page)
{
    for (size_t i = 0; i < page->cap; i++)
        vs_text_release(&page->lines[i].text);
    vs_free(page->lines);
    memset(page, 0, sizeof(*page));
}

static struct tui_page_line *line_new(struct tui_page *page)
{
    struct tui_page_line *line;
    struct vs_text text;

    if (page->count == page->cap) {
        size_t cap = page->cap;

        page->lines = vs_grow(page->lines, page->count, &page->cap, sizeof(*page->lines));
        memset(&page->lines[cap], 0, (page->cap - cap) * sizeof(*page->lines));
    }
    line = &page->lines[page->count++];
    text = line->text;
    vs_text_clear(&text);
    *line = (struct tui_page_line){.text = text};
    return line;
}

struct tui_page_line *tui_page_add(struct tui_page *page, enum tui_role role, const char *fmt, ...)
{
    struct tui_page_line *line = line_new(page);
    va_list ap;

    line->parts[line->part_count++] = (struct tui_part){0, 0, role};
    va_start(ap, fmt);
    vs_text_addfv(&line->text, fmt, ap);
    va_end(ap);
    return line;
}

void tui_page_more(struct tui_page *page, int column, enum tui_role role, const char *fmt, ...)
{
    struct tui_page_line *line = &page->lines[page->count - 1];
    va_list ap;

    VS_ASSERT(page->count > 0);
    if (line->part_count < TUI_PARTS_MAX)
        line->parts[line->part_count++] = (struct tui_part){line->text.len, column, role};
    va_start(ap, fmt);
    vs_text_addfv(&line->text, fmt, ap);
    va_end(ap);
}

void tui_page_wrap(struct tui_page *page, int w, int indent, enum tui_role role, const char *text)
{
    int width = w > indent + 8 ? w - indent : 8;
    bool is_more = false;

    text += strspn(text, " ");
    while (*text) {
        const char *end = text;
        const char *best = NULL;
        int len = 0;
        char *piece;

        while (*end && *end != '\n' && len < width) {
            if (*end == ' ')
                best = end;
            len += tui_char_width(tui_utf8_next(&end));
        }
        if (*end && *end != '\n' && *end != ' ' && best)
            end = best;
        piece = vs_strndup(text, (size_t)(end - text));
        tui_page_add(page, role, "%*s%s", indent, "", piece)->is_more = is_more;
        is_more = true;
        vs_free(piece);
        text = end;
        while (*text == ' ' || *text == '\n')
            text++;
    }
}

/* The cell of the last part that begins at byte `at`, where it has one and that is not passed; else `x`. */
static int column_at(const struct tui_page_line *line, size_t at, int x)
{
    for (int i = 0; i < line->part_count; i++)
        if (line->parts[i].from == at && line->parts[i].column > x)
            x = line->parts[i].column;
    return x;
}

/*
 * Where the text must be broken so that what begins at byte `from` fits into `w` cells; the length of all: nowhere.
 * is_first: it is the beginning of the line, whose parts stand at their cells.
 */
static size_t fold_at(const struct tui_page_line *line, size_t from, int w, bool is_first)
{
    const char *text = vs_text_get(&line->text);
    const char *at = text + from;
    size_t best = 0;
    int x = 0;

    while (*at) {
        const char *next = at;

        if (*at == ' ' && at > text + from)
            best = (size_t)(at - text);
        if (is_first)
            x = column_at(line, (size_t)(at - text), x);
        x += tui_char_width(tui_utf8_next(&next));
        if (x > w)
            return best ? best : (size_t)(at - text);
        at = next;
    }
    return line->text.len;
}

/* Append the bytes from `from` to `to` of line `row` to the last line, each part in its role. */
static void parts_copy(struct tui_page *page, size_t row, size_t from, size_t to)
{
    for (int i = 0; i < page->lines[row].part_count; i++) {
        const struct tui_page_line *line = &page->lines[row];
        size_t begin = line->parts[i].from < from ? from : line->parts[i].from;
        size_t end = i + 1 < line->part_count ? line->parts[i + 1].from : line->text.len;

        end = end > to ? to : end;
        if (begin < end)
            tui_page_more(page, 0, line->parts[i].role, "%.*s", (int)(end - begin),
                          vs_text_get(&line->text) + begin);
    }
}

void tui_page_fold(struct tui_page *page, int w, int indent)
{
    const size_t row = page->count - 1;
    const int rest_w = w > indent + 8 ? w - indent : 8;
    size_t blanks;
    size_t first;
    size_t from;
    size_t to;

    VS_ASSERT(page->count > 0);
    blanks = strspn(vs_text_get(&page->lines[row].text), " ");
    first = fold_at(&page->lines[row], blanks, w - (int)blanks, true);
    if (first == page->lines[row].text.len)
        return;
    for (from = first; from < page->lines[row].text.len; from = to) {
        struct tui_page_line *line;

        from += strspn(vs_text_get(&page->lines[row].text) + from, " ");
        to = fold_at(&page->lines[row], from, rest_w, false);
        if (from >= to)
            break;
        line = tui_page_add(page, TUI_PLAIN, "%*s", indent, "");
        line->is_more = true;
        line->block = page->lines[row].block;
        line->seq = page->lines[row].seq;
        line->choice = page->lines[row].choice;
        parts_copy(page, row, from, to);
    }
    page->lines[row].text.data[first] = '\0';
    page->lines[row].text.len = first;
    while (page->lines[row].part_count > 1 &&
           page->lines[row].parts[page->lines[row].part_count - 1].from >= first)
        page->lines[row].part_count--;
}

/* The beginning of the line after the one at `row`, or `row` where it is the last one. */
static size_t line_after(const struct tui_page *page, size_t row)
{
    size_t next = row + 1;

    while (next < page->count && page->lines[next].is_more)
        next++;
    return next < page->count ? next : row;
}

/* The beginning of the line that row `row` belongs to. */
static size_t line_begin(const struct tui_page *page, size_t row)
{
    while (row && row < page->count && page->lines[row].is_more)
        row--;
    return row;
}

bool tui_page_act(struct tui_page *page, enum tui_action action, int64_t count)
{
    struct tui_list *list = &page->list;

    if (action == TUI_DOWN) {
        for (int64_t i = 0; i < count && line_after(page, list->at) != list->at; i++)
            list->at = line_after(page, list->at);
    } else if (action == TUI_UP) {
        for (int64_t i = 0; i < count && list->at; i++)
            list->at = line_begin(page, list->at - 1);
    } else if (tui_list_act(list, action, count)) {
        list->at = line_begin(page, list->at);
    } else {
        return false;
    }
    return true;
}

/* Whether the cursor is on line `row` or on the one that it continues. */
static bool is_chosen(const struct tui_page *page, size_t row)
{
    return row == page->list.at || line_begin(page, row) == page->list.at;
}

static void line_draw(const struct tui_page_line *line, struct tui_canvas *c, int y)
{
    const char *all = vs_text_get(&line->text);
    int x = 0;

    for (int i = 0; i < line->part_count; i++) {
        const struct tui_part *part = &line->parts[i];
        size_t end = i + 1 < line->part_count ? line->parts[i + 1].from : line->text.len;
        char *piece = vs_strndup(all + part->from, end - part->from);

        if (part->column > x)
            x = part->column;
        x = tui_text(c, x, y, tui_style(part->role), piece);
        vs_free(piece);
    }
    if (x > c->at.w)
        tui_put_glyph(c, c->at.w - 1, y, TUI_G_MORE, tui_style(TUI_DIM));
}

void tui_page_draw(const struct tui_page *page, struct tui_canvas *c, bool is_focused)
{
    for (int y = 0; y < c->at.h; y++) {
        size_t row = page->list.top + (size_t)y;
        struct tui_canvas part = tui_canvas_part(c, (struct tui_rect){1, y, c->at.w - 1, 1});

        if (row >= page->count)
            break;
        line_draw(&page->lines[row], &part, 0);
        if (is_focused && is_chosen(page, row))
            tui_mark(c, (struct tui_rect){0, y, c->at.w, 1}, TUI_SELECTED);
    }
}

void tui_page_view_draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                        bool is_focused)
{
    (void)app;
    tui_page_draw(state, c, is_focused);
}

void tui_page_view_text(const void *state, const struct tui_app *app, size_t row,
                        struct vs_text *out)
{
    (void)app;
    vs_text_add(out, vs_text_get(&((const struct tui_page *)state)->lines[row].text));
}

void tui_page_view_release(void *state)
{
    tui_page_release(state);
}
