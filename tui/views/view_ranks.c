/*
 * tui/views/view_ranks.c - the ranks of a run beside each other on one axis, which of them peaks, and why they differ.
 *
 * Must not know:  terminals, how ranks are found.
 * Invariant:      the columns are those of the timeline; a column of another rank has the corresponding events, found
 *                 by op, module and place (replay/diff/pairs.h), and all ranks have one scale.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/diff/diff.h"
#include "replay/index/timeline.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/parts/chart.h"
#include "tui/parts/format.h"
#include "tui/parts/page.h"
#include "tui/views.h"

/* Cells before the chart of a rank: its name and its peak. */
#define NAME_W 9
#define HEAD_W (NAME_W + 8)
/* Rows of text that the charts leave, where there are many ranks. */
#define NO_RANKS "no ranks are open: vramscope tui TRACE --ranks"
#define TEXT_ROWS 8
#define CHART_ROWS_MAX 4
/* Lines for each difference. */
#define TOP 12

/*
 * page     rows of the charts, `rows` for each rank and each GPU that several share, and the text below them; choice:
 *          index of the rank + 1
 * indexes  of the ranks, in their order; NULL for one that cannot be read
 * diffs    the run that is open aligned with each rank; NULL where that failed
 * columns  `width` for each rank
 * w, h, window, moves   for which they were made
 */
struct ranks {
    struct tui_page page;
    struct rpl_index **indexes;
    struct rpl_diff **diffs;
    size_t count;
    struct rpl_column *columns;
    int width;
    int rows;
    int w;
    int h;
    struct tui_window window;
    char *failure;
};

/* ---- columns ---- */

static void indexes_open(struct ranks *s, const struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;

    s->count = app->ranks->count;
    s->indexes = vs_calloc(s->count, sizeof(struct rpl_index *));
    s->diffs = vs_calloc(s->count, sizeof(struct rpl_diff *));
    for (size_t i = 0; i < s->count; i++) {
        enum vs_status st =
            rpl_index_open(app->ranks->items[i].trace, NULL, NULL, &s->indexes[i], &err);

        if (!st) {
            s->diffs[i] = vs_calloc(1, sizeof(*s->diffs[i]));
            st = rpl_diff_open(s->diffs[i], app->base.index, s->indexes[i], NULL, NULL, &err);
        }
        if (st && s->diffs[i]) {
            rpl_diff_release(s->diffs[i]);
            vs_free(s->diffs[i]);
            s->diffs[i] = NULL;
        }
        if (st && !s->failure)
            s->failure = vs_strdup(err.text);
    }
}

/* The event of a rank that corresponds to event `seq` of the run that is open. */
static uint64_t event_of(struct rpl_diff *diff, const struct tui_run *from,
                         const struct tui_run *to, uint64_t seq)
{
    uint64_t found =
        diff ? rpl_pairs_event(rpl_diff_pairs(diff), false, seq) : tui_run_map(from, to, seq);

    return found > to->events ? to->events : found;
}

/* The columns of a rank for the events that columns `base` have of the run that is open. */
static enum vs_status columns_fill(const struct tui_app *app, struct rpl_index *index,
                                   struct rpl_diff *diff, const struct rpl_column *base,
                                   struct rpl_column *out, int width, struct vs_error *err)
{
    const struct tui_run *from = &app->base;
    struct tui_run to = {.index = index, .events = rpl_index_event_count(index)};
    enum vs_status st = VS_OK;

    for (int x = 0; x < width && !st && to.events; x++) {
        uint64_t first = event_of(diff, from, &to, base[x].first_seq);
        uint64_t last = x + 1 < width ? event_of(diff, from, &to, base[x + 1].first_seq) : 0;

        first = first ? first : 1;
        if (x + 1 == width)
            last = event_of(diff, from, &to, base[x].last_seq);
        else if (last > first)
            last--;
        st = rpl_timeline_range(index, first, last < first ? first : last, &out[x], err);
    }
    return st;
}

static void columns_make(struct ranks *s, const struct tui_app *app)
{
    struct rpl_column *base = vs_calloc((size_t)s->width, sizeof(*base));
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = rpl_timeline_columns(
        app->base.index, app->change.is_shown ? 1 : app->window.first,
        app->change.is_shown ? app->base.events : app->window.last, base, (size_t)s->width, &err);

    vs_free(s->columns);
    s->columns = vs_calloc(s->count * (size_t)s->width, sizeof(*s->columns));
    for (size_t i = 0; i < s->count && !st; i++)
        if (s->indexes[i])
            st = columns_fill(app, s->indexes[i], s->diffs[i], base,
                              &s->columns[i * (size_t)s->width], s->width, &err);
    if (st && !s->failure)
        s->failure = vs_strdup(err.text);
    vs_free(base);
}

static size_t parts_of(const struct rpl_shared *gpu)
{
    return gpu->part_count < TUI_CHART_PARTS ? gpu->part_count : TUI_CHART_PARTS;
}

/*
 * What the processes on a GPU have over time, `parts` values for each column; those behind the last part that is drawn
 * are added to it. Heap memory.
 */
