/*
 * tui/views/view_segments.c - the map of addresses: segments, their blocks and holes, the blocks that pin a segment,
 * and whether memory is fragmented.
 *
 * Must not know:  terminals.
 * Invariant:      a cell shows whatever occupies most of its bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_name.h"
#include "replay/inspect/space.h"
#include "tui/app.h"
#include "tui/names.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "tui/views/fragmentation.h"

#define HEAD_W 26
#define FOOT_H 4

enum order { BY_ADDRESS, BY_SIZE, BY_FREE, ORDER_COUNT };

/*
 * list       one row per segment: segment order[row]; sorted by `by`, the reverse if is_turned
 * free_bytes of each segment: bytes of its holes
 * address    the chosen part is the one at this address
 * part       its index in space.parts; SIZE_MAX: there is none
 * tried      settings of the allocator that were run; is_opened: the view was opened, so they are to be run
 * has_tried  other settings are worth a row of the foot, which has foot_h rows
 * is_common  all rows have the same scale
 */
struct segments {
    struct tui_list list;
    struct rpl_space space;
    size_t *order;
    uint64_t *free_bytes;
    size_t cap;
    struct tui_tried tried;
    bool is_opened;
    bool has_tried;
    int foot_h;
    uint64_t moves;
    uint64_t largest;
    uint64_t address;
    size_t part;
    enum order by;
    bool is_turned;
    bool is_common;
};

/* ---- rows and the chosen part ---- */

/* One row to sort: qsort passes no more. */
struct row {
    uint64_t key;
    size_t segment;
};

static int by_key(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static uint64_t key_of(const struct segments *s, size_t segment)
{
    /* the largest first */
    return s->by == BY_SIZE   ? UINT64_MAX - s->space.segments[segment].bytes
           : s->by == BY_FREE ? UINT64_MAX - s->free_bytes[segment]
                              : s->space.segments[segment].address;
}

static void rows_sort(struct segments *s)
{
    size_t count = s->space.segment_count;
    struct row *rows = vs_calloc(count + 1, sizeof(*rows));

    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row){key_of(s, i), i};
    qsort(rows, count, sizeof(*rows), by_key);
    for (size_t i = 0; i < count; i++)
        s->order[s->is_turned ? count - 1 - i : i] = rows[i].segment;
    vs_free(rows);
}

static void figures_make(struct segments *s)
{
    size_t count = s->space.segment_count;

    if (count > s->cap) {
        vs_free(s->order);
        vs_free(s->free_bytes);
        s->order = vs_calloc(count, sizeof(*s->order));
        s->free_bytes = vs_calloc(count, sizeof(*s->free_bytes));
        s->cap = count;
    }
    s->largest = 1;
    for (size_t i = 0; i < count; i++) {
        if (s->space.segments[i].bytes > s->largest)
            s->largest = s->space.segments[i].bytes;
        s->free_bytes[i] = 0;
        for (size_t part = s->space.first_part[i]; part < s->space.first_part[i + 1]; part++)
            if (s->space.parts[part].block == SIZE_MAX)
                s->free_bytes[i] += s->space.parts[part].bytes;
    }
}

/* The part at `address`; SIZE_MAX: none. Parts are in order of address. */
static size_t part_at(const struct rpl_space *space, uint64_t address)
{
    size_t low = 0;
    size_t high = space->part_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (space->parts[mid].address + space->parts[mid].bytes <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low < space->part_count && space->parts[low].address <= address ? low : SIZE_MAX;
}

static void part_choose(struct segments *s, struct tui_app *app, size_t part)
{
    const struct rpl_part *p = &s->space.parts[part];
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);

    s->part = part;
    s->address = p->address;
    if (p->block != SIZE_MAX)
        app->block = live->blocks[p->block].id;
}

/* The part of the chosen block, where it is in a segment. */
static size_t part_of_block(const struct segments *s, const struct tui_app *app)
{
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);

    for (size_t i = 0; app->block && i < s->space.part_count; i++)
        if (s->space.parts[i].block != SIZE_MAX &&
            live->blocks[s->space.parts[i].block].id == app->block)
            return i;
    return SIZE_MAX;
}

/* The chosen part lies in the chosen row: the one that was chosen before, if it is still there. */
static void row_find(struct segments *s)
{
    s->part = part_at(&s->space, s->address);
    for (size_t row = 0; s->part != SIZE_MAX && row < s->space.segment_count; row++)
        if (s->order[row] == s->space.parts[s->part].segment)
            s->list.at = row;
}

