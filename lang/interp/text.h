/*
 * lang/interp/text.h - values as text: str(), repr(), format().
 *
 * For:            print, f-strings, messages.
 * Must not know:  expressions.
 * Invariant:      numbers and containers look as they do in Python.
 */
#ifndef LANG_TEXT_H
#define LANG_TEXT_H

#include "base/text.h"
#include "lang/value/object.h"

/* A string object, the caller's. */
VS_MUST_USE bool lang_to_str(struct lang_vm *vm, struct lang_value v, struct lang_value *out);
VS_MUST_USE bool lang_to_repr(struct lang_vm *vm, struct lang_value v, struct lang_value *out);
/* The same, appended. */
VS_MUST_USE bool lang_add_str(struct lang_vm *vm, struct vs_text *text, struct lang_value v);
VS_MUST_USE bool lang_add_repr(struct lang_vm *vm, struct vs_text *text, struct lang_value v);
/* format(v, spec), appended. */
VS_MUST_USE bool lang_add_format(struct lang_vm *vm, struct vs_text *text, struct lang_value v,
                                 const char *spec);

/* repr() of a float, appended: the shortest digits that give it back. */
void lang_add_float(struct vs_text *text, double f);

#endif
