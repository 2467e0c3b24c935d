/*
 * lang/interp/text_braces.c - "…{}…{0:.2f}…{name!r}…".format(…).
 *
 * For:            lang/interp/text.h.
 * Must not know:  f-strings, whose fields are expressions of the net.
 * Invariant:      a field holds its value until its text exists.
 */
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

/* What fields refer to. `next`: the number of the next "{}"; -1 after a "{0}". */
struct fields {
    const struct lang_call *call;
    int next;
};

static bool add_all(struct lang_vm *vm, struct fields *f, const char *p, const char *end, int depth,
                    struct vs_text *text);

/* The argument that a field begins with: "", "0" or "name". */
static bool field_base(struct lang_vm *vm, struct fields *f, const char *name, size_t len,
                       struct lang_value *out)
{
    const struct lang_call *call = f->call;
    uint32_t i = 0;

    if (len > 0 && strspn(name, "0123456789") < len) {
        for (uint32_t k = 0; k < call->kw.count; k++) {
            const struct lang_string *key = lang_kwname(&call->kw, k);

            if (key->len == len && memcmp(key->text, name, len) == 0) {
                *out = lang_keep(call->args[call->arg_count + k]);
                return true;
            }
        }
        return lang_fail(vm, VS_E_NAME, "format(): there is no argument `%.*s`", (int)len, name);
    }
    if (len == 0 ? f->next < 0 : f->next > 0)
        return lang_fail(vm, VS_E_VALUE,
                         "format(): `{}` and `{0}` cannot be used in the same string");
    if (len == 0)
        i = (uint32_t)f->next++;
    for (size_t k = 0; k < len && i < 100000; k++)
        i = i * 10 + (uint32_t)(name[k] - '0');
    if (len > 0)
        f->next = -1;
    if (i + 1 >= call->arg_count) /* args[0] is the string */
        return lang_fail(vm, VS_E_VALUE, "format(): the string has more fields than arguments");
    *out = lang_keep(call->args[i + 1]);
    return true;
}

/* ".name" and "[key]" after the argument's name; `v` is replaced. */
static bool field_path(struct lang_vm *vm, const char *p, const char *end, struct lang_value *v)
{
    while (p < end) {
        const char *from = p + 1;
        struct lang_value next;
        struct lang_value key;
        bool ok;

        p = from;
        if (from[-1] == '.') {
            while (p < end && *p != '.' && *p != '[')
                p++;
            ok = lang_getattr(vm, *v, lang_intern(vm, from, (size_t)(p - from)), &next);
        } else {
            while (p < end && *p != ']')
                p++;
            if (p == end || from[-1] != '[')
                return lang_fail(vm, VS_E_VALUE, "format(): a field is not closed");
            if (strspn(from, "0123456789") == (size_t)(p - from) && p > from) {
                int64_t i = 0;

                for (const char *d = from; d < p && i < INT32_MAX; d++)
                    i = i * 10 + (*d - '0');
                key = lang_int(i);
            } else {
                key = lang_object(lang_str_new(vm, from, (size_t)(p - from)));
            }
            ok = lang_getitem(vm, *v, key, &next);
            lang_drop(vm, key);
            p++;
        }
        if (!ok)
            return false;
        lang_assign(vm, v, next);
    }
    return true;
}

/* A field between its braces: [name][path][!conversion][:spec]. */
static bool add_field(struct lang_vm *vm, struct fields *f, const char *p, const char *end,
                      int depth, struct vs_text *text)
{
    const char *colon = memchr(p, ':', (size_t)(end - p));
    const char *stop = colon != NULL ? colon : end;
    const char *bang = memchr(p, '!', (size_t)(stop - p));
    const char *name_end = bang != NULL ? bang : stop;
    const char *base_end = p;
    struct vs_text spec = {NULL, 0, 0};
    struct lang_value v;
    struct lang_value s;
    bool ok;

    while (base_end < name_end && *base_end != '.' && *base_end != '[')
        base_end++;
    if (!field_base(vm, f, p, (size_t)(base_end - p), &v))
        return false;
    ok = field_path(vm, base_end, name_end, &v);
    if (ok && bang != NULL) {
        if (stop - bang != 2 || (bang[1] != 'r' && bang[1] != 's'))
            ok = lang_fail(vm, VS_E_VALUE, "format(): a conversion is !r or !s");
        else
            ok = bang[1] == 's' ? lang_to_str(vm, v, &s) : lang_to_repr(vm, v, &s);
        if (ok)
            lang_assign(vm, &v, s);
    }
    if (ok && colon != NULL)
        ok = add_all(vm, f, colon + 1, end, depth + 1, &spec);
    ok = ok && lang_add_format(vm, text, v, vs_text_get(&spec));
    vs_text_release(&spec);
    lang_drop(vm, v);
    return ok;
}

/* The brace that closes a field that begins at `p`; NULL where there is none. */
static const char *field_end(const char *p, const char *end)
{
    int open = 1;

    for (; p < end; p++) {
        open += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        if (open == 0)
            return p;
    }
    return NULL;
}

static bool add_all(struct lang_vm *vm, struct fields *f, const char *p, const char *end, int depth,
                    struct vs_text *text)
{
    if (depth > 1)
        return lang_fail(vm, VS_E_VALUE, "format(): fields are nested too deeply");
    while (p < end) {
        const char *close;

        if (*p != '{' && *p != '}') {
            vs_text_add_char(text, *p++);
            continue;
        }
        if (p + 1 < end && p[1] == *p) {
            vs_text_add_char(text, *p);
            p += 2;
            continue;
        }
        close = *p == '{' ? field_end(p + 1, end) : NULL;
        if (close == NULL)
            return lang_fail(vm, VS_E_VALUE, "format(): a single `%c` in the string", *p);
        if (!add_field(vm, f, p + 1, close, depth, text))
            return false;
        p = close + 1;
    }
    return true;
}

bool lang_braces(struct lang_vm *vm, const struct lang_string *format, const struct lang_call *call,
                 struct lang_value *out)
{
    struct fields fields = {.call = call};
    struct vs_text text = {NULL, 0, 0};
    bool ok = add_all(vm, &fields, format->text, format->text + format->len, 0, &text);

    if (ok)
        *out = lang_object(lang_str_new(vm, vs_text_get(&text), text.len));
    vs_text_release(&text);
    return ok;
}
