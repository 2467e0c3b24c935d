/*
 * cli/printable.h - text without what a terminal would take for commands.
 *
 * For:            what a command prints: a trace may have names and lines that somebody else wrote.
 * Invariant:      line feeds and tabs stay, and so do all printable characters of UTF-8.
 */
#ifndef CLI_PRINTABLE_H
#define CLI_PRINTABLE_H

#include <stddef.h>

#include "base/text.h"

/* Append `len` bytes; each byte of a control character (C0, DEL, U+0080 to U+009F) is `?`. */
void cli_printable(const char *text, size_t len, struct vs_text *out);

#endif
