/*
 * replay/inspect/leak.h - what each training step leaves behind for good.
 *
 * For:            the report.
 * Must not know:  how it is shown.
 * Invariant:      a step that ends where the step before it ended leaks nothing.
 *
 * Leaked is what a step made that is still alive when the step after it is over. What the loop itself keeps until it binds the name
 * anew (output, loss, batch) is gone by then; the first step is left out, because it makes the optimizer's state; so is the last, because
 * nothing has had the time to let go of it.
 */
#ifndef RPL_LEAK_H
#define RPL_LEAK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

/*
 * at               the end of the last whole step: who is still alive there; 0: there are not three whole steps, nothing is known
 * first_seq, last_seq   what was made from here to there, and is alive at `at`, is leaked
 * bytes, count     of all leaked blocks; steps: how many steps they come from
 * blocks           block_count of the largest, the largest first
 */
#define RPL_LEAK_MAX 8
struct rpl_leak {
    uint64_t at;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t bytes;
    uint64_t count;
    uint64_t steps;
    struct rpl_block blocks[RPL_LEAK_MAX];
    size_t block_count;
};

/* The two halves: where to look, of which `at` is 0 where nothing is known, and what is there, the state being that right after out->at. */
void rpl_leak_begin(struct rpl_leak *out, const struct rpl_trace *trace);
void rpl_leak_take(struct rpl_leak *out, const struct rpl_live *live);

/* Reads the trace once. Errors: those of reading it. */
VS_MUST_USE enum vs_status rpl_leak_fill(struct rpl_leak *out, struct rpl_trace *trace,
                                         struct vs_error *err);

#endif