/* In a row that was chosen with the keys of the list, the largest part is chosen. */
static void moved(void *state, struct tui_app *app)
{
    struct segments *s = state;
    size_t segment;
    size_t best;

    if (!s->space.segment_count)
        return;
    segment = s->order[s->list.at];
    best = s->space.first_part[segment];
    for (size_t i = best; i < s->space.first_part[segment + 1]; i++)
        if (s->space.parts[i].bytes > s->space.parts[best].bytes)
            best = i;
    if (best < s->space.first_part[segment + 1])
        part_choose(s, app, best);
}

/* Whether other settings of the allocator are worth a row: tui_tried_text. */
static bool has_tried(const struct segments *s, const struct tui_app *app)
{
    struct vs_text text = {NULL, 0, 0};
    bool has =
        s->space.reserved && !app->change.is_shown && tui_fragmentation_text(&s->space, app, &text);

    vs_text_release(&text);
    return has;
}

/* Runs settings of the allocator where they may help. */
static bool read_on(void *state, struct tui_app *app)
{
    struct segments *s = state;

    if (!s->is_opened || s->tried.count || s->moves != app->moves || !s->has_tried)
        return false;
    tui_tried_run(&s->tried, app);
    app->news++;
    return true;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct segments *s = state;

    (void)w;
    if (s->moves != app->moves) {
        size_t part;

        rpl_space_fill(&s->space, tui_app_run(app)->cursor);
        s->moves = app->moves;
        figures_make(s);
        rows_sort(s);
        part = part_of_block(s, app);
        if (part != SIZE_MAX)
            s->address = s->space.parts[part].address;
        row_find(s);
        s->has_tried = has_tried(s, app);
    }
    s->foot_h = FOOT_H + s->has_tried;
    tui_list_fit(&s->list, s->space.segment_count, h - 1 - s->foot_h);
    if (s->part == SIZE_MAX && s->space.part_count)
        s->part = s->space.first_part[s->order[s->list.at]];
}

/* ---- a row ---- */

/*
 * Of the bytes from … to - 1 of a segment: the category with the most, VS_CATEGORY_COUNT for a hole. *part goes on to
 * the last part that begins before `to`. *main: the part with the most bytes.
 */
static int most_of(const struct segments *s, const struct rpl_live *live, size_t *part, size_t end,
                   uint64_t from, uint64_t to, size_t *main)
{
    uint64_t bytes[VS_CATEGORY_COUNT + 1] = {0};
    int best = VS_CATEGORY_COUNT;
    uint64_t most = 0;

    for (;;) {
        const struct rpl_part *p = &s->space.parts[*part];
        uint64_t low = p->address > from ? p->address : from;
        uint64_t high = p->address + p->bytes < to ? p->address + p->bytes : to;
        int what = p->block == SIZE_MAX ? VS_CATEGORY_COUNT : live->blocks[p->block].category;

        if (high > low) {
            bytes[what] += high - low;
            if (high - low > most) {
                most = high - low;
                *main = *part;
            }
        }
        if (p->address + p->bytes >= to || *part + 1 >= end)
            break;
        ++*part;
    }
    for (int i = 0; i < VS_CATEGORY_COUNT; i++)
        if (bytes[i] > bytes[best])
            best = i;
    return best;
}

/* Cells of the map of segment `number`, of at most `w`. */
static int map_w(const struct segments *s, size_t number, int w)
{
    double share = (double)s->space.segments[number].bytes / (double)s->largest;

    return s->is_common ? (int)(share * w + 0.999) : w;
}

static void draw_map(const struct segments *s, const struct tui_app *app, size_t number,
                     struct tui_canvas *c, int x, int y, int w)
{
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);
    const struct rpl_segment *segment = &s->space.segments[number];
    size_t part = s->space.first_part[number];
    size_t end = s->space.first_part[number + 1];
    size_t main = SIZE_MAX;

    w = map_w(s, number, w);
    for (int i = 0; i < w && part < end; i++) {
        uint64_t from = segment->address + (uint64_t)((double)segment->bytes * i / w);
        uint64_t to = segment->address + (uint64_t)((double)segment->bytes * (i + 1) / w);
        size_t before = main;
        int what = most_of(s, live, &part, end, from, to > from ? to : from + 1, &main);
        /* the first cell of a block is different from the others, so that neighbours differ */
        bool is_first = main != before;
        unsigned char letter = (unsigned char)tui_category_letter(what);

        if (what == VS_CATEGORY_COUNT)
            tui_put_glyph(c, x + i, y, TUI_G_DOT, tui_style(TUI_DIM));
        else if (tui_app_has_letters(app))
            tui_put(c, x + i, y, is_first ? letter : (unsigned char)(letter | 0x20),
                    tui_style(tui_category_role(what)));
        else
            tui_put(c, x + i, y, is_first ? letter : ' ',
                    (struct tui_style){TUI_ON_BAR, (uint8_t)tui_category_role(what), 0});
    }
}

