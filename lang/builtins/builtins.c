/*
 * lang/builtins/builtins.c - the built-in functions.
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  ops on tensors.
 * Invariant:      an argument that Python accepts has the same meaning here or is refused.
 */
#include "lang/builtins/builtins.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"
#include "lang/value/hold.h"

#define NATIVE(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

/* ---- output ---- */

static void write_out(struct lang_vm *vm, const struct vs_text *text)
{
    if (vm->options.print != NULL)
        vm->options.print(vm->options.user, vs_text_get(text), text->len);
    else
        fwrite(vs_text_get(text), 1, text->len, stdout);
}

NATIVE(b_print)
{
    const char *sep = " ";
    const char *end = "\n";
    struct vs_text text = {NULL, 0, 0};
    bool ok = true;

    for (uint32_t k = 0; k < call->kw.count; k++) {
        const char *name = lang_kwname(&call->kw, k)->text;
        struct lang_value v = call->args[call->arg_count + k];

        if (strcmp(name, "flush") == 0)
            continue;
        if ((strcmp(name, "sep") != 0 && strcmp(name, "end") != 0) ||
            (v.kind != LANG_STR && v.kind != LANG_NONE))
            return lang_fail(vm, VS_E_TYPE, "print() takes only the keywords sep, end and flush");
        if (v.kind == LANG_STR)
            *(name[0] == 's' ? &sep : &end) = v.as.str->text;
    }
    for (uint32_t i = 0; i < call->arg_count && ok; i++) {
        if (i > 0)
            vs_text_add(&text, sep);
        ok = lang_add_str(vm, &text, call->args[i]);
    }
    vs_text_add(&text, end);
    if (ok)
        write_out(vm, &text);
    vs_text_release(&text);
    *out = lang_none();
    return ok;
}

/* ---- functions of one value ---- */

NATIVE(b_len)
{
    int64_t len;

    if (!lang_args_exact(vm, call, "len", 1) || !lang_len(vm, call->args[0], &len))
        return false;
    *out = lang_int(len);
    return true;
}

NATIVE(b_repr)
{
    return lang_args_exact(vm, call, "repr", 1) && lang_to_repr(vm, call->args[0], out);
}

NATIVE(b_abs)
{
    struct lang_value v;

    if (!lang_args_exact(vm, call, "abs", 1))
        return false;
    v = call->args[0];
    if (lang_is_int(v)) {
        if (v.as.i == INT64_MIN)
            return lang_fail(vm, VS_E_OVERFLOW, "the result does not fit in 64 bits");
        *out = lang_int(v.as.i < 0 ? -v.as.i : v.as.i);
        return true;
    }
    if (v.kind == LANG_FLOAT) {
        *out = lang_float(fabs(v.as.f));
        return true;
    }
    if (v.kind == LANG_TENSOR) {
        struct lang_value method;

        return lang_getattr(vm, v, lang_intern_text(vm, "abs"), &method) &&
               lang_call_value(vm, method, NULL, 0, out) && (lang_drop(vm, method), true);
    }
    return lang_fail(vm, VS_E_TYPE, "abs() takes a number or a tensor, not `%s`",
                     lang_type_name(vm, v));
}

/* Rounds half to even, as in Python. */
NATIVE(b_round)
{
    struct lang_value a[2];
    char text[400];
    double f;

    if (!LANG_ARGS(vm, call, "round", 1, a, "number", "ndigits"))
        return false;
    if (lang_is_int(a[0]) && (!lang_is_bound(a[1]) || a[1].kind == LANG_NONE || a[1].as.i >= 0)) {
        *out = lang_int(a[0].as.i);
        return true;
    }
    if (!lang_is_number(a[0]))
        return lang_fail(vm, VS_E_TYPE, "round() takes a number, not `%s`",
                         lang_type_name(vm, a[0]));
    f = lang_number(a[0]);
    if (!lang_is_bound(a[1]) || a[1].kind == LANG_NONE) {
        if (!(fabs(f) < 9.2e18))
            return lang_fail(vm, VS_E_OVERFLOW, "the rounded value does not fit in 64 bits");
        *out = lang_int((int64_t)nearbyint(f));
        return true;
    }
    if (!lang_is_int(a[1]) || a[1].as.i < 0 || a[1].as.i > 300)
        return lang_fail(vm, VS_E_VALUE,
                         "round(): the number of digits must lie between 0 and 300");
    (void)snprintf(text, sizeof(text), "%.*f", (int)a[1].as.i, f);
    *out = isfinite(f) ? lang_float(strtod(text, NULL)) : lang_float(f);
    return true;
}

NATIVE(b_divmod)
{
    struct lang_value q;
    struct lang_value r;

    if (!lang_args_exact(vm, call, "divmod", 2) ||
        !lang_binary(vm, LANG_OP_FLOORDIV, call->args[0], call->args[1], &q))
        return false;
    if (!lang_binary(vm, LANG_OP_MOD, call->args[0], call->args[1], &r)) {
        lang_drop(vm, q);
        return false;
    }
    *out = lang_object(lang_tuple_pair(vm, q, r));
    return true;
}

NATIVE(b_pow)
{
    return lang_args_exact(vm, call, "pow", 2) &&
           lang_binary(vm, LANG_OP_POW, call->args[0], call->args[1], out);
}

