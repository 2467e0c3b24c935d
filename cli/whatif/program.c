/*
 * cli/whatif/program.c - see program.h.
 */
#include "cli/whatif/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "replay/report/figures.h"
#include "replay/report/summary.h"
#include "whatif/program_toggles.h"
#include "whatif/recipe.h"
#include "whatif/rerun.h"

/* Asks on the terminal. False: no, or there is none. */
static bool is_agreed(const struct cli_program_whatif *run)
{
    char answer[16];

    fprintf(stderr, "vramscope: this runs the recorded program again:\n  %s\n",
            vs_text_get(&run->command));
    fputs("Run it? [y/N] ", stderr);
    fflush(stderr);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static enum vs_status agreement_check(const struct cli_program_whatif *run,
                                      const struct wif_recipe *recipe, bool rerun,
                                      struct vs_error *err)
{
    struct vs_text brief = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (rerun)
        return VS_OK;
    wif_recipe_add_brief(recipe, &brief);
    if (!wif_recipe_is_own(recipe))
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "the program was recorded by another user or on another machine (%s), so "
                     "it is not run again; if you trust it, --rerun runs it:\n  %s",
                     recipe->recorded_by, vs_text_get(&brief));
    else if (!isatty(0) || !isatty(2))
        st = vs_fail(err, VS_E_UNSUPPORTED,
                     "this needs the recorded program to run again, and there is no "
                     "terminal to ask on; --rerun runs it:\n  %s",
                     vs_text_get(&brief));
    else if (!is_agreed(run))
        st = vs_fail(err, VS_E_STOPPED, "the program was not run again");
    vs_text_release(&brief);
    return st;
}

/* path: NULL: in a temporary folder. */
static enum vs_status record(struct cli_program_whatif *run, const struct rpl_trace *base,
                             const struct vs_toggles *set, const char *path, struct rpl_trace **out,
                             struct vs_error *err)
{
    struct vs_text file = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (!path)
        st = vs_folder_open(&run->folder, VS_FOLDER_WHATIF, err);
    if (!st) {
        vs_text_addf(&file, "%s%s%s", path ? path : run->folder.path, path ? "" : "/",
                     path ? "" : WIF_RERUN_TRACE);
        cli_running_say(&run->running, "the program is running again");
        st = wif_rerun(base, set, vs_text_get(&file), cli_running_progress, &run->running, err);
        cli_running_clear(&run->running);
    }
    if (!st)
        st = rpl_trace_open(vs_text_get(&file), out, err);
    vs_text_release(&file);
    return st;
}

enum vs_status cli_program_agree(struct cli_program_whatif *run, const struct rpl_trace *base,
                                 bool rerun, bool is_at_terminal, struct vs_error *err)
{
    struct wif_recipe recipe = {.folder = NULL};
    enum vs_status st = wif_recipe_read(base, &recipe, err);

    if (!st) {
        wif_recipe_add_command(&recipe, &run->command);
        wif_recipe_add_changes(&recipe, base, &run->changes);
        fputs(vs_text_get(&run->changes), stderr);
        st = agreement_check(run, &recipe, rerun, err);
    }
    if (!st)
        cli_running_begin(&run->running, is_at_terminal);
    wif_recipe_release(&recipe);
    return st;
}

enum vs_status cli_program_whatif_run(struct cli_program_whatif *run, const struct rpl_trace *base,
                                      const struct vs_toggles *set, bool rerun, const char *path,
                                      struct rpl_trace **out, struct vs_error *err)
{
    enum vs_status st = wif_rerun_check(set, err);

    *out = NULL;
    if (!st && path && access(path, F_OK) == 0)
        st = vs_fail(err, VS_E_EXISTS, "%s: it exists already; --out names another file", path);
    if (!st)
        st = cli_program_agree(run, base, rerun, false, err);
    if (!st)
        st = record(run, base, set, path, out, err);
    return st;
}

enum vs_status cli_event_get(const struct cli_args *args, struct rpl_trace *trace, uint64_t *out,
                             struct vs_error *err)
{
    const uint64_t count = rpl_trace_event_count(trace);
    struct rpl_summary sum = {.events = 0};
    size_t at = 0;
    enum vs_status st = VS_OK;

    if (!cli_args_has(args, "at"))
        st = rpl_figures_summary(trace, &sum, err);
    else if (cli_args_count(args, "at", 0, (size_t)count, &at, err) || !at)
        st = vs_fail(err, VS_E_USAGE, "%s: --at cannot be `%s`; give a number from 1 to %" PRIu64,
                     args->cmd->name, cli_args_value(args, "at"), count);
    *out = at ? at : sum.oom.event ? sum.oom.event : sum.peak.event;
    if (!st && !*out)
        st = vs_fail(err, VS_E_USAGE, "%s: the trace has no event", args->cmd->name);
    rpl_summary_release(&sum);
    return st;
}

void cli_program_whatif_json(const struct cli_program_whatif *run, struct vs_json *json)
{
    if (!run->command.len)
        return;
    vs_json_key(json, "program");
    vs_json_object(json);
    vs_json_put_string(json, "command", vs_text_get(&run->command));
    vs_json_put_string(json, "changed", run->changes.len ? vs_text_get(&run->changes) : NULL);
    vs_json_end(json);
}

void cli_program_whatif_release(struct cli_program_whatif *run)
{
    vs_folder_release(&run->folder);
    vs_text_release(&run->command);
    vs_text_release(&run->changes);
    cli_running_end(&run->running);
    memset(run, 0, sizeof(*run));
}

/* Why toggle `i` can be applied to no program, whatever its value; NULL: it can. */
static const char *reason_of(size_t i)
{
    return wif_program_refusal((enum vs_toggle)i, "");
}

void cli_program_not_tried_text(struct vs_text *out)
{
    vs_text_add(out, "\nNot tried, as it can be applied to no program from outside:\n");
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (reason_of(i))
            vs_text_addf(out, "  %-20s  %s\n", vs_toggle_info((enum vs_toggle)i)->name,
                         reason_of(i));
}

void cli_program_not_tried_json(struct vs_json *json)
{
    vs_json_key(json, "not_tried");
    vs_json_array(json);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        if (!reason_of(i))
            continue;
        vs_json_object_flat(json);
        vs_json_put_string(json, "toggle", vs_toggle_info((enum vs_toggle)i)->name);
        vs_json_put_string(json, "reason", reason_of(i));
        vs_json_end(json);
    }
    vs_json_end(json);
}
