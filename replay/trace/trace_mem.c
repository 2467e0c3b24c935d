/*
 * replay/trace/trace_mem.c - see trace_mem.h.
 *
 * Must not know:  files.
 * Invariant:      ids count from 1 without gaps.
 */
#include "replay/trace/trace_mem.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

struct rpl_mem *rpl_mem_new(void)
{
    struct rpl_mem *mem = vs_calloc(1, sizeof(*mem));

    mem->arena = vs_arena_new();
    return mem;
}

static void pairs_clear(struct rpl_mem_pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        vs_free(pairs->items[i].key);
        vs_free(pairs->items[i].value);
    }
    pairs->count = 0;
}

void rpl_mem_clear(struct rpl_mem *mem)
{
    rpl_mem_packed_free(mem->packed);
    mem->packed = NULL;
    mem->is_packed = false;
    vs_arena_clear(mem->arena);
    mem->event_count = mem->string_count = mem->location_count = mem->tensor_count =
        mem->step_count = 0;
    vs_table_clear(&mem->strings_by_hash);
    vs_table_clear(&mem->locations_by_hash);
    pairs_clear(&mem->meta);
    pairs_clear(&mem->toggles);
    pairs_clear(&mem->source);
}

void rpl_mem_free(struct rpl_mem *mem)
{
    if (!mem)
        return;
    rpl_mem_clear(mem);
    vs_arena_free(mem->arena);
    vs_free(mem->events);
    vs_free(mem->strings);
    vs_table_release(&mem->strings_by_hash);
    vs_free(mem->locations);
    vs_table_release(&mem->locations_by_hash);
    vs_free(mem->tensors);
    vs_free(mem->steps);
    vs_free(mem->meta.items);
    vs_free(mem->toggles.items);
    vs_free(mem->source.items);
    vs_free(mem);
}

static uint64_t hash_location(const struct vs_location *location)
{
    return vs_hash_mix(
        vs_hash_mix(vs_hash_mix(0, (uint64_t)location->module << 32 | location->line),
                    (uint64_t)location->op << 32 | location->func),
        location->phase);
}

static uint32_t string_add(struct rpl_mem *mem, const char *text, size_t len, uint64_t hash)
{
    vs_table_add(&mem->strings_by_hash, hash, mem->string_count);
    mem->strings =
        vs_grow(mem->strings, mem->string_count, &mem->string_cap, sizeof(*mem->strings));
    mem->strings[mem->string_count++] = vs_arena_strndup(mem->arena, text, len);
    return (uint32_t)mem->string_count;
}

uint32_t rpl_mem_string(struct rpl_mem *mem, const char *text)
{
    size_t len = strlen(text);
    uint64_t hash = vs_hash_bytes(text, len);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&mem->strings_by_hash, &probe))
        if (strcmp(mem->strings[probe.item], text) == 0)
            return probe.item + 1;
    return string_add(mem, text, len, hash);
}

uint32_t rpl_mem_location(struct rpl_mem *mem, const struct vs_location *location)
{
    const uint64_t hash = hash_location(location);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&mem->locations_by_hash, &probe))
        if (memcmp(&mem->locations[probe.item], location, sizeof(*location)) == 0)
            return probe.item + 1;
    vs_table_add(&mem->locations_by_hash, hash, mem->location_count);
    mem->locations =
        vs_grow(mem->locations, mem->location_count, &mem->location_cap, sizeof(*mem->locations));
    mem->locations[mem->location_count++] = *location;
    return (uint32_t)mem->location_count;
}

void rpl_mem_tensor(struct rpl_mem *mem, const struct vs_tensor_desc *desc)
{
    VS_ASSERT(desc->id == mem->tensor_count + 1);
    mem->tensors =
        vs_grow(mem->tensors, mem->tensor_count, &mem->tensor_cap, sizeof(*mem->tensors));
    mem->tensors[mem->tensor_count++] = *desc;
}

/* Events before the first `step` event belong to the set-up. */
static void step_begin(struct rpl_mem *mem, const struct vs_event *event)
{
    if (mem->step_count)
        mem->steps[mem->step_count - 1].last_seq = mem->event_count - 1;
    mem->steps = vs_grow(mem->steps, mem->step_count, &mem->step_cap, sizeof(*mem->steps));
    mem->steps[mem->step_count++] = (struct rpl_step){
        .step = event->kind == VS_EV_STEP ? vs_event_step(event) : -1,
        .first_seq = mem->event_count,
        .last_seq = mem->event_count,
        .loss = (double)NAN,
    };
}

void rpl_mem_event_first(struct rpl_mem *mem, const struct vs_event *event)
{
    mem->events = vs_grow(mem->events, mem->event_count, &mem->event_cap, sizeof(*mem->events));
    mem->events[mem->event_count++] = *event;
    if (event->kind == VS_EV_STEP || mem->step_count == 0)
        step_begin(mem, event);
}

