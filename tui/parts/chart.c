/*
 * tui/parts/chart.c - see chart.h.
 *
 * Must not know:  runs and events; it only gets figures.
 * Invariant:      edges are computed from sums, not from rounded parts, so errors do not add up.
 */
#include "tui/parts/chart.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/event.h"
#include "base/text.h"
#include "tui/parts/format.h"
#include "tui/term/theme.h"

static const unsigned char ORDER[VS_CATEGORY_COUNT] = {
    VS_CAT_PARAMETER,  VS_CAT_BUFFER,     VS_CAT_OPTIMIZER, VS_CAT_GRADIENT,
    VS_CAT_INPUT,      VS_CAT_CHECKPOINT, VS_CAT_SAVED,     VS_CAT_CAST,
    VS_CAT_ACTIVATION, VS_CAT_TEMPORARY,  VS_CAT_WORKSPACE, VS_CAT_OTHER,
};

int tui_chart_order(int i)
{
    return ORDER[i];
}

/* Height of `bytes` in eighths of cells; at least one unless `bytes` is 0. */
static int eighths(uint64_t bytes, uint64_t top, int h)
{
    double part = top ? (double)bytes / (double)top : 0.0;
    int n = (int)(part * 8.0 * h + 0.5);

    return bytes && !n ? 1 : n;
}

int tui_chart_row(uint64_t bytes, uint64_t top, int h)
{
    return h - (eighths(bytes, top, h) + 7) / 8;
}

/*
 * A column as bands, from below: the upper edge of each in eighths, and what it is drawn as.
 */
#define BANDS_MAX VS_CATEGORY_COUNT
struct stack {
    int count;
    int edges[BANDS_MAX];
    uint8_t roles[BANDS_MAX];
    unsigned char letters[BANDS_MAX];
};

static int stack_top(const struct stack *stack)
{
    return stack->edges[stack->count - 1];
}

static void categories_stack(const struct rpl_column *column, uint64_t top, int h,
                             struct stack *out)
{
    uint64_t sum = 0;

    out->count = VS_CATEGORY_COUNT;
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        sum += column->by_category[ORDER[i]];
        out->edges[i] = eighths(sum, top, h);
        out->roles[i] = (uint8_t)tui_category_role(ORDER[i]);
        out->letters[i] = (unsigned char)tui_category_letter(ORDER[i]);
    }
}

/* The height that both runs reach, and above it what one of them has more. */
static void sides_stack(const struct tui_sides *sides, uint64_t top, int h, struct stack *out)
{
    bool is_b = sides->b > sides->a;

    out->count = 2;
    out->edges[0] = eighths(is_b ? sides->a : sides->b, top, h);
    out->edges[1] = eighths(is_b ? sides->b : sides->a, top, h);
    out->roles[0] = TUI_SIDE_BOTH;
    out->roles[1] = is_b ? TUI_SIDE_B : TUI_SIDE_A;
    out->letters[0] = '=';
    out->letters[1] = is_b ? 'B' : 'A';
}

/* The band with most of the eighths from … to - 1; *fill is how many it has. */
static int band_most(const struct stack *stack, int from, int to, int *fill)
{
    int best = 0;

    *fill = 0;
    for (int i = 0; i < stack->count; i++) {
        int low = i && stack->edges[i - 1] > from ? stack->edges[i - 1] : from;
        int high = stack->edges[i] < to ? stack->edges[i] : to;

        if (high - low > *fill) {
            *fill = high - low;
            best = i;
        }
    }
    return best;
}

/* The band that contains eighth `at`. */
static int band_at(const struct stack *stack, int at)
{
    int i = 0;

    while (i < stack->count - 1 && stack->edges[i] <= at)
        i++;
    return i;
}

static struct tui_style band_style(const struct stack *stack, int band)
{
    return tui_style((enum tui_role)stack->roles[band]);
}

/* A cell of colour: eighths low … low + 7 of the column. */
static void cell_colour(struct tui_canvas *c, int x, int y, const struct stack *stack, int low)
{
    int top = stack_top(stack);
    int first = band_at(stack, low);
    int edge = stack->edges[first];
    int fill;

    if (top < low + 8) {
        /* the upper edge shows the total: it is drawn, and bands below it that share its cell are left out */
        int band = band_most(stack, low, top, &fill);

        tui_put_glyph(c, x, y, (enum tui_glyph)(TUI_G_EIGHTH_1 + top - low - 1),
                      band_style(stack, band));
    } else if (edge >= low + 8) {
        tui_put_glyph(c, x, y, TUI_G_FULL, band_style(stack, first));
    } else {
        int second = band_most(stack, edge, low + 8, &fill);
        struct tui_style style = band_style(stack, first);

        style.behind = stack->roles[second];
        tui_put_glyph(c, x, y, (enum tui_glyph)(TUI_G_EIGHTH_1 + edge - low - 1), style);
    }
}

