/*
 * tui/views/view_source.c - the source of the net, or of a recorded program, with the current line, the live bytes of
 * each line, and the variables, or of a program the call stack.
 *
 * Must not know:  terminals.
 * Invariant:      the figure before a line is the number of bytes live at the cursor that this line allocated.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/frame.h"
#include "replay/inspect/step.h"
#include "replay/trace/scripts.h"
#include "tui/act.h"
#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/parts/page.h"
#include "tui/views.h"
#include "tui/views/code_line.h"
#include "tui/views/sites.h"
#include "tui/views/stack_pane.h"
#include "tui/views/variables.h"
#include "whatif/recipe.h"

/* Smallest width with the variables beside the code; in narrower views they are below it. */
#define BESIDE_W 76
#define BELOW_H 12

/* bytes: alive at the cursor; largest: the largest block among them */
struct line {
    const char *text; /* points into the trace's source; not NUL-terminated */
    int len;
    uint64_t bytes;
    uint64_t largest;
    uint64_t largest_bytes;
};

struct call {
    uint32_t scope;
    uint32_t line;
};

/*
 * lines     list.count lines of source_of, the text of the net in the trace, or of `script`
 * script    of a program: the file of its own that is shown; has_changed: it is another one by now
 * script_of the trace that it is of
 * elsewhere bytes that are alive at the cursor, which other files allocated
 * current   index of the line that runs; SIZE_MAX: none
 * near      index of the line that runs, or ran last; 0: none
 * heaviest  index of the first line with most `bytes`; SIZE_MAX: none holds any
 * vars      the variables
 * sites     if the trace has no source: functions and lines, sorted by bytes
 * stack     if the trace has no source: the call stack of the current event
 * up        how many calls above the function that runs: its variables come first. 0: that one itself
 * call      that function, and the line of its call
 */
struct source {
    struct tui_list list;
    struct line *lines;
    size_t count;
    size_t cap;
    const char *source_of;
    struct rpl_script script;
    const struct rpl_trace *script_of;
    bool has_changed;
    uint64_t elsewhere;
    struct rpl_frames frames;
    struct tui_page vars;
    struct tui_page sites;
    struct tui_stack_pane stack;
    size_t up;
    struct call call;
    size_t current;
    size_t near;
    size_t heaviest;
    uint64_t moves;
    uint64_t at;
};

/* ---- lines ---- */

static void lines_split(struct source *s, const char *text)
{
    s->count = 0;
    s->source_of = text;
    while (text && *text) {
        size_t len = strcspn(text, "\n");

        s->lines = vs_grow(s->lines, s->count, &s->cap, sizeof(*s->lines));
        s->lines[s->count++] = (struct line){.text = text, .len = (int)len};
        text += len + (text[len] == '\n');
    }
}

/* Its line in the file that is shown; 0: none. */
static uint32_t line_in(const struct source *s, const struct rpl_trace *trace,
                        const struct vs_location *location)
{
    const bool is_there =
        !s->script.path || rpl_script_has(&s->script, rpl_trace_string(trace, location->func));

    return is_there && location->line <= s->count ? location->line : 0;
}

static void lines_weigh(struct source *s, const struct tui_run *run)
{
    const struct rpl_live *live = rpl_cursor_live(run->cursor);

    s->heaviest = SIZE_MAX;
    s->elsewhere = 0;
    for (size_t i = 0; i < s->count; i++)
        s->lines[i].bytes = s->lines[i].largest = s->lines[i].largest_bytes = 0;
    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        uint32_t at = line_in(s, run->trace, rpl_trace_location(run->trace, block->alloc_location));
        struct line *line;

        if (!at) {
            s->elsewhere += block->bytes;
            continue;
        }
        line = &s->lines[at - 1];
        line->bytes += block->bytes;
        if (block->bytes > line->largest_bytes ||
            (block->bytes == line->largest_bytes && block->id < line->largest)) {
            line->largest = block->id;
            line->largest_bytes = block->bytes;
        }
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->lines[i].bytes &&
            (s->heaviest == SIZE_MAX || s->lines[i].bytes > s->lines[s->heaviest].bytes))
            s->heaviest = i;
}

/* ---- files of a program ---- */

