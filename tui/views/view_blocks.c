/*
 * tui/views/view_blocks.c - the blocks that are live at the cursor, sorted and filtered; one of them is selected.
 *
 * Must not know:  terminals.
 * Invariant:      the selected row is that of the selected block, as long as that is live and passes the filters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_name.h"
#include "replay/inspect/block_text.h"
#include "tui/app.h"
#include "tui/gains.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/views.h"

/* Smallest widths of the view at which each column is shown. */
#define SHAPE_MIN_W 64
#define LINE_MIN_W 36
#define END_MIN_W 54
/* Width of the table on a wide screen. */
#define TABLE_W 112
/* Column at which the names begin. */
#define NAME_X 10

enum order { BY_SIZE, BY_AGE, BY_LINE, BY_CATEGORY, ORDER_COUNT };
static const char *const ORDERS[ORDER_COUNT] = {"size", "age", "line", "category"};

struct row {
    struct rpl_block block;
    uint32_t line;
};

/*
 * rows       list.count rows; bytes: the sum over them
 * all_count  number of live blocks, including those that are filtered out; all_bytes: their bytes
 * moves      app->moves when the rows were built; synced_at: list.at at that time
 */
struct blocks {
    struct tui_list list;
    struct row *rows;
    size_t count;
    size_t cap;
    size_t all_count;
    uint64_t all_bytes;
    uint64_t bytes;
    uint64_t moves;
    size_t synced_at;
    enum order order;
    bool is_turned;
    bool is_stale;
};

/* ---- rows ---- */

static int by_size(const struct row *a, const struct row *b)
{
    if (a->block.bytes != b->block.bytes)
        return a->block.bytes > b->block.bytes ? -1 : 1;
    return a->block.id < b->block.id ? -1 : a->block.id > b->block.id;
}

static int by_size_row(const void *a, const void *b)
{
    return by_size(a, b);
}

static int by_age_row(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    return x->block.id < y->block.id ? -1 : x->block.id > y->block.id;
}

static int by_line_row(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    return x->line != y->line ? (x->line < y->line ? -1 : 1) : by_size(x, y);
}

static int by_category_row(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    return x->block.category != y->block.category ? (x->block.category < y->block.category ? -1 : 1)
                                                  : by_size(x, y);
}

static void sort(struct blocks *s)
{
    static int (*const COMPARE[ORDER_COUNT])(const void *, const void *) = {
        by_size_row, by_age_row, by_line_row, by_category_row};

    if (s->count > 1)
        qsort(s->rows, s->count, sizeof(*s->rows), COMPARE[s->order]);
    for (size_t i = 0; s->is_turned && i < s->count / 2; i++) {
        struct row row = s->rows[i];

        s->rows[i] = s->rows[s->count - 1 - i];
        s->rows[s->count - 1 - i] = row;
    }
}

static void row_text(const struct tui_run *run, const struct row *row, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s  %s  ", vs_category_name((enum vs_category)row->block.category),
                 vs_bytes_text(row->block.bytes, buf));
    tui_block_name(run->cursor, &row->block, out);
    vs_text_add(out, "  ");
    rpl_shape_text(run->trace, row->block.tensor, out);
}

static bool passes(const struct tui_app *app, const struct row *row)
{
    struct vs_text text = {NULL, 0, 0};
    bool is_in;

    if (tui_app_is_hidden(app, row->block.category))
        return false;
    if (!app->filter_count)
        return true;
    row_text(tui_app_run(app), row, &text);
    is_in = tui_app_passes(app, vs_text_get(&text));
    vs_text_release(&text);
    return is_in;
}

static void rows_make(struct blocks *s, const struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_live *live = rpl_cursor_live(run->cursor);

    s->count = 0;
    s->bytes = 0;
    s->all_count = live->block_count;
    s->all_bytes = live->allocated;
    for (size_t i = 0; i < live->block_count; i++) {
        struct row row = {.block = live->blocks[i]};

        row.line = rpl_trace_location(run->trace, row.block.alloc_location)->line;
        if (!passes(app, &row))
            continue;
        s->rows = vs_grow(s->rows, s->count, &s->cap, sizeof(*s->rows));
        s->rows[s->count++] = row;
        s->bytes += row.block.bytes;
    }
    sort(s);
}

static size_t row_of(const struct blocks *s, uint64_t block)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].block.id == block)
            return i;
    return SIZE_MAX;
}

/* If the user moved the cursor, the row determines the block; if the run moved, the block determines the row. */
static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct blocks *s = state;
    bool is_focused = strcmp(tui_app_focused(app)->name, "blocks") == 0;

    (void)w;
    if (is_focused && s->list.at < s->count && (s->list.at != s->synced_at || !app->block))
        app->block = s->rows[s->list.at].block.id;
    if (s->moves != app->moves || s->is_stale) {
        rows_make(s, app);
        s->moves = app->moves;
        s->is_stale = false;
        if (row_of(s, app->block) != SIZE_MAX)
            s->list.at = row_of(s, app->block);
    }
    tui_list_fit(&s->list, s->count, h - 1);
    if (is_focused && s->count && !app->block)
        app->block = s->rows[s->list.at].block.id;
    s->synced_at = s->list.at;
}

