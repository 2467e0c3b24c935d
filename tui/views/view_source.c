/*
 * tui/views/view_source.c - the source of the net with the current line, the live bytes of each line, and the
 * variables.
 *
 * Must not know:  terminals.
 * Invariant:      the figure before a line is the number of bytes live at the cursor that this line allocated.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/frame.h"
#include "replay/inspect/step.h"
#include "tui/act.h"
#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/parts/page.h"
#include "tui/views.h"
#include "tui/views/sites.h"
#include "tui/views/stack_pane.h"

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
 * lines     list.count lines of source_of, the text of the net in the trace
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

static void lines_weigh(struct source *s, const struct tui_run *run)
{
    const struct rpl_live *live = rpl_cursor_live(run->cursor);

    s->heaviest = SIZE_MAX;
    for (size_t i = 0; i < s->count; i++)
        s->lines[i].bytes = s->lines[i].largest = s->lines[i].largest_bytes = 0;
    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        uint32_t at = rpl_trace_location(run->trace, block->alloc_location)->line;
        struct line *line;

        if (!at || at > s->count)
            continue;
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

/* ---- variables ---- */

static void add_variable(struct source *s, const struct tui_run *run,
                         const struct rpl_variable *variable)
{
    const struct rpl_block *block =
        variable->block ? rpl_live_block(rpl_cursor_live(run->cursor), variable->block) : NULL;
    struct vs_text shape = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    rpl_shape_text(run->trace, variable->tensor, &shape);
    if (block) {
        tui_page_add(&s->vars, tui_category_role(block->category), "%c",
                     tui_category_letter(block->category));
        tui_page_more(&s->vars, 0, TUI_PLAIN, " %6s ", tui_short_bytes(variable->bytes, buf));
    } else {
        tui_page_add(&s->vars, TUI_DIM, "    host ");
    }
    tui_page_more(&s->vars, 0, TUI_STRONG, "%s", rpl_trace_string(run->trace, variable->name));
    if (variable->sharers > 1)
        tui_page_more(&s->vars, 0, TUI_DIM, " and %" PRIu32 " more", variable->sharers - 1);
    tui_page_more(&s->vars, 20, TUI_DIM, " %s", vs_text_get(&shape));
    vs_text_release(&shape);
}

static void add_frame(struct source *s, const struct tui_run *run, const struct rpl_frame *frame,
                      size_t most)
{
    const char *scope = rpl_trace_string(run->trace, frame->scope);
    bool is_chosen =
        s->up ? frame->is_function && frame->scope == s->call.scope : frame->is_current;
    char buf[VS_BYTES_TEXT_MAX];

    tui_page_add(&s->vars, is_chosen ? TUI_KEY_NAME : TUI_TITLE, "%s",
                 *scope ? scope : "(no name)");
    tui_page_more(&s->vars, 0, TUI_DIM, "  %s", vs_bytes_text(frame->bytes, buf));
    for (size_t k = 0; k < frame->count && s->vars.count < most; k++)
        add_variable(s, run, &frame->variables[k]);
}

/* The frame of a function that has variables; NULL: it has none. */
static const struct rpl_frame *function_frame(const struct source *s, uint32_t scope)
{
    for (size_t i = 0; i < s->frames.count; i++)
        if (s->frames.frames[i].is_function && s->frames.frames[i].scope == scope)
            return &s->frames.frames[i];
    return NULL;
}