static uint64_t *parts_make(const struct rpl_shared *gpu, size_t parts, int width)
{
    uint64_t *out = vs_calloc((size_t)width * parts, sizeof(*out));

    for (size_t x = 0; x < (size_t)width && gpu->point_count; x++) {
        const size_t first = x * gpu->point_count / (size_t)width;
        const size_t next = (x + 1) * gpu->point_count / (size_t)width;
        uint64_t most = 0;

        for (size_t point = first; point == first || point < next; point++) {
            const uint64_t *bytes = &gpu->curve[point * gpu->part_count];
            uint64_t sum = 0;

            for (size_t i = 0; i < gpu->part_count; i++)
                sum += bytes[i];
            if (sum < most || !sum)
                continue;
            most = sum;
            memset(&out[x * parts], 0, parts * sizeof(*out));
            for (size_t i = 0; i < gpu->part_count; i++)
                out[x * parts + (i < parts ? i : parts - 1)] += bytes[i];
        }
    }
    return out;
}

/* ---- rows ---- */

static void add_rank(struct ranks *s, const struct tui_app *app, size_t i)
{
    const struct rpl_rank *rank = &app->ranks->items[i];
    struct vs_text name = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];
    bool is_highest =
        rank->sum.peak.allocated == app->ranks->items[app->ranks->highest].sum.peak.allocated;

    rpl_rank_text(rank, &name);
    for (int row = 0; row < s->rows; row++) {
        /* the name of a file is cut at the chart */
        if (row == 0)
            tui_page_add(&s->page, TUI_STRONG, "%-*.*s", NAME_W, NAME_W, vs_text_get(&name));
        else
            tui_page_add(&s->page, TUI_PLAIN, "%s", "");
        s->page.lines[s->page.count - 1].choice = i + 1;
        if (row == 0)
            tui_page_more(&s->page, NAME_W, is_highest ? TUI_BAD : TUI_PLAIN, "%6s",
                          tui_short_bytes(rank->sum.peak.allocated, buf));
        else if (row == 1 && rank->like != i && rank->like == app->ranks->highest)
            tui_page_more(&s->page, 1, TUI_DIM, "same events");
    }
    vs_text_release(&name);
}

/* Rows of the chart of a GPU that several ranks share: its name and the most they have together, then who is which. */
static void add_gpu(struct ranks *s, const struct tui_app *app, const struct rpl_shared *gpu)
{
    char buf[TUI_SHORT_MAX];

    for (int row = 0; row < s->rows; row++) {
        if (row == 0) {
            tui_page_add(&s->page, TUI_STRONG, "GPU %-*.*s", NAME_W - 4, NAME_W - 4, gpu->name);
            tui_page_more(&s->page, NAME_W, TUI_PLAIN, "%6s", tui_short_bytes(gpu->together, buf));
        } else {
            tui_page_add(&s->page, TUI_DIM, "%s", row == 2 ? "over time" : "");
        }
        for (size_t i = 0; row == 1 && i < parts_of(gpu) && (int)i * 4 + 4 < HEAD_W; i++) {
            const struct rpl_rank *rank = &app->ranks->items[gpu->parts[i].rank];

            tui_page_more(&s->page, 1 + (int)i * 4, tui_chart_part_role(i), "%c%" PRId64,
                          tui_chart_part_letter(i), rank->number < 0 ? (int64_t)i : rank->number);
        }
    }
}

/* The lines below the charts, broken at `w` cells: those of the table in its last column. */
static void page_make(struct ranks *s, const struct tui_app *app, int w, int h)
{
    static const char LAST[] = "peak at";
    struct vs_text text = {NULL, 0, 0};
    const char *line;
    const char *last;
    int indent = 0;
    int rows = (h - TEXT_ROWS) / (int)(s->count + app->ranks->shared_count);

    s->rows = rows < 1 ? 1 : rows > CHART_ROWS_MAX ? CHART_ROWS_MAX : rows;
    tui_page_clear(&s->page);
    for (size_t i = 0; i < s->count; i++)
        add_rank(s, app, i);
    for (size_t i = 0; i < app->ranks->shared_count; i++)
        add_gpu(s, app, &app->ranks->shared[i]);
    tui_page_add(&s->page, TUI_PLAIN, "%s", "");
    rpl_ranks_text(app->ranks, TOP, &text);
    line = vs_text_get(&text);
    while (*line) {
        size_t len = strcspn(line, "\n");

        tui_page_add(&s->page, *line == ' ' ? TUI_PLAIN : TUI_STRONG, "%.*s", (int)len, line);
        last = strstr(line, LAST);
        if (last && last + strlen(LAST) == line + len)
            indent = (int)(last - line);
        tui_page_fold(&s->page, w - 2, *line == ' ' ? indent : 0);
        line += len + (line[len] == '\n');
    }
    vs_text_release(&text);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct ranks *s = state;

    if (!app->ranks) {
        tui_list_fit(&s->page.list, 0, h);
        return;
    }
    if (!s->indexes)
        indexes_open(s, app);
    if (s->w != w || s->h != h || s->window.first != app->window.first ||
        s->window.last != app->window.last) {
        s->width = w > HEAD_W + 1 ? w - HEAD_W : 1;
        columns_make(s, app);
        page_make(s, app, w, h);
        s->w = w;
        s->h = h;
        s->window = app->window;
    }
    tui_list_fit(&s->page.list, s->page.count, h);
}

