/*
 * tui/views/view_why.c - why the selected block is alive: its holders, its next use, when it is freed, and the call
 * stack of its allocation.
 *
 * Must not know:  terminals.
 * Invariant:      everything shown comes from replay/inspect/alive.h for the block at the cursor.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/block_text.h"
#include "replay/trace/callstack.h"
#include "replay/trace/scripts.h"
#include "tui/app.h"
#include "tui/gains.h"
#include "tui/names.h"
#include "tui/parts/frame.h"
#include "tui/parts/page.h"
#include "tui/views.h"

/* Width of the first word of a row, in cells. */
#define WORD_W 10

/*
 * moves, block, w   the state for which the page was built
 * is_partial        without what is in other chunks of a long trace: where it is read next, and by what it is freed
 */
struct why {
    struct tui_page page;
    uint64_t moves;
    uint64_t block;
    int w;
    bool is_partial;
};

/* Append to the last line or, if that would exceed `w` cells, begin another. */
static void add_beside(struct tui_page *page, int w, enum tui_role role, const char *text)
{
    const struct tui_page_line *line = &page->lines[page->count - 1];

    if (tui_text_width(vs_text_get(&line->text)) + 2 + tui_text_width(text) <= w)
        tui_page_more(page, 0, role, "  %s", text);
    else
        tui_page_add(page, role, "%*s%s", WORD_W, "", text)->is_more = true;
}

static void add_size(struct tui_page *page, const struct tui_run *run, const struct rpl_why *why,
                     int w)
{
    struct vs_text asked = {NULL, 0, 0};
    struct vs_text shape = {NULL, 0, 0};
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    enum vs_category category = (enum vs_category)why->block.category;

    rpl_shape_text(run->trace, why->block.tensor, &shape);
    tui_page_add(page, tui_category_role((int)category), "%c %s",
                 tui_category_letter((int)category), vs_category_name(category));
    tui_page_more(page, 0, TUI_STRONG, "  %s", vs_bytes_text(why->block.bytes, a));
    tui_page_more(page, 0, TUI_PLAIN, "  %s", vs_text_get(&shape));
    if (why->block.bytes != why->block.requested) {
        vs_text_addf(&asked, "requested %s", vs_bytes_exact_text(why->block.requested, b));
        add_beside(page, w, TUI_DIM, vs_text_get(&asked));
    }
    if (rpl_trace_meta(run->trace, "derived_from"))
        add_beside(page, w, TUI_DIM, "(derived)");
    vs_text_release(&asked);
    vs_text_release(&shape);
}

static void add_location(struct tui_page *page, const struct tui_run *run, const char *word,
                         uint64_t seq, uint32_t location_id)
{
    const struct vs_location *location = rpl_trace_location(run->trace, location_id);
    const char *op = rpl_trace_string(run->trace, location->op);
    size_t len;
    const char *line = rpl_location_source(run->trace, location, &len);
    struct tui_page_line *row = tui_page_add(page, TUI_DIM, "%-10s", word);

    row->seq = seq;
    tui_page_more(page, 0, TUI_PLAIN, "@%" PRIu64 "%s%s", seq, *op ? " " : "", op);
    if (location->line && !rpl_trace_source_text(run->trace)) {
        tui_page_more(page, 0, TUI_PLAIN, "  %s", rpl_trace_string(run->trace, location->func));
        tui_page_more(page, 0, TUI_LINE_NUMBER, ":%" PRIu32, location->line);
        tui_page_more(page, 0, TUI_PLAIN, "  %.*s", (int)len, line);
    } else if (location->line) {
        tui_page_more(page, 0, TUI_LINE_NUMBER, "  line %" PRIu32 "  ", location->line);
        tui_page_more(page, 0, TUI_PLAIN, "%.*s", (int)len, line);
    }
}

/* PyTorch's snapshots have no holders; for some categories the holder follows from the category. */
static const char *holder_by_category(const struct rpl_trace *trace, enum vs_category category)
{
    switch (category) {
    case VS_CAT_PARAMETER:
    case VS_CAT_BUFFER:
        return "the model (derived)";
    case VS_CAT_GRADIENT:
        return "the .grad of a parameter (derived)";
    case VS_CAT_OPTIMIZER:
        return "the optimizer (derived)";
    case VS_CAT_SAVED:
    case VS_CAT_CHECKPOINT:
        return "autograd, for backward (derived)";
    case VS_CAT_WORKSPACE:
        return "the running op, or the library for its next call";
    case VS_CAT_INPUT:
    case VS_CAT_ACTIVATION:
    case VS_CAT_CAST:
    case VS_CAT_TEMPORARY:
    case VS_CAT_OTHER:
    case VS_CATEGORY_COUNT:
        break;
    }
    if (rpl_trace_meta(trace, "rerun_command") && rpl_trace_meta(trace, "gpu_played"))
        return "not known yet: gH runs the program again to this event";
    return rpl_trace_is_program(trace) ? "not known to the driver"
                                       : "not recorded in PyTorch's snapshots";
}

