/*
 * tui/views/view_sweep.c - a table of the effect of every single toggle, and of the best ones combined.
 *
 * Must not know:  what a toggle means.
 * Invariant:      a row is a run of the net (whatif/sweep.h); while the table fills, a key stops it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/parts/format.h"
#include "tui/parts/page.h"
#include "tui/program.h"
#include "tui/views.h"
#include "whatif/recipe.h"
#include "whatif/sweep.h"
#include "whatif/why.h"

#define BATCH_MIN_W 78
#define COST_MIN_W 70
#define COST_W 11
#define BATCH_W 7
/* Where sentences begin. */
#define REASON_X 28
/* Cells before the name of a change, and of the figures that every row has. */
#define NAME_X 3
#define FIGURES_W 25
/* Lines below the table with all of the chosen row, at these heights of the pane. */
#define WHOLE_MIN_H 6
#define WHOLE_MORE_H 14
#define WHOLE_MORE 2
/* Width of the table on a wide screen. */
#define TABLE_W 132

/*
 * list      one row for each what-if
 * order     indices of the rows by price (whatif/price.h), the lowest peak first; then those that do not lower the
 *           peak, and those that failed
 * shown     while the table is computed: the results so far, borrowed
 * reasons   by row: why the peak does not fall; NULL: it does, or the reason is not known
 * whole     all of the chosen row
 */
struct sweep {
    struct tui_list list;
    struct wif_sweep results;
    const struct wif_sweep *shown;
    size_t *order;
    size_t order_cap;
    char **reasons;
    size_t reason_count;
    size_t reason_cap;
    struct tui_page whole;
    bool is_done;
};

/*
 * The runs and their session, for the callbacks. before: figures of the run as recorded; trying: the row that runs, and
 * since when it does; seconds: for so long, when the screen was drawn last.
 */
struct filling {
    struct sweep *state;
    struct tui_app *app;
    struct rpl_summary before;
    struct vs_text trying;
    struct timespec since;
    int64_t seconds;
};

/* ---- filling ---- */

/* As `vramscope advise` ranks: what lowers the peak first, by what it costs. */
static bool is_better(const struct wif_sweep *sweep, const struct wif_sweep_row *a,
                      const struct wif_sweep_row *b)
{
    const uint64_t recorded = sweep->items[0].run.peak;
    const bool a_helps = !a->failed && !a->is_cut && a->run.peak < recorded;
    const bool b_helps = !b->failed && !b->is_cut && b->run.peak < recorded;

    if (a->failed != b->failed)
        return b->failed;
    if (a->is_cut != b->is_cut)
        return b->is_cut;
    if (a_helps != b_helps)
        return a_helps;
    if (a_helps && a->price != b->price)
        return a->price < b->price;
    return a->run.peak < b->run.peak;
}

/* Insertion sort: there are few rows, and all but the last are sorted. */
static void order_make(struct sweep *s)
{
    const struct wif_sweep *sweep = s->shown;

    if (sweep->count > s->order_cap) {
        s->order_cap = sweep->count * 2;
        s->order = vs_realloc(s->order, s->order_cap, sizeof(*s->order));
    }
    for (size_t i = 0; i < sweep->count; i++) {
        size_t at = i;

        while (at && is_better(sweep, &sweep->items[i], &sweep->items[s->order[at - 1]])) {
            s->order[at] = s->order[at - 1];
            at--;
        }
        s->order[at] = i;
    }
}

static bool on_next(void *user, const struct wif_sweep *known, const char *next)
{
    struct filling *filling = user;

    filling->state->shown = known;
    order_make(filling->state);
    vs_text_clear(&filling->trying);
    vs_text_add(&filling->trying, *next ? next : "the run as recorded");
    clock_gettime(CLOCK_MONOTONIC, &filling->since);
    filling->seconds = 0;
    tui_app_say(filling->app, "trying %s; any key stops", vs_text_get(&filling->trying));
    return tui_app_pump(filling->app);
}

