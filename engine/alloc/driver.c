/*
 * engine/alloc/driver.c - a driver that counts bytes and assigns addresses.
 *
 * For:            engine/alloc/driver.h.
 * Must not know:  the allocator's rules.
 * Invariant:      holes are disjoint, not adjacent to each other and all below `end`.
 */
#include "engine/alloc/driver.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/alloc/set.h"

/* Address space for expandable segments begins here, above every address of a segment. */
#define RANGE_BASE UINT64_C(0x1000000000000)

/* A range, keyed by its address. */
struct hole {
    struct eng_set_node node;
    uint64_t bytes;
};

struct eng_sim_driver {
    uint64_t total_bytes;
    uint64_t others_bytes;
    uint64_t used_bytes;
    uint64_t base;
    uint64_t end;
    uint64_t range_end;
    struct eng_set holes; /* freed ranges below `end` */
    struct eng_set given; /* existing segments at addresses set by the caller */
    uint64_t *pushed;     /* addresses set by the caller; the next one is at pushed_first */
    size_t pushed_first;
    size_t pushed_count;
    size_t pushed_cap;
};

struct eng_sim_driver *eng_sim_driver_new(const struct eng_sim_options *opts)
{
    struct eng_sim_driver *sim = vs_calloc(1, sizeof(*sim));

    sim->total_bytes = opts->total_bytes;
    sim->others_bytes = opts->used_bytes;
    sim->base = opts->base ? opts->base : ENG_SIM_BASE;
    sim->end = sim->base;
    sim->range_end = RANGE_BASE;
    return sim;
}

static void ranges_free(struct eng_set *set)
{
    struct eng_set_node *node;

    while ((node = set->root)) {
        eng_set_remove(set, node);
        vs_free(node);
    }
}

void eng_sim_driver_free(struct eng_sim_driver *sim)
{
    if (!sim)
        return;
    ranges_free(&sim->holes);
    ranges_free(&sim->given);
    vs_free(sim->pushed);
    vs_free(sim);
}

void eng_sim_driver_push_address(struct eng_sim_driver *sim, uint64_t address)
{
    sim->pushed = vs_grow(sim->pushed, sim->pushed_count, &sim->pushed_cap, sizeof(*sim->pushed));
    sim->pushed[sim->pushed_count++] = address;
}

uint64_t eng_sim_driver_used(const struct eng_sim_driver *sim)
{
    return sim->used_bytes;
}

void eng_sim_driver_set_total(struct eng_sim_driver *sim, uint64_t bytes)
{
    sim->total_bytes = bytes;
}

void eng_sim_driver_set_used_by_others(struct eng_sim_driver *sim, uint64_t bytes)
{
    sim->others_bytes = bytes;
}

static uint64_t free_bytes(const struct eng_sim_driver *sim)
{
    uint64_t taken = sim->used_bytes + sim->others_bytes;

    return taken >= sim->total_bytes ? 0 : sim->total_bytes - taken;
}

static struct eng_set_key address_key(uint64_t address)
{
    return (struct eng_set_key){{address, 0, 0}};
}

static struct hole *hole_of(struct eng_set_node *node)
{
    return (struct hole *)(void *)node; /* the node is the first member */
}

static void range_insert(struct eng_set *set, uint64_t address, uint64_t bytes)
{
    struct hole *hole = vs_calloc(1, sizeof(*hole));

    hole->bytes = bytes;
    eng_set_insert(set, &hole->node, address_key(address));
}

/* The address for a new range: in the first hole that is large enough, otherwise at `end`. */
static uint64_t range_address(struct eng_sim_driver *sim, uint64_t bytes)
{
    uint64_t address;

    for (struct eng_set_node *node = eng_set_first(&sim->holes); node; node = eng_set_next(node)) {
        struct hole *hole = hole_of(node);

        if (hole->bytes < bytes)
            continue;
        address = node->key.word[0];
        eng_set_remove(&sim->holes, node);
        if (hole->bytes == bytes) {
            vs_free(hole);
        } else {
            hole->bytes -= bytes;
            eng_set_insert(&sim->holes, node, address_key(address + bytes));
        }
        return address;
    }
    address = sim->end;
    sim->end += bytes;
    return address;
}

