/*
 * lang/syntax/diag.c - see diag.h.
 *
 * Must not know:  tokens, the tree, values.
 * Invariant:      a message is printable text for any bytes in the source; tabs are the only control characters in it.
 */
#include "lang/syntax/diag.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of a longer line, a window of this many characters around the span is shown. */
#define SHOWN_CHARS 100
#define SHOWN_BEFORE 40

/* Text that grows in a fixed buffer; what does not fit is dropped. */
struct text {
    char *buf;
    size_t len;
    size_t max;
};

static void text_add(struct text *out, const char *s, size_t len)
{
    if (len >= out->max - out->len)
        len = out->max - out->len - 1;
    memcpy(out->buf + out->len, s, len);
    out->len += len;
    out->buf[out->len] = '\0';
}

static void VS_PRINTF(2, 3) text_printf(struct text *out, const char *fmt, ...)
{
    char line[64];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    text_add(out, line, strlen(line));
}

/* Bytes of the character at `s`, at least 1; a stray byte counts as a character. */
static size_t char_len(const char *s, const char *end)
{
    size_t n = 1;

    while (s + n < end && ((unsigned char)s[n] & 0xC0) == 0x80)
        n++;
    return n;
}

/* The character at `s` is fit for a terminal: no control characters, no broken UTF-8. */
static bool is_shown_as_is(const char *s, size_t len)
{
    unsigned char first = (unsigned char)s[0];

    if (len == 1)
        return first >= 0x20 && first < 0x7F;
    if (len == 2) /* U+0080 to U+009F are control characters */
        return first >= 0xC3 || (first == 0xC2 && (unsigned char)s[1] >= 0xA0);
    return (len == 3 && (first & 0xF0) == 0xE0) || (len == 4 && (first & 0xF8) == 0xF0);
}

/* The line with line number, and under it the carets; columns from `first_col` on (from 1). */
static void add_excerpt(struct text *out, const struct lang_source *source, struct lang_span span)
{
    size_t len;
    const char *s = lang_source_line(source, span.line, &len);
    const char *end = s + len;
    uint32_t last = span.end_line > span.line ? UINT32_MAX : span.end_col;
    uint32_t from = span.col > SHOWN_CHARS ? span.col - SHOWN_BEFORE : 1;
    uint32_t col = 1;
    char under_buf[4 * SHOWN_CHARS];
    struct text under = {under_buf, 0, sizeof(under_buf)};

    under_buf[0] = '\0';
    text_printf(out, "\n%6u | %s", span.line, from > 1 ? "..." : "");
    text_add(&under, "   ", from > 1 ? 3 : 0);
    for (; s < end && col < from + SHOWN_CHARS; col++) {
        size_t n = char_len(s, end);

        if (col >= from) {
            bool is_tab = *s == '\t';
            bool is_in = col >= span.col && (col < last || col == span.col);

            text_add(out, is_tab || is_shown_as_is(s, n) ? s : "?",
                     is_tab || is_shown_as_is(s, n) ? n : 1);
            if (is_in || col < span.col)
                text_add(&under, is_in ? "^" : is_tab ? "\t" : " ", 1);
        }
        s += n;
    }
    if (s < end)
        text_add(out, "...", 3);
    if (col <= span.col) { /* one past the end of the line */
        for (; col < span.col && col < from + SHOWN_CHARS; col++)
            text_add(&under, " ", 1);
        text_add(&under, "^", 1);
    }
    text_add(out, "\n       | ", 10);
    text_add(out, under.buf, under.len);
}

static uint32_t index_lines(const char *text, size_t len, uint32_t *starts)
{
    const char *s = text;
    uint32_t count = 1;

    if (starts)
        starts[0] = 0;
    while ((s = memchr(s, '\n', (size_t)(text + len - s))) != NULL) {
        s++;
        if (starts)
            starts[count] = (uint32_t)(s - text);
        count++;
    }
    return count;
}

enum vs_status lang_source_new(const char *file, const char *text, size_t len,
                               struct vs_arena *arena, const struct lang_source **out,
                               struct vs_error *err)
{
    struct lang_source *source;
    uint32_t *starts;
    char *copy;
    size_t n = 0;

    VS_ASSERT(file && (text || !len) && arena && out && err);
    if (len >= INT32_MAX)
        return vs_fail(err, VS_E_SYNTAX, "%s: the file is larger than 2 GiB", file);
    copy = vs_arena_alloc(arena, len + 1);
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (len && memchr(text, '\r', len)) {
        for (size_t i = 0; i < len; i++) {
            if (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n')
                continue;
            copy[n++] = text[i] == '\r' ? '\n' : text[i];
        }
    } else if (len) {
        memcpy(copy, text, len);
        n = len;
    }
    copy[n] = '\0';
    source = vs_arena_alloc(arena, sizeof(*source));
    source->file = vs_arena_strndup(arena, file, strlen(file));
    source->text = copy;
    source->len = n;
    source->line_count = index_lines(copy, n, NULL);
    starts = vs_arena_alloc(arena, source->line_count * sizeof(*starts));
    (void)index_lines(copy, n, starts);
    source->line_starts = starts;
    *out = source;
    return VS_OK;
}

const char *lang_source_line(const struct lang_source *source, uint32_t line, size_t *len)
{
    uint32_t start;
    uint32_t end;

    VS_ASSERT(source && len);
    *len = 0;
    if (line < 1 || line > source->line_count)
        return "";
    start = source->line_starts[line - 1];
    end = line < source->line_count ? source->line_starts[line] - 1 : (uint32_t)source->len;
    *len = end - start;
    return source->text + start;
}

static void place_of(const struct lang_source *source, uint32_t offset, uint32_t *line,
                     uint32_t *col)
{
    uint32_t low = 0;
    uint32_t high = source->line_count;

    while (high - low > 1) { /* the last line that starts at or before offset */
        uint32_t mid = low + (high - low) / 2;

        if (source->line_starts[mid] <= offset)
            low = mid;
        else
            high = mid;
    }
    *line = low + 1;
    *col = 1;
    for (uint32_t i = source->line_starts[low]; i < offset; i++)
        *col += ((unsigned char)source->text[i] & 0xC0) != 0x80;
}

struct lang_span lang_source_span(const struct lang_source *source, uint32_t start, uint32_t end)
{
    struct lang_span span;

    VS_ASSERT(source && start <= end && end <= source->len);
    place_of(source, start, &span.line, &span.col);
    place_of(source, end, &span.end_line, &span.end_col);
    return span;
}

enum vs_status lang_diagv(struct vs_error *err, enum vs_status status,
                          const struct lang_source *source, struct lang_span span, const char *hint,
                          const char *fmt, va_list ap)
{
    char message[VS_ERROR_TEXT_MAX / 2];
    char rest[VS_ERROR_TEXT_MAX];
    struct text out = {rest, 0, sizeof(rest)};

    VS_ASSERT(err && status && source && fmt);
    rest[0] = '\0';
    (void)vsnprintf(message, sizeof(message), fmt, ap);
    if (span.line)
        add_excerpt(&out, source, span);
    if (hint) {
        text_add(&out, "\n  ", 3);
        text_add(&out, hint, strlen(hint));
    }
    if (!span.line)
        return vs_fail(err, status, "%s: %s%s", source->file, message, rest);
    return vs_fail(err, status, "%s:%u:%u: %s%s", source->file, span.line, span.col, message, rest);
}
