/*
 * tui/views/view_calls.c - the live blocks by the calls that allocated them, as a tree.
 *
 * Must not know:  terminals.
 * Invariant:      the rows without a row above them add up to what is allocated at the event. Calls of which each makes
 *                 only the next one share a row.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "replay/inspect/calltree.h"
#include "tui/app.h"
#include "tui/parts/format.h"
#include "tui/parts/frame.h"
#include "tui/views.h"

#define FIGURES_W 26
/* A row opens by itself where it has this share of all bytes, in percent, and is not deeper than this. */
#define OPEN_PERCENT 20
#define OPEN_DEPTH 8

enum fold { FOLD_BY_SHARE, FOLD_OPEN, FOLD_CLOSED };

/* Calls first … last, of which each makes only the next one; `between` of them are neither. indent: rows above it. */
struct row {
    uint32_t first;
    uint32_t last;
    uint32_t between;
    uint32_t indent;
    bool has_more;
};

/*
 * tree    of the trace `of`, which is that of index `index` with number `number` (struct tui_run)
 * rows    `count` rows that are shown
 * folds   enum fold by number of a call; fold_count of them
 */
struct calls {
    struct tui_list list;
    struct rpl_calltree *tree;
    const struct rpl_trace *of;
    const struct rpl_index *index;
    uint64_t number;
    struct row *rows;
    size_t count;
    size_t row_cap;
    uint8_t *folds;
    size_t fold_count;
    uint64_t moves;
    bool is_changed;
    char *failure;
};

static const struct rpl_call *call_at(const struct calls *s, uint32_t number)
{
    size_t count;

    return &rpl_calltree_all(s->tree, &count)[number];
}

static bool is_open(const struct calls *s, const struct row *row)
{
    enum fold fold = row->last < s->fold_count ? (enum fold)s->folds[row->last] : FOLD_BY_SHARE;

    if (fold != FOLD_BY_SHARE)
        return fold == FOLD_OPEN;
    return row->indent < OPEN_DEPTH &&
           call_at(s, row->last)->bytes * 100 >= call_at(s, 0)->bytes * OPEN_PERCENT;
}

static void fold_set(struct calls *s, uint32_t call, enum fold fold)
{
    size_t count;

    (void)rpl_calltree_all(s->tree, &count);
    if (s->fold_count < count) {
        s->folds = vs_realloc(s->folds, count, sizeof(*s->folds));
        memset(s->folds + s->fold_count, 0, count - s->fold_count);
        s->fold_count = count;
    }
    s->folds[call] = (uint8_t)fold;
}

/* ---- words ---- */

/* "train.py:step:40", of a net with the text of the line. */
static void call_text(const struct calls *s, uint32_t number, struct vs_text *out)
{
    const struct rpl_call *call = call_at(s, number);
    size_t len = 0;
    const char *line = rpl_trace_source_line(s->of, call->line, &len);

    /* between call stacks the first part of a module's path does not say what it is */
    if (call->depth == 1 && !call->line && *call->name && !rpl_trace_source_text(s->of) &&
        !strchr(call->name, ':'))
        vs_text_add(out, "module ");
    if (*call->name || !number)
        tui_frame_text(call->name, out);
    else
        vs_text_add(out, rpl_trace_source_text(s->of) ? "(outside of all modules)"
                                                      : "(no call stack recorded)");
    if (!call->line)
        return;
    vs_text_addf(out, ":%" PRIu32, call->line);
    if (len) {
        size_t blanks = strspn(line, " \t");

        vs_text_add(out, "  ");
        vs_text_add_n(out, line + (blanks < len ? blanks : len),
                      len - (blanks < len ? blanks : len));
    }
}

static void row_text(const struct calls *s, const struct row *row, struct vs_text *out)
{
    call_text(s, row->first, out);
    if (row->between)
        vs_text_addf(out, " > (%" PRIu32 " more)", row->between);
    if (row->last != row->first) {
        vs_text_add(out, " > ");
        call_text(s, row->last, out);
    }
}

/* ---- rows ---- */

/* The calls from order[*at] on of which each makes only the next one; *at is moved to the last of them. */
static struct row chain_take(const struct calls *s, const uint32_t *order, size_t count, size_t *at)
{
    struct row row = {.first = order[*at], .last = order[*at]};
    uint32_t len = 1;

    while (*at + 1 < count && call_at(s, order[*at + 1])->parent == row.last &&
           call_at(s, order[*at + 1])->bytes == call_at(s, row.last)->bytes) {
        row.last = order[++*at];
        len++;
    }
    row.between = len > 2 ? len - 2 : 0;
    row.has_more = *at + 1 < count && call_at(s, order[*at + 1])->parent == row.last;
    return row;
}

static void rows_fill(struct calls *s, const struct tui_app *app)
{
    size_t count;
    const uint32_t *order = rpl_calltree_order(s->tree, &count);
    size_t all;
    struct vs_text text = {NULL, 0, 0};
    uint32_t *indents;

    (void)rpl_calltree_all(s->tree, &all);
    indents = vs_calloc(all, sizeof(*indents));
    s->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct row row = chain_take(s, order, count, &i);
        uint32_t parent = call_at(s, row.first)->parent;
        bool passes = true;

        row.indent = parent ? indents[parent] + 1 : 0;
        indents[row.last] = row.indent;
        if (app->filter_count) {
            vs_text_clear(&text);
            row_text(s, &row, &text);
            passes = tui_app_passes(app, vs_text_get(&text));
        }
        if (passes) {
            s->rows = vs_grow(s->rows, s->count, &s->row_cap, sizeof(*s->rows));
            s->rows[s->count++] = row;
        }
        /* with filters, rows that pass are shown wherever they are */
        if (!app->filter_count && !is_open(s, &row))
            while (i + 1 < count && call_at(s, order[i + 1])->depth > call_at(s, row.last)->depth)
                i++;
    }
    vs_text_release(&text);
    vs_free(indents);
}

