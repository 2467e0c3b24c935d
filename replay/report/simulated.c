/*
 * replay/report/simulated.c - see simulated.h.
 *
 * Invariant:      only this file parses `host_reads` of meta (docs/formats/trace-format.md).
 */
#include "replay/report/simulated.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void rpl_simulated_of(const struct rpl_trace *trace, struct rpl_simulated *out)
{
    const char *reads = rpl_trace_meta(trace, "host_reads");
    char *rest = NULL;

    memset(out, 0, sizeof(*out));
    out->name = rpl_trace_meta(trace, "gpu_played");
    if (!out->name)
        return;
    out->first = rpl_trace_meta(trace, "host_read_first");
    out->reads = reads ? strtoull(reads, &rest, 10) : 0;
    out->read_bytes = rest ? strtoull(rest, NULL, 10) : 0;
}

void rpl_simulated_text(const struct rpl_trace *trace, struct vs_text *out)
{
    struct rpl_simulated gpu;
    char bytes[VS_BYTES_TEXT_MAX];

    rpl_simulated_of(trace, &gpu);
    if (!gpu.name)
        return;
    vs_text_addf(out, "simulated GPU: %s; sizes are PyTorch's, values are zeros\n", gpu.name);
    if (!gpu.reads)
        vs_text_add(out, "host reads of device values: none\n");
    else
        vs_text_addf(out,
                     "host reads of device values: %" PRIu64 " (%s)%s%s; from there on memory may "
                     "differ from that of a real GPU\n",
                     gpu.reads, vs_bytes_text(gpu.read_bytes, bytes),
                     gpu.first ? ", first at " : "", gpu.first ? gpu.first : "");
}

void rpl_simulated_json(const struct rpl_trace *trace, struct vs_json *json)
{
    struct rpl_simulated gpu;

    rpl_simulated_of(trace, &gpu);
    if (!gpu.name)
        return;
    vs_json_key(json, "played");
    vs_json_object(json);
    vs_json_put_string(json, "gpu", gpu.name);
    vs_json_put_uint(json, "host_reads", gpu.reads);
    vs_json_put_uint(json, "host_read_bytes", gpu.read_bytes);
    vs_json_put_string(json, "first_read", gpu.first);
    vs_json_end(json);
}
