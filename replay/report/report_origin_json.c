/*
 * replay/report/report_origin_json.c - the report as JSON: how a trace came about, and what it therefore lacks.
 *
 * For:            replay/report/report_json.c.
 * Invariant:      a member whose figures the trace does not have is null, never left out.
 */
#include "replay/report/dropped.h"
#include "replay/report/report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void rpl_report_derived_json(const struct rpl_trace *trace, struct vs_json *json)
{
    const char *alike = rpl_trace_meta(trace, "steps_alike");

    vs_json_key(json, "derived");
    if (!rpl_trace_meta(trace, "derived")) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    vs_json_put_string(json, "what", rpl_trace_meta(trace, "derived"));
    vs_json_put_string(json, "from", rpl_trace_meta(trace, "derived_from"));
    vs_json_put_string(json, "steps_by", rpl_trace_meta(trace, "steps_by"));
    vs_json_put_double(json, "steps_alike", alike ? strtod(alike, NULL) / 1000 : (double)NAN);
    vs_json_end(json);
}

void rpl_report_observed_json(const struct rpl_trace *trace, struct vs_json *json)
{
    static const struct {
        const char *name;
        const char *key;
    } NUMBERS[] = {{"allocations", "observed"},
                   {"of", "observed_of"},
                   {"own", "observed_own"},
                   {"collected", "observed_collected"}};

    vs_json_key(json, "observed");
    if (!rpl_trace_meta(trace, "observed")) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        const char *value = rpl_trace_meta(trace, NUMBERS[i].key);

        vs_json_put_uint(json, NUMBERS[i].name, value ? strtoull(value, NULL, 10) : 0);
    }
    vs_json_put_string(json, "ended", rpl_trace_meta(trace, "observed_ended"));
    vs_json_put_string(json, "saves_unknown", rpl_trace_meta(trace, "observed_saves_unknown"));
    vs_json_end(json);
}

void rpl_report_arithmetic_json(const struct rpl_trace *trace, struct vs_json *json)
{
    uint64_t ops = 0;
    uint64_t unknown = 0;

    vs_json_key(json, "arithmetic");
    if (!rpl_trace_has_arithmetic(trace) || !rpl_trace_meta_uint(trace, "arithmetic_ops", &ops) ||
        !rpl_trace_meta_uint(trace, "arithmetic_unknown", &unknown)) {
        vs_json_null(json);
        return;
    }
    vs_json_object_flat(json);
    vs_json_put_uint(json, "ops", ops);
    vs_json_put_uint(json, "unknown", unknown);
    vs_json_put_string(json, "unknown_ops", rpl_trace_meta(trace, "arithmetic_unknown_ops"));
    vs_json_end(json);
}

/* Of an imported history: the lines of a note. */
static void lines_json(const char *lines, struct vs_json *json)
{
    vs_json_array(json);
    while (lines && *lines) {
        size_t len = strcspn(lines, "\n");
        struct vs_text line = {NULL, 0, 0};

        vs_text_add_n(&line, lines, len);
        vs_json_string(json, vs_text_get(&line));
        vs_text_release(&line);
        lines += len + (lines[len] == '\n');
    }
    vs_json_end(json);
}

void rpl_report_partial_json(const struct rpl_trace *trace, struct vs_json *json)
{
    const char *reason = rpl_trace_meta(trace, "partial");

    vs_json_key(json, "partial");
    if (!reason) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_string(json, "reason", reason);
    vs_json_key(json, "dropped");
    lines_json(rpl_trace_meta(trace, "dropped"), json);
    vs_json_key(json, "unsure");
    lines_json(rpl_trace_meta(trace, "unsure"), json);
    vs_json_end(json);
}

void rpl_report_dropped_json(const struct rpl_trace *trace, struct vs_json *json)
{
    struct rpl_run_peak peak;
    uint64_t dropped = 0;
    uint64_t start = 0;

    vs_json_key(json, "dropped");
    if (!rpl_trace_meta_uint(trace, "dropped_events", &dropped)) {
        vs_json_null(json);
        return;
    }
    (void)!rpl_trace_meta_uint(trace, "start_events", &start);
    vs_json_object_flat(json);
    vs_json_put_uint(json, "events", dropped);
    vs_json_put_uint(json, "start_events", start);
    vs_json_key(json, "run_peak");
    if (rpl_run_peak(trace, &peak)) {
        vs_json_object_flat(json);
        vs_json_put_uint(json, "allocated", peak.bytes);
        vs_json_put_uint(json, "event", peak.event);
        vs_json_put_int(json, "step", peak.step);
        vs_json_end(json);
    } else {
        vs_json_null(json);
    }
    vs_json_end(json);
}
