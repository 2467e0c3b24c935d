/*
 * tui/move.c - moving in the run: stepping, running to a breakpoint, peaks, jumps, marks, zoom.
 *
 * Must not know:  terminals, views.
 * Invariant:      for movements between a set of events, k times forwards and then k times backwards returns to the
 *                 start.
 */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "replay/index/lifetimes.h"
#include "replay/inspect/step.h"
#include "tui/act.h"
#include "tui/names.h"
#include "tui/waiting.h"

/* Smallest number of events in a window. */
#define WINDOW_MIN 8

/* ---- stepping ---- */

static const struct {
    enum tui_action on;
    enum tui_action back;
    enum rpl_verb verb;
    const char *what;
    bool is_jump;
} VERBS[] = {
    {TUI_EVENT_NEXT, TUI_EVENT_BACK, RPL_VERB_ALLOC, "allocator event", false},
    {TUI_OP_NEXT, TUI_OP_BACK, RPL_VERB_OP, "op", false},
    {TUI_LINE_NEXT, TUI_LINE_BACK, RPL_VERB_LINE, "line", false},
    {TUI_LAYER_NEXT, TUI_LAYER_BACK, RPL_VERB_MODULE, "layer", false},
    {TUI_PHASE_NEXT, TUI_PHASE_BACK, RPL_VERB_PHASE, "phase", false},
    {TUI_STEP_NEXT, TUI_STEP_BACK, RPL_VERB_STEP, "training step", false},
    {TUI_PEAK_NEXT, TUI_PEAK_BACK, RPL_VERB_PEAK, "local peak", true},
};
#define VERB_COUNT (sizeof(VERBS) / sizeof(VERBS[0]))

static bool step(struct tui_app *app, const struct tui_command *command)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        bool is_back = command->action == VERBS[i].back;
        struct vs_error err = VS_ERROR_INIT;
        uint64_t to;
        uint64_t made;

        if (!is_back && command->action != VERBS[i].on)
            continue;
        if (rpl_step(tui_app_run(app)->index, app->at, VERBS[i].verb,
                     is_back ? -command->count : command->count, &to, &made, &err)) {
            tui_app_fail(app, "%s", err.text);
            return true;
        }
        if (!made && VERBS[i].verb == RPL_VERB_OP && !rpl_trace_has_uses(tui_app_run(app)->trace))
            tui_app_say(app, "a snapshot has no ops; i and I go from event to event");
        else if (made < (uint64_t)command->count)
            tui_app_say(app, "no %s %s %s", made ? "further" : "other", VERBS[i].what,
                        is_back ? "before" : "after");
        if (made)
            tui_app_go(app, to, VERBS[i].is_jump);
        return true;
    }
    return false;
}

/* ---- running ---- */

/* Count this hit against the ignore counts of its breakpoints. True: all of them ignore it. */
static bool is_let_pass(struct rpl_breakpoints *breaks, const struct rpl_hit *hit)
{
    size_t count = hit->count < RPL_HIT_MAX ? hit->count : RPL_HIT_MAX;
    bool is_passed = true;

    for (size_t i = 0; i < count; i++) {
        struct rpl_breakpoint *b = rpl_breakpoints_get(breaks, hit->numbers[i]);

        is_passed &= b->ignore > 0;
        b->ignore -= b->ignore > 0;
    }
    return is_passed;
}

/* Append the numbers of the breakpoints of a hit; those for one hit only are removed. */
static void hit_text(struct rpl_breakpoints *breaks, const struct rpl_hit *hit, struct vs_text *out)
{
    size_t count = hit->count < RPL_HIT_MAX ? hit->count : RPL_HIT_MAX;

    vs_text_clear(out);
    for (size_t i = 0; i < count; i++) {
        const struct rpl_breakpoint *b = rpl_breakpoints_get(breaks, hit->numbers[i]);

        vs_text_addf(out, "%s%s %" PRIu32 ": %s", i ? ", " : "",
                     b->is_watch ? "watch" : "breakpoint", b->number, b->text);
        if (b->is_once)
            (void)rpl_breakpoints_remove(breaks, hit->numbers[i]);
    }
}

