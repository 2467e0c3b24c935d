/*
 * lang/value/object_dict.c - dicts and sets, in order of insertion.
 *
 * For:            lang/value/object.h.
 * Must not know:  how they are used (names of modules, attributes, dicts of a net).
 * Invariant:      entries never change their order; a replaced value is released after the new one is stored.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lang/value/hold.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

#define LINEAR_MAX 8 /* dicts up to this size are searched linearly */

struct lang_dict *lang_dict_new(struct lang_vm *vm)
{
    return lang_obj_new(vm, LANG_DICT, sizeof(struct lang_dict));
}

struct lang_set *lang_set_new(struct lang_vm *vm)
{
    struct lang_set *s = lang_obj_new(vm, LANG_SET, sizeof(*s));

    s->keys = lang_dict_new(vm);
    return s;
}

/* ---- the index ---- */

/*
 * Adds an entry to the index. Not base/table.h: the index refers to entries in CPython's order of insertion, and a
 * lookup compares keys by the net's own __eq__, which may change the dict while it is being searched.
 */
static void index_add(struct lang_dict *d, uint32_t entry)
{
    uint32_t mask = d->index_size - 1;
    uint32_t at = d->entries[entry].hash & mask;

    while (d->index[at] != 0)
        at = (at + 1) & mask;
    d->index[at] = entry + 1;
}

static void index_rebuild(struct lang_dict *d)
{
    uint32_t size = 32;

    if (d->used <= LINEAR_MAX)
        return;
    while (size < d->cap * 2)
        size *= 2;
    if (size != d->index_size) {
        vs_free(d->index);
        d->index = vs_alloc(size * sizeof(d->index[0]));
        d->index_size = size;
    }
    memset(d->index, 0, size * sizeof(d->index[0]));
    for (uint32_t i = 0; i < d->used; i++) {
        if (lang_is_bound(d->entries[i].key))
            index_add(d, i);
    }
}

static void compact(struct lang_dict *d)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < d->used; i++) {
        if (lang_is_bound(d->entries[i].key))
            d->entries[n++] = d->entries[i];
    }
    d->used = n;
    vs_free(d->index);
    d->index = NULL;
    d->index_size = 0;
    index_rebuild(d);
}

/* Makes sure that one more entry fits. */
static void grow_for_one(struct lang_dict *d)
{
    if (d->used < d->cap)
        return;
    if (d->live < d->used / 2) {
        compact(d);
        return;
    }
    VS_ASSERT(d->cap < UINT32_MAX / 4);
    d->cap = d->cap == 0 ? 4 : d->cap * 2;
    d->entries = vs_realloc(d->entries, d->cap, sizeof(d->entries[0]));
    index_rebuild(d);
}

/* ---- search ---- */

static struct lang_entry *find_name(const struct lang_dict *d, const struct lang_string *name)
{
    uint32_t mask;
    uint32_t at;

    if (d->index == NULL && !d->has_strangers) {
        for (uint32_t i = 0; i < d->used; i++) {
            if (d->entries[i].key.as.str == name && d->entries[i].key.kind == LANG_STR)
                return &d->entries[i];
        }
        return NULL;
    }
    if (d->index == NULL) {
        for (uint32_t i = 0; i < d->used; i++) {
            struct lang_entry *e = &d->entries[i];

            if (e->key.kind == LANG_STR &&
                (e->key.as.str == name ||
                 (e->hash == name->hash && lang_str_same(e->key.as.str, name))))
                return e;
        }
        return NULL;
    }
    mask = d->index_size - 1;
    for (at = name->hash & mask; d->index[at] != 0; at = (at + 1) & mask) {
        struct lang_entry *e = &d->entries[d->index[at] - 1];

        if (e->key.kind == LANG_STR &&
            (e->key.as.str == name ||
             (e->hash == name->hash && lang_str_same(e->key.as.str, name))))
            return e;
    }
    return NULL;
}

static bool matches(struct lang_vm *vm, const struct lang_entry *e, struct lang_value key,
                    uint32_t hash, bool *out)
{
    *out = false;
    if (e->hash != hash || !lang_is_bound(e->key))
        return true;
    if (lang_is_same(e->key, key)) {
        *out = true;
        return true;
    }
    return lang_equal(vm, e->key, key, out);
}

static bool find_key(struct lang_vm *vm, const struct lang_dict *d, struct lang_value key,
                     uint32_t *hash, struct lang_entry **out)
{
    uint32_t mask;
    bool hit;

    *out = NULL;
    if (key.kind == LANG_STR && key.as.str->head.flags & LANG_STR_INTERNED) {
        *hash = lang_str_hash(key.as.str); /* only strings are equal to strings */
        *out = find_name(d, key.as.str);
        return true;
    }
    if (!lang_hash(vm, key, hash))
        return false;
    if (d->index == NULL) {
        for (uint32_t i = 0; i < d->used; i++) {
            if (!matches(vm, &d->entries[i], key, *hash, &hit))
                return false;
            if (hit) {
                *out = &d->entries[i];
                return true;
            }
        }
        return true;
    }
    mask = d->index_size - 1;
    for (uint32_t at = *hash & mask; d->index[at] != 0; at = (at + 1) & mask) {
        struct lang_entry *e = &d->entries[d->index[at] - 1];

        if (!matches(vm, e, key, *hash, &hit))
            return false;
        if (hit) {
            *out = e;
            return true;
        }
    }
    return true;
}

