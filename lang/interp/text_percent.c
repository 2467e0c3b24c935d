/*
 * lang/interp/text_percent.c - "…%s…" % values.
 *
 * For:            lang/interp/text.h.
 * Must not know:  f-strings.
 * Invariant:      each conversion is turned into the format spec of an f-string with the same result, so numbers are
 *                 formatted in one place (text_format.c).
 */
#include <math.h>
#include <string.h>

#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

/* The right operand, and how much of it has been used. */
struct values {
    struct lang_value all;
    const struct lang_value *items; /* of the tuple; or &all */
    uint32_t count;
    uint32_t used;
    bool by_name; /* a "%(name)s" was read */
};

/* One conversion after its "%". */
struct conversion {
    bool left, zero, plus, space;
    int width, precision; /* -1: not given */
    char type;
};

static bool next_value(struct lang_vm *vm, struct values *v, struct lang_value *out)
{
    if (v->used == v->count)
        return lang_fail(vm, VS_E_TYPE, "not enough arguments for format string");
    *out = lang_keep(v->items[v->used++]);
    return true;
}

/* "(name)" at *p, where there is one: the dict's value; else *out is unbound. */
static bool named_value(struct lang_vm *vm, struct values *v, const char **p,
                        struct lang_value *out)
{
    const char *end;
    struct lang_value key;
    bool ok;

    *out = lang_unbound();
    if (**p != '(')
        return true;
    end = strchr(*p, ')');
    if (end == NULL)
        return lang_fail(vm, VS_E_VALUE, "incomplete format key");
    if (v->all.kind != LANG_DICT)
        return lang_fail(vm, VS_E_TYPE, "format requires a mapping");
    v->by_name = true;
    key = lang_object(lang_str_new(vm, *p + 1, (size_t)(end - *p - 1)));
    ok = lang_getitem(vm, v->all, key, out);
    lang_drop(vm, key);
    *p = end + 1;
    return ok;
}

/* A number, or "*", which takes it from the values. */
static bool read_count(struct lang_vm *vm, struct values *v, const char **p, int *out)
{
    struct lang_value n;
    bool ok;

    if (**p == '*') {
        (*p)++;
        if (!next_value(vm, v, &n))
            return false;
        ok = lang_is_int(n) && n.as.i >= -1000 && n.as.i <= 1000;
        *out = ok ? (int)n.as.i : 0;
        lang_drop(vm, n);
        return ok || lang_fail(vm, VS_E_TYPE, "* wants int");
    }
    *out = 0;
    while (**p >= '0' && **p <= '9') {
        if (*out <= 1000)
            *out = *out * 10 + (**p - '0');
        (*p)++;
    }
    return true;
}

static bool read_conversion(struct lang_vm *vm, struct values *v, const char **p,
                            struct conversion *c)
{
    *c = (struct conversion){.width = -1, .precision = -1};
    for (; **p != '\0' && strchr("-0+ #", **p) != NULL; (*p)++) {
        c->left = c->left || **p == '-';
        c->zero = c->zero || **p == '0';
        c->plus = c->plus || **p == '+';
        c->space = c->space || **p == ' ';
        if (**p == '#')
            return lang_fail_hint(vm, VS_E_UNSUPPORTED, "leave the `#` out",
                                  "`%%#` is not part of the net language");
    }
    if ((**p == '*' || (**p >= '1' && **p <= '9')) && !read_count(vm, v, p, &c->width))
        return false;
    if (c->width < -1) {
        c->left = true;
        c->width = -c->width;
    }
    if (**p == '.') {
        (*p)++;
        if (!read_count(vm, v, p, &c->precision))
            return false;
    }
    while (**p == 'h' || **p == 'l' || **p == 'L')
        (*p)++;
    if (**p == '\0')
        return lang_fail(vm, VS_E_VALUE, "incomplete format");
    c->type = *(*p)++;
    return true;
}

/* The number in `v`, which is replaced by it; a tensor of one element is read. */
static bool to_number(struct lang_vm *vm, const struct conversion *c, bool wants_int,
                      struct lang_value *v)
{
    struct lang_value item;

    if (v->kind == LANG_TENSOR) {
        if (!vm->tensor_type->item(vm, v->as.tensor, &item))
            return false;
        lang_assign(vm, v, item);
    }
    if (!lang_is_number(*v))
        return lang_fail(vm, VS_E_TYPE, "%%%c format: a real number is required, not %s", c->type,
                         lang_type_name(vm, *v));
    if (wants_int && v->kind == LANG_FLOAT) {
        if (!isfinite(v->as.f) || fabs(v->as.f) >= 9.2e18)
            return lang_fail(vm, VS_E_VALUE, "cannot convert a float like this to an integer");
        *v = lang_int((int64_t)v->as.f);
    }
    return true;
}

