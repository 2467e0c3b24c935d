/*
 * replay/match/match.h - a recording of a real GPU beside a trace of ours, event by event.
 *
 * For:            `vramscope match`, tests.
 * Must not know:  files, the engine.
 * Invariant:      pure: the same list and trace give the same answer. Addresses and block numbers are never compared
 *                 as numbers: two frees agree where they give back what two agreeing allocations made, two addresses
 *                 where they are at the same offset of segments that two agreeing events made.
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
 * TENSORS      allocations and frees of tensors; what libraries and kernels took for themselves is left out on both
 *              sides
 * ALLOCATIONS  with those
 * ALL          with the segments, and where in them each allocation lies
 */
enum rpl_match_scope { RPL_MATCH_TENSORS, RPL_MATCH_ALLOCATIONS, RPL_MATCH_ALL };

/* "tensors", "allocations", "all". */
const char *rpl_match_scope_name(enum rpl_match_scope scope);

/*
 * One event of either side.
 *
 * kind       enum vs_mem_kind: ALLOC, FREE_REQUESTED, SEGMENT_*, OOM
 * cls        enum vs_mem_class of the allocation made or given back
 * which      alloc, free: the allocation, a number of this side; segment_alloc and _free: the segment, likewise
 * segment    alloc: the segment it lies in, SIZE_MAX where nobody knows; offset: where in it
 * at         recording: index of the event in the list; trace: event number
 * events     how many events of the list it stands for: a free and its completion are one item
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
 * One side. requested_peak: the highest sum of what was asked for over the items, on top of what they free without
 * having made it.
 */
struct rpl_match_side {
    struct rpl_match_item *items;
    size_t count, cap;
    size_t which_count;
    uint64_t *segment_bytes; /* of each segment number */
    size_t segment_count, segment_cap;
    uint64_t requested_peak;
};

/* What two items differ in, the first that applies. */
enum rpl_match_why {
    RPL_MATCH_SAME,
    RPL_MATCH_END, /* one side has ended */
    RPL_MATCH_KIND,
    RPL_MATCH_BYTES,
    RPL_MATCH_WHICH, /* another allocation or segment is given back */
    RPL_MATCH_WHERE, /* another segment or another offset */
};

/*
 * same_items   items that agree from the start on; same_events and events count events of the list
 * why          of item number same_items; RPL_MATCH_SAME: everything agrees. more_allocs: allocations of ours after
 *              the last of the list (the recording ends with its program, ours goes on to let go of everything, so
 *              frees there are no difference)
 * reordered    frees that agree but for their order (any_free_order)
 * left_out, left_out_bytes   allocations of the list that were not compared, by class
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
 * first_seq        event of the trace that the list begins with; 1: the beginning
 * any_free_order   frees that follow each other may come in any order: autocast's cache of copies empties in one that
 *                  depends on addresses
 */
struct rpl_match_options {
    enum rpl_match_scope scope;
    uint64_t first_seq;
    bool any_free_order;
};

/*
 * Compare the whole list with the trace. `list` and `trace` are borrowed until the release.
 * VS_E_VALUE: the list has no addresses, so ALL cannot be compared. Errors of the trace's file.
 */
VS_MUST_USE enum vs_status rpl_match_fill(struct rpl_match *out, const struct vs_memlist *list,
                                          struct rpl_trace *trace,
                                          const struct rpl_match_options *options,
                                          struct vs_error *err);
void rpl_match_release(struct rpl_match *match);

/* Is every event of the list met, and nothing else allocated? */
bool rpl_match_is_equal(const struct rpl_match *match);

/*
 * The event number at which `phase` of `step` begins, or the step (phase VS_PHASE_COUNT); 0: the trace has no such
 * moment.
 */
VS_MUST_USE enum vs_status rpl_match_first_event(struct rpl_trace *trace, int64_t step,
                                                 enum vs_phase phase, uint64_t *out,
                                                 struct vs_error *err);

/*
 * The first difference with what comes before and after it on both sides, each with its op and place. Nothing where
 * there is none.
 */
void rpl_match_text(const struct rpl_match *match, struct vs_text *out);

struct vs_json;
/* The members of an open object: docs/formats/json.md lists them. */
void rpl_match_json(const struct rpl_match *match, struct vs_json *json);

#endif