/* Go to hit number `count`, or the last one if there are fewer; returns its event, 0: there is none. */
static uint64_t hit_find(struct tui_app *app, bool is_back, int64_t count, struct vs_text *text)
{
    struct rpl_breakpoints *breaks = tui_app_run(app)->breaks;
    struct vs_error err = VS_ERROR_INIT;
    struct tui_waiting waiting;
    uint64_t at = app->at;
    uint64_t found = 0;

    tui_waiting_init(&waiting, app, "looking for the next hit");
    while (count > 0) {
        struct rpl_hit hit;

        if (rpl_breakpoints_run(breaks, at, is_back, tui_waiting_show, &waiting, &hit, &err)) {
            tui_app_fail(app, "%s", err.text);
            return 0;
        }
        if (!hit.seq)
            break;
        at = hit.seq;
        if (is_let_pass(breaks, &hit))
            continue;
        hit_text(breaks, &hit, text);
        found = at;
        count--;
    }
    if (!found)
        tui_app_say(app, "no breakpoint is hit %s", is_back ? "before this" : "after this");
    return found;
}

static void run_to_hit(struct tui_app *app, bool is_back, int64_t count)
{
    struct vs_text text = {NULL, 0, 0};
    uint64_t found;

    if (!rpl_breakpoints_count(tui_app_run(app)->breaks)) {
        tui_app_say(app,
                    "no breakpoint is set: b sets one on this line, `:break total > 1G` on a size");
        return;
    }
    found = hit_find(app, is_back, count, &text);
    if (found) {
        tui_app_go(app, found, true);
        vs_text_add(&text, "  ");
        tui_where_text(app, INT_MAX, &text);
        tui_app_say(app, "%s", vs_text_get(&text));
    }
    vs_text_release(&text);
}

static void finish(struct tui_app *app, bool is_back, int64_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t at = app->at;

    for (int64_t i = 0; i < count; i++) {
        uint64_t to;

        if (rpl_step_finish(tui_app_run(app)->index, at, is_back, &to, &err)) {
            tui_app_fail(app, "%s", err.text);
            return;
        }
        if (to == at)
            break;
        at = to;
    }
    if (at == app->at)
        tui_app_say(app, "no layer %s this", is_back ? "begins before" : "ends after");
    else
        tui_app_go(app, at, false);
}

static void same_line(struct tui_app *app, bool is_back, int64_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t at = app->at;

    for (int64_t i = 0; i < count; i++) {
        uint64_t to;

        if (rpl_step_same_line(tui_app_run(app)->index, at, is_back, &to, &err)) {
            tui_app_fail(app, "%s", err.text);
            return;
        }
        if (to == at)
            break;
        at = to;
    }
    if (at == app->at)
        tui_app_say(app, "this line allocates nothing %s", is_back ? "before this" : "after this");
    else
        tui_app_go(app, at, true);
}

/* The chosen block; else the one that the event is about. */
static uint64_t block_here(const struct tui_app *app)
{
    struct vs_event event = rpl_cursor_here(tui_app_run(app)->cursor).event;
    bool is_about_one = event.kind == VS_EV_ALLOC || event.kind == VS_EV_FREE ||
                        event.kind == VS_EV_HOLD || event.kind == VS_EV_DROP ||
                        event.kind == VS_EV_SAVE || event.kind == VS_EV_UNSAVE ||
                        event.kind == VS_EV_USE;

    return app->block ? app->block : is_about_one && app->at ? vs_event_block(&event) : 0;
}

static void other_end(struct tui_app *app)
{
    uint64_t block = block_here(app);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_lifetime life;

    if (!block) {
        tui_app_say(app, "choose a block first (gb lists them)");
        return;
    }
    if (rpl_lifetime_get(tui_app_run(app)->index, block, &life, &err)) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    app->block = block;
    if (app->at == life.alloc_seq && !life.free_seq)
        tui_app_say(app, "it is not freed within this trace");
    else
        tui_app_go(app, app->at == life.alloc_seq ? life.free_seq : life.alloc_seq, true);
}

