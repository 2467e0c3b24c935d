/*
 * replay/inspect/space.c - see space.h.
 *
 * Must not know:  drawing.
 * Invariant:      a block is in exactly one part or is a stray; no two holes are adjacent.
 */
#include "replay/inspect/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * Constants of PyTorch's caching allocator: the largest block of the small pool, and by how many bytes a hole that is
 * not split may exceed the request.
 */
#define SMALL_BYTES_MAX UINT64_C(1048576)
#define OVERSIZE_BYTES UINT64_C(20971520)

/* A live block, by its index, to be sorted by address. */
struct placed {
    uint64_t address;
    size_t block;
};

static int by_address(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static void part_add(struct rpl_space *out, const struct rpl_part *part)
{
    out->parts = vs_grow(out->parts, out->part_count, &out->part_cap, sizeof(*out->parts));
    out->parts[out->part_count++] = *part;
    if (part->block != SIZE_MAX) {
        out->allocated += part->bytes;
        out->waste += part->waste;
        return;
    }
    out->free_bytes += part->bytes;
    if (out->largest_hole == SIZE_MAX || part->bytes > out->parts[out->largest_hole].bytes)
        out->largest_hole = out->part_count - 1;
}

static void hole_add(struct rpl_space *out, size_t segment, uint64_t from, uint64_t to)
{
    if (from < to)
        part_add(out,
                 &(struct rpl_part){
                     .address = from, .bytes = to - from, .block = SIZE_MAX, .segment = segment});
}

/* The parts of one segment, from the blocks at placed[*next] on. */
static void segment_fill(struct rpl_space *out, size_t segment, const struct rpl_live *live,
                         const struct placed *placed, size_t *next)
{
    const struct rpl_segment *s = &out->segments[segment];
    uint64_t end = s->address + s->bytes;
    uint64_t at = s->address;

    for (; *next < live->block_count && placed[*next].address < end; ++*next) {
        const struct rpl_block *block = &live->blocks[placed[*next].block];

        if (block->address < at || block->bytes > end - block->address || !block->bytes) {
            out->strays++;
            continue;
        }
        hole_add(out, segment, at, block->address);
        part_add(out,
                 &(struct rpl_part){
                     .address = block->address,
                     .bytes = block->bytes,
                     .waste = block->bytes > block->requested ? block->bytes - block->requested : 0,
                     .block = placed[*next].block,
                     .segment = segment,
                 });
        at = block->address + block->bytes;
    }
    hole_add(out, segment, at, end);
}

void rpl_space_fill(struct rpl_space *out, const struct rpl_cursor *cursor)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    struct placed *placed = vs_alloc((live->block_count + 1) * sizeof(*placed));
    struct rpl_space empty = {.parts = out->parts, .part_cap = out->part_cap};
    size_t next = 0;

    vs_free(out->first_part);
    *out = empty;
    out->segments = rpl_cursor_segments(cursor, &out->segment_count);
    out->first_part = vs_alloc((out->segment_count + 1) * sizeof(*out->first_part));
    out->largest_hole = SIZE_MAX;
    for (size_t i = 0; i < live->block_count; i++)
        placed[i] = (struct placed){live->blocks[i].address, i};
    qsort(placed, live->block_count, sizeof(*placed), by_address);
    for (size_t i = 0; i < out->segment_count; i++) {
        out->first_part[i] = out->part_count;
        out->reserved += out->segments[i].bytes;
        for (; next < live->block_count && placed[next].address < out->segments[i].address; next++)
            out->strays++;
        segment_fill(out, i, live, placed, &next);
    }
    out->first_part[out->segment_count] = out->part_count;
    out->strays += live->block_count - next;
    vs_free(placed);
}

void rpl_space_release(struct rpl_space *space)
{
    vs_free(space->parts);
    vs_free(space->first_part);
    memset(space, 0, sizeof(*space));
}

