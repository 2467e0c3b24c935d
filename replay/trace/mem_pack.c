/*
 * replay/trace/mem_pack.c - see mem_pack.h.
 *
 * Must not know:  why runs are kept.
 * Invariant:      an open chunk contains the events that were compressed.
 */
#include "replay/trace/mem_pack.h"

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/* Tensors added per call. */
#define TENSORS_AT_ONCE 4096

struct rpl_mem_packed *rpl_mem_packed_new(size_t events, size_t tensors)
{
    struct rpl_mem_packed *packed = vs_calloc(1, sizeof(*packed));
    size_t chunks = (events + RPL_CHUNK_EVENTS - 1) / RPL_CHUNK_EVENTS;

    packed->events = events;
    packed->tensors = tensors;
    packed->chunks = vs_calloc(chunks + 1, sizeof(*packed->chunks));
    packed->own = vs_alloc((tensors + 1) * sizeof(*packed->own));
    return packed;
}

void rpl_mem_packed_free(struct rpl_mem_packed *packed)
{
    if (!packed)
        return;
    rpl_mem_packed_close(packed);
    for (size_t i = 0; i < packed->chunk_count; i++)
        rpl_events_packed_release(&packed->chunks[i]);
    vs_free(packed->chunks);
    vs_free(packed->own);
    vs_free(packed->shapes);
    vs_table_release(&packed->shapes_by_hash);
    vs_free(packed);
}

/* ---- tensors ---- */

/* The description without the fields that are a tensor's own. */
static struct vs_tensor_desc shape_of(const struct vs_tensor_desc *desc)
{
    struct vs_tensor_desc shape = *desc;

    shape.block = 0;
    shape.id = 0;
    shape.name = 0;
    return shape;
}

static bool is_same_shape(const struct vs_tensor_desc *a, const struct vs_tensor_desc *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim && a->offset_elems == b->offset_elems &&
           memcmp(a->sizes, b->sizes, sizeof(a->sizes)) == 0 &&
           memcmp(a->strides, b->strides, sizeof(a->strides)) == 0;
}

static uint64_t shape_hash(const struct vs_tensor_desc *shape)
{
    uint64_t hash = vs_hash_mix((uint64_t)shape->dtype << 8 | shape->ndim, shape->offset_elems);

    for (size_t d = 0; d < shape->ndim && d < VS_MAX_DIMS; d++)
        hash =
            vs_hash_mix(vs_hash_mix(hash, (uint64_t)shape->sizes[d]), (uint64_t)shape->strides[d]);
    return hash;
}

static uint32_t shape_intern(struct rpl_mem_packed *p, const struct vs_tensor_desc *desc)
{
    const struct vs_tensor_desc shape = shape_of(desc);
    const uint64_t hash = shape_hash(&shape);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&p->shapes_by_hash, &probe))
        if (is_same_shape(&p->shapes[probe.item], &shape))
            return probe.item;
    vs_table_add(&p->shapes_by_hash, hash, p->shape_count);
    p->shapes = vs_grow(p->shapes, p->shape_count, &p->shape_cap, sizeof(*p->shapes));
    p->shapes[p->shape_count] = shape;
    return (uint32_t)p->shape_count++;
}

struct vs_tensor_desc rpl_mem_packed_tensor(const struct rpl_mem_packed *packed, uint32_t id)
{
    const struct rpl_mem_tensor_own *own = &packed->own[id - 1];
    struct vs_tensor_desc desc;

    VS_ASSERT(id && id <= packed->tensor_count);
    desc = packed->shapes[own->shape];
    desc.id = id;
    desc.block = own->block;
    desc.name = own->name;
    return desc;
}

/* ---- adding ---- */

/* Free what is only needed while adding. */
static void finish(struct rpl_mem_packed *p)
{
    vs_table_release(&p->shapes_by_hash);
    if (p->shape_count) {
        p->shapes = vs_realloc(p->shapes, p->shape_count, sizeof(*p->shapes));
        p->shape_cap = p->shape_count;
    }
}