/* ---- the view ---- */

/* The chart of rank `i`, of which row `row` is at y of the canvas. */
static void draw_chart(const struct ranks *s, const struct tui_app *app, size_t i, int row,
                       struct tui_canvas *c, int y)
{
    struct tui_rect at = {HEAD_W, y - row, s->width, s->rows};
    struct tui_chart chart = {
        .columns = &s->columns[i * (size_t)s->width],
        .count = s->width,
        .top = app->ranks->items[app->ranks->highest].sum.peak.allocated,
        .has_letters = tui_app_has_letters(app),
    };
    struct tui_canvas part;

    /* a chart of which the upper rows are scrolled away is drawn above the canvas, which clips it */
    part = tui_canvas_part(c, at);
    tui_chart_draw(&chart, &part);
}

/* The same of a GPU that several ranks share; its axis is time, its scale the most that they have together. */
static void draw_gpu(const struct ranks *s, const struct rpl_shared *gpu, bool has_letters, int row,
                     struct tui_canvas *c, int y)
{
    struct tui_canvas part =
        tui_canvas_part(c, (struct tui_rect){HEAD_W, y - row, s->width, s->rows});
    uint64_t *bytes = parts_make(gpu, parts_of(gpu), s->width);

    tui_chart_parts(bytes, parts_of(gpu), s->width, gpu->together, has_letters, &part);
    vs_free(bytes);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct ranks *s = state;

    if (!app->ranks) {
        tui_text_cut(c, 1, 0, c->at.w - 1, tui_style(TUI_DIM), NO_RANKS);
        return;
    }
    tui_page_draw(&s->page, c, is_focused);
    for (int y = 0; y < c->at.h && s->page.list.top + (size_t)y < s->page.count; y++) {
        size_t line = s->page.list.top + (size_t)y;
        size_t chart = line / (size_t)s->rows;
        int row = (int)(line % (size_t)s->rows);

        if (y && row)
            continue;
        if (chart < s->count)
            draw_chart(s, app, chart, row, c, y);
        else if (chart < s->count + app->ranks->shared_count)
            draw_gpu(s, &app->ranks->shared[chart - s->count], tui_app_has_letters(app), row, c, y);
    }
}

/* Enter: the difference between the run that is open and the chosen rank. */
static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct ranks *s = state;
    struct vs_error err = VS_ERROR_INIT;
    const struct rpl_rank *rank;

    (void)count;
    if (!app->ranks && action == TUI_OPEN) {
        tui_app_say(app, NO_RANKS);
        return true;
    }
    if (action != TUI_OPEN || s->page.list.at >= s->page.count ||
        !s->page.lines[s->page.list.at].choice)
        return false;
    rank = &app->ranks->items[s->page.lines[s->page.list.at].choice - 1];
    if (app->change.is_shown || tui_change_count(app))
        tui_app_say(app, "D shows the recorded run, <C-r> its toggles; a rank is compared with it");
    else if (app->path && strcmp(rank->path, app->path) == 0)
        tui_app_say(app, "this rank is A, the run that is open; enter on another one compares it");
    else if (tui_app_open_other(app, rank->path, &err))
        tui_app_fail(app, "%s", err.text);
    else
        tui_app_say(app, "B is %s; D shows it, gR comes back", rank->path);
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct ranks *s = state;

    if (s->failure)
        vs_text_add(out, s->failure);
    else if (app->ranks)
        vs_text_addf(out, "%zu, on the axis of %s and one scale", app->ranks->count, app->name);
}

static void release(void *state)
{
    struct ranks *s = state;

    for (size_t i = 0; i < s->count; i++) {
        if (s->diffs[i])
            rpl_diff_release(s->diffs[i]);
        vs_free(s->diffs[i]);
        rpl_index_free(s->indexes[i]);
    }
    vs_free(s->diffs);
    vs_free(s->indexes);
    vs_free(s->columns);
    vs_free(s->failure);
    tui_page_release(&s->page);
}

static const struct tui_hint HINTS[] = {
    {"enter", "compare"},
    {NULL, NULL},
};

const struct tui_view tui_view_ranks = {
    .name = "ranks",
    .title = "ranks",
    .letter = 'R',
    .scope = TUI_IN_RANKS,
    .go = TUI_GO_RANKS,
    .help =
        "With --ranks: the memory of each rank over corresponding ops, all on one scale, with "
        "its peak; below, which rank peaks, from which event on the others differ, and the "
        "lines and blocks that make the difference. Enter on a rank compares the run that is open "
        "with it. Where ranks share a GPU, what they have of it together, over time.",
    .hints = HINTS,
    .state_size = sizeof(struct ranks),
    .is_list = true,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = tui_page_view_text,
    .title_more = title_more,
    .release = release,
};