static void cell_letter(struct tui_canvas *c, int x, int y, const struct stack *stack, int low)
{
    int fill;
    int band = band_most(stack, low, low + 8, &fill);

    if (stack_top(stack) - low >= 4 || low == 0)
        tui_put(c, x, y, stack->letters[band], band_style(stack, band));
}

static void stack_draw(const struct stack *stack, bool has_letters, struct tui_canvas *c, int x)
{
    int h = c->at.h;
    int top = stack_top(stack);

    for (int low = 0, y = h - 1; low < top && y >= 0; low += 8, y--) {
        if (has_letters)
            cell_letter(c, x, y, stack, low);
        else
            cell_colour(c, x, y, stack, low);
    }
}

/* Marks a height in a column; nothing where that is the column's own. */
static void line_draw(const struct tui_chart *chart, const struct stack *stack,
                      struct tui_canvas *c, int x, uint64_t bytes)
{
    int y = tui_chart_row(bytes, chart->top, c->at.h);
    int low = (c->at.h - 1 - y) * 8;
    struct tui_style style = tui_style(TUI_GHOST);

    if (y < 0 || y >= c->at.h ||
        y == tui_chart_row(chart->columns[x].allocated_max, chart->top, c->at.h))
        return;
    if (stack_top(stack) >= low + 8 && !chart->has_letters)
        style.behind = stack->roles[band_at(stack, low)];
    tui_put_glyph(c, x, y, TUI_G_DASHED, style);
}

/* Whether band `band` fills the cell of row `row` in columns x … x + w - 1. */
static bool band_fills(const struct tui_chart *chart, int h, int band, int x, int w, int row)
{
    struct stack stack = {.count = 0};

    if (x < 0 || x + w > chart->count)
        return false;
    for (int i = x; i < x + w; i++) {
        categories_stack(&chart->columns[i], chart->top, h, &stack);
        if ((band && stack.edges[band - 1] > row * 8) || stack.edges[band] < row * 8 + 8)
            return false;
    }
    return true;
}

/* Where a band is labelled: the column in which it is highest, and its height there in eighths. */
struct label {
    int x;
    int high;
};

/*
 * Write the name of each category once, where its band is highest; only its letter where the name does not fit, and
 * nothing where the band fills no cell.
 */
static void labels_draw(const struct tui_chart *chart, const struct label *labels,
                        struct tui_canvas *c)
{
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        const char *name = vs_category_name((enum vs_category)ORDER[i]);
        int w = (int)strlen(name);
        struct tui_style style = {TUI_ON_BAR, (uint8_t)tui_category_role(ORDER[i]), 0};
        struct stack stack;
        int x = labels[i].x;
        int low;
        int row;

        if (labels[i].high < 8)
            continue;
        categories_stack(&chart->columns[x], chart->top, c->at.h, &stack);
        low = i ? stack.edges[i - 1] : 0;
        row = (low + stack.edges[i]) / 2 / 8;
        if (!band_fills(chart, c->at.h, i, x, 1, row))
            row = (low + 7) / 8;
        if (band_fills(chart, c->at.h, i, x - w / 2, w, row))
            tui_text(c, x - w / 2, c->at.h - 1 - row, style, name);
        else if (band_fills(chart, c->at.h, i, x, 1, row))
            tui_put(c, x, c->at.h - 1 - row, (unsigned char)tui_category_letter(ORDER[i]), style);
    }
}

void tui_chart_draw(const struct tui_chart *chart, struct tui_canvas *c)
{
    struct label labels[VS_CATEGORY_COUNT] = {{0, 0}};
    struct stack stack = {.count = 0};

    for (int x = 0; x < chart->count && x < c->at.w; x++) {
        categories_stack(&chart->columns[x], chart->top, c->at.h, &stack);
        stack_draw(&stack, chart->has_letters, c, x);
        for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
            int high = stack.edges[i] - (i ? stack.edges[i - 1] : 0);

            if (high > labels[i].high)
                labels[i] = (struct label){x, high};
        }
        if (chart->has_low)
            line_draw(chart, &stack, c, x, chart->columns[x].allocated_min);
        if (chart->other)
            line_draw(chart, &stack, c, x, chart->other[x].allocated_max);
    }
    if (!chart->has_letters)
        labels_draw(chart, labels, c);
}

void tui_chart_sides(const struct tui_sides *sides, int count, uint64_t top, bool has_letters,
                     struct tui_canvas *c)
{
    struct stack stack = {.count = 0};

