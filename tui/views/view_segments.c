/*
 * tui/views/view_segments.c - the map of addresses: segments, their blocks, the gaps, and the blocks that pin a
 * segment.
 *
 * Must not know:  terminals.
 * Invariant:      a cell shows whatever occupies most of its bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/space.h"
#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/views.h"

#define HEAD_W 26
#define FOOT_H 3

/* list: one row per segment. is_common: all rows have the same scale */
struct segments {
    struct tui_list list;
    struct rpl_space space;
    uint64_t moves;
    uint64_t largest;
    bool is_common;
};

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct segments *s = state;

    (void)w;
    if (s->moves != app->moves) {
        rpl_space_fill(&s->space, tui_app_run(app)->cursor);
        s->moves = app->moves;
        s->largest = 1;
        for (size_t i = 0; i < s->space.segment_count; i++)
            if (s->space.segments[i].bytes > s->largest)
                s->largest = s->space.segments[i].bytes;
    }
    tui_list_fit(&s->list, s->space.segment_count, h - 1 - FOOT_H);
}

/* ---- a row ---- */

/*
 * Of the bytes from … to - 1 of a segment: the category with the most, VS_CATEGORY_COUNT for a hole. *part goes on to
 * the last part that begins before `to`.
 */
static int most_of(const struct segments *s, const struct rpl_live *live, size_t *part, size_t end,
                   uint64_t from, uint64_t to)
{
    uint64_t bytes[VS_CATEGORY_COUNT + 1] = {0};
    int best = VS_CATEGORY_COUNT;

    for (;;) {
        const struct rpl_part *p = &s->space.parts[*part];
        uint64_t low = p->address > from ? p->address : from;
        uint64_t high = p->address + p->bytes < to ? p->address + p->bytes : to;
        int what = p->block == SIZE_MAX ? VS_CATEGORY_COUNT : live->blocks[p->block].category;

        if (high > low)
            bytes[what] += high - low;
        if (p->address + p->bytes >= to || *part + 1 >= end)
            break;
        ++*part;
    }
    for (int i = 0; i < VS_CATEGORY_COUNT; i++)
        if (bytes[i] > bytes[best])
            best = i;
    return best;
}

static void draw_map(const struct segments *s, const struct tui_app *app, size_t number,
                     struct tui_canvas *c, int x, int y, int w)
{
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);
    const struct rpl_segment *segment = &s->space.segments[number];
    size_t part = s->space.first_part[number];
    size_t end = s->space.first_part[number + 1];

    if (s->is_common)
        w = (int)((double)segment->bytes / (double)s->largest * w + 0.999);
    for (int i = 0; i < w && part < end; i++) {
        uint64_t from = segment->address + (uint64_t)((double)segment->bytes * i / w);
        uint64_t to = segment->address + (uint64_t)((double)segment->bytes * (i + 1) / w);
        int what = most_of(s, live, &part, end, from, to > from ? to : from + 1);

        if (what == VS_CATEGORY_COUNT)
            tui_put_glyph(c, x + i, y, TUI_G_DOT, tui_style(TUI_DIM));
        else if (tui_app_has_letters(app))
            tui_put(c, x + i, y, (unsigned char)tui_category_letter(what),
                    tui_style(tui_category_role(what)));
        else
            tui_put(c, x + i, y, i % 8 == 4 ? (unsigned char)tui_category_letter(what) : ' ',
                    (struct tui_style){TUI_ON_BAR, (uint8_t)tui_category_role(what), 0});
    }
}

static void draw_segment(const struct segments *s, const struct tui_app *app, size_t number,
                         struct tui_canvas *c, int y)
{
    const struct rpl_segment *segment = &s->space.segments[number];
    char buf[TUI_SHORT_MAX];

    tui_textf(c, 1, y, tui_style(TUI_LINE_NUMBER), "%011" PRIx64, segment->address);
    tui_text_right(c, 13, y, TUI_SHORT_W, tui_style(TUI_PLAIN),
                   tui_short_bytes(segment->bytes, buf));
    tui_text(c, 20, y, tui_style(TUI_DIM),
             segment->is_small    ? "small"
             : segment->is_mapped ? "expd"
                                  : "large");
    draw_map(s, app, number, c, HEAD_W, y, c->at.w - HEAD_W - 1);
}

