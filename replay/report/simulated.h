/*
 * replay/report/simulated.h - the simulated GPU of a trace: which one, and where the program read its values.
 *
 * For:            the report.
 * Must not know:  how a GPU is simulated.
 * Invariant:      traces of real GPUs and of nets give no output.
 */
#ifndef RPL_SIMULATED_H
#define RPL_SIMULATED_H

#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/*
 * name        name and figures of the simulated GPU; NULL: the trace is not of a simulated GPU
 * reads       how often the host read values from its memory; all of them are zeros
 * read_bytes  how many bytes it read
 * first       file, line and function of the first read; NULL: there was none, or it is not known
 * kinds       "3 item train.py:12 main | 1 nonzero moe.py:7 f": for each operator of PyTorch that read values how often
 *             it did, and where first; NULL: not known
 * unknown     functions and sizes that the program asked for and that are not known, with " | " between; NULL: none
 */
struct rpl_simulated {
    const char *name;
    uint64_t reads;
    uint64_t read_bytes;
    const char *first;
    const char *kinds;
    const char *unknown;
};

/* The strings are borrowed from the trace. */
void rpl_simulated_of(const struct rpl_trace *trace, struct rpl_simulated *out);

/* The bytes of the GPU that was simulated; 0: none was, or it is not in base/target.def. */
uint64_t rpl_simulated_total(const struct rpl_trace *trace);

/*
 * Appends two lines for the head of the report, "simulated GPU: …" and "host reads of device values: …", one for
 * each kind of reads, and one for each thing that is unknown. Appends nothing if no GPU was simulated.
 */
void rpl_simulated_text(const struct rpl_trace *trace, struct vs_text *out);
/*
 * Writes the member `played` into the open object: {"gpu", "host_reads", "host_read_bytes", "first_read", "reads":
 * [{"operator", "count", "first"}], "unknown": [texts]}. Writes nothing if no GPU was simulated.
 */
void rpl_simulated_json(const struct rpl_trace *trace, struct vs_json *json);

#endif