bool rpl_mem_packed_take(struct rpl_mem_packed *packed, const struct vs_event *events,
                         const struct vs_tensor_desc *tensors)
{
    const size_t done = packed->chunk_count * RPL_CHUNK_EVENTS;

    if (done < packed->events) {
        size_t left = packed->events - done;
        struct rpl_events_packed *chunk = &packed->chunks[packed->chunk_count++];

        *chunk = rpl_events_pack(events + done, left < RPL_CHUNK_EVENTS ? left : RPL_CHUNK_EVENTS);
        packed->bytes += chunk->len;
        return true;
    }
    if (packed->tensor_count == packed->tensors) {
        finish(packed);
        return false;
    }
    for (size_t n = 0; n < TENSORS_AT_ONCE && packed->tensor_count < packed->tensors; n++) {
        const struct vs_tensor_desc *desc = &tensors[packed->tensor_count];

        packed->own[packed->tensor_count++] = (struct rpl_mem_tensor_own){
            .block = desc->block, .name = desc->name, .shape = shape_intern(packed, desc)};
    }
    return true;
}

/* ---- reading ---- */

static size_t events_of(const struct rpl_mem_packed *packed, size_t chunk)
{
    size_t left = packed->events - chunk * RPL_CHUNK_EVENTS;

    return left < RPL_CHUNK_EVENTS ? left : RPL_CHUNK_EVENTS;
}

const struct vs_event *rpl_mem_packed_chunk(struct rpl_mem_packed *packed, size_t chunk)
{
    struct rpl_mem_open *slot = &packed->open[0];

    VS_ASSERT(chunk < packed->chunk_count);
    for (size_t i = 0; i < RPL_MEM_OPEN; i++) {
        if (packed->open[i].chunk == chunk + 1) {
            packed->open[i].used = ++packed->clock;
            return packed->open[i].events;
        }
        if (packed->open[i].used < slot->used)
            slot = &packed->open[i];
    }
    if (!slot->events)
        slot->events = vs_alloc(RPL_CHUNK_EVENTS * sizeof(*slot->events));
    rpl_events_unpack(&packed->chunks[chunk], events_of(packed, chunk), slot->events);
    slot->chunk = chunk + 1;
    slot->used = ++packed->clock;
    return slot->events;
}

void rpl_mem_packed_events(struct rpl_mem_packed *packed, uint64_t first, size_t count,
                           struct vs_event *out)
{
    while (count) {
        size_t chunk = (size_t)((first - 1) / RPL_CHUNK_EVENTS);
        size_t offset = (size_t)((first - 1) % RPL_CHUNK_EVENTS);
        size_t there = events_of(packed, chunk) - offset;
        size_t n = there < count ? there : count;

        memcpy(out, rpl_mem_packed_chunk(packed, chunk) + offset, n * sizeof(*out));
        out += n;
        first += n;
        count -= n;
    }
}

void rpl_mem_packed_close(struct rpl_mem_packed *packed)
{
    for (size_t i = 0; i < RPL_MEM_OPEN; i++)
        vs_free(packed->open[i].events);
    memset(packed->open, 0, sizeof(packed->open));
}

uint64_t rpl_mem_packed_bytes(const struct rpl_mem_packed *packed)
{
    uint64_t bytes =
        sizeof(*packed) + packed->bytes + packed->chunk_count * sizeof(*packed->chunks) +
        packed->tensors * sizeof(*packed->own) + packed->shape_cap * sizeof(*packed->shapes) +
        vs_table_bytes(&packed->shapes_by_hash);

    for (size_t i = 0; i < RPL_MEM_OPEN; i++)
        if (packed->open[i].events)
            bytes += RPL_CHUNK_EVENTS * sizeof(struct vs_event);
    return bytes;
}
