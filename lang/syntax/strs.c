/*
 * lang/syntax/strs.c - see strs.h.
 *
 * Must not know:  what the strings mean.
 * Invariant:      the table is at most half full.
 */
#include "lang/syntax/strs.h"

#include <string.h>

#include "base/error.h"

#ifdef VS_STRESS
#define FIRST_SLOTS 2
#else
#define FIRST_SLOTS 512
#endif

/* FNV-1a: short keys, no seed, so a run is the same every time. */
static uint32_t hash_of(const char *text, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static void grow_slots(struct lang_strs *strs)
{
    size_t n = strs->slot_count ? strs->slot_count * 2 : FIRST_SLOTS;

    vs_free(strs->slots);
    strs->slots = vs_calloc(n, sizeof(*strs->slots));
    strs->slot_count = n;
    for (size_t id = 0; id < strs->count; id++) {
        size_t at = strs->items[id]->hash & (n - 1);

        while (strs->slots[at])
            at = (at + 1) & (n - 1);
        strs->slots[at] = (uint32_t)id + 1;
    }
}

void lang_strs_init(struct lang_strs *strs, struct vs_arena *arena)
{
    VS_ASSERT(strs && arena);
    memset(strs, 0, sizeof(*strs));
    strs->arena = arena;
}

void lang_strs_release(struct lang_strs *strs)
{
    vs_free(strs->items);
    vs_free(strs->slots);
    memset(strs, 0, sizeof(*strs));
}

const struct lang_str *lang_strs_get(struct lang_strs *strs, const char *text, size_t len)
{
    uint32_t hash = hash_of(text, len);
    struct lang_str *str;
    size_t at;

    VS_ASSERT(len < UINT32_MAX);
    if (2 * (strs->count + 1) > strs->slot_count)
        grow_slots(strs);
    for (at = hash & (strs->slot_count - 1); strs->slots[at];
         at = (at + 1) & (strs->slot_count - 1)) {
        const struct lang_str *have = strs->items[strs->slots[at] - 1];

        if (have->hash == hash && have->len == len && memcmp(have->text, text, len) == 0)
            return have;
    }
    str = vs_arena_alloc(strs->arena, sizeof(*str));
    str->text = vs_arena_strndup(strs->arena, text, len);
    str->len = (uint32_t)len;
    str->id = (uint32_t)strs->count;
    str->hash = hash;
    strs->items = vs_grow(strs->items, strs->count, &strs->cap, sizeof(*strs->items));
    strs->items[strs->count++] = str;
    strs->slots[at] = str->id + 1;
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
