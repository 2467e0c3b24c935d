/*
 * tui/screen.c - see screen.h.
 *
 * Must not know:  terminals, what a view shows.
 * Invariant:      the same session gives the same cells.
 */
#include "tui/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_name.h"
#include "replay/report/dropped.h"
#include "tui/change.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/program.h"
#include "tui/term/surface_text.h"

/* In a header of fewer cells only the name fits. */
#define NAME_ALONE_W 24

/* Width of one entry of the list of possible continuations of a key sequence. */
#define WAY_ON_W 20

/* Keys that the last row shows behind those of the view, most useful first; cut where the row ends. */
static const struct tui_hint HINTS[] = {
    {"gp", "peak"},       {"gw", "what-if"},    {"]/[", "layer"},     {"i/I", "event"},
    {"tab", "pane"},      {"/", "find"},        {":", "cmd"},         {"q", "quit"},
    {"gk", "what fills"}, {"gW", "what helps"}, {")/(", "phase"},     {"}/{", "step"},
    {"c/C", "run"},       {"b", "breakpoint"},  {"%", "alloc<>free"}, {"m", "mark"},
    {"+/-", "zoom"},      {"Y", "copy"},        {NULL, NULL},
};

/* ---- header ---- */

/* What the header says of the run and of the event, behind the run's name. */
static void add_state(const struct tui_app *app, bool is_short, struct vs_text *text)
{
    const struct tui_run *run = tui_app_run(app);
    struct rpl_here here = rpl_cursor_here(run->cursor);

    if (!rpl_trace_is_complete(app->base.trace) && app->is_following)
        vs_text_add(text, is_short ? "  rec" : "  recording");
    else if (!rpl_trace_is_complete(app->base.trace))
        vs_text_add(text, is_short ? "  cut" : "  cut off");
    /* a step's first phase begins after it */
    if (app->at && here.event.kind == VS_EV_STEP && here.step >= 0)
        vs_text_addf(text, "  step %" PRId64, here.step);
    else if (app->at && here.step >= 0)
        vs_text_addf(text, "  step %" PRId64 " %s", here.step, vs_phase_name(here.phase));
    else if (app->at)
        vs_text_addf(text, "  %s", rpl_phase_name(run->trace, here.step, here.phase));
    if (rpl_trace_device_count(app->base.trace))
        vs_text_addf(text, "  device %" PRIu64 " of %zu",
                     rpl_trace_device(app->base.trace, rpl_trace_device_now(app->base.trace)),
                     rpl_trace_device_count(app->base.trace));
    if (rpl_trace_meta(app->base.trace, "partial"))
        vs_text_add(text, "  imported in part");
    if (app->rerun.job) {
        vs_text_add(text, "  ");
        tui_program_text(app, text);
    }
}

/* Is this the view that has the keys? */
static bool tab_is_focus(const struct tui_app *app, size_t i)
{
    return app->panes[app->focus] == (int)i;
}

/* How many tabs have their name beside their letter. */
enum tabs {
    TABS_CLOSE,   /* none, and no blanks between the letters */
    TABS_LETTERS, /* none */
    TABS_FOCUS,   /* the tab of the focused view */
    TABS_NAMES
};

static bool tab_is_long(const struct tui_app *app, enum tabs tabs, size_t i)
{
    return tabs == TABS_NAMES || (tabs == TABS_FOCUS && tab_is_focus(app, i));
}

static int tab_width(const struct tui_app *app, enum tabs tabs, size_t i)
{
    if (tab_is_long(app, tabs, i))
        return tui_text_width(tui_view_at(i)->name) + 3;
    return tabs == TABS_CLOSE ? 1 : 2;
}

static int tabs_width(const struct tui_app *app, enum tabs tabs)
{
    int w = 0;

    for (size_t i = 0; tui_view_at(i); i++)
        w += tab_width(app, tabs, i);
    return w;
}

/*
 * As many as leave two fifths of the row for the name of the trace and the current event, and more where the header
 * says more of the trace than these: it does so whatever the event is, so that a step moves no tab.
 */
static enum tabs tabs_of(const struct tui_app *app)
{
    const struct rpl_trace *trace = app->base.trace;
    const bool says_more = rpl_trace_device_count(trace) || !rpl_trace_is_complete(trace) ||
                           rpl_trace_meta(trace, "partial") || app->rerun.job;
    enum tabs tabs = TABS_NAMES;

