/*
 * lang/value/compare.c - identity, equality, hashes.
 *
 * For:            lang/value/value.h.
 * Must not know:  how a method is called.
 * Invariant:      equal values have equal hashes; 1, 1.0 and True are equal.
 */
#include <math.h>
#include <string.h>

#include "lang/value/vm.h"

bool lang_is_same(struct lang_value a, struct lang_value b)
{
    if (a.kind != b.kind)
        return false;
    switch ((enum lang_kind)a.kind) {
    case LANG_UNBOUND:
    case LANG_NONE:
    case LANG_ELLIPSIS:
    case LANG_NOT_IMPLEMENTED:
        return true;
    case LANG_BOOL:
    case LANG_INT:
        return a.as.i == b.as.i;
    case LANG_FLOAT:
        return memcmp(&a.as.f, &b.as.f, sizeof(double)) == 0;
    case LANG_DTYPE:
        return a.as.dtype == b.as.dtype;
    case LANG_DEVICE:
        return a.as.on_host == b.as.on_host;
    default:
        return a.as.obj == b.as.obj; /* a tensor's pointer, too */
    }
}

static bool equal_items(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out)
{
    struct lang_value *ia;
    struct lang_value *ib;
    uint32_t na;
    uint32_t nb;

    (void)lang_items(a, &ia, &na);
    (void)lang_items(b, &ib, &nb);
    *out = na == nb;
    for (uint32_t i = 0; i < na && *out; i++) {
        if (!lang_equal(vm, ia[i], ib[i], out))
            return false;
    }
    return true;
}

static bool equal_dicts(struct lang_vm *vm, const struct lang_dict *a, const struct lang_dict *b,
                        bool *out)
{
    struct lang_entry *e;
    struct lang_value *other;
    uint32_t at = 0;

    *out = a->live == b->live;
    while (*out && (e = lang_dict_next(a, &at)) != NULL) {
        if (!lang_dict_lookup(vm, b, e->key, &other))
            return false;
        if (other == NULL)
            *out = false;
        else if (!lang_equal(vm, e->value, *other, out))
            return false;
    }
    return true;
}

bool lang_equal(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out)
{
    *out = false;
    if (lang_is_number(a) && lang_is_number(b)) {
        if (lang_is_int(a) && lang_is_int(b))
            *out = a.as.i == b.as.i;
        else
            *out = lang_number(a) == lang_number(b);
        return true;
    }
    if (a.kind == LANG_INSTANCE || b.kind == LANG_INSTANCE)
        return vm->instance_type->equal(vm, a, b, out);
    if (a.kind == LANG_DEVICE && b.kind == LANG_STR)
        *out = lang_str_is(b, a.as.on_host ? "cpu" : "cuda");
    if (a.kind != b.kind)
        return true;
    switch ((enum lang_kind)a.kind) {
    case LANG_STR:
        *out = lang_str_same(a.as.str, b.as.str);
        return true;
    case LANG_TUPLE:
    case LANG_LIST:
        return lang_check_depth(vm) && equal_items(vm, a, b, out);
    case LANG_DICT:
        return equal_dicts(vm, a.as.dict, b.as.dict, out);
    case LANG_SET:
        return equal_dicts(vm, a.as.set->keys, b.as.set->keys, out);
    case LANG_RANGE:
        *out = a.as.range->count == b.as.range->count &&
               (a.as.range->count == 0 ||
                (a.as.range->start == b.as.range->start &&
                 (a.as.range->count == 1 || a.as.range->step == b.as.range->step)));
        return true;
    case LANG_METHOD:
        *out = lang_is_same(a.as.method->func, b.as.method->func) &&
               lang_is_same(a.as.method->self, b.as.method->self);
        return true;
    default:
        *out = lang_is_same(a, b);
        return true;
    }
}

static uint32_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    return (uint32_t)x;
}

static uint32_t hash_float(double f)
{
    uint64_t bits;

    if (f >= -9.2e18 && f <= 9.2e18 && f == floor(f))
        return mix((uint64_t)(int64_t)f);
    memcpy(&bits, &f, sizeof(bits));
    return mix(bits);
}

bool lang_hash(struct lang_vm *vm, struct lang_value v, uint32_t *out)
{
    switch ((enum lang_kind)v.kind) {
    case LANG_STR:
        *out = lang_str_hash(v.as.str);
        return true;
    case LANG_BOOL:
    case LANG_INT:
        *out = mix((uint64_t)v.as.i);
        return true;
    case LANG_FLOAT:
        *out = hash_float(v.as.f);
        return true;
    case LANG_NONE:
    case LANG_ELLIPSIS:
    case LANG_NOT_IMPLEMENTED:
        *out = v.kind;
        return true;
    case LANG_DTYPE:
        *out = mix((uint64_t)v.as.dtype + 1000);
        return true;
    case LANG_DEVICE:
        *out = mix(v.as.on_host ? 2001u : 2000u);
        return true;
    case LANG_TUPLE: {
        uint32_t h = v.as.tuple->count;

        if (!lang_check_depth(vm))
            return false;
        for (uint32_t i = 0; i < v.as.tuple->count; i++) {
            uint32_t item;

            if (!lang_hash(vm, v.as.tuple->items[i], &item))
                return false;
            h = mix(((uint64_t)h << 32) | item);
        }
        *out = h;
        return true;
    }
    case LANG_LIST:
    case LANG_DICT:
    case LANG_SET:
    case LANG_SLICE:
        return lang_fail(vm, VS_E_TYPE, "a `%s` cannot be the key of a dict",
                         lang_type_name(vm, v));
    case LANG_INSTANCE:
        if (lang_is_bound(lang_class_find(vm, v.as.instance->cls, lang_name(vm, LANG_N_eq))))
            return lang_fail(vm, VS_E_TYPE,
                             "a `%s` defines __eq__, so it cannot be the key of a dict",
                             lang_type_name(vm, v));
        *out = mix((uint64_t)(uintptr_t)v.as.obj);
        return true;
    default:
        *out = mix((uint64_t)(uintptr_t)v.as.obj);
        return true;
    }
}
