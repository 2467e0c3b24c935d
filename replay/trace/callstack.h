/*
 * replay/trace/callstack.h - the call stack of an event, where the recording has one.
 *
 * For:            views that show where a block was allocated.
 * Must not know:  SQL, drawing.
 * Invariant:      a trace in memory has no call stacks.
 */
#ifndef RPL_CALLSTACK_H
#define RPL_CALLSTACK_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

/* A frame. func: a text like "train.py:step", borrowed from the trace; line: 0 if not known. */
typedef void rpl_frame_fn(void *user, const char *func, uint32_t line);

/*
 * Call `each` for the frames of event `seq`, the innermost first; not at all if it has no stack. O(log events +
 * frames). Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_trace_stack_each(const struct rpl_trace *trace, uint64_t seq,
                                                rpl_frame_fn *each, void *user,
                                                struct vs_error *err);
/*
 * Set stacks[i] to the number of the call stack of event seqs[i], for `count` of them; 0: it has none. Events with the
 * same number have the same frames. O(count log events). Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_trace_stacks_of(const struct rpl_trace *trace, const uint64_t *seqs,
                                               size_t count, uint32_t *stacks,
                                               struct vs_error *err);

#endif