static void add_holders(struct tui_page *page, const struct tui_run *run, const struct rpl_why *why,
                        int w)
{
    char since[32];
    struct vs_text text = {NULL, 0, 0};

    if (rpl_trace_is_imported(run->trace) && !why->holder_count)
        tui_page_add(page, TUI_DIM, "held by   %s",
                     holder_by_category(run->trace, (enum vs_category)why->block.category));
    else if (!why->holder_count)
        tui_page_add(page, TUI_DIM, "held by   %s",
                     why->block.category == VS_CAT_WORKSPACE
                         ? "the running op, or the library for its next call"
                         : "no holder: freed when the op ends");
    for (size_t i = 0; i < why->holder_count; i++) {
        const struct rpl_holder *holder = &why->holders[i];
        bool is_saved = holder->kind == VS_HOLD_SAVED || holder->kind == VS_HOLD_CHECKPOINT;

        vs_text_clear(&text);
        rpl_holder_text(run->trace, holder, &text);
        tui_page_add(page, TUI_DIM, "%-10s", i ? "" : "held by")->seq = holder->since_seq;
        tui_page_more(page, 0, is_saved ? TUI_CAT_SAVED : TUI_STRONG, "%s", vs_text_get(&text));
        tui_page_fold(page, w, WORD_W);
        snprintf(since, sizeof(since), "since @%" PRIu64, holder->since_seq);
        if (holder->since_seq) /* of a program it is not known */
            add_beside(page, w, TUI_DIM, since);
    }
    vs_text_release(&text);
}

/* The op that read the block last, and the one that reads it next. */
static void add_reads(struct tui_page *page, const struct tui_run *run, const struct rpl_why *why,
                      uint64_t at, bool is_partial)
{
    struct rpl_lifetime life = tui_block_life(run, why->id);

    if (why->block.last_use_seq)
        add_location(page, run, "last use", why->block.last_use_seq, why->block.last_use_location);
    else
        tui_page_add(page, TUI_DIM, "last use  none so far");
    if (why->next_use_seq)
        add_location(page, run, "next use", why->next_use_seq, why->next_use_location);
    else if (is_partial && life.last_use_seq > at)
        tui_page_add(page, TUI_DIM, "next use");
    else if (tui_block_is_done(run, &why->block, &life, at))
        tui_page_add(page, TUI_BAD, "next use  none: could be freed here");
    else
        tui_page_add(page, TUI_DIM, "next use  none within the trace");
}

/* Frames are appended to `page`; is_headed: it has their heading. */
struct stack {
    struct tui_page *page;
    bool is_headed;
};

static void on_frame(void *user, const char *func, uint32_t line)
{
    struct stack *stack = user;
    bool is_own = tui_frame_is_own(func);
    struct vs_text name = {NULL, 0, 0};

    if (!stack->is_headed)
        tui_page_add(stack->page, TUI_DIM, "call stack of the allocation");
    stack->is_headed = true;
    tui_frame_text(func, &name);
    tui_page_add(stack->page, is_own ? TUI_PLAIN : TUI_DIM, "  %s", vs_text_get(&name));
    if (line)
        tui_page_more(stack->page, 0, is_own ? TUI_LINE_NUMBER : TUI_DIM, ":%" PRIu32, line);
    vs_text_release(&name);
}

/* The call stack of the allocation, the innermost frame first, where the recording has it. */
static void add_stack(struct tui_page *page, const struct tui_run *run, uint64_t seq)
{
    struct stack stack = {.page = page};
    struct vs_error err = VS_ERROR_INIT;

    if (rpl_trace_stack_each(run->trace, seq, on_frame, &stack, &err))
        tui_page_add(page, TUI_BAD, "%s", err.text);
}

static void add_life(struct tui_page *page, const struct tui_run *run, const struct rpl_why *why,
                     uint64_t at, bool is_partial)
{
    add_location(page, run, "allocated", why->block.alloc_seq, why->block.alloc_location);
    if (rpl_trace_has_uses(run->trace))
        add_reads(page, run, why, at, is_partial);
    if (why->free_seq)
        add_location(page, run, "freed", why->free_seq, why->free_location);
    else
        tui_page_add(page, TUI_DIM, "freed     not within the trace");
    add_stack(page, run, why->block.alloc_seq);
}

