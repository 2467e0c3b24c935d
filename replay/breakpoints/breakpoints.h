/*
 * replay/breakpoints/breakpoints.h - breakpoints and watches: where a condition on memory comes true, in both
 * directions.
 *
 * For:            `:break`, `:watch`, the keys that run.
 * Must not know:  command lines, cursors.
 * Invariant:      whether an event is a hit depends on that event, the one before it and the state around them; so the
 *                 hits backwards are the hits forwards, reversed.
 *
 *     break  = term { "and" term }
 *     term   = [ "alloc" | "free" ] [ "size" ] compare BYTES      the bytes asked for, of an alloc where nothing is
 *            said | "total" compare BYTES | "reserved" compare BYTES   allocated, reserved, right after the event
 *            | "slack" compare PERCENT                            reserved but not allocated, of what is reserved; =
 *            and != are not there | "op" match | ( "module" | "layer" ) match | "func" match
 *            | ( "cat" | "category" ) is WORD                     of an alloc, or of a block that comes into another;
 *            a size beside it is the block's | "phase" is WORD | "step" compare N | "line" compare N
 *            | [ "alloc" | "free" ] "block" N                     any event about the block
 *            | "alloc" | "free" | "oom" | any other kind of event
 *     watch  = [ "tensor" ] GLOB
 *     compare = ">" | ">=" | "<" | "<=" | "=" | "!=";  before N it may be left out, and is "=" then
 *     match  = [ "=" | "!=" ] GLOB | "~" EXPRESSION
 *     is     = [ "=" | "!=" ]
 *     BYTES  = a number with an optional K, M, G or T (of 1024; "iB" or "B" may follow)
 *
 * GLOB has * and ?, and is compared to the whole; EXPRESSION is an extended regular expression that is found anywhere.
 * Both may stand in quotes. A module's glob that ends in ".*" also means the module itself. Words are the same in
 * capitals.
 *
 * A condition that has a term about one event (a size, a category, a block, a kind) hits at each event that fulfils
 * all its terms. One that has only terms about how things stand (total, reserved, slack, op, module, func, line,
 * phase, step) hits where it comes true: it did not hold right after the event before.
 *
 * "tensor P" (or P alone) hits whenever something happens to a block that goes by that name: made, given back, another
 * category; or when a variable of that name takes hold of a tensor or lets go of it. A block goes by the name of its
 * parameter or buffer, and by "MODULE.OP" of where it was made; a variable by "NAME" and "FUNCTION.NAME".
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

/* The index is borrowed. No breaks in it. The caller frees it before the index. */
struct rpl_breakpoints *rpl_breakpoints_new(struct rpl_index *index) VS_MUST_USE;
void rpl_breakpoints_free(struct rpl_breakpoints *set);

/*
 * Add a break ("total > 70G") or a watch ("tensor x"). Its number, from 1 and never used again, comes back in *number.
 * VS_E_SYNTAX: the text names the column, what stands there and what could.
 */
VS_MUST_USE enum vs_status rpl_breakpoints_add(struct rpl_breakpoints *set, const char *condition,
                                               uint32_t *number, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_breakpoints_watch(struct rpl_breakpoints *set, const char *what,
                                                 uint32_t *number, struct vs_error *err);

/*
 * number, text  as added (the text in one spelling)
 * is_on         switched on
 * is_once       goes after its first hit; the caller removes it
 * ignore        hits that the caller still lets pass
 */
struct rpl_breakpoint {
    uint32_t number;
    const char *text;
    bool is_watch;
    bool is_on;
    bool is_once;
    uint64_t ignore;
};

/* In order of number. Borrowed until one is added or removed. */
size_t rpl_breakpoints_count(const struct rpl_breakpoints *set);
const struct rpl_breakpoint *rpl_breakpoints_at(const struct rpl_breakpoints *set, size_t i);
/* The one with this number, to be switched; NULL: there is none. */
struct rpl_breakpoint *rpl_breakpoints_get(struct rpl_breakpoints *set, uint32_t number);
/* False: there is none. */
bool rpl_breakpoints_remove(struct rpl_breakpoints *set, uint32_t number);

/*
 * Can the break with this number, which there is, hit anywhere in the trace? False is certain: no event is of a sort
 * that could. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_breakpoints_can_hit(struct rpl_breakpoints *set, uint32_t number,
                                                   bool *out, struct vs_error *err);

/*
 * A hit. seq 0: there is none in that direction.
 * numbers   of the breaks that hit there, the lowest first, at most RPL_HIT_MAX; count: how many did
 */
#define RPL_HIT_MAX 8
struct rpl_hit {
    uint64_t seq;
    uint32_t numbers[RPL_HIT_MAX];
    size_t count;
};

/*
 * The first hit after event `seq` (0 … event count), or, backwards, the last one before it, of all breaks that are on.
 *
 * Chunks in which nothing can hit are not read. progress may be NULL; it is told how many events were gone through,
 * and false ends with VS_E_STOPPED. Other errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_breakpoints_run(struct rpl_breakpoints *set, uint64_t seq,
                                               bool is_backward, rpl_progress_fn *progress,
                                               void *user, struct rpl_hit *out,
                                               struct vs_error *err);

#endif
