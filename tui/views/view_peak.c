/*
 * tui/views/view_peak.c - what fills the device at the peak, or at the allocation that ran out of memory.
 *
 * Must not know:  terminals.
 * Invariant:      it describes the failed allocation if there was one, otherwise the peak, independent of the cursor;
 *                 the figures are those of the report.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/space.h"
#include "replay/report/account.h"
#include "replay/report/by_value.h"
#include "replay/report/dropped.h"
#include "replay/report/report.h"
#include "replay/report/warnings.h"
#include "replay/trace/scripts.h"
#include "tui/app.h"
#include "tui/gains.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/parts/page.h"
#include "tui/views.h"

#define LARGEST_SHOWN 10
#define KEPT_SHOWN 8
#define BAR_W 20
/* Column of the name of a block. */
#define NAME_X 16

/* of, number, events   the state for which the page was built */
struct peak {
    struct tui_page page;
    const struct rpl_index *of;
    uint64_t number;
    uint64_t events;
    int w;
};

/* The cursor at the event that the page describes, and the page's text. */
struct pass {
    struct tui_page *page;
    const struct tui_run *run;
    struct rpl_cursor *cursor;
    uint64_t at;
    uint64_t oom;
    int w;
};

/* ---- parts ---- */

/* Whether the refused bytes would have fitted into reserved memory that is not in use, were it contiguous. */
static void add_fit(struct pass *pass, uint64_t refused)
{
    struct rpl_space space;
    char buf[VS_BYTES_TEXT_MAX];

    memset(&space, 0, sizeof(space));
    rpl_space_fill(&space, pass->cursor);
    if (space.free_bytes < refused)
        tui_page_more(pass->page, 0, TUI_PLAIN, ", too little");
    else if (space.largest_hole != SIZE_MAX)
        tui_page_add(pass->page, TUI_BAD,
                     "fragmentation: enough is free in total, but the largest hole is %s",
                     vs_bytes_text(space.parts[space.largest_hole].bytes, buf));
    rpl_space_release(&space);
    tui_page_add(pass->page, TUI_DIM, "gW shows what helps, enter on a tensor shows what holds it");
}

static void add_oom(struct pass *pass, const struct vs_event *event)
{
    char buf[VS_BYTES_TEXT_MAX];

    tui_page_add(pass->page, TUI_BAD, "Out of memory: %s were refused",
                 vs_bytes_text(event->oom.requested_bytes, buf))
        ->seq = pass->at;
    tui_page_more(pass->page, 0, TUI_PLAIN, ", with %s free on the device",
                  vs_bytes_text(event->oom.device_free_bytes, buf));
    tui_page_add(pass->page, TUI_PLAIN, "%s", "")->seq = pass->at;
}

/* Of a recording with a bound: the peak of the whole run. */
static void add_run_peak(struct pass *pass)
{
    struct vs_text text = {NULL, 0, 0};

    rpl_run_peak_text(pass->run->trace, &text);
    if (text.len)
        tui_page_wrap(pass->page, pass->w, 0, TUI_PLAIN, vs_text_get(&text));
    vs_text_release(&text);
}

