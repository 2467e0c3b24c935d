/*
 * lang/interp/text_format.c - format(value, spec): the part after the colon in a field of an f-string.
 *
 * For:            lang/interp/text.h.
 * Must not know:  f-strings.
 * Invariant:      an invalid format spec is an error.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/interp/interp.h"
#include "lang/interp/text.h"

/* [[fill]align][sign][#][0][width][grouping][.precision][type]; fields are zero or -1 where left out. */
struct spec {
    char fill;
    char align; /* < > ^ = */
    char sign;  /* + - space */
    char grouping;
    char type;
    bool has_zero;
    bool alternate;
    int width;
    int precision;
};

#define MAX_WIDTH 1000

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '^' || c == '=';
}

static const char *parse_number(const char *p, int *out)
{
    *out = 0;
    while (*p >= '0' && *p <= '9') {
        if (*out <= MAX_WIDTH)
            *out = *out * 10 + (*p - '0');
        p++;
    }
    return p;
}

static bool parse_spec(const char *p, struct spec *s)
{
    *s = (struct spec){.fill = ' ', .width = 0, .precision = -1};
    if (p[0] != '\0' && is_align(p[1])) {
        s->fill = *p++;
        s->align = *p++;
    } else if (is_align(*p)) {
        s->align = *p++;
    }
    if (*p == '+' || *p == '-' || *p == ' ')
        s->sign = *p++;
    if (*p == '#') {
        s->alternate = true;
        p++;
    }
    if (*p == '0') {
        s->has_zero = true;
        p++;
    }
    p = parse_number(p, &s->width);
    if (*p == ',' || *p == '_')
        s->grouping = *p++;
    if (*p == '.') {
        const char *digits = p + 1;

        p = parse_number(digits, &s->precision);
        if (p == digits)
            return false;
    }
    if (*p != '\0')
        s->type = *p++;
    if (s->has_zero && s->align == 0) {
        s->fill = '0';
        s->align = '=';
    }
    return *p == '\0' && s->width <= MAX_WIDTH && s->precision <= MAX_WIDTH;
}

/* Pads `body` (whose sign is separate) to the width. */
static void add_padded(struct vs_text *text, const struct spec *s, const char *sign,
                       const char *body, size_t chars, char align)
{
    int pad = s->width - (int)chars - (int)strlen(sign);

    if (pad < 0)
        pad = 0;
    if (s->align != 0)
        align = s->align;
    if (align == '>')
        vs_text_add_fill(text, s->fill, pad);
    else if (align == '^')
        vs_text_add_fill(text, s->fill, pad / 2);
    vs_text_add(text, sign);
    if (align == '=')
        vs_text_add_fill(text, s->fill, pad);
    vs_text_add(text, body);
    if (align == '<')
        vs_text_add_fill(text, s->fill, pad);
    else if (align == '^')
        vs_text_add_fill(text, s->fill, pad - pad / 2);
}

/* Adds separators between groups of three digits of the integer part. */
static void group_digits(struct vs_text *out, const char *digits, char separator)
{
    size_t whole = strspn(digits, "0123456789");

    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0)
            vs_text_add_char(out, separator);
        vs_text_add_char(out, digits[i]);
    }
    vs_text_add(out, digits + whole);
}

static void add_digits(struct vs_text *text, const struct spec *s, const char *digits,
                       bool negative)
{
    struct vs_text grouped = {NULL, 0, 0};
    const char *sign = negative ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "";

    if (s->grouping != 0)
        group_digits(&grouped, digits, s->grouping);
    else
        vs_text_add(&grouped, digits);
    add_padded(text, s, sign, vs_text_get(&grouped), grouped.len, '>');
    vs_text_release(&grouped);
}