    while (tabs != TABS_CLOSE && tabs_width(app, tabs) >= app->w * 3 / 5)
        tabs--;
    return tabs == TABS_LETTERS && says_more ? TABS_CLOSE : tabs;
}

/* Column at which the tabs begin, right-aligned. */
static int tabs_from(const struct tui_app *app)
{
    return app->w - tabs_width(app, tabs_of(app)) - 1;
}

int tui_screen_tab_at(const struct tui_app *app, int x)
{
    int at = tabs_from(app);

    for (size_t i = 0; tui_view_at(i); i++) {
        int w = tab_width(app, tabs_of(app), i);

        if (x >= at && x < at + w)
            return (int)i;
        at += w;
    }
    return -1;
}

static void draw_tabs(const struct tui_app *app, struct tui_canvas *c)
{
    const enum tabs tabs = tabs_of(app);
    int x = tabs_from(app);

    if (x > 1)
        tui_put(c, x - 1, 0, 'g', tui_style(TUI_BAR));
    for (size_t i = 0; tui_view_at(i); i++) {
        const struct tui_view *view = tui_view_at(i);
        unsigned marks = tab_is_focus(app, i) ? TUI_REVERSE : 0;

        tui_put(c, x, 0, (unsigned char)view->letter, tui_style_marked(TUI_BAR_KEY, marks));
        x++;
        if (tab_is_long(app, tabs, i))
            x = tui_textf(c, x, 0, tui_style_marked(TUI_BAR, marks), " %s", view->name);
        x += tabs != TABS_CLOSE;
    }
}

static void add_peak(const struct tui_app *app, struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    char buf[VS_BYTES_TEXT_MAX];

    if (!run->top.event) {
        vs_text_add(out, "nothing was allocated");
        return;
    }
    if (run->oom)
        vs_text_addf(out, "OUT OF MEMORY @%" PRIu64 ": %s refused  ", run->oom,
                     vs_bytes_text(run->oom_bytes, buf));
    vs_text_addf(out, "peak %s @%" PRIu64, vs_bytes_text(run->top.allocated, buf), run->top.event);
    if (app->capacity)
        vs_text_addf(out, " (%.0f %% of %s)",
                     100.0 * (double)run->top.allocated / (double)app->capacity,
                     vs_bytes_text(app->capacity, buf));
}

/* less: 1 without the most that was ever reserved, 2 without reserved bytes, 3 without the share of the peak. */
static void add_here(const struct tui_app *app, int less, struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_live *live = rpl_cursor_live(run->cursor);
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "here %s", vs_bytes_text(live->allocated, buf));
    if (run->top.allocated && less < 3)
        vs_text_addf(out, " (%.0f %%)",
                     100.0 * (double)live->allocated / (double)run->top.allocated);
    if (less < 2)
        vs_text_addf(out, "  reserved %s now", tui_short_bytes(live->reserved, buf));
    if (less < 1)
        vs_text_addf(out, ", most %s", tui_short_bytes(run->reserved_max, buf));
}

/* Which of the two runs is shown. */
static void add_run_name(const struct tui_app *app, struct vs_text *out)
{
    const struct tui_change *change = &app->change;
    bool has_second = change->name || change->second.trace;

    if (change->is_shown && change->name) {
        vs_text_add(out, change->name);
    } else if (change->is_shown) {
        vs_text_add(out, "what if ");
        tui_change_text(app, out);
    } else {
        vs_text_add(out, has_second ? app->name : "as recorded");
    }
}