static void to_peak(struct tui_app *app)
{
    uint64_t seq = tui_app_run(app)->top.event;

    if (seq == app->at)
        tui_app_say(app, seq ? "this is the highest peak of the run" : "nothing was allocated");
    else
        tui_app_go(app, seq, true);
}

static void to_oom(struct tui_app *app)
{
    uint64_t seq = tui_app_run(app)->oom;

    if (seq)
        tui_app_go(app, seq, true);
    else
        tui_app_say(app, "memory never ran out in this run");
}

/* ---- breaks ---- */

/* Set or remove the breakpoint with this condition. */
void tui_break_turn(struct tui_app *app, const char *condition)
{
    struct rpl_breakpoints *breaks = tui_app_run(app)->breaks;
    struct vs_error err = VS_ERROR_INIT;
    size_t before = rpl_breakpoints_count(breaks);
    const struct rpl_breakpoint *added;
    uint32_t number;

    if (rpl_breakpoints_add(breaks, condition, &number, &err)) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    added = rpl_breakpoints_get(breaks, number);
    for (size_t i = 0; i < before; i++) {
        const struct rpl_breakpoint *b = rpl_breakpoints_at(breaks, i);

        if (strcmp(b->text, added->text) == 0) {
            uint32_t old = b->number;

            tui_app_say(app, "breakpoint %" PRIu32 " deleted: %s", old, condition);
            rpl_breakpoints_remove(breaks, old);
            rpl_breakpoints_remove(breaks, number);
            return;
        }
    }
    tui_app_say(app, "breakpoint %" PRIu32 ": %s   (c runs to it, C backwards)", number, condition);
}

static void break_here(struct tui_app *app)
{
    uint32_t line = rpl_cursor_here(tui_app_run(app)->cursor).line;
    struct vs_text text = {NULL, 0, 0};

    if (!line) {
        tui_app_say(app, "no line of the net runs here");
        return;
    }
    vs_text_addf(&text, "line = %" PRIu32, line);
    tui_break_turn(app, vs_text_get(&text));
    vs_text_release(&text);
}

static void watch_block(struct tui_app *app)
{
    uint64_t block = block_here(app);
    struct vs_text text = {NULL, 0, 0};

    if (!block) {
        tui_app_say(app, "choose a block first (gb lists them)");
        return;
    }
    vs_text_addf(&text, "block %" PRIu64, block);
    tui_break_turn(app, vs_text_get(&text));
    vs_text_release(&text);
}

/* ---- jumps, marks ---- */

static void jump(struct tui_app *app, int by)
{
    uint64_t to;

    if (by < 0 ? app->jump_at == 0 : app->jump_at + 1 >= app->jump_count) {
        tui_app_say(app, "the list of jumps ends here");
        return;
    }
    if (by < 0 && app->jump_at == app->jump_count && app->jump_count < TUI_JUMP_MAX)
        app->jumps[app->jump_count++] = app->at;
    app->jump_at = by < 0 ? app->jump_at - 1 : app->jump_at + 1;
    to = app->jumps[app->jump_at];
    tui_app_go(app, to, false);
}

static bool mark_key(uint32_t key, char out[5])
{
    if (key < 0x21 || key >= TUI_SPECIAL)
        return false;
    out[tui_utf8_put(key, out)] = 0;
    return true;
}

static void mark_set(struct tui_app *app, uint32_t key)
{
    char name[5];

    if (app->change.is_shown) {
        tui_app_say(app, "marks are kept in the recorded trace; D shows it");
        return;
    }
    if (!mark_key(key, name))
        return;
    rpl_marks_set(app->marks, name, app->at, "");
    tui_app_say(app,
                "mark %s is at event %" PRIu64 "; '%s goes there, `:note %s TEXT` describes it",
                name, app->at, name, name);
}

static void mark_go(struct tui_app *app, uint32_t key)
{
    const struct rpl_mark *mark;
    char name[5];

    if (key == '\'') {
        if (app->before_jump)
            tui_app_go(app, app->before_jump, true);
        else
            tui_app_say(app, "there was no jump so far");
        return;
    }
    if (!mark_key(key, name))
        return;
    mark = rpl_marks_get(app->marks, name);
    if (!mark) {
        tui_app_say(app, "there is no mark %s", name);
        return;
    }
    tui_app_go(app, tui_app_map_recorded(app, mark->seq), true);
    tui_app_say(app, *mark->note ? "mark %s: %s" : "mark %s", name, mark->note);
}

