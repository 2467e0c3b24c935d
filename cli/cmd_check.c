/*
 * cli/cmd_check.c - `check`: compares the figures of a trace with limits.
 *
 * For:            `vramscope check`, in continuous integration.
 * Must not know:  what is measured; that is replay/report/check.h.
 * Invariant:      as `vramscope diff`: exit status 0 within the limits, 1 a limit is exceeded, 2 any error.
 */
#include "base/bytes.h"
#include "cli/cmds.h"
#include "replay/report/check.h"

#define TROUBLE 2

/* The first rows are in the order of enum rpl_limit. */
static const struct cli_option OPTIONS[] = {
    {"max-peak", 0, "BYTES", false, "highest allocated bytes: 70G, 512M"},
    {"max-reserved", 0, "BYTES", false, "highest bytes in segments"},
    {"max-growth-per-step", 0, "BYTES", false,
     "how much more may be allocated at the end of a step than at that of the one before; 0: no "
     "leak"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

static enum vs_status limits_get(const struct cli_args *args, struct rpl_check *check,
                                 struct vs_error *err)
{
    bool has_any = false;

    for (size_t i = 0; i < RPL_LIMIT_COUNT; i++) {
        const char *text = cli_args_value(args, OPTIONS[i].name);

        if (!text)
            continue;
        if (!vs_bytes_parse(text, &check->limits[i].max))
            return vs_fail(err, VS_E_USAGE,
                           "check: --%s cannot be `%s`; give a size such as 70G, 512M or 0",
                           OPTIONS[i].name, text);
        check->limits[i].is_set = has_any = true;
    }
    if (has_any)
        return VS_OK;
    return vs_fail(
        err, VS_E_USAGE,
        "check: no limit is given; give --max-peak, --max-reserved or --max-growth-per-step");
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_check check = {.passed = false};
    struct rpl_trace *trace = NULL;
    int status = TROUBLE;

    if (limits_get(args, &check, &err) || rpl_trace_open(args->positionals[0], &trace, &err) ||
        rpl_check_fill(&check, trace, &err)) {
        cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        rpl_check_json(&check, &text);
    else
        rpl_check_text(&check, args->positionals[0], &text);
    if (cli_print_of(trace, &text) == 0)
        status = check.passed ? 0 : 1;
out:
    vs_text_release(&text);
    rpl_check_release(&check);
    rpl_trace_free(trace);
    return status;
}

const struct cli_cmd cli_cmd_check = {
    .name = "check",
    .usage = "TRACE [--max-peak BYTES] [--max-reserved BYTES] [--max-growth-per-step BYTES] "
             "[--json]",
    .summary = "Check a trace against limits, for continuous integration",
    .help = "Exit status: 0 within all limits, 1 over one or out of memory, 2 the work failed or "
            "wrong usage.\n\n"
            "  vramscope check trace.db --max-peak 70G --max-growth-per-step 0\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