/* Show `script`, which becomes the view's. */
static void script_show(struct source *s, struct rpl_script *script)
{
    rpl_script_release(&s->script);
    s->script = *script;
    s->has_changed = wif_script_has_changed(script->path, script->text);
    lines_split(s, s->script.text);
}

/*
 * Show the file of `func`, if it is one of the program's own. Of another trace than before, otherwise the one that the
 * program was started with; the view has none if the trace has none.
 */
static void script_choose(struct source *s, const struct rpl_trace *trace, const char *func)
{
    struct rpl_script script = {.path = NULL};
    const bool is_other = s->script_of != trace;

    s->script_of = trace;
    if (!is_other && s->script.path && rpl_script_has(&s->script, func))
        return;
    if (rpl_script_of(trace, func, &script) || (is_other && rpl_script_main(trace, &script))) {
        script_show(s, &script);
    } else if (is_other) {
        rpl_script_release(&s->script);
        lines_split(s, NULL);
    }
}

/* ---- calls ---- */

/*
 * Flags the ids of locations in functions that hold something, except those of `func`. Returns the number of flags.
 */
static size_t locations_of_callers(const struct source *s, const struct rpl_trace *trace,
                                   bool *wanted, size_t count)
{
    size_t left = 0;

    for (size_t i = 1; i < count; i++) {
        const struct vs_location *location = rpl_trace_location(trace, (uint32_t)i);

        wanted[i] =
            location->func && location->line && tui_variables_of(&s->frames, location->func);
        left += wanted[i];
    }
    return left;
}

/* Clear the flags of the locations of `func`. */
static size_t locations_leave(const struct rpl_trace *trace, uint32_t func, bool *wanted,
                              size_t count)
{
    size_t left = 0;

    for (size_t i = 1; i < count; i++) {
        wanted[i] &= rpl_trace_location(trace, (uint32_t)i)->func != func;
        left += wanted[i];
    }
    return left;
}

/*
 * The function number `up` above the one that runs, with the line it is at: that of its last event, which is the call.
 * Only functions of the net that hold something have a line to show. False: there is none.
 */
static bool call_find(const struct source *s, const struct tui_run *run, uint64_t at, size_t up,
                      struct call *out)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct rpl_trace *trace = run->trace;
    size_t count = (size_t)rpl_trace_location_count(trace) + 1;
    bool *wanted = vs_calloc(count, sizeof(*wanted));
    uint32_t func = rpl_trace_location(trace, rpl_cursor_here(run->cursor).event.location)->func;
    bool is_found = false;

    (void)locations_of_callers(s, trace, wanted, count);
    while (up && locations_leave(trace, func, wanted, count) &&
           !rpl_step_location_back(run->index, at, wanted, count, &at, &err) && at) {
        struct vs_event event;
        const struct vs_location *location;

        if (rpl_index_event(run->index, at, &event, &err))
            break;
        location = rpl_trace_location(trace, event.location);
        func = location->func;
        *out = (struct call){func, location->line};
        is_found = !--up;
    }
    vs_free(wanted);
    return is_found;
}

static void call_show(struct source *s, struct tui_app *app, size_t up)
{
    const struct tui_run *run = tui_app_run(app);
    uint32_t line = rpl_cursor_here(run->cursor).line;

    if (up && !call_find(s, run, app->at, up, &s->call)) {
        tui_app_say(app, "no function of the net called this one");
        return;
    }
    s->up = up;
    if (up) {
        line = s->call.line;
        tui_app_say(app, "%s, line %" PRIu32 ", %zu above the running function",
                    rpl_trace_string(run->trace, s->call.scope), line, up);
    }
    if (line && line <= s->count)
        tui_list_go(&s->list, line - 1);
    app->moves++;
}

/* ---- the view ---- */

/* The line to scroll into view: the current line, else the last one that ran. 0: there is none. */
static uint32_t line_near(const struct tui_run *run, uint64_t at, uint32_t line)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event event;
    uint64_t from = at < run->events ? at + 1 : at;
    uint64_t stop;

    /* `stop` is where the current stretch without a line begins; the event before it has the line that ran last */
    if (line || rpl_step(run->index, from, RPL_VERB_LINE, -1, &stop, NULL, &err) || stop < 2 ||
        stop > at || rpl_index_event(run->index, stop - 1, &event, &err))
        return line;
    return rpl_trace_location(run->trace, event.location)->line;
}