/* As many lines as fit: an optimizer holds thousands of tensors, and their texts are most of what a key would cost. */
static void vars_make(struct source *s, const struct tui_run *run, int h)
{
    size_t most = h > 0 ? (size_t)h : 0;
    const struct rpl_frame *first;

    rpl_frames_fill(&s->frames, run->cursor);
    tui_page_clear(&s->vars);
    first = s->up ? function_frame(s, s->call.scope) : NULL;
    if (first && most)
        add_frame(s, run, first, most);
    for (size_t i = 0; i < s->frames.count && s->vars.count < most; i++)
        if (&s->frames.frames[i] != first)
            add_frame(s, run, &s->frames.frames[i], most);
    if (!s->vars.count)
        tui_page_add(&s->vars, TUI_DIM, "no variables hold tensors here");
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

        wanted[i] = location->func && location->line && function_frame(s, location->func);
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

/* A trace without a source has no names of variables; it may have call stacks. */
static struct areas areas_of(const struct source *s, int w, int h)
{
    struct areas areas = {{0, 0, w, h}, {0, 0, 0, 0}};

    if (!s->source_of && !s->stack.count)
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

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct source *s = state;
    const struct tui_run *run = tui_app_run(app);
    const char *text = rpl_trace_source_text(run->trace);
    bool is_other = s->source_of != text;
    bool is_resized;
    struct areas areas;

    if (is_other)
        lines_split(s, text);
    areas = areas_of(s, w, h);
    if (!text) {
        if (s->moves != app->moves) {
            tui_sites_fill(&s->sites, run);
            tui_stack_pane_fill(&s->stack, app, app->at, h);
            areas = areas_of(s, w, h);
            if (s->stack.count && areas.vars.h != h)
                tui_stack_pane_fill(&s->stack, app, app->at, areas.vars.h);
        }
        s->moves = app->moves;
        tui_list_fit(&s->list, s->sites.count, areas.code.h);
        s->sites.list = s->list;
        return;
    }
    is_resized = s->list.height != (size_t)areas.code.h && areas.code.h > 0;
    s->list.height = areas.code.h > 0 ? (size_t)areas.code.h : 1;
    if (s->moves != app->moves) {
        uint32_t line = rpl_cursor_here(run->cursor).line;
        bool has_moved = s->at != app->at || is_other;

        if (has_moved)
            s->up = 0;
        lines_weigh(s, run);
        vars_make(s, run, areas.vars.h);
        s->current = line && line <= s->count ? line - 1 : SIZE_MAX;
        line = line_near(run, app->at, line);
        s->near = line && line <= s->count ? line - 1 : 0;
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

static bool is_keyword(const char *word, size_t len)
{
    static const char *const WORDS[] = {
        "and",    "as",    "assert", "break", "class", "continue", "def",
        "del",    "elif",  "else",   "for",   "from",  "if",       "in",
        "import", "is",    "lambda", "not",   "or",    "pass",     "raise",
        "return", "while", "with",   "self",  "None",  "True",     "False",
    };

    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++)
        if (strlen(WORDS[i]) == len && strncmp(WORDS[i], word, len) == 0)
            return true;
    return false;
}

/* Draw a line of source, with comments and keywords in their own colours. */
static void draw_code(struct tui_canvas *c, int x, int y, const char *text, int len)
{
    int i = 0;

    while (i < len) {
        int from = i;
        enum tui_role role = TUI_PLAIN;
        char *piece;

        if (text[i] == '#') {
            i = len;
            role = TUI_COMMENT;
        } else if (isalpha((unsigned char)text[i]) || text[i] == '_') {
            while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_'))
                i++;
            if (is_keyword(text + from, (size_t)(i - from)))
                role = TUI_KEYWORD;
        } else {
            i++;
            while (i < len && (text[i] & 0x80))
                i++;
        }
        piece = vs_strndup(text + from, (size_t)(i - from));
        x = tui_text(c, x, y, tui_style(role), piece);
        vs_free(piece);
    }
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
    draw_code(c, TUI_SHORT_W + 7, y, line->text, line->len);
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
    tui_page_draw(s->source_of ? &s->vars : &s->stack.page, &vars, false);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct source *s = state;
    const struct line *line = s->count && s->source_of ? &s->lines[s->list.at] : NULL;
    struct vs_text text = {NULL, 0, 0};

    if (!s->source_of && (action == TUI_FRAME_UP || action == TUI_FRAME_DOWN)) {
        tui_stack_pane_step(&s->stack, app, action == TUI_FRAME_UP ? count : -count);
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

    if (!s->source_of) {
        vs_text_add(out, "none recorded: bytes by function and line");
        return;
    }
    vs_text_addf(out, "%s: bytes by line", folder ? folder + 1 : name ? name : "");
    if (s->heaviest != SIZE_MAX)
        vs_text_addf(out, ", most in line %zu", s->heaviest + 1);
}

static void release(void *state)
{
    struct source *s = state;

    vs_free(s->lines);
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
            "more`: two other holders. Without the source, the call stack of "
            "the event; u and d walk it, and show the file if it is in this folder or the trace's.",
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