static void add_event_and_bytes(struct pass *pass)
{
    const struct rpl_live *live = rpl_cursor_live(pass->cursor);
    struct rpl_here here = rpl_cursor_here(pass->cursor);
    struct vs_text by_values = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];
    size_t len;
    const char *line = rpl_function_source(pass->run->trace, here.func, here.line, &len);

    if (pass->oom)
        add_oom(pass, &here.event);
    else
        tui_page_add(pass->page, TUI_STRONG, "%s",
                     rpl_has_dropped(pass->run->trace) ? "Peak of what was kept: " : "Peak: ")
            ->seq = pass->at;
    tui_page_more(pass->page, 0, TUI_STRONG, "%s allocated", vs_bytes_text(live->allocated, buf));
    tui_page_more(pass->page, 0, TUI_DIM, " (%s bytes)", vs_bytes_exact_text(live->allocated, buf));
    tui_page_add(pass->page, TUI_PLAIN, "at event %" PRIu64 ", ", pass->at)->seq = pass->at;
    if (here.step >= 0)
        tui_page_more(pass->page, 0, TUI_PLAIN, "step %" PRId64 ", ", here.step);
    tui_page_more(pass->page, 0, TUI_PLAIN, "%s%s%s%s%s",
                  rpl_phase_name(pass->run->trace, here.step, here.phase), *here.op ? ", in " : "",
                  here.op, *here.module ? " of " : "", here.module);
    if (here.is_recompute)
        tui_page_more(pass->page, 0, TUI_DIM, ", recomputed for a checkpoint");
    if (!pass->oom)
        add_run_peak(pass);
    if (here.line) {
        tui_page_add(pass->page, TUI_LINE_NUMBER, "  %" PRIu32 "  ", here.line)->seq = pass->at;
        if (len)
            tui_page_more(pass->page, 0, TUI_PLAIN, "%.*s", (int)len, line);
        else
            tui_page_more(pass->page, 0, TUI_PLAIN, "%s", here.func);
    }
    tui_page_add(pass->page, TUI_PLAIN, "requested %s", vs_bytes_text(live->requested, buf));
    tui_page_more(pass->page, 0, TUI_PLAIN, ", reserved %s", vs_bytes_text(live->reserved, buf));
    if (pass->run->reserved_max != live->reserved)
        tui_page_more(pass->page, 0, TUI_PLAIN, " here, most %s",
                      vs_bytes_text(pass->run->reserved_max, buf));
    if (live->reserved >= live->allocated)
        tui_page_more(pass->page, 0, TUI_PLAIN, ", of that %s free",
                      vs_bytes_text(live->reserved - live->allocated, buf));
    tui_page_fold(pass->page, pass->w - 1, 2);
    if (pass->oom)
        add_fit(pass, here.event.oom.requested_bytes);
    rpl_by_values_text(pass->run->trace, &by_values);
    tui_page_wrap(pass->page, pass->w, 0, TUI_PLAIN, vs_text_get(&by_values));
    vs_text_release(&by_values);
}

/* The warnings of the run, above all figures. */
static void add_warnings(struct pass *pass)
{
    struct rpl_warning warning;
    const char *at = NULL;

    while (rpl_warning_next(pass->run->trace, &at, &warning)) {
        struct vs_text text = {NULL, 0, 0};

        vs_text_add(&text, "warning: ");
        rpl_warning_text(&warning, &text);
        tui_page_wrap(pass->page, pass->w, 0, TUI_BAD, vs_text_get(&text));
        vs_text_release(&text);
    }
}

static void add_category(struct pass *pass, int category, uint64_t bytes, uint64_t total)
{
    double share = total ? (double)bytes / (double)total : 0.0;
    struct vs_text bar = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];

    for (int i = 0; i < (int)(share * BAR_W + 0.5); i++)
        vs_text_add(&bar, "\xE2\x96\x88");
    tui_page_add(pass->page, tui_category_role(category), "  %c ", tui_category_letter(category));
    tui_page_more(pass->page, 0, TUI_PLAIN, "%-11s%11s  %5.1f %%  ",
                  vs_category_name((enum vs_category)category), vs_bytes_text(bytes, buf),
                  100.0 * share);
    tui_page_more(pass->page, 0, tui_category_role(category), "%s", vs_text_get(&bar));
    vs_text_release(&bar);
}

/* Likely mistakes of a program, as the report has them. */
static enum vs_status add_mistakes(struct pass *pass, const struct tui_mistakes *mistakes,
                                   struct vs_error *err)
{
    if (mistakes->failure.status == VS_E_STOPPED) {
        tui_page_add(pass->page, TUI_PLAIN, "%s", "");
        tui_page_add(pass->page, TUI_DIM, "Likely mistakes: stopped; <C-r> tries again");
    } else if (mistakes->failure.status) {
        *err = mistakes->failure;
    }
    if (mistakes->found.count) {
        tui_page_add(pass->page, TUI_PLAIN, "%s", "");
        tui_page_add(pass->page, TUI_STRONG, "Likely mistakes");
    }
    for (size_t i = 0; i < mistakes->found.count; i++) {
        const struct rpl_mistake *mistake = &mistakes->found.items[i];

        tui_page_add(pass->page, TUI_BAD, "  %s  %s", mistake->where, mistake->kind);
        tui_page_wrap(pass->page, pass->w, 4, TUI_PLAIN, mistake->text);
    }
    return err->status;
}

/*
 * The share of blocks that the trace does not see being allocated. Of a snapshot their category follows from what frees
 * them; a recording with a bound knows it.
 */
