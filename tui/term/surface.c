/*
 * tui/term/surface.c - see surface.h.
 *
 * Must not know:  terminals, colours, what is drawn.
 * Invariant:      tui_put alone writes characters into a grid, and it clips.
 */
#include "tui/term/surface.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

static const struct {
    uint32_t unicode;
    char ascii;
} GLYPHS[] = {
/* clang-format off */
#define TUI_GLYPH(id, unicode, ascii) [id] = {unicode, ascii},
#include "tui/term/glyph.def"
#undef TUI_GLYPH
    /* clang-format on */
};

static const struct tui_cell BLANK = {' ', {TUI_PLAIN, TUI_PLAIN, 0}, 1};

/* ---- the grid ---- */

void tui_surface_init(struct tui_surface *surface, int w, int h, bool is_ascii)
{
    memset(surface, 0, sizeof(*surface));
    surface->is_ascii = is_ascii;
    tui_surface_resize(surface, w, h);
}

void tui_surface_release(struct tui_surface *surface)
{
    vs_free(surface->cells);
    memset(surface, 0, sizeof(*surface));
}

void tui_surface_resize(struct tui_surface *surface, int w, int h)
{
    VS_ASSERT(w > 0 && h > 0);
    surface->w = w;
    surface->h = h;
    surface->cells = vs_realloc(surface->cells, (size_t)w * (size_t)h, sizeof(*surface->cells));
    tui_surface_clear(surface);
}

void tui_surface_clear(struct tui_surface *surface)
{
    size_t count = (size_t)surface->w * (size_t)surface->h;

    for (size_t i = 0; i < count; i++)
        surface->cells[i] = BLANK;
}

static struct tui_cell *cell_at(const struct tui_surface *surface, int x, int y)
{
    return &surface->cells[(size_t)y * (size_t)surface->w + (size_t)x];
}

const struct tui_cell *tui_surface_cell(const struct tui_surface *surface, int x, int y)
{
    VS_ASSERT(x >= 0 && x < surface->w && y >= 0 && y < surface->h);
    return cell_at(surface, x, y);
}

/* ---- canvases ---- */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static struct tui_rect intersection(struct tui_rect a, struct tui_rect b)
{
    int x = larger(a.x, b.x);
    int y = larger(a.y, b.y);
    int w = smaller(a.x + a.w, b.x + b.w) - x;
    int h = smaller(a.y + a.h, b.y + b.h) - y;

    return (struct tui_rect){x, y, larger(w, 0), larger(h, 0)};
}

struct tui_canvas tui_canvas_of(struct tui_surface *surface, struct tui_rect at)
{
    struct tui_rect all = {0, 0, surface->w, surface->h};

    return (struct tui_canvas){surface, intersection(at, all)};
}

struct tui_canvas tui_canvas_part(const struct tui_canvas *canvas, struct tui_rect at)
{
    at.x += canvas->at.x;
    at.y += canvas->at.y;
    return (struct tui_canvas){canvas->surface, intersection(at, canvas->at)};
}

struct tui_style tui_style(enum tui_role role)
{
    return (struct tui_style){(uint8_t)role, TUI_PLAIN, 0};
}

struct tui_style tui_style_marked(enum tui_role role, unsigned marks)
{
    return (struct tui_style){(uint8_t)role, TUI_PLAIN, (uint8_t)marks};
}

/* ---- characters ---- */

/* First and last of the ranges that take two cells, in order. Unicode 15, EastAsianWidth W and F, in few ranges. */
static const uint32_t WIDE[][2] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x2614, 0x2615},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2753, 0x2755},   {0x2795, 0x2797},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF},
    {0x20000, 0x2FFFD}, {0x30000, 0x3FFFD},
};
/* The same for those that take none. */
static const uint32_t JOINING[][2] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x0E34, 0x0E3A}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},   {0x20D0, 0x20FF},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

static bool is_among(const uint32_t (*ranges)[2], size_t count, uint32_t ch)
{
    for (size_t i = 0; i < count; i++)
        if (ch >= ranges[i][0] && ch <= ranges[i][1])
            return true;
    return false;
}

int tui_char_width(uint32_t ch)
{
    if (ch < 0x300)
        return 1;
    if (is_among(JOINING, sizeof(JOINING) / sizeof(JOINING[0]), ch))
        return 0;
    return is_among(WIDE, sizeof(WIDE) / sizeof(WIDE[0]), ch) ? 2 : 1;
}