void rpl_mem_reserve(struct rpl_mem *mem, size_t events, size_t tensors)
{
    VS_ASSERT(!mem->event_count && !mem->tensor_count);
    mem->events = vs_reserve(mem->events, events, &mem->event_cap, sizeof(*mem->events));
    mem->tensors = vs_reserve(mem->tensors, tensors, &mem->tensor_cap, sizeof(*mem->tensors));
}

static void *trim(void *items, size_t count, size_t *cap, size_t item_bytes)
{
    if (!count || *cap == count)
        return items;
    *cap = count;
    return vs_realloc(items, count, item_bytes);
}

void rpl_mem_trim(struct rpl_mem *mem)
{
    mem->events = trim(mem->events, mem->event_count, &mem->event_cap, sizeof(*mem->events));
    mem->tensors = trim(mem->tensors, mem->tensor_count, &mem->tensor_cap, sizeof(*mem->tensors));
    mem->locations =
        trim(mem->locations, mem->location_count, &mem->location_cap, sizeof(*mem->locations));
    mem->strings = trim(mem->strings, mem->string_count, &mem->string_cap, sizeof(*mem->strings));
}

/* ---- compressing ---- */

bool rpl_mem_pack(struct rpl_mem *mem, struct rpl_mem *spare)
{
    if (mem->is_packed)
        return false;
    if (!mem->packed)
        mem->packed = rpl_mem_packed_new(mem->event_count, mem->tensor_count);
    if (rpl_mem_packed_take(mem->packed, mem->events, mem->tensors))
        return true;
    VS_ASSERT(spare != mem && !spare->event_count && !spare->tensor_count);
    vs_free(spare->events);
    vs_free(spare->tensors);
    spare->events = mem->events;
    spare->event_cap = mem->event_cap;
    spare->tensors = mem->tensors;
    spare->tensor_cap = mem->tensor_cap;
    mem->events = NULL;
    mem->tensors = NULL;
    mem->event_cap = mem->tensor_cap = 0;
    vs_table_release(&mem->strings_by_hash);
    vs_table_release(&mem->locations_by_hash);
    mem->is_packed = true;
    return true;
}

void rpl_mem_close(struct rpl_mem *mem)
{
    if (mem->is_packed)
        rpl_mem_packed_close(mem->packed);
}

const struct vs_event *rpl_mem_events(struct rpl_mem *mem, uint64_t first, size_t count,
                                      struct vs_event *buffer)
{
    const size_t offset = (size_t)((first - 1) % RPL_CHUNK_EVENTS);

    if (!mem->is_packed)
        return mem->events + (first - 1);
    if (count && offset + count <= RPL_CHUNK_EVENTS)
        return rpl_mem_packed_chunk(mem->packed, (size_t)((first - 1) / RPL_CHUNK_EVENTS)) + offset;
    VS_ASSERT(buffer || !count);
    rpl_mem_packed_events(mem->packed, first, count, buffer);
    return buffer;
}

struct vs_tensor_desc rpl_mem_tensor_get(const struct rpl_mem *mem, uint32_t id)
{
    return mem->is_packed ? rpl_mem_packed_tensor(mem->packed, id) : mem->tensors[id - 1];
}

uint64_t rpl_mem_bytes(const struct rpl_mem *mem)
{
    return sizeof(*mem) + (mem->packed ? rpl_mem_packed_bytes(mem->packed) : 0) +
           vs_arena_bytes(mem->arena) + mem->event_cap * sizeof(*mem->events) +
           mem->string_cap * sizeof(*mem->strings) + vs_table_bytes(&mem->strings_by_hash) +
           mem->location_cap * sizeof(*mem->locations) + vs_table_bytes(&mem->locations_by_hash) +
           mem->tensor_cap * sizeof(*mem->tensors) + mem->step_cap * sizeof(*mem->steps);
}

void rpl_mem_pair(struct rpl_mem_pairs *pairs, const char *key, const char *value, bool is_default)
{
    struct rpl_mem_pair *pair = NULL;

    for (size_t i = 0; i < pairs->count && !pair; i++)
        if (strcmp(pairs->items[i].key, key) == 0)
            pair = &pairs->items[i];
    if (pair) {
        vs_free(pair->value);
    } else {
        pairs->items = vs_grow(pairs->items, pairs->count, &pairs->cap, sizeof(*pairs->items));
        pair = &pairs->items[pairs->count++];
        pair->key = vs_strdup(key);
    }
    pair->value = vs_strdup(value);
    pair->is_default = is_default;
}

const char *rpl_mem_pair_get(const struct rpl_mem_pairs *pairs, const char *key)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].key, key) == 0)
            return pairs->items[i].value;
    return NULL;
}