/* ---- changes ---- */

static void replace_value(struct lang_vm *vm, struct lang_dict *d, struct lang_entry *e,
                          struct lang_value taken)
{
    struct lang_value old = e->value;

    e->value = taken;
    if (d->held_by != NULL) {
        lang_hold_item(vm, d->held_by, e->key, taken);
        lang_unhold_item(vm, d->held_by, e->key, old);
    }
    lang_drop(vm, old);
}

static void add_entry(struct lang_vm *vm, struct lang_dict *d, struct lang_value key, uint32_t hash,
                      struct lang_value taken)
{
    struct lang_entry *e;

    grow_for_one(d);
    d->shape++;
    if (key.kind == LANG_STR && !(key.as.str->head.flags & LANG_STR_INTERNED))
        d->has_strangers = true;
    e = &d->entries[d->used];
    e->key = lang_keep(key);
    e->hash = hash;
    e->value = taken;
    d->used++;
    d->live++;
    if (d->index != NULL)
        index_add(d, d->used - 1);
    else
        index_rebuild(d);
    if (d->held_by != NULL)
        lang_hold_item(vm, d->held_by, key, taken);
}

/*
 * Removes an entry; its value passes to the caller. Its slot in the index remains and refers to an entry without key.
 */
static struct lang_value remove_entry(struct lang_vm *vm, struct lang_dict *d, struct lang_entry *e)
{
    struct lang_value key = e->key;
    struct lang_value value = e->value;

    if (d->held_by != NULL)
        lang_unhold_item(vm, d->held_by, key, value);
    e->key = lang_unbound();
    e->value = lang_none();
    d->live--;
    d->shape++;
    lang_drop(vm, key);
    return value;
}

struct lang_value *lang_dict_find(const struct lang_dict *dict, const struct lang_string *name)
{
    struct lang_entry *e = find_name(dict, name);

    return e == NULL ? NULL : &e->value;
}

void lang_dict_put(struct lang_vm *vm, struct lang_dict *dict, struct lang_string *name,
                   struct lang_value taken)
{
    uint32_t hash = lang_str_hash(name);
    struct lang_entry *e = find_name(dict, name);

    if (e != NULL) {
        replace_value(vm, dict, e, taken);
        return;
    }
    add_entry(vm, dict, (struct lang_value){.kind = LANG_STR, .as.str = name}, hash, taken);
}

struct lang_value lang_dict_take(struct lang_vm *vm, struct lang_dict *dict,
                                 struct lang_string *name)
{
    struct lang_entry *e = find_name(dict, name);

    return e == NULL ? lang_unbound() : remove_entry(vm, dict, e);
}

bool lang_dict_lookup(struct lang_vm *vm, const struct lang_dict *dict, struct lang_value key,
                      struct lang_value **out)
{
    struct lang_entry *e;
    uint32_t hash;

    if (!find_key(vm, dict, key, &hash, &e))
        return false;
    *out = e == NULL ? NULL : &e->value;
    return true;
}

bool lang_dict_store(struct lang_vm *vm, struct lang_dict *dict, struct lang_value key,
                     struct lang_value taken)
{
    struct lang_entry *e;
    uint32_t hash;

    if (!find_key(vm, dict, key, &hash, &e)) {
        lang_drop(vm, taken);
        return false;
    }
    if (e != NULL)
        replace_value(vm, dict, e, taken);
    else
        add_entry(vm, dict, key, hash, taken);
    return true;
}

bool lang_dict_remove(struct lang_vm *vm, struct lang_dict *dict, struct lang_value key,
                      struct lang_value *out)
{
    struct lang_entry *e;
    uint32_t hash;

    *out = lang_unbound();
    if (!find_key(vm, dict, key, &hash, &e))
        return false;
    if (e != NULL)
        *out = remove_entry(vm, dict, e);
    return true;
}

void lang_dict_clear(struct lang_vm *vm, struct lang_dict *dict)
{
    struct lang_entry *entries = dict->entries;
    uint32_t used = dict->used;

    if (dict->held_by != NULL) {
        for (uint32_t i = 0; i < used; i++) {
            if (lang_is_bound(entries[i].key))
                lang_unhold_item(vm, dict->held_by, entries[i].key, entries[i].value);
        }
    }
    vs_free(dict->index);
    dict->index = NULL;
    dict->index_size = 0;
    dict->shape++;
    dict->has_strangers = false;
    dict->entries = NULL;
    dict->used = dict->live = dict->cap = 0;
    for (uint32_t i = 0; i < used; i++) {
        lang_drop(vm, entries[i].key);
        lang_drop(vm, entries[i].value);
    }
    vs_free(entries);
}

struct lang_entry *lang_dict_next(const struct lang_dict *dict, uint32_t *at)
{
    while (*at < dict->used) {
        struct lang_entry *e = &dict->entries[(*at)++];

        if (lang_is_bound(e->key))
            return e;
    }
    return NULL;
}