/* ---- text below the map ---- */

static void draw_hole(const struct segments *s, const struct tui_app *app, struct tui_canvas *c,
                      int y)
{
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);
    struct vs_text name = {NULL, 0, 0};
    const struct rpl_block *block;
    struct rpl_lifetime life;
    uint64_t bytes = 0;
    char a[VS_BYTES_TEXT_MAX];
    size_t pin;
    int x;

    if (s->space.largest_hole == SIZE_MAX)
        return;
    x = tui_textf(c, 1, y, tui_style(TUI_PLAIN), "largest hole %s",
                  vs_bytes_text(s->space.parts[s->space.largest_hole].bytes, a));
    pin = rpl_space_pin(&s->space, s->space.largest_hole, &bytes);
    if (pin == SIZE_MAX || s->space.parts[pin].block == SIZE_MAX)
        return;
    block = &live->blocks[s->space.parts[pin].block];
    life = tui_block_life(tui_app_run(app), block->id);
    tui_block_short(tui_app_run(app), block, &life, &name);
    x = tui_text(c, x, y, tui_style(TUI_DIM), ", pinned by ");
    x = tui_text_cut(c, x, y, c->at.w - x - 1, tui_style(TUI_STRONG), vs_text_get(&name));
    vs_text_release(&name);
}

static void draw_foot(const struct segments *s, const struct tui_app *app, struct tui_canvas *c)
{
    int y = c->at.h - FOOT_H;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];
    struct vs_text text = {NULL, 0, 0};

    tui_row(c, 0, y, c->at.w, TUI_G_HLINE, tui_style(TUI_LINE));
    vs_text_addf(&text, "reserved %s, allocated %s, free %s", vs_bytes_text(s->space.reserved, a),
                 vs_bytes_text(s->space.allocated, b), vs_bytes_text(s->space.free_bytes, d));
    if (s->space.reserved)
        vs_text_addf(&text, ": %.1f %% slack",
                     100.0 * (double)s->space.free_bytes / (double)s->space.reserved);
    tui_text_cut(c, 1, y + 1, c->at.w - 2, tui_style(TUI_PLAIN), vs_text_get(&text));
    vs_text_release(&text);
    draw_hole(s, app, c, y + 2);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct segments *s = state;
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    if (!s->space.segment_count) {
        tui_text(c, 1, 0, tui_style(TUI_DIM),
                 s->space.strays ? "this trace has no segments" : "no segments yet");
        return;
    }
    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text(c, 1, 0, style, "address");
    tui_text_right(c, 13, 0, TUI_SHORT_W, style, "size");
    tui_text(c, 20, 0, style, "pool");
    tui_text(c, HEAD_W, 0, style, s->is_common ? "to one scale" : "each at full width");
    for (int y = 1; y < c->at.h - FOOT_H; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        if (row >= s->space.segment_count)
            break;
        draw_segment(s, app, row, c, y);
        if (row == s->list.at)
            tui_mark(c, (struct tui_rect){0, y, HEAD_W - 1, 1},
                     is_focused ? TUI_SELECTED : TUI_SELECTED_QUIET);
    }
    draw_foot(s, app, c);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct segments *s = state;

    (void)app;
    (void)count;
    if (action != TUI_MODE)
        return false;
    s->is_common = !s->is_common;
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct segments *s = state;
    const struct rpl_segment *segment = &s->space.segments[row];
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    vs_text_addf(out, "0x%" PRIx64 " %s %s", segment->address, vs_bytes_text(segment->bytes, buf),
                 segment->is_small ? "small" : "large");
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct segments *s = state;

    (void)app;
    vs_text_addf(out, "%zu; `:fit 1.5G`: would it fit?", s->space.segment_count);
}

static void release(void *state)
{
    rpl_space_release(&((struct segments *)state)->space);
}

static const struct tui_hint HINTS[] = {
    {"enter", "why"},
    {":fit", "would it fit"},
    {NULL, NULL},
};

const struct tui_view tui_view_segments = {
    .name = "segments",
    .title = "segments",
    .letter = 's',
    .scope = TUI_IN_SEGMENTS,
    .go = TUI_GO_SEGMENTS,
    .help = "Each row is a segment, . is free. t: all segments to one scale. `:fit 1.5G`: would an "
            "allocation of this size fit here?",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct segments),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