/* While a program runs again: the screen is drawn once a second, a key stops it at once. */
static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    struct filling *filling = user;
    struct tui_input input;
    struct timespec now;
    int64_t seconds;

    (void)done;
    (void)total;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (int64_t)(now.tv_sec - filling->since.tv_sec);
    if (seconds == filling->seconds)
        return !filling->app->typed || !filling->app->typed(&input);
    filling->seconds = seconds;
    tui_app_say(filling->app, "trying %s, for %" PRId64 " s; any key stops",
                vs_text_get(&filling->trying), seconds);
    return tui_app_pump(filling->app);
}

/* Why the peak of a row, whose run is `memory`, is not below that of the run as recorded. Heap memory, or NULL. */
static char *reason_find(const struct filling *f, const struct wif_sweep_row *row,
                         struct rpl_trace *memory)
{
    struct rpl_summary after = {.events = 0};
    struct vs_error ignored = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    if (row->failed || row->no_effect || !row->fits || f->before.oom.event ||
        row->run.peak < f->before.peak.allocated || !rpl_trace_event_count(memory))
        return NULL;
    if (!rpl_summary_fill(&after, memory, &ignored))
        (void)!wif_why(&f->before, memory, &after, &row->set, &text, &ignored);
    rpl_summary_release(&after);
    if (text.len)
        return vs_text_take(&text);
    vs_text_release(&text);
    return NULL;
}

/* The first row is the run as recorded. */
static void on_done(void *user, const struct wif_sweep_row *row, struct rpl_trace *memory)
{
    struct filling *f = user;
    struct sweep *s = f->state;
    struct vs_error ignored = VS_ERROR_INIT;
    char *reason = NULL;

    if (s->reason_count)
        reason = reason_find(f, row, memory);
    else
        (void)!rpl_summary_fill(&f->before, memory, &ignored);
    s->reasons = vs_grow(s->reasons, s->reason_count, &s->reason_cap, sizeof(*s->reasons));
    s->reasons[s->reason_count++] = reason;
}

static void reasons_forget(struct sweep *s)
{
    while (s->reason_count)
        vs_free(s->reasons[--s->reason_count]);
}

/*
 * Fill the table. Where the program of the trace may run again all toggles that can be applied to one are tried, else
 * the allocator's settings alone.
 */
static void fill(struct sweep *s, struct tui_app *app)
{
    struct filling filling = {.state = s, .app = app};
    struct wif_sweep_options request = {.capacity = app->capacity,
                                        .batches = WIF_SWEEP_BATCHES_ALL,
                                        .must_train = true,
                                        .may_rerun = app->may_rerun,
                                        .cache = tui_change_cache(app),
                                        .next = on_next,
                                        .done = on_done,
                                        .progress = on_progress,
                                        .user = &filling};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st;

    wif_sweep_release(&s->results);
    memset(&s->results, 0, sizeof(s->results));
    reasons_forget(s);
    if (app->may_rerun)
        wif_cache_allow_rerun(tui_change_cache(app));
    st = wif_sweep_fill(&s->results, app->base.trace, &request, &err);
    rpl_summary_release(&filling.before);
    vs_text_release(&filling.trying);
    s->shown = &s->results;
    s->is_done = st == VS_OK;
    order_make(s);
    vs_text_clear(&app->message);
    if (st == VS_E_STOPPED)
        tui_app_say(app, "stopped; space tries again");
    else if (st)
        tui_app_fail(app, "%s", err.text);
    app->moves++;
}

/*
 * The table fills when the view is shown first; a recording that still grows would make it obsolete, and a program that
 * may run again would run for each row.
 */
static void opened(void *state, struct tui_app *app)
{
    struct sweep *s = state;

    if (!s->shown && !rpl_trace_is_program(app->base.trace) &&
        !(app->may_rerun && wif_recipe_is_in(app->base.trace)) &&
        (!app->is_following || rpl_trace_is_complete(app->base.trace))) {
        fill(s, app);
        if (s->is_done && wif_recipe_is_in(app->base.trace))
            tui_app_say(app, "these are the allocator's settings; space runs the recorded program "
                             "with the other toggles");
    }
}

