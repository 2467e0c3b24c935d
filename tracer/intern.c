/*
 * tracer/intern.c - two hash tables.
 *
 * For:            tracer/intern.h says.
 * Must not know:  rings, files.
 * Invariant:      each table is at most half full, so that looking up ends.
 */
#include "tracer/intern.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#define SLOTS_AT_START 1024

/* Open addressing; an id of 0 is a free slot. */
struct string_slot {
    uint64_t hash;
    uint32_t id;
    uint32_t len;
    const char *text;
};

struct place_slot {
    struct vs_place place;
    uint32_t id;
};

struct trc_intern {
    struct vs_arena *texts;
    struct string_slot *strings;
    size_t string_slots;
    uint32_t string_count;
    struct place_slot *places;
    size_t place_slots;
    uint32_t place_count;
    struct place_slot last; /* id 0 before the first */
};

struct trc_intern *trc_intern_new(void)
{
    struct trc_intern *in = vs_calloc(1, sizeof(*in));

    in->texts = vs_arena_new();
    in->string_slots = SLOTS_AT_START;
    in->strings = vs_calloc(in->string_slots, sizeof(*in->strings));
    in->place_slots = SLOTS_AT_START;
    in->places = vs_calloc(in->place_slots, sizeof(*in->places));
    return in;
}

void trc_intern_free(struct trc_intern *in)
{
    if (!in)
        return;
    vs_arena_free(in->texts);
    vs_free(in->strings);
    vs_free(in->places);
    vs_free(in);
}

static struct string_slot *string_find(struct string_slot *slots, size_t slot_count, uint64_t hash,
                                       const char *text, size_t len)
{
    size_t at = (size_t)hash & (slot_count - 1);

    while (slots[at].id && (slots[at].hash != hash || slots[at].len != len ||
                            memcmp(slots[at].text, text, len) != 0))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static void strings_double(struct trc_intern *in)
{
    size_t count = in->string_slots * 2;
    struct string_slot *slots = vs_calloc(count, sizeof(*slots));

    for (size_t i = 0; i < in->string_slots; i++) {
        const struct string_slot *s = &in->strings[i];

        if (s->id)
            *string_find(slots, count, s->hash, s->text, s->len) = *s;
    }
    vs_free(in->strings);
    in->strings = slots;
    in->string_slots = count;
}

uint32_t trc_intern_string(struct trc_intern *in, const char *text, const char **new_text)
{
    size_t len = strlen(text);
    uint64_t hash = vs_hash_bytes(text, len);
    struct string_slot *slot = string_find(in->strings, in->string_slots, hash, text, len);

    VS_ASSERT(len <= UINT32_MAX);
    *new_text = NULL;
    if (VS_LIKELY(slot->id))
        return slot->id;
    *slot = (struct string_slot){hash, ++in->string_count, (uint32_t)len,
                                 vs_arena_strndup(in->texts, text, len)};
    *new_text = slot->text;
    if ((size_t)in->string_count * 2 > in->string_slots)
        strings_double(in);
    return in->string_count;
}

const char *trc_intern_text(struct trc_intern *in, const char *text)
{
    size_t len = strlen(text);
    const char *new_text;

    if (trc_intern_string(in, text, &new_text) && new_text)
        return new_text;
    return string_find(in->strings, in->string_slots, vs_hash_bytes(text, len), text, len)->text;
}

static bool places_are_equal(const struct vs_place *a, const struct vs_place *b)
{
    return a->line == b->line && a->op == b->op && a->module == b->module && a->func == b->func &&
           a->phase == b->phase;
}

static struct place_slot *place_find(struct place_slot *slots, size_t slot_count,
                                     const struct vs_place *place)
{
    uint64_t hash = vs_hash_mix(place->phase, (uint64_t)place->module << 32 | place->func);
    size_t at =
        (size_t)vs_hash_mix(hash, (uint64_t)place->line << 32 | place->op) & (slot_count - 1);

    while (slots[at].id && !places_are_equal(&slots[at].place, place))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static void places_double(struct trc_intern *in)
{
    size_t count = in->place_slots * 2;
    struct place_slot *slots = vs_calloc(count, sizeof(*slots));

    for (size_t i = 0; i < in->place_slots; i++)
        if (in->places[i].id)
            *place_find(slots, count, &in->places[i].place) = in->places[i];
    vs_free(in->places);
    in->places = slots;
    in->place_slots = count;
}

uint32_t trc_intern_place(struct trc_intern *in, const struct vs_place *place, bool *is_new)
{
    struct place_slot *slot;

    *is_new = false;
    if (in->last.id && places_are_equal(&in->last.place, place))
        return in->last.id;
    slot = place_find(in->places, in->place_slots, place);
    if (VS_UNLIKELY(!slot->id)) {
        *is_new = true;
        *slot = (struct place_slot){*place, ++in->place_count};
    }
    in->last = *slot;
    if (*is_new && (size_t)in->place_count * 2 > in->place_slots)
        places_double(in);
    return in->last.id;
}
