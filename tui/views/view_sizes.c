/*
 * tui/views/view_sizes.c - how large the live blocks are: a histogram over powers of two.
 *
 * Must not know:  terminals.
 * Invariant:      the rows add up to what is allocated at the event.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "replay/inspect/sizes.h"
#include "tui/app.h"
#include "tui/parts/format.h"
#include "tui/views.h"

/* Columns: sizes, blocks, bytes, share, rounding. */
#define SIZES_W 16
#define FIGURES_W (SIZES_W + 8 + 9 + 8 + 10)
#define BAR_MIN_W 8

struct sizes {
    struct tui_list list;
    struct rpl_sizes found;
    uint64_t most;
    uint64_t moves;
};

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct sizes *s = state;

    (void)w;
    if (s->moves != app->moves) {
        s->moves = app->moves;
        rpl_sizes_fill(&s->found, rpl_cursor_live(tui_app_run(app)->cursor));
        s->most = 1;
        for (size_t i = 0; i < s->found.count; i++)
            s->most = s->found.classes[i].bytes > s->most ? s->found.classes[i].bytes : s->most;
    }
    tui_list_fit(&s->list, s->found.count, h - 1);
}

static void draw_head(struct tui_canvas *c)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text(c, 1, 0, style, "size");
    tui_text_right(c, SIZES_W, 0, 8, style, "blocks");
    tui_text_right(c, SIZES_W + 8, 0, 9, style, "bytes");
    tui_text_right(c, SIZES_W + 17, 0, 8, style, "share");
    tui_text_right(c, SIZES_W + 25, 0, 10, style, "rounding");
}

/* The categories of a class side by side, in a bar as long as its bytes. */
static void draw_bar(const struct sizes *s, const struct tui_app *app,
                     const struct rpl_size_class *class, struct tui_canvas *c, int y)
{
    int x = FIGURES_W + 2;
    int w = c->at.w - x - 1;
    uint64_t done = 0;
    int at = 0;

    if (w < BAR_MIN_W)
        return;
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        int end;

        done += class->by_category[i];
        end = (int)((double)w * (double)done / (double)s->most + 0.5);
        if (done == class->bytes && !end)
            end = 1;
        for (; at < end; at++) {
            struct tui_style style = tui_style((enum tui_role)(TUI_CAT_PARAMETER + (int)i));

            if (tui_app_has_letters(app))
                tui_put(c, x + at, y, (unsigned char)tui_category_letter((int)i), style);
            else
                tui_put_glyph(c, x + at, y, TUI_G_FULL, style);
        }
    }
}

static void class_text(const struct rpl_size_class *class, struct vs_text *out)
{
    char from[TUI_SHORT_MAX];
    char to[TUI_SHORT_MAX];

    vs_text_addf(out, "%s to %s", tui_short_bytes(class->from, from),
                 class->from > UINT64_MAX / 2 ? "" : tui_short_bytes(class->from * 2, to));
}

static void draw_class(const struct sizes *s, const struct tui_app *app,
                       const struct rpl_size_class *class, struct tui_canvas *c, int y)
{
    uint64_t all = rpl_cursor_live(tui_app_run(app)->cursor)->allocated;
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    class_text(class, &text);
    tui_text(c, 1, y, tui_style(TUI_PLAIN), vs_text_get(&text));
    tui_text_right(c, SIZES_W, y, 8, tui_style(TUI_PLAIN), tui_short_count(class->blocks, buf));
    tui_text_right(c, SIZES_W + 8, y, 9, tui_style(TUI_STRONG), tui_short_bytes(class->bytes, buf));
    vs_text_clear(&text);
    vs_text_addf(&text, "%.1f %%", all ? 100.0 * (double)class->bytes / (double)all : 0.0);
    tui_text_right(c, SIZES_W + 17, y, 8, tui_style(TUI_DIM), vs_text_get(&text));
    tui_text_right(c, SIZES_W + 25, y, 10, tui_style(TUI_DIM),
                   tui_short_bytes(class->bytes - class->requested, buf));
    draw_bar(s, app, class, c, y);
    vs_text_release(&text);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct sizes *s = state;

    if (!s->found.count) {
        tui_text(c, 1, 0, tui_style(TUI_DIM), "nothing is alive");
        return;
    }
    draw_head(c);
    for (int y = 1; y < c->at.h && s->list.top + (size_t)y - 1 < s->found.count; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        draw_class(s, app, &s->found.classes[row], c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct sizes *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    class_text(&s->found.classes[row], out);
    vs_text_addf(out, ": %" PRIu64 " blocks, %s", s->found.classes[row].blocks,
                 vs_bytes_text(s->found.classes[row].bytes, buf));
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct sizes *s = state;

    (void)count;
    if ((action != TUI_OPEN && action != TUI_ACT) || !s->found.count)
        return false;
    tui_app_choose_block(app, s->found.classes[s->list.at].largest);
    tui_app_view(app, "why");
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);
    char buf[VS_BYTES_TEXT_MAX];
    char waste[VS_BYTES_TEXT_MAX];

    (void)state;
    vs_text_addf(out, "%zu blocks, %s, of that rounding %s", live->block_count,
                 vs_bytes_text(live->allocated, buf),
                 vs_bytes_text(live->allocated - live->requested, waste));
}

static const struct tui_hint HINTS[] = {
    {"enter", "why the largest"},
    {NULL, NULL},
};

const struct tui_view tui_view_sizes = {
    .name = "sizes",
    .title = "sizes",
    .letter = 'h',
    .scope = TUI_IN_SIZES,
    .go = TUI_GO_SIZES,
    .help = "Blocks alive at this event by size, between powers of two. rounding: bytes that the "
            "allocator added to what was requested. Enter shows why the largest block of a row is "
            "alive.",
    .hints = HINTS,
    .beside = "blocks",
    .state_size = sizeof(struct sizes),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
};
