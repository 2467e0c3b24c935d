/*
 * cli/mcp/tool_peak.c - the tool `peak`: how high memory rises, where, and what fills it.
 *
 * Must not know:  the protocol.
 * Invariant:      the figures are those of `vramscope report`.
 */
#include "cli/mcp/mcp.h"
#include "replay/report/report.h"
#include "replay/report/warnings.h"

#define TOP 5
#define TOP_MAX 20

static void put_categories(const uint64_t *by_category, struct vs_json *json)
{
    vs_json_key(json, "by_category");
    vs_json_object(json);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        if (by_category[i])
            vs_json_put_uint(json, vs_category_name((enum vs_category)i), by_category[i]);
    vs_json_end(json);
}

static void put_oom(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_oom *oom = &report->sum.oom;

    vs_json_key(json, "out_of_memory");
    if (!oom->event) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "event", oom->event);
    vs_json_put_uint(json, "requested", oom->requested);
    vs_json_put_uint(json, "device_free", oom->device_free);
    vs_json_put_uint(json, "allocated", oom->allocated);
    vs_json_put_uint(json, "reserved", oom->reserved);
    vs_json_key(json, "at");
    mcp_location_json(report->trace, oom->location, json);
    vs_json_end(json);
}

static void put_leak(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_leak *leak = &report->leak;

    vs_json_key(json, "leak");
    if (!leak->count) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_uint(json, "bytes_each_step", leak->bytes / (leak->steps ? leak->steps : 1));
    vs_json_put_uint(json, "bytes", leak->bytes);
    vs_json_put_uint(json, "blocks", leak->count);
    vs_json_put_uint(json, "at_event", leak->at);
    vs_json_key(json, "owner");
    rpl_leak_owner_json(report->trace, &report->leak_owner, json);
    vs_json_end(json);
}

static void put_peak(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_peak *peak = &report->sum.peak;

    vs_json_key(json, "peak");
    vs_json_object(json);
    vs_json_put_uint(json, "allocated", peak->allocated);
    vs_json_put_uint(json, "reserved", peak->reserved);
    vs_json_put_uint(json, "requested", peak->requested);
    vs_json_put_uint(json, "event", peak->event);
    vs_json_put_int(json, "step", peak->step);
    vs_json_put_string(json, "phase", vs_phase_name(peak->phase));
    vs_json_key(json, "at");
    mcp_location_json(report->trace, peak->location, json);
    vs_json_end(json);
}

static enum vs_status run(const struct mcp_call *call, struct vs_json *json, struct vs_error *err)
{
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    uint64_t top;
    enum vs_status st = mcp_arg_count(call, "top", TOP, TOP_MAX, &top, err);

    if (!st)
        st = mcp_arg_trace(call, "trace", &trace, err);
    if (!st)
        st = rpl_report_fill(&report, trace, (size_t)top, err);
    if (!st) {
        vs_json_put_uint(json, "events", report.sum.events);
        vs_json_put_bool(json, "complete", rpl_trace_is_complete(trace));
        put_peak(&report, json);
        put_oom(&report, json);
        vs_json_put_uint(json, "described_event", report.at);
        put_categories(report.by_category, json);
        vs_json_key(json, "by_line");
        rpl_alloc_sites_json(&report.lines, trace, RPL_ALLOC_SITES_BY_LINE, (size_t)top, json);
        vs_json_key(json, "largest");
        vs_json_array(json);
        for (size_t i = 0; i < report.largest_count; i++)
            mcp_block_json(trace, &report.largest[i], json);
        vs_json_end(json);
        put_leak(&report, json);
        rpl_mistakes_json(&report.mistakes, json);
        rpl_uncertainty_json(trace, &report.sum, json);
    }
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return st;
}

const struct mcp_tool mcp_tool_peak = {
    .name = "peak",
    .title = "Peak memory of a run",
    .description =
        "The peak of a trace: allocated and reserved bytes, the event and line where it is, what "
        "fills it by category and by line of the program, its largest blocks with their holders, "
        "what leaks in each step, likely mistakes of a program with their lines, and where memory "
        "ran out. `described_event` is the event that "
        "by_category, by_line and largest describe.",
    .schema =
        "{\"type\": \"object\", \"properties\": {\"trace\": {\"type\": \"string\", "
        "\"description\": \"path of the trace file\"}, \"top\": {\"type\": \"integer\", "
        "\"minimum\": 0, \"maximum\": 20, \"description\": \"how many lines and blocks; 5\"}}}",
    .run = run,
};
