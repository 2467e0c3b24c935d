/*
 * replay/match/match.h - compares a recording of a real GPU with a trace, event by event.
 *
 * For:            `vramscope match`, tests.
 * Must not know:  files, the engine.
 * Invariant:      pure: the same list and trace give the same result. Addresses and block numbers are never compared
 *                 as numbers: two frees agree if they free blocks of two allocations that agree, two addresses if they
 *                 are at the same offset in segments that two agreeing events allocated.
 */
#ifndef RPL_MATCH_H
#define RPL_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/*
 * What is compared.
 *
 * TENSORS      allocations and frees of tensors; those of libraries and kernels are omitted on both sides
 * ALLOCATIONS  these as well
 * ALL          segments as well, and the segment and offset of each allocation
 */
enum rpl_match_scope { RPL_MATCH_TENSORS, RPL_MATCH_ALLOCATIONS, RPL_MATCH_ALL };

/* "tensors", "allocations", "all". */
const char *rpl_match_scope_name(enum rpl_match_scope scope);

/*
 * An event of either side.
 *
 * kind       enum vs_mem_kind: ALLOC, FREE_REQUESTED, SEGMENT_*, OOM
 * cls        enum vs_mem_class of the block that is allocated or freed
 * which      alloc, free: number of the block on this side; segment_alloc, segment_free: number of the segment
 * segment    alloc: its segment, SIZE_MAX if not recorded; offset: in that segment, in bytes
 * at         recording: index of the event in the list; trace: event number
 * events     number of events of the list: a free and its completion are one item
 */
struct rpl_match_item {
    uint64_t bytes;
    uint64_t offset;
    size_t segment;
    size_t which;
    uint64_t at;
    uint32_t events;
    uint8_t kind;
    uint8_t cls;
};

/*
 * One side.
 *
 * segment_bytes   by segment number
 * requested_peak  the highest sum of requested bytes over the items, plus that of the blocks that they free without
 *                 having allocated them
 */
struct rpl_match_side {
    struct rpl_match_item *items;
    size_t count, cap;
    size_t which_count;
    uint64_t *segment_bytes;
    size_t segment_count, segment_cap;
    uint64_t requested_peak;
};

/* The first difference of two items. */
enum rpl_match_why {
    RPL_MATCH_SAME,
    /* One side has ended. */
    RPL_MATCH_END,
    RPL_MATCH_KIND,
    RPL_MATCH_BYTES,
    /* Another block or segment is freed. */
    RPL_MATCH_WHICH,
    /* Another segment or another offset. */
    RPL_MATCH_WHERE,
};

/*
 * same_items   number of items that agree, from the start; same_events and events count events of the list
 * why          difference at item same_items; RPL_MATCH_SAME: everything agrees
 * more_allocs  allocations of the trace after the last item of the list. (The recording ends with its program, the
 *              trace frees everything at the end, so frees there are no difference.)
 * reordered    frees that agree except for their order (any_free_order)
 * left_out, left_out_bytes  allocations of the list that were not compared, by class
 */
struct rpl_match {
    const struct vs_memlist *list;
    struct rpl_trace *trace;
    enum rpl_match_scope scope;
    struct rpl_match_side real;
    struct rpl_match_side ours;
    size_t same_items;
    uint64_t same_events;
    uint64_t events;
    enum rpl_match_why why;
    size_t more_allocs;
    size_t reordered;
    uint64_t left_out[VS_MEM_CLASS_COUNT];
    uint64_t left_out_bytes[VS_MEM_CLASS_COUNT];
};

/*
 * first_seq       event of the trace at which the list begins; 1: the first
 * any_free_order  consecutive frees may be in any order: autocast's cache of casts is freed in an order that depends
 *                 on addresses
 */
struct rpl_match_options {
    enum rpl_match_scope scope;
    uint64_t first_seq;
    bool any_free_order;
};

/*
 * Compare the whole list with the trace. `list` and `trace` are borrowed until the release.
 * VS_E_VALUE: the list has no addresses, so ALL cannot be compared. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_match_fill(struct rpl_match *out, const struct vs_memlist *list,
                                          struct rpl_trace *trace,
                                          const struct rpl_match_options *options,
                                          struct vs_error *err);
void rpl_match_release(struct rpl_match *match);

/* True if every event of the list agrees, and the trace allocates nothing else. */
bool rpl_match_is_equal(const struct rpl_match *match);

/*
 * *out: the event at which `phase` of `step` begins, or the step itself (phase VS_PHASE_COUNT); 0: the trace does not
 * have it.
 */
VS_MUST_USE enum vs_status rpl_match_first_event(struct rpl_trace *trace, int64_t step,
                                                 enum vs_phase phase, uint64_t *out,
                                                 struct vs_error *err);

/*
 * Append the first difference to `out`, with the events around it on both sides, each with its op and location.
 * Nothing if there is none.
 */
void rpl_match_text(const struct rpl_match *match, struct vs_text *out);

struct vs_json;
/* Add the result to an open JSON object; docs/formats/json.md lists the members. */
void rpl_match_json(const struct rpl_match *match, struct vs_json *json);

#endif
