/*
 * export/svg.c - see svg.h.
 *
 * Must not know:  traces.
 * Invariant:      every element is closed in the call that opens it.
 */
#include "export/svg.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define REPLACED "\xEF\xBF\xBD"

/* U+FFFE and U+FFFF are UTF-8, but no XML. */
static bool is_noncharacter(const char *letter, size_t len)
{
    return len == 3 && memcmp(letter, "\xEF\xBF", 2) == 0 && (unsigned char)letter[2] >= 0xBE;
}

/* One letter; returns its bytes. */
static size_t letter_put(struct exp_out *out, const char *text)
{
    size_t len = vs_utf8_len(text);

    if (*text == '&')
        exp_put_text(out, "&amp;");
    else if (*text == '<')
        exp_put_text(out, "&lt;");
    else if (*text == '>')
        exp_put_text(out, "&gt;");
    else if (*text == '"')
        exp_put_text(out, "&quot;");
    else if (*text == '\t')
        exp_put_char(out, ' ');
    else if (!len || (unsigned char)*text < 0x20 || is_noncharacter(text, len))
        exp_put_text(out, REPLACED);
    else
        exp_put(out, text, len);
    return len ? len : 1;
}

static size_t letters_of(const char *text)
{
    size_t letters = 0;

    for (size_t len; *text; text += len ? len : 1) {
        len = vs_utf8_len(text);
        letters++;
    }
    return letters;
}

void exp_svg_escaped(struct exp_out *out, const char *text)
{
    while (*text)
        text += letter_put(out, text);
}

/* At most `letters` letters, the last then "…". */
static void escaped_cut(struct exp_out *out, const char *text, size_t letters)
{
    if (letters_of(text) <= letters) {
        exp_svg_escaped(out, text);
        return;
    }
    while (*text && letters-- > 1)
        text += letter_put(out, text);
    exp_put_text(out, "…");
}

/* A pixel position with two decimals, without trailing zeros. */
static void pixels(struct exp_out *out, double value)
{
    char digits[40];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%.2f", value);

    while (digits[len - 1] == '0')
        len--;
    exp_put(out, digits, digits[len - 1] == '.' ? len - 1 : len);
}

/* ` name="value"`. */
static void attribute(struct exp_out *out, const char *name, double value)
{
    exp_put_char(out, ' ');
    exp_put_text(out, name);
    exp_put_text(out, "=\"");
    pixels(out, value);
    exp_put_char(out, '"');
}

static void class_put(struct exp_out *out, const char *css)
{
    exp_put_text(out, " class=\"");
    exp_put_text(out, css);
    exp_put_char(out, '"');
}

/* End an element, with a tooltip if there is a text for it. */
static void title_put(struct exp_out *out, const char *element, const char *title)
{
    if (!title) {
        exp_put_text(out, "/>\n");
        return;
    }
    exp_put_text(out, "><title>");
    exp_svg_escaped(out, title);
    exp_put_text(out, "</title></");
    exp_put_text(out, element);
    exp_put_text(out, ">\n");
}

void exp_svg_text(struct exp_out *out, double x, double y, const char *css, const char *anchor,
                  const char *text, size_t letters)
{
    exp_put_text(out, "<text");
    attribute(out, "x", x);
    attribute(out, "y", y);
    class_put(out, css);
    if (strcmp(anchor, "start") != 0) {
        exp_put_text(out, " text-anchor=\"");
        exp_put_text(out, anchor);
        exp_put_char(out, '"');
    }
    exp_put_char(out, '>');
    escaped_cut(out, text, letters);
    exp_put_text(out, "</text>\n");
}

void exp_svg_rect(struct exp_out *out, double x, double y, double width, double height,
                  const char *css, const char *title)
{
    exp_put_text(out, "<rect");
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", width);
    attribute(out, "height", height);
    class_put(out, css);
    title_put(out, "rect", title);
}

void exp_svg_line(struct exp_out *out, double x1, double y1, double x2, double y2, const char *css)
{
    exp_put_text(out, "<line");
    attribute(out, "x1", x1);
    attribute(out, "y1", y1);
    attribute(out, "x2", x2);
    attribute(out, "y2", y2);
    class_put(out, css);
    title_put(out, "line", NULL);
}

static void path_begin(struct exp_out *out, const char *css)
{
    exp_put_text(out, "<path");
    class_put(out, css);
    exp_put_text(out, " d=\"");
}

/* The end of the run of columns of equal height that contains column `i`. */
static size_t run_end(const uint64_t *heights, size_t i, size_t count)
{
    size_t end = i + 1;

    while (end < count && heights[end] == heights[i])
        end++;
    return end;
}

static size_t run_start(const uint64_t *heights, size_t end)
{
    size_t start = end - 1;

    while (start && heights[start - 1] == heights[end - 1])
        start--;
    return start;
}

void exp_svg_area(struct exp_out *out, const uint64_t *low, const uint64_t *high, size_t count,
                  const char *css, const char *title)
{
    path_begin(out, css);
    exp_put_member(out, "M0 ", count ? high[0] : 0);
    for (size_t i = 0, end; i < count; i = end) {
        end = run_end(high, i, count);
        if (i)
            exp_put_member(out, "V", high[i]);
        exp_put_member(out, "H", end);
    }
    for (size_t end = count, start; end; end = start) {
        start = run_start(low, end);
        exp_put_member(out, "V", low[end - 1]);
        exp_put_member(out, "H", start);
    }
    exp_put_text(out, "Z\"");
    title_put(out, "path", title);
}

/* A vertical line at the border of two columns, between the heights `from` and `to`, in either order. */
static void riser_put(struct exp_out *out, size_t column, double half, uint64_t from, uint64_t to)
{
    exp_put_char(out, 'M');
    pixels(out, (double)column - half);
    exp_put_member(out, " ", from < to ? from : to);
    exp_put_member(out, "V", from < to ? to : from);
    exp_put_char(out, 'H');
    pixels(out, (double)column + half);
    exp_put_member(out, "V", from < to ? from : to);
    exp_put_char(out, 'Z');
}

void exp_svg_steps(struct exp_out *out, const uint64_t *heights, size_t count, uint64_t thick_bytes,
                   double thick_columns, const char *css, const char *title)
{
    path_begin(out, css);
    for (size_t i = 0, end; i < count; i = end) {
        uint64_t low = heights[i] > thick_bytes ? heights[i] - thick_bytes : 0;

        end = run_end(heights, i, count);
        exp_put_member(out, "M", i);
        exp_put_member(out, " ", heights[i]);
        exp_put_member(out, "H", end);
        exp_put_member(out, "V", low);
        exp_put_member(out, "H", i);
        exp_put_char(out, 'Z');
        if (end < count)
            riser_put(out, end, thick_columns / 2, heights[i], heights[end]);
    }
    exp_put_char(out, '"');
    title_put(out, "path", title);
}