/* ---- drawing ---- */

struct columns {
    int name_w;
    int shape_w;
    int line_w;
    int end_w;
};

static struct columns columns_of(const struct tui_run *run, int w)
{
    struct columns columns = {.name_w = w - NAME_X};

    columns.line_w = w >= LINE_MIN_W ? 6 : 0;
    columns.end_w = w >= END_MIN_W ? 9 : 0;
    if (w >= SHAPE_MIN_W && rpl_trace_tensor_count(run->trace)) /* a snapshot has no shapes */
        columns.shape_w = w >= 100 ? 28 : 22;
    columns.name_w -= columns.line_w + columns.end_w + columns.shape_w;
    return columns;
}

static void draw_head(const struct blocks *s, const struct tui_run *run, struct tui_canvas *c)
{
    struct columns columns = columns_of(run, c->at.w);
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);
    int x = NAME_X;

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text_right(c, 3, 0, TUI_SHORT_W, style, "size");
    x = tui_text_cut(c, x, 0, columns.name_w, style, "what");
    x = tui_text_cut(c, x, 0, columns.shape_w, style, "shape");
    tui_text_right(c, x, 0, columns.line_w - 1, style, "line");
    tui_text_right(c, x + columns.line_w, 0, columns.end_w - 1, style, "freed @");
    if (s->order == BY_SIZE)
        tui_put_glyph(c, 3, 0, s->is_turned ? TUI_G_UP : TUI_G_DOWN, style);
}

static void draw_end(const struct tui_app *app, const struct row *row,
                     const struct rpl_lifetime *life, struct tui_canvas *c, int x, int y, int w)
{
    char buf[TUI_SHORT_MAX];
    const struct tui_run *run = tui_app_run(app);
    bool is_done =
        tui_block_is_done(run, &row->block, life, app->at) && tui_gain_of(run, &row->block);

    tui_text_right(c, x, y, w - 1, tui_style(is_done ? TUI_BAD : TUI_DIM),
                   life->free_seq ? tui_short_count(life->free_seq, buf) : "never");
    if (is_done)
        tui_put(c, x, y, '!', tui_style(TUI_BAD));
}

/*
 * The remedy, from x on. Where it is too long for the column of names it also takes that of shapes, which returns true;
 * where it is too long for both, by how much the peak falls stands first.
 */
static bool draw_remedy(const struct tui_gain *gain, struct tui_canvas *c, int x, int y,
                        const struct columns *columns)
{
    const int end = NAME_X + columns->name_w - 1;
    struct vs_text text = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];
    bool is_wide;

    tui_gain_text(gain, &text);
    is_wide = tui_text_width(vs_text_get(&text)) > end - x;
    if (is_wide && tui_text_width(vs_text_get(&text)) > end + columns->shape_w - x) {
        vs_text_clear(&text);
        vs_text_addf(&text, "%s: %s", vs_bytes_delta_text(-(int64_t)gain->kept.gain, buf),
                     gain->remedy.text);
    }
    tui_text_cut(c, x, y, end + (is_wide ? columns->shape_w : 0) - x, tui_style(TUI_GOOD),
                 vs_text_get(&text));
    vs_text_release(&text);
    return is_wide;
}

/* What the block is and, where that fits beside it, what allocated it. True: it took the column of shapes. */
static bool draw_name(const struct tui_app *app, const struct row *row,
                      const struct rpl_lifetime *life, struct tui_canvas *c, int y,
                      const struct columns *columns)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_text name = {NULL, 0, 0};
    struct vs_text origin = {NULL, 0, 0};
    const struct tui_gain *gain =
        tui_block_is_done(run, &row->block, life, app->at) ? tui_gain_of(run, &row->block) : NULL;
    const int end = NAME_X + columns->name_w - 1;
    bool is_wide = false;
    int w;

    if (columns->line_w)
        tui_block_short(run->cursor, &row->block, life, &name);
    else
        tui_block_name(run->cursor, &row->block, &name);
    w = tui_text_width(vs_text_get(&name));
    /* of the path of a module or parameter the end says most */
    tui_text_tail(c, NAME_X, y, columns->name_w - 1, tui_style(TUI_PLAIN), vs_text_get(&name));
    /* a remedy takes the place of what allocated the block */
    if (gain && gain->remedy.text) {
        is_wide = draw_remedy(gain, c, NAME_X + w + 2, y, columns);
    } else if (columns->line_w && !life->name && NAME_X + w + 2 < end) {
        rpl_block_origin(run->trace, &row->block, &origin);
        if (strcmp(vs_text_get(&name), vs_text_get(&origin)) != 0)
            tui_text_cut(c, NAME_X + w + 2, y, end - NAME_X - w - 2, tui_style(TUI_DIM),
                         vs_text_get(&origin));
    }
    vs_text_release(&name);
    vs_text_release(&origin);
    return is_wide;
}