static void add_preexisting(struct pass *pass)
{
    const struct rpl_live *live = rpl_cursor_live(pass->cursor);
    uint64_t events = 0;
    uint64_t bytes = 0;

    if (!rpl_trace_meta_uint(pass->run->trace, "start_events", &events))
        return;
    for (size_t i = 0; i < live->block_count; i++)
        bytes += live->blocks[i].alloc_seq <= events ? live->blocks[i].bytes : 0;
    if (bytes && live->allocated)
        tui_page_more(pass->page, 0, TUI_DIM, "; %.1f %% was allocated before %s",
                      100.0 * (double)bytes / (double)live->allocated,
                      rpl_has_dropped(pass->run->trace) ? "what was kept" : "the recording began");
}

static void add_categories(struct pass *pass)
{
    const struct rpl_live *live = rpl_cursor_live(pass->cursor);
    bool is_done[VS_CATEGORY_COUNT] = {false};

    tui_page_add(pass->page, TUI_PLAIN, "%s", "");
    tui_page_add(pass->page, TUI_STRONG,
                 pass->oom ? "What fills the device%s" : "What fills the peak%s",
                 rpl_trace_meta(pass->run->trace, "derived_from") ? ", categories derived" : "");
    add_preexisting(pass);
    for (;;) {
        int next = -1;

        for (int i = 0; i < VS_CATEGORY_COUNT; i++)
            if (!is_done[i] && live->by_category[i] &&
                (next < 0 || live->by_category[i] > live->by_category[next]))
                next = i;
        if (next < 0)
            return;
        is_done[next] = true;
        add_category(pass, next, live->by_category[next], live->allocated);
    }
}

/* ---- rows of blocks ---- */

/* What is said of a block: its name, of name_len bytes, and its first holder if there is one and it is asked for. */
struct words {
    struct vs_text text;
    size_t name_len;
};

static enum vs_status words_fill(struct pass *pass, const struct rpl_block *block, bool has_holder,
                                 struct words *out, struct vs_error *err)
{
    struct rpl_why why = {.id = block->id};
    enum vs_status st = VS_OK;

    vs_text_clear(&out->text);
    tui_block_name(pass->cursor, block, &out->text);
    out->name_len = out->text.len;
    if (has_holder)
        st = rpl_alive_why_here(pass->cursor, &why, err);
    rpl_why_distinct(pass->run->trace, &why);
    if (!st && why.holder_count) {
        vs_text_add(&out->text, "  \xE2\x80\x94 ");
        rpl_holder_text(pass->run->trace, &why.holders[0], &out->text);
        if (why.holder_count > 1)
            vs_text_addf(&out->text, " and %zu more", why.holder_count - 1);
    }
    rpl_why_release(&why);
    return st;
}

/*
 * Add a row for blocks[0]; *alike: how many of the `count` blocks, from the first on, are as large and have the same
 * words, and share its row. seq: where enter on it goes.
 */
static enum vs_status add_blocks(struct pass *pass, const struct rpl_block *blocks, size_t count,
                                 uint64_t seq, bool has_holder, size_t *alike, struct vs_error *err)
{
    const struct rpl_block *block = &blocks[0];
    struct words words = {{NULL, 0, 0}, 0};
    struct words next = {{NULL, 0, 0}, 0};
    char buf[VS_BYTES_TEXT_MAX];
    struct tui_page_line *line;
    enum vs_status st = words_fill(pass, block, has_holder, &words, err);

    for (*alike = 1; !st && *alike < count; ++*alike) {
        const struct rpl_block *other = &blocks[*alike];

        if (other->bytes != block->bytes || other->category != block->category)
            break;
        st = words_fill(pass, other, has_holder, &next, err);
        if (st || strcmp(vs_text_get(&next.text), vs_text_get(&words.text)) != 0)
            break;
    }
    if (st)
        goto out;
    line = tui_page_add(pass->page, tui_category_role(block->category), "  %c",
                        tui_category_letter(block->category));
    line->block = block->id;
    line->seq = seq;
    tui_page_more(pass->page, 0, TUI_PLAIN, "%11s  %.*s", vs_bytes_text(block->bytes, buf),
                  (int)words.name_len, vs_text_get(&words.text));
    if (*alike > 1)
        tui_page_more(pass->page, 0, TUI_STRONG, "  %zu alike: %s", *alike,
                      vs_bytes_text(block->bytes * *alike, buf));
    tui_page_more(pass->page, 0, TUI_DIM, "%s", vs_text_get(&words.text) + words.name_len);
    tui_page_fold(pass->page, pass->w - 1, NAME_X);
out:
    vs_text_release(&words.text);
    vs_text_release(&next.text);
    return st;
}

