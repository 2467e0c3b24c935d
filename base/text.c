/*
 * base/text.c - see text.h.
 *
 * Must not know:  what the text says.
 * Invariant:      cap is 0 or larger than len.
 */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define WORD_MAX 63

/* Makes capacity for `more` bytes and the NUL. */
static void reserve(struct vs_text *text, size_t more)
{
    size_t cap = text->cap ? text->cap : 64;

    VS_ASSERT(more < SIZE_MAX / 4 && text->len < SIZE_MAX / 4);
    while (cap < text->len + more + 1)
        cap *= 2;
    if (cap == text->cap)
        return;
    text->data = vs_realloc(text->data, cap, 1);
    text->cap = cap;
}

void vs_text_release(struct vs_text *text)
{
    vs_free(text->data);
    *text = (struct vs_text){NULL, 0, 0};
}

void vs_text_clear(struct vs_text *text)
{
    text->len = 0;
    if (text->data)
        text->data[0] = '\0';
}

void vs_text_add_n(struct vs_text *text, const char *more, size_t len)
{
    reserve(text, len);
    memcpy(text->data + text->len, more, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void vs_text_add(struct vs_text *text, const char *more)
{
    vs_text_add_n(text, more, strlen(more));
}

void vs_text_add_char(struct vs_text *text, char c)
{
    vs_text_add_n(text, &c, 1);
}

void vs_text_add_uint(struct vs_text *text, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);

    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    vs_text_add_n(text, digits + at, sizeof(digits) - at);
}

void vs_text_add_fill(struct vs_text *text, char c, int count)
{
    if (count <= 0)
        return;
    reserve(text, (size_t)count);
    memset(text->data + text->len, c, (size_t)count);
    text->len += (size_t)count;
    text->data[text->len] = '\0';
}

void vs_text_add_words(struct vs_text *text, const char *words, size_t len, size_t column,
                       size_t indent, size_t width)
{
    bool is_first = true;

    for (size_t at = 0; at < len;) {
        size_t word = strcspn(words + at, " \n");

        word = word < len - at ? word : len - at;
        if (word && !is_first && column + 1 + word > width) {
            vs_text_add_char(text, '\n');
            vs_text_add_fill(text, ' ', (int)indent);
            column = indent;
        } else if (word && !is_first) {
            vs_text_add_char(text, ' ');
            column++;
        }
        vs_text_add_n(text, words + at, word);
        column += word;
        is_first = is_first && !word;
        at += word + 1;
    }
}

void vs_text_addfv(struct vs_text *text, const char *fmt, va_list ap)
{
    va_list again;
    int need;

    va_copy(again, ap);
    VS_ASSERT(fmt);
    need = vsnprintf(NULL, 0, fmt, ap);
    VS_ASSERT(need >= 0);
    reserve(text, (size_t)need);
    vsnprintf(text->data + text->len, (size_t)need + 1, fmt, again);
    va_end(again);
    text->len += (size_t)need;
}

void vs_text_addf(struct vs_text *text, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vs_text_addfv(text, fmt, ap);
    va_end(ap);
}

const char *vs_text_get(const struct vs_text *text)
{
    return text->data ? text->data : "";
}

char *vs_text_take(struct vs_text *text)
{
    char *out = text->data ? text->data : vs_strdup("");

    *text = (struct vs_text){NULL, 0, 0};
    return out;
}

size_t vs_utf8_len(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t len = s[0] < 0x80   ? 1
                 : s[0] < 0xC2 ? 0
                 : s[0] < 0xE0 ? 2
                 : s[0] < 0xF0 ? 3
                 : s[0] < 0xF5 ? 4
                               : 0;

    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return len;
}

size_t vs_utf8_cut(const char *text, size_t most)
{
    size_t len = strlen(text);

    if (len <= most)
        return len;
    for (len = most; len && ((unsigned char)text[len] & 0xC0) == 0x80;)
        len--;
    return len;
}

/* Whether two neighbouring letters are swapped: that counts as one edit. */
unsigned vs_word_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1] = {{0}};
    unsigned *row = rows[0], *last = rows[1],
             *before = rows[2]; /* rows for i, i - 1 and i - 2 letters of a */
    size_t a_len = strnlen(a, WORD_MAX);
    size_t b_len = strnlen(b, WORD_MAX);

    for (size_t j = 0; j <= b_len; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *spare = before;

        before = last;
        last = row;
        row = spare;
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            unsigned least = last[j] < row[j - 1] ? last[j] + 1 : row[j - 1] + 1;

            if (replaced < least)
                least = replaced;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            row[j] = least;
        }
    }
    return row[b_len];
}

unsigned vs_word_distance_limit(const char *word)
{
    size_t len = strnlen(word, WORD_MAX);

    return len < 6 ? 1 : len < 10 ? 2 : 3;
}
