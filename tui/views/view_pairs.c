/*
 * tui/views/view_pairs.c - the allocator's events of both runs side by side: which events only one has, which moved or
 * changed size, and why.
 *
 * Must not know:  terminals, why two events belong together (replay/diff/align.h).
 * Invariant:      both runs are at the selected row: selecting another row moves both, and moving in a run selects its
 *                 row.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_text.h"
#include "replay/trace/scripts.h"
#include "tui/app.h"
#include "tui/diff.h"
#include "tui/parts/format.h"
#include "tui/views.h"

/* Between the two sides: a mark, and the row's change of the difference B - A. */
#define MIDDLE_W 11
/* Smallest width with a column of the running difference B - A. */
#define DELTA_MIN_W 96
#define DELTA_W 9
/* Smallest height at which the last row explains the chosen one. */
#define WHY_MIN_H 4

/* Which rows: all of them in order, those that differ in order, or those by the size of the difference. */
enum order { ALL, DIFFERENT, LARGEST, ORDER_COUNT };
static const char *const ORDER_NAMES[ORDER_COUNT] = {"all", "only what differs", "largest first"};

/*
 * picked        rows of the pairs that are listed if the order is not ALL; picked_count of them
 * serial, row   the comparison and its current row when that row was last scrolled into view
 */
struct pairs {
    struct tui_list list;
    enum order order;
    size_t *picked;
    size_t picked_count;
    enum order picked_for;
    uint64_t serial;
    size_t row;
};

/* ---- rows ---- */

/* The row's change of the difference B - A in bytes. */
static int64_t change_of(const struct rpl_pairs *pairs, const struct rpl_pair_row *row)
{
    const struct rpl_alloc *a = rpl_pair_alloc(pairs, row, false);
    const struct rpl_alloc *b = rpl_pair_alloc(pairs, row, true);
    int64_t change = (int64_t)((b ? b->bytes : 0) - (a ? a->bytes : 0));

    return row->is_free ? -change : change;
}

/* For sorting: a row and the size of its change. */
struct weighed {
    uint64_t bytes;
    size_t row;
};

static int by_weight(const void *x, const void *y)
{
    const struct weighed *a = x;
    const struct weighed *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* In the order by size only allocations are listed: each free is the end of one of them. */
static void pick(struct pairs *s, const struct rpl_pairs *pairs)
{
    struct weighed *all;
    size_t count = 0;

    vs_free(s->picked);
    s->picked = NULL;
    s->picked_count = 0;
    s->picked_for = s->order;
    if (s->order == ALL)
        return;
    all = vs_calloc(pairs->row_count + 1, sizeof(*all));
    for (size_t i = 0; i < pairs->row_count; i++) {
        const struct rpl_pair_row *row = &pairs->rows[i];
        int64_t change = change_of(pairs, row);

        if (row->kind != RPL_PAIR_SAME && !(s->order == LARGEST && row->is_free))
            all[count++] = (struct weighed){change < 0 ? (uint64_t)-change : (uint64_t)change, i};
    }
    if (s->order == LARGEST)
        qsort(all, count, sizeof(*all), by_weight);
    s->picked = vs_calloc(count + 1, sizeof(*s->picked));
    s->picked_count = count;
    for (size_t i = 0; i < count; i++)
        s->picked[i] = all[i].row;
    vs_free(all);
}

/* Row of the pairs behind row `i` of the list. */
static size_t row_at(const struct pairs *s, size_t i)
{
    return s->order == ALL ? i : s->picked[i];
}

static size_t row_total(const struct pairs *s, const struct rpl_pairs *pairs)
{
    return s->order == ALL ? pairs->row_count : s->picked_count;
}

/* The row of the list for a row of the pairs: itself, or the last one before it. */
static size_t list_row(const struct pairs *s, size_t row)
{
    size_t low = 0;
    size_t high = s->picked_count;

    if (row == SIZE_MAX)
        return 0;
    if (s->order == ALL)
        return row;
    if (s->order == LARGEST) {
        for (size_t i = 0; i < s->picked_count; i++)
            if (s->picked[i] == row)
                return i;
        return s->list.at;
    }
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->picked[mid] <= row)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? low - 1 : 0;
}

static const struct rpl_pair_row *chosen(const struct pairs *s, const struct rpl_pairs *pairs)
{
    if (!pairs || s->list.at >= row_total(s, pairs))
        return NULL;
    return &pairs->rows[row_at(s, s->list.at)];
}

/* ---- drawing ---- */

static enum tui_role role_of(const struct rpl_pair_row *row)
{
    switch ((enum rpl_pair_kind)row->kind) {
    case RPL_PAIR_SAME:
        return TUI_DIM;
    case RPL_PAIR_SIZE:
        return TUI_STRONG;
    case RPL_PAIR_ONLY:
        return row->alloc_a ? TUI_SIDE_A : TUI_SIDE_B;
    case RPL_PAIR_MOVED:
        return TUI_KEY_NAME;
    }
    return TUI_PLAIN;
}