/* Appends `v` by a format spec: "[align][sign][0][width][.precision][type]". */
static bool add_by_spec(struct lang_vm *vm, struct vs_text *text, const struct conversion *c,
                        char type, struct lang_value v)
{
    struct vs_text spec = {NULL, 0, 0};
    bool is_number = type != 's';
    bool ok;

    if (c->left)
        vs_text_add_char(&spec, '<');
    else if (!is_number)
        vs_text_add_char(&spec, '>');
    if (is_number && (c->plus || c->space))
        vs_text_add_char(&spec, c->plus ? '+' : ' ');
    if (is_number && c->zero && !c->left)
        vs_text_add_char(&spec, '0');
    if (c->width > 0)
        vs_text_addf(&spec, "%d", c->width);
    if (c->precision >= 0)
        vs_text_addf(&spec, ".%d", c->precision);
    vs_text_add_char(&spec, type);
    ok = lang_add_format(vm, text, v, vs_text_get(&spec));
    vs_text_release(&spec);
    return ok;
}

static bool add_int(struct lang_vm *vm, struct vs_text *text, const struct conversion *c,
                    struct lang_value *v)
{
    bool is_decimal = strchr("diu", c->type) != NULL;

    if (!is_decimal && v->kind == LANG_FLOAT)
        return lang_fail(vm, VS_E_TYPE, "%%%c format: an integer is required, not float", c->type);
    if (c->precision >= 0)
        return lang_fail_hint(vm, VS_E_UNSUPPORTED, "write the width with a zero: %03d",
                              "a precision for %%%c is not part of the net language", c->type);
    if (!to_number(vm, c, true, v))
        return false;
    return add_by_spec(vm, text, c, is_decimal ? 'd' : c->type,
                       v->kind == LANG_BOOL ? lang_int(v->as.i) : *v);
}

static bool add_text(struct lang_vm *vm, struct vs_text *text, const struct conversion *c,
                     struct lang_value v)
{
    struct lang_value s;
    bool ok = c->type == 's' ? lang_to_str(vm, v, &s) : lang_to_repr(vm, v, &s);

    if (!ok)
        return false;
    ok = add_by_spec(vm, text, c, 's', s);
    lang_drop(vm, s);
    return ok;
}

static bool add_value(struct lang_vm *vm, struct vs_text *text, const struct conversion *c,
                      struct lang_value *v)
{
    if (c->type == 's' || c->type == 'r')
        return add_text(vm, text, c, *v);
    if (strchr("diuxXo", c->type) != NULL)
        return add_int(vm, text, c, v);
    if (strchr("eEfFgG", c->type) != NULL)
        return to_number(vm, c, false, v) && add_by_spec(vm, text, c, c->type, *v);
    return lang_fail(vm, VS_E_VALUE, "unsupported format character '%c'", c->type);
}

static bool add_conversion(struct lang_vm *vm, struct vs_text *text, struct values *values,
                           const char **p)
{
    struct conversion c;
    struct lang_value v;
    bool ok;

    if (!named_value(vm, values, p, &v))
        return false;
    if (!read_conversion(vm, values, p, &c)) {
        lang_drop(vm, v);
        return false;
    }
    if (c.type == '%') {
        lang_drop(vm, v);
        vs_text_add_char(text, '%');
        return true;
    }
    if (!lang_is_bound(v) && !next_value(vm, values, &v))
        return false;
    ok = add_value(vm, text, &c, &v);
    lang_drop(vm, v);
    return ok;
}

bool lang_percent(struct lang_vm *vm, const struct lang_string *format, struct lang_value operand,
                  struct lang_value *out)
{
    struct values values = {.all = operand, .items = &operand, .count = 1};
    struct vs_text text = {NULL, 0, 0};
    const char *p = format->text;
    bool ok = true;

    if (operand.kind == LANG_TUPLE) {
        values.items = operand.as.tuple->items;
        values.count = operand.as.tuple->count;
    }
    while (ok && *p != '\0') {
        const char *next = strchr(p, '%');
        size_t plain = next == NULL ? strlen(p) : (size_t)(next - p);

        vs_text_add_n(&text, p, plain);
        p += plain;
        if (*p == '%') {
            p++;
            ok = add_conversion(vm, &text, &values, &p);
        }
    }
    if (ok && values.used < values.count && !values.by_name && operand.kind != LANG_DICT)
        ok = lang_fail(vm, VS_E_TYPE, "not all arguments converted during string formatting");
    if (ok)
        *out = lang_object(lang_str_new(vm, vs_text_get(&text), text.len));
    vs_text_release(&text);
    return ok;
}
