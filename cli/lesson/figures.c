/*
 * cli/lesson/figures.c - the figures that a lesson may name; see run.h and docs/internals/lessons.md.
 *
 * Must not know:  expressions around them, texts.
 * Invariant:      a figure that a run does not have is an error, never 0.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/lesson/run.h"
#include "replay/report/warnings.h"

#define WORD_MAX_BYTES 128

/* The arguments of a figure after the run. */
struct args {
    const struct cli_expr_arg *list;
    size_t count;
};

typedef enum vs_status figure_fn(const struct cli_lesson_runs *runs,
                                 const struct cli_lesson_trace *run, struct args args, double *out,
                                 struct vs_error *err);

/* fewest, most: numbers of arguments after the run */
struct figure {
    const char *name;
    figure_fn *fn;
    size_t fewest;
    size_t most;
};

/* The argument as a string of its own. */
static void word_of(const struct cli_expr_arg *arg, char *out)
{
    const size_t len = arg->len < WORD_MAX_BYTES ? arg->len : WORD_MAX_BYTES - 1;

    memcpy(out, arg->text, len);
    out[len] = '\0';
}

/* ---- of the whole run ---- */

#define WHOLE(name, value)                                                                         \
    static enum vs_status name(const struct cli_lesson_runs *runs,                                 \
                               const struct cli_lesson_trace *run, struct args args, double *out,  \
                               struct vs_error *err)                                               \
    {                                                                                              \
        (void)runs;                                                                                \
        (void)args;                                                                                \
        (void)err;                                                                                 \
        *out = (double)(value);                                                                    \
        return VS_OK;                                                                              \
    }
WHOLE(peak, run->sum.peak.allocated)
WHOLE(requested, run->sum.peak.requested)
WHOLE(reserved, run->sum.peak.reserved)
WHOLE(saved, run->sum.saved.bytes)
WHOLE(saved_tensors, run->sum.saved.tensors)
WHOLE(end_allocated, run->sum.end_allocated)
WHOLE(end_reserved, run->sum.end_reserved)
WHOLE(flops, run->sum.flops)
WHOLE(recomputed, run->sum.recompute_flops)

static enum vs_status parameters(const struct cli_lesson_runs *runs,
                                 const struct cli_lesson_trace *run, struct args args, double *out,
                                 struct vs_error *err)
{
    char path[WORD_MAX_BYTES] = "";

    (void)runs;
    if (!args.count) {
        *out = (double)run->sum.parameters;
        return VS_OK;
    }
    word_of(&args.list[0], path);
    *out = (double)rpl_parameters_below(&run->parameters, path);
    return *out > 0.0 ? VS_OK
                      : vs_fail(err, VS_E_NOT_FOUND, "the net has no parameters in `%s`", path);
}

static enum vs_status moved(const struct cli_lesson_runs *runs, const struct cli_lesson_trace *run,
                            struct args args, double *out, struct vs_error *err)
{
    char name[WORD_MAX_BYTES];

    (void)runs;
    *out = (double)run->traffic.bytes;
    if (!args.count)
        return VS_OK;
    word_of(&args.list[0], name);
    *out = (double)rpl_traffic_of(&run->traffic, run->trace, name);
    return *out > 0.0 ? VS_OK
                      : vs_fail(err, VS_E_NOT_FOUND, "no op `%s` transferred any bytes", name);
}

static enum vs_status category(const struct cli_lesson_runs *runs,
                               const struct cli_lesson_trace *run, struct args args, double *out,
                               struct vs_error *err)
{
    char name[WORD_MAX_BYTES];

    (void)runs;
    word_of(&args.list[0], name);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        if (strcmp(vs_category_name((enum vs_category)i), name) != 0)
            continue;
        *out = (double)run->sum.peak.by_category[i];
        return VS_OK;
    }
    return vs_fail(err, VS_E_NOT_FOUND, "there is no category `%s`", name);
}

/* ---- of a phase ---- */

