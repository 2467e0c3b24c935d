/*
 * replay/report/played.c - see played.h.
 *
 * Invariant:      only this file parses `host_reads` of meta (docs/formats/trace-format.md).
 */
#include "replay/report/played.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void rpl_played_of(const struct rpl_trace *trace, struct rpl_played *out)
{
    const char *reads = rpl_trace_meta(trace, "host_reads");
    char *rest = NULL;

    memset(out, 0, sizeof(*out));
    out->gpu = rpl_trace_meta(trace, "gpu_played");
    if (!out->gpu)
        return;
    out->first = rpl_trace_meta(trace, "host_read_first");
    out->reads = reads ? strtoull(reads, &rest, 10) : 0;
    out->read_bytes = rest ? strtoull(rest, NULL, 10) : 0;
}

void rpl_played_text(const struct rpl_trace *trace, struct vs_text *out)
{
    struct rpl_played played;
    char bytes[VS_BYTES_TEXT_MAX];

    rpl_played_of(trace, &played);
    if (!played.gpu)
        return;
    vs_text_addf(out, "played: no GPU, but a stand-in for %s: sizes are PyTorch's, values zeros\n",
                 played.gpu);
    if (!played.reads)
        vs_text_add(out, "values: the host read none\n");
    else
        vs_text_addf(out,
                     "values: the host read some %" PRIu64 " time%s (%s)%s%s; from there on memory "
                     "may differ from a GPU\n",
                     played.reads, played.reads == 1 ? "" : "s",
                     vs_bytes_text(played.read_bytes, bytes), played.first ? ", first at " : "",
                     played.first ? played.first : "");
}

void rpl_played_json(const struct rpl_trace *trace, struct vs_json *json)
{
    struct rpl_played played;

    rpl_played_of(trace, &played);
    if (!played.gpu)
        return;
    vs_json_key(json, "played");
    vs_json_object(json);
    vs_json_put_string(json, "gpu", played.gpu);
    vs_json_put_uint(json, "host_reads", played.reads);
    vs_json_put_uint(json, "host_read_bytes", played.read_bytes);
    vs_json_put_string(json, "first_read", played.first);
    vs_json_end(json);
}
