/*
 * tracer/inject/memory.c - see memory.h.
 *
 * Invariant:      every live block except orphans is in the table under its space and key. An orphan is physical memory
 *                 whose handles have all been released; its mappings keep it alive.
 */
#include "tracer/inject/memory.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

#define DEVICES_MAX 64
/* Physical memory has no address, so it gets an invented one above all device addresses. */
#define PHYSICAL_BASE (UINT64_C(1) << 56)
#define PHYSICAL_UNIT (UINT64_C(1) << 21)

/*
 * id: in the device's trace; 0: host memory, or the device is not recorded. serial: unique. freeing: number of frees in
 * progress; free_location: location of the last one. handles, mappings: for physical memory.
 */
struct block {
    enum inj_space space;
    uint64_t key;
    uint64_t id;
    uint64_t serial;
    uint64_t bytes;
    uint64_t address;
    uint64_t stream;
    uint32_t device;
    uint32_t context;
    uint32_t freeing;
    uint32_t free_location;
    uint32_t handles;
    uint32_t mappings;
};

struct mapping {
    uint64_t address;
    uint64_t bytes;
    struct block *block;
};

/*
 * blocks    those that have a key, in no particular order
 * table     their indices, by space and key
 * mappings  in no particular order either; linear search, as programs that map physical memory have few
 */
struct inj_memory {
    struct inj_outlet outlet;
    struct block **blocks;
    size_t block_count, block_cap;
    struct vs_table table;
    struct mapping *mappings;
    size_t mapping_count, mapping_cap;
    uint64_t serial;
    uint64_t physical_next;
    uint64_t host_now;
    uint64_t host_peak;
    bool is_refused[DEVICES_MAX];
};

/* ---- blocks by space and key ---- */

static uint64_t key_hash(enum inj_space space, uint64_t key)
{
    return vs_hash_mix((uint64_t)space, key);
}

/* Let `probe` find the block with this key. False if there is none. */
static bool block_find(const struct inj_memory *m, enum inj_space space, uint64_t key,
                       struct vs_probe *probe)
{
    *probe = vs_probe(key_hash(space, key));
    while (vs_table_next(&m->table, probe))
        if (m->blocks[probe->item]->space == space && m->blocks[probe->item]->key == key)
            return true;
    return false;
}

static struct block *block_get(const struct inj_memory *m, enum inj_space space, uint64_t key)
{
    struct vs_probe probe;

    return block_find(m, space, key, &probe) ? m->blocks[probe.item] : NULL;
}

static void block_add(struct inj_memory *m, struct block *block)
{
    vs_table_add(&m->table, key_hash(block->space, block->key), m->block_count);
    m->blocks = vs_grow(m->blocks, m->block_count, &m->block_cap, sizeof(struct block *));
    m->blocks[m->block_count++] = block;
}

/* Remove a block, which the caller owns from here on. The last block takes its index. */
static void block_take(struct inj_memory *m, struct block *block)
{
    struct vs_probe probe;
    bool is_found = block_find(m, block->space, block->key, &probe);
    size_t at;

    VS_ASSERT(is_found && m->blocks[probe.item] == block);
    at = probe.item;
    vs_table_remove(&m->table, &probe);
    block = m->blocks[--m->block_count];
    if (at == m->block_count)
        return;
    is_found = block_find(m, block->space, block->key, &probe);
    VS_ASSERT(is_found);
    vs_table_renumber(&m->table, &probe, at);
    m->blocks[at] = block;
}

struct inj_memory *inj_memory_new(const struct inj_outlet *outlet)
{
    struct inj_memory *m = vs_calloc(1, sizeof(*m));

    m->outlet = *outlet;
    m->physical_next = PHYSICAL_BASE;
    return m;
}

static void orphan_free(struct inj_memory *m, size_t at)
{
    struct block *block = m->mappings[at].block;

    if (block->handles || --block->mappings)
        return;
    vs_free(block);
}

void inj_memory_free(struct inj_memory *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->mapping_count; i++)
        orphan_free(m, i);
    for (size_t i = 0; i < m->block_count; i++)
        vs_free(m->blocks[i]);
    vs_free(m->blocks);
    vs_table_release(&m->table);
    vs_free(m->mappings);
    vs_free(m);
}

