/*
 * cli/lesson/json.c - a lesson as JSON; see answer.h.
 *
 * Must not know:  arguments.
 * Invariant:      names of members are a contract: docs/formats/json.md.
 */
#include <string.h>

#include "cli/lesson/answer.h"
#include "replay/report/report.h"

static void peak_json(const struct cli_lesson_answer *answer, const char *name,
                      struct vs_json *json)
{
    const struct cli_lesson_trace *run =
        &answer->runs->runs[cli_lesson_run_find(answer->runs->lesson, name, strlen(name))];

    vs_json_key(json, name);
    rpl_peak_json(run->trace, &run->sum.peak, json);
}

static void run_json(const struct cli_lesson_answer *answer, size_t i, struct vs_json *json)
{
    const struct cli_lesson_run *run = &answer->runs->lesson->runs[i];
    const struct rpl_summary *sum = &answer->runs->runs[i].sum;

    vs_json_object(json);
    vs_json_put_string(json, "name", run->name);
    vs_json_put_string(json, "label", run->label);
    vs_json_put_string(json, "net", run->net ? run->net : answer->runs->lesson->name);
    vs_json_put_string(json, "settings", run->settings);
    vs_json_put_uint(json, "allocated", sum->peak.allocated);
    vs_json_put_uint(json, "requested", sum->peak.requested);
    vs_json_put_uint(json, "reserved", sum->peak.reserved);
    vs_json_put_uint(json, "saved", sum->saved.bytes);
    vs_json_put_uint(json, "total_flops", sum->flops);
    vs_json_put_uint(json, "recompute_flops", sum->recompute_flops);
    vs_json_put_uint(json, "moved", answer->runs->runs[i].traffic.bytes);
    vs_json_put_uint(json, "events", sum->events);
    vs_json_end(json);
}

/* One value of a figure: of a run, or of none. */
static enum vs_status value_json(const struct cli_lesson_answer *answer,
                                 const struct cli_lesson_figure *show, const char *run,
                                 struct vs_json *json, struct vs_error *err)
{
    double value;
    enum vs_status st =
        cli_expr_value(show->expr, run, cli_lesson_figure_of, answer->runs, &value, err);

    vs_json_object_flat(json);
    vs_json_put_string(json, "label", show->label);
    vs_json_put_string(json, "run", run);
    vs_json_put_double(json, "value", st ? 0.0 : value);
    vs_json_put_string(json, "format", show->format);
    vs_json_end(json);
    return st;
}

static enum vs_status figures_json(const struct cli_lesson_answer *answer, struct vs_json *json,
                                   struct vs_error *err)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    enum vs_status st = VS_OK;

    vs_json_key(json, "figures");
    vs_json_array(json);
    for (size_t k = 0; k < lesson->show_count && !st; k++) {
        if (!strstr(lesson->shows[k].expr, "(*")) {
            st = value_json(answer, &lesson->shows[k], NULL, json, err);
            continue;
        }
        for (size_t i = 0; i < lesson->run_count && !st; i++)
            st = value_json(answer, &lesson->shows[k], lesson->runs[i].name, json, err);
    }
    vs_json_end(json);
    return st;
}

enum vs_status cli_lesson_json(const struct cli_lesson_answer *answer, struct vs_json *json,
                               struct vs_error *err)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    enum vs_status st;

    vs_json_object(json);
    vs_json_put_uint(json, "number", lesson->number);
    vs_json_put_string(json, "title", lesson->title);
    vs_json_put_string(json, "claim", lesson->claim);
    vs_json_put_string(json, "file", lesson->name);
    peak_json(answer, "before", json);
    peak_json(answer, "after", json);
    vs_json_put_string(json, "verdict", answer->verdict);
    vs_json_put_string(json, "text", vs_text_get(&answer->text));
    vs_json_key(json, "runs");
    vs_json_array(json);
    for (size_t i = 0; i < lesson->run_count; i++)
        run_json(answer, i, json);
    vs_json_end(json);
    st = figures_json(answer, json, err);
    vs_json_key(json, "known");
    vs_json_array(json);
    for (size_t k = 0; k < lesson->known_count; k++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "label", lesson->knowns[k].label);
        vs_json_put_bool(json, "reached", answer->is_reached[k]);
        vs_json_end(json);
    }
    vs_json_end(json);
    vs_json_end(json);
    return st;
}