struct areas {
    struct tui_rect code;
    struct tui_rect vars;
};

/* The variables of a net stand beside its source. */
static bool has_variables(const struct source *s)
{
    return s->source_of && !s->script.path;
}

/* A trace without a net has no names of variables; it may have call stacks. */
static struct areas areas_of(const struct source *s, int w, int h)
{
    struct areas areas = {{0, 0, w, h}, {0, 0, 0, 0}};

    if (!has_variables(s) && !s->stack.count)
        return areas;
    if (w >= BESIDE_W) {
        areas.code.w = w * 3 / 5;
        areas.vars = (struct tui_rect){areas.code.w + 1, 0, w - areas.code.w - 1, h};
    } else if (h >= BELOW_H) {
        areas.code.h = h * 3 / 5;
        areas.vars = (struct tui_rect){0, areas.code.h + 1, w, h - areas.code.h - 1};
    }
    return areas;
}

/* Scroll row `row` into view, and the line with most bytes, too, if both fit. */
static void list_show(struct source *s, size_t row)
{
    size_t h = s->list.height;

    tui_list_go(&s->list, row);
    tui_list_fit(&s->list, s->count, (int)h);
    if (s->heaviest < s->list.top && row - s->heaviest < h)
        s->list.top = s->heaviest;
    else if (s->heaviest != SIZE_MAX && s->heaviest >= s->list.top + h && s->heaviest - row < h)
        s->list.top = s->heaviest - h + 1;
}

/* The call stack of the event; its height follows from whether there is one. */
static void stack_fill(struct source *s, const struct tui_app *app, int w, int h)
{
    tui_stack_pane_fill(&s->stack, app, app->at, h);
    if (s->stack.count && areas_of(s, w, h).vars.h != h)
        tui_stack_pane_fill(&s->stack, app, app->at, areas_of(s, w, h).vars.h);
}

/*
 * Choose what is shown: the net, a file of the program, or, source_of NULL, the lines by function. True: another one.
 */
static bool source_choose(struct source *s, const struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    const char *net = rpl_trace_source_text(run->trace);
    const char *before = s->source_of;

    if (net && before != net) {
        rpl_script_release(&s->script);
        s->script_of = NULL;
        lines_split(s, net);
    } else if (!net && (s->moves != app->moves || s->script_of != run->trace)) {
        if (before && !s->script.path) /* of a net */
            lines_split(s, NULL);
        script_choose(s, run->trace, rpl_cursor_here(run->cursor).func);
    }
    return s->source_of != before;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct source *s = state;
    const struct tui_run *run = tui_app_run(app);
    const bool is_other = source_choose(s, app);
    bool is_resized;
    struct areas areas;

    if (!has_variables(s) && s->moves != app->moves)
        stack_fill(s, app, w, h);
    areas = areas_of(s, w, h);
    if (!s->source_of) {
        if (s->moves != app->moves)
            tui_sites_fill(&s->sites, run);
        s->moves = app->moves;
        tui_list_fit(&s->list, s->sites.count, areas.code.h);
        s->sites.list = s->list;
        return;
    }
    is_resized = s->list.height != (size_t)areas.code.h && areas.code.h > 0;
    s->list.height = areas.code.h > 0 ? (size_t)areas.code.h : 1;
    if (s->moves != app->moves) {
        const struct rpl_here here = rpl_cursor_here(run->cursor);
        uint32_t line = line_in(s, run->trace, rpl_trace_location(run->trace, here.event.location));
        bool has_moved = s->at != app->at || is_other;

        if (has_moved)
            s->up = 0;
        lines_weigh(s, run);
        if (has_variables(s))
            tui_variables_fill(&s->vars, &s->frames, run, s->up ? s->call.scope : 0, areas.vars.h);
        s->current = line ? line - 1 : SIZE_MAX;
        if (has_variables(s))
            line = line_near(run, app->at, line);
        s->near = line && line <= s->count ? line - 1 : has_variables(s) || is_other ? 0 : s->near;
        if (has_moved)
            list_show(s, s->near);
        s->moves = app->moves;
        s->at = app->at;
    }
    if (is_resized && s->list.at == s->near)
        list_show(s, s->near);
    tui_list_fit(&s->list, s->count, areas.code.h);
    tui_list_fit(&s->vars.list, s->vars.count, areas.vars.h);
}