/* Length of the sequence that begins with `first`, 0 where none does. */
static int utf8_len(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first < 0xE0)
        return 2;
    if (first >= 0xE0 && first < 0xF0)
        return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

uint32_t tui_utf8_next(const char **text)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char MASK[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *at = (const unsigned char *)*text;
    int len = utf8_len(*at);
    uint32_t ch;

    if (!*at)
        return 0;
    ch = len ? *at & MASK[len] : 0;
    for (int i = 1; i < len; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            len = 0;
            break;
        }
        ch = ch << 6 | (at[i] & 0x3F);
    }
    if (!len || ch < LEAST[len] || ch > 0x10FFFF || (ch >= 0xD800 && ch < 0xE000)) {
        (*text)++;
        return 0xFFFD;
    }
    *text += len;
    return ch;
}

int tui_utf8_put(uint32_t ch, char out[4])
{
    int len = ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;
    static const unsigned char FIRST[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (int i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (ch & 0x3F));
        ch >>= 6;
    }
    out[0] = (char)(FIRST[len] | ch);
    return len;
}

int tui_text_width(const char *text)
{
    uint32_t ch;
    int w = 0;

    while ((ch = tui_utf8_next(&text)) != 0)
        w += tui_char_width(ch);
    return w;
}

/* The character that represents `ch` on this surface. */
static uint32_t shown(const struct tui_surface *surface, uint32_t ch)
{
    if (ch < 0x20 || (ch >= 0x7F && ch < 0xA0))
        return '?';
    if (!surface->is_ascii || ch < 0x7F)
        return ch;
    for (size_t i = 0; i < TUI_GLYPH_COUNT; i++)
        if (GLYPHS[i].unicode == ch)
            return (unsigned char)GLYPHS[i].ascii;
    return '?';
}

/* ---- drawing ---- */

/* Prepare a cell for overwriting: the other half of a wide character becomes a blank. */
static void tear(struct tui_surface *surface, int x, int y)
{
    struct tui_cell *cell = cell_at(surface, x, y);

    if (cell->width == 0 && x > 0) {
        cell[-1].ch = ' ';
        cell[-1].width = 1;
    }
    if (cell->width == 2 && x + 1 < surface->w) {
        cell[1].ch = ' ';
        cell[1].width = 1;
    }
}

static bool is_inside(const struct tui_canvas *c, int x, int y)
{
    return x >= 0 && y >= 0 && x < c->at.w && y < c->at.h;
}

void tui_put(struct tui_canvas *c, int x, int y, uint32_t ch, struct tui_style style)
{
    struct tui_surface *surface = c->surface;
    struct tui_cell *cell;
    int width;

    if (!is_inside(c, x, y))
        return;
    ch = shown(surface, ch);
    width = tui_char_width(ch);
    if (width == 0)
        return;
    if (width == 2 && x + 1 >= c->at.w) {
        ch = ' ';
        width = 1;
    }
    tear(surface, c->at.x + x, c->at.y + y);
    cell = cell_at(surface, c->at.x + x, c->at.y + y);
    *cell = (struct tui_cell){ch, style, (uint8_t)width};
    if (width == 2) {
        tear(surface, c->at.x + x + 1, c->at.y + y);
        cell[1] = (struct tui_cell){0, style, 0};
        cell[0].ch = ch;
        cell[0].width = 2;
    }
}

void tui_put_glyph(struct tui_canvas *c, int x, int y, enum tui_glyph glyph, struct tui_style style)
{
    tui_put(c, x, y, GLYPHS[glyph].unicode, style);
}

void tui_row(struct tui_canvas *c, int x, int y, int count, enum tui_glyph glyph,
             struct tui_style style)
{
    for (int i = 0; i < count; i++)
        tui_put_glyph(c, x + i, y, glyph, style);
}

void tui_column(struct tui_canvas *c, int x, int y, int count, enum tui_glyph glyph,
                struct tui_style style)
{
    for (int i = 0; i < count; i++)
        tui_put_glyph(c, x, y + i, glyph, style);
}