static const struct rpl_step_figures *step_find(const struct rpl_summary *sum, int64_t step)
{
    for (size_t i = 0; i < sum->step_count; i++)
        if (sum->steps[i].step == step)
            return &sum->steps[i];
    return NULL;
}

/* The phase `args` names: PHASE, STEP. */
static enum vs_status phase_find(const struct cli_lesson_trace *run, struct args args,
                                 const struct rpl_phase **out, struct vs_error *err)
{
    const struct rpl_step_figures *step;
    char name[WORD_MAX_BYTES];
    char number[WORD_MAX_BYTES];

    word_of(&args.list[0], name);
    word_of(&args.list[1], number);
    step = step_find(&run->sum, strtoll(number, NULL, 10));
    for (size_t i = 0; step && i < step->phase_count; i++) {
        if (strcmp(vs_phase_name(step->phases[i].phase), name) == 0) {
            *out = &step->phases[i];
            return VS_OK;
        }
    }
    return vs_fail(err, VS_E_NOT_FOUND, "the run has no phase `%s` in step %s", name, number);
}

#define OF_PHASE(name, field)                                                                      \
    static enum vs_status name(const struct cli_lesson_runs *runs,                                 \
                               const struct cli_lesson_trace *run, struct args args, double *out,  \
                               struct vs_error *err)                                               \
    {                                                                                              \
        const struct rpl_phase *phase;                                                             \
        enum vs_status st = phase_find(run, args, &phase, err);                                    \
                                                                                                   \
        (void)runs;                                                                                \
        *out = st ? 0.0 : (double)phase->field;                                                    \
        return st;                                                                                 \
    }
OF_PHASE(after, allocated_end)
OF_PHASE(top, allocated_peak)
OF_PHASE(reserved_after, reserved_end)

/* Allocated at the end of a step. */
static uint64_t step_end(const struct rpl_step_figures *step)
{
    return step->phase_count ? step->phases[step->phase_count - 1].allocated_end : 0;
}

static enum vs_status growth(const struct cli_lesson_runs *runs, const struct cli_lesson_trace *run,
                             struct args args, double *out, struct vs_error *err)
{
    const struct rpl_summary *sum = &run->sum;

    (void)runs;
    (void)args;
    if (sum->step_count < 3 || sum->steps[sum->step_count - 2].step < 0)
        return vs_fail(err, VS_E_VALUE, "the run has fewer than two steps");
    *out = (double)step_end(&sum->steps[sum->step_count - 1]) -
           (double)step_end(&sum->steps[sum->step_count - 2]);
    return VS_OK;
}

/* ---- of what was printed, of two runs ---- */

static enum vs_status printed(const struct cli_lesson_runs *runs,
                              const struct cli_lesson_trace *run, struct args args, double *out,
                              struct vs_error *err)
{
    const size_t len = args.list[0].len;

    (void)runs;
    for (const char *line = vs_text_get(&run->printed); *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, args.list[0].text, len) != 0 || strncmp(line + len, ": ", 2) != 0)
            continue;
        *out = strtod(line + len + 2, NULL);
        return VS_OK;
    }
    return vs_fail(err, VS_E_NOT_FOUND, "the net printed no line `%.*s: …`", (int)len,
                   args.list[0].text);
}

/* 1 if the run warned of this kind (docs/guide/warnings.md), else 0. */
static enum vs_status warns(const struct cli_lesson_runs *runs, const struct cli_lesson_trace *run,
                            struct args args, double *out, struct vs_error *err)
{
    struct rpl_warning warning;
    const char *at = NULL;

    (void)runs;
    (void)err;
    *out = 0.0;
    while (rpl_warning_next(run->trace, &at, &warning))
        if (warning.kind_len == args.list[0].len &&
            memcmp(warning.kind, args.list[0].text, warning.kind_len) == 0)
            *out = 1.0;
    return VS_OK;
}

/* The parts of toggles that were not applied: lines of the note. */
static enum vs_status refused(const struct cli_lesson_runs *runs,
                              const struct cli_lesson_trace *run, struct args args, double *out,
                              struct vs_error *err)
{
    const char *line = rpl_trace_meta(run->trace, "refused");

