/*
 * lang/value/object_str.c - strings and the table of interned strings.
 *
 * For:            lang/value/object.h.
 * Must not know:  how strings are used.
 * Invariant:      an interned string lives as long as the vm, as its text may be passed to the engine as a name.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

static uint32_t hash_of(const char *text, size_t len)
{
    uint32_t h = (uint32_t)vs_hash_bytes(text, len);

    return h == 0 ? 1 : h; /* 0: not computed yet */
}

/* Counts the bytes that begin a character, eight bytes at a time while all are ASCII, which is the common case. */
static uint32_t count_chars(const char *text, size_t len)
{
    uint32_t chars = 0;
    size_t i = 0;

    while (i < len) {
        uint64_t word;

        if (len - i >= sizeof(word)) {
            memcpy(&word, text + i, sizeof(word));
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                chars += (uint32_t)sizeof(word);
                i += sizeof(word);
                continue;
            }
        }
        chars += ((unsigned char)text[i++] & 0xC0) != 0x80;
    }
    return chars;
}

struct lang_string *lang_str_new(struct lang_vm *vm, const char *text, size_t len)
{
    struct lang_string *s;

    VS_ASSERT(len < UINT32_MAX - sizeof(*s));
    s = lang_obj_new(vm, LANG_STR, sizeof(*s) + len + 1);
    if (len > 0)
        memcpy(s->text, text, len);
    s->text[len] = '\0';
    s->len = (uint32_t)len;
    s->chars = count_chars(text, len);
    return s;
}

struct lang_value lang_str(struct lang_vm *vm, const char *text)
{
    return lang_object(lang_str_new(vm, text, strlen(text)));
}

struct lang_value lang_str_printf(struct lang_vm *vm, const char *fmt, ...)
{
    char small[256];
    char *big = NULL;
    struct lang_value v;
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    VS_ASSERT(len >= 0);
    if ((size_t)len >= sizeof(small)) {
        big = vs_alloc((size_t)len + 1);
        va_start(ap, fmt);
        vsnprintf(big, (size_t)len + 1, fmt, ap);
        va_end(ap);
    }
    v = lang_object(lang_str_new(vm, big != NULL ? big : small, (size_t)len));
    vs_free(big);
    return v;
}

uint32_t lang_str_hash(struct lang_string *str)
{
    if (str->hash == 0)
        str->hash = hash_of(str->text, str->len);
    return str->hash;
}

bool lang_str_same(const struct lang_string *a, const struct lang_string *b)
{
    return a == b || (a->len == b->len && memcmp(a->text, b->text, a->len) == 0);
}

bool lang_str_is(struct lang_value v, const char *text)
{
    return v.kind == LANG_STR && strlen(text) == v.as.str->len &&
           memcmp(v.as.str->text, text, v.as.str->len) == 0;
}

/* ---- the table ---- */

struct lang_string *lang_intern(struct lang_vm *vm, const char *text, size_t len)
{
    const uint32_t hash = hash_of(text, len);
    struct vs_probe probe = vs_probe(hash);
    struct lang_string *s;

    while (vs_table_next(&vm->interned_by_hash, &probe)) {
        s = vm->interned[probe.item];
        if (s->len == len && memcmp(s->text, text, len) == 0)
            return s;
    }
    s = lang_str_new(vm, text, len);
    s->hash = hash;
    s->head.flags = LANG_STR_INTERNED;
    vs_table_add(&vm->interned_by_hash, hash, vm->interned_count);
    vm->interned = vs_grow(vm->interned, vm->interned_count, &vm->interned_cap, sizeof(s));
    vm->interned[vm->interned_count++] = s;
    return s;
}

struct lang_string *lang_intern_text(struct lang_vm *vm, const char *text)
{
    return lang_intern(vm, text, strlen(text));
}

struct lang_string *lang_intern_str(struct lang_vm *vm, struct lang_string *str)
{
    return str->head.flags & LANG_STR_INTERNED ? str : lang_intern(vm, str->text, str->len);
}
