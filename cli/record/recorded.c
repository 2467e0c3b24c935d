/*
 * cli/record/recorded.c - see recorded.h.
 */
#include "cli/record/recorded.h"

#include "base/bytes.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/cmds.h"
#include "cli/sweep.h"
#include "replay/report/dropped.h"
#include "replay/report/report.h"

#define TOP_AT_OOM 10

static void add_result(const char *path, const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_summary *sum = &report->sum;
    char bytes[VS_BYTES_TEXT_MAX];
    char events[VS_BYTES_TEXT_MAX];
    struct rpl_run_peak whole;

    vs_text_addf(out, "%s: %s events%s, ", path, vs_bytes_exact_text(sum->events, events),
                 rpl_has_dropped(report->trace) ? " kept" : "");
    if (rpl_run_peak(report->trace, &whole))
        vs_text_addf(out, "peak of the whole run %s, ", vs_bytes_text(whole.bytes, bytes));
    vs_text_addf(out, "peak %s%s in %s; `vramscope report %s` shows what fills the peak\n",
                 rpl_has_dropped(report->trace) ? "of what was kept " : "",
                 vs_bytes_text(sum->peak.allocated, bytes), vs_phase_name(sum->peak.phase), path);
}

static void add_result_json(const char *path, const struct rpl_report *report, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "trace", path);
    vs_json_put_string(&json, "outcome", rpl_trace_meta(report->trace, "outcome"));
    vs_json_put_uint(&json, "events", report->sum.events);
    vs_json_key(&json, "peak");
    rpl_peak_json(report->trace, &report->sum.peak, &json);
    vs_json_end(&json);
}

/* The report on what filled the device, and advice. */
static void add_oom_report(const char *path, const struct rpl_report *report, struct vs_text *out)
{
    struct vs_error err = VS_ERROR_INIT;

    rpl_report_text(report, path, out);
    if (cli_advice_text(report->trace, path, out, &err))
        VS_LOG(VS_LOG_CLI, 1, "%s", err.text);
}

int cli_recorded_show(const char *path, bool is_oom, bool as_json)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    int status;

    if (rpl_trace_open(path, &trace, &err) ||
        rpl_report_fill(&report, trace, is_oom ? TOP_AT_OOM : 0, &err)) {
        status = cli_fail(&err);
    } else {
        if (as_json)
            add_result_json(path, &report, &text);
        else if (is_oom)
            add_oom_report(path, &report, &text);
        else
            add_result(path, &report, &text);
        status = cli_print(&text);
    }
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return status;
}
