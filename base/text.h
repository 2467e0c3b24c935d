/*
 * base/text.h - a text that grows, and how alike two words are.
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

/* Zero-initialise. */
struct vs_text {
    char *data;
    size_t len;
    size_t cap;
};

void vs_text_release(struct vs_text *text);
/* Empty again; the memory is kept. */
void vs_text_clear(struct vs_text *text);

void vs_text_add(struct vs_text *text, const char *more);
void vs_text_add_n(struct vs_text *text, const char *more, size_t len);
void vs_text_add_char(struct vs_text *text, char c);
/* In decimal; a tenth of what vs_text_addf costs. */
void vs_text_add_uint(struct vs_text *text, uint64_t n);
/* `count` times `c`; none where count is not positive. */
void vs_text_add_fill(struct vs_text *text, char c, int count);
void vs_text_addf(struct vs_text *text, const char *fmt, ...) VS_PRINTF(2, 3);
void vs_text_addfv(struct vs_text *text, const char *fmt, va_list ap) VS_PRINTF(2, 0);

/* What has been built, never NULL. Borrowed until the next change. */
const char *vs_text_get(const struct vs_text *text);
/* The same, for the caller to vs_free; the builder is empty again. */
char *vs_text_take(struct vs_text *text) VS_MUST_USE;

/* Length of the well-formed UTF-8 sequence (RFC 3629) at `text`, which ends with a NUL; 0: there is none. 1 at the NUL itself. */
size_t vs_utf8_len(const char *text);

/*
 * How many letters must be added, left out or replaced to turn `a` into `b`. For "did you mean": words are short; of longer
 * ones only the first 63 letters count.
 */
unsigned vs_word_distance(const char *a, const char *b);
/* A word of this distance or less is worth offering for `word`. */
unsigned vs_word_distance_limit(const char *word);

#endif
