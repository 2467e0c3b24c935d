/*
 * lang/interp/text.h - conversion of values to text: str(), repr(), format().
 *
 * For:            print, f-strings, messages.
 * Must not know:  expressions.
 * Invariant:      the text of numbers and containers is the same as in Python.
 */
#ifndef LANG_TEXT_H
#define LANG_TEXT_H

#include "base/text.h"
#include "lang/value/object.h"

/* str(v) and repr(v) as a new string object. Fail only if __str__ or __repr__ fails. */
VS_MUST_USE bool lang_to_str(struct lang_vm *vm, struct lang_value v, struct lang_value *out);
VS_MUST_USE bool lang_to_repr(struct lang_vm *vm, struct lang_value v, struct lang_value *out);
/* The same, appended to `text`. */
VS_MUST_USE bool lang_add_str(struct lang_vm *vm, struct vs_text *text, struct lang_value v);
VS_MUST_USE bool lang_add_repr(struct lang_vm *vm, struct vs_text *text, struct lang_value v);
/* Appends format(v, spec). Fails with VS_E_VALUE where the format spec does not fit the value. */
VS_MUST_USE bool lang_add_format(struct lang_vm *vm, struct vs_text *text, struct lang_value v,
                                 const char *spec);

/* format % operand, and format.format(...) of a call whose first argument is `format`: a new string. */
struct lang_call;
VS_MUST_USE bool lang_percent(struct lang_vm *vm, const struct lang_string *format,
                              struct lang_value operand, struct lang_value *out);
VS_MUST_USE bool lang_braces(struct lang_vm *vm, const struct lang_string *format,
                             const struct lang_call *call, struct lang_value *out);

/* Appends repr(f): the shortest decimal digits that are read back as the same float. */
void lang_add_float(struct vs_text *text, double f);

#endif
