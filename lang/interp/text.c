/*
 * lang/interp/text.c - conversion of values to text.
 *
 * For:            lang/interp/text.h.
 * Must not know:  expressions.
 * Invariant:      the text of numbers and containers is the same as in Python.
 */
#include "lang/interp/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"

/* ---- floats ---- */

void lang_add_float(struct vs_text *text, double f)
{
    char buf[64];
    char digits[32];
    int exponent;
    int count;

    if (!isfinite(f)) {
        vs_text_add(text, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    for (int precision = 0; precision <= 16; precision++) {
        (void)snprintf(buf, sizeof(buf), "%.*e", precision, f);
        if (strtod(buf, NULL) == f)
            break;
    }
    exponent = (int)strtol(strchr(buf, 'e') + 1, NULL, 10);
    count = 0;
    for (const char *p = buf; *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9')
            digits[count++] = *p;
    }
    if (buf[0] == '-')
        vs_text_add_char(text, '-');
    if (exponent < -4 || exponent >= 16) {
        vs_text_add_char(text, digits[0]);
        if (count > 1) {
            vs_text_add_char(text, '.');
            vs_text_add_n(text, digits + 1, (size_t)count - 1);
        }
        vs_text_addf(text, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        vs_text_add(text, "0.");
        vs_text_add_fill(text, '0', -exponent - 1);
        vs_text_add_n(text, digits, (size_t)count);
    } else {
        int whole = exponent + 1 < count ? exponent + 1 : count;

        vs_text_add_n(text, digits, (size_t)whole);
        vs_text_add_fill(text, '0', exponent + 1 - count);
        vs_text_add_char(text, '.');
        if (whole < count)
            vs_text_add_n(text, digits + whole, (size_t)(count - whole));
        else
            vs_text_add_char(text, '0');
    }
}

/* ---- repr ---- */

static void add_quoted(struct vs_text *text, const struct lang_string *s)
{
    char quote = strchr(s->text, '\'') != NULL && strchr(s->text, '"') == NULL ? '"' : '\'';

    vs_text_add_char(text, quote);
    for (uint32_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->text[i];

        if (c == '\\' || c == (unsigned char)quote) {
            vs_text_add_char(text, '\\');
            vs_text_add_char(text, (char)c);
        } else if (c == '\n') {
            vs_text_add(text, "\\n");
        } else if (c == '\r') {
            vs_text_add(text, "\\r");
        } else if (c == '\t') {
            vs_text_add(text, "\\t");
        } else if (c < 0x20 || c == 0x7f) {
            vs_text_addf(text, "\\x%02x", c);
        } else {
            vs_text_add_char(text, (char)c);
        }
    }
    vs_text_add_char(text, quote);
}

static bool add_sequence(struct lang_vm *vm, struct vs_text *text, struct lang_value v)
{
    struct lang_value *items;
    uint32_t count;
    bool is_tuple = v.kind == LANG_TUPLE;
    bool is_size = is_tuple && (v.as.tuple->head.flags & LANG_TUPLE_SIZE);

    (void)lang_items(v, &items, &count);
    vs_text_add(text, is_size ? "torch.Size([" : is_tuple ? "(" : "[");
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            vs_text_add(text, ", ");
        if (!lang_add_repr(vm, text, items[i]))
            return false;
    }
    if (is_tuple && !is_size && count == 1)
        vs_text_add_char(text, ',');
    vs_text_add(text, is_size ? "])" : is_tuple ? ")" : "]");
    return true;
}

static bool add_dict(struct lang_vm *vm, struct vs_text *text, const struct lang_dict *d,
                     bool is_set)
{
    struct lang_entry *e;
    uint32_t at = 0;
    bool first = true;

    if (is_set && d->live == 0) {
        vs_text_add(text, "set()");
        return true;
    }
    vs_text_add_char(text, '{');
    while ((e = lang_dict_next(d, &at)) != NULL) {
        if (!first)
            vs_text_add(text, ", ");
        first = false;
        if (!lang_add_repr(vm, text, e->key))
            return false;
        if (is_set)
            continue;
        vs_text_add(text, ": ");
        if (!lang_add_repr(vm, text, e->value))
            return false;
    }
    vs_text_add_char(text, '}');
    return true;
}

static void add_tensor(struct lang_vm *vm, struct vs_text *text, const struct eng_tensor *t)
{
    char shape[ENG_SHAPE_TEXT_MAX];

    (void)vm;
    vs_text_addf(text, "tensor(%s, dtype=torch.%s%s)", eng_shape_text(t, shape),
                 vs_dtype_name((enum vs_dtype)t->dtype),
                 t->storage->on_host ? "" : ", device='cuda:0'");
}

static bool add_instance(struct lang_vm *vm, struct vs_text *text, struct lang_value v, bool as_str)
{
    struct lang_value method = lang_unbound();
    struct lang_value result;

    if (as_str)
        method = lang_special(vm, v, LANG_N_str);
    if (!lang_is_bound(method))
        method = lang_special(vm, v, LANG_N_repr);
    if (!lang_is_bound(method)) {
        vs_text_addf(text, "<%s object>", v.as.instance->cls->qualname->text);
        return true;
    }
    if (!lang_call_special(vm, method, v, NULL, 0, &result))
        return false;
    if (result.kind != LANG_STR) {
        lang_fail(vm, VS_E_TYPE, "__repr__ must return a string, not `%s`",
                  lang_type_name(vm, result));
        lang_drop(vm, result);
        return false;
    }
    vs_text_add_n(text, result.as.str->text, result.as.str->len);
    lang_drop(vm, result);
    return true;
}

static bool add_slice(struct lang_vm *vm, struct vs_text *text, const struct lang_slice *s)
{
    vs_text_add(text, "slice(");
    if (!lang_add_repr(vm, text, s->start))
        return false;
    vs_text_add(text, ", ");
    if (!lang_add_repr(vm, text, s->stop))
        return false;
    vs_text_add(text, ", ");
    if (!lang_add_repr(vm, text, s->step))
        return false;
    vs_text_add_char(text, ')');
    return true;
}

static bool add_object(struct lang_vm *vm, struct vs_text *text, struct lang_value v, bool as_str)
{
    switch ((enum lang_kind)v.kind) {
    case LANG_STR:
        if (as_str)
            vs_text_add_n(text, v.as.str->text, v.as.str->len);
        else
            add_quoted(text, v.as.str);
        return true;
    case LANG_TUPLE:
    case LANG_LIST:
        return add_sequence(vm, text, v);
    case LANG_DICT:
        return add_dict(vm, text, v.as.dict, false);
    case LANG_SET:
        return add_dict(vm, text, v.as.set->keys, true);
    case LANG_SLICE:
        return add_slice(vm, text, v.as.slice);
    case LANG_RANGE:
        vs_text_addf(text, "range(%" PRId64 ", %" PRId64, v.as.range->start, v.as.range->stop);
        if (v.as.range->step != 1)
            vs_text_addf(text, ", %" PRId64, v.as.range->step);
        vs_text_add_char(text, ')');
        return true;
    case LANG_INSTANCE:
        return add_instance(vm, text, v, as_str);
    case LANG_CLASS:
        vs_text_addf(text, "<class '%s'>", v.as.cls->qualname->text);
        return true;
    case LANG_FUNCTION:
        vs_text_addf(text, "<function %s>", v.as.function->code->qualname->text);
        return true;
    case LANG_BUILTIN:
        vs_text_addf(text, "<built-in function %s>", v.as.builtin->name);
        return true;
    case LANG_NAMESPACE:
        vs_text_addf(text, "<module '%s'>", v.as.space->name->text);
        return true;
    default:
        vs_text_addf(text, "<%s object>", lang_type_name(vm, v));
        return true;
    }
}

static bool add_value(struct lang_vm *vm, struct vs_text *text, struct lang_value v, bool as_str)
{
    switch ((enum lang_kind)v.kind) {
    case LANG_NONE:
        vs_text_add(text, "None");
        return true;
    case LANG_BOOL:
        vs_text_add(text, v.as.i != 0 ? "True" : "False");
        return true;
    case LANG_INT:
        vs_text_addf(text, "%" PRId64, v.as.i);
        return true;
    case LANG_FLOAT:
        lang_add_float(text, v.as.f);
        return true;
    case LANG_ELLIPSIS:
        vs_text_add(text, "Ellipsis");
        return true;
    case LANG_NOT_IMPLEMENTED:
        vs_text_add(text, "NotImplemented");
        return true;
    case LANG_DTYPE:
        vs_text_addf(text, "torch.%s", vs_dtype_name(v.as.dtype));
        return true;
    case LANG_DEVICE:
        if (as_str)
            vs_text_add(text, v.as.on_host ? "cpu" : "cuda:0");
        else
            vs_text_add(text, v.as.on_host ? "device(type='cpu')" : "device(type='cuda', index=0)");
        return true;
    case LANG_TENSOR:
        add_tensor(vm, text, v.as.tensor);
        return true;
    default:
        return lang_check_depth(vm) && add_object(vm, text, v, as_str);
    }
}

bool lang_add_str(struct lang_vm *vm, struct vs_text *text, struct lang_value v)
{
    return add_value(vm, text, v, true);
}

bool lang_add_repr(struct lang_vm *vm, struct vs_text *text, struct lang_value v)
{
    return add_value(vm, text, v, false);
}

static bool as_string(struct lang_vm *vm, struct lang_value v, bool as_str, struct lang_value *out)
{
    struct vs_text text = {NULL, 0, 0};
    bool ok;

    if (v.kind == LANG_STR && as_str) {
        *out = lang_keep(v);
        return true;
    }
    ok = add_value(vm, &text, v, as_str);
    if (ok)
        *out = lang_object(lang_str_new(vm, vs_text_get(&text), text.len));
    vs_text_release(&text);
    return ok;
}

bool lang_to_str(struct lang_vm *vm, struct lang_value v, struct lang_value *out)
{
    return as_string(vm, v, true, out);
}

bool lang_to_repr(struct lang_vm *vm, struct lang_value v, struct lang_value *out)
{
    return as_string(vm, v, false, out);
}
