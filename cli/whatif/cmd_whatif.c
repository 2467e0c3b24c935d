/*
 * cli/whatif/cmd_whatif.c - prints the memory that a recorded net would need with other toggles.
 *
 * For:            `vramscope whatif`.
 * Must not know:  how the result is computed (whatif/whatif.h).
 * Invariant:      the trace is only read, and no file is written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/target.h"
#include "cli/cmds.h"
#include "cli/curve.h"
#include "cli/progress.h"
#include "cli/sweep.h"
#include "cli/whatif/answer.h"
#include "cli/whatif/program.h"
#include "cli/whatif/ranks.h"
#include "replay/report/dropped.h"
#include "replay/report/figures.h"
#include "replay/report/report.h"
#include "whatif/cost.h"
#include "whatif/recipe.h"
#include "whatif/rerun.h"
#include "whatif/sweep.h"
#include "whatif/whatif.h"
#include "whatif/why.h"

/* In --each, a peak that rises by one part in this many or more is explained. */
#define RISE_MIN 10

static const struct cli_option OPTIONS[] = {
    {"set", 's', "TOGGLE=VALUE", true, "a toggle to change; may be given more than once"},
    {"capacity", 0, "SIZE", false, "memory of the device, such as 8G (default: as recorded)"},
    {"each", 0, NULL, false,
     "try each toggle alone and the best ones combined, in addition to --set; on a device with a "
     "limit: which of them fit, and the largest batch; a program runs again for each, once you "
     "have agreed"},
    {"curve", 0, "TOGGLE", false,
     "the peak over values of a toggle that is a count, such as batch: what each unit takes, and "
     "what none does"},
    {"ranks", 0, NULL, false,
     "with shard=fsdp: run all ranks that differ, and say which has the highest peak and why"},
    {"rerun", 0, NULL, false,
     "of a program: run it again without asking, even if another user or machine recorded it"},
    {"out", 'o', "FILE", false, "of a program: keep the trace of the run"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/*
 * trace: as recorded, costs: its times; base: what is compared with, the trace, or whole: the run from its beginning,
 * where the trace does not have it; memory: of the what-if; program: how a program ran again; set: of --set, is_set:
 * there is one; capacity: of --capacity, or as recorded
 */
struct session {
    struct rpl_trace *trace;
    struct rpl_trace *base;
    struct rpl_trace *whole;
    struct rpl_trace *memory;
    struct rpl_summary baseline;
    struct wif_costs *costs;
    struct cli_program_whatif program;
    const struct cli_args *args;
    struct vs_toggles set;
    bool is_set;
    uint64_t capacity;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Figures and cost of the run. */
static void answer_fill(struct session *s, struct rpl_trace *run, struct cli_whatif_answer *answer)
{
    const char *refused;

    answer->failed = rpl_summary_fill(&answer->sum, run, &answer->err) ||
                     wif_cost_fill(s->costs, run, &answer->cost, &answer->err);
    refused = answer->failed ? NULL : rpl_trace_meta(run, "refused");
    answer->refused = refused ? vs_strdup(refused) : NULL;
}

/* In memory, or for a program in a file. */
static enum vs_status run_once(struct session *s, struct vs_error *err)
{
    const bool rerun = cli_args_has(s->args, "rerun");

    if (!wif_rerun_is_needed(s->trace, &s->set) && !(rerun && wif_recipe_is_in(s->trace)))
        return wif_run_on(s->trace, &s->set, s->capacity, s->memory, err);
    if (cli_args_has(s->args, "capacity"))
        return vs_fail(err, VS_E_USAGE,
                       "whatif: a program runs again on a GPU of --set target=NAME; --capacity is "
                       "for alloc-conf and target alone");
    rpl_trace_free(s->memory);
    s->memory = NULL;
    return cli_program_whatif_run(&s->program, s->trace, &s->set, rerun,
                                  cli_args_value(s->args, "out"), &s->memory, err);
}

/* Run the what-if of the toggles that were set. */
static void answer_run(struct session *s, struct cli_whatif_answer *answer)
{
    double start = now_ms();

    answer->failed = run_once(s, &answer->err) != VS_OK;
    if (!answer->failed)
        answer_fill(s, s->memory, answer);
    answer->milliseconds = now_ms() - start;
    if (!answer->failed)
        answer->failed = wif_why(&s->baseline, s->memory, &answer->sum, &s->set, &answer->why,
                                 &answer->err) != VS_OK;
}

/* "a=1 b=2": the toggles that are set, in the order of the table. */
static void add_set(const struct vs_toggles *set, struct vs_text *out)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            vs_text_addf(out, "%s%s=%s", out->len ? " " : "",
                         vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(set, (enum vs_toggle)i));
}

/* What a change is compared with: the recorded toggles, run to the end even if memory ran out in the recording. */
static uint64_t base_of(const struct session *s, const struct wif_sweep *sweep)
{
    return s->is_set || s->baseline.oom.event ? sweep->items[0].run.peak
                                              : s->baseline.peak.allocated;
}

static void baseline_json(const struct session *s, struct vs_json *json)
{
    vs_json_key(json, "baseline");
    rpl_peak_json(s->base, &s->baseline.peak, json);
}

static void set_json(const struct vs_toggles *set, struct vs_json *json)
{
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            vs_json_put_string(json, vs_toggle_info((enum vs_toggle)i)->name,
                               vs_toggles_get(set, (enum vs_toggle)i));
    vs_json_end(json);
}

/* ---- the command ---- */

/* While the sweep runs: the cost of each row; for JSON also the rows that are done. */
struct filling {
    struct session *s;
    struct vs_json *json;
    struct wif_cost *costs;
    char **whys;
    size_t count;
    size_t cap;
    size_t why_cap;
    double start_ms;
    bool may_rerun;
    struct cli_progress progress;
    struct vs_error err;
};

static bool on_next(void *user, const struct wif_sweep *known, const char *next)
{
    struct filling *f = user;

    cli_progress_say(&f->progress, "%zu tried, now %s", known->count,
                     *next ? next : "the recorded toggles");
    return true;
}

/* While a program runs for a row. */
static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    const struct filling *f = user;

    (void)done;
    (void)total;
    return !cli_running_is_stopped(&f->s->program.running);
}

static void row_json(struct filling *f, const struct wif_sweep_row *row, struct rpl_trace *memory,
                     const struct cli_whatif_answer *answer)
{
    struct vs_json *json = f->json;

    vs_json_object(json);
    vs_json_put_string(json, "toggle", row->label);
    cli_whatif_answer_json(&f->s->baseline, memory, answer, json);
    vs_json_put_string(json, "no_effect", row->no_effect);
    if (!answer->failed) {
        vs_json_put_bool(json, "same_results", row->is_same);
        vs_json_put_uint(json, "needs", row->run.peak);
        if (row->batch) {
            vs_json_put_uint(json, "max_batch", row->batch);
        } else {
            vs_json_key(json, "max_batch");
            vs_json_null(json);
        }
    }
    vs_json_end(json);
}

/*
 * Why the peak of a row did not change, or rose by more than a tenth of the recorded one. What is compared with is the
 * recording, so that with --set nothing is said.
 */
static enum vs_status why_fill(struct filling *f, const struct wif_sweep_row *row,
                               struct rpl_trace *memory, struct cli_whatif_answer *answer)
{
    const struct rpl_peak *before = &f->s->baseline.peak;
    enum vs_status st = VS_OK;

    if (!f->count || f->s->is_set || f->s->baseline.oom.event ||
        (row->run.peak != before->allocated &&
         row->run.peak < before->allocated + before->allocated / RISE_MIN))
        return VS_OK;
    if (!answer->sum.events)
        st = rpl_summary_fill(&answer->sum, memory, &answer->err);
    return st ? st
              : wif_why(&f->s->baseline, memory, &answer->sum, &row->set, &answer->why,
                        &answer->err);
}

/* A program takes its time for each row: what is done is said at once, and stays where the rest is given up. */
static void row_say(struct filling *f, const struct wif_sweep_row *row)
{
    const char *label = *row->label ? row->label : "as recorded";
    char buf[VS_BYTES_TEXT_MAX];

    if (row->failed)
        cli_progress_done(&f->progress, "%s: %s", label, row->reason);
    else
        cli_progress_done(&f->progress, "%s: peak %s%s", label, vs_bytes_text(row->run.peak, buf),
                          row->fits ? "" : ", out of memory");
}

/* One more row is done. Row 0 is the recorded run, which is `baseline` in JSON. */
static void on_done(void *user, const struct wif_sweep_row *row, struct rpl_trace *memory)
{
    struct filling *f = user;
    struct cli_whatif_answer answer = {.failed = row->failed};
    const bool is_written = f->json && f->count > 0;

    f->costs = vs_grow(f->costs, f->count, &f->cap, sizeof(*f->costs));
    if (row->failed)
        vs_fail(&answer.err, VS_E_VALUE, "%s", row->reason);
    else if (is_written)
        answer_fill(f->s, memory, &answer);
    else /* the cost is the only column that is not in the row itself */
        answer.failed = wif_cost_fill(f->s->costs, memory, &answer.cost, &answer.err) != VS_OK;
    if (!answer.failed)
        answer.failed = why_fill(f, row, memory, &answer) != VS_OK;
    f->whys = vs_grow(f->whys, f->count, &f->why_cap, sizeof(*f->whys));
    f->whys[f->count] = answer.why.len ? vs_strdup(vs_text_get(&answer.why)) : NULL;
    f->costs[f->count++] = answer.cost;
    answer.milliseconds = now_ms() - f->start_ms;
    if (f->may_rerun)
        row_say(f, row);
    vs_free(answer.refused); /* the text of the row is used instead */
    answer.refused = *row->refused ? vs_strdup(row->refused) : NULL;
    if (is_written)
        row_json(f, row, memory, &answer);
    cli_whatif_answer_release(&answer);
    f->start_ms = now_ms();
}

/* "as recorded: peak 414.1 MiB"; after an out-of-memory error the peak that a larger device would have shown. */
static void add_base(const struct session *s, const struct cli_sweep *table, struct vs_text *out)
{
    const struct wif_sweep_row *as_is = &table->sweep->items[0];
    char buf[VS_BYTES_TEXT_MAX];

    add_set(&s->set, out);
    vs_text_add(out, s->is_set  ? ": "
                     : s->whole ? "as recorded, the whole run: "
                                : "as recorded: ");
    if (!as_is->fits && table->capacity)
        vs_text_addf(out, "out of memory on %s; ", vs_bytes_text(table->capacity, buf));
    vs_text_addf(out, "%s%s", as_is->fits ? "peak " : "without a limit the peak would be ",
                 vs_bytes_text(table->base, buf));
    vs_text_add(out, table->sweep->count > 1
                         ? "; each line is one change to it, or the best ones combined\n\n"
                         : "\n");
}

/*
 * May the program of a trace run again for the rows? *out. Where the user says no, or cannot be asked, the settings of
 * the allocator are tried all the same.
 */
static enum vs_status each_agree(struct session *s, bool *out, struct vs_error *err)
{
    struct vs_error reason = VS_ERROR_INIT;

    *out = false;
    if (!wif_recipe_is_in(s->trace))
        return VS_OK;
    if (wif_rerun_check(&s->set, err))
        return err->status;
    if (cli_args_has(s->args, "capacity"))
        fputs("vramscope: with --capacity only settings of the allocator are tried; the program "
              "runs on a GPU of --set target=NAME\n",
              stderr);
    else if (!cli_program_agree(&s->program, s->trace, cli_args_has(s->args, "rerun"), false,
                                &reason))
        *out = true;
    else
        fprintf(stderr, "vramscope: only settings of the allocator are tried: %s\n", reason.text);
    if (!*out && wif_rerun_is_needed(s->trace, &s->set))
        return vs_fail(err, VS_E_UNSUPPORTED, "%s",
                       reason.status ? reason.text : "these toggles need the program to run again");
    return VS_OK;
}

/* Capacity of the device of all rows: with a target that of the GPU. */
static uint64_t each_capacity(const struct session *s)
{
    const struct vs_target *target = vs_toggles_is_set(&s->set, VS_TOGGLE_TARGET)
                                         ? vs_target_find(vs_toggles_get(&s->set, VS_TOGGLE_TARGET))
                                         : rpl_target(s->trace);

    return s->capacity ? s->capacity : target ? target->capacity_bytes : 0;
}

static enum vs_status print_each(struct session *s, bool json, struct vs_text *out,
                                 struct vs_error *err)
{
    struct vs_json j;
    struct filling f = {.s = s, .json = json ? &j : NULL, .start_ms = now_ms()};
    struct wif_sweep sweep = {NULL, 0, 0};
    struct wif_sweep_options request = {.set = &s->set,
                                        .capacity = each_capacity(s),
                                        .batches = WIF_SWEEP_BATCHES_ALL,
                                        .next = on_next,
                                        .progress = on_progress,
                                        .done = on_done,
                                        .user = &f};
    struct cli_sweep table = {.sweep = &sweep, .capacity = request.capacity};
    enum vs_status st = each_agree(s, &request.may_rerun, err);

    if (st)
        return st;
    if (json) {
        vs_json_init(&j, out);
        vs_json_object(&j);
        set_json(&s->set, &j);
        baseline_json(s, &j);
        if (request.may_rerun)
            cli_program_whatif_json(&s->program, &j);
        vs_json_key(&j, "each");
        vs_json_array(&j);
    }
    if (request.may_rerun)
        cli_running_say(&s->program.running, "the program is running again for each toggle");
    f.may_rerun = request.may_rerun;
    cli_progress_init(&f.progress, stderr);
    st = wif_sweep_fill(&sweep, s->trace, &request, err);
    cli_progress_end(&f.progress);
    /* if even the recorded toggles fail, only that error is reported */
    if (!st && sweep.items[0].failed)
        st = vs_fail(err, VS_E_VALUE, "%s", sweep.items[0].reason);
    if (json) {
        vs_json_end(&j);
        if (request.may_rerun)
            cli_program_not_tried_json(&j);
        vs_json_end(&j);
    } else if (!st) {
        table.costs = f.costs;
        table.whys = f.whys;
        table.base = base_of(s, &sweep);
        add_base(s, &table, out);
        cli_sweep_text(&table, out);
        if (request.may_rerun)
            cli_program_not_tried_text(out);
    }
    wif_sweep_release(&sweep);
    vs_free(f.costs);
    for (size_t i = 0; i < f.count; i++)
        vs_free(f.whys[i]);
    vs_free(f.whys);
    return st;
}

static void print_one(struct session *s, const char *label, const struct cli_whatif_answer *answer,
                      bool json, struct vs_text *out)
{
    struct vs_json j;

    if (!json) {
        cli_whatif_answer_text(s->trace, &s->baseline, s->base, s->memory, label, answer, out);
        return;
    }
    vs_json_init(&j, out);
    vs_json_object(&j);
    set_json(&s->set, &j);
    baseline_json(s, &j);
    cli_whatif_answer_json(&s->baseline, s->memory, answer, &j);
    cli_program_whatif_json(&s->program, &j);
    vs_json_end(&j);
}

/*
 * What the changes are compared with: the recorded run. Of one whose first events were dropped, the net runs again as
 * it was recorded, as a what-if has all steps, too.
 */
static enum vs_status baseline_fill(struct session *s, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    s->base = s->trace;
    if (rpl_has_dropped(s->trace) && rpl_trace_source_text(s->trace)) {
        s->base = s->whole = rpl_trace_new();
        st = wif_run(s->trace, NULL, s->whole, err);
    }
    return st ? st : rpl_figures_summary(s->base, &s->baseline, err);
}

static enum vs_status session_open(const struct cli_args *args, struct session *s,
                                   struct vs_error *err)
{
    const char *capacity = cli_args_value(args, "capacity");
    const char *pair;
    enum vs_status st = VS_OK;

    memset(s, 0, sizeof(*s));
    s->args = args;
    for (size_t i = 0; (pair = cli_args_value_at(args, "set", i)) != NULL && !st; i++)
        st = vs_toggles_set_pair(&s->set, pair, err);
    if (st) {
        err->status = VS_E_USAGE;
        return VS_E_USAGE;
    }
    if (!cli_args_has(args, "each") && !cli_args_has(args, "set") && !cli_args_has(args, "curve") &&
        !cli_args_has(args, "ranks") && !capacity)
        return vs_fail(err, VS_E_USAGE,
                       "whatif: --set TOGGLE=VALUE sets what to change; --each tries every toggle");
    if (capacity && (!vs_bytes_parse(capacity, &s->capacity) || !s->capacity))
        return vs_fail(err, VS_E_USAGE,
                       "whatif: --capacity cannot be `%s`; give a size such as 8G or 512M",
                       capacity);
    s->is_set = cli_args_has(args, "set");
    st = rpl_trace_open(args->positionals[0], &s->trace, err);
    if (!st && !capacity && !rpl_trace_meta_uint(s->trace, "capacity", &s->capacity))
        s->capacity = 0;
    s->memory = rpl_trace_new();
    if (!st)
        st = baseline_fill(s, err);
    if (!st)
        st = wif_costs_new(s->trace, &s->costs, err);
    return st;
}

static void session_close(struct session *s)
{
    rpl_summary_release(&s->baseline);
    wif_costs_free(s->costs);
    vs_toggles_release(&s->set);
    rpl_trace_free(s->memory);
    rpl_trace_free(s->whole);
    rpl_trace_free(s->trace);
    cli_program_whatif_release(&s->program);
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct vs_text label = {NULL, 0, 0};
    struct cli_whatif_answer answer = {.failed = false};
    struct session s;
    bool json = cli_args_has(args, "json");
    int status;

    if (session_open(args, &s, &err)) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "curve")) {
        if (cli_curve_print(s.trace, &s.set, cli_args_value(args, "curve"), json, &text, &err)) {
            status = cli_fail(&err);
            goto out;
        }
    } else if (cli_args_has(args, "ranks")) {
        if (cli_whatif_ranks_print(s.trace, &s.set, s.capacity, json, &text, &err)) {
            status = cli_fail(&err);
            goto out;
        }
    } else if (cli_args_has(args, "each")) {
        if (print_each(&s, json, &text, &err)) {
            status = cli_fail(&err);
            goto out;
        }
    } else {
        add_set(&s.set, &label);
        if (cli_args_has(args, "capacity"))
            vs_text_addf(&label, "%scapacity=%s", label.len ? " " : "",
                         cli_args_value(args, "capacity"));
        answer_run(&s, &answer);
        if (answer.failed) {
            status = cli_fail(&answer.err);
            goto out;
        }
        print_one(&s, vs_text_get(&label), &answer, json, &text);
    }
    status = cli_print(&text);
out:
    vs_text_release(&text);
    vs_text_release(&label);
    cli_whatif_answer_release(&answer);
    session_close(&s);
    return status;
}

const struct cli_cmd cli_cmd_whatif = {
    .name = "whatif",
    .usage = "TRACE --set TOGGLE=VALUE … | --each | --curve TOGGLE | --ranks [--capacity SIZE] "
             "[--rerun] [-o FILE] [--json]",
    .summary = "Show the peak the recorded net or program would have with other toggles",
    .help = "The net stored in the trace is run again without data, with its toggles, seed and "
            "capacity and the changes of --set. The\n"
            "result equals a new recording, event for event. An imported trace has no net, but its "
            "requests can be run through the\n"
            "allocator again: alloc-conf, target and --capacity can be changed. For other toggles "
            "a program that `record` has recorded is\n"
            "run again, when you agree, and the toggle is applied to it from outside.\n\n"
            "  vramscope whatif trace.db --set checkpoint=blocks --set amp=bf16\n"
            "  vramscope whatif imported.db --set alloc-conf=expandable_segments:True "
            "--capacity 24G\n"
            "  vramscope whatif train.db --set amp=bf16 --rerun\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
