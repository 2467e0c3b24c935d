/*
 * replay/breakpoints/breakpoints.h - breakpoints and watches: finds the events at which a condition on memory becomes
 * true, in both directions.
 *
 * For:            `:break`, `:watch`, and the keys that run to the next hit.
 * Must not know:  command lines, cursors.
 * Invariant:      whether an event is a hit depends only on that event, the one before it and the state around them;
 *                 so the hits backwards are the hits forwards in reverse order.
 *
 *     break  = term { "and" term }
 *     term   = [ "alloc" | "free" ] [ "size" ] compare BYTES      requested bytes; of an alloc unless "free" is given
 *            | "total" compare BYTES | "reserved" compare BYTES   allocated, reserved, right after the event
 *            | "slack" compare PERCENT                            share of the reserved bytes that is not allocated;
 *            without = and !=
 *            | "op" match | ( "module" | "layer" ) match | "func" match
 *            | ( "cat" | "category" ) is WORD                     of an alloc, or the new category of a block; a size
 *            beside it is the block's
 *            | "phase" is WORD | "step" compare N | "line" compare N
 *            | [ "alloc" | "free" ] "block" N                     any event about the block
 *            | "alloc" | "free" | "oom" | any other kind of event
 *     watch  = [ "tensor" ] GLOB
 *     compare = ">" | ">=" | "<" | "<=" | "=" | "!=";  before N it may be omitted and is then "="
 *     match  = [ "=" | "!=" ] GLOB | "~" EXPRESSION
 *     is     = [ "=" | "!=" ]
 *     BYTES  = a number with an optional K, M, G or T (powers of 1024; "iB" or "B" may follow)
 *
 * GLOB knows * and ?, and must match the whole text; EXPRESSION is an extended regular expression that matches
 * anywhere. Both may be quoted. A module's glob that ends in ".*" also matches the module itself. Words may be written
 * in capitals.
 *
 * A condition with a term about one event (a size, a category, a block, a kind) hits at each event that fulfils all
 * its terms. A condition with only terms about the state (total, reserved, slack, op, module, func, line, phase, step)
 * hits where it becomes true: it was false right after the event before.
 *
 * A watch "tensor P" hits whenever a block of that name is allocated, freed or changes its category, and whenever a
 * variable of that name acquires or releases a reference. The names of a block are that of its parameter or buffer,
 * and "MODULE.OP" of its allocation site; those of a variable "NAME" and "FUNCTION.NAME".
 */
#ifndef RPL_BREAKPOINTS_H
#define RPL_BREAKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/index/index.h"

struct rpl_breakpoints;

/* An empty set of breakpoints. The index is borrowed. The caller frees the set before the index. */
struct rpl_breakpoints *rpl_breakpoints_new(struct rpl_index *index) VS_MUST_USE;
void rpl_breakpoints_free(struct rpl_breakpoints *set);

/*
 * Add a breakpoint ("total > 70G") or a watch ("tensor x"). *number is its number, from 1, never used again.
 * VS_E_SYNTAX: the text names the column, what is there and what is allowed there.
 */
VS_MUST_USE enum vs_status rpl_breakpoints_add(struct rpl_breakpoints *set, const char *condition,
                                               uint32_t *number, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_breakpoints_watch(struct rpl_breakpoints *set, const char *what,
                                                 uint32_t *number, struct vs_error *err);

/*
 * number   as returned when it was added
 * text     its text in normal form
 * is_on    it is enabled
 * is_once  it is to be removed after its first hit, by the caller
 * ignore   number of hits that the caller is to ignore
 */
struct rpl_breakpoint {
    uint32_t number;
    const char *text;
    bool is_watch;
    bool is_on;
    bool is_once;
    uint64_t ignore;
};

/* All breakpoints and watches in order of number. Borrowed until one is added or removed. */
size_t rpl_breakpoints_count(const struct rpl_breakpoints *set);
const struct rpl_breakpoint *rpl_breakpoints_at(const struct rpl_breakpoints *set, size_t i);
/* The one with this number, whose switches may be changed; NULL: there is none. */
struct rpl_breakpoint *rpl_breakpoints_get(struct rpl_breakpoints *set, uint32_t number);
/* Remove the one with this number. False: there is none. */
bool rpl_breakpoints_remove(struct rpl_breakpoints *set, uint32_t number);

/*
 * *out: whether breakpoint `number`, which must exist, can hit anywhere in the trace. False is certain: no event class
 * fulfils it. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_breakpoints_can_hit(struct rpl_breakpoints *set, uint32_t number,
                                                   bool *out, struct vs_error *err);

/*
 * A hit.
 *
 * seq      the event; 0: there is no hit in that direction
 * numbers  the breakpoints that hit there, the lowest first, at most RPL_HIT_MAX
 * count    how many hit
 */
#define RPL_HIT_MAX 8
struct rpl_hit {
    uint64_t seq;
    uint32_t numbers[RPL_HIT_MAX];
    size_t count;
};

/*
 * The first hit after event `seq` (0 … event count), or, backwards, the last one before it, of all enabled breakpoints
 * and watches.
 *
 * Chunks in which nothing can hit are not read. progress may be NULL; it is called with the number of events passed.
 * VS_E_STOPPED: progress returned false. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_breakpoints_run(struct rpl_breakpoints *set, uint64_t seq,
                                               bool is_backward, rpl_progress_fn *progress,
                                               void *user, struct rpl_hit *out,
                                               struct vs_error *err);

#endif