/* ---- events ---- */

static struct inj_sink *sink_of(struct inj_memory *m, uint32_t device)
{
    return m->outlet.sink(m->outlet.user, device);
}

static void emit(struct inj_sink *sink, const struct vs_event *event)
{
    sink->observer->emit(sink->observer->user, event);
}

static void host_emit(struct inj_memory *m)
{
    if (m->host_now > m->host_peak)
        m->host_peak = m->host_now;
    m->outlet.host(m->outlet.user, m->host_now, m->host_peak);
}

static void alloc_emit(struct inj_memory *m, struct block *block, const struct inj_site *site)
{
    struct inj_sink *sink = sink_of(m, block->device);
    uint32_t location;

    if (block->device < DEVICES_MAX)
        m->is_refused[block->device] = false;
    if (!sink)
        return;
    location = inj_site_location(sink, site);
    block->id = ++sink->blocks;
    emit(sink, &(struct vs_event){.kind = VS_EV_SEGMENT_ALLOC,
                                  .location = location,
                                  .segment = {.stream = block->stream,
                                              .bytes = block->bytes,
                                              .address = block->address,
                                              .size_pool = VS_SEGMENT_LARGE}});
    inj_site_stack_emit(sink, site);
    emit(sink, &(struct vs_event){.kind = VS_EV_ALLOC,
                                  .location = location,
                                  .alloc = {.block = block->id,
                                            .requested_bytes = block->bytes,
                                            .block_bytes = block->bytes,
                                            .address = block->address,
                                            .category = VS_CAT_OTHER}});
}

static void free_emit(struct inj_memory *m, const struct block *block, uint32_t location)
{
    struct inj_sink *sink = block->id ? sink_of(m, block->device) : NULL;

    if (!sink)
        return;
    emit(sink, &(struct vs_event){.kind = VS_EV_FREE,
                                  .location = location,
                                  .free = {.block = block->id,
                                           .requested_bytes = block->bytes,
                                           .block_bytes = block->bytes,
                                           .address = block->address}});
    emit(sink, &(struct vs_event){.kind = VS_EV_SEGMENT_FREE,
                                  .location = location,
                                  .segment = {.stream = block->stream,
                                              .bytes = block->bytes,
                                              .address = block->address,
                                              .size_pool = VS_SEGMENT_LARGE}});
}

static uint32_t location_of(struct inj_memory *m, const struct block *block,
                            const struct inj_site *site)
{
    struct inj_sink *sink = block->id ? sink_of(m, block->device) : NULL;

    return sink ? inj_site_location(sink, site) : 0;
}

/* The block is neither in the table nor mapped any more: emit its free and release it. */
static void block_end(struct inj_memory *m, struct block *block, uint32_t location)
{
    if (block->space == INJ_HOST) {
        m->host_now -= block->bytes;
        host_emit(m);
    } else {
        free_emit(m, block, location);
    }
    vs_free(block);
}

/* Release a key. The block ends with it, unless it is physical memory with other handles or mappings. */
static void key_end(struct inj_memory *m, struct block *block, uint32_t location)
{
    block->freeing -= block->freeing > 0;
    if (block->handles > 1) {
        block->handles--;
        return;
    }
    block->handles = 0;
    block_take(m, block);
    if (!block->mappings)
        block_end(m, block, location);
}

/* ---- calls ---- */

void inj_memory_taken(struct inj_memory *m, const struct inj_call *call, uint64_t key,
                      uint64_t bytes)
{
    struct block *old = block_get(m, call->space, key);
    struct block *block;

    if (old) {
        old->handles = old->handles ? 1 : 0;
        key_end(m, old, old->freeing ? old->free_location : location_of(m, old, call->site));
    }
    block = vs_calloc(1, sizeof(*block));
    *block = (struct block){.space = call->space,
                            .key = key,
                            .serial = ++m->serial,
                            .bytes = bytes,
                            .address = key,
                            .stream = call->stream,
                            .device = call->device,
                            .context = call->context};
    if (call->space == INJ_PHYSICAL) {
        block->handles = 1;
        block->address = m->physical_next;
        m->physical_next += (bytes / PHYSICAL_UNIT + 1) * PHYSICAL_UNIT;
    }
    block_add(m, block);
    if (call->space == INJ_HOST) {
        m->host_now += bytes;
        host_emit(m);
    } else {
        alloc_emit(m, block, call->site);
    }
}

