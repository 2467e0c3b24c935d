/*
 * tests/engine/alloc_naive.c - a slow and simple caching allocator.
 *
 * For:            tests/engine/alloc_naive.h.
 * Must not know:  engine/alloc/alloc.c.
 * Invariant:      two free neighbours of one segment exist only during a call.
 */
#include "tests/engine/alloc_naive.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MIB UINT64_C(1048576)
#define NONE SIZE_MAX

void naive_init(struct naive *nv, const struct eng_alloc_conf *conf, struct eng_alloc_driver driver)
{
    uint64_t unused;

    *nv = (struct naive){.conf = *conf, .driver = driver, .limit = UINT64_MAX};
    driver.mem_info(driver.user, &unused, &nv->total);
    if (conf->memory_fraction < 1.0)
        nv->limit = (uint64_t)(conf->memory_fraction * (double)nv->total);
    if (nv->conf.max_non_split_rounding == 0)
        nv->conf.max_non_split_rounding = conf->large_segment_bytes;
}

static void remove_at(struct naive *nv, size_t i)
{
    memmove(&nv->blocks[i], &nv->blocks[i + 1], (nv->count - i - 1) * sizeof(*nv->blocks));
    nv->count--;
}

static void insert_at(struct naive *nv, size_t i, struct naive_block block)
{
    nv->blocks = vs_grow(nv->blocks, nv->count, &nv->cap, sizeof(*nv->blocks));
    memmove(&nv->blocks[i + 1], &nv->blocks[i], (nv->count - i) * sizeof(*nv->blocks));
    nv->blocks[i] = block;
    nv->count++;
}

static void insert_sorted(struct naive *nv, struct naive_block block)
{
    size_t i = 0;

    while (i < nv->count && nv->blocks[i].address < block.address)
        i++;
    insert_at(nv, i, block);
}

static size_t index_of(const struct naive *nv, uint64_t address)
{
    size_t i = 0;

    while (nv->blocks[i].address != address)
        i++;
    return i;
}

static bool is_neighbour(const struct naive *nv, size_t i, size_t j)
{
    return j < nv->count && nv->blocks[i].segment == nv->blocks[j].segment;
}

static bool is_alone(const struct naive *nv, size_t i)
{
    return !is_neighbour(nv, i, i + 1) && !(i > 0 && is_neighbour(nv, i, i - 1));
}

static bool collects(const struct naive *nv)
{
    return nv->limit != UINT64_MAX && nv->conf.gc_threshold > 0;
}

/* Makes the block free, or keeps it unmapped, and merges it with its neighbours. Returns its new index. */
static size_t settle(struct naive *nv, size_t i, enum naive_state state)
{
    struct naive_block *b = nv->blocks;

    b[i].state = state;
    b[i].is_shared = false;
    if (is_neighbour(nv, i, i + 1) && b[i + 1].state == state) {
        b[i].bytes += b[i + 1].bytes;
        remove_at(nv, i + 1);
    }
    if (i > 0 && is_neighbour(nv, i, i - 1) && b[i - 1].state == state) {
        b[i - 1].bytes += b[i].bytes;
        remove_at(nv, i--);
    }
    b[i].age_base = nv->searches[b[i].segment->is_small ? 0 : 1];
    return i;
}

static void complete_all(struct naive *nv)
{
    for (size_t i = 0; i < nv->count; i++) {
        if (nv->blocks[i].state == NAIVE_PENDING)
            i = settle(nv, i, NAIVE_FREE);
    }
}

struct request {
    uint64_t bytes;
    uint64_t rounded;
    uint64_t segment;
    uint64_t stream;
    uint64_t pool;
    bool is_small;
};

static bool is_in_pool(const struct naive_block *block, const struct request *req)
{
    return block->segment->pool == req->pool && block->segment->is_small == req->is_small;
}

static uint64_t reserved(const struct naive *nv)
{
    struct naive_sums sums = naive_sum(nv);

    return sums.reserved_bytes[0] + sums.reserved_bytes[1];
}

/* ---- returning memory to the driver ---- */

static void free_segment(struct naive *nv, size_t i)
{
    struct naive_segment *segment = nv->blocks[i].segment;

    nv->driver.segment_free(nv->driver.user, segment->address, segment->bytes);
    nv->device_frees++;
    remove_at(nv, i);
    free(segment);
}

