/*
 * tests/replay/inspect/naive.h - the results of replay/inspect/alive.h, found by reading every event of a trace from
 * the start.
 *
 * Tests compare the two. The members of the results have the meaning that replay/inspect/alive.h gives them.
 */
#ifndef TESTS_REPLAY_INSPECT_NAIVE_H
#define TESTS_REPLAY_INSPECT_NAIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/inspect/alive.h"
#include "replay/trace/trace.h"

/*
 * Fill `count` whys right after event `at`. Each whys[i].id is set and different from the others; the other members
 * are zero. Names of backward nodes that ran before they saved the block are not found. The caller releases each, also
 * after a failure.
 */
VS_MUST_USE enum vs_status naive_why_fill(struct rpl_trace *trace, uint64_t at,
                                          struct rpl_why *whys, size_t count, struct vs_error *err);

/* The unused blocks right after event `at`, which is not 0. */
VS_MUST_USE enum vs_status naive_kept_fill(struct rpl_kept_list *out, struct rpl_trace *trace,
                                           uint64_t at, struct vs_error *err);

/* What the training steps leak. */
VS_MUST_USE enum vs_status naive_leak_fill(struct rpl_leak *out, struct rpl_trace *trace,
                                           struct vs_error *err);

#endif
