/*
 * lang/interp/attr.h - obj.name, for objects of every kind.
 *
 * For:            the interpreter, getattr(), hasattr() and setattr().
 * Must not know:  expressions.
 * Invariant:      the search order is CPython's: properties of the class, attributes of the object, attributes of
 *                 the class, __getattr__.
 */
#ifndef LANG_ATTR_H
#define LANG_ATTR_H

#include "lang/value/object.h"

/*
 * obj.name, as a new reference. `name` must be interned, here and below. Fails with VS_E_NAME, and the most similar
 * name as a hint, where there is no such attribute.
 */
VS_MUST_USE bool lang_getattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                              struct lang_value *out);
/* The same, but *out is unbound where there is no such attribute. Fails only if a property or __getattr__ fails. */
VS_MUST_USE bool lang_findattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                               struct lang_value *out);
/*
 * obj.name for a call that follows, without creating a method object. On entry *self is obj, owned by the caller. Where
 * the attribute is a method, *out is the function, *is_method is true and *self the first argument; otherwise *out is
 * the attribute and *is_method is false.
 */
VS_MUST_USE bool lang_getmethod(struct lang_vm *vm, struct lang_value *self,
                                struct lang_string *name, struct lang_value *out, bool *is_method);
/* obj.name = value (borrowed), and del obj.name. */
VS_MUST_USE bool lang_setattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                              struct lang_value value);
VS_MUST_USE bool lang_delattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name);

#endif
