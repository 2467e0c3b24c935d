/*
 * lang/builtins/builtins_str.c - methods of strings.
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  ops on tensors.
 * Invariant:      upper and lower case are those of ASCII letters; other characters are unchanged.
 */
#include <ctype.h>
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

#define METHOD(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

static bool str_self(struct lang_vm *vm, const struct lang_call *call, uint32_t least,
                     uint32_t most, const struct lang_string **out)
{
    if (call->arg_count < least || call->arg_count > most || call->kw.count > 0)
        return lang_args_exact(vm, call, call->builtin->name, least) && lang_false();
    for (uint32_t i = 0; i < call->arg_count && i < 2; i++) {
        if (call->args[i].kind != LANG_STR && !(i == 1 && call->args[i].kind == LANG_TUPLE) &&
            !(i == 1 && call->args[i].kind == LANG_NONE))
            return lang_fail(vm, VS_E_TYPE, "%s() works on strings, not on `%s`",
                             call->builtin->name, lang_type_name(vm, call->args[i]));
    }
    *out = call->args[0].as.str;
    return true;
}

static void give(struct lang_vm *vm, const char *text, size_t len, struct lang_value *out)
{
    *out = lang_object(lang_str_new(vm, text, len));
}

/* ---- splitting and joining ---- */

static void add_part(struct lang_vm *vm, struct lang_list *list, const char *text, size_t len)
{
    lang_list_append(vm, list, lang_object(lang_str_new(vm, text, len)));
}

METHOD(str_split)
{
    const struct lang_string *s;
    struct lang_list *list;
    const char *at;
    const char *end;
    int64_t left = INT64_MAX;

    if (!str_self(vm, call, 1, 3, &s))
        return false;
    if (call->arg_count == 3 && lang_is_int(call->args[2]) && call->args[2].as.i >= 0)
        left = call->args[2].as.i;
    list = lang_list_new(vm, 0);
    *out = lang_object(list);
    at = s->text;
    end = s->text + s->len;
    if (call->arg_count > 1 && call->args[1].kind == LANG_STR) {
        const struct lang_string *sep = call->args[1].as.str;
        const char *hit;

        if (sep->len == 0) {
            lang_drop_obj(vm, list);
            return lang_fail(vm, VS_E_VALUE, "split(): the separator must not be empty");
        }
        while (left-- > 0 && (hit = strstr(at, sep->text)) != NULL) {
            add_part(vm, list, at, (size_t)(hit - at));
            at = hit + sep->len;
        }
        add_part(vm, list, at, (size_t)(end - at));
        return true;
    }
    for (;;) {
        const char *from;

        while (at < end && isspace((unsigned char)*at))
            at++;
        if (at == end)
            return true;
        from = at;
        if (left-- <= 0) {
            add_part(vm, list, from, (size_t)(end - from));
            return true;
        }
        while (at < end && !isspace((unsigned char)*at))
            at++;
        add_part(vm, list, from, (size_t)(at - from));
    }
}

METHOD(str_join)
{
    struct vs_text text = {NULL, 0, 0};
    const struct lang_string *s;
    struct lang_list *list;
    bool ok = true;

    if (!lang_args_exact(vm, call, "join", 2) || call->args[0].kind != LANG_STR)
        return false;
    s = call->args[0].as.str;
    if (!lang_list_of(vm, call->args[1], &list))
        return false;
    for (uint32_t i = 0; i < list->count && ok; i++) {
        if (list->items[i].kind != LANG_STR) {
            ok = lang_fail(vm, VS_E_TYPE, "join() takes strings, not `%s`",
                           lang_type_name(vm, list->items[i]));
            break;
        }
        if (i > 0)
            vs_text_add_n(&text, s->text, s->len);
        vs_text_add_n(&text, list->items[i].as.str->text, list->items[i].as.str->len);
    }
    if (ok)
        give(vm, vs_text_get(&text), text.len, out);
    vs_text_release(&text);
    lang_drop_obj(vm, list);
    return ok;
}

METHOD(str_replace)
{
    struct vs_text text = {NULL, 0, 0};
    const struct lang_string *s;
    const struct lang_string *from;
    const char *at;
    const char *hit;

    if (!str_self(vm, call, 3, 3, &s))
        return false;
    if (call->args[1].kind != LANG_STR || call->args[2].kind != LANG_STR ||
        call->args[1].as.str->len == 0)
        return lang_fail(vm, VS_E_VALUE, "replace() takes two strings, the first not empty");
    from = call->args[1].as.str;
    at = s->text;
    while ((hit = strstr(at, from->text)) != NULL) {
        vs_text_add_n(&text, at, (size_t)(hit - at));
        vs_text_add_n(&text, call->args[2].as.str->text, call->args[2].as.str->len);
        at = hit + from->len;
    }
    vs_text_add(&text, at);
    give(vm, vs_text_get(&text), text.len, out);
    vs_text_release(&text);
    return true;
}

/* strip, lstrip, rstrip: bit 1 the front, bit 2 the end. */
static bool strip(struct lang_vm *vm, const struct lang_call *call, int ends,
                  struct lang_value *out)
{
    const struct lang_string *s;
    const char *set = " \t\n\r\f\v";
    size_t from = 0;
    size_t to;