static char mark_of(const struct rpl_pair_row *row)
{
    switch ((enum rpl_pair_kind)row->kind) {
    case RPL_PAIR_SAME:
        return ' ';
    case RPL_PAIR_SIZE:
        return '!';
    case RPL_PAIR_ONLY:
        return row->alloc_a ? '<' : '>';
    case RPL_PAIR_MOVED:
        return '~';
    }
    return ' ';
}

/* The name of the block, "conv1 _convolution", in the row of its free, too. */
static void add_name(const struct rpl_align_side *side, const struct rpl_alloc *alloc,
                     struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(side->trace, alloc->location);
    const char *module = rpl_trace_string(side->trace, location->module);
    const char *op = rpl_trace_string(side->trace, location->op);

    vs_text_addf(out, "%s%s%s", module, *module && *op ? " " : "", op);
    if (!*module && !*op)
        vs_text_add(out, vs_category_name((enum vs_category)alloc->category));
}

/* One side of a row, in a canvas of its own: event, category, bytes, name. */
static void draw_side(const struct rpl_align_side *side, const struct rpl_alloc *alloc,
                      const struct rpl_pair_row *row, struct tui_canvas *c, int y)
{
    bool is_narrow = c->at.w < 28;
    enum tui_role role = role_of(row);
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];
    int x = 0;

    if (!alloc)
        return;
    if (!is_narrow) {
        vs_text_addf(&text, "%" PRIu64, row->is_free ? alloc->free_seq : alloc->seq);
        tui_text_right(c, 0, y, 7, tui_style(TUI_LINE_NUMBER), vs_text_get(&text));
        vs_text_clear(&text);
        x = 8;
    }
    tui_put(c, x, y, (unsigned char)tui_category_letter(alloc->category),
            tui_style(tui_category_role(alloc->category)));
    tui_put_glyph(c, x + 2, y, row->is_free ? TUI_G_MINUS : TUI_G_DOT, tui_style(role));
    if (!row->is_free)
        tui_put(c, x + 2, y, '+', tui_style(role));
    tui_text_right(c, x + 3, y, TUI_SHORT_W, tui_style(role), tui_short_bytes(alloc->bytes, buf));
    add_name(side, alloc, &text);
    tui_text_tail(c, x + 10, y, c->at.w - x - 10, tui_style(role), vs_text_get(&text));
    vs_text_release(&text);
}

/* Width of each side, and the column between them. */
struct columns {
    int side_w;
    int middle;
    int b;
    int delta;
};

static struct columns columns_of(int w)
{
    struct columns columns = {0, 0, 0, -1};
    int rest = w - MIDDLE_W;

    if (w >= DELTA_MIN_W) {
        rest -= DELTA_W;
        columns.delta = w - DELTA_W;
    }
    columns.side_w = rest / 2 > 0 ? rest / 2 : 1;
    columns.middle = columns.side_w;
    columns.b = columns.middle + MIDDLE_W;
    return columns;
}

static void draw_row(const struct rpl_pairs *pairs, const struct rpl_pair_row *row,
                     struct tui_canvas *c, int y)
{
    struct columns at = columns_of(c->at.w);
    struct tui_canvas a = tui_canvas_part(c, (struct tui_rect){0, 0, at.side_w, c->at.h});
    struct tui_canvas b = tui_canvas_part(c, (struct tui_rect){at.b, 0, at.side_w, c->at.h});
    int64_t change = change_of(pairs, row);
    int64_t delta = (int64_t)(row->total_b - row->total_a);
    char buf[TUI_SHORT_MAX];

    draw_side(&pairs->align->a, rpl_pair_alloc(pairs, row, false), row, &a, y);
    draw_side(&pairs->align->b, rpl_pair_alloc(pairs, row, true), row, &b, y);
    tui_put(c, at.middle + 1, y, (unsigned char)mark_of(row), tui_style(role_of(row)));
    if (change)
        tui_text_right(c, at.middle + 2, y, 7, tui_style(change > 0 ? TUI_BAD : TUI_GOOD),
                       tui_short_delta(change, buf));
    tui_put_glyph(c, at.b - 1, y, TUI_G_VLINE, tui_style(TUI_LINE));
    if (at.delta > 0)
        tui_text_right(c, at.delta, y, DELTA_W - 1, tui_style(TUI_PLAIN),
                       tui_short_delta(delta, buf));
}

