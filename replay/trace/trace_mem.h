/*
 * replay/trace/trace_mem.h - the tables of a trace in memory.
 *
 * For:            replay/trace/trace.c; whatif/whatif.c, which fills one.
 * Must not know:  files, what events mean (except `step`).
 * Invariant:      ids count from 1 without gaps. Clearing keeps the memory, so filling it with another run does not
 *                 allocate.
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

/* A short list of pairs in the order they were added; keys are unique. */
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
 * packed     the compressed part of events and tensors
 * is_packed  all of them are in `packed`; `events`, `tensors` and their tables are then empty
 */
struct rpl_mem {
    struct rpl_mem_packed *packed;
    bool is_packed;
    struct vs_arena *arena;
    struct vs_event *events;
    size_t event_count;
    size_t event_cap;
    /* Texts are in the arena. */
    const char **strings;
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
/* Append an event; handles growth of the array and steps, which rpl_mem_event leaves to it. */
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
 * Reserve capacity for the given numbers of events and tensors before the first is added (asserted), so that the
 * arrays are not copied while they grow: a copy would delay the poll for a key press. Pages that are never written
 * take no memory.
 */
void rpl_mem_reserve(struct rpl_mem *mem, size_t events, size_t tensors);
/* Free the spare capacity of all arrays; call it when nothing will be added soon. */
void rpl_mem_trim(struct rpl_mem *mem);
/*
 * Do one part, of about a millisecond, of compressing events and tensors, which stay readable between the calls. The
 * last part moves the uncompressed arrays to `spare`, an empty trace, for reuse. Returns false when nothing was left
 * to do. Nothing may be added afterwards until rpl_mem_clear.
 */
VS_MUST_USE bool rpl_mem_pack(struct rpl_mem *mem, struct rpl_mem *spare);
/* Free the decompressed chunks of a compressed trace. */
void rpl_mem_close(struct rpl_mem *mem);
/*
 * `count` events, beginning with event `first` (from 1): not copied where possible, and then borrowed as
 * rpl_mem_packed_chunk describes; otherwise copied to `buffer`.
 */
const struct vs_event *rpl_mem_events(struct rpl_mem *mem, uint64_t first, size_t count,
                                      struct vs_event *buffer);
/* The description of tensor `id`, 1 … tensor_count; and its name alone (a string id). */
struct vs_tensor_desc rpl_mem_tensor_get(const struct rpl_mem *mem, uint32_t id);
static inline uint32_t rpl_mem_tensor_name(const struct rpl_mem *mem, uint32_t id)
{
    return mem->is_packed ? mem->packed->own[id - 1].name : mem->tensors[id - 1].name;
}
/* Host memory of the tables in bytes, except the texts of pairs, which are few. */
uint64_t rpl_mem_bytes(const struct rpl_mem *mem);
/* The value of `key`; NULL if there is none. */
const char *rpl_mem_pair_get(const struct rpl_mem_pairs *pairs, const char *key);

#endif
