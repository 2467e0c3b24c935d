/*
 * base/text.h - a growing string, UTF-8 sequences, and the edit distance of two words.
 *
 * For:            every folder that builds text of unknown length.
 * Must not know:  what the text says.
 * Invariant:      `data` is NULL or ends with a NUL at data[len].
 */
#ifndef VS_BASE_TEXT_H
#define VS_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* A zero-initialised text is empty. */
struct vs_text {
    char *data;
    size_t len;
    size_t cap;
};

void vs_text_release(struct vs_text *text);
/* Makes the text empty; the memory is kept. */
void vs_text_clear(struct vs_text *text);

void vs_text_add(struct vs_text *text, const char *more);
void vs_text_add_n(struct vs_text *text, const char *more, size_t len);
void vs_text_add_char(struct vs_text *text, char c);
/* Appends `n` in decimal, about ten times as fast as vs_text_addf. */
void vs_text_add_uint(struct vs_text *text, uint64_t n);
/* Appends `c` `count` times; nothing if count is not positive. */
void vs_text_add_fill(struct vs_text *text, char c, int count);
/*
 * Appends the words of words[0..len), separated by blanks or newlines, from the current column `column` on: no line is
 * longer than `width` columns, unless a single word is, and lines after the first begin at column `indent`. Bytes count
 * as columns. `words` must not be in `text`.
 */
void vs_text_add_words(struct vs_text *text, const char *words, size_t len, size_t column,
                       size_t indent, size_t width);
void vs_text_addf(struct vs_text *text, const char *fmt, ...) VS_PRINTF(2, 3);
void vs_text_addfv(struct vs_text *text, const char *fmt, va_list ap) VS_PRINTF(2, 0);

/* The string. Never NULL. Borrowed until the next change. */
const char *vs_text_get(const struct vs_text *text);
/* The string, now owned by the caller, who frees it with vs_free; the builder becomes empty. */
char *vs_text_take(struct vs_text *text) VS_MUST_USE;

/*
 * Length of the valid UTF-8 sequence (RFC 3629) at the beginning of `text`, which ends with a NUL. 0: the bytes are
 * not valid. For the empty string: 1.
 */
size_t vs_utf8_len(const char *text);
/* The length of `text` cut to at most `most` bytes, not inside a UTF-8 sequence. */
size_t vs_utf8_cut(const char *text, size_t most);

/*
 * Edit distance: how many letters must be inserted, deleted, replaced or swapped with their neighbour to turn `a`
 * into `b`. For "did you mean"; only the first 63 letters of a word count.
 */
unsigned vs_word_distance(const char *a, const char *b);
/* The largest distance at which a word is worth offering instead of `word`. */
unsigned vs_word_distance_limit(const char *word);

#endif