/* Bytes of the part before (side -1) or after (side 1) part i if that is a hole of the same segment, otherwise 0. */
static uint64_t hole_beside(const struct rpl_space *space, size_t i, int side)
{
    size_t k = side < 0 ? i - 1 : i + 1;

    if ((side < 0 && i == 0) || k >= space->part_count ||
        space->parts[k].segment != space->parts[i].segment || space->parts[k].block != SIZE_MAX)
        return 0;
    return space->parts[k].bytes;
}

/* Bytes of the hole that freeing the block in part i would leave. */
static uint64_t hole_without(const struct rpl_space *space, size_t i)
{
    return hole_beside(space, i, -1) + space->parts[i].bytes + hole_beside(space, i, 1);
}

/*
 * The stream whose segments count: 0, or where the default stream has none, the one with the most bytes. O(segments *
 * streams).
 */
static uint64_t fit_stream(const struct rpl_space *space)
{
    uint64_t best = 0;
    uint64_t most = 0;

    for (size_t i = 0; i < space->segment_count; i++) {
        uint64_t bytes = 0;

        if (!space->segments[i].stream)
            return 0;
        if (i && space->segments[i].stream == space->segments[i - 1].stream)
            continue;
        for (size_t k = 0; k < space->segment_count; k++)
            bytes += space->segments[k].stream == space->segments[i].stream
                         ? space->segments[k].bytes
                         : 0;
        if (bytes > most) {
            most = bytes;
            best = space->segments[i].stream;
        }
    }
    return best;
}

/*
 * Whether a hole of this size takes the request: large enough, and not one that max_split_size_mb keeps for larger
 * requests.
 */
static bool can_take(const struct rpl_request *request, uint64_t hole)
{
    if (hole < request->rounded)
        return false;
    if (request->rounded < request->max_split)
        return hole < request->max_split;
    return hole - request->rounded < OVERSIZE_BYTES;
}

struct rpl_fit rpl_space_fit(const struct rpl_space *space, const struct rpl_request *request)
{
    const uint64_t stream = fit_stream(space);
    struct rpl_fit fit = {
        .rounded = request->rounded, .hole = SIZE_MAX, .largest = SIZE_MAX, .pin = SIZE_MAX};
    bool is_small = fit.rounded <= SMALL_BYTES_MAX;

    for (size_t i = 0; i < space->part_count; i++) {
        const struct rpl_part *part = &space->parts[i];

        if (space->segments[part->segment].is_small != is_small ||
            space->segments[part->segment].stream != stream || space->segments[part->segment].pool)
            continue;
        if (part->block == SIZE_MAX) {
            if (fit.largest == SIZE_MAX || part->bytes > space->parts[fit.largest].bytes)
                fit.largest = i;
            if (can_take(request, part->bytes) &&
                (fit.hole == SIZE_MAX || part->bytes < space->parts[fit.hole].bytes))
                fit.hole = i;
        } else if (can_take(request, hole_without(space, i)) &&
                   (fit.pin == SIZE_MAX || part->bytes < space->parts[fit.pin].bytes)) {
            fit.pin = i;
            fit.pinned_hole = hole_without(space, i);
        }
    }
    fit.is_fit = fit.hole != SIZE_MAX;
    if (fit.is_fit) {
        fit.pin = SIZE_MAX;
        fit.pinned_hole = 0;
    } else {
        fit.segment = request->segment;
    }
    return fit;
}

size_t rpl_space_pin(const struct rpl_space *space, size_t hole, uint64_t *bytes)
{
    size_t segment = space->parts[hole].segment;
    size_t best = SIZE_MAX;

    *bytes = 0;
    for (int side = -1; side <= 1; side += 2) {
        size_t k = side < 0 ? hole - 1 : hole + 1;

        if ((side < 0 && hole == 0) || k >= space->part_count ||
            space->parts[k].segment != segment || space->parts[k].block == SIZE_MAX)
            continue;
        if (hole_without(space, k) > *bytes) {
            *bytes = hole_without(space, k);
            best = k;
        }
    }
    return best;
}