static void draw_row(const struct tui_app *app, const struct row *row, struct tui_canvas *c, int y)
{
    const struct tui_run *run = tui_app_run(app);
    struct rpl_lifetime life = tui_block_life(run, row->block.id);
    struct columns columns = columns_of(run, c->at.w);
    struct vs_text text = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];
    int x = NAME_X;

    tui_put(c, 1, y, (unsigned char)tui_category_letter(row->block.category),
            tui_style(tui_category_role(row->block.category)));
    tui_text_right(c, 3, y, TUI_SHORT_W, tui_style(TUI_PLAIN),
                   app->unit == TUI_UNIT_BYTES ? tui_short_bytes(row->block.bytes, buf)
                                               : tui_app_bytes(app, row->block.bytes, buf));
    if (!draw_name(app, row, &life, c, y, &columns))
        rpl_shape_text(run->trace, row->block.tensor, &text);
    x += columns.name_w;
    tui_text_cut(c, x, y, columns.shape_w - 1, tui_style(TUI_DIM), vs_text_get(&text));
    x += columns.shape_w;
    vs_text_clear(&text);
    if (columns.line_w && row->line)
        vs_text_addf(&text, "%" PRIu32, row->line);
    tui_text_right(c, x, y, columns.line_w - 1, tui_style(TUI_LINE_NUMBER), vs_text_get(&text));
    vs_text_release(&text);
    if (columns.end_w)
        draw_end(app, row, &life, c, x + columns.line_w, y, columns.end_w);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct blocks *s = state;
    struct tui_canvas table = tui_table_canvas(c, TABLE_W);

    if (!s->count) {
        tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
                      s->all_count ? "none passes the filters; g\\ discards them"
                                   : "nothing is alive");
        return;
    }
    draw_head(s, tui_app_run(app), &table);
    for (int y = 1; y < c->at.h; y++) {
        size_t i = s->list.top + (size_t)y - 1;

        if (i >= s->count)
            break;
        draw_row(app, &s->rows[i], &table, y);
        tui_list_mark(&s->list, i, c, y, is_focused);
    }
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct blocks *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%zu, %s, by %s", s->all_count, vs_bytes_text(s->all_bytes, buf),
                 ORDERS[s->order]);
    if (s->count != s->all_count)
        vs_text_addf(out, "; shown %zu, %s", s->count, vs_bytes_text(s->bytes, buf));
    for (size_t i = 0; i < app->filter_count; i++)
        vs_text_addf(out, " \\%s", app->filters[i]);
}

/* ---- keys ---- */

/* The remedy of the chosen row; NULL: freeing it does not lower the peak, or none is known. */
static const struct tui_gain *remedy_at(const struct blocks *s, struct tui_app *app)
{
    const struct rpl_block *block = &s->rows[s->list.at].block;
    const struct tui_run *run = tui_app_run(app);
    struct rpl_lifetime life = tui_block_life(run, block->id);
    const struct tui_gain *gain;

    (void)tui_gains_get(app);
    gain = tui_block_is_done(run, block, &life, app->at) ? tui_gain_of(run, block) : NULL;
    return gain && gain->remedy.text ? gain : NULL;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct blocks *s = state;

    if (action == TUI_SORT)
        s->order = (enum order)((s->order + (unsigned)count) % ORDER_COUNT);
    else if (action == TUI_SORT_TURN)
        s->is_turned = !s->is_turned;
    else if (action == TUI_HIDE && s->count)
        app->hidden ^= 1u << s->rows[s->list.at].block.category;
    else if (action == TUI_OPEN && s->count && remedy_at(s, app))
        tui_gain_try(app, remedy_at(s, app));
    else if ((action == TUI_OPEN || action == TUI_ACT) && !s->count)
        tui_app_say(app, "there is no block in this list");
    else if (action == TUI_OPEN || action == TUI_ACT)
        tui_app_view(app, "why");
    else
        return false;
    s->is_stale = true;
    app->moves++;
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct blocks *s = state;

    row_text(tui_app_run(app), &s->rows[row], out);
}

static void release(void *state)
{
    vs_free(((struct blocks *)state)->rows);
}

static const struct tui_hint HINTS[] = {
    {"enter", "why or remedy"}, {"o", "sort"}, {"x", "hide"}, {"\\", "filter"}, {NULL, NULL},
};

const struct tui_view tui_view_blocks = {
    .name = "blocks",
    .title = "alive",
    .letter = 'b',
    .scope = TUI_IN_BLOCKS,
    .go = TUI_GO_BLOCKS,
    .help = "Space: why the block is alive; Enter, too, where no remedy stands beside it. o sorts "
            "by size, age, line or category, O reverses "
            "the order, x hides a category, \\ filters by words. freed @: the event at which it "
            "is freed; never: not within the trace. ! marks a block without a later use whose free "
            "would lower the peak, with what would free it: a remedy, which Enter tries. % jumps "
            "between its "
            "allocation and its free.",
    .hints = HINTS,
    .beside = "why",
    .state_size = sizeof(struct blocks),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