    for (int x = 0; x < count && x < c->at.w; x++) {
        sides_stack(&sides[x], top, c->at.h, &stack);
        stack_draw(&stack, has_letters, c, x);
    }
}

enum tui_role tui_chart_part_role(size_t part)
{
    static const enum tui_role ROLES[] = {TUI_SIDE_A, TUI_SIDE_B, TUI_GOOD, TUI_STRONG};

    return ROLES[part % (sizeof(ROLES) / sizeof(ROLES[0]))];
}

char tui_chart_part_letter(size_t part)
{
    return (char)('a' + part % TUI_CHART_PARTS);
}

void tui_chart_parts(const uint64_t *bytes, size_t parts, int count, uint64_t top, bool has_letters,
                     struct tui_canvas *c)
{
    struct stack stack = {.count = (int)parts};

    VS_ASSERT(parts > 0 && parts <= TUI_CHART_PARTS);
    for (int x = 0; x < count && x < c->at.w; x++) {
        uint64_t sum = 0;

        for (size_t i = 0; i < parts; i++) {
            sum += bytes[(size_t)x * parts + i];
            stack.edges[i] = eighths(sum, top, c->at.h);
            stack.roles[i] = (uint8_t)tui_chart_part_role(i);
            stack.letters[i] = (unsigned char)tui_chart_part_letter(i);
        }
        stack_draw(&stack, has_letters, c, x);
    }
}

void tui_chart_axis(struct tui_canvas *c, int w, int h, uint64_t top)
{
    double unit;
    char letter;
    double every = vs_bytes_tick((double)top * (h >= 16 ? 4 : h >= 9 ? 3 : 2) / h, &unit, &letter);
    char buf[32];

    for (int y = 0; y < h; y++)
        tui_put_glyph(c, w - 1, y, TUI_G_VLINE, tui_style(TUI_LINE));
    for (double at = every; at < (double)top; at += every) {
        int y = tui_chart_row((uint64_t)at, top, h);

        snprintf(buf, sizeof(buf), "%.4g%c", at / unit, letter);
        if (y >= 0 && y < h)
            tui_text_right(c, 0, y, w - 1, tui_style(TUI_DIM), buf);
    }
}

void tui_chart_piece(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                     const char *name)
{
    int len = tui_text_width(name);

    tui_fill(c, (struct tui_rect){x, y, w, 1}, style);
    if (len > w)
        tui_text_cut(c, x, y, w, style, w >= 3 ? name : "");
    else
        tui_text(c, x + (w - len) / 2, y, style, name);
}

void tui_chart_spark(const struct tui_chart *chart, struct tui_canvas *c, int x, int y,
                     struct tui_style style)
{
    for (int i = 0; i < chart->count; i++) {
        int n = eighths(chart->columns[i].allocated_max, chart->top, 1);

        if (n > 8)
            n = 8;
        if (n)
            tui_put_glyph(c, x + i, y, (enum tui_glyph)(TUI_G_EIGHTH_1 + n - 1), style);
    }
}

/* ---- legend ---- */

/* "saved 888M", or "888M" if names do not fit. */
static void add_legend(const uint64_t *by_category, int category, bool names, struct vs_text *out)
{
    char buf[TUI_SHORT_MAX];

    vs_text_addf(out, "%s%s%s", names ? vs_category_name((enum vs_category)category) : "",
                 names ? " " : "", tui_short_bytes(by_category[category], buf));
}

/* Width of the legend with all names. */
static int legend_width(const uint64_t *by_category)
{
    int w = 1;

    for (int category = 0; category < VS_CATEGORY_COUNT; category++) {
        struct vs_text text = {NULL, 0, 0};

        if (!by_category[category])
            continue;
        add_legend(by_category, category, true, &text);
        w += tui_text_width(vs_text_get(&text)) + 4;
        vs_text_release(&text);
    }
    return w - 2;
}

void tui_chart_legend(const uint64_t *by_category, struct tui_canvas *c, int y)
{
    bool names = legend_width(by_category) <= c->at.w;
    int x = 1;

    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        int category = tui_chart_order(i);
        enum tui_role role = tui_category_role(category);
        struct vs_text text = {NULL, 0, 0};

        if (!by_category[category])
            continue;
        add_legend(by_category, category, names, &text);
        if (x + 2 + tui_text_width(vs_text_get(&text)) <= c->at.w) {
            tui_put(c, x, y, (unsigned char)tui_category_letter(category),
                    tui_style_marked(role, TUI_REVERSE));
            x = tui_text(c, x + 2, y, tui_style(TUI_PLAIN), vs_text_get(&text)) + 2;
        }
        vs_text_release(&text);
    }
}
