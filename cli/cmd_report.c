/*
 * cli/cmd_report.c - prints the report on a trace.
 *
 * For:            `vramscope report`.
 * Must not know:  what the report says; that is replay/report.h.
 * Invariant:      the trace is only read.
 */
#include "cli/cmds.h"
#include "replay/report.h"

#define TOP_DEFAULT 10
#define TOP_MAX 10000

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON; docs/json.md lists the fields"},
    {"top", 'n', "N", false, "how many of the largest tensors to show (default 10)"},
    {NULL, 0, NULL, false, NULL},
};

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    size_t top = 0;
    int status;

    if (cli_args_count(args, "top", TOP_DEFAULT, TOP_MAX, &top, &err) ||
        rpl_trace_open(args->positionals[0], &trace, &err) ||
        rpl_report_fill(&report, trace, top, &err)) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        rpl_report_json(&report, &text);
    else
        rpl_report_text(&report, args->positionals[0], &text);
    status = cli_print(&text);
out:
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return status;
}

const struct cli_cmd cli_cmd_report = {
    .name = "report",
    .usage = "TRACE [--top N] [--json]",
    .summary = "Show a trace's peak: what is in it, who holds it, per step and phase",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
