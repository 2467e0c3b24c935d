/*
 * tui/views/view_ops.c - the ops of the run, one per row, with the effect of each on memory.
 *
 * Must not know:  terminals.
 * Invariant:      only the ops that are shown are read, however many there are.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/step.h"
#include "replay/trace/work.h"
#include "tui/app.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "tui/views/op_search.h"
#include "tui/waiting.h"

#define NAME_MIN_W 14
#define MODULE_MIN_W 56
/* Width of the columns of figures: change, peak inside, after. */
#define CHANGE_W 7
#define PEAK_W 12
#define AFTER_W 7
#define BYTES_W 27
#define TIME_W 8
/* Width of the table on a wide screen. */
#define TABLE_W 100

/*
 * list      one row for each op; row `at` is op number at + 1
 * ops       the ops of rows first … first + filled - 1
 * work      GPU times of the trace `timed`, read when it had timed_events events
 * current   row of the op that runs at the cursor; SIZE_MAX: none
 */
struct ops {
    struct tui_list list;
    struct rpl_op *ops;
    size_t ops_cap;
    size_t first;
    size_t filled;
    struct rpl_work work;
    const struct rpl_trace *timed;
    uint64_t timed_events;
    size_t current;
    uint64_t moves;
    uint64_t at;
};

/* A what-if has no measured times; those of a recording are known when it is over. */
static void times_load(struct ops *s, struct tui_app *app, const struct tui_run *run)
{
    uint64_t events = rpl_trace_event_count(run->trace);
    struct vs_error err = VS_ERROR_INIT;

    if (s->timed == run->trace && s->timed_events == events)
        return;
    rpl_work_release(&s->work);
    if (rpl_work_fill_times(&s->work, run->trace, &err))
        tui_app_fail(app, "%s", err.text);
    s->timed = run->trace;
    s->timed_events = events;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct ops *s = state;
    const struct tui_run *run = tui_app_run(app);
    size_t total = (size_t)rpl_step_total(run->index, RPL_VERB_OP);
    struct vs_error err = VS_ERROR_INIT;
    uint64_t number = 0;

    (void)w;
    times_load(s, app, run);
    s->list.height = h > 1 ? (size_t)h - 1 : 1;
    if (s->moves != app->moves) {
        if (rpl_step_number(run->index, RPL_VERB_OP, app->at, &number, &err))
            tui_app_fail(app, "%s", err.text);
        s->current = number ? (size_t)number - 1 : SIZE_MAX;
        if (s->at != app->at && number)
            tui_list_go(&s->list, s->current);
        s->filled = 0;
        s->moves = app->moves;
        s->at = app->at;
    }
    tui_list_fit(&s->list, total, h - 1);
    if (!total || (s->filled && s->first == s->list.top && s->filled >= s->list.height))
        return;
    if (s->ops_cap < s->list.height) {
        s->ops_cap = s->list.height;
        s->ops = vs_realloc(s->ops, s->ops_cap, sizeof(*s->ops));
    }
    s->first = s->list.top;
    if (rpl_step_ops(run->index, s->first + 1, s->list.height, s->ops, &s->filled, &err)) {
        s->filled = 0;
        tui_app_fail(app, "%s", err.text);
    }
}

/* Change of the allocated bytes by the op, and the peak during it. */
static void draw_bytes(const struct rpl_op *op, struct tui_canvas *c, int y)
{
    int x = c->at.w - BYTES_W;
    char buf[TUI_SHORT_MAX];
    int64_t delta = (int64_t)(op->after - op->before);

    tui_text_right(c, x, y, CHANGE_W,
                   tui_style(delta > 0   ? TUI_BAD
                             : delta < 0 ? TUI_GOOD
                                         : TUI_DIM),
                   tui_short_delta(delta, buf));
    if (op->highest > op->after && op->highest > op->before)
        tui_text_right(c, x + CHANGE_W, y, PEAK_W, tui_style(TUI_DIM),
                       tui_short_delta((int64_t)(op->highest - op->before), buf));
    tui_text_right(c, x + CHANGE_W + PEAK_W, y, AFTER_W, tui_style(TUI_PLAIN),
                   tui_short_bytes(op->after, buf));
}

/* Whether rows show GPU times: some were measured, and the view is wide enough. */
static bool shows_times(const struct ops *s, const struct tui_canvas *c)
{
    return s->work.time_count > 0 && c->at.w >= MODULE_MIN_W;
}

static void draw_time(const struct ops *s, const struct rpl_op *op, struct tui_canvas *c, int y)
{
    uint64_t ns = rpl_work_ns(&s->work, op->seq);
    char buf[TUI_SHORT_MAX];

    if (ns)
        tui_text_right(c, c->at.w - BYTES_W - TIME_W, y, TIME_W, tui_style(TUI_PLAIN),
                       tui_short_ns(ns, buf));
}