/* ---- the window ---- */

uint64_t tui_move_column(const struct tui_app *app, int64_t columns)
{
    struct tui_split split = tui_app_split(app);
    bool is_setup = split.columns && app->at <= split.last;
    uint64_t first = split.columns && !is_setup ? split.last + 1 : app->window.first;
    uint64_t size = (is_setup ? split.last : app->window.last) - first + 1;
    int shown = is_setup ? split.columns : app->columns - split.columns;
    uint64_t per = size / (uint64_t)(shown > 0 ? shown : 1);
    uint64_t by = (per ? per : 1) * (uint64_t)(columns < 0 ? -columns : columns);
    uint64_t events = tui_app_run(app)->events;

    if (columns < 0)
        return app->at > by ? app->at - by : 1;
    return events - app->at > by ? app->at + by : events;
}

int64_t tui_move_quarter(const struct tui_app *app)
{
    return app->columns > 4 ? app->columns / 4 : 1;
}

/* A window of `size` events in which `at` keeps its relative position. */
static void zoom(struct tui_app *app, uint64_t size)
{
    uint64_t now = app->window.last - app->window.first + 1;
    double part = now ? (double)(app->at - app->window.first) / (double)now : 0.0;
    uint64_t left = (uint64_t)(part * (double)size);
    struct tui_window window;

    if (size < WINDOW_MIN)
        size = WINDOW_MIN;
    window.first = app->at > left ? app->at - left : 1;
    window.last = window.first + size - 1;
    /* a window that would go past the end begins earlier */
    if (window.last > tui_app_run(app)->events) {
        window.last = tui_app_run(app)->events;
        window.first = window.last >= size ? window.last - size + 1 : 1;
    }
    tui_app_window(app, window);
}

static void zoom_by(struct tui_app *app, bool is_in, int64_t count)
{
    uint64_t size = app->window.last - app->window.first + 1;

    for (int64_t i = 0; i < count && i < 64; i++)
        size = is_in ? size / 2 : size * 2;
    if (!is_in && (!size || size > tui_app_run(app)->events))
        size = tui_app_run(app)->events;
    zoom(app, size);
}

static void zoom_step(struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;
    struct tui_window window = {1, run->events};
    uint64_t n;

    if (rpl_step_number(run->index, RPL_VERB_STEP, app->at, &n, &err) ||
        (n && rpl_step_nth(run->index, RPL_VERB_STEP, n, &window.first, &err)) ||
        (n < rpl_step_total(run->index, RPL_VERB_STEP) &&
         rpl_step_nth(run->index, RPL_VERB_STEP, n + 1, &window.last, &err))) {
        tui_app_fail(app, "%s", err.text);
        return;
    }
    if (window.last < run->events)
        window.last--;
    tui_app_window(app, window);
}

static void zoom_range(struct tui_app *app)
{
    struct tui_window window = {app->range_from, app->at};

    if (!app->range_from) {
        tui_app_say(app, "v begins a range; move to its other end, then z");
        return;
    }
    if (window.first == window.last) {
        tui_app_say(app, "the range begins here; move to its other end, then z");
        return;
    }
    if (window.first > window.last)
        window = (struct tui_window){app->at, app->range_from};
    app->range_from = 0;
    tui_app_window(app, window);
}

static void zoom_back(struct tui_app *app)
{
    if (!app->window_count) {
        tui_app_say(app, "there was no other window so far");
        return;
    }
    app->window = app->windows[--app->window_count];
    tui_app_go(app, app->at, false);
}

static void range_turn(struct tui_app *app)
{
    app->range_from = app->range_from ? 0 : app->at;
    app->moves++;
    tui_app_say(app, app->range_from ? "a range begins here; move to its other end, then z shows it"
                                     : "the range is discarded");
}

/* ---- dealing out ---- */