static void unmap_inside(struct naive *nv, size_t i)
{
    struct naive_block block = nv->blocks[i];
    struct naive_segment *segment = block.segment;
    uint64_t begin = block.address - segment->address;
    uint64_t end = (begin + block.bytes) / segment->granule * segment->granule;

    begin = (begin + segment->granule - 1) / segment->granule * segment->granule;
    if (begin >= end)
        return;
    begin += segment->address;
    end += segment->address;
    nv->driver.range_unmap(nv->driver.user, begin, end - begin);
    nv->device_frees++;
    remove_at(nv, i);
    if (end < block.address + block.bytes) {
        struct naive_block after = block;

        after.address = end;
        after.bytes = block.address + block.bytes - end;
        insert_at(nv, i, after);
    }
    insert_at(nv, i,
              (struct naive_block){.address = begin, .bytes = end - begin, .segment = segment});
    if (begin > block.address) {
        struct naive_block before = block;

        before.bytes = begin - block.address;
        insert_at(nv, i++, before);
    }
    i = settle(nv, i, NAIVE_UNMAPPED);
    if (is_alone(nv, i)) {
        nv->driver.range_release(nv->driver.user, segment->address, segment->bytes);
        remove_at(nv, i);
        free(segment);
    }
}

/* Returns every free block that is a whole segment, and whole granules of expandable ones. */
static void flush(struct naive *nv)
{
    bool is_again = true;

    complete_all(nv);
    while (is_again) {
        is_again = false;
        for (size_t i = 0; i < nv->count && !is_again; i++) {
            const struct naive_block *block = &nv->blocks[i];
            const uint64_t frees = nv->device_frees;

            if (block->state != NAIVE_FREE ||
                (block->segment->pool && nv->pool_users[block->segment->pool]))
                continue;
            if (block->segment->granule)
                unmap_inside(nv, i);
            else if (is_alone(nv, i))
                free_segment(nv, i);
            is_again = nv->device_frees > frees;
        }
    }
}

void naive_empty_cache(struct naive *nv)
{
    flush(nv);
}

static bool is_candidate(const struct naive *nv, size_t i)
{
    const struct naive_block *block = &nv->blocks[i];

    return block->state == NAIVE_FREE && block->segment->pool == 0 && !block->segment->is_small &&
           block->segment->granule == 0 && is_alone(nv, i);
}

static void collect_garbage(struct naive *nv)
{
    const uint64_t trigger = (uint64_t)(nv->conf.gc_threshold * (double)nv->limit);

    while (reserved(nv) > trigger) {
        const uint64_t before = reserved(nv);
        uint64_t ages = 0;
        uint64_t count = 0;

        for (size_t i = 0; i < nv->count; i++) {
            if (is_candidate(nv, i)) {
                ages += nv->searches[1] - nv->blocks[i].age_base;
                count++;
            }
        }
        for (size_t i = nv->count; i-- > 0;) {
            if (is_candidate(nv, i) &&
                (double)(nv->searches[1] - nv->blocks[i].age_base) >= (double)ages / (double)count)
                free_segment(nv, i);
        }
        if (reserved(nv) == before)
            break;
    }
}

/* The largest free block of the request's stream and pool below `below` bytes (address breaks ties), or NONE. */
static size_t largest_below(const struct naive *nv, const struct request *req, uint64_t below)
{
    size_t best = NONE;

    for (size_t i = 0; i < nv->count; i++) {
        const struct naive_block *block = &nv->blocks[i];

        if (block->state == NAIVE_FREE && is_in_pool(block, req) &&
            block->segment->stream == req->stream && block->bytes < below &&
            (best == NONE || block->bytes >= nv->blocks[best].bytes))
            best = i;
    }
    return best;
}

/* The free block a search for `bytes` finds first, or NONE. */
static size_t smallest_from(const struct naive *nv, const struct request *req, uint64_t bytes)
{
    size_t best = NONE;

    for (size_t i = 0; i < nv->count; i++) {
        const struct naive_block *block = &nv->blocks[i];

        if (block->state == NAIVE_FREE && is_in_pool(block, req) &&
            block->segment->stream == req->stream && block->bytes >= bytes &&
            (best == NONE || block->bytes < nv->blocks[best].bytes))
            best = i;
    }
    return best;
}

static bool release_oversize(struct naive *nv, const struct request *req)
{
    const uint64_t split = nv->conf.max_split_bytes;
    const uint64_t wanted = req->rounded > split ? req->rounded : split;
    uint64_t released = 0;
    size_t i;

    if (split == ENG_NO_LIMIT)
        return false;
    i = smallest_from(nv, req, wanted);
    if (i != NONE) {
        free_segment(nv, i);
        return true;
    }
    while (released < wanted) {
        i = largest_below(nv, req, wanted);
        if (i == NONE || nv->blocks[i].bytes < split)
            return false;
        released += nv->blocks[i].bytes;
        free_segment(nv, i);
    }
    return true;
}

/* ---- requesting memory from the driver ---- */

