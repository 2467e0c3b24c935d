/*
 * replay/index/event_classes.c - see event_classes.h.
 *
 * Must not know:  conditions, files.
 */
#include "replay/index/event_classes.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct rpl_event_classes *rpl_event_classes_new(void)
{
    return vs_calloc(1, sizeof(struct rpl_event_classes));
}

void rpl_event_classes_free(struct rpl_event_classes *sorts)
{
    if (!sorts)
        return;
    vs_free(sorts->items);
    vs_table_release(&sorts->by_hash);
    vs_free(sorts);
}

/* The sort of an event, with nothing of where it is. */
static struct rpl_event_class sort_of(const struct vs_event *event, uint8_t phase)
{
    struct rpl_event_class sort = {
        .kind = event->kind, .phase = phase, .location = event->location};

    switch (event->kind) {
    case VS_EV_ALLOC:
        sort.category = event->alloc.category;
        sort.size = event->alloc.requested_bytes;
        break;
    case VS_EV_FREE:
        sort.size = event->free.requested_bytes;
        break;
    case VS_EV_CATEGORY:
        sort.category = event->category.category;
        break;
    case VS_EV_ANY_SEGMENT:
        sort.size = event->segment.bytes;
        break;
    case VS_EV_OOM:
        sort.size = event->oom.requested_bytes;
        break;
    case VS_EV_HOLD:
    case VS_EV_DROP:
        sort.name = (uint32_t)event->hold.name;
        sort.scope = (uint32_t)event->hold.scope;
        break;
    default: /* the kind and the location say all; the kind is a byte of a file */
        break;
    }
    return sort;
}

static bool is_same(const struct rpl_event_class *a, const struct rpl_event_class *b)
{
    return a->kind == b->kind && a->category == b->category && a->phase == b->phase &&
           a->location == b->location && a->size == b->size && a->name == b->name &&
           a->scope == b->scope;
}

static uint64_t sort_hash(const struct rpl_event_class *sort)
{
    uint64_t hash = vs_hash_mix(sort->location | (uint64_t)sort->kind << 32 |
                                    (uint64_t)sort->category << 40 | (uint64_t)sort->phase << 48,
                                sort->size);

    return vs_hash_mix(hash, (uint64_t)sort->name << 32 | sort->scope);
}

/* The kept sort that equals it; NULL: none does. */
static struct rpl_event_class *sort_find(const struct rpl_event_classes *sorts,
                                         const struct rpl_event_class *sort, uint64_t hash)
{
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&sorts->by_hash, &probe))
        if (is_same(&sorts->items[probe.item], sort))
            return &sorts->items[probe.item];
    return NULL;
}

static struct rpl_event_class *sort_add(struct rpl_event_classes *sorts,
                                        const struct rpl_event_class *sort, uint64_t hash)
{
    if (sorts->count == RPL_EVENT_CLASSES_MAX) {
        sorts->is_full = true;
        sorts->count = 0;
        return NULL;
    }
    sorts->items = vs_grow(sorts->items, sorts->count, &sorts->cap, sizeof(*sorts->items));
    sorts->items[sorts->count] = *sort;
    vs_table_add(&sorts->by_hash, hash, sorts->count);
    return &sorts->items[sorts->count++];
}

static void range_take(uint64_t *min, uint64_t *max, uint64_t n)
{
    *min = n < *min ? n : *min;
    *max = n > *max ? n : *max;
}

void rpl_event_classes_note(struct rpl_event_classes *sorts, uint64_t seq,
                            const struct vs_event *event, uint8_t phase, uint64_t allocated,
                            uint64_t reserved)
{
    struct rpl_event_class now = sort_of(event, phase);
    struct rpl_event_class *sort;
    uint64_t hash;

    if (sorts->is_full)
        return;
    hash = sort_hash(&now);
    sort = sort_find(sorts, &now, hash);
    if (!sort) {
        now.first_seq = seq;
        now.allocated_min = now.reserved_min = UINT64_MAX;
        sort = sort_add(sorts, &now, hash);
        if (!sort)
            return;
    }
    sort->last_seq = seq;
    range_take(&sort->allocated_min, &sort->allocated_max, allocated);
    range_take(&sort->reserved_min, &sort->reserved_max, reserved);
}

/* ---- in a file ---- */

void rpl_event_classes_pack(const struct rpl_event_classes *sorts, struct rpl_pack *out)
{
    uint64_t before = 0;

    rpl_pack_uint(out, sorts->is_full);
    rpl_pack_uint(out, sorts->count);
    for (size_t i = 0; i < sorts->count; i++) {
        const struct rpl_event_class *s = &sorts->items[i];

        rpl_pack_uint(out, s->kind);
        rpl_pack_uint(out, s->category);
        rpl_pack_uint(out, s->phase);
        rpl_pack_uint(out, s->location);
        rpl_pack_uint(out, s->size);
        rpl_pack_uint(out, s->name);
        rpl_pack_uint(out, s->scope);
        rpl_pack_uint(out, s->first_seq - before); /* in order of their first events */
        rpl_pack_uint(out, s->last_seq - s->first_seq);
        rpl_pack_bytes(out, 0, s->allocated_min);
        rpl_pack_bytes(out, s->allocated_min, s->allocated_max);
        rpl_pack_bytes(out, 0, s->reserved_min);
        rpl_pack_bytes(out, s->reserved_min, s->reserved_max);
        before = s->first_seq;
    }
}

static void sort_unpack(struct rpl_unpack *in, uint64_t before, struct rpl_event_class *s)
{
    s->kind = (uint8_t)rpl_unpack_uint(in);
    s->category = (uint8_t)rpl_unpack_uint(in);
    s->phase = (uint8_t)rpl_unpack_uint(in);
    s->location = (uint32_t)rpl_unpack_uint(in);
    s->size = rpl_unpack_uint(in);
    s->name = (uint32_t)rpl_unpack_uint(in);
    s->scope = (uint32_t)rpl_unpack_uint(in);
    s->first_seq = before + rpl_unpack_uint(in);
    s->last_seq = s->first_seq + rpl_unpack_uint(in);
    s->allocated_min = rpl_unpack_bytes(in, 0);
    s->allocated_max = rpl_unpack_bytes(in, s->allocated_min);
    s->reserved_min = rpl_unpack_bytes(in, 0);
    s->reserved_max = rpl_unpack_bytes(in, s->reserved_min);
}

struct rpl_event_classes *rpl_event_classes_unpack(struct rpl_unpack *in, uint64_t count)
{
    struct rpl_event_classes *sorts = rpl_event_classes_new();
    uint64_t before = 0;

    sorts->is_full = rpl_unpack_uint(in) != 0;
    sorts->count = (size_t)rpl_unpack_uint(in);
    in->is_bad |= sorts->count > RPL_EVENT_CLASSES_MAX;
    if (in->is_bad)
        sorts->count = 0;
    sorts->items = vs_calloc(sorts->count + 1, sizeof(*sorts->items));
    for (size_t i = 0; i < sorts->count && !in->is_bad; i++) {
        struct rpl_event_class *s = &sorts->items[i];

        sort_unpack(in, before, s);
        in->is_bad |= s->kind >= VS_EVENT_KIND_COUNT || s->first_seq < 1 || s->last_seq > count ||
                      s->last_seq < s->first_seq;
        before = s->first_seq;
    }
    if (rpl_unpack_is_done(in))
        return sorts;
    rpl_event_classes_free(sorts);
    return NULL;
}