/* How to free it before, if that lowers the peak. */
static void add_remedy(struct why *s, const struct tui_app *app, const struct rpl_why *why)
{
    const struct tui_run *run = tui_app_run(app);
    struct rpl_lifetime life = tui_block_life(run, why->id);
    const struct tui_gain *gain;
    struct vs_text text = {NULL, 0, 0};

    gain = tui_gain_of(run, &why->block);
    if (!gain || !tui_block_is_done(run, &why->block, &life, app->at))
        return;
    tui_gain_text(gain, &text);
    tui_page_add(&s->page, TUI_DIM, "%-10s", "remedy")->choice = 1;
    tui_page_more(&s->page, 0, TUI_GOOD, "%s", vs_text_get(&text));
    tui_page_more(&s->page, 0, TUI_DIM, gain->remedy.text ? "; enter tries it" : "");
    tui_page_fold(&s->page, s->w - 1, WORD_W);
    vs_text_release(&text);
}

static void page_make(struct why *s, const struct tui_app *app, bool is_partial)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_block *largest = tui_block_largest(run);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text name = {NULL, 0, 0};
    struct rpl_why why = {.id = app->block ? app->block : largest ? largest->id : 0};

    tui_page_clear(&s->page);
    s->is_partial = is_partial;
    if (!why.id) {
        tui_page_add(&s->page, TUI_DIM, "nothing is alive");
        return;
    }
    if (is_partial ? rpl_alive_why_here(run->cursor, &why, &err)
                   : rpl_alive_why(run->cursor, &why, &err)) {
        tui_page_wrap(&s->page, s->w, 0, TUI_BAD, err.text);
    } else if (!why.is_alive) {
        struct rpl_lifetime life = tui_block_life(run, why.id);

        tui_block_anywhere(run, why.id, &name);
        tui_page_wrap(&s->page, s->w - 2, 0, TUI_STRONG, vs_text_get(&name));
        tui_page_add(&s->page, TUI_DIM, "block %" PRIu64 " is not alive here", why.id);
        add_location(&s->page, run, "allocated", life.alloc_seq, life.location);
        if (life.free_seq)
            tui_page_add(&s->page, TUI_DIM, "freed     @%" PRIu64, life.free_seq)->seq =
                life.free_seq;
    } else {
        tui_block_name(run->cursor, &why.block, &name);
        tui_page_wrap(&s->page, s->w - 2, 0, TUI_STRONG, vs_text_get(&name));
        s->page.lines[0].block = why.id;
        add_size(&s->page, run, &why, s->w - 2);
        rpl_why_distinct(run->trace, &why);
        add_holders(&s->page, run, &why, s->w - 2);
        add_remedy(s, app, &why);
        add_life(&s->page, run, &why, app->at, is_partial);
    }
    vs_text_release(&name);
    rpl_why_release(&why);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct why *s = state;

    if (s->moves != app->moves || s->block != app->block || s->w != w) {
        s->w = w;
        s->moves = app->moves;
        s->block = app->block;
        page_make(s, app, rpl_index_is_paged(tui_app_run(app)->index));
    }
    tui_list_fit(&s->page.list, s->page.count, h);
}

static bool read_on(void *state, struct tui_app *app)
{
    struct why *s = state;

    if (!s->is_partial || s->moves != app->moves || s->block != app->block)
        return false;
    page_make(s, app, false);
    app->news++;
    return true;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct why *s = state;
    const struct tui_page_line *line = s->page.count ? &s->page.lines[s->page.list.at] : NULL;
    const struct rpl_block *block;

    if (tui_page_act(&s->page, action, count))
        return true;
    if (action != TUI_OPEN && action != TUI_ACT)
        return false;
    block = line && line->choice
                ? rpl_live_block(rpl_cursor_live(tui_app_run(app)->cursor), s->page.lines[0].block)
                : NULL;
    if (block && tui_gain_of(tui_app_run(app), block))
        tui_gain_try(app, tui_gain_of(tui_app_run(app), block));
    else if (line && line->seq == app->at && line->seq)
        tui_app_say(app, "the cursor is at this event");
    else if (line && line->seq)
        tui_app_go(app, line->seq, true);
    else
        tui_app_say(app, "this row has no event to go to and no remedy to try");
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    (void)state;
    vs_text_add(out, app->block ? "the chosen block" : "the largest block");
}

static const struct tui_hint HINTS[] = {
    {"enter", "go there"},
    {"%", "alloc<>free"},
    {"W", "watch"},
    {NULL, NULL},
};

const struct tui_view tui_view_why = {
    .name = "why",
    .title = "why alive",
    .letter = 'y',
    .scope = TUI_IN_WHY,
    .go = TUI_GO_WHY,
    .help = "Enter on a row with an event (@) goes to that event, < comes back; on a remedy it "
            "runs the net with it.",
    .hints = HINTS,
    .beside = "blocks",
    .state_size = sizeof(struct why),
    .is_list = true,
    .sync = sync,
    .read_on = read_on,
    .draw = tui_page_view_draw,
    .key = key,
    .text = tui_page_view_text,
    .title_more = title_more,
    .release = tui_page_view_release,
};
