/*
 * replay/trace/trace_internal.h - what only the index may know of a trace: where its events lie.
 *
 * For:            replay/index*.c, replay/trace/marks.c, whatif/whatif.c.
 * Must not know:  what events mean.
 * Invariant:      a trace has a reader or its events in memory, never both.
 */
#ifndef RPL_TRACE_INTERNAL_H
#define RPL_TRACE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"
#include "store/reader.h"

/* The reader of a trace in a file; NULL: it is in memory. */
struct sto_reader *rpl_trace_reader(const struct rpl_trace *trace);
/* The tables of a trace in memory; NULL: it is in a file. */
struct rpl_mem *rpl_trace_memory(const struct rpl_trace *trace);
/*
 * Name and block of the next tensor that has a name; *id: the last one looked at, 0 at first, then that tensor's.
 * False: there is none, and *id is the last.
 */
VS_MUST_USE bool rpl_trace_tensor_named(const struct rpl_trace *trace, uint32_t *id, uint32_t *name,
                                        uint64_t *block);

/*
 * `count` events from `first` on, as an array: *out points into the trace in memory, or to `buffer`, which has room
 * for them. A kept run in memory that was made small (replay/trace/mem_pack.h) has a chunk of an index in place, and
 * more, or of two chunks, only in `buffer`. Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_trace_span(struct rpl_trace *trace, uint64_t first, size_t count,
                                          struct vs_event *buffer, const struct vs_event **out,
                                          struct vs_error *err);

#endif
