/*
 * store/codec/keys.c - see keys_internal.h.
 *
 * Must not know:  how a chunk is encoded.
 */
#include "store/codec/keys_internal.h"

#include <string.h>

#include "base/mem.h"

#define KEYS_MAX 16
/* So many chunks may depend on one, so that a damaged one does not make the whole of a trace unreadable. */
#define USES_MAX 31
/* So many positions of a chunk are looked up in each key. */
#define PROBES 16

#define NO_POSITION UINT16_MAX
#define EVENTS_HASHED 3

/* ---- positions ---- */

void sto_finder_clear(struct sto_finder *finder)
{
    memset(finder->positions, 0xff, sizeof(finder->positions));
}

static size_t slot_of(const struct vs_event *events)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < EVENTS_HASHED; i++)
        hash = (hash ^ ((uint64_t)events[i].location << 6 | events[i].kind)) *
               UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> (64 - STO_FINDER_BITS));
}

void sto_finder_put(struct sto_finder *finder, const struct vs_event *events, size_t count,
                    size_t at, bool is_last)
{
    uint16_t *slot;

    if (count - at < EVENTS_HASHED)
        return;
    slot = &finder->positions[slot_of(events + at)];
    if (is_last || *slot == NO_POSITION)
        *slot = (uint16_t)at;
}

bool sto_finder_get(const struct sto_finder *finder, const struct vs_event *events, size_t count,
                    size_t at, size_t *position)
{
    if (count - at < EVENTS_HASHED)
        return false;
    *position = finder->positions[slot_of(events + at)];
    return *position != NO_POSITION;
}

/* ---- keys ---- */

struct sto_keys {
    struct sto_key *items[KEYS_MAX];
    size_t count;
    uint64_t clock;
};

struct sto_keys *sto_keys_new(void)
{
    return vs_calloc(1, sizeof(struct sto_keys));
}

void sto_keys_free(struct sto_keys *keys)
{
    if (!keys)
        return;
    for (size_t i = 0; i < keys->count; i++) {
        vs_free(keys->items[i]->events);
        vs_free(keys->items[i]->newest);
        vs_free(keys->items[i]);
    }
    vs_free(keys);
}

static bool is_same(const struct vs_event *a, const struct vs_event *b)
{
    return a->kind == b->kind && a->location == b->location;
}

/* At how many of some positions the key has the same events. */
static size_t likeness(const struct sto_key *key, const struct vs_event *events, size_t count)
{
    size_t found = 0;

    for (size_t i = 0; i < PROBES; i++) {
        size_t at = count * i / PROBES;
        size_t position;

        if (sto_finder_get(&key->finder, events, count, at, &position) &&
            is_same(&key->events[position], &events[at]))
            found++;
    }
    return found;
}

struct sto_key *sto_keys_find(struct sto_keys *keys, const struct vs_event *events, size_t count)
{
    struct sto_key *best = NULL;
    size_t most = 0;

    for (size_t i = 0; i < keys->count; i++) {
        size_t found =
            keys->items[i]->uses < USES_MAX ? likeness(keys->items[i], events, count) : 0;

        if (found > most || (found && found == most && keys->items[i]->id > best->id)) {
            best = keys->items[i];
            most = found;
        }
    }
    if (best)
        best->age = ++keys->clock;
    return best;
}

void sto_keys_add(struct sto_keys *keys, const struct vs_event *events, size_t count, int64_t id,
                  const struct sto_newest *newest, const struct sto_newest *limits)
{
    struct sto_key *key = NULL;

    if (keys->count < KEYS_MAX) {
        key = vs_calloc(1, sizeof(*key));
        key->events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*key->events));
        key->newest = vs_alloc((STO_CHUNK_EVENTS_MAX + 1) * sizeof(*key->newest));
        keys->items[keys->count++] = key;
    } else {
        for (size_t i = 0; i < KEYS_MAX; i++)
            if (!key || keys->items[i]->age < key->age)
                key = keys->items[i];
    }
    key->id = id;
    key->count = count;
    memcpy(key->events, events, count * sizeof(*events));
    memcpy(key->newest, newest, (count + 1) * sizeof(*newest));
    key->limits = *limits;
    key->uses = 0;
    key->age = ++keys->clock;
    sto_finder_clear(&key->finder);
    for (size_t at = 0; at < count; at++)
        sto_finder_put(&key->finder, events, count, at, false);
}