static void draw_head(const struct tui_app *app, struct tui_canvas *c)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);
    struct columns at = columns_of(c->at.w);
    struct vs_text text = {NULL, 0, 0};

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    vs_text_addf(&text, "A %s", app->name);
    tui_text_cut(c, 1, 0, at.side_w - 1, style, vs_text_get(&text));
    vs_text_clear(&text);
    vs_text_addf(&text, "B %s", app->change.name ? app->change.name : "what if");
    tui_text_cut(c, at.b, 0, at.side_w, style, vs_text_get(&text));
    vs_text_release(&text);
    tui_text_right(c, at.middle + 2, 0, 7, style, "change");
    if (at.delta > 0)
        tui_text_right(c, at.delta, 0, DELTA_W - 1, style, "B - A");
}

/* What corresponds to the event in the other run. */
static void add_fate(const struct rpl_pairs *pairs, const struct rpl_pair_row *row,
                     const struct rpl_alloc *alloc, bool is_b, struct vs_text *out)
{
    const struct rpl_align_side *others = is_b ? &pairs->align->a : &pairs->align->b;
    const char *other = is_b ? "A" : "B";
    const struct rpl_alloc *mate = alloc->mate ? &others->allocs[alloc->mate - 1] : NULL;

    switch ((enum rpl_pair_kind)row->kind) {
    case RPL_PAIR_SAME:
        vs_text_add(out, "the same in both");
        return;
    case RPL_PAIR_SIZE:
        vs_text_add(out, "another size");
        return;
    case RPL_PAIR_ONLY:
        vs_text_addf(out, "only %s allocates it", is_b ? "B" : "A");
        return;
    case RPL_PAIR_MOVED:
        break;
    }
    if (!mate)
        return;
    if (!row->is_free)
        vs_text_addf(out, "%s allocates it at event %" PRIu64, other, mate->seq);
    else if (mate->free_seq)
        vs_text_addf(out, "%s frees it at event %" PRIu64, other, mate->free_seq);
    else
        vs_text_addf(out, "%s does not free it within the trace", other);
}

/* Describe a row: its fate in the other run, its tensor, and the source line. */
static void why_text(const struct rpl_pairs *pairs, const struct rpl_pair_row *row,
                     struct vs_text *out)
{
    bool is_b = !row->alloc_a;
    const struct rpl_alloc *alloc = rpl_pair_alloc(pairs, row, is_b);
    const struct rpl_align_side *side = is_b ? &pairs->align->b : &pairs->align->a;
    const struct vs_location *location = rpl_pair_location(pairs, row);
    const char *op = rpl_trace_string(side->trace, location->op);
    size_t len;
    const char *code = rpl_location_source(side->trace, location, &len);

    add_fate(pairs, row, alloc, is_b, out);
    if (alloc->tensor) {
        vs_text_add(out, "  ");
        rpl_shape_text(side->trace, alloc->tensor, out);
    }
    if (*op)
        vs_text_addf(out, "  %s%s", row->is_free ? "in " : "by ", op);
    if (location->line)
        vs_text_addf(out, "  line %" PRIu32 "%s%.*s", location->line, len ? ": " : "", (int)len,
                     code);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct pairs *s = state;
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    bool has_why = c->at.h >= WHY_MIN_H;
    struct vs_text text = {NULL, 0, 0};

    if (!pairs) {
        tui_text(c, 1, 0, tui_style(TUI_DIM), tui_diff_missing(app));
        return;
    }
    draw_head(app, c);
    if (!s->list.count)
        tui_text(c, 1, 1, tui_style(TUI_DIM), "no event differs");
    for (int y = 1; y < c->at.h - has_why; y++) {
        size_t i = s->list.top + (size_t)(y - 1);

        if (i >= s->list.count)
            break;
        draw_row(pairs, &pairs->rows[row_at(s, i)], c, y);
        tui_list_mark(&s->list, i, c, y, is_focused);
    }
    if (!has_why || !chosen(s, pairs))
        return;
    why_text(pairs, chosen(s, pairs), &text);
    tui_text_cut(c, 1, c->at.h - 1, c->at.w - 1, tui_style(TUI_STRONG), vs_text_get(&text));
    vs_text_release(&text);
}

/* ---- the view ---- */

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct pairs *s = state;
    const struct tui_diff *made = tui_diff_get(app);
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    size_t row;

    (void)w;
    if (!made) {
        tui_list_fit(&s->list, 0, h);
        return;
    }
    if (s->serial != made->serial || s->picked_for != s->order)
        pick(s, pairs);
    row = tui_diff_row(app);
    s->list.height = h > 2 ? (size_t)(h - 1 - (h >= WHY_MIN_H)) : 1;
    if (s->serial != made->serial || s->row != row || row_total(s, pairs) != s->list.count) {
        if (s->list.at >= row_total(s, pairs) || row_at(s, s->list.at) != row)
            tui_list_go(&s->list, list_row(s, row));
        s->serial = made->serial;
        s->row = row;
    }
    tui_list_fit(&s->list, row_total(s, pairs), (int)s->list.height);
}