/* Space: of a trace whose program can run again it may, once the user has agreed. */
static void fill_all(struct sweep *s, struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;

    if (wif_recipe_is_in(app->base.trace) && tui_program_agree(app, &err))
        tui_app_fail(app, "%s", err.text);
    else if (app->rerun.job)
        tui_app_fail(app, "the program runs in the background already; <C-c> stops it");
    else
        fill(s, app);
}

/* ---- contents of a row ---- */

/* What a row is compared with: the recorded toggles, run to the end even if memory ran out in the recording. */
static uint64_t recorded_peak(const struct sweep *s, const struct tui_app *app)
{
    if (app->base.oom)
        for (size_t i = 0; i < s->shown->count; i++)
            if (!*s->shown->items[i].label && !s->shown->items[i].failed)
                return s->shown->items[i].run.peak;
    return tui_change_recorded_peak(app);
}

/* Why item number `item` does not lower the peak; NULL: it does, or that is not known. */
static const char *why_of(const struct sweep *s, size_t item)
{
    const struct wif_sweep_row *t = &s->shown->items[item];

    if (t->failed || t->no_effect)
        return t->no_effect;
    return item < s->reason_count ? s->reasons[item] : NULL;
}

/* ---- the view ---- */

static size_t count_of(const struct sweep *s)
{
    return s->shown ? s->shown->count : 0;
}

/* Rows below the head; if the pane is high enough, the last lines show the chosen row in full. */
static int rows_h(int h)
{
    return h - 1 - (h >= WHOLE_MORE_H ? WHOLE_MORE : h >= WHOLE_MIN_H);
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct sweep *s = state;
    const struct wif_sweep_row *t = &s->shown->items[s->order[row]];
    const char *why = why_of(s, s->order[row]);
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s  %s", *t->label ? t->label : "(as recorded)",
                 t->failed ? tui_reason_short(app, t->reason) : vs_bytes_text(t->run.peak, buf));
    if (why)
        vs_text_addf(out, ": %s", why);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct sweep *s = state;
    struct vs_text all = {NULL, 0, 0};

    tui_list_fit(&s->list, count_of(s), rows_h(h));
    tui_page_clear(&s->whole);
    if (!count_of(s))
        return;
    text(s, app, s->list.at, &all);
    tui_page_wrap(&s->whole, w - 2, 0, TUI_STRONG, vs_text_get(&all));
    vs_text_release(&all);
}

/* Width of the longest toggle with its value in a label. */
static int toggle_width(const char *label)
{
    size_t most = 0;

    for (; *label; label += strspn(label, " ")) {
        size_t len = strcspn(label, " ");

        most = len > most ? len : most;
        label += len;
    }
    return (int)most;
}

/*
 * Where the figures begin, and which of them there are: the largest batch and recomputed operations stand where a row
 * has them and the toggles leave space for them. The last lines have the whole label of the chosen row.
 */
struct columns {
    int x;
    bool has_cost;
    bool has_batch;
};

static struct columns columns_of(const struct sweep *s, int w)
{
    struct columns columns = {.x = w - FIGURES_W};
    int label_w = 0;
    int toggle_w = 0;

    for (size_t i = 0; i < s->shown->count; i++) {
        const struct wif_sweep_row *t = &s->shown->items[i];

        columns.has_cost |= t->run.recompute_flops > 0;
        columns.has_batch |= t->batch > 0;
        if (t->failed)
            continue;
        label_w = label_w > tui_text_width(t->label) ? label_w : tui_text_width(t->label);
        toggle_w = toggle_w > toggle_width(t->label) ? toggle_w : toggle_width(t->label);
    }
    columns.has_batch &= w >= BATCH_MIN_W;
    columns.x -= columns.has_batch ? BATCH_W : 0;
    columns.has_cost &= w >= COST_MIN_W && NAME_X + toggle_w + 1 <= columns.x - COST_W;
    columns.x -= columns.has_cost ? COST_W : 0;
    /* near the labels where there is more space than these need */
    if (NAME_X + label_w + 1 < columns.x)
        columns.x = NAME_X + label_w + 1;
    return columns;
}

