/*
 * tui/views/view_waiting.c - freed blocks that wait for a stream: active, and not allocated.
 *
 * Must not know:  terminals.
 * Invariant:      the events of a run are read once, when the view is first shown, and again when the run has grown.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/pending.h"
#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "tui/waiting.h"

#define NAME_X 46

/* pending: of the run `number` of `index`, when it had `events` events; rows: those that wait at the event. */
struct waits {
    struct tui_list list;
    struct rpl_pending pending;
    const struct rpl_pending_block **rows;
    size_t count;
    size_t cap;
    uint64_t bytes;
    const struct rpl_index *index;
    uint64_t number;
    uint64_t events;
    uint64_t moves;
};

static int by_bytes(const void *a, const void *b)
{
    const struct rpl_pending_block *x = *(const struct rpl_pending_block *const *)a;
    const struct rpl_pending_block *y = *(const struct rpl_pending_block *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static void rows_fill(struct waits *s, uint64_t at)
{
    s->count = 0;
    s->bytes = 0;
    for (size_t i = 0; i < s->pending.count && s->pending.items[i].free_seq <= at; i++) {
        const struct rpl_pending_block *item = &s->pending.items[i];

        if (item->done_seq <= at)
            continue;
        s->rows = vs_grow(s->rows, s->count, &s->cap, sizeof(*s->rows));
        s->rows[s->count++] = item;
        s->bytes += item->bytes;
    }
    if (s->count)
        qsort(s->rows, s->count, sizeof(*s->rows), by_bytes);
}

static void pending_read(struct waits *s, struct tui_app *app, const struct tui_run *run)
{
    struct tui_waiting waiting;
    struct vs_error err = VS_ERROR_INIT;

    s->index = run->index;
    s->number = run->number;
    s->events = run->events;
    s->count = 0;
    tui_waiting_init(&waiting, app, "reading the frees");
    if (rpl_pending_fill(&s->pending, run->index, tui_waiting_show, &waiting, &err)) {
        tui_app_fail(app, "%s", err.text);
        rpl_pending_release(&s->pending);
    }
    s->moves = 0;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct waits *s = state;
    const struct tui_run *run = tui_app_run(app);

    (void)w;
    if (s->index != run->index || s->number != run->number || s->events != run->events)
        pending_read(s, app, run);
    if (s->moves != app->moves)
        rows_fill(s, app->at);
    s->moves = app->moves;
    tui_list_fit(&s->list, s->count, h - 1);
}

/* The stream of the segment that contains an address; -1: there is none. */
static int64_t stream_of(const struct tui_run *run, uint64_t address)
{
    size_t count;
    const struct rpl_segment *segments = rpl_cursor_segments(run->cursor, &count);
    size_t low = 0;

    while (count > low) {
        size_t middle = low + (count - low) / 2;

        if (segments[middle].address + segments[middle].bytes <= address)
            low = middle + 1;
        else
            count = middle;
    }
    rpl_cursor_segments(run->cursor, &count);
    return low < count && segments[low].address <= address ? (int64_t)segments[low].stream : -1;
}

static void name_add(const struct tui_run *run, const struct rpl_pending_block *item,
                     struct vs_text *out)
{
    struct rpl_lifetime life = tui_block_life(run, item->block);
    struct rpl_block block = {.tensor = life.tensor, .alloc_location = life.location};

    rpl_block_text(run->trace, &block, life.name, out);
}

static void draw_row(const struct tui_run *run, const struct rpl_pending_block *item,
                     struct tui_canvas *c, int y)
{
    static const char ALLOCATED[] = "allocated by ";
    int64_t stream = stream_of(run, item->address);
    struct vs_text text = {NULL, 0, 0};
    const char *name;
    char buf[TUI_SHORT_MAX];

    tui_text_right(c, 0, y, 8, tui_style(TUI_STRONG), tui_short_bytes(item->bytes, buf));
    if (stream >= 0)
        tui_textf(c, 8, y, tui_style(TUI_PLAIN), "%9" PRId64, stream);
    tui_textf(c, 18, y, tui_style(TUI_DIM), "%10" PRIu64, item->free_seq);
    if (item->done_seq == UINT64_MAX)
        tui_text_right(c, 29, y, 15, tui_style(TUI_BAD), "never");
    else
        tui_textf(c, 29, y, tui_style(TUI_DIM), "%15" PRIu64, item->done_seq);
    name_add(run, item, &text);
    name = vs_text_get(&text);
    /* what it is goes without saying sooner than where */
    if (tui_text_width(name) > c->at.w - NAME_X && strncmp(name, ALLOCATED, strlen(ALLOCATED)) == 0)
        name += strlen(ALLOCATED);
    tui_text_cut(c, NAME_X, y, c->at.w - NAME_X, tui_style(TUI_PLAIN), name);
    vs_text_release(&text);
}

static void draw_nothing(const struct waits *s, const struct tui_run *run, struct tui_canvas *c)
{
    char buf[VS_BYTES_TEXT_MAX];

    struct vs_text text = {NULL, 0, 0};

    vs_text_add(&text, "no freed block waits for a stream here\n");
    if (s->pending.count)
        vs_text_addf(&text, "at most %s do, at event %" PRIu64 ": enter goes there",
                     vs_bytes_text(s->pending.highest, buf), s->pending.highest_seq);
    else
        vs_text_add(&text, rpl_trace_is_imported(run->trace)
                               ? "none does in this recording"
                               : "only recordings of a GPU have such blocks");
    tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct waits *s = state;
    struct tui_style head = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    if (!s->count) {
        draw_nothing(s, tui_app_run(app), c);
        return;
    }
    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, head);
    tui_text_right(c, 0, 0, 8, head, "bytes");
    tui_text_right(c, 8, 0, 9, head, "stream");
    tui_text_right(c, 18, 0, 10, head, "freed @");
    tui_text_right(c, 29, 0, 15, head, "usable again @");
    tui_text(c, NAME_X, 0, head, "block");
    for (int y = 1; y < c->at.h && s->list.top + (size_t)y - 1 < s->count; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        draw_row(tui_app_run(app), s->rows[row], c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct waits *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s freed @%" PRIu64 " ", vs_bytes_text(s->rows[row]->bytes, buf),
                 s->rows[row]->free_seq);
    name_add(tui_app_run(app), s->rows[row], out);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct waits *s = state;

    (void)count;
    if (action != TUI_OPEN && action != TUI_ACT)
        return false;
    if (!s->count) {
        if (s->pending.count)
            tui_app_go(app, s->pending.highest_seq, true);
        else
            tui_app_say(app, "no freed block waits for a stream in this run");
        return true;
    }
    tui_app_choose_block(app, s->rows[s->list.at]->block);
    if (action == TUI_OPEN)
        tui_app_go(app, s->rows[s->list.at]->free_seq, true);
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct waits *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    if (s->count)
        vs_text_addf(out, "%zu freed %s for a stream, %s", s->count,
                     s->count == 1 ? "block waits" : "blocks wait", vs_bytes_text(s->bytes, buf));
}

static void release(void *state)
{
    struct waits *s = state;

    rpl_pending_release(&s->pending);
    vs_free(s->rows);
}

static const struct tui_hint HINTS[] = {
    {"enter", "its free"},
    {NULL, NULL},
};

const struct tui_view tui_view_waiting = {
    .name = "waiting",
    .title = "waiting",
    .letter = 'G',
    .scope = TUI_IN_WAITING,
    .go = TUI_GO_WAITING,
    .help = "Blocks that were freed while another stream still used them (record_stream): active, "
            "and not allocated, until that stream has come past its use. stream: the one that the "
            "block belongs to; a recording does not name the one that uses it. Enter goes to the "
            "free, and where nothing waits to the event at which most does.",
    .hints = HINTS,
    .beside = "segments",
    .state_size = sizeof(struct waits),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