void inj_memory_refused(struct inj_memory *m, const struct inj_call *call, uint64_t bytes,
                        uint64_t device_free)
{
    struct inj_sink *sink = call->space == INJ_HOST ? NULL : sink_of(m, call->device);
    uint32_t location;

    if (!sink)
        return;
    location = inj_site_location(sink, call->site);
    inj_site_stack_emit(sink, call->site);
    if (call->device < DEVICES_MAX)
        m->is_refused[call->device] = true;
    emit(sink, &(struct vs_event){.kind = VS_EV_OOM,
                                  .location = location,
                                  .oom = {.stream = call->stream,
                                          .requested_bytes = bytes,
                                          .segment_bytes = bytes,
                                          .device_free_bytes = device_free}});
}

uint64_t inj_memory_free_begin(struct inj_memory *m, const struct inj_call *call, uint64_t key)
{
    struct block *block = block_get(m, call->space, key);

    if (!block)
        return 0;
    block->freeing++;
    block->free_location = location_of(m, block, call->site);
    return block->serial;
}

void inj_memory_free_end(struct inj_memory *m, enum inj_space space, uint64_t key, uint64_t token,
                         bool is_done)
{
    struct block *block = block_get(m, space, key);

    if (!block || block->serial != token)
        return;
    if (is_done)
        key_end(m, block, block->free_location);
    else
        block->freeing -= block->freeing > 0;
}

static struct mapping *mapping_at(struct inj_memory *m, uint64_t address)
{
    for (size_t i = 0; i < m->mapping_count; i++)
        if (address - m->mappings[i].address < m->mappings[i].bytes)
            return &m->mappings[i];
    return NULL;
}

void inj_memory_retained(struct inj_memory *m, uint64_t handle, uint64_t address)
{
    const struct mapping *mapping = mapping_at(m, address);
    struct block *block = mapping ? mapping->block : NULL;

    if (!block)
        return;
    if (block->handles) {
        block->handles += block->key == handle;
        return;
    }
    if (block_get(m, INJ_PHYSICAL, handle))
        return;
    block->key = handle;
    block->serial = ++m->serial;
    block->handles = 1;
    block->freeing = 0;
    block_add(m, block);
}

void inj_memory_mapped(struct inj_memory *m, uint64_t handle, uint64_t address, uint64_t bytes)
{
    struct block *block = block_get(m, INJ_PHYSICAL, handle);

    if (!block)
        return;
    block->mappings++;
    m->mappings = vs_grow(m->mappings, m->mapping_count, &m->mapping_cap, sizeof(*m->mappings));
    m->mappings[m->mapping_count++] = (struct mapping){address, bytes, block};
}

void inj_memory_unmapped(struct inj_memory *m, const struct inj_call *call, uint64_t address,
                         uint64_t bytes)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->mapping_count; i++) {
        const struct mapping mapping = m->mappings[i];

        if (mapping.address - address >= bytes) {
            m->mappings[kept++] = mapping;
            continue;
        }
        mapping.block->mappings--;
        if (!mapping.block->mappings && !mapping.block->handles)
            block_end(m, mapping.block, location_of(m, mapping.block, call->site));
    }
    m->mapping_count = kept;
}

void inj_memory_context_gone(struct inj_memory *m, const struct inj_call *call)
{
    size_t at = 0;

    while (call->context && at < m->block_count) {
        struct block *block = m->blocks[at];

        if (block->context != call->context) {
            at++;
            continue;
        }
        block_take(m, block);
        block_end(m, block, location_of(m, block, call->site));
    }
}

bool inj_memory_is_refused(const struct inj_memory *m, uint32_t device)
{
    return device < DEVICES_MAX && m->is_refused[device];
}
