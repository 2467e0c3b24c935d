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

void rpl_event_classes_free(struct rpl_event_classes *classes)
{
    if (!classes)
        return;
    vs_free(classes->items);
    vs_table_release(&classes->by_hash);
    vs_free(classes);
}

/* The class of an event, without the fields about its position. */
static struct rpl_event_class class_of(const struct vs_event *event, uint8_t phase)
{
    struct rpl_event_class class = {
        .kind = event->kind, .phase = phase, .location = event->location};

    switch (event->kind) {
    case VS_EV_ALLOC:
        class.category = event->alloc.category;
        class.size = event->alloc.requested_bytes;
        break;
    case VS_EV_FREE:
        class.size = event->free.requested_bytes;
        break;
    case VS_EV_CATEGORY:
        class.category = event->category.category;
        break;
    case VS_EV_ANY_SEGMENT:
        class.size = event->segment.bytes;
        break;
    case VS_EV_OOM:
        class.size = event->oom.requested_bytes;
        break;
    case VS_EV_HOLD:
    case VS_EV_DROP:
        class.name = (uint32_t)event->hold.name;
        class.scope = (uint32_t)event->hold.scope;
        break;
    /* Kind and location are sufficient; the kind is a byte of a file, so it may have any value. */
    default:
        break;
    }
    return class;
}

static bool is_same(const struct rpl_event_class *a, const struct rpl_event_class *b)
{
    return a->kind == b->kind && a->category == b->category && a->phase == b->phase &&
           a->location == b->location && a->size == b->size && a->name == b->name &&
           a->scope == b->scope;
}

static uint64_t sort_hash(const struct rpl_event_class *class)
{
    uint64_t hash =
        vs_hash_mix(class->location | (uint64_t) class->kind << 32 |
                        (uint64_t) class->category << 40 | (uint64_t) class->phase << 48,
                    class->size);

    return vs_hash_mix(hash, (uint64_t) class->name << 32 | class->scope);
}

/* The stored class that equals it; NULL: there is none. */
static struct rpl_event_class *class_find(const struct rpl_event_classes *classes,
                                          const struct rpl_event_class *class, uint64_t hash)
{
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&classes->by_hash, &probe))
        if (is_same(&classes->items[probe.item], class))
            return &classes->items[probe.item];
    return NULL;
}

static struct rpl_event_class *sort_add(struct rpl_event_classes *classes,
                                        const struct rpl_event_class *class, uint64_t hash)
{
    if (classes->count == RPL_EVENT_CLASSES_MAX) {
        classes->is_full = true;
        classes->count = 0;
        return NULL;
    }
    classes->items =
        vs_grow(classes->items, classes->count, &classes->cap, sizeof(*classes->items));
    classes->items[classes->count] = *class;
    vs_table_add(&classes->by_hash, hash, classes->count);
    return &classes->items[classes->count++];
}

static void range_take(uint64_t *min, uint64_t *max, uint64_t n)
{
    *min = n < *min ? n : *min;
    *max = n > *max ? n : *max;
}

/* Steps repeat: the class that came last time after the one before, if it is the class of this event; else NULL. */
static struct rpl_event_class *class_predict(const struct rpl_event_classes *classes,
                                             const struct rpl_event_class *now)
{
    const uint32_t next = classes->last ? classes->items[classes->last - 1].next : 0;

    return next && is_same(&classes->items[next - 1], now) ? &classes->items[next - 1] : NULL;
}

/* Find it, or add it; NULL: there are too many. */
static struct rpl_event_class *class_need(struct rpl_event_classes *classes,
                                          const struct rpl_event_class *now, uint64_t seq)
{
    const uint64_t hash = sort_hash(now);
    struct rpl_event_class *class = class_find(classes, now, hash);
    struct rpl_event_class added = *now;

    if (class)
        return class;
    added.first_seq = seq;
    added.allocated_min = added.reserved_min = UINT64_MAX;
    return sort_add(classes, &added, hash);
}

void rpl_event_classes_note(struct rpl_event_classes *classes, uint64_t seq,
                            const struct vs_event *event, uint8_t phase, uint64_t allocated,
                            uint64_t reserved)
{
    const struct rpl_event_class now = class_of(event, phase);
    struct rpl_event_class *class;

    if (classes->is_full)
        return;
    class = class_predict(classes, &now);
    if (!class)
        class = class_need(classes, &now, seq);
    if (!class)
        return;
    if (classes->last)
        classes->items[classes->last - 1].next = (uint32_t)(class - classes->items) + 1;
    classes->last = (uint32_t)(class - classes->items) + 1;
    class->last_seq = seq;
    range_take(&class->allocated_min, &class->allocated_max, allocated);
    range_take(&class->reserved_min, &class->reserved_max, reserved);
}

/* ---- in a file ---- */

void rpl_event_classes_pack(const struct rpl_event_classes *classes, struct rpl_pack *out)
{
    uint64_t before = 0;

    rpl_pack_uint(out, classes->is_full);
    rpl_pack_uint(out, classes->count);
    for (size_t i = 0; i < classes->count; i++) {
        const struct rpl_event_class *s = &classes->items[i];

        rpl_pack_uint(out, s->kind);
        rpl_pack_uint(out, s->category);
        rpl_pack_uint(out, s->phase);
        rpl_pack_uint(out, s->location);
        rpl_pack_uint(out, s->size);
        rpl_pack_uint(out, s->name);
        rpl_pack_uint(out, s->scope);
        /* In order of their first events. */
        rpl_pack_uint(out, s->first_seq - before);
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
    struct rpl_event_classes *classes = rpl_event_classes_new();
    uint64_t before = 0;

    classes->is_full = rpl_unpack_uint(in) != 0;
    classes->count = (size_t)rpl_unpack_uint(in);
    in->is_bad |= classes->count > RPL_EVENT_CLASSES_MAX;
    if (in->is_bad)
        classes->count = 0;
    classes->items = vs_calloc(classes->count + 1, sizeof(*classes->items));
    for (size_t i = 0; i < classes->count && !in->is_bad; i++) {
        struct rpl_event_class *s = &classes->items[i];

        sort_unpack(in, before, s);
        in->is_bad |= s->kind >= VS_EVENT_KIND_COUNT || s->first_seq < 1 || s->last_seq > count ||
                      s->last_seq < s->first_seq;
        before = s->first_seq;
    }
    if (rpl_unpack_is_done(in))
        return classes;
    rpl_event_classes_free(classes);
    return NULL;
}
