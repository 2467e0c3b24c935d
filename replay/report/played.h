/*
 * replay/report/played.h - what a trace says of a GPU that was played: which one, and where values may have mattered.
 *
 * For:            the report.
 * Must not know:  how a GPU is played.
 * Invariant:      a trace of a real GPU, or of a net, says nothing.
 */
#ifndef RPL_PLAYED_H
#define RPL_PLAYED_H

#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/*
 * gpu    name and figures of the GPU; NULL: none was played
 * reads  how often the host read values of its memory, which are zeros, and how many bytes
 * first  file, line and function of the first read; NULL: there was none, or it is not known
 */
struct rpl_played {
    const char *gpu;
    uint64_t reads;
    uint64_t read_bytes;
    const char *first;
};

/* The strings are borrowed from the trace. */
void rpl_played_of(const struct rpl_trace *trace, struct rpl_played *out);

/* Two lines for the head of the report, "played: …" and "values: …"; nothing where no GPU was played. */
void rpl_played_text(const struct rpl_trace *trace, struct vs_text *out);
/*
 * The member `played` into the object that is open: {"gpu", "host_reads", "host_read_bytes", "first_read"}; nothing
 * where no GPU was played.
 */
void rpl_played_json(const struct rpl_trace *trace, struct vs_json *json);

#endif