    if (!str_self(vm, call, 1, 2, &s))
        return false;
    if (call->arg_count == 2 && call->args[1].kind == LANG_STR)
        set = call->args[1].as.str->text;
    to = s->len;
    while ((ends & 1) && from < to && strchr(set, s->text[from]) != NULL)
        from++;
    while ((ends & 2) && to > from && strchr(set, s->text[to - 1]) != NULL)
        to--;
    give(vm, s->text + from, to - from, out);
    return true;
}

METHOD(str_strip)
{
    return strip(vm, call, 3, out);
}

METHOD(str_lstrip)
{
    return strip(vm, call, 1, out);
}

METHOD(str_rstrip)
{
    return strip(vm, call, 2, out);
}

/* ---- queries ---- */

/* startswith and endswith take a string or a tuple of them. */
static bool has_edge(struct lang_vm *vm, const struct lang_call *call, bool at_end,
                     struct lang_value *out)
{
    const struct lang_string *s;
    const struct lang_value *wanted;
    uint32_t count = 1;

    if (!str_self(vm, call, 2, 2, &s))
        return false;
    wanted = &call->args[1];
    if (wanted->kind == LANG_TUPLE) {
        count = wanted->as.tuple->count;
        wanted = wanted->as.tuple->items;
    }
    *out = lang_bool(false);
    for (uint32_t i = 0; i < count; i++) {
        const struct lang_string *w = wanted[i].as.str;

        if (wanted[i].kind != LANG_STR)
            return lang_fail(vm, VS_E_TYPE, "%s() takes strings", call->builtin->name);
        if (w->len <= s->len &&
            memcmp(at_end ? s->text + s->len - w->len : s->text, w->text, w->len) == 0)
            *out = lang_bool(true);
    }
    return true;
}

METHOD(str_startswith)
{
    return has_edge(vm, call, false, out);
}

METHOD(str_endswith)
{
    return has_edge(vm, call, true, out);
}

METHOD(str_find)
{
    const struct lang_string *s;
    const char *hit;
    int64_t chars = 0;

    if (!str_self(vm, call, 2, 2, &s) || call->args[1].kind != LANG_STR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "find() takes a string");
    hit = strstr(s->text, call->args[1].as.str->text);
    if (hit == NULL) {
        *out = lang_int(-1);
        return true;
    }
    for (const char *p = s->text; p < hit; p++)
        chars += ((unsigned char)*p & 0xC0) != 0x80;
    *out = lang_int(chars);
    return true;
}

METHOD(str_count)
{
    const struct lang_string *s;
    const char *at;
    int64_t n = 0;

    if (!str_self(vm, call, 2, 2, &s) || call->args[1].kind != LANG_STR ||
        call->args[1].as.str->len == 0)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "count() takes a string that is not empty");
    for (at = s->text; (at = strstr(at, call->args[1].as.str->text)) != NULL; n++)
        at += call->args[1].as.str->len;
    *out = lang_int(n);
    return true;
}

METHOD(str_isdigit)
{
    const struct lang_string *s;

    if (!str_self(vm, call, 1, 1, &s))
        return false;
    *out = lang_bool(s->len > 0 && strspn(s->text, "0123456789") == s->len);
    return true;
}

/* ---- case ---- */

static bool change_case(struct lang_vm *vm, const struct lang_call *call, int (*change)(int),
                        struct lang_value *out)
{
    const struct lang_string *s;
    struct lang_string *copy;

    if (!str_self(vm, call, 1, 1, &s))
        return false;
    copy = lang_str_new(vm, s->text, s->len);
    for (uint32_t i = 0; i < copy->len; i++) {
        if ((unsigned char)copy->text[i] < 0x80)
            copy->text[i] = (char)change((unsigned char)copy->text[i]);
    }
    *out = lang_object(copy);
    return true;
}

METHOD(str_upper)
{
    return change_case(vm, call, toupper, out);
}

METHOD(str_lower)
{
    return change_case(vm, call, tolower, out);
}

METHOD(str_format)
{
    if (call->arg_count == 0 || call->args[0].kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE, "format() is a method of a string");
    return lang_braces(vm, call->args[0].as.str, call, out);
}

void lang_str_methods_register(struct lang_vm *vm)
{
    struct lang_class *str = vm->cls.str;

    lang_method_add(vm, str, "split", str_split);
    lang_method_add(vm, str, "join", str_join);
    lang_method_add(vm, str, "replace", str_replace);
    lang_method_add(vm, str, "strip", str_strip);
    lang_method_add(vm, str, "lstrip", str_lstrip);
    lang_method_add(vm, str, "rstrip", str_rstrip);
    lang_method_add(vm, str, "startswith", str_startswith);
    lang_method_add(vm, str, "endswith", str_endswith);
    lang_method_add(vm, str, "find", str_find);
    lang_method_add(vm, str, "count", str_count);
    lang_method_add(vm, str, "isdigit", str_isdigit);
    lang_method_add(vm, str, "upper", str_upper);
    lang_method_add(vm, str, "lower", str_lower);
    lang_method_add(vm, str, "format", str_format);
}
