/*
 * recording/pickle_list.c - lists that are written the same, byte by byte: they share their items.
 *
 * For:            pickle_hot.c.
 * Must not know:  what is in them.
 * Invariant:      the bytes are nothing but memo numbers of dicts. As long as no number is put twice, the same bytes are the same items;
 *                 what changes a list later (box_grow in pickle_value.c) takes a copy first.
 *
 * A snapshot has a list of frames for every allocation and every free, but only some hundred different ones: nine opcodes out of ten
 * are their BINGETs.
 */
#include "recording/pickle_list.h"

#include <string.h>

#include "base/hash.h"

#define ITEMS_MIN 4

/* How many bytes of GETs begin at `b`, up to `end`; their number. */
static size_t gets_span(const unsigned char *b, const unsigned char *end, size_t *count)
{
    const unsigned char *at = b;

    *count = 0;
    while (end - at >= 6 && (*at == OP_BINGET || *at == OP_LONG_BINGET)) {
        at += *at == OP_BINGET ? 2 : 5;
        ++*count;
    }
    return (size_t)(at - b);
}

/* The items of a list, if all of them are dicts that were put. NULL: they are not, or there is no room. */
static uint32_t *items_make(struct rec_pickle *p, size_t memo_count, const unsigned char *b,
                            size_t count)
{
    uint32_t *items;

    if (!rec_pickle_take(p, (count * sizeof(*items) + 7) & ~(size_t)7))
        return NULL;
    items = vs_arena_alloc(p->arena, count * sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        uint32_t number = *b == OP_BINGET ? b[1] : rec_four(b + 1);
        struct rec_value v = {0};

        if (number < memo_count)
            v = p->memo[number];
        if (TAG_OF(v) != TAG_DICT || v.bits == REC_MEMO_UNSET)
            return NULL;
        items[i] = (uint32_t)PAYLOAD_OF(v);
        b += *b == OP_BINGET ? 2 : 5;
    }
    return items;
}

static bool slots_double(struct rec_pickle *p)
{
    if (!rec_slots_double(p, &p->list_slots))
        return false;
    for (size_t i = 0; i < p->list_count; i++)
        rec_slots_put(&p->list_slots, vs_hash_bytes(p->bytes + p->lists[i].at, p->lists[i].len), i);
    return true;
}

/* *number: of the list of these bytes, and one. False: they are no list of dicts, or there is no room for a new one. */
static bool list_get(struct rec_pickle *p, size_t memo_count, const unsigned char *b, size_t len,
                     size_t count, uint32_t *number)
{
    struct rec_slots *slots = &p->list_slots;
    uint64_t hash = vs_hash_bytes(b, len);
    uint32_t *items;
    size_t at;

    if (p->list_count * 2 >= slots->count && !slots_double(p))
        return false;
    for (at = hash & (slots->count - 1); slots->at[at]; at = (at + 1) & (slots->count - 1)) {
        const struct rec_list *list = &p->lists[slots->at[at] - 1];

        *number = slots->at[at];
        if (list->len == len && memcmp(p->bytes + list->at, b, len) == 0)
            return true;
    }
    if (p->list_count >= REC_LISTS_MAX ||
        !rec_pickle_grow(p, &p->lists, p->list_count, &p->list_cap, sizeof(*p->lists)))
        return false;
    items = items_make(p, memo_count, b, count);
    if (!items)
        return false;
    p->lists[p->list_count] = (struct rec_list){
        .items = items, .at = (uint64_t)((const char *)b - p->bytes), .len = (uint32_t)len};
    p->lists[p->list_count].count = (uint32_t)count;
    slots->at[at] = *number = (uint32_t)++p->list_count;
    return true;
}

/* A run repeats itself: what followed the last list before follows it again, most of the time. How many bytes it is; 0: not that. */
static size_t next_is(const struct rec_pickle *p, const unsigned char *b, const unsigned char *end,
                      uint32_t *number)
{
    const struct rec_list *list;

    *number = p->list_last ? p->lists[p->list_last - 1].next : 0;
    list = *number ? &p->lists[*number - 1] : NULL;
    return list && list->len < (size_t)(end - b) && b[list->len] == OP_APPENDS &&
                   memcmp(p->bytes + list->at, b, list->len) == 0
               ? list->len
               : 0;
}

size_t rec_list_take(struct rec_pickle *p, struct rec_value v, size_t memo_count,
                     const unsigned char *b, const unsigned char *end)
{
    struct rec_box *box = &p->boxes[PAYLOAD_OF(v)];
    const struct rec_list *list;
    uint32_t number = 0;
    size_t count;
    size_t len;

    if (box->count || box->cap)
        return 0;
    len = next_is(p, b, end, &number);
    if (!len) {
        len = gets_span(b, end, &count);
        if (count < ITEMS_MIN || count >= OWN_CAP || len >= (size_t)(end - b) ||
            b[len] != OP_APPENDS || !list_get(p, memo_count, b, len, count, &number))
            return 0;
        if (p->list_last)
            p->lists[p->list_last - 1].next = number;
    }
    list = &p->lists[number - 1];
    p->list_last = number;
    box->items = list->items;
    box->count = list->count;
    box->cap = list->count;
    box->is_narrow = true;
    box->list = number & INT32_MAX; /* as it is, which the compiler does not see */
    return len + 1;
}