static void draw_op(const struct ops *s, const struct tui_run *run, const struct rpl_op *op,
                    bool is_current, struct tui_canvas *c, int y)
{
    static const char *const ROLES[] = {" ", "<", "r"};
    const struct vs_location *location = rpl_trace_location(run->trace, op->location);
    int names_w = c->at.w - BYTES_W - 10 - (shows_times(s, c) ? TIME_W : 0);
    const char *module = rpl_trace_string(run->trace, location->module);
    /* an op outside of all modules has the whole width */
    int name_w = c->at.w >= MODULE_MIN_W && *module ? names_w * 2 / 5 : names_w;
    struct tui_style style = tui_style(is_current ? TUI_STRONG : TUI_PLAIN);
    int x = 10;

    tui_textf(c, 1, y, tui_style(TUI_LINE_NUMBER), "%6" PRIu64, op->number);
    if (is_current)
        tui_put_glyph(c, 8, y, TUI_G_RIGHT, tui_style(TUI_CURSOR));
    else
        tui_text(c, 8, y, tui_style(op->role == 2 ? TUI_CAT_CHECKPOINT : TUI_DIM),
                 ROLES[op->role <= 2 ? op->role : 0]);
    tui_text_cut(c, x + op->depth % 4, y, name_w - 1 - op->depth % 4, style,
                 rpl_trace_string(run->trace, op->name));
    if (name_w < names_w)
        tui_text_tail(c, x + name_w, y, names_w - name_w - 1, tui_style(TUI_DIM), module);
    if (shows_times(s, c))
        draw_time(s, op, c, y);
    draw_bytes(op, c, y);
}

static void draw_head(const struct ops *s, struct tui_canvas *c)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);
    int x = c->at.w - BYTES_W;

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text_right(c, 1, 0, 6, style, "op");
    tui_text(c, 10, 0, style, "name");
    if (shows_times(s, c))
        tui_text_right(c, x - TIME_W, 0, TIME_W, style, "on GPU");
    tui_text_right(c, x, 0, CHANGE_W, style, "change");
    tui_text_right(c, x + CHANGE_W, 0, PEAK_W, style, "peak inside");
    tui_text_right(c, x + CHANGE_W + PEAK_W, 0, AFTER_W, style, "after");
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct ops *s = state;
    struct tui_canvas table = tui_table_canvas(c, TABLE_W);

    if (!s->list.count) {
        tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
                      !rpl_trace_has_uses(tui_app_run(app)->trace)
                          ? "a snapshot has no ops, only allocations: i goes to the next one"
                          : "this trace has no ops");
        return;
    }
    draw_head(s, &table);
    for (size_t i = 0; i < s->filled && (int)i < c->at.h - 1; i++) {
        size_t row = s->first + i;

        draw_op(s, tui_app_run(app), &s->ops[i], row == s->current, &table, (int)i + 1);
        tui_list_mark(&s->list, row, c, (int)i + 1, is_focused);
    }
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct ops *s = state;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t seq;

    (void)count;
    if ((action != TUI_OPEN && action != TUI_ACT) || !s->list.count)
        return false;
    if (rpl_step_nth(tui_app_run(app)->index, RPL_VERB_OP, s->list.at + 1, &seq, &err))
        tui_app_fail(app, "%s", err.text);
    else if (seq == app->at)
        tui_app_say(app, "this op begins here");
    else
        tui_app_go(app, seq, true);
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event event;
    uint64_t seq;

    (void)state;
    if (rpl_step_nth(run->index, RPL_VERB_OP, row + 1, &seq, &err) ||
        rpl_index_event(run->index, seq, &event, &err))
        return;
    vs_text_addf(
        out, "%zu %s %s", row + 1, rpl_trace_string(run->trace, (uint32_t)event.op.name),
        rpl_trace_string(run->trace, rpl_trace_location(run->trace, event.location)->module));
}

static enum vs_status find(void *state, struct tui_app *app, const char *word, bool is_backward,
                           size_t *row, struct vs_error *err)
{
    struct rpl_index *index = tui_app_run(app)->index;
    struct tui_waiting waiting;
    uint64_t number;
    enum vs_status st;

    (void)state;
    tui_waiting_init(&waiting, app, "searching the ops");
    st = tui_op_find(index, word, *row + 1, is_backward, tui_waiting_show, &waiting, &number, err);
    /* round the end of the list, where the same op may be found again */
    if (!st && !number)
        st = tui_op_find(index, word, is_backward ? rpl_step_total(index, RPL_VERB_OP) + 1 : 0,
                         is_backward, tui_waiting_show, &waiting, &number, err);
    if (!st && !number)
        st = VS_E_NOT_FOUND;
    if (!st)
        *row = (size_t)number - 1;
    return st;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct ops *s = state;

    (void)app;
    if (s->current != SIZE_MAX)
        vs_text_addf(out, "%zu of %zu", s->current + 1, s->list.count);
}

static void release(void *state)
{
    struct ops *s = state;

    rpl_work_release(&s->work);
    vs_free(s->ops);
}

static const struct tui_hint HINTS[] = {
    {"enter", "go there"},
    {NULL, NULL},
};

const struct tui_view tui_view_ops = {
    .name = "ops",
    .title = "ops",
    .letter = 'o',
    .scope = TUI_IN_OPS,
    .go = TUI_GO_OPS,
    .help = "change: of the allocated bytes by the op. peak inside: the highest during the op, "
            "relative to its start. < marks a backward node, r an op that is recomputed. on GPU: "
            "the time of its kernels, where CUPTI recorded them. Enter goes to the op.",
    .hints = HINTS,
    .beside = "source",
    .state_size = sizeof(struct ops),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .find = find,
    .title_more = title_more,
    .release = release,
};
