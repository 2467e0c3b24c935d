/*
 * lang/syntax/parser.h - parses a net file to a syntax tree with resolved names.
 *
 * For:            the interpreter, the tests, the fuzzer.
 * Must not know:  values, the engine.
 * Invariant:      any input gives either a tree or one error message; a construct outside the net language is an
 *                 error, never ignored.
 */
#ifndef LANG_PARSER_H
#define LANG_PARSER_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "lang/syntax/ast.h"

/*
 * Parses a net file.
 *
 * file_name  used in messages
 * text       `len` bytes of UTF-8; copied
 * arena      *out is allocated in it
 * out        untouched on failure
 *
 * VS_E_SYNTAX: the first syntax error or construct outside the net language, with file, line, column, source line,
 * caret and a suggestion (lang/syntax/diag.h).
 */
VS_MUST_USE enum vs_status lang_parse(const char *file_name, const char *text, size_t len,
                                      struct vs_arena *arena, struct lang_module **out,
                                      struct vs_error *err);

#endif
