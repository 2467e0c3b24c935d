/*
 * replay/trace/found.h - the holders that were found when a program was run again to single events.
 *
 * For:            replay/index/cursor.c, which shows them at those events; whoever asks whether an event has some.
 * Must not know:  SQL, how they were found (whatif/holders.h).
 * Invariant:      an event has the holders of all its blocks, or none.
 */
#ifndef RPL_FOUND_H
#define RPL_FOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/trace/trace.h"

/* Events that have holders, in order; is_read: the list is that of the file. A part of struct rpl_trace. */
struct rpl_found {
    uint64_t *seqs;
    size_t count;
    size_t cap;
    bool is_read;
};

/* A holder: ids of strings and of a location, 0 for none; kind: enum vs_holder; node: of autograd + 1. */
struct rpl_found_row {
    uint64_t block;
    uint64_t node;
    uint32_t kind;
    uint32_t name;
    uint32_t scope;
    uint32_t location;
};

/*
 * Whether holders of event `seq` were found and stored. False for a trace in memory and where the file cannot be read.
 * The first call after rpl_trace_open or rpl_trace_refresh reads the list.
 */
bool rpl_found_has(struct rpl_trace *trace, uint64_t seq);
/* The file that they are stored in, by the path that the trace was opened by; NULL of a trace in memory. Borrowed. */
const char *rpl_found_path(const struct rpl_trace *trace);
/*
 * The `*count` holders at `seq`, in the order in which they were found; the caller frees *out, NULL on failure. Errors:
 * those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_found_get(struct rpl_trace *trace, uint64_t seq,
                                         struct rpl_found_row **out, size_t *count,
                                         struct vs_error *err);

#endif
