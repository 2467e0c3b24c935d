/*
 * tui/chart.c - see chart.h.
 *
 * Must not know:  runs, events; only figures.
 * Invariant:      edges are computed from sums, not from rounded parts, so errors do not add up.
 */
#include "tui/chart.h"

#include "base/event.h"
#include "tui/theme.h"

/* In each band of colour, a letter every so many columns. */
#define LETTER_EVERY 8

static const unsigned char ORDER[VS_CATEGORY_COUNT] = {
    VS_CAT_PARAMETER,  VS_CAT_BUFFER,     VS_CAT_OPTIMIZER, VS_CAT_GRADIENT,
    VS_CAT_INPUT,      VS_CAT_CHECKPOINT, VS_CAT_SAVED,     VS_CAT_CAST,
    VS_CAT_ACTIVATION, VS_CAT_TEMPORARY,  VS_CAT_WORKSPACE, VS_CAT_OTHER,
};

int tui_chart_order(int i)
{
    return ORDER[i];
}

/* Eighths of cells that `bytes` are high; what is there at all has one. */
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

/* Upper edges of the bands of a column, in eighths; returns that of the highest. */
static int edges_fill(const struct rpl_column *column, uint64_t top, int h,
                      int edges[VS_CATEGORY_COUNT])
{
    uint64_t sum = 0;

    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        sum += column->by_category[ORDER[i]];
        edges[i] = eighths(sum, top, h);
    }
    return edges[VS_CATEGORY_COUNT - 1];
}

/* The band with most of the eighths from … to - 1; *fill is how many it has. */
static int band_most(const int edges[VS_CATEGORY_COUNT], int from, int to, int *fill)
{
    int best = 0;

    *fill = 0;
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        int low = i && edges[i - 1] > from ? edges[i - 1] : from;
        int high = edges[i] < to ? edges[i] : to;

        if (i && edges[i - 1] < from)
            low = from;
        if (high - low > *fill) {
            *fill = high - low;
            best = i;
        }
    }
    return best;
}

/* The band in which eighth `at` lies. */
static int band_at(const int edges[VS_CATEGORY_COUNT], int at)
{
    int i = 0;

    while (i < VS_CATEGORY_COUNT - 1 && edges[i] <= at)
        i++;
    return i;
}

static struct tui_style band_style(int band)
{
    return tui_style(tui_category_role(ORDER[band]));
}

/* A cell of colour: eighths low … low + 7 of the column. */
static void cell_colour(struct tui_canvas *c, int x, int y, const int edges[VS_CATEGORY_COUNT],
                        int low)
{
    int top = edges[VS_CATEGORY_COUNT - 1];
    int first = band_at(edges, low);
    int fill;

    if (top < low + 8) {
        /* the upper edge says how much there is: it is drawn, and the bands below it give way */
        int band = band_most(edges, low, top, &fill);

        tui_put_glyph(c, x, y, (enum tui_glyph)(TUI_G_EIGHTH_1 + top - low - 1), band_style(band));
    } else if (edges[first] >= low + 8) {
        tui_put_glyph(c, x, y, TUI_G_FULL, band_style(first));
    } else {
        int second = band_most(edges, edges[first], low + 8, &fill);
        struct tui_style style = band_style(first);

        style.behind = (uint8_t)tui_category_role(ORDER[second]);
        tui_put_glyph(c, x, y, (enum tui_glyph)(TUI_G_EIGHTH_1 + edges[first] - low - 1), style);
    }
}

static void cell_letter(struct tui_canvas *c, int x, int y, const int edges[VS_CATEGORY_COUNT],
                        int low)
{
    int fill;
    int band = band_most(edges, low, low + 8, &fill);
    int top = edges[VS_CATEGORY_COUNT - 1];

    if (top - low >= 4 || low == 0)
        tui_put(c, x, y, (unsigned char)tui_category_letter(ORDER[band]), band_style(band));
}

/* A letter into the middle of each band that is high enough, so that a colour is not all that tells it. */
static void letters_add(struct tui_canvas *c, int x, int h, const int edges[VS_CATEGORY_COUNT])
{
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        int low = i ? edges[i - 1] : 0;
        int row = (low + edges[i]) / 2 / 8;
        struct tui_style style = {TUI_INK, (uint8_t)tui_category_role(ORDER[i]), 0};

        if (row * 8 >= low && row * 8 + 8 <= edges[i])
            tui_put(c, x, h - 1 - row, (unsigned char)tui_category_letter(ORDER[i]), style);
    }
}

static void column_draw(const struct tui_chart *chart, struct tui_canvas *c, int x)
{
    int edges[VS_CATEGORY_COUNT];
    int h = c->at.h;
    int top = edges_fill(&chart->columns[x], chart->top, h, edges);

    for (int low = 0, y = h - 1; low < top && y >= 0; low += 8, y--) {
        if (chart->has_letters)
            cell_letter(c, x, y, edges, low);
        else
            cell_colour(c, x, y, edges, low);
    }
    if (!chart->has_letters && x % LETTER_EVERY == LETTER_EVERY / 2)
        letters_add(c, x, h, edges);
}

/* The other run's height over a column; where the two are as high, there is nothing to say. */
static void ghost_draw(const struct tui_chart *chart, struct tui_canvas *c, int x)
{
    int y = tui_chart_row(chart->other[x].allocated_max, chart->top, c->at.h);
    int edges[VS_CATEGORY_COUNT];
    int low = (c->at.h - 1 - y) * 8;
    struct tui_style style = tui_style(TUI_GHOST);

    if (y < 0 || y >= c->at.h ||
        y == tui_chart_row(chart->columns[x].allocated_max, chart->top, c->at.h))
        return;
    if (edges_fill(&chart->columns[x], chart->top, c->at.h, edges) >= low + 8 &&
        !chart->has_letters)
        style.behind = (uint8_t)tui_category_role(ORDER[band_at(edges, low)]);
    tui_put_glyph(c, x, y, TUI_G_DASHED, style);
}

void tui_chart_draw(const struct tui_chart *chart, struct tui_canvas *c)
{
    for (int x = 0; x < chart->count && x < c->at.w; x++) {
        column_draw(chart, c, x);
        if (chart->other)
            ghost_draw(chart, c, x);
    }
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