/* Move both runs to the chosen row. */
static void moved(void *state, struct tui_app *app)
{
    struct pairs *s = state;

    if (!s->list.count)
        return;
    tui_diff_go(app, row_at(s, s->list.at), false);
    s->row = tui_diff_row(app);
}

/* The list's order has changed: choose again the row that was chosen. */
static void order_set(struct pairs *s, struct tui_app *app, enum order order)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    size_t row = tui_diff_row(app);

    s->order = order;
    if (!pairs)
        return;
    pick(s, pairs);
    s->list.at = 0;
    tui_list_go(&s->list, list_row(s, row));
    tui_list_fit(&s->list, row_total(s, pairs), (int)s->list.height);
    if (order == LARGEST && s->list.count && row_at(s, s->list.at) != row)
        moved(s, app);
    app->moves++;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct pairs *s = state;

    if (!tui_diff_pairs(app))
        return tui_diff_key_missing(app, action);
    if (action == TUI_RESET && s->order != ALL) {
        order_set(s, app, ALL);
        return true;
    }
    if (action == TUI_DIFF_NEXT || action == TUI_DIFF_BACK) {
        if (s->order != LARGEST) {
            tui_diff_next(app, action == TUI_DIFF_BACK, count);
            return true;
        }
        (void)tui_list_act(&s->list, action == TUI_DIFF_NEXT ? TUI_DOWN : TUI_UP, count);
        moved(s, app);
        return true;
    }
    if (action == TUI_MODE) {
        order_set(s, app, s->order == ALL ? DIFFERENT : ALL);
        return true;
    }
    if (action == TUI_SORT) {
        order_set(s, app, s->order == LARGEST ? ALL : LARGEST);
        return true;
    }
    if (action == TUI_OPEN || action == TUI_ACT) {
        const struct rpl_pair_row *row = chosen(s, tui_diff_pairs(app));
        const struct rpl_alloc *alloc =
            row ? rpl_pair_alloc(tui_diff_pairs(app), row, app->change.is_shown) : NULL;

        if (!alloc) {
            tui_app_say(app, "not in the run that is shown; D shows the other run");
            return true;
        }
        tui_app_choose_block(app, alloc->block);
        tui_app_view(app, "why");
        return true;
    }
    return false;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct pairs *s = state;
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    const struct rpl_pair_row *at;
    char buf[TUI_SHORT_MAX];

    if (!pairs || row >= row_total(s, pairs))
        return;
    at = &pairs->rows[row_at(s, row)];
    for (int is_b = 0; is_b < 2; is_b++) {
        const struct rpl_alloc *alloc = rpl_pair_alloc(pairs, at, is_b);
        struct vs_text name = {NULL, 0, 0};

        if (!alloc)
            continue;
        add_name(is_b ? &pairs->align->b : &pairs->align->a, alloc, &name);
        vs_text_addf(out, "%s %" PRIu64 " %s%s %s  ", is_b ? "B" : "A",
                     at->is_free ? alloc->free_seq : alloc->seq, at->is_free ? "-" : "+",
                     tui_short_bytes(alloc->bytes, buf), vs_text_get(&name));
        vs_text_release(&name);
    }
    why_text(pairs, at, out);
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct pairs *s = state;
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    const struct rpl_pair_row *row = chosen(s, pairs);
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];

    if (!row)
        return;
    vs_text_addf(out, "A %s  B %s  B - A %s  %s, %zu differences", vs_bytes_text(row->total_a, a),
                 vs_bytes_text(row->total_b, b),
                 vs_bytes_delta_text((int64_t)(row->total_b - row->total_a), d),
                 ORDER_NAMES[s->order], pairs->stretch_count);
}

static void release(void *state)
{
    vs_free(((struct pairs *)state)->picked);
}

static const struct tui_hint HINTS[] = {
    {"n/N", "difference"}, {"t", "only these"}, {"o", "largest"}, {"enter", "why"},
    {"D", "other run"},    {"gd", "sums"},      {NULL, NULL},
};

const struct tui_view tui_view_pairs = {
    .name = "pairs",
    .title = "side by side",
    .letter = 'D',
    .scope = TUI_IN_PAIRS,
    .go = TUI_GO_PAIRS,
    .help = "Allocations (+) and frees (-) of both runs, side by side. < only in A, > only in B, ! "
            "another size, ~ at another event of the other run. Moving moves both runs. n and N: "
            "next and previous difference; / and enter continue a search. t: only differences. o: "
            "the largest first. Enter: why the block is alive. D: switch the other views to the "
            "other run.",
    .hints = HINTS,
    .beside = "diff",
    .state_size = sizeof(struct pairs),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .moved = moved,
    .title_more = title_more,
    .release = release,
};
