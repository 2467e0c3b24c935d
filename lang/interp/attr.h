/*
 * lang/interp/attr.h - obj.name, for objects of every kind.
 *
 * For:            the interpreter, getattr() and its like.
 * Must not know:  expressions.
 * Invariant:      the order of search is CPython's: properties of the class, the object's own, the class's,
 *                 __getattr__.
 */
#ifndef LANG_ATTR_H
#define LANG_ATTR_H

#include "lang/value/object.h"

/* obj.name; fails with the nearest name there is. `name` is interned. */
VS_MUST_USE bool lang_getattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                              struct lang_value *out);
/* The same, unbound where there is no such attribute. Fails only where a property fails. */
VS_MUST_USE bool lang_findattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                               struct lang_value *out);
/*
 * obj.name, to be called at once. Where it is a method, *out is the function, *is_method is set, and *self (obj at
 * first, owned by the caller) is what goes in front of the arguments; else *out is the attribute.
 */
VS_MUST_USE bool lang_getmethod(struct lang_vm *vm, struct lang_value *self,
                                struct lang_string *name, struct lang_value *out, bool *is_method);
/* obj.name = value (lent). */
VS_MUST_USE bool lang_setattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                              struct lang_value value);
VS_MUST_USE bool lang_delattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name);

#endif