static enum vs_status add_largest(struct pass *pass, struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(pass->cursor);
    struct rpl_block *blocks = vs_alloc((live->block_count + 1) * sizeof(*blocks));
    size_t count = live->block_count;
    size_t alike;
    enum vs_status st = VS_OK;

    memcpy(blocks, live->blocks, count * sizeof(*blocks));
    qsort(blocks, count, sizeof(*blocks), rpl_block_by_bytes);
    tui_page_add(pass->page, TUI_PLAIN, "%s", "");
    tui_page_add(pass->page, TUI_STRONG, "The largest");
    for (size_t i = 0, rows = 0; i < count && rows < LARGEST_SHOWN && !st; i += alike, rows++)
        st = add_blocks(pass, &blocks[i], count - i, pass->at, true, &alike, err);
    vs_free(blocks);
    return st;
}

/* What could be freed, the remedy below each, and the peak without all of it. */
static enum vs_status add_kept(struct pass *pass, const struct tui_gains *gains,
                               struct vs_error *err)
{
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    struct rpl_block blocks[RPL_KEPT_MAX];
    struct vs_text remedy = {NULL, 0, 0};
    size_t alike;
    enum vs_status st = VS_OK;

    if (!gains->count)
        return VS_OK;
    tui_page_add(pass->page, TUI_PLAIN, "%s", "");
    tui_page_add(pass->page, TUI_STRONG, "Alive without a later use: ");
    tui_page_more(pass->page, 0, TUI_BAD, "%s", vs_bytes_text(gains->total, a));
    tui_page_add(pass->page, TUI_PLAIN, "  if freed right after its last use, the peak falls by %s",
                 vs_bytes_text(gains->gain, b));
    for (size_t i = 0; i < gains->count; i++)
        blocks[i] = gains->items[i].kept.block;
    for (size_t i = 0, rows = 0; i < gains->count && rows < KEPT_SHOWN && !st; i += alike, rows++) {
        const struct tui_gain *gain = &gains->items[i];

        st = add_blocks(pass, &blocks[i], gains->count - i, pass->at, false, &alike, err);
        if (st || !tui_gain_of(pass->run, &blocks[i]))
            continue;
        vs_text_clear(&remedy);
        tui_gain_text(gain, &remedy);
        tui_page_add(pass->page, TUI_GOOD, "%*s%s", NAME_X, "", vs_text_get(&remedy));
        if (gain->remedy.text) {
            pass->page->lines[pass->page->count - 1].choice = i + 1;
            tui_page_more(pass->page, 0, TUI_DIM, "; enter tries it");
        }
        tui_page_fold(pass->page, pass->w - 1, NAME_X);
    }
    vs_text_release(&remedy);
    return st;
}

/* Blocks of a step that are still alive a step later: they add up, wherever the peak is. */
static enum vs_status add_leak(struct pass *pass, struct vs_error *err)
{
    struct rpl_leak leak;
    struct rpl_leak_owner owner;
    enum vs_status st = rpl_alive_leak(pass->run->index, &leak, err);
    struct vs_text name = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];
    size_t alike;

    if (st || !leak.at || !leak.count)
        return st;
    tui_page_add(pass->page, TUI_PLAIN, "%s", "");
    tui_page_add(pass->page, TUI_STRONG, "Leak: ");
    tui_page_more(pass->page, 0, TUI_BAD, "%s per step",
                  vs_bytes_text(leak.bytes / leak.steps, buf));
    tui_page_more(pass->page, 0, TUI_PLAIN, "; allocated in one step, alive after the next");
    st = rpl_leak_owner(pass->run->index, &leak, &owner, err);
    if (st)
        return st;
    rpl_leak_owner_text(pass->run->trace, &owner, leak.bytes, &name);
    if (name.len)
        tui_page_wrap(pass->page, pass->w, 0, TUI_PLAIN, vs_text_get(&name));
    for (size_t i = 0; i < leak.block_count && !st; i += alike)
        st = add_blocks(pass, &leak.blocks[i], leak.block_count - i, leak.at, false, &alike, err);
    vs_text_release(&name);
    return st;
}

/*
 * The parts of the figure that nvidia-smi prints, of a run on a GPU. The cursor moves to the event at which they were
 * measured.
 */