/* Python keeps a ".0" and two digits of exponent, as C does; only 'g' without type differs. */
static void float_digits(const struct spec *s, double f, struct vs_text *out)
{
    char type = s->type;
    int precision = s->precision < 0 ? 6 : s->precision;

    f = fabs(f);
    if (!isfinite(f)) {
        bool upper = type == 'E' || type == 'F' || type == 'G';

        vs_text_add(out, isnan(f) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
        return;
    }
    switch (type) {
    case '%':
        vs_text_addf(out, "%.*f%%", precision, f * 100.0);
        break;
    case 'e':
        vs_text_addf(out, "%.*e", precision, f);
        break;
    case 'E':
        vs_text_addf(out, "%.*E", precision, f);
        break;
    case 'f':
    case 'F':
        vs_text_addf(out, "%.*f", precision, f);
        break;
    case 0:
        if (s->precision < 0) {
            lang_add_float(out, f);
            break;
        }
        vs_text_addf(out, "%.*g", s->precision == 0 ? 1 : s->precision, f);
        if (strpbrk(vs_text_get(out), ".e") == NULL) {
            if ((int)out->len < s->precision)
                vs_text_add(out, ".0");
            else {
                vs_text_clear(out);
                vs_text_addf(out, "%.*e", s->precision == 0 ? 0 : s->precision - 1, f);
            }
        }
        break;
    case 'G':
        vs_text_addf(out, "%.*G", precision == 0 ? 1 : precision, f);
        break;
    default:
        vs_text_addf(out, "%.*g", precision == 0 ? 1 : precision, f);
        break;
    }
}

static void format_float(struct vs_text *text, const struct spec *s, double f)
{
    struct vs_text digits = {NULL, 0, 0};

    float_digits(s, f, &digits);
    add_digits(text, s, vs_text_get(&digits), signbit(f) && !isnan(f));
    vs_text_release(&digits);
}

static void format_int(struct vs_text *text, const struct spec *s, int64_t i)
{
    uint64_t magnitude = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    char buf[80];
    int at = (int)sizeof(buf);

    if (s->type == 'b') {
        buf[--at] = '\0';
        do {
            buf[--at] = (char)('0' + (magnitude & 1));
            magnitude >>= 1;
        } while (magnitude != 0);
        add_digits(text, s, buf + at, i < 0);
        return;
    }
    (void)snprintf(buf, sizeof(buf),
                   s->type == 'x'   ? "%" PRIx64
                   : s->type == 'X' ? "%" PRIX64
                   : s->type == 'o' ? "%" PRIo64
                                    : "%" PRIu64,
                   magnitude);
    add_digits(text, s, buf, i < 0);
}

static void format_str(struct vs_text *text, const struct spec *s, const struct lang_string *str)
{
    struct vs_text cut = {NULL, 0, 0};
    size_t chars = 0;
    size_t bytes = 0;

    while (bytes < str->len && (s->precision < 0 || chars < (size_t)s->precision)) {
        bytes++;
        while (bytes < str->len && ((unsigned char)str->text[bytes] & 0xC0) == 0x80)
            bytes++;
        chars++;
    }
    vs_text_add_n(&cut, str->text, bytes);
    add_padded(text, s, "", vs_text_get(&cut), chars, '<');
    vs_text_release(&cut);
}

static bool bad_spec(struct lang_vm *vm, struct lang_value v, const char *spec)
{
    return lang_fail(vm, VS_E_VALUE, "the format `%s` does not suit a value of type `%s`", spec,
                     lang_type_name(vm, v));
}

static bool format_number(struct lang_vm *vm, struct vs_text *text, struct lang_value v,
                          const struct spec *s, const char *spec)
{
    bool is_float_type = s->type != 0 && strchr("eEfFgG%", s->type) != NULL;
    bool is_int_type = s->type != 0 && strchr("bdoxXn", s->type) != NULL;

    if (s->type != 0 && !is_float_type && !is_int_type)
        return bad_spec(vm, v, spec);
    if (s->alternate)
        return bad_spec(vm, v, spec);
    if (v.kind == LANG_FLOAT || is_float_type) {
        if (is_int_type)
            return bad_spec(vm, v, spec);
        format_float(text, s, lang_number(v));
        return true;
    }
    if (s->precision >= 0)
        return bad_spec(vm, v, spec);
    format_int(text, s, v.as.i);
    return true;
}

bool lang_add_format(struct lang_vm *vm, struct vs_text *text, struct lang_value v,
                     const char *spec)
{
    struct lang_value item;
    struct spec s;

    if (spec[0] == '\0') {
        if (v.kind == LANG_TENSOR && v.as.tensor->ndim == 0 && !eng_requires_grad(v.as.tensor)) {
            if (!vm->tensor_type->item(vm, v.as.tensor, &item))
                return false;
            return lang_add_str(vm, text, item);
        }
        return lang_add_str(vm, text, v);
    }
    if (!parse_spec(spec, &s))
        return bad_spec(vm, v, spec);
    if (v.kind == LANG_TENSOR && v.as.tensor->ndim == 0) {
        if (!vm->tensor_type->item(vm, v.as.tensor, &item))
            return false;
        return format_number(vm, text, item, &s, spec);
    }
    if (lang_is_number(v))
        return format_number(vm, text, v, &s, spec);
    if (v.kind == LANG_STR && (s.type == 0 || s.type == 's') && s.align != '=' && s.sign == 0 &&
        s.grouping == 0) {
        format_str(text, &s, v.as.str);
        return true;
    }
    return bad_spec(vm, v, spec);
}
