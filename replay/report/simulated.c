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
#include "base/target.h"

void rpl_simulated_of(const struct rpl_trace *trace, struct rpl_simulated *out)
{
    const char *reads = rpl_trace_meta(trace, "host_reads");
    char *rest = NULL;

    memset(out, 0, sizeof(*out));
    out->name = rpl_trace_meta(trace, "gpu_played");
    if (!out->name)
        return;
    out->first = rpl_trace_meta(trace, "host_read_first");
    out->kinds = rpl_trace_meta(trace, "host_read_kinds");
    out->unknown = rpl_trace_meta(trace, "gpu_unknown");
    out->reads = reads ? strtoull(reads, &rest, 10) : 0;
    out->read_bytes = rest ? strtoull(rest, NULL, 10) : 0;
}

uint64_t rpl_simulated_total(const struct rpl_trace *trace)
{
    const char *name = rpl_trace_meta(trace, "gpu_played");
    const struct vs_target *target;
    char bytes[VS_BYTES_TEXT_MAX];

    for (size_t i = 0; name && (target = vs_target_at(i)) != NULL; i++) {
        struct vs_text text = {NULL, 0, 0};
        bool is_it;

        vs_text_addf(&text, "%s, %s,", target->title, vs_bytes_text(target->capacity_bytes, bytes));
        is_it = strncmp(name, vs_text_get(&text), text.len) == 0;
        vs_text_release(&text);
        if (is_it)
            return target->capacity_bytes;
    }
    return 0;
}

/* The length of the text at `*list`, which moves behind it and the bar that follows; 0: there is none. */
static int text_next(const char **list, const char **out)
{
    const char *end;

    *out = *list;
    if (!*list || !**list)
        return 0;
    end = strstr(*list, " | ");
    *list = end ? end + strlen(" | ") : *list + strlen(*list);
    return (int)((end ? end : *list) - *out);
}

/* One kind of reads: COUNT OPERATOR PLACE. The strings are not terminated. */
struct kind {
    uint64_t count;
    const char *name, *first;
    int name_len, first_len;
};

/* The next kind of `*kinds`, which moves behind it; false: there is none, or it cannot be read. */
static bool kind_next(const char **kinds, struct kind *out)
{
    const char *at;
    const int len = text_next(kinds, &at);
    const char *end = at + len;
    char *rest;

    if (!len)
        return false;
    out->count = strtoull(at, &rest, 10);
    if (rest == at || *rest != ' ')
        return false;
    out->name = rest + 1;
    out->name_len = (int)strcspn(out->name, " ");
    out->first = out->name + out->name_len + 1;
    if (out->first >= end)
        return false;
    out->first_len = (int)(end - out->first);
    return true;
}

void rpl_simulated_text(const struct rpl_trace *trace, struct vs_text *out)
{
    struct rpl_simulated gpu;
    struct kind kind;
    const char *at;
    int len;
    char bytes[VS_BYTES_TEXT_MAX];

    rpl_simulated_of(trace, &gpu);
    if (!gpu.name)
        return;
    vs_text_addf(out, "simulated GPU: %s; sizes are PyTorch's, %s\n", gpu.name,
                 strstr(gpu.name, "--values uniform") ? "integers are computed, floats are not"
                                                      : "values are zeros");
    if (!gpu.reads)
        vs_text_add(out, "host reads of device values: none\n");
    else
        vs_text_addf(out,
                     "host reads of device values: %" PRIu64 " (%s)%s%s; from there on memory may "
                     "differ from that of a real GPU\n",
                     gpu.reads, vs_bytes_text(gpu.read_bytes, bytes),
                     gpu.first ? ", first at " : "", gpu.first ? gpu.first : "");
    while (kind_next(&gpu.kinds, &kind))
        vs_text_addf(out, "  %.*s: %" PRIu64 ", first at %.*s\n", kind.name_len, kind.name,
                     kind.count, kind.first_len, kind.first);
    while ((len = text_next(&gpu.unknown, &at)) != 0)
        vs_text_addf(out, "unknown to the simulated GPU: %.*s\n", len, at);
}

void rpl_simulated_json(const struct rpl_trace *trace, struct vs_json *json)
{
    struct rpl_simulated gpu;
    struct kind kind;
    const char *at;
    int len;

    rpl_simulated_of(trace, &gpu);
    if (!gpu.name)
        return;
    vs_json_key(json, "played");
    vs_json_object(json);
    vs_json_put_string(json, "gpu", gpu.name);
    vs_json_put_uint(json, "host_reads", gpu.reads);
    vs_json_put_uint(json, "host_read_bytes", gpu.read_bytes);
    vs_json_put_string(json, "first_read", gpu.first);
    vs_json_key(json, "reads");
    vs_json_array(json);
    while (kind_next(&gpu.kinds, &kind)) {
        struct vs_text text = {NULL, 0, 0};

        vs_json_object(json);
        vs_text_add_n(&text, kind.name, (size_t)kind.name_len);
        vs_json_put_string(json, "operator", vs_text_get(&text));
        vs_json_put_uint(json, "count", kind.count);
        text.len = 0;
        vs_text_add_n(&text, kind.first, (size_t)kind.first_len);
        vs_json_put_string(json, "first", vs_text_get(&text));
        vs_json_end(json);
        vs_text_release(&text);
    }
    vs_json_end(json);
    vs_json_key(json, "unknown");
    vs_json_array(json);
    while ((len = text_next(&gpu.unknown, &at)) != 0) {
        struct vs_text text = {NULL, 0, 0};

        vs_text_add_n(&text, at, (size_t)len);
        vs_json_string(json, vs_text_get(&text));
        vs_text_release(&text);
    }
    vs_json_end(json);
    vs_json_end(json);
}
