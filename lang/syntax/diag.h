/*
 * lang/syntax/diag.h - the text of a net file with its lines, and error messages with a source location.
 *
 * For:            the lexer and the parser (syntax errors), the interpreter (runtime errors).
 * Must not know:  tokens, the tree, values.
 * Invariant:      every message about a net file has the same layout:
 *
 *                     net.py:14:5: `try` is not part of the net language
 *                         14 |     try:
 *                            |     ^^^
 *                       write the check out with `if`; see docs/guide/net-language.md
 */
#ifndef LANG_DIAG_H
#define LANG_DIAG_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "lang/syntax/ast.h"

/*
 * The text of a file.
 *
 * file        the name as messages print it
 * text        with "\n" as the only line ending and no byte order mark; `len` bytes and a NUL
 * line_starts line_count byte offsets into text; line n (from 1) starts at line_starts[n - 1]. At least one line.
 */
struct lang_source {
    const char *file;
    const char *text;
    size_t len;
    const uint32_t *line_starts;
    uint32_t line_count;
};

/*
 * Copy `text` into the arena: byte order mark dropped, "\r\n" and "\r" turned into "\n", lines indexed.
 * VS_E_SYNTAX: the text has 2 GiB or more. Nothing else is checked.
 */
VS_MUST_USE enum vs_status lang_source_new(const char *file, const char *text, size_t len,
                                           struct vs_arena *arena, const struct lang_source **out,
                                           struct vs_error *err);

/* Line `line` (from 1) without its line ending; *len bytes. Borrowed. An empty text where there is no such line. */
const char *lang_source_line(const struct lang_source *source, uint32_t line, size_t *len);

/* The span of the bytes from start to end of the text (end <= len). */
struct lang_span lang_source_span(const struct lang_source *source, uint32_t start, uint32_t end);

/*
 * Fill `err` with a message in the layout above and return `status`.
 *
 * span  what to underline; of a span over several lines the first one is shown. Line 0: there is no location and no
 *       line is shown.
 * hint  what to write instead, or NULL; printed on a line of its own
 * fmt   the message, without a final full stop
 *
 * Tabs are kept, other control characters are shown as "?", of a long line only the part around the span is shown.
 */
enum vs_status lang_diagv(struct vs_error *err, enum vs_status status,
                          const struct lang_source *source, struct lang_span span, const char *hint,
                          const char *fmt, va_list ap) VS_PRINTF(6, 0);

#endif