static void tree_fill(struct calls *s, const struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;

    if (!s->tree || s->index != run->index || s->number != run->number) {
        rpl_calltree_free(s->tree);
        s->tree = rpl_calltree_new(run->trace);
        s->of = run->trace;
        s->index = run->index;
        s->number = run->number;
        s->fold_count = 0;
    }
    vs_free(s->failure);
    s->failure = rpl_calltree_fill(s->tree, run->cursor, &err) ? vs_strdup(err.text) : NULL;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct calls *s = state;

    (void)w;
    if (s->moves != app->moves || !s->tree) {
        s->moves = app->moves;
        tree_fill(s, app);
        s->is_changed = true;
    }
    if (s->is_changed)
        rows_fill(s, app);
    s->is_changed = false;
    tui_list_fit(&s->list, s->count, h - 1);
}

/* ---- the view ---- */

static void draw_row(const struct calls *s, const struct row *row, struct tui_canvas *c, int y)
{
    const struct rpl_call *call = call_at(s, row->last);
    uint64_t all = call_at(s, 0)->bytes;
    int x = FIGURES_W + 1 + (int)row->indent;
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    tui_text_right(c, 0, y, 9, tui_style(TUI_STRONG), tui_short_bytes(call->bytes, buf));
    vs_text_addf(&text, "%.1f %%", all ? 100.0 * (double)call->bytes / (double)all : 0.0);
    tui_text_right(c, 9, y, 8, tui_style(TUI_DIM), vs_text_get(&text));
    tui_text_right(c, 17, y, 8, tui_style(TUI_DIM), tui_short_count(call->blocks, buf));
    if (call->is_here)
        tui_put_glyph(c, FIGURES_W - 1, y, TUI_G_RIGHT, tui_style(TUI_CURSOR));
    if (row->has_more)
        tui_put_glyph(c, x, y, is_open(s, row) ? TUI_G_OPEN : TUI_G_CLOSED, tui_style(TUI_DIM));
    vs_text_clear(&text);
    row_text(s, row, &text);
    tui_text_cut(c, x + 2, y, c->at.w - x - 2, tui_style(call->is_here ? TUI_STRONG : TUI_PLAIN),
                 vs_text_get(&text));
    vs_text_release(&text);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct calls *s = state;
    struct tui_style head = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    (void)app;
    if (s->failure || !s->count) {
        tui_text_cut(c, 1, 0, c->at.w - 1, tui_style(s->failure ? TUI_BAD : TUI_DIM),
                     s->failure ? s->failure : "nothing is alive");
        return;
    }
    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, head);
    tui_text_right(c, 0, 0, 9, head, "alive");
    tui_text_right(c, 9, 0, 8, head, "share");
    tui_text_right(c, 17, 0, 8, head, "blocks");
    tui_text(c, FIGURES_W + 3, 0, head, "allocated by");
    for (int y = 1; y < c->at.h && s->list.top + (size_t)y - 1 < s->count; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        draw_row(s, &s->rows[row], c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct calls *s = state;
    char buf[TUI_SHORT_MAX];

    (void)app;
    vs_text_addf(out, "%s ", tui_short_bytes(call_at(s, s->rows[row].last)->bytes, buf));
    row_text(s, &s->rows[row], out);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct calls *s = state;
    const struct row *row;

    (void)count;
    if ((action != TUI_OPEN && action != TUI_ACT) || s->list.at >= s->count)
        return false;
    row = &s->rows[s->list.at];
    if (action == TUI_ACT && row->has_more) {
        fold_set(s, row->last, is_open(s, row) ? FOLD_CLOSED : FOLD_OPEN);
        s->is_changed = true;
        return true;
    }
    tui_app_choose_block(app, call_at(s, row->last)->largest);
    if (action == TUI_OPEN)
        tui_app_view(app, "why");
    else
        tui_app_say(app, "no call below this one; its largest block is chosen");
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    (void)state;
    vs_text_add(out, rpl_trace_source_text(tui_app_run(app)->trace)
                         ? "alive here, by module, function and line"
                         : "alive here, by call stack");
}

static void release(void *state)
{
    struct calls *s = state;

    rpl_calltree_free(s->tree);
    vs_free(s->rows);
    vs_free(s->folds);
    vs_free(s->failure);
}

static const struct tui_hint HINTS[] = {
    {"space", "fold"},
    {"enter", "why"},
    {NULL, NULL},
};

const struct tui_view tui_view_calls = {
    .name = "calls",
    .title = "calls",
    .letter = 'T',
    .scope = TUI_IN_CALLS,
    .go = TUI_GO_CALLS,
    .help = "The blocks that are alive at the cursor, by the calls that allocated them: of a "
            "program its call stacks, of a net modules, functions and lines. Calls of which each "
            "only makes the next one share a row. Rows of at least a fifth of all bytes are open; "
            "space folds and opens. The arrow marks the calls of the event at the cursor. Enter: "
            "why the largest block of the row is alive.",
    .hints = HINTS,
    .beside = "why",
    .state_size = sizeof(struct calls),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