static bool has_break(const struct tui_run *run, size_t line)
{
    struct vs_text text = {NULL, 0, 0};
    bool found = false;

    vs_text_addf(&text, "line = %zu", line);
    for (size_t i = 0; i < rpl_breakpoints_count(run->breaks); i++)
        found |= strcmp(rpl_breakpoints_at(run->breaks, i)->text, vs_text_get(&text)) == 0;
    vs_text_release(&text);
    return found;
}

static void draw_line(const struct source *s, const struct tui_run *run, size_t i,
                      struct tui_canvas *c, int y)
{
    const struct line *line = &s->lines[i];
    char buf[TUI_SHORT_MAX];
    bool is_most = s->heaviest != SIZE_MAX && line->bytes == s->lines[s->heaviest].bytes;

    if (line->bytes)
        tui_text_right(c, 0, y, TUI_SHORT_W, tui_style(is_most ? TUI_BAD : TUI_PLAIN),
                       tui_short_bytes(line->bytes, buf));
    if (has_break(run, i + 1))
        tui_put_glyph(c, TUI_SHORT_W, y, TUI_G_BULLET, tui_style(TUI_BAD));
    tui_textf(c, TUI_SHORT_W + 1, y, tui_style(TUI_LINE_NUMBER), "%4zu", i + 1);
    if (i == s->current)
        tui_put_glyph(c, TUI_SHORT_W + 5, y, TUI_G_RIGHT, tui_style(TUI_CURSOR));
    else if (s->up && i + 1 == s->call.line)
        tui_put_glyph(c, TUI_SHORT_W + 5, y, TUI_G_RIGHT, tui_style(TUI_KEY_NAME));
    tui_code_draw(c, TUI_SHORT_W + 7, y, line->text, line->len);
    if (i == s->current)
        tui_mark(c, (struct tui_rect){TUI_SHORT_W + 1, y, c->at.w, 1},
                 TUI_BOLD | TUI_SELECTED_QUIET);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct source *s = state;
    struct areas areas = areas_of(s, c->at.w, c->at.h);
    struct tui_canvas code = tui_canvas_part(c, areas.code);
    struct tui_canvas vars = tui_canvas_part(c, areas.vars);

    if (!s->source_of)
        tui_page_draw(&s->sites, &code, is_focused);
    for (int y = 0; s->source_of && y < code.at.h && s->list.top + (size_t)y < s->count; y++) {
        size_t i = s->list.top + (size_t)y;

        draw_line(s, tui_app_run(app), i, &code, y);
        if (i == s->list.at && is_focused)
            tui_mark(&code, (struct tui_rect){0, y, code.at.w, 1}, TUI_SELECTED);
    }
    if (!areas.vars.w)
        return;
    if (areas.vars.x)
        tui_column(c, areas.vars.x - 1, 0, c->at.h, TUI_G_VLINE, tui_style(TUI_LINE));
    else
        tui_row(c, 0, areas.vars.y - 1, c->at.w, TUI_G_HLINE, tui_style(TUI_LINE));
    tui_page_draw(has_variables(s) ? &s->vars : &s->stack.page, &vars, false);
}

