/*
 * tui/views/view_breakpoints.c - breakpoints, watchpoints, and marks with their notes.
 *
 * Must not know:  terminals, what a condition means.
 * Invariant:      the rows of breakpoints come first, then those of marks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/page.h"
#include "tui/views.h"

/* break_count: number of rows with breakpoints; those with marks follow. Only the recorded run has marks. */
struct breaks {
    struct tui_page page;
    size_t break_count;
};

/* What the block of a condition is: "block 30" says nothing to a reader. */
static void add_block(struct tui_page *page, const struct tui_run *run, const char *condition)
{
    static const char WORD[] = "block ";
    const char *at = strstr(condition, WORD);
    struct vs_text name = {NULL, 0, 0};

    if (at)
        tui_block_anywhere(run, strtoull(at + strlen(WORD), NULL, 10), &name);
    if (name.len)
        tui_page_more(page, 0, TUI_DIM, "  %s", vs_text_get(&name));
    vs_text_release(&name);
}

static void add_break(struct tui_page *page, const struct tui_run *run,
                      const struct rpl_breakpoint *b)
{
    tui_page_add(page, b->is_on ? TUI_BAD : TUI_DIM, b->is_on ? "\xE2\x97\x8F" : "\xE2\x97\x8B");
    tui_page_more(page, 2, TUI_LINE_NUMBER, "%3" PRIu32, b->number);
    tui_page_more(page, 7, b->is_on ? TUI_PLAIN : TUI_DIM, "%s %s",
                  b->is_watch ? "watch" : "breakpoint", b->text);
    add_block(page, run, b->text);
}

/* The row of a mark of the recorded run: its note, and the op that ran there. */
static void add_mark(struct tui_page *page, const struct tui_app *app, const struct rpl_mark *mark)
{
    const struct rpl_trace *trace = app->base.trace;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event event;
    const struct vs_location *location;
    const char *op;
    const char *module;

    tui_page_add(page, TUI_KEY_NAME, "'%s", mark->key)->seq = mark->seq;
    tui_page_more(page, 7, TUI_PLAIN, "@%" PRIu64 "  %s", mark->seq, mark->note);
    if (!mark->seq || mark->seq > app->base.events ||
        rpl_index_event(app->base.index, mark->seq, &event, &err))
        return;
    location = rpl_trace_location(trace, event.location);
    op = rpl_trace_string(trace, location->op);
    module = rpl_trace_string(trace, location->module);
    tui_page_more(page, 0, TUI_DIM, "%s%s%s%s%s%s", *mark->note ? "  " : "",
                  event.location ? vs_phase_name((enum vs_phase)location->phase)
                                 : vs_event_kind_name((enum vs_event_kind)event.kind),
                  *op ? ", " : "", op, *module ? " of " : "", module);
    if (location->line)
        tui_page_more(page, 0, TUI_DIM, ", line %" PRIu32, location->line);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct breaks *s = state;
    const struct rpl_breakpoints *breaks = tui_app_run(app)->breaks;

    (void)w;
    tui_page_clear(&s->page);
    s->break_count = rpl_breakpoints_count(breaks);
    for (size_t i = 0; i < s->break_count; i++)
        add_break(&s->page, tui_app_run(app), rpl_breakpoints_at(breaks, i));
    for (size_t i = 0; i < rpl_marks_count(app->marks); i++)
        add_mark(&s->page, app, rpl_marks_at(app->marks, i));
    tui_list_fit(&s->page.list, s->page.count, h);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct breaks *s = state;

    (void)app;
    if (s->page.count)
        tui_page_draw(&s->page, c, is_focused);
    else
        tui_text_wrap(
            c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
            "none: b sets one on this line, `:break total > 1G` on a size; ma sets a mark");
}

/* Space: enable or disable. x: delete. */
static void change_break(struct breaks *s, struct tui_app *app, enum tui_action action)
{
    struct rpl_breakpoints *breaks = tui_app_run(app)->breaks;
    struct rpl_breakpoint *b =
        rpl_breakpoints_get(breaks, rpl_breakpoints_at(breaks, s->page.list.at)->number);

    if (action == TUI_HIDE)
        rpl_breakpoints_remove(breaks, b->number);
    else
        b->is_on = !b->is_on;
}

static void change_mark(struct breaks *s, struct tui_app *app, enum tui_action action)
{
    const struct rpl_mark *mark = rpl_marks_at(app->marks, s->page.list.at - s->break_count);

    if (action != TUI_HIDE) {
        tui_app_go(app, tui_app_map_recorded(app, mark->seq), true);
        tui_app_say(app, *mark->note ? "mark %s: %s" : "mark %s", mark->key, mark->note);
    } else {
        rpl_marks_remove(app->marks, mark->key);
    }
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct breaks *s = state;

    (void)count;
    if (!s->page.count || (action != TUI_ACT && action != TUI_HIDE && action != TUI_OPEN))
        return false;
    if (s->page.list.at < s->break_count)
        change_break(s, app, action);
    else
        change_mark(s, app, action);
    app->moves++;
    return true;
}

static const struct tui_hint HINTS[] = {
    {"enter", "go there"},
    {"space", "on/off"},
    {"c/C", "run"},
    {NULL, NULL},
};

const struct tui_view tui_view_breakpoints = {
    .name = "breakpoints",
    .title = "breakpoints, watches, marks",
    .letter = 'B',
    .scope = TUI_IN_BREAKS,
    .go = TUI_BREAK_LIST,
    .help =
        "Space switches a breakpoint on or off, or goes to a mark. x deletes the row. c runs to "
        "the next hit, C runs backwards to the previous one. `:break op ~ conv and size > 1M`, "
        "`:watch tensor x`, `:note a why`.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct breaks),
    .is_list = true,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = tui_page_view_text,
    .release = tui_page_view_release,
};
