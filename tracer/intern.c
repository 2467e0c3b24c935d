/*
 * tracer/intern.c - see intern.h: two hash tables.
 *
 * Must not know:  rings, files.
 * Invariant:      an id is the index of an item + 1.
 */
#include "tracer/intern.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/* last_location: the id returned last; 0: none yet. */
struct trc_intern {
    struct vs_arena *arena;
    const char **texts;
    size_t text_count, text_cap;
    struct vs_table texts_by_hash;
    struct vs_location *locations;
    size_t location_count, location_cap;
    struct vs_table locations_by_hash;
    struct vs_location last;
    uint32_t last_location;
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
    vs_free(in->locations);
    vs_table_release(&in->locations_by_hash);
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

static bool locations_are_equal(const struct vs_location *a, const struct vs_location *b)
{
    return a->line == b->line && a->op == b->op && a->module == b->module && a->func == b->func &&
           a->phase == b->phase;
}

/* Return the id of the location, adding it if it is new. */
static uint32_t location_get(struct trc_intern *in, const struct vs_location *location,
                             bool *is_new)
{
    const uint64_t hash =
        vs_hash_mix(vs_hash_mix(location->phase, (uint64_t)location->module << 32 | location->func),
                    (uint64_t)location->line << 32 | location->op);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&in->locations_by_hash, &probe))
        if (locations_are_equal(&in->locations[probe.item], location))
            return probe.item + 1;
    *is_new = true;
    vs_table_add(&in->locations_by_hash, hash, in->location_count);
    in->locations =
        vs_grow(in->locations, in->location_count, &in->location_cap, sizeof(*in->locations));
    in->locations[in->location_count++] = *location;
    return (uint32_t)in->location_count;
}

uint32_t trc_intern_location(struct trc_intern *in, const struct vs_location *location,
                             bool *is_new)
{
    *is_new = false;
    if (in->last_location && locations_are_equal(&in->last, location))
        return in->last_location;
    in->last_location = location_get(in, location, is_new);
    in->last = *location;
    return in->last_location;
}