/* Frees a range: it is merged with neighbouring holes; one at the end lowers `end`. */
static void unplace(struct eng_sim_driver *sim, uint64_t address, uint64_t bytes)
{
    struct eng_set_key key = address_key(address);
    struct eng_set_node *before = eng_set_floor(&sim->holes, &key);
    struct eng_set_node *after = eng_set_ceil(&sim->holes, &key);

    if (before && before->key.word[0] + hole_of(before)->bytes == address) {
        address = before->key.word[0];
        bytes += hole_of(before)->bytes;
        eng_set_remove(&sim->holes, before);
        vs_free(before);
    }
    if (after && after->key.word[0] == address + bytes) {
        bytes += hole_of(after)->bytes;
        eng_set_remove(&sim->holes, after);
        vs_free(after);
    }
    if (address + bytes == sim->end) {
        sim->end = address;
        return;
    }
    range_insert(&sim->holes, address, bytes);
}

static bool take_pushed(struct eng_sim_driver *sim, uint64_t *out)
{
    if (sim->pushed_first == sim->pushed_count)
        return false;
    *out = sim->pushed[sim->pushed_first++];
    return true;
}

static bool sim_segment_alloc(void *user, uint64_t bytes, uint64_t *out_address)
{
    struct eng_sim_driver *sim = user;
    uint64_t granted = vs_bytes_round_up(bytes, ENG_SIM_GRANULE);

    if (granted > free_bytes(sim))
        return false;
    sim->used_bytes += granted;
    if (take_pushed(sim, out_address))
        range_insert(&sim->given, *out_address, granted);
    else
        *out_address = range_address(sim, granted);
    return true;
}

static void sim_segment_free(void *user, uint64_t address, uint64_t bytes)
{
    struct eng_sim_driver *sim = user;
    uint64_t granted = vs_bytes_round_up(bytes, ENG_SIM_GRANULE);
    struct eng_set_key key = address_key(address);
    struct eng_set_node *given = eng_set_ceil(&sim->given, &key);

    VS_ASSERT(sim->used_bytes >= granted);
    sim->used_bytes -= granted;
    if (given && given->key.word[0] == address) {
        eng_set_remove(&sim->given, given);
        vs_free(given);
    } else {
        unplace(sim, address, granted);
    }
}

static bool sim_range_reserve(void *user, uint64_t bytes, uint64_t *out_address)
{
    struct eng_sim_driver *sim = user;

    if (take_pushed(sim, out_address))
        return true;
    *out_address = sim->range_end;
    sim->range_end += vs_bytes_round_up(bytes, ENG_SIM_GRANULE);
    return true;
}

static void sim_range_release(void *user, uint64_t address, uint64_t bytes)
{
    (void)user; /* address space above RANGE_BASE is never reused */
    (void)address;
    (void)bytes;
}

static bool sim_range_map(void *user, uint64_t address, uint64_t bytes)
{
    struct eng_sim_driver *sim = user;

    (void)address;
    if (bytes > free_bytes(sim))
        return false;
    sim->used_bytes += bytes;
    return true;
}

static void sim_range_unmap(void *user, uint64_t address, uint64_t bytes)
{
    struct eng_sim_driver *sim = user;

    (void)address;
    VS_ASSERT(sim->used_bytes >= bytes);
    sim->used_bytes -= bytes;
}

static void sim_mem_info(void *user, uint64_t *out_free_bytes, uint64_t *out_total_bytes)
{
    const struct eng_sim_driver *sim = user;

    *out_free_bytes = free_bytes(sim);
    *out_total_bytes = sim->total_bytes;
}

struct eng_alloc_driver eng_sim_driver_get(struct eng_sim_driver *sim)
{
    return (struct eng_alloc_driver){
        .user = sim,
        .segment_alloc = sim_segment_alloc,
        .segment_free = sim_segment_free,
        .range_reserve = sim_range_reserve,
        .range_release = sim_range_release,
        .range_map = sim_range_map,
        .range_unmap = sim_range_unmap,
        .mem_info = sim_mem_info,
    };
}
