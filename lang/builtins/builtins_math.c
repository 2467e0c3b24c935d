/*
 * lang/builtins/builtins_math.c - the module math.
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  tensors.
 * Invariant:      an argument outside a function's domain is an error, as in Python, and gives no NaN.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"

#define NATIVE(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

static bool number_args(struct lang_vm *vm, const struct lang_call *call, uint32_t count)
{
    if (!lang_args_exact(vm, call, call->builtin->name, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!lang_is_number(call->args[i]))
            return lang_fail_hint(vm, VS_E_TYPE,
                                  call->args[i].kind == LANG_TENSOR
                                      ? "use torch's function of that name, or .item()"
                                      : NULL,
                                  "%s() takes numbers, not `%s`", call->builtin->name,
                                  lang_type_name(vm, call->args[i]));
    }
    return true;
}

/* Calls a function of one number; fails where the result is undefined or too large. */
struct unary {
    double (*f)(double);
};

NATIVE(m_unary)
{
    const struct unary *u = call->builtin->data;
    double x;
    double y;

    if (!number_args(vm, call, 1))
        return false;
    x = lang_number(call->args[0]);
    y = u->f(x);
    if ((isnan(y) && !isnan(x)) || (isinf(y) && isfinite(x)))
        return lang_fail(vm, VS_E_VALUE, "%s(%g) is undefined or too large", call->builtin->name,
                         x);
    *out = lang_float(y);
    return true;
}

/* ceil, floor and trunc return integers. */
NATIVE(m_to_int)
{
    const struct unary *u = call->builtin->data;
    double y;

    if (!number_args(vm, call, 1))
        return false;
    if (lang_is_int(call->args[0])) {
        *out = lang_int(call->args[0].as.i);
        return true;
    }
    y = u->f(call->args[0].as.f);
    if (!(fabs(y) < 9.2e18))
        return lang_fail(vm, VS_E_OVERFLOW, "the result does not fit in 64 bits");
    *out = lang_int((int64_t)y);
    return true;
}

NATIVE(m_log)
{
    double x;
    double base = 0.0;

    if (!number_args(vm, call, call->arg_count == 2 ? 2 : 1))
        return false;
    x = lang_number(call->args[0]);
    if (call->arg_count == 2)
        base = lang_number(call->args[1]);
    if (x <= 0.0 || (call->arg_count == 2 && (base <= 0.0 || base == 1.0)))
        return lang_fail(vm, VS_E_VALUE, "math.log(%g) is undefined", x);
    *out = lang_float(call->arg_count == 2 ? log(x) / log(base) : log(x));
    return true;
}

NATIVE(m_pow)
{
    double y;

    if (!number_args(vm, call, 2))
        return false;
    y = pow(lang_number(call->args[0]), lang_number(call->args[1]));
    if (!isfinite(y))
        return lang_fail(vm, VS_E_VALUE, "math.pow(): the result is undefined or too large");
    *out = lang_float(y);
    return true;
}

NATIVE(m_atan2)
{
    if (!number_args(vm, call, 2))
        return false;
    *out = lang_float(atan2(lang_number(call->args[0]), lang_number(call->args[1])));
    return true;
}

NATIVE(m_prod)
{
    struct lang_value total = lang_int(1);
    struct lang_value it;
    struct lang_value item;
    bool ok = true;

    if (!lang_args_exact(vm, call, "math.prod", 1) || !lang_iter_of(vm, call->args[0], &it))
        return false;
    while (ok && lang_iter_next(vm, it, &item) && lang_is_bound(item)) {
        struct lang_value next;

        ok = lang_binary(vm, LANG_OP_MUL, total, item, &next);
        lang_drop(vm, total);
        lang_drop(vm, item);
        total = ok ? next : lang_none();
    }
    lang_drop(vm, it);
    *out = total;
    return !vm->failed;
}

NATIVE(m_gcd)
{
    int64_t a;
    int64_t b;

    if (!number_args(vm, call, 2) || !lang_is_int(call->args[0]) || !lang_is_int(call->args[1]))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "math.gcd() takes integers");
    a = call->args[0].as.i < 0 ? -call->args[0].as.i : call->args[0].as.i;
    b = call->args[1].as.i < 0 ? -call->args[1].as.i : call->args[1].as.i;
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    *out = lang_int(a);
    return true;
}

/* isnan, isinf, isfinite */
NATIVE(m_test)
{
    char what = call->builtin->name[strlen("math.is")];
    double x;

    if (!number_args(vm, call, 1))
        return false;
    x = lang_number(call->args[0]);
    *out = lang_bool(what == 'n' ? isnan(x) : what == 'i' ? isinf(x) : isfinite(x));
    return true;
}

NATIVE(m_isqrt)
{
    int64_t root;

    if (!number_args(vm, call, 1) || !lang_is_int(call->args[0]) || call->args[0].as.i < 0)
        return !vm->failed &&
               lang_fail(vm, VS_E_VALUE, "math.isqrt() takes an integer that is not negative");
    root = (int64_t)sqrt((double)call->args[0].as.i);
    while (root > 0 && root > call->args[0].as.i / root)
        root--;
    while (root + 1 <= call->args[0].as.i / (root + 1))
        root++;
    *out = lang_int(root);
    return true;
}

void lang_math_register(struct lang_vm *vm)
{
    static const struct {
        const char *name;
        struct unary u;
    } unaries[] = {
        {"sqrt", {sqrt}},   {"exp", {exp}},   {"log2", {log2}}, {"log10", {log10}},
        {"log1p", {log1p}}, {"sin", {sin}},   {"cos", {cos}},   {"tan", {tan}},
        {"tanh", {tanh}},   {"sinh", {sinh}}, {"cosh", {cosh}}, {"asin", {asin}},
        {"acos", {acos}},   {"atan", {atan}}, {"fabs", {fabs}}, {"erf", {erf}},
        {"expm1", {expm1}},
    };
    static const struct {
        const char *name;
        struct unary u;
    } roundings[] = {{"ceil", {ceil}}, {"floor", {floor}}, {"trunc", {trunc}}};
    static const struct {
        const char *name;
        double value;
    } constants[] = {{"pi", 3.141592653589793},
                     {"e", 2.718281828459045},
                     {"tau", 6.283185307179586},
                     {"inf", (double)INFINITY},
                     {"nan", (double)NAN}};
    struct lang_value *space = lang_dict_find(vm->spaces, lang_intern_text(vm, "math"));

    for (size_t i = 0; i < sizeof(unaries) / sizeof(unaries[0]); i++)
        lang_native(vm, "math", unaries[i].name, m_unary, &unaries[i].u);
    for (size_t i = 0; i < sizeof(roundings) / sizeof(roundings[0]); i++)
        lang_native(vm, "math", roundings[i].name, m_to_int, &roundings[i].u);
    lang_native(vm, "math", "log", m_log, NULL);
    lang_native(vm, "math", "pow", m_pow, NULL);
    lang_native(vm, "math", "atan2", m_atan2, NULL);
    lang_native(vm, "math", "prod", m_prod, NULL);
    lang_native(vm, "math", "gcd", m_gcd, NULL);
    lang_native(vm, "math", "isqrt", m_isqrt, NULL);
    lang_native(vm, "math", "isnan", m_test, NULL);
    lang_native(vm, "math", "isinf", m_test, NULL);
    lang_native(vm, "math", "isfinite", m_test, NULL);
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        lang_dict_put(vm, space->as.space->names, lang_intern_text(vm, constants[i].name),
                      lang_float(constants[i].value));
}