/* Marks the cells of the chosen part, at least one. */
static void mark_part(const struct segments *s, struct tui_canvas *c, int x, int y, int w,
                      bool is_focused)
{
    const struct rpl_part *p = &s->space.parts[s->part];
    const struct rpl_segment *segment = &s->space.segments[p->segment];
    int all = map_w(s, p->segment, w);
    double scale = (double)all / (double)segment->bytes;
    int from = (int)((double)(p->address - segment->address) * scale);
    int to = (int)((double)(p->address + p->bytes - segment->address) * scale);

    if (from >= all)
        from = all - 1;
    tui_mark(c, (struct tui_rect){x + from, y, to > from ? to - from : 1, 1},
             is_focused ? TUI_SELECTED : TUI_SELECTED_QUIET);
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

/* The block that pins hole `part`, and its name; false: none does. */
static bool pin_name(const struct segments *s, const struct tui_app *app, size_t part,
                     struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_block *block;
    struct rpl_lifetime life;
    uint64_t bytes = 0;
    size_t pin = rpl_space_pin(&s->space, part, &bytes);

    if (pin == SIZE_MAX || s->space.parts[pin].block == SIZE_MAX)
        return false;
    block = &rpl_cursor_live(run->cursor)->blocks[s->space.parts[pin].block];
    life = tui_block_life(run, block->id);
    if (!rpl_block_name(run->cursor, block, &life, out)) {
        vs_text_add(out, "a block of ");
        rpl_block_origin(run->trace, block, out);
    }
    return true;
}

/* "S saved 50.0 MiB at +2.0 MiB  conv1 _convolution, line 59", or of a hole what pins it. */
static void part_text(const struct segments *s, const struct tui_app *app, size_t part,
                      struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_part *p = &s->space.parts[part];
    char size[VS_BYTES_TEXT_MAX];
    char at[VS_BYTES_TEXT_MAX];
    uint64_t offset = p->address - s->space.segments[p->segment].address;
    struct vs_text pin = {NULL, 0, 0};

    vs_bytes_text(p->bytes, size);
    vs_bytes_text(offset, at);
    if (p->block == SIZE_MAX) {
        vs_text_addf(out, "free %s at +%s", size, at);
        if (pin_name(s, app, part, &pin))
            vs_text_addf(out, ", pinned by %s", vs_text_get(&pin));
    } else {
        const struct rpl_block *block = &rpl_cursor_live(run->cursor)->blocks[p->block];
        struct rpl_lifetime life = tui_block_life(run, block->id);

        vs_text_addf(out, "%c %s %s at +%s  ", tui_category_letter(block->category),
                     vs_category_name((enum vs_category)block->category), size, at);
        tui_block_short(run->cursor, block, &life, out);
        if (rpl_trace_location(run->trace, block->alloc_location)->line)
            vs_text_addf(out, ", line %" PRIu32,
                         rpl_trace_location(run->trace, block->alloc_location)->line);
    }
    vs_text_release(&pin);
}

static void draw_foot(const struct segments *s, const struct tui_app *app, struct tui_canvas *c)
{
    int y = c->at.h - s->foot_h;
    char a[VS_BYTES_TEXT_MAX];
    struct vs_text text = {NULL, 0, 0};
    struct vs_text pin = {NULL, 0, 0};

    tui_row(c, 0, y++, c->at.w, TUI_G_HLINE, tui_style(TUI_LINE));
    if (s->part != SIZE_MAX)
        part_text(s, app, s->part, &text);
    tui_text_cut(c, 1, y++, c->at.w - 2, tui_style(TUI_STRONG), vs_text_get(&text));
    vs_text_clear(&text);
    if (s->space.reserved)
        (void)tui_fragmentation_text(&s->space, app, &text);
    tui_text_cut(c, 1, y++, c->at.w - 2, tui_style(TUI_PLAIN), vs_text_get(&text));
    vs_text_clear(&text);
    if (s->space.largest_hole != SIZE_MAX) {
        vs_text_addf(&text, "largest hole %s",
                     vs_bytes_text(s->space.parts[s->space.largest_hole].bytes, a));
        if (pin_name(s, app, s->space.largest_hole, &pin))
            vs_text_addf(&text, ", pinned by %s", vs_text_get(&pin));
    }
    tui_text_cut(c, 1, y++, c->at.w - 2, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_clear(&text);
    if (s->has_tried)
        tui_tried_text(&s->tried, &text);
    tui_text_cut(c, 1, y, c->at.w - 2, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
    vs_text_release(&pin);
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
    for (int y = 1; y < c->at.h - s->foot_h; y++) {
        size_t row = s->list.top + (size_t)y - 1;

        if (row >= s->space.segment_count)
            break;
        draw_segment(s, app, s->order[row], c, y);
        if (row != s->list.at)
            continue;
        tui_mark(c, (struct tui_rect){0, y, HEAD_W - 1, 1},
                 is_focused ? TUI_SELECTED : TUI_SELECTED_QUIET);
        if (s->part != SIZE_MAX && s->space.parts[s->part].segment == s->order[row])
            mark_part(s, c, HEAD_W, y, c->at.w - HEAD_W - 1, is_focused);
    }
    draw_foot(s, app, c);
}

/* ---- keys ---- */

static void part_move(struct segments *s, struct tui_app *app, bool is_back, int64_t count)
{
    size_t segment = s->order[s->list.at];
    size_t first = s->space.first_part[segment];
    size_t last = s->space.first_part[segment + 1] - 1;
    size_t part = s->part < first || s->part > last ? first : s->part;

    if (part == s->part && part == (is_back ? first : last))
        tui_app_say(app, is_back ? "the segment begins here; k goes to the one above"
                                 : "the segment ends here; j goes to the one below");
    while (count-- > 0 && part != (is_back ? first : last))
        part += is_back ? SIZE_MAX : 1;
    part_choose(s, app, part);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct segments *s = state;

    if (action == TUI_MODE && s->space.segment_count) {
        s->is_common = !s->is_common;
        return true;
    }
    if (!s->space.segment_count || s->part == SIZE_MAX)
        return false;
    if (action == TUI_LEFT || action == TUI_RIGHT) {
        part_move(s, app, action == TUI_LEFT, count);
    } else if (action == TUI_SORT || action == TUI_SORT_TURN) {
        if (action == TUI_SORT)
            s->by = (enum order)((s->by + 1) % ORDER_COUNT);
        else
            s->is_turned = !s->is_turned;
        rows_sort(s);
        row_find(s);
    } else if (action == TUI_OPEN || action == TUI_ACT) {
        if (s->space.parts[s->part].block == SIZE_MAX) {
            tui_app_say(app, "this part is free; h and l go to the blocks beside it");
        } else {
            part_choose(s, app, s->part);
            tui_app_view(app, "why");
        }
    } else {
        return false;
    }
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct segments *s = state;
    const struct rpl_segment *segment = &s->space.segments[s->order[row]];
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    vs_text_addf(out, "0x%" PRIx64 " %s %s", segment->address, vs_bytes_text(segment->bytes, buf),
                 segment->is_small ? "small" : "large");
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct segments *s = state;

    (void)app;
    static const char *const ORDERS[ORDER_COUNT] = {"", ", by size", ", by free bytes"};

    vs_text_addf(out, "%zu%s; `:fit 1.5G`: would it fit?", s->space.segment_count, ORDERS[s->by]);
}

static void release(void *state)
{
    struct segments *s = state;

    rpl_space_release(&s->space);
    vs_free(s->order);
    vs_free(s->free_bytes);
    tui_tried_release(&s->tried);
}

static void opened(void *state, struct tui_app *app)
{
    struct segments *s = state;

    (void)app;
    s->is_opened = true;
}

static const struct tui_hint HINTS[] = {
    {"h/l", "block"}, {"enter", "why"},         {"o", "sort"},
    {"t", "scale"},   {":fit", "would it fit"}, {NULL, NULL},
};

const struct tui_view tui_view_segments = {
    .name = "segments",
    .title = "segments",
    .letter = 's',
    .scope = TUI_IN_SEGMENTS,
    .go = TUI_GO_SEGMENTS,
    .help =
        "Each row is a segment, . is free. h and l go to the next block or hole of the segment, "
        "enter shows why it is alive. o: by address, by size, by free bytes. t: all segments to "
        "one scale. `:fit 1.5G`: would an allocation of this size fit here? Where memory is "
        "fragmented, settings of alloc-conf are run, and the last row has the best; any key stops "
        "that.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct segments),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .read_on = read_on,
    .draw = draw,
    .key = key,
    .text = text,
    .opened = opened,
    .moved = moved,
    .title_more = title_more,
    .release = release,
};