NATIVE(b_callable)
{
    struct lang_value v;

    if (!lang_args_exact(vm, call, "callable", 1))
        return false;
    v = call->args[0];
    *out = lang_bool(
        v.kind == LANG_FUNCTION || v.kind == LANG_METHOD || v.kind == LANG_BUILTIN ||
        v.kind == LANG_CLASS || lang_is_bound(lang_special(vm, v, LANG_N_call)) ||
        (v.kind == LANG_INSTANCE && (v.as.instance->cls->class_flags & LANG_CLASS_MODULE) != 0));
    return true;
}

/* ---- attributes ---- */

static bool attribute_name(struct lang_vm *vm, const char *function, struct lang_value v,
                           struct lang_string **out)
{
    if (v.kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE, "%s(): the name of an attribute must be a string, not `%s`",
                         function, lang_type_name(vm, v));
    *out = lang_intern_str(vm, v.as.str);
    return true;
}

NATIVE(b_getattr)
{
    struct lang_string *name;
    bool has_default = call->arg_count == 3;

    if (!lang_args_exact(vm, call, "getattr", has_default ? 3 : 2) ||
        !attribute_name(vm, "getattr", call->args[1], &name))
        return false;
    if (!has_default)
        return lang_getattr(vm, call->args[0], name, out);
    if (!lang_findattr(vm, call->args[0], name, out))
        return false;
    if (!lang_is_bound(*out))
        *out = lang_keep(call->args[2]);
    return true;
}

NATIVE(b_hasattr)
{
    struct lang_string *name;
    struct lang_value v;

    if (!lang_args_exact(vm, call, "hasattr", 2) ||
        !attribute_name(vm, "hasattr", call->args[1], &name) ||
        !lang_findattr(vm, call->args[0], name, &v))
        return false;
    *out = lang_bool(lang_is_bound(v));
    lang_drop(vm, v);
    return true;
}

NATIVE(b_setattr)
{
    struct lang_string *name;

    *out = lang_none();
    return lang_args_exact(vm, call, "setattr", 3) &&
           attribute_name(vm, "setattr", call->args[1], &name) &&
           lang_setattr(vm, call->args[0], name, call->args[2]);
}

NATIVE(b_delattr)
{
    struct lang_string *name;

    *out = lang_none();
    return lang_args_exact(vm, call, "delattr", 2) &&
           attribute_name(vm, "delattr", call->args[1], &name) &&
           lang_delattr(vm, call->args[0], name);
}

/* ---- classes ---- */

/* `cls` is a class or a tuple of classes. */
static bool any_class(struct lang_vm *vm, const char *function, struct lang_value cls,
                      struct lang_value v, const struct lang_class *of, bool *out)
{
    if (cls.kind == LANG_TUPLE) {
        for (uint32_t i = 0; i < cls.as.tuple->count && !*out; i++) {
            if (!any_class(vm, function, cls.as.tuple->items[i], v, of, out))
                return false;
        }
        return true;
    }
    if (cls.kind != LANG_CLASS)
        return lang_fail(vm, VS_E_TYPE, "%s() needs a class or a tuple of classes, not `%s`",
                         function, lang_type_name(vm, cls));
    *out = of != NULL ? lang_class_derives(of, cls.as.cls) : lang_isinstance(vm, v, cls.as.cls);
    return true;
}

NATIVE(b_isinstance)
{
    bool yes = false;

    if (!lang_args_exact(vm, call, "isinstance", 2) ||
        !any_class(vm, "isinstance", call->args[1], call->args[0], NULL, &yes))
        return false;
    *out = lang_bool(yes);
    return true;
}

NATIVE(b_issubclass)
{
    bool yes = false;

    if (!lang_args_exact(vm, call, "issubclass", 2))
        return false;
    if (call->args[0].kind != LANG_CLASS)
        return lang_fail(vm, VS_E_TYPE, "the first argument of issubclass() must be a class");
    if (!any_class(vm, "issubclass", call->args[1], lang_none(), call->args[0].as.cls, &yes))
        return false;
    *out = lang_bool(yes);
    return true;
}

/* ---- probes: objects that print when they are freed ---- */

static void probe_release(struct lang_vm *vm, void *data)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%s\n", (const char *)data);
    write_out(vm, &text);
    vs_text_release(&text);
}

NATIVE(b_probe)
{
    if (!lang_args_exact(vm, call, "_probe", 1) || call->args[0].kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE, "_probe() takes a name");
    *out = lang_object(lang_opaque_new(vm, "probe", lang_intern_str(vm, call->args[0].as.str)->text,
                                       probe_release));
    return true;
}

void lang_builtins_register(struct lang_vm *vm)
{
    static const struct {
        const char *name;
        lang_native_fn *fn;
    } table[] = {
        {"print", b_print},
        {"len", b_len},
        {"repr", b_repr},
        {"abs", b_abs},
        {"round", b_round},
        {"divmod", b_divmod},
        {"pow", b_pow},
        {"callable", b_callable},
        {"getattr", b_getattr},
        {"hasattr", b_hasattr},
        {"setattr", b_setattr},
        {"delattr", b_delattr},
        {"isinstance", b_isinstance},
        {"issubclass", b_issubclass},
    };

    lang_types_register(vm);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, "builtins", table[i].name, table[i].fn, NULL);
    lang_iter_builtins_register(vm);
    if (vm->options.probes)
        lang_native(vm, "builtins", "_probe", b_probe, NULL);
    lang_str_methods_register(vm);
    lang_list_methods_register(vm);
    lang_dict_methods_register(vm);
    lang_math_register(vm);
}