static bool map_front(struct naive *nv, size_t *at, uint64_t bytes)
{
    struct naive_block block = nv->blocks[*at];
    const uint64_t granule = block.segment->granule;
    const uint64_t mapped = (bytes + granule - 1) / granule * granule;

    if (!nv->driver.range_map(nv->driver.user, block.address, mapped))
        return false;
    nv->device_allocs++;
    if (mapped < block.bytes) {
        struct naive_block rest = block;

        rest.address += mapped;
        rest.bytes -= mapped;
        insert_at(nv, *at + 1, rest);
        nv->blocks[*at].bytes = mapped;
    }
    *at = settle(nv, *at, NAIVE_FREE);
    return true;
}

static bool is_available(const struct naive_block *block)
{
    return block->state == NAIVE_FREE || block->state == NAIVE_UNMAPPED;
}

static bool has_capacity(const struct naive *nv, size_t i, uint64_t bytes)
{
    uint64_t capacity = 0;
    size_t j = i;

    while (is_neighbour(nv, i, j) && is_available(&nv->blocks[j]) && capacity < bytes)
        capacity += nv->blocks[j++].bytes;
    return capacity >= bytes;
}

static size_t find_location(struct naive *nv, const struct request *req)
{
    const uint64_t granule = req->is_small ? 2 * MIB : nv->conf.large_segment_bytes;
    const uint64_t bytes = (nv->total + nv->total / 8 + granule - 1) / granule * granule;
    struct naive_segment *segment;
    uint64_t address;

    for (size_t i = 0; i < nv->count; i++) {
        size_t from = i;

        if (nv->blocks[i].state != NAIVE_UNMAPPED || !is_in_pool(&nv->blocks[i], req) ||
            nv->blocks[i].segment->stream != req->stream)
            continue;
        if (i > 0 && is_neighbour(nv, i, i - 1) && is_available(&nv->blocks[i - 1]))
            from = i - 1;
        if (has_capacity(nv, from, req->rounded))
            return from;
    }
    if (!nv->driver.range_reserve(nv->driver.user, bytes, &address))
        return NONE;
    segment = vs_calloc(1, sizeof(*segment));
    *segment = (struct naive_segment){.address = address,
                                      .bytes = bytes,
                                      .granule = granule,
                                      .stream = req->stream,
                                      .pool = req->pool,
                                      .is_small = req->is_small};
    insert_sorted(
        nv, (struct naive_block){
                .address = address, .bytes = bytes, .segment = segment, .state = NAIVE_UNMAPPED});
    return index_of(nv, address);
}

static size_t grow(struct naive *nv, const struct request *req)
{
    size_t i = find_location(nv, req);

    if (i == NONE)
        return i;
    while (nv->blocks[i].state == NAIVE_UNMAPPED || nv->blocks[i].bytes < req->rounded) {
        const uint64_t have = nv->blocks[i].state == NAIVE_FREE ? nv->blocks[i].bytes : 0;
        size_t next = nv->blocks[i].state == NAIVE_FREE ? i + 1 : i;
        uint64_t bytes = req->rounded - have;

        if (bytes > nv->blocks[next].bytes)
            bytes = nv->blocks[next].bytes;
        if (!map_front(nv, &next, bytes))
            return NONE;
        i = next;
    }
    return i;
}

static size_t request_from_driver(struct naive *nv, const struct request *req)
{
    struct naive_segment *segment;
    uint64_t address;

    if (nv->limit != UINT64_MAX && reserved(nv) + req->segment > nv->limit)
        return NONE;
    if (nv->conf.expandable_segments)
        return grow(nv, req);
    if (!nv->driver.segment_alloc(nv->driver.user, req->segment, &address))
        return NONE;
    nv->device_allocs++;
    segment = vs_calloc(1, sizeof(*segment));
    *segment = (struct naive_segment){.address = address,
                                      .bytes = req->segment,
                                      .stream = req->stream,
                                      .pool = req->pool,
                                      .is_small = req->is_small};
    insert_sorted(
        nv, (struct naive_block){.address = address, .bytes = req->segment, .segment = segment});
    return index_of(nv, address);
}

/* ---- get and put ---- */

static uint64_t growable(const struct naive *nv, size_t i)
{
    return nv->blocks[i].bytes +
           (is_neighbour(nv, i, i + 1) && nv->blocks[i + 1].state == NAIVE_UNMAPPED
                ? nv->blocks[i + 1].bytes
                : 0);
}

/* The block that a search finds next after `i`: of equal size at a higher address, or of the next larger size. */
static size_t next_in_order(const struct naive *nv, const struct request *req, size_t i)
{
    for (size_t j = i + 1; j < nv->count; j++) {
        if (nv->blocks[j].state == NAIVE_FREE && is_in_pool(&nv->blocks[j], req) &&
            nv->blocks[j].segment->stream == req->stream &&
            nv->blocks[j].bytes == nv->blocks[i].bytes)
            return j;
    }
    return smallest_from(nv, req, nv->blocks[i].bytes + 1);
}