/* Draw the second row: the current event and the figures. */
static void draw_figures(const struct tui_app *app, struct tui_canvas *c)
{
    struct vs_text text = {NULL, 0, 0};
    int x = 1;

    if (app->change.is_run) {
        add_run_name(app, &text);
        x = tui_textf(c, x, 1, tui_style_marked(TUI_BAR_STRONG, TUI_REVERSE), " %s ",
                      vs_text_get(&text)) +
            1;
        vs_text_clear(&text);
    }
    add_peak(app, &text);
    x = tui_text(c, x, 1, tui_style(TUI_BAR_STRONG), vs_text_get(&text)) + 2;
    vs_text_clear(&text);
    for (int less = 0; less < 4 && (!less || tui_text_width(vs_text_get(&text)) >= app->w - x);
         less++) {
        vs_text_clear(&text);
        add_here(app, less, &text);
    }
    /* a part of a figure says something else */
    if (tui_text_width(vs_text_get(&text)) < app->w - x)
        tui_text(c, x, 1, tui_style(TUI_BAR), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw_header(const struct tui_app *app, struct tui_canvas *c)
{
    int from = tabs_from(app) - 2;
    const int name_all = tui_text_width(app->name);
    struct vs_text text = {NULL, 0, 0};
    int name_w;
    int least;

    tui_fill(c, (struct tui_rect){0, 0, app->w, 2}, tui_style(TUI_BAR));
    draw_tabs(app, c);
    /*
     * A long name is shortened to a third of the width, or to a fifth where what follows is shortened as well; its end
     * is kept, as it has the device.
     */
    add_state(app, false, &text);
    least = from <= NAME_ALONE_W ? from - 1 : (from - 1) / 3;
    least = least > name_all ? name_all : least;
    if (least + tui_text_width(vs_text_get(&text)) > from - 1) {
        vs_text_clear(&text);
        add_state(app, true, &text);
        least = from <= NAME_ALONE_W ? least : (from - 1) / 5;
    }
    name_w = from - 1 - tui_text_width(vs_text_get(&text));
    name_w = name_w < least ? least : name_w;
    name_w = name_w > name_all ? name_all : name_w;
    tui_text_tail(c, 1, 0, name_w, tui_style(TUI_BAR_STRONG), app->name);
    tui_text_cut(c, 1 + name_w, 0, from - 1 - name_w, tui_style(TUI_BAR_STRONG),
                 vs_text_get(&text));
    vs_text_release(&text);
    draw_figures(app, c);
}

/* ---- panes ---- */

static void draw_title(const struct tui_app *app, struct tui_canvas *c, int pane)
{
    const struct tui_view *view = tui_view_at((size_t)app->panes[pane]);
    bool is_focus = pane == app->focus;
    struct vs_text more = {NULL, 0, 0};
    int x;

    tui_row(c, 0, 0, c->at.w, TUI_G_HLINE, tui_style(TUI_LINE));
    x = tui_textf(c, 1, 0, tui_style(is_focus ? TUI_TITLE_FOCUS : TUI_TITLE), " %s ", view->title);
    if (view->title_more)
        view->title_more(app->view_state[app->panes[pane]], app, &more);
    if (more.len) {
        int w;

        vs_text_add_char(&more, ' ');
        w = tui_text_width(vs_text_get(&more));
        tui_text_cut(c, x, 0, w < c->at.w - x ? w : c->at.w - x, tui_style(TUI_DIM),
                     vs_text_get(&more));
    }
    vs_text_release(&more);
}

static void draw_panes(const struct tui_app *app, struct tui_surface *surface)
{
    const struct tui_layout *layout = &app->layout;

    for (int i = 0; i < layout->pane_count; i++) {
        const struct tui_view *view = tui_view_at((size_t)app->panes[i]);
        struct tui_canvas c = tui_canvas_of(surface, layout->panes[i]);
        struct tui_canvas body = tui_canvas_part(&c, (struct tui_rect){0, 1, c.at.w, c.at.h - 1});

        draw_title(app, &c, i);
        view->draw(app->view_state[app->panes[i]], app, &body, i == app->focus);
    }
    for (int i = 0; i < layout->wall_count; i++) {
        struct tui_canvas c = tui_canvas_of(surface, layout->walls[i]);

        tui_column(&c, 0, 0, c.at.h, TUI_G_VLINE, tui_style(TUI_LINE));
        tui_put_glyph(&c, 0, 0, layout->walls[i].y > 2 ? TUI_G_CROSS : TUI_G_TEE_DOWN,
                      tui_style(TUI_LINE));
    }
}

/* ---- the last rows ---- */

/* A message that is longer than its row goes on in the row of the keys; a longer one begins above. */
static void draw_message(const struct tui_app *app, struct tui_surface *surface, int w)
{
    struct tui_style style = tui_style(app->is_bad ? TUI_BAD : TUI_STRONG);
    const char *text = vs_text_get(&app->message);
    struct tui_rect at = {0, app->layout.status.y, app->w, 2};
    int rows = tui_text_rows(w - 2, text);
    struct tui_canvas c;

    if (rows > at.h) {
        at.y -= rows - at.h;
        if (at.y < app->layout.header.h)
            at.y = app->layout.header.h;
        at.h = app->h - at.y;
    }
    c = tui_canvas_of(surface, at);
    tui_fill(&c, (struct tui_rect){0, 0, at.w, rows < at.h ? rows : at.h}, tui_style(TUI_PLAIN));
    tui_text_wrap(&c, 1, 0, w - 2, style, text);
}

static void draw_status(const struct tui_app *app, struct tui_surface *surface)
{
    struct tui_canvas c = tui_canvas_of(surface, app->layout.status);
    struct vs_text text = {NULL, 0, 0};
    int w = c.at.w;

    if (app->prompt.kind) {
        tui_put(&c, 0, 0, (unsigned char)app->prompt.kind, tui_style(TUI_STRONG));
        tui_text(&c, 1, 0, tui_style(TUI_PLAIN), vs_text_get(&app->prompt.text));
        return;
    }
    tui_pending_text(&app->pending, &text);
    if (text.len)
        w -= 12;
    if (app->message.len) {
        draw_message(app, surface, w);
    } else {
        struct vs_text where = {NULL, 0, 0};

        tui_where_text(app, w - 2, &where);
        tui_text_cut(&c, 1, 0, w - 2, tui_style(TUI_PLAIN), vs_text_get(&where));
        vs_text_release(&where);
    }
    if (text.len)
        tui_text(&c, w + 1, 0, tui_style(TUI_KEY_NAME), vs_text_get(&text));
    vs_text_release(&text);
}

/* Returns where the next one begins: past the edge where this one did not fit. */
static int draw_hint(const struct tui_app *app, struct tui_canvas *c, int x,
                     const struct tui_hint *hint)
{
    struct vs_text keys = {NULL, 0, 0};
    int keys_w;
    int w;

    tui_keymap_hint(&app->config.keys, tui_app_focused(app)->scope, hint->keys, &keys);
    keys_w = tui_text_width(vs_text_get(&keys));
    w = keys_w + tui_text_width(hint->word) + 3;
    if (x + w <= c->at.w) {
        tui_text(c, x, 0, tui_style(TUI_BAR_KEY), vs_text_get(&keys));
        tui_text(c, x + keys_w + 1, 0, tui_style(TUI_BAR), hint->word);
        x += w;
    } else {
        x = c->at.w;
    }
    vs_text_release(&keys);
    return x;
}

static bool has_hint(const struct tui_hint *hints, const char *keys)
{
    for (; hints && hints->keys; hints++)
        if (strcmp(hints->keys, keys) == 0)
            return true;
    return false;
}

/* Without those that `before` has, which may be NULL, and without the keys that show the view in which they stand. */
static int draw_hints(const struct tui_app *app, struct tui_canvas *c, int x,
                      const struct tui_hint *hints, const struct tui_hint *before)
{
    const char go[] = {'g', tui_app_focused(app)->letter, '\0'};

    for (; hints && hints->keys && x < c->at.w; hints++)
        if (!has_hint(before, hints->keys) && strcmp(hints->keys, go) != 0)
            x = draw_hint(app, c, x, hints);
    return x;
}

static void draw_keys(const struct tui_app *app, struct tui_canvas *c)
{
    static const struct tui_hint HELP = {"?", "help"};
    static const struct tui_hint OP = {"s/S", "op"}; /* a trace without a net has none */
    const struct tui_view *view = tui_app_focused(app);
    int x = 1;

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, tui_style(TUI_BAR));
    if (app->prompt.kind && app->message.len) {
        tui_text_cut(c, 1, 0, c->at.w - 2, tui_style(TUI_BAR), vs_text_get(&app->message));
        return;
    }
    x = draw_hint(app, c, x, &HELP);
    x = draw_hints(app, c, x, view->hints, NULL);
    if (rpl_trace_source_text(app->base.trace)) {
        x = draw_hints(app, c, x, view->net_hints, NULL);
        x = draw_hint(app, c, x, &OP);
    }
    draw_hints(app, c, x, HINTS, view->hints);
}

/* ---- how a sequence that was begun goes on ---- */

/* One cell of the list: the keys, and what they are for, which is not short where there is no command of that name. */
static void draw_way_on(struct tui_canvas *c, size_t i, const char *keys, const char *word,
                        bool is_short)
{
    size_t columns = (size_t)(c->at.w / WAY_ON_W);
    int x = 1 + (int)(i % columns) * WAY_ON_W;
    int y = (int)(i / columns);
    int w = tui_text_width(keys);

    tui_text(c, x, y, tui_style(TUI_BAR_KEY), keys);
    x += w + 1;
    tui_text_cut(c, x, y, is_short ? WAY_ON_W - w - 2 : c->at.w - x - 1, tui_style(TUI_BAR), word);
}

/* The keys that expect the letter of a mark: the existing marks are listed, too. */
static bool is_mark(const struct tui_pending *pending)
{
    return pending->len == 1 && pending->keys[0] == '\'';
}

/* Lists all continuations of the pending keys, on the canvas if there is one; returns their number. */
static size_t ways_on(const struct tui_app *app, struct tui_canvas *c)
{
    unsigned scope = tui_app_focused(app)->scope;
    size_t count = 0;

    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        enum tui_action action = (enum tui_action)i;
        const struct tui_action_info *info = tui_action_info(action);
        struct vs_text keys = {NULL, 0, 0};

        if (tui_keys_way_on(&app->config.keys, &app->pending, action, scope, &keys)) {
            if (c)
                draw_way_on(c, count, vs_text_get(&keys), *info->name ? info->name : info->help,
                            *info->name != 0 || is_mark(&app->pending));
            count++;
        }
        vs_text_release(&keys);
    }
    for (size_t i = 0; is_mark(&app->pending) && i < rpl_marks_count(app->marks); i++, count++) {
        const struct rpl_mark *mark = rpl_marks_at(app->marks, i);
        char word[WAY_ON_W * 2];

        snprintf(word, sizeof(word), "@%" PRIu64 " %s", mark->seq, mark->note);
        if (c)
            draw_way_on(c, count, mark->key, word, true);
    }
    return count;
}

