/*
 * cli/cmd_report.c - prints the report on a trace.
 *
 * For:            `vramscope report`.
 * Must not know:  what the report says; that is replay/report/report.h.
 * Invariant:      the events of the trace are only read; its index is stored in the file where it is missing.
 */
#include <string.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "cli/ranks.h"
#include "cli/sweep.h"
#include "replay/report/report.h"

#define TOP_DEFAULT 10
#define TOP_MAX 10000
#define RANKS_MAX 65536

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {"ranks", 0, NULL, false,
     "the traces of all ranks that were recorded with this one: the peak of each, and what "
     "differs"},
    {"top", 'n', "N", false, "how many of the largest tensors to show (default 10)"},
    {NULL, 0, NULL, false, NULL},
};

static enum vs_status non_pytorch_fill(struct rpl_report *report, const char *path,
                                       struct rpl_non_pytorch *out, struct vs_error *err)
{
    struct rpl_trace *driver = rpl_driver_trace_open(report->trace, path);
    enum vs_status st = VS_OK;

    if (driver) {
        st = rpl_non_pytorch_fill(out, report->trace, driver, err);
        report->non_pytorch = out;
    }
    rpl_trace_free(driver);
    return st;
}

/* Advice is only given after an out-of-memory error: it takes some thirty runs. */
static void add_text(const struct rpl_report *report, struct rpl_trace *trace, const char *name,
                     struct vs_text *out)
{
    struct vs_error err = VS_ERROR_INIT;

    rpl_report_text(report, name, out);
    if (report->sum.oom.event && cli_advice_text(trace, name, out, &err))
        VS_LOG(VS_LOG_CLI, 1, "%s", err.text);
}

static void add_json(const struct rpl_report *report, struct rpl_trace *trace, struct vs_text *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    rpl_report_members_json(report, &json);
    vs_json_key(&json, "advice");
    if (!report->sum.oom.event)
        vs_json_null(&json);
    else if (cli_advice_json(trace, &json, &err))
        VS_LOG(VS_LOG_CLI, 1, "%s", err.text);
    vs_json_end(&json);
}

static enum vs_status ranks_fill(const struct cli_args *args, struct rpl_ranks *ranks,
                                 struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (args->positional_count == 1)
        st = cli_ranks_find(args->positionals[0], ranks, err);
    else
        for (size_t i = 0; i < args->positional_count && !st; i++)
            st = rpl_ranks_add(ranks, args->positionals[i], err);
    return st ? st : rpl_ranks_fill(ranks, NULL, NULL, err);
}

/* Several traces: the summary over ranks. */
static int run_ranks(const struct cli_args *args, size_t top)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_ranks ranks = {.count = 0};
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    int status;

    if (ranks_fill(args, &ranks, &err)) {
        status = cli_fail(&err);
    } else {
        vs_json_init(&json, &text);
        if (cli_args_has(args, "json"))
            rpl_ranks_json(&ranks, &json);
        else
            rpl_ranks_text(&ranks, top, &text);
        status = cli_print(&text);
    }
    vs_text_release(&text);
    rpl_ranks_release(&ranks);
    return status;
}

static int run_one(const struct cli_args *args, size_t top)
{
    struct rpl_non_pytorch other = {.at = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    int status;

    if (rpl_trace_open(args->positionals[0], &trace, &err) ||
        rpl_report_fill(&report, trace, top, &err) ||
        non_pytorch_fill(&report, args->positionals[0], &other, &err)) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        add_json(&report, trace, &text);
    else
        add_text(&report, trace, args->positionals[0], &text);
    status = cli_print_of(trace, &text);
out:
    vs_text_release(&text);
    rpl_non_pytorch_release(&other);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return status;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    size_t top = 0;

    if (cli_args_count(args, "top", TOP_DEFAULT, TOP_MAX, &top, &err))
        return cli_fail(&err);
    if (args->positional_count > 1 || cli_args_has(args, "ranks"))
        return run_ranks(args, top);
    return run_one(args, top);
}

const struct cli_cmd cli_cmd_report = {
    .name = "report",
    .usage = "TRACE… [--ranks] [--top N] [--json]",
    .summary = "Show the peak of a trace: its tensors and their holders, per step and phase",
    .help = "Several traces are ranks of one program: the peak of each, and what differs between "
            "them.\n\n"
            "  vramscope report trace.db\n"
            "  vramscope report trace.db --ranks\n"
            "  vramscope report trace.db trace.rank1.db\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = RANKS_MAX,
    .run = run,
};
