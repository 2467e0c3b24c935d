/*
 * tracer/intern.c - two hash tables.
 *
 * For:            tracer/intern.h says.
 * Must not know:  rings, files.
 * Invariant:      an id is the number of an item + 1.
 */
#include "tracer/intern.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/* last_place: the id that was asked for last; 0: none yet. Ids are numbers of items + 1. */
struct trc_intern {
    struct vs_arena *arena;
    const char **texts;
    size_t text_count, text_cap;
    struct vs_table texts_by_hash;
    struct vs_place *places;
    size_t place_count, place_cap;
    struct vs_table places_by_hash;
    struct vs_place last;
    uint32_t last_place;
};

struct trc_intern *trc_intern_new(void)
{
    struct trc_intern *in = vs_calloc(1, sizeof(*in));

    in->arena = vs_arena_new();
    return in;
}

void trc_intern_free(struct trc_intern *in)
{
    if (!in)
        return;
    vs_arena_free(in->arena);
    vs_free(in->texts);
    vs_table_release(&in->texts_by_hash);
    vs_free(in->places);
    vs_table_release(&in->places_by_hash);
    vs_free(in);
}

uint32_t trc_intern_string(struct trc_intern *in, const char *text, const char **new_text)
{
    size_t len = strlen(text);
    uint64_t hash = vs_hash_bytes(text, len);
    struct vs_probe probe = vs_probe(hash);

    *new_text = NULL;
    while (vs_table_next(&in->texts_by_hash, &probe))
        if (strcmp(in->texts[probe.item], text) == 0)
            return probe.item + 1;
    vs_table_add(&in->texts_by_hash, hash, in->text_count);
    *new_text = vs_arena_strndup(in->arena, text, len);
    in->texts = vs_grow(in->texts, in->text_count, &in->text_cap, sizeof(*in->texts));
    in->texts[in->text_count++] = *new_text;
    return (uint32_t)in->text_count;
}

const char *trc_intern_text(struct trc_intern *in, const char *text)
{
    const char *new_text;
    const uint32_t id = trc_intern_string(in, text, &new_text);

    return in->texts[id - 1];
}

static bool places_are_equal(const struct vs_place *a, const struct vs_place *b)
{
    return a->line == b->line && a->op == b->op && a->module == b->module && a->func == b->func &&
           a->phase == b->phase;
}

/* The id of the place, added where it is new. */
static uint32_t place_get(struct trc_intern *in, const struct vs_place *place, bool *is_new)
{
    const uint64_t hash =
        vs_hash_mix(vs_hash_mix(place->phase, (uint64_t)place->module << 32 | place->func),
                    (uint64_t)place->line << 32 | place->op);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&in->places_by_hash, &probe))
        if (places_are_equal(&in->places[probe.item], place))
            return probe.item + 1;
    *is_new = true;
    vs_table_add(&in->places_by_hash, hash, in->place_count);
    in->places = vs_grow(in->places, in->place_count, &in->place_cap, sizeof(*in->places));
    in->places[in->place_count++] = *place;
    return (uint32_t)in->place_count;
}

uint32_t trc_intern_place(struct trc_intern *in, const struct vs_place *place, bool *is_new)
{
    *is_new = false;
    if (in->last_place && places_are_equal(&in->last, place))
        return in->last_place;
    in->last_place = place_get(in, place, is_new);
    in->last = *place;
    return in->last_place;
}