/* Whether two windows may look the same: neither end has moved by a column. */
static bool is_near(const struct tui_app *app, struct tui_window a, struct tui_window b)
{
    const uint64_t size = a.last - a.first + 1;
    const uint64_t column = size / (uint64_t)(app->columns > 0 ? app->columns : 1) + 1;
    const uint64_t first = a.first > b.first ? a.first - b.first : b.first - a.first;
    const uint64_t last = a.last > b.last ? a.last - b.last : b.last - a.last;

    return first < column && last < column;
}

/* Where the key changed nothing, or nothing that is in sight, the window is named. */
static void window_say(struct tui_app *app, const struct tui_window *before)
{
    const struct tui_window now = app->window;
    bool is_same = now.first == before->first && now.last == before->last;
    bool is_shown = tui_app_shows(app, "timeline") || (app->ranks && tui_app_shows(app, "ranks"));

    if (!app->message.len && (!is_shown || is_near(app, now, *before)))
        tui_app_say(app, "the timeline (gt) shows events %" PRIu64 " to %" PRIu64 "%s", now.first,
                    now.last, is_same ? " already" : "");
}

static bool act_zoom(struct tui_app *app, enum tui_action action, int64_t count)
{
    const struct tui_window before = app->window;

    if (action == TUI_ZOOM_IN || action == TUI_ZOOM_OUT)
        zoom_by(app, action == TUI_ZOOM_IN, count);
    else if (action == TUI_ZOOM_ALL)
        tui_app_window(app, (struct tui_window){1, tui_app_run(app)->events});
    else if (action == TUI_ZOOM_STEP)
        zoom_step(app);
    else if (action == TUI_ZOOM_RANGE)
        zoom_range(app);
    else if (action == TUI_ZOOM_BACK)
        zoom_back(app);
    else
        return false;
    window_say(app, &before);
    return true;
}

static bool act_window(struct tui_app *app, enum tui_action action, int64_t count)
{
    if (action == TUI_LEFT || action == TUI_FAR_LEFT)
        count = -count;
    if (action == TUI_FAR_LEFT || action == TUI_FAR_RIGHT)
        count *= tui_move_quarter(app);
    if (action == TUI_LEFT || action == TUI_RIGHT || action == TUI_FAR_LEFT ||
        action == TUI_FAR_RIGHT)
        tui_app_go(app, tui_move_column(app, count), false);
    else if (action == TUI_TOP || action == TUI_BOTTOM)
        tui_app_go(app, action == TUI_TOP ? 1 : tui_app_run(app)->events, true);
    else if (action == TUI_RANGE)
        range_turn(app);
    else
        return act_zoom(app, action, count);
    return true;
}

static bool act_run(struct tui_app *app, const struct tui_command *command)
{
    enum tui_action action = command->action;

    if (action == TUI_CONTINUE || action == TUI_CONTINUE_BACK)
        run_to_hit(app, action == TUI_CONTINUE_BACK, command->count);
    else if (action == TUI_FINISH || action == TUI_FINISH_BACK)
        finish(app, action == TUI_FINISH_BACK, command->count);
    else if (action == TUI_SITE_NEXT || action == TUI_SITE_BACK)
        same_line(app, action == TUI_SITE_BACK, command->count);
    else if (action == TUI_PEAK_ALL)
        to_peak(app);
    else if (action == TUI_OOM)
        to_oom(app);
    else if (action == TUI_OTHER_END)
        other_end(app);
    else if (action == TUI_JUMP_BACK || action == TUI_JUMP_ON)
        jump(app, action == TUI_JUMP_BACK ? -1 : 1);
    else
        return false;
    return true;
}

static bool act_location(struct tui_app *app, const struct tui_command *command)
{
    enum tui_action action = command->action;

    if (action == TUI_MARK)
        mark_set(app, command->arg);
    else if (action == TUI_MARK_GO)
        mark_go(app, command->arg);
    else if (action == TUI_BREAK_HERE)
        break_here(app);
    else if (action == TUI_WATCH)
        watch_block(app);
    else
        return false;
    return true;
}

bool tui_move_act(struct tui_app *app, const struct tui_command *command)
{
    return step(app, command) || act_run(app, command) || act_location(app, command) ||
           act_window(app, command->action, command->count);
}