    (void)runs;
    (void)args;
    (void)err;
    *out = 0.0;
    while (line && *line) {
        *out += 1.0;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return VS_OK;
}

/* The events of two traces, without their times and the ids of texts, which count first uses. */
static enum vs_status same(const struct cli_lesson_runs *runs, const struct cli_lesson_trace *run,
                           struct args args, double *out, struct vs_error *err)
{
    const size_t i = cli_lesson_run_find(runs->lesson, args.list[0].text, args.list[0].len);
    struct rpl_trace *a = run->trace;
    struct rpl_trace *b = i < runs->lesson->run_count ? runs->runs[i].trace : NULL;
    struct rpl_scan *scans;
    const struct vs_event *x;
    const struct vs_event *y;

    if (!b)
        return vs_fail(err, VS_E_NOT_FOUND, "there is no run `%.*s`", (int)args.list[0].len,
                       args.list[0].text);
    *out = rpl_trace_event_count(a) == rpl_trace_event_count(b) && rpl_trace_event_count(a);
    if (*out == 0.0)
        return VS_OK;
    scans = vs_alloc(2 * sizeof(*scans));
    rpl_scan_init(&scans[0], a, 1, rpl_trace_event_count(a));
    rpl_scan_init(&scans[1], b, 1, rpl_trace_event_count(b));
    while ((x = rpl_scan_next(&scans[0], err)) != NULL &&
           (y = rpl_scan_next(&scans[1], err)) != NULL)
        if (x->kind != y->kind || x->location != y->location || x->raw.a != y->raw.a ||
            x->raw.b != y->raw.b || x->raw.c != y->raw.c || x->raw.d != y->raw.d ||
            x->raw.e != y->raw.e || x->raw.aux != y->raw.aux)
            *out = 0.0;
    vs_free(scans);
    return VS_OK;
}

static const struct figure FIGURES[] = {
    {"peak", peak, 0, 0},
    {"requested", requested, 0, 0},
    {"reserved", reserved, 0, 0},
    {"saved", saved, 0, 0},
    {"saved_tensors", saved_tensors, 0, 0},
    {"after", after, 2, 2},
    {"top", top, 2, 2},
    {"reserved_after", reserved_after, 2, 2},
    {"end", end_allocated, 0, 0},
    {"end_reserved", end_reserved, 0, 0},
    {"growth", growth, 0, 0},
    {"category", category, 1, 1},
    {"parameters", parameters, 0, 1},
    {"flops", flops, 0, 0},
    {"recomputed", recomputed, 0, 0},
    {"moved", moved, 0, 1},
    {"refused", refused, 0, 0},
    {"warns", warns, 1, 1},
    {"printed", printed, 1, 1},
    {"same", same, 1, 1},
};

enum vs_status cli_lesson_figure_of(void *user, const char *name, const struct cli_expr_arg *args,
                                    size_t count, double *out, struct vs_error *err)
{
    const struct cli_lesson_runs *runs = user;
    const size_t run = cli_lesson_run_find(runs->lesson, args[0].text, args[0].len);

    for (size_t i = 0; i < sizeof(FIGURES) / sizeof(FIGURES[0]); i++) {
        if (strcmp(FIGURES[i].name, name) != 0)
            continue;
        if (run == runs->lesson->run_count)
            return vs_fail(err, VS_E_NOT_FOUND, "%s: there is no run `%.*s`", name,
                           (int)args[0].len, args[0].text);
        if (count - 1 < FIGURES[i].fewest || count - 1 > FIGURES[i].most)
            return vs_fail(err, VS_E_VALUE, "%s: it does not take %zu arguments", name, count);
        return FIGURES[i].fn(runs, &runs->runs[run], (struct args){args + 1, count - 1}, out, err);
    }
    return vs_fail(err, VS_E_NOT_FOUND, "there is no figure `%s`", name);
}