/* The line of the chosen frame of the call stack, in the program's own file. */
static void frame_show(struct source *s, const struct rpl_trace *trace)
{
    const struct tui_frame *frame = s->stack.count ? &s->stack.frames[s->stack.up] : NULL;
    struct vs_text func = {NULL, 0, 0};

    if (!frame || !s->script.path)
        return;
    vs_text_addf(&func, "%s:%s", frame->file, frame->func);
    script_choose(s, trace, vs_text_get(&func));
    if (rpl_script_has(&s->script, vs_text_get(&func)) && frame->line && frame->line <= s->count)
        tui_list_go(&s->list, frame->line - 1);
    vs_text_release(&func);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct source *s = state;
    const struct line *line = s->count && s->source_of ? &s->lines[s->list.at] : NULL;
    struct vs_text text = {NULL, 0, 0};

    if (!has_variables(s) && (action == TUI_FRAME_UP || action == TUI_FRAME_DOWN)) {
        tui_stack_pane_step(&s->stack, app, action == TUI_FRAME_UP ? count : -count);
        frame_show(s, tui_app_run(app)->trace);
        return true;
    }
    if (line && action == TUI_FRAME_UP) {
        call_show(s, app, s->up + (size_t)count);
        return true;
    }
    if (line && action == TUI_FRAME_DOWN && !s->up) {
        tui_app_say(app, "this is the function that runs");
        return true;
    }
    if (line && action == TUI_FRAME_DOWN) {
        call_show(s, app, s->up > (size_t)count ? s->up - (size_t)count : 0);
        return true;
    }
    if (!s->source_of && s->list.at < s->sites.count && action == TUI_OPEN) {
        tui_app_choose_block(app, s->sites.lines[s->list.at].block);
        tui_app_view(app, "why");
        return true;
    }
    if (action != TUI_OPEN && action != TUI_ACT)
        return false;
    if (!line) {
        tui_app_say(app, action == TUI_ACT ? "no source is shown, so there is no line to stop at"
                                           : "nothing is alive here that a line allocated");
        return true;
    }
    if (action == TUI_ACT) {
        vs_text_addf(&text, "line = %zu", s->list.at + 1);
        tui_break_turn(app, vs_text_get(&text));
        vs_text_release(&text);
        app->moves++;
    } else if (line->largest) {
        tui_app_choose_block(app, line->largest);
        tui_app_view(app, "why");
    } else {
        tui_app_say(app, "nothing that this line allocated is alive here");
    }
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct source *s = state;
    const struct line *line = &s->lines[row];

    (void)app;
    if (!s->source_of) {
        vs_text_add(out, vs_text_get(&s->sites.lines[row].text));
        return;
    }
    vs_text_addf(out, "%zu: ", row + 1);
    vs_text_add_n(out, line->text, (size_t)line->len);
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const char *name = rpl_trace_source_name(tui_app_run(app)->trace);
    const char *folder = name ? strrchr(name, '/') : NULL;
    const struct source *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    if (!s->source_of) {
        vs_text_add(out, "none recorded: bytes by function and line");
        return;
    }
    if (s->script.path) {
        name = s->script.path;
        folder = strrchr(name, '/');
    }
    vs_text_addf(out, "%s%s: bytes by line",
                 folder ? folder + 1
                 : name ? name
                        : "",
                 s->script.path && s->has_changed ? " as recorded, changed since" : "");
    if (s->heaviest != SIZE_MAX)
        vs_text_addf(out, ", most in line %zu", s->heaviest + 1);
    if (s->script.path && s->elsewhere)
        vs_text_addf(out, ", %s by other files", vs_bytes_text(s->elsewhere, buf));
}

static void release(void *state)
{
    struct source *s = state;

    vs_free(s->lines);
    rpl_script_release(&s->script);
    rpl_frames_release(&s->frames);
    tui_page_release(&s->vars);
    tui_page_release(&s->sites);
    tui_stack_pane_release(&s->stack);
}

static const struct tui_hint HINTS[] = {
    {"enter", "why"},
    {"space", "break"},
    {"u/d", "caller"},
    {NULL, NULL},
};

const struct tui_view tui_view_source = {
    .name = "source",
    .title = "source",
    .letter = 'c',
    .scope = TUI_IN_SOURCE,
    .go = TUI_GO_SOURCE,
    .help = "The figure before a line: bytes that it allocated and that are alive at the cursor. "
            "Enter: why the largest of its blocks is alive. Space: breakpoint on this line. u: the "
            "calling function. Beside the code: variables and the tensors they hold; `x and 2 "
            "more`: two other holders. Of a program: its own file as it was recorded, beside the "
            "call stack of the event, which u and d walk. Without either, bytes by function.",
    .hints = HINTS,
    .beside = "why",
    .state_size = sizeof(struct source),
    .is_list = true,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
