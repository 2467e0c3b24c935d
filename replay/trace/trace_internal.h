/*
 * replay/trace/trace_internal.h - where the events of a trace are stored.
 *
 * For:            replay/index, replay/report, replay/trace/found.c, replay/trace/marks.c, whatif/whatif.c.
 * Must not know:  what events mean.
 * Invariant:      a trace has either a reader of a file or its events in memory, never both.
 */
#ifndef RPL_TRACE_INTERNAL_H
#define RPL_TRACE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/found.h"
#include "replay/trace/trace.h"
#include "store/reader.h"

/* The reader of a trace in a file; NULL for a trace in memory. Borrowed. */
struct sto_reader *rpl_trace_reader(const struct rpl_trace *trace);
/* The tables of a trace in memory; NULL for a trace in a file. Borrowed. */
struct rpl_mem *rpl_trace_memory(const struct rpl_trace *trace);
/* At which events the program was run again to, for its holders: replay/trace/found.h. Borrowed. */
struct rpl_found *rpl_trace_found(struct rpl_trace *trace);
/*
 * Find the next tensor that has a name, with an id greater than *id (0 at first).
 *
 * id     on success the id of that tensor; otherwise that of the last tensor
 * name   string id of its name
 * block  the block of its storage
 *
 * Returns false when there are no more.
 */
VS_MUST_USE bool rpl_trace_tensor_named(const struct rpl_trace *trace, uint32_t *id, uint32_t *name,
                                        uint64_t *block);

/*
 * `count` events as an array, beginning with event `first`: *out points into the trace in memory, or to `buffer`,
 * which has capacity for `count` events. Of a run in memory that was compressed (replay/trace/mem_pack.h) whole chunks
 * of an index are not copied; other ranges are copied to `buffer`.
 *
 * Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_trace_span(struct rpl_trace *trace, uint64_t first, size_t count,
                                          struct vs_event *buffer, const struct vs_event **out,
                                          struct vs_error *err);

#endif
