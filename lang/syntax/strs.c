/*
 * lang/syntax/strs.c - see strs.h.
 *
 * Must not know:  how the strings are used.
 * Invariant:      items are in order of their ids.
 */
#include "lang/syntax/strs.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"

void lang_strs_init(struct lang_strs *strs, struct vs_arena *arena)
{
    VS_ASSERT(strs && arena);
    memset(strs, 0, sizeof(*strs));
    strs->arena = arena;
}

void lang_strs_release(struct lang_strs *strs)
{
    vs_free(strs->items);
    vs_table_release(&strs->by_hash);
    memset(strs, 0, sizeof(*strs));
}

const struct lang_str *lang_strs_get(struct lang_strs *strs, const char *text, size_t len)
{
    const uint64_t hash = vs_hash_bytes(text, len);
    struct vs_probe probe = vs_probe(hash);
    struct lang_str *str;

    VS_ASSERT(len < UINT32_MAX);
    while (vs_table_next(&strs->by_hash, &probe)) {
        const struct lang_str *have = strs->items[probe.item];

        if (have->len == len && memcmp(have->text, text, len) == 0)
            return have;
    }
    vs_table_add(&strs->by_hash, hash, strs->count);
    str = vs_arena_alloc(strs->arena, sizeof(*str));
    str->text = vs_arena_strndup(strs->arena, text, len);
    str->len = (uint32_t)len;
    str->id = (uint32_t)strs->count;
    str->hash = (uint32_t)hash;
    strs->items = vs_grow(strs->items, strs->count, &strs->cap, sizeof(*strs->items));
    strs->items[strs->count++] = str;
    return str;
}

const struct lang_str **lang_strs_list(const struct lang_strs *strs)
{
    const struct lang_str **list = vs_arena_alloc(strs->arena, (strs->count + 1) * sizeof(*list));

    for (size_t i = 0; i < strs->count; i++)
        list[i] = strs->items[i];
    list[strs->count] = NULL;
    return list;
}
