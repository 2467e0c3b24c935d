/*
 * cli/cmd_diff.c - prints what differs between two traces.
 *
 * For:            `vramscope diff`.
 * Must not know:  what a difference is; that is replay/diff/diff.h.
 * Invariant:      as diff(1): exit status 0 equal, 1 different, 2 any error.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmds.h"
#include "replay/diff/diff.h"

#define TOP_DEFAULT 20
#define TOP_MAX 1000000
#define TROUBLE 2

static const struct cli_option OPTIONS[] = {
    {"by", 0, "WHAT", false, "what a row stands for: category (default), module, line, tensor"},
    {"at", 0, "WHEN", false,
     "the events to compare: peak (default), step or step=N (the highest of a step), event=N or "
     "event=N,M"},
    {"max-growth", 0, "PERCENT", false,
     "exit with 1 if B has more than A by more than this (1%, 0.5%), else with 0"},
    {"top", 'n', "N", false, "how many rows to print (default 20); JSON has all"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/* The options. growth: limit in per cent; NaN: no limit. */
struct request {
    struct rpl_diff_options options;
    double growth;
    size_t top;
};

static enum vs_status by_get(const struct cli_args *args, struct request *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, "by");

    out->options.by = RPL_DIFF_CATEGORY;
    if (!text || rpl_diff_by_parse(text, &out->options.by))
        return VS_OK;
    return vs_fail(err, VS_E_USAGE,
                   "diff: --by cannot be `%s`; legal: category, module, line, tensor", text);
}

/* A number from 0 at *text, which is then behind it. */
static bool number_read(const char **text, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0 && *out <= INT64_MAX;
}

/* "peak", "step", "step=2", "event=812", "event=812,930". False: none of them. */
static bool at_read(const char *text, struct rpl_diff_options *out)
{
    uint64_t step;

    if (strcmp(text, "peak") == 0)
        return true;
    out->at = RPL_DIFF_AT_STEP;
    if (strcmp(text, "step") == 0)
        return true;
    if (strncmp(text, "step=", 5) == 0) {
        text += 5;
        if (!number_read(&text, &step) || *text)
            return false;
        out->step = (int64_t)step;
        return true;
    }
    out->at = RPL_DIFF_AT_EVENT;
    if (strncmp(text, "event=", 6) != 0)
        return false;
    text += 6;
    if (!number_read(&text, &out->event_a))
        return false;
    if (*text == ',') {
        text++;
        if (!number_read(&text, &out->event_b))
            return false;
    }
    return !*text;
}

static enum vs_status at_get(const struct cli_args *args, struct request *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, "at");

    out->options.at = RPL_DIFF_AT_PEAK;
    out->options.step = RPL_DIFF_STEP_LAST;
    if (!text || at_read(text, &out->options))
        return VS_OK;
    return vs_fail(err, VS_E_USAGE,
                   "diff: --at cannot be `%s`; legal: peak, step, step=N, event=N, event=N,M",
                   text);
}

/* "1%", "0.5%", "1": per cent. */
static enum vs_status growth_get(const struct cli_args *args, struct request *out,
                                 struct vs_error *err)
{
    const char *text = cli_args_value(args, "max-growth");
    char *end;

    out->growth = (double)NAN;
    if (!text)
        return VS_OK;
    out->growth = strtod(text, &end);
    if (end != text && *end == '%')
        end++;
    if (end == text || *end || !(out->growth >= 0) || !isfinite(out->growth))
        return vs_fail(err, VS_E_USAGE,
                       "diff: --max-growth cannot be `%s`; give a percentage such as 1%%", text);
    return VS_OK;
}

static int status_of(const struct rpl_diff *diff, const struct request *request)
{
    double a = (double)diff->live.a;

    if (isnan(request->growth))
        return diff->is_same ? 0 : 1;
    if (diff->live.b <= diff->live.a)
        return 0;
    return (double)(diff->live.b - diff->live.a) > a * request->growth / 100.0 ? 1 : 0;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_diff diff = {.arena = NULL};
    struct rpl_trace *traces[2] = {NULL, NULL};
    struct rpl_index *indexes[2] = {NULL, NULL};
    struct request request = {.top = 0};
    enum vs_status st = by_get(args, &request, &err);
    int status = TROUBLE;

    if (!st)
        st = at_get(args, &request, &err);
    if (!st)
        st = cli_args_count(args, "top", TOP_DEFAULT, TOP_MAX, &request.top, &err);
    if (!st)
        st = growth_get(args, &request, &err);
    for (int i = 0; i < 2 && !st; i++) {
        st = rpl_trace_open(args->positionals[i], &traces[i], &err);
        if (!st)
            st = rpl_index_open(traces[i], NULL, NULL, &indexes[i], &err);
    }
    if (!st)
        st = rpl_diff_fill(&diff, indexes[0], indexes[1], &request.options, &err);
    if (st) {
        cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        rpl_diff_json(&diff, &text);
    else
        rpl_diff_text(&diff, args->positionals[0], args->positionals[1], request.top, &text);
    if (rpl_trace_check(traces[0], &err))
        cli_fail(&err);
    else if (cli_print_of(traces[1], &text) == 0)
        status = status_of(&diff, &request);
out:
    vs_text_release(&text);
    rpl_diff_release(&diff);
    for (int i = 0; i < 2; i++) {
        rpl_index_free(indexes[i]);
        rpl_trace_free(traces[i]);
    }
    return status;
}

const struct cli_cmd cli_cmd_diff = {
    .name = "diff",
    .usage = "A B [--by WHAT] [--at WHEN] [--max-growth PERCENT] [--top N] [--json]",
    .summary = "Explain the difference between two traces, at their peaks and over a step",
    .help = "A is before, B after. The rows add up to the difference, to the byte.\n"
            "Exit status: 0 nothing differs, 1 something does, 2 the work failed or wrong usage.\n"
            "With --max-growth: 0 B has not grown by more than that, 1 it has.\n\n"
            "  vramscope diff before.db after.db\n"
            "  vramscope diff before.db after.db --by module\n"
            "  vramscope diff before.db after.db --by tensor --at step=0\n"
            "  vramscope diff main.db branch.db --max-growth 1%\n",
    .options = OPTIONS,
    .positionals_min = 2,
    .positionals_max = 2,
    .run = run,
};