static void draw_head(const struct columns *columns, struct tui_canvas *c)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);
    int x = columns->x;

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text(c, NAME_X, 0, style, "change");
    tui_text_right(c, x, 0, 7, style, "peak");
    tui_text_right(c, x + 15, 0, 9, style, "%");
    x += 24;
    if (columns->has_cost)
        tui_text_right(c, x, 0, COST_W, style, "recomputed");
    x += columns->has_cost ? COST_W : 0;
    if (columns->has_batch)
        tui_text_right(c, x, 0, BATCH_W, style, "batch");
}

static void draw_cost(const struct wif_sweep_row *t, const struct columns *columns,
                      struct tui_canvas *c, int y)
{
    struct vs_text text = {NULL, 0, 0};
    int x = columns->x + 24;

    if (columns->has_cost && t->run.recompute_flops) {
        vs_text_addf(&text, "%.1f %%",
                     100.0 * (double)t->run.recompute_flops / (double)t->run.flops);
        tui_text_right(c, x, y, COST_W, tui_style(TUI_DIM), vs_text_get(&text));
    }
    x += columns->has_cost ? COST_W : 0;
    vs_text_clear(&text);
    if (columns->has_batch && t->batch) {
        vs_text_addf(&text, "%s%" PRIu64, t->is_batch_max ? ">=" : "", t->batch);
        tui_text_right(c, x, y, BATCH_W, tui_style(TUI_PLAIN), vs_text_get(&text));
    }
    vs_text_release(&text);
}

static void draw_try(const struct sweep *s, const struct tui_app *app, size_t item,
                     const struct columns *columns, struct tui_canvas *c, int y)
{
    const struct wif_sweep_row *t = &s->shown->items[item];
    const char *why = why_of(s, item);
    uint64_t recorded = recorded_peak(s, app);
    int x = columns->x;
    int64_t delta = (int64_t)(t->run.peak - recorded);
    char change[VS_CHANGE_TEXT_MAX];
    char buf[TUI_SHORT_MAX];
    enum tui_role role = delta < 0 ? TUI_GOOD : delta > 0 ? TUI_BAD : TUI_DIM;

    tui_put(c, 0, y, !t->failed && !t->fits ? '!' : ' ', tui_style(TUI_BAD));
    tui_put(c, 1, y, t->is_same ? '=' : ' ', tui_style(TUI_DIM));
    /* half of a toggle says nothing */
    tui_text_words(c, NAME_X, y, x - NAME_X - 1, tui_style(t->failed ? TUI_DIM : TUI_PLAIN),
                   *t->label ? t->label : "(as recorded)");
    if (t->failed || (!delta && why)) {
        /* a sentence needs more cells than the figures; it begins behind short labels */
        int from = NAME_X + tui_text_width(t->label) + 2;

        from = from < REASON_X ? REASON_X : from > x ? x : from;
        tui_text_cut(c, from, y, c->at.w - from, tui_style(TUI_DIM),
                     t->failed ? tui_reason_short(app, t->reason) : why);
        return;
    }
    tui_text_right(c, x, y, 7, tui_style(TUI_PLAIN), tui_short_bytes(t->run.peak, buf));
    if (t->is_cut) {
        tui_text_cut(c, x + 8, y, c->at.w - x - 8, tui_style(TUI_BAD), "until out of memory");
        return;
    }
    tui_text_right(c, x + 7, y, 8, tui_style(role), tui_short_delta(delta, buf));
    if (recorded)
        tui_text_right(c, x + 15, y, 9, tui_style(role),
                       vs_change_text((double)recorded, (double)t->run.peak, change));
    draw_cost(t, columns, c, y);
}