static size_t find_free(struct naive *nv, const struct request *req)
{
    const uint64_t split = nv->conf.max_split_bytes;
    size_t i = smallest_from(nv, req, req->rounded);
    size_t next;

    if (i == NONE)
        return i;
    while (nv->blocks[i].segment->granule && (next = next_in_order(nv, req, i)) != NONE &&
           growable(nv, next) < growable(nv, i))
        i = next;
    if (req->rounded < split && nv->blocks[i].bytes >= split)
        return NONE;
    if (req->rounded >= split &&
        nv->blocks[i].bytes >= req->rounded + nv->conf.max_non_split_rounding)
        return NONE;
    return i;
}

static void note_peaks(struct naive *nv)
{
    struct naive_sums sums = naive_sum(nv);
    uint64_t allocated = sums.allocated_bytes[0] + sums.allocated_bytes[1];
    uint64_t requested = sums.requested_bytes[0] + sums.requested_bytes[1];

    nv->peak_allocated = allocated > nv->peak_allocated ? allocated : nv->peak_allocated;
    nv->peak_requested = requested > nv->peak_requested ? requested : nv->peak_requested;
}

static void hand_out(struct naive *nv, size_t i, const struct request *req)
{
    uint64_t rest = nv->blocks[i].bytes - req->rounded;
    bool is_cut = req->is_small || nv->conf.expandable_segments
                      ? rest >= 512
                      : req->rounded < nv->conf.max_split_bytes && rest > MIB;

    if (is_cut) {
        struct naive_block tail = nv->blocks[i];

        tail.address += req->rounded;
        tail.bytes = rest;
        tail.age_base = nv->searches[req->is_small ? 0 : 1];
        insert_at(nv, i + 1, tail);
        nv->blocks[i].bytes = req->rounded;
    }
    nv->blocks[i].state = NAIVE_USED;
    nv->blocks[i].requested = req->bytes;
}

bool naive_get(struct naive *nv, uint64_t bytes, uint64_t stream, uint64_t *out_address)
{
    struct request req = {.bytes = bytes, .stream = stream, .pool = nv->region_pool};
    size_t i;

    if (nv->region_pool == 0)
        complete_all(nv);
    req.rounded = eng_alloc_round_bytes(&nv->conf, bytes);
    req.is_small = req.rounded <= MIB;
    req.segment = eng_alloc_segment_bytes(&nv->conf, req.rounded);
    if (collects(nv) && req.pool == 0)
        nv->searches[req.is_small ? 0 : 1]++;
    i = find_free(nv, &req);
    if (i == NONE) {
        if (collects(nv))
            collect_garbage(nv);
        i = request_from_driver(nv, &req);
        if (i == NONE && release_oversize(nv, &req))
            i = request_from_driver(nv, &req);
    }
    if (i == NONE && nv->region_pool == 0) {
        flush(nv);
        nv->retries++;
        i = request_from_driver(nv, &req);
    }
    if (i == NONE) {
        nv->ooms++;
        return false;
    }
    hand_out(nv, i, &req);
    *out_address = nv->blocks[i].address;
    note_peaks(nv);
    return true;
}

void naive_put(struct naive *nv, uint64_t address)
{
    size_t i = index_of(nv, address);

    if (nv->blocks[i].is_shared)
        nv->blocks[i].state = NAIVE_PENDING;
    else
        settle(nv, i, NAIVE_FREE);
}

void naive_share(struct naive *nv, uint64_t address)
{
    nv->blocks[index_of(nv, address)].is_shared = true;
}

void naive_release(struct naive *nv)
{
    for (size_t i = 0; i < nv->count; i++) {
        if (!is_neighbour(nv, i, i + 1))
            free(nv->blocks[i].segment);
    }
    vs_free(nv->blocks);
}

struct naive_sums naive_sum(const struct naive *nv)
{
    struct naive_sums sums = {0};

    for (size_t i = 0; i < nv->count; i++) {
        const struct naive_block *block = &nv->blocks[i];
        const int k = block->segment->is_small ? 0 : 1;

        if (block->state != NAIVE_UNMAPPED)
            sums.reserved_bytes[k] += block->bytes;
        if (!block->segment->granule && !is_neighbour(nv, i, i + 1))
            sums.segment[k]++;
        if (block->state == NAIVE_USED) {
            sums.allocation[k]++;
            sums.allocated_bytes[k] += block->bytes;
        }
        if (block->state == NAIVE_USED || block->state == NAIVE_PENDING) {
            sums.active[k]++;
            sums.active_bytes[k] += block->bytes;
            sums.requested_bytes[k] += block->requested;
        }
        if (block->state == NAIVE_FREE && !block->segment->granule && !is_alone(nv, i)) {
            sums.inactive_split[k]++;
            sums.inactive_split_bytes[k] += block->bytes;
        }
    }
    return sums;
}
