/*
 * tui/views/view_sql.c - the rows of the latest `:sql`.
 *
 * Must not know:  SQL, terminals.
 * Invariant:      a column is as wide as its widest cell, at most CELL_MAX_W.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tui/app.h"
#include "tui/sql.h"
#include "tui/views.h"

#define CELL_MAX_W 48

/* widths: of the columns of query `number`; left: the first column shown. */
struct sql {
    struct tui_list list;
    int *widths;
    size_t left;
    uint64_t number;
};

static int wider(int w, const char *text)
{
    int own = tui_text_width(text);

    return own > CELL_MAX_W ? CELL_MAX_W : own > w ? own : w;
}

static void widths_fill(struct sql *s, const struct rpl_table *table)
{
    s->widths = vs_realloc(s->widths, table->columns + 1, sizeof(*s->widths));
    for (size_t i = 0; i < table->columns; i++) {
        s->widths[i] = wider(1, table->names[i]);
        for (size_t row = 0; row < table->count; row++)
            s->widths[i] = wider(s->widths[i], rpl_table_cell(table, row, i));
    }
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct sql *s = state;

    (void)w;
    if (app->sql && s->number != app->sql->number) {
        s->number = app->sql->number;
        s->left = 0;
        tui_list_go(&s->list, 0);
        widths_fill(s, &app->sql->table);
    }
    tui_list_fit(&s->list, app->sql ? app->sql->table.count : 0, h - 1);
}

static void draw_cell(const struct sql *s, const struct rpl_table *table, size_t column,
                      const char *text, struct tui_canvas *c, int x, int y, struct tui_style style)
{
    if (table->is_number[column])
        tui_text_right(c, x, y, s->widths[column], style, text);
    else
        tui_text_cut(c, x, y, s->widths[column], style, text);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct sql *s = state;
    const struct rpl_table *table = app->sql ? &app->sql->table : NULL;
    struct tui_style head = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    if (!table) {
        tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
                      "`:sql SELECT …` runs a query on this trace:\n"
                      ":sql select op, sum(size) n from block group by op order by n desc");
        return;
    }
    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, head);
    for (int y = 0; y < c->at.h; y++) {
        size_t row = s->list.top + (size_t)(y - 1);
        int x = 1;

        if (y && row >= table->count)
            break;
        for (size_t i = s->left; i < table->columns && x < c->at.w; i++) {
            draw_cell(s, table, i, y ? rpl_table_cell(table, row, i) : table->names[i], c, x, y,
                      y ? tui_style(TUI_PLAIN) : head);
            x += s->widths[i] + 2;
        }
        if (y)
            tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

/* The number in column `name` of a row; 0: there is none. */
static uint64_t number_in(const struct rpl_table *table, size_t row, const char *name)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0)
            return strtoull(rpl_table_cell(table, row, i), NULL, 10);
    return 0;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct sql *s = state;
    const struct rpl_table *table = app->sql ? &app->sql->table : NULL;
    uint64_t seq;
    uint64_t block;

    (void)count;
    if (!table || !table->count) {
        if (action != TUI_OPEN && action != TUI_ACT)
            return false;
        tui_app_say(app, "there are no rows; `:sql SELECT …` runs a query");
        return true;
    }
    if (action == TUI_RIGHT || action == TUI_LEFT) {
        if (action == TUI_RIGHT && s->left + 1 < table->columns)
            s->left++;
        else if (action == TUI_LEFT && s->left)
            s->left--;
        return true;
    }
    if (action != TUI_OPEN && action != TUI_ACT)
        return false;
    seq = number_in(table, s->list.at, "seq");
    seq = seq ? seq : number_in(table, s->list.at, "alloc_seq");
    block = number_in(table, s->list.at, "block");
    if (block)
        tui_app_choose_block(app, block);
    if (seq)
        tui_app_go(app, tui_app_map_recorded(app, seq), true);
    else if (!block)
        tui_app_fail(app, "the row has no column `seq`, `alloc_seq` or `block`");
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct rpl_table *table = &app->sql->table;

    (void)state;
    for (size_t i = 0; i < table->columns; i++)
        vs_text_addf(out, "%s%s", i ? "|" : "", rpl_table_cell(table, row, i));
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    (void)state;
    if (app->sql)
        vs_text_addf(out, "%zu rows%s  %s", app->sql->table.count,
                     app->sql->table.has_more ? " and more" : "", app->sql->text);
}

static void release(void *state)
{
    struct sql *s = state;

    vs_free(s->widths);
}

static const struct tui_hint HINTS[] = {
    {":sql", "query"},
    {"enter", "go to seq"},
    {"h/l", "columns"},
    {NULL, NULL},
};

const struct tui_view tui_view_sql = {
    .name = "sql",
    .title = "sql",
    .letter = 'q',
    .scope = TUI_IN_SQL,
    .go = TUI_GO_SQL,
    .help = "`:sql SELECT …` runs a query on the recorded trace, which it can only read; <C-c> "
            "stops it. Tables: docs/formats/trace-format.md. At most 10,000 rows are shown. Enter "
            "goes to the event in the column seq or alloc_seq, and chooses the block in the column "
            "block.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct sql),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