/* What the table will have, where it has no row yet. */
static void draw_nothing(const struct tui_app *app, struct tui_canvas *c)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "space runs %s;\nenter then shows the run of a row",
                 wif_recipe_is_in(app->base.trace)
                     ? "the recorded program again with each toggle alone, and with the best ones "
                       "combined"
                 : rpl_trace_source_text(app->base.trace)
                     ? "the net with each toggle alone, and with the best ones combined"
                     : "the recorded requests with other settings of the allocator");
    tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct sweep *s = state;
    struct tui_canvas below = tui_canvas_part(
        c, (struct tui_rect){0, rows_h(c->at.h) + 1, c->at.w, c->at.h - rows_h(c->at.h) - 1});
    struct tui_canvas table = tui_table_canvas(c, TABLE_W);
    struct columns columns;

    if (!count_of(s)) {
        draw_nothing(app, c);
        return;
    }
    columns = columns_of(s, table.at.w);
    draw_head(&columns, &table);
    for (int y = 1; y <= rows_h(c->at.h); y++) {
        size_t row = s->list.top + (size_t)y - 1;

        if (row >= count_of(s))
            break;
        draw_try(s, app, s->order[row], &columns, &table, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
    tui_page_draw(&s->whole, &below, false);
}

/* Run a what-if with the toggles of a row. */
static void show(struct sweep *s, struct tui_app *app)
{
    const struct wif_sweep_row *t = &s->results.items[s->order[s->list.at]];
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_OK;

    for (int i = 0; i < VS_TOGGLE_COUNT && !st; i++) {
        enum vs_toggle toggle = (enum vs_toggle)i;

        if (vs_toggles_is_set(&t->set, toggle))
            st = tui_change_put(app, &set, toggle, vs_toggles_get(&t->set, toggle), &err);
    }
    if (st) {
        tui_app_fail(app, "%s", err.text);
    } else {
        vs_toggles_copy(&app->change.set, &set);
        tui_app_change(app);
    }
    vs_toggles_release(&set);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct sweep *s = state;

    (void)count;
    if (action == TUI_ACT) {
        fill_all(s, app);
        if (s->is_done && !app->is_bad)
            tui_app_say(app, "all toggles were tried; enter shows the run of a row");
    } else if (action == TUI_OPEN && count_of(s)) {
        show(s, app);
    } else {
        return false;
    }
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct sweep *s = state;

    char buf[VS_BYTES_TEXT_MAX];

    if (!count_of(s))
        return;
    vs_text_addf(out, "%zu%s; = keeps every result bit by bit", count_of(s),
                 s->is_done ? "" : " so far");
    if (app->capacity)
        vs_text_addf(out, "; ! too large for %s", vs_bytes_text(app->capacity, buf));
}

static void release(void *state)
{
    struct sweep *s = state;

    wif_sweep_release(&s->results);
    reasons_forget(s);
    vs_free(s->reasons);
    tui_page_release(&s->whole);
    vs_free(s->order);
}

static const struct tui_hint HINTS[] = {
    {"space", "try all"},
    {"enter", "show"},
    {"gw", "toggles"},
    {NULL, NULL},
};

const struct tui_view tui_view_sweep = {
    .name = "sweep",
    .title = "what helps",
    .letter = 'W',
    .scope = TUI_IN_SWEEP,
    .go = TUI_GO_SWEEP,
    .help =
        "The net runs with each toggle alone and with the best ones combined; any key stops "
        "it, space goes on. A recorded program runs again for each row, once you have agreed. What "
        "lowers the peak comes first, by what it costs: nothing, time, "
        "other "
        "rounding, other training. Enter shows the run of a row. = keeps losses and gradients "
        "bit by bit; ! does "
        "not fit the device; batch: the largest batch that fits.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct sweep),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .opened = opened,
    .title_more = title_more,
    .release = release,
};