/* Draw the list over the rows above the last ones. */
static void draw_ways_on(const struct tui_app *app, struct tui_surface *surface)
{
    int columns = app->w / WAY_ON_W;
    int rows = columns ? (int)(ways_on(app, NULL) + (size_t)columns - 1) / columns : 0;
    struct tui_rect at = {0, app->layout.status.y - rows, app->w, rows};
    struct tui_canvas c;

    if (!rows || at.y < app->layout.header.h)
        return;
    c = tui_canvas_of(surface, at);
    tui_fill(&c, (struct tui_rect){0, 0, at.w, at.h}, tui_style(TUI_BAR));
    (void)ways_on(app, &c);
}

bool tui_screen_cursor(const struct tui_app *app, int *x, int *y)
{
    char *head;

    if (!app->prompt.kind || app->layout.is_too_small)
        return false;
    head = vs_strndup(vs_text_get(&app->prompt.text), app->prompt.at);
    *x = 1 + tui_text_width(head);
    *y = app->layout.status.y;
    vs_free(head);
    if (*x >= app->w)
        *x = app->w - 1;
    return true;
}

/* Two rows, as the terminal may be narrow; of few columns without the words that go without saying. */
static void draw_too_small(const struct tui_app *app, struct tui_canvas *c)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "too small: %dx%d", app->w, app->h);
    tui_text(c, 0, 0, tui_style(TUI_PLAIN),
             tui_text_width(vs_text_get(&text)) <= app->w ? vs_text_get(&text) : "too small");
    vs_text_clear(&text);
    vs_text_addf(&text, "needed: %dx%d", TUI_MIN_W, TUI_MIN_H);
    tui_text(c, 0, 1, tui_style(TUI_PLAIN),
             tui_text_width(vs_text_get(&text)) <= app->w
                 ? vs_text_get(&text)
                 : vs_text_get(&text) + strlen("needed: "));
    vs_text_release(&text);
}

void tui_screen_draw(const struct tui_app *app, struct tui_surface *surface)
{
    struct tui_canvas c = tui_canvas_of(surface, (struct tui_rect){0, 0, app->w, app->h});

    tui_surface_clear(surface);
    if (app->layout.is_too_small) {
        draw_too_small(app, &c);
        return;
    }
    c = tui_canvas_of(surface, app->layout.header);
    draw_header(app, &c);
    draw_panes(app, surface);
    if (app->pending.len)
        draw_ways_on(app, surface);
    c = tui_canvas_of(surface, app->layout.keys);
    draw_keys(app, &c);
    draw_status(app, surface);
}

void tui_pane_text(const struct tui_app *app, struct vs_text *out)
{
    struct tui_surface surface;

    tui_surface_init(&surface, app->w, app->h, app->is_ascii);
    tui_screen_draw(app, &surface);
    if (app->layout.pane_count)
        tui_surface_text(&surface, app->layout.panes[app->focus], out);
    tui_surface_release(&surface);
}
