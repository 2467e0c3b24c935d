/*
 * tests/lang/dump.h - prints syntax trees and variable slots as text, for comparison with Python's for the same source.
 * The same text is written by tests/oracle/lang_ast.py and tests/oracle/varnames.py.
 *
 * The same text is written by tests/oracle/lang_ast.py and tests/oracle/varnames.py.
 */
#ifndef TESTS_LANG_DUMP_H
#define TESTS_LANG_DUMP_H

#include <stdio.h>

#include "lang/syntax/ast.h"

/* One line a statement, indented by its depth. */
void dump_tree(FILE *out, const struct lang_module *module);

/*
 * One line a code: "qualname: locals | own cells | captured", names in the order of slots. Locals only of functions:
 * in the bodies of modules and classes they are variables of comprehensions, which CPython 3.12 mixes with names it
 * never uses.
 */
void dump_codes(FILE *out, const struct lang_module *module);

/* One expression on one line. */
void dump_expr(FILE *out, const struct lang_expr *expr);

#endif