void tui_fill(struct tui_canvas *c, struct tui_rect at, struct tui_style style)
{
    struct tui_canvas part = tui_canvas_part(c, at);

    for (int y = 0; y < part.at.h; y++)
        for (int x = 0; x < part.at.w; x++)
            tui_put(&part, x, y, ' ', style);
}

void tui_mark(struct tui_canvas *c, struct tui_rect at, unsigned marks)
{
    struct tui_canvas part = tui_canvas_part(c, at);

    for (int y = 0; y < part.at.h; y++)
        for (int x = 0; x < part.at.w; x++)
            cell_at(c->surface, part.at.x + x, part.at.y + y)->style.marks |= (uint8_t)marks;
}

int tui_text(struct tui_canvas *c, int x, int y, struct tui_style style, const char *text)
{
    uint32_t ch;

    while ((ch = tui_utf8_next(&text)) != 0) {
        tui_put(c, x, y, ch, style);
        x += tui_char_width(ch);
    }
    return x;
}

int tui_textf(struct tui_canvas *c, int x, int y, struct tui_style style, const char *fmt, ...)
{
    struct vs_text text = {NULL, 0, 0};
    va_list ap;

    va_start(ap, fmt);
    vs_text_addfv(&text, fmt, ap);
    va_end(ap);
    x = tui_text(c, x, y, style, vs_text_get(&text));
    vs_text_release(&text);
    return x;
}

int tui_text_cut(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                 const char *text)
{
    struct tui_canvas part = tui_canvas_part(c, (struct tui_rect){x, y, w, 1});
    int len = tui_text_width(text);

    if (w <= 0)
        return x;
    tui_text(&part, 0, 0, style, text);
    if (len > w)
        tui_put_glyph(c, x + w - 1, y, TUI_G_MORE, style);
    return x + w;
}

int tui_text_tail(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                  const char *text)
{
    int len = tui_text_width(text);

    if (w <= 0)
        return x;
    if (len > w) {
        while (len > w - 1)
            len -= tui_char_width(tui_utf8_next(&text));
        tui_put_glyph(c, x, y, TUI_G_MORE, style);
        tui_text(c, x + w - len, y, style, text);
    } else {
        tui_text(c, x, y, style, text);
    }
    return x + w;
}

int tui_text_words(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                   const char *text)
{
    const char *fit = NULL;
    const char *at = text;
    struct tui_canvas part;
    int fit_w = 0;

    for (int len = 0; *at && len + 2 <= w; len += tui_char_width(tui_utf8_next(&at))) {
        if (*at == ' ' && at > text) {
            fit = at;
            fit_w = len;
        }
    }
    if (!fit || tui_text_width(text) <= w)
        return tui_text_cut(c, x, y, w, style, text);
    part = tui_canvas_part(c, (struct tui_rect){x, y, fit_w, 1});
    tui_text(&part, 0, 0, style, text);
    tui_put_glyph(c, x + fit_w + 1, y, TUI_G_MORE, style);
    return x + w;
}

/* The end of the row of at most `w` cells that begins at `text`, and has one character at least. */
static const char *row_end(const char *text, int w)
{
    const char *end = text;
    const char *blank = NULL;

    while (*end && *end != '\n') {
        const char *next = end;

        w -= tui_char_width(tui_utf8_next(&next));
        if (*end == ' ' && w >= -1)
            blank = end;
        else if (w < 0 && end > text)
            return blank ? blank : end;
        end = next;
    }
    return end;
}

/* The row after the one that ended at `end`. */
static const char *row_next(const char *end)
{
    return *end == ' ' ? end + strspn(end, " ") : end + (*end == '\n');
}

int tui_text_rows(int w, const char *text)
{
    int rows = 0;

    for (; *text; rows++)
        text = row_next(row_end(text, w));
    return rows;
}

int tui_text_wrap(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                  const char *text)
{
    int rows = 0;

    while (*text && y + rows < c->at.h) {
        const char *end = y + rows + 1 < c->at.h ? row_end(text, w) : text + strcspn(text, "\n");
        char *row = vs_strndup(text, (size_t)(end - text));

        tui_text_cut(c, x, y + rows, w, style, row);
        vs_free(row);
        rows++;
        text = row_next(end);
    }
    return rows;
}

void tui_text_right(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                    const char *text)
{
    int len = tui_text_width(text);

    tui_text_cut(c, len < w ? x + w - len : x, y, len < w ? len : w, style, text);
}
