/*
 * replay/trace/trace_mem.h - the tables of a trace that is kept in memory.
 *
 * For:            replay/trace/trace.c; whatif/whatif.c, which fills one.
 * Must not know:  files, what events mean (but for `step`).
 * Invariant:      ids count from 1 without gaps; clearing keeps the memory, so that one run after another costs no
 *                 allocation.
 */
#ifndef RPL_TRACE_MEM_H
#define RPL_TRACE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/trace/mem_pack.h"
#include "replay/trace/trace.h"

/* A few pairs in the order they came, key by key unique. */
struct rpl_mem_pair {
    char *key;
    char *value;
    bool is_default;
};
struct rpl_mem_pairs {
    struct rpl_mem_pair *items;
    size_t count;
    size_t cap;
};

/*
 * packed      what there is of events and tensors besides, or instead: where is_packed, `events`, `tensors` and the
 *             tables are empty
 */
struct rpl_mem {
    struct rpl_mem_packed *packed;
    bool is_packed;
    struct vs_arena *arena;
    struct vs_event *events;
    size_t event_count;
    size_t event_cap;
    const char **strings; /* in the arena */
    size_t string_count;
    size_t string_cap;
    struct vs_table strings_by_hash;
    struct vs_location *locations;
    size_t location_count;
    size_t location_cap;
    struct vs_table locations_by_hash;
    struct vs_tensor_desc *tensors;
    size_t tensor_count;
    size_t tensor_cap;
    struct rpl_step *steps;
    size_t step_count;
    size_t step_cap;
    struct rpl_mem_pairs meta;
    struct rpl_mem_pairs toggles;
    struct rpl_mem_pairs source;
};

struct rpl_mem *rpl_mem_new(void) VS_MUST_USE;
void rpl_mem_free(struct rpl_mem *mem);
void rpl_mem_clear(struct rpl_mem *mem);
uint32_t rpl_mem_string(struct rpl_mem *mem, const char *text);
uint32_t rpl_mem_location(struct rpl_mem *mem, const struct vs_location *location);
void rpl_mem_tensor(struct rpl_mem *mem, const struct vs_tensor_desc *desc);
/* The slow way of the next. */
void rpl_mem_event_first(struct rpl_mem *mem, const struct vs_event *event);
static inline void rpl_mem_event(struct rpl_mem *mem, const struct vs_event *event)
{
    if (mem->event_count == mem->event_cap || event->kind == VS_EV_STEP || mem->step_count == 0)
        rpl_mem_event_first(mem, event);
    else
        mem->events[mem->event_count++] = *event;
}
void rpl_mem_pair(struct rpl_mem_pairs *pairs, const char *key, const char *value, bool is_default);
/*
 * Room for so many events and tensors before the first is added, so that neither table is copied while they are: a run
 * of which somebody may ask for something else meanwhile should not stand still. What is never written to takes no
 * memory. No events or tensors are there (asserted).
 */
void rpl_mem_reserve(struct rpl_mem *mem, size_t events, size_t tensors);
/* Give back what the vectors have room for and do not use: nothing more will be added soon. */
void rpl_mem_trim(struct rpl_mem *mem);
/*
 * A part of making it small: events and tensors are packed, a millisecond's worth each time, while they can be looked
 * at all along; what the last part frees goes to `room`, an empty one. False: nothing was left to do. Nothing may be
 * added afterwards, until it is cleared.
 */
VS_MUST_USE bool rpl_mem_pack(struct rpl_mem *mem, struct rpl_mem *spare);
/* Nobody looks at it any more, so that what was unpacked for that can go. */
void rpl_mem_close(struct rpl_mem *mem);
/*
 * `count` events from `first` (1 …) on: in place where that can be, and then good as long as rpl_mem_packed_chunk
 * says; else in `buffer`.
 */
const struct vs_event *rpl_mem_events(struct rpl_mem *mem, uint64_t first, size_t count,
                                      struct vs_event *buffer);
/* Tensor `id`, 1 … tensor_count; its name alone. */
struct vs_tensor_desc rpl_mem_tensor_get(const struct rpl_mem *mem, uint32_t id);
static inline uint32_t rpl_mem_tensor_name(const struct rpl_mem *mem, uint32_t id)
{
    return mem->is_packed ? mem->packed->own[id - 1].name : mem->tensors[id - 1].name;
}
/* Host memory of the tables, texts of pairs left out: they are few. */
uint64_t rpl_mem_bytes(const struct rpl_mem *mem);
/* NULL where there is no such key. */
const char *rpl_mem_pair_get(const struct rpl_mem_pairs *pairs, const char *key);

#endif
