/*
 * cli/advise/cmd_advise.c - `advise`: what would help the run of a trace.
 *
 * For:            `vramscope advise`.
 * Must not know:  how advice is found; that is whatif/advise/advise.h and whatif/curve.h.
 * Invariant:      results go to stdout, progress to stderr.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/advise/advise.h"
#include "cli/cmds.h"
#include "cli/progress.h"
#include "cli/whatif/program.h"
#include "whatif/recipe.h"

static const struct cli_option OPTIONS[] = {
    {"capacity", 0, "SIZE", false,
     "memory of the device, such as 24G (default: as recorded): which changes fit, the cheapest of "
     "them, and the largest batch"},
    {"curve", 0, NULL, false,
     "peak against recomputation: the placements of checkpoints between no checkpoint and the "
     "least peak, and copies to the host with their bytes; with --capacity also the cheapest "
     "placement within it"},
    {"points", 0, "N", false, "points of the curve, 2 to 200 (default 16)"},
    {"rerun", 0, NULL, false,
     "of a program: run it again without asking, even if another user or machine recorded it"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

#define POINTS_MAX 200

struct options {
    uint64_t capacity;
    size_t points;
    bool rerun;
    bool json;
};

static enum vs_status options_check(const struct cli_args *args, struct options *out,
                                    struct vs_error *err)
{
    const char *capacity = cli_args_value(args, "capacity");

    *out =
        (struct options){.rerun = cli_args_has(args, "rerun"), .json = cli_args_has(args, "json")};
    if (capacity && (!vs_bytes_parse(capacity, &out->capacity) || out->capacity == 0))
        return vs_fail(err, VS_E_USAGE,
                       "advise: --capacity cannot be `%s`; give a size such as 24G or 800M",
                       capacity);
    if (cli_args_has(args, "points") && !cli_args_has(args, "curve"))
        return vs_fail(err, VS_E_USAGE, "advise: --points is for --curve");
    if (cli_args_count(args, "points", WIF_CURVE_POINTS, POINTS_MAX, &out->points, err))
        return err->status;
    if (out->points < 2)
        return vs_fail(err, VS_E_USAGE, "advise: --points cannot be `%zu`; legal: 2 to %d",
                       out->points, POINTS_MAX);
    return VS_OK;
}

/* ---- --curve ---- */

/* No placement within the capacity is an answer. */
static enum vs_status fit_fill(struct cli_placements *placements, struct rpl_trace *trace,
                               struct vs_error *err)
{
    struct vs_error why = VS_ERROR_INIT;
    enum vs_status st;

    if (!placements->capacity)
        return VS_OK;
    st = wif_place(trace, NULL, placements->capacity, NULL, NULL, &placements->fit, &why);
    if (st == VS_E_VALUE)
        placements->fit_why = vs_strdup(why.text);
    else if (st)
        return vs_fail(err, st, "%s", why.text);
    return VS_OK;
}

static enum vs_status print_curve(struct rpl_trace *trace, const char *name,
                                  const struct options *options, struct vs_text *out,
                                  struct vs_error *err)
{
    struct cli_placements placements = {.capacity = options->capacity};
    enum vs_status st =
        wif_curve_fill(&placements.curve, trace, NULL, options->points, NULL, NULL, err);

    if (!st)
        st = wif_curve_offload(&placements.curve, trace, NULL, NULL, NULL, err);
    if (!st)
        st = fit_fill(&placements, trace, err);
    if (!st && options->json)
        cli_placements_json(&placements, out);
    else if (!st)
        cli_placements_text(&placements, name, out);
    cli_placements_release(&placements);
    return st;
}

/* ---- advice ---- */

struct advising {
    struct cli_progress progress;
    struct cli_program_whatif program;
};

static bool on_next(void *user, size_t tried, const char *next)
{
    struct advising *s = user;

    cli_progress_say(&s->progress, "%zu tried, now %s", tried, *next ? next : "the recorded run");
    return true;
}

/* While a program runs. */
static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    const struct advising *s = user;

    (void)done;
    (void)total;
    return !cli_running_is_stopped(&s->program.running);
}

/* May the program of the trace run again? Where nobody agrees, the settings of the allocator are tried all the same. */
static bool is_agreed(struct advising *s, struct rpl_trace *trace, const struct options *options)
{
    struct vs_error reason = VS_ERROR_INIT;

    if (rpl_trace_source_text(trace) || !wif_recipe_is_in(trace))
        return false;
    if (options->capacity)
        vs_fail(&reason, VS_E_UNSUPPORTED, "a program has the memory of its GPU, not --capacity");
    else if (!cli_program_agree(&s->program, trace, options->rerun, false, &reason))
        return true;
    fprintf(stderr, "vramscope: only settings of the allocator are tried: %s\n", reason.text);
    return false;
}

static enum vs_status print_advice(struct rpl_trace *trace, const char *name,
                                   const struct options *options, struct vs_text *out,
                                   struct vs_error *err)
{
    struct advising s = {.program = {.command = {NULL, 0, 0}}};
    struct wif_advise_options request = {.capacity = options->capacity,
                                         .may_rerun = is_agreed(&s, trace, options),
                                         .progress = on_progress,
                                         .next = on_next,
                                         .user = &s};
    struct wif_advise advise;
    enum vs_status st;

    if (request.may_rerun)
        cli_running_say(&s.program.running, "the program is running again for each toggle");
    cli_progress_init(&s.progress, stderr);
    st = wif_advise_fill(&advise, trace, &request, err);
    cli_progress_end(&s.progress);
    if (!st && options->json)
        cli_advise_json(&advise, trace, request.may_rerun ? &s.program : NULL, out);
    else if (!st)
        cli_advise_text(&advise, trace, name, out);
    wif_advise_release(&advise);
    cli_program_whatif_release(&s.program);
    return st;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_trace *trace = NULL;
    struct options options;
    int status;
    enum vs_status st = options_check(args, &options, &err);

    if (!st)
        st = rpl_trace_open(args->positionals[0], &trace, &err);
    if (!st)
        st = cli_args_has(args, "curve")
                 ? print_curve(trace, args->positionals[0], &options, &text, &err)
                 : print_advice(trace, args->positionals[0], &options, &text, &err);
    status = st ? cli_fail(&err) : cli_print(&text);
    vs_text_release(&text);
    rpl_trace_free(trace);
    return status;
}

const struct cli_cmd cli_cmd_advise = {
    .name = "advise",
    .usage = "TRACE [--capacity SIZE] [--curve [--points N]] [--rerun] [--json]",
    .summary = "Say what would help the run of a trace, what each change saves and costs",
    .help = "The net stored in the trace is run again with each toggle, with lines that release "
            "variables earlier, and with\n"
            "the best of them together. What lowers the peak is listed by what it costs: nothing, "
            "arithmetic, other rounding,\n"
            "or other training. Each figure is that of a run. Leaks, tensors that are kept too "
            "long and parameters that\n"
            "nothing reads follow from the trace. A program that `record` has recorded is run "
            "again with each toggle that can be\n"
            "applied to it, when you agree; otherwise its trace and the allocator's settings "
            "say what they can.\n\n"
            "  vramscope advise trace.db\n"
            "  vramscope advise trace.db --capacity 24G\n"
            "  vramscope advise trace.db --curve\n"
            "  vramscope advise train.db --rerun\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