static enum vs_status add_account(struct pass *pass, struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(pass->cursor);
    struct rpl_oom oom = {.event = pass->oom};
    struct vs_text text = {NULL, 0, 0};
    struct rpl_account account;
    enum vs_status st;

    if (pass->oom)
        oom.device_free = rpl_cursor_here(pass->cursor).event.oom.device_free_bytes;
    if (!rpl_account_begin(&account, pass->run->trace, &oom))
        return VS_OK;
    st = rpl_cursor_seek(pass->cursor, account.event, err);
    if (st)
        return st;
    account.reserved = live->reserved;
    account.allocated = live->allocated;
    rpl_account_finish(&account, pass->run->trace, &oom);
    rpl_account_text(&account, &text);
    for (const char *line = vs_text_get(&text); *line; line += strcspn(line, "\n") + 1)
        tui_page_add(pass->page, *line == ' ' ? TUI_PLAIN : TUI_STRONG, "%.*s",
                     (int)strcspn(line, "\n"), line);
    vs_text_release(&text);
    return VS_OK;
}

/* ---- the view ---- */

static void page_make(struct peak *s, struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    struct pass pass = {.page = &s->page, .run = run, .w = s->w};
    /* first: while they are read, the page as it was is drawn */
    const struct tui_mistakes *mistakes = tui_mistakes_get(app);
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st;

    tui_page_clear(&s->page);
    pass.oom = rpl_index_oom(run->index);
    pass.at = pass.oom ? pass.oom : run->top.event;
    if (!pass.at) {
        tui_page_add(&s->page, TUI_DIM, "nothing was allocated");
        return;
    }
    pass.cursor = rpl_cursor_new(run->index);
    st = rpl_cursor_seek(pass.cursor, pass.at, &err);
    if (!st) {
        add_event_and_bytes(&pass);
        add_warnings(&pass);
        st = add_mistakes(&pass, mistakes, &err);
    }
    if (!st) {
        add_categories(&pass);
        st = add_largest(&pass, &err);
    }
    if (!st && !pass.oom)
        st = add_kept(&pass, tui_gains_get(app), &err);
    if (!st)
        st = add_leak(&pass, &err);
    if (!st)
        st = add_account(&pass, &err);
    if (st)
        tui_page_wrap(&s->page, s->w, 0, TUI_BAD, err.text);
    rpl_cursor_free(pass.cursor);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct peak *s = state;
    const struct tui_run *run = tui_app_run(app);

    if (s->of != run->index || s->number != run->number || s->events != run->events || s->w != w) {
        s->of = run->index;
        s->number = run->number;
        s->events = run->events;
        s->w = w;
        page_make(s, app);
    }
    tui_list_fit(&s->page.list, s->page.count, h);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct peak *s = state;
    const struct tui_page_line *line = s->page.count ? &s->page.lines[s->page.list.at] : NULL;
    struct tui_run *run = app->change.is_shown ? &app->change.run : &app->base;

    (void)count;
    if (action == TUI_RESET && run->mistakes && run->mistakes->failure.status == VS_E_STOPPED) {
        tui_mistakes_forget(run);
        s->of = NULL;
        return true;
    }
    if (!line || (action != TUI_OPEN && action != TUI_ACT))
        return false;
    if (line->choice) {
        tui_gain_try(app, &tui_gains_get(app)->items[line->choice - 1]);
        return true;
    }
    if (line->seq && line->seq == app->at && !line->block)
        tui_app_say(app, "the cursor is at this event");
    else if (line->seq)
        tui_app_go(app, line->seq, true);
    if (line->block) {
        tui_app_choose_block(app, line->block);
        tui_app_view(app, "why");
    }
    if (!line->seq && !line->block)
        tui_app_say(app, "this row has no block, no event and no remedy");
    return true;
}

static const struct tui_hint HINTS[] = {
    {"enter", "why"},
    {NULL, NULL},
};

const struct tui_view tui_view_peak = {
    .name = "peak",
    .title = "peak",
    .letter = 'k',
    .scope = TUI_IN_PEAK,
    .go = TUI_GO_PEAK,
    .help =
        "What fills the device at the peak, or where memory ran out; independent of the cursor. "
        "Enter on a tensor: why it is alive there; on a remedy: runs the net with it.",
    .hints = HINTS,
    .beside = "why",
    .state_size = sizeof(struct peak),
    .is_list = true,
    .sync = sync,
    .draw = tui_page_view_draw,
    .key = key,
    .text = tui_page_view_text,
    .release = tui_page_view_release,
};
