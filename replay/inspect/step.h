/*
 * replay/inspect/step.h - stepping through a trace, in both directions.
 *
 * For:            the TUI's keys that move the cursor, and its list of ops.
 * Must not know:  keys and cursors: the results are event numbers.
 * Invariant:      each verb has a set of stops, which depends on the trace alone; a step forwards goes to the next
 *                 stop, a step backwards to the previous one. So k steps forwards and k backwards from a stop lead
 *                 back to it.
 *
 * Errors of all functions are those of reading the trace.
 */
#ifndef RPL_STEP_H
#define RPL_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/index/index.h"

/*
 * Go from event `seq` (0 … event count) forwards over `count` stops of `verb`, or backwards over -count. *out is the
 * event reached; *made (may be NULL) is the number of steps made, which is smaller where the trace has no more stops
 * in that direction. Without any step *out is `seq`. Reads at most two chunks.
 */
VS_MUST_USE enum vs_status rpl_step(struct rpl_index *index, uint64_t seq, enum rpl_verb verb,
                                    int64_t count, uint64_t *out, uint64_t *made,
                                    struct vs_error *err);

/* Number of stops that the verb has in the whole trace. */
uint64_t rpl_step_total(const struct rpl_index *index, enum rpl_verb verb);
/* *out: the number of these stops at or before event `seq`, as in "op 1398 of 2719". Reads at most one chunk. */
VS_MUST_USE enum vs_status rpl_step_number(struct rpl_index *index, enum rpl_verb verb,
                                           uint64_t seq, uint64_t *out, struct vs_error *err);
/* *out: the event of stop n, 1 … rpl_step_total. Reads at most one chunk. */
VS_MUST_USE enum vs_status rpl_step_nth(struct rpl_index *index, enum rpl_verb verb, uint64_t n,
                                        uint64_t *out, struct vs_error *err);

/*
 * Leave the module that runs at event `seq`: *out is the next event outside it and its submodules, or backwards the
 * last event before it was entered. Where no module runs at `seq`, *out is the next (previous) event within any. Where
 * there is no such event *out is `seq`. Reads only chunks that may contain the event.
 */
VS_MUST_USE enum vs_status rpl_step_finish(struct rpl_index *index, uint64_t seq, bool is_backward,
                                           uint64_t *out, struct vs_error *err);

/*
 * *out: the next allocation after `seq`, or the previous one before it, by the same source line as event `seq`. *out
 * is `seq` where there is none, or where the event has no source line.
 */
VS_MUST_USE enum vs_status rpl_step_same_line(struct rpl_index *index, uint64_t seq,
                                              bool is_backward, uint64_t *out,
                                              struct vs_error *err);

/* *out: the first event after `seq` at which an op reads block `id`; 0: there is none. */
VS_MUST_USE enum vs_status rpl_step_next_use(struct rpl_index *index, uint64_t id, uint64_t seq,
                                             uint64_t *out, struct vs_error *err);

/*
 * *out: the last event at or before `seq` whose location is wanted; 0: there is none. `wanted` has a flag for each of
 * the location ids 0 … count - 1.
 */
VS_MUST_USE enum vs_status rpl_step_location_back(struct rpl_index *index, uint64_t seq,
                                                  const bool *wanted, size_t count, uint64_t *out,
                                                  struct vs_error *err);

/* Whether the op of this number, which begins with `begin`, is searched for. */
typedef bool rpl_op_is_wanted_fn(void *user, uint64_t number, const struct vs_event *begin);
/*
 * *out: the number of the first wanted op after number `from` (0: from the start) or, backwards, of the last one before
 * it (one more than there are: from the end); 0: there is none. Reads all chunks that have ops on the way. progress may
 * be NULL; it is called with the number of chunks passed. VS_E_STOPPED: it returned false.
 */
VS_MUST_USE enum vs_status rpl_step_op_find(struct rpl_index *index, uint64_t from,
                                            bool is_backward, rpl_op_is_wanted_fn *is_wanted,
                                            void *user, rpl_progress_fn *progress,
                                            void *progress_user, uint64_t *out,
                                            struct vs_error *err);

/*
 * A row of the list of ops.
 *
 * seq, end_seq    events op_begin and op_end; end_seq 0: the op does not end within the trace, or see rpl_step_ops
 * number          number among all ops, as rpl_step_number of RPL_VERB_OP
 * name, location  string id of the op's name; source location of its op_begin
 * role            enum vs_op_role: forward, backward node, or recomputed
 * depth           number of running ops around it, counted from the beginning of the chunk of the first row
 * flops           as recorded
 * before, after   allocated bytes right before seq and right after end_seq
 * highest         the highest allocated bytes in between
 */
struct rpl_op {
    uint64_t seq;
    uint64_t end_seq;
    uint64_t number;
    uint32_t name;
    uint32_t location;
    uint8_t role;
    uint8_t depth;
    uint64_t flops;
    uint64_t before;
    uint64_t after;
    uint64_t highest;
};

/*
 * Fill `out` with the ops of number first … first + count - 1 (first >= 1); *filled is their number, which is smaller
 * where the trace has fewer. Reads the chunks that contain them, one or two for a screenful, and RPL_CHUNK_EVENTS
 * further events at most: an op that ends later has end_seq 0, and its `after` and `highest` are those up to there.
 */
VS_MUST_USE enum vs_status rpl_step_ops(struct rpl_index *index, uint64_t first, size_t count,
                                        struct rpl_op *out, size_t *filled, struct vs_error *err);

#endif
