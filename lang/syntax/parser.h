/*
 * lang/syntax/parser.h - from the text of a net file to its resolved tree.
 *
 * For:            the interpreter, the tests, the fuzzer.
 * Must not know:  values, the engine.
 * Invariant:      any bytes at all give either a tree or one message; what is outside the language is refused, never
 *                 skipped.
 */
#ifndef LANG_PARSER_H
#define LANG_PARSER_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "lang/syntax/ast.h"

/*
 * Read a net file: tokens, tree, slots.
 *
 * file_name  for messages
 * text       `len` bytes of UTF-8; copied, need not outlive the call
 * arena      everything in *out belongs to it
 * out        untouched on failure
 *
 * VS_E_SYNTAX: the first thing that is not Python or not part of the net language, with file, line, column, the line
 * itself, a caret and what to write instead (lang/syntax/diag.h).
 */
VS_MUST_USE enum vs_status lang_parse(const char *file_name, const char *text, size_t len,
                                      struct vs_arena *arena, struct lang_module **out,
                                      struct vs_error *err);

#endif
