/*
 * replay/inspect/step.h - where to go next: the verbs of stepping, all of them in both directions.
 *
 * For:            the keys that move; the list of ops.
 * Must not know:  keys, cursors: it answers with the number of an event.
 * Invariant:      each verb has its set of events to stop at, which depends on the trace alone; forwards is the next of them, backwards
 *                 the one before. So k forwards and k backwards from a stop lead back to it.
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
 * From `seq` (0 … event count) `count` stops of `verb` forwards, or -count backwards. *out is where that leads, *made (may be NULL) how
 * many were made: fewer, where the trace has no more in that direction; with none, *out is `seq`. Reads one chunk at most.
 */
VS_MUST_USE enum vs_status rpl_step(struct rpl_index *index, uint64_t seq, enum rpl_verb verb,
                                    int64_t count, uint64_t *out, uint64_t *made,
                                    struct vs_error *err);

/* How many stops a verb has in the whole trace. */
uint64_t rpl_step_total(const struct rpl_index *index, enum rpl_verb verb);
/* How many of them are at or before event `seq`: "op 1398 of 2719". */
VS_MUST_USE enum vs_status rpl_step_number(struct rpl_index *index, enum rpl_verb verb,
                                           uint64_t seq, uint64_t *out, struct vs_error *err);
/* Stop number n, 1 … rpl_step_total. */
VS_MUST_USE enum vs_status rpl_step_nth(struct rpl_index *index, enum rpl_verb verb, uint64_t n,
                                        uint64_t *out, struct vs_error *err);

/*
 * The next event outside the module (or outside the modules inside it) that the program is in right after `seq`; backwards the last one
 * before it came into it. Outside of every module likewise: the next one inside. *out is `seq` where it never gets there.
 */
VS_MUST_USE enum vs_status rpl_step_finish(struct rpl_index *index, uint64_t seq, bool is_backward,
                                           uint64_t *out, struct vs_error *err);

/*
 * The next allocation after `seq`, or the one before it, made by the same line of the net as event `seq`. *out is `seq` where there is
 * none, or where the event is on no line.
 */
VS_MUST_USE enum vs_status rpl_step_same_line(struct rpl_index *index, uint64_t seq,
                                              bool is_backward, uint64_t *out,
                                              struct vs_error *err);

/* The first event after `seq` at which an op reads block `id`; 0: none does. */
VS_MUST_USE enum vs_status rpl_step_next_use(struct rpl_index *index, uint64_t id, uint64_t seq,
                                             uint64_t *out, struct vs_error *err);

/*
 * The last event up to `seq`, it included, at one of the places that are wanted: a flag a place id, `count` of them. *out 0: there is none.
 */
VS_MUST_USE enum vs_status rpl_step_location_back(struct rpl_index *index, uint64_t seq,
                                                  const bool *wanted, size_t count, uint64_t *out,
                                                  struct vs_error *err);

/*
 * An op as a row of the list of ops.
 *
 * seq, end_seq   its op_begin, and its op_end (0: it never ended)
 * number         as rpl_step_number of RPL_VERB_OP
 * name           string id; place of the op_begin
 * role           0 forward, 1 backward node, 2 inside a re-run
 * depth          ops it is inside of, counted from the first of the row's chunk on
 * flops          as given
 * before, after  allocated bytes right before seq and right after end_seq
 * highest        the most in between
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
 * Ops number first … first + count - 1 into `out`; *filled is how many there are (the trace may have fewer). first >= 1. Reads the chunks
 * they lie in: a screenful lies in one or two. Of an op that ends more than RPL_CHUNK_EVENTS later end_seq is 0 and `after` and `highest` are
 * those so far.
 */
VS_MUST_USE enum vs_status rpl_step_ops(struct rpl_index *index, uint64_t first, size_t count,
                                        struct rpl_op *out, size_t *filled, struct vs_error *err);

#endif
