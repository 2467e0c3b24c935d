/*
 * cli/whatif/answer.c - see answer.h.
 */
#include "cli/whatif/answer.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/sweep.h"
#include "replay/report/by_value.h"
#include "replay/report/report.h"
#include "replay/report/uncertainty.h"
#include "replay/report/warnings.h"

/* Changes by more than this factor are not given in per cent. */
#define TIMES_MAX 10
#define TERA UINT64_C(1000000000000)
/* From so many milliseconds on a time is given in seconds. */
#define SECONDS_FROM_MS 10000

void cli_whatif_answer_release(struct cli_whatif_answer *answer)
{
    rpl_summary_release(&answer->sum);
    vs_text_release(&answer->why);
    vs_free(answer->refused);
}

void cli_whatif_answer_json(const struct rpl_summary *baseline, const struct rpl_trace *run,
                            const struct cli_whatif_answer *answer, struct vs_json *json)
{
    if (answer->failed) {
        vs_json_put_string(json, "error", answer->err.text);
        return;
    }
    vs_json_key(json, "result");
    rpl_peak_json(run, &answer->sum.peak, json);
    vs_json_put_int(json, "delta_allocated",
                    (int64_t)(answer->sum.peak.allocated - baseline->peak.allocated));
    rpl_uncertainty_json(run, &answer->sum, json);
    vs_json_put_bool(json, "out_of_memory", answer->sum.oom.event != 0);
    vs_json_put_uint(json, "recompute_flops", answer->sum.recompute_flops);
    vs_json_put_uint(json, "total_flops", answer->sum.flops);
    wif_cost_json(&answer->cost, json);
    vs_json_put_uint(json, "events", answer->sum.events);
    vs_json_put_double(json, "milliseconds", answer->milliseconds);
    vs_json_put_string(json, "refused", answer->refused);
    vs_json_put_string(json, "why", answer->why.len ? vs_text_get(&answer->why) : NULL);
    rpl_warnings_json(run, json);
}

/* is_cut: one of the runs ended early, so the figures are no change. */
static void add_row(struct vs_text *out, const char *name, uint64_t before, uint64_t after,
                    bool is_cut)
{
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "  %-14s%14s%14s", name, vs_bytes_text(before, a), vs_bytes_text(after, b));
    if (!is_cut)
        vs_text_addf(out, "%14s", vs_bytes_delta_text((int64_t)(after - before), d));
    if (!is_cut && before && after / before < TIMES_MAX)
        vs_text_addf(out, "  %8s", vs_change_text((double)before, (double)after, d));
    vs_text_add_char(out, '\n');
}

static void add_where(const struct rpl_trace *trace, const struct rpl_peak *peak, const char *word,
                      struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, peak->location);
    const char *module = rpl_trace_string(trace, location->module);
    const char *op = rpl_trace_string(trace, location->op);

    vs_text_addf(out, "  %s: ", word);
    if (peak->step >= 0)
        vs_text_addf(out, "step %" PRId64 ", ", peak->step);
    vs_text_addf(out, "%s, %s", vs_phase_name(peak->phase), *op ? op : rpl_no_op_text(trace));
    if (*module)
        vs_text_addf(out, " of %s", module);
    if (rpl_trace_is_imported(trace) && location->func)
        vs_text_addf(out, ", %s", rpl_trace_string(trace, location->func));
    if (location->line)
        vs_text_addf(out, ", line %" PRIu32, location->line);
    vs_text_add(out, peak->is_recompute ? ", recomputed for a checkpoint\n" : "\n");
}

/* Where memory ran out, in a line that begins with `word`, and how much there was. */
static void add_oom(const struct rpl_trace *run, const struct rpl_oom *oom, const char *word,
                    struct vs_text *out)
{
    const struct rpl_peak there = {
        .step = oom->step, .phase = oom->phase, .location = oom->location};
    char requested[VS_BYTES_TEXT_MAX];
    char allocated[VS_BYTES_TEXT_MAX];

    add_where(run, &there, word, out);
    vs_text_addf(out, "    %s were refused with %s allocated\n",
                 vs_bytes_text(oom->requested, requested),
                 vs_bytes_text(oom->allocated, allocated));
}

static void add_arithmetic(const struct cli_whatif_answer *answer, struct vs_text *out)
{
    const struct rpl_summary *sum = &answer->sum;
    const bool is_tera = sum->flops >= TERA;
    const double unit = is_tera ? 1e12 : 1e9;
    const char *name = is_tera ? "TFLOP" : "GFLOP";

    if (sum->recompute_flops)
        vs_text_addf(out, "arithmetic: %.3g %s, of these %.3g (%.1f %%) recomputed\n",
                     (double)sum->flops / unit, name, (double)sum->recompute_flops / unit,
                     100.0 * (double)sum->recompute_flops / (double)sum->flops);
    else
        vs_text_addf(out, "arithmetic: %.3g %s, nothing recomputed\n", (double)sum->flops / unit,
                     name);
}

/* The time of recomputed ops, from the recorded times of their first runs; nothing where none were recorded. */
static void add_time(const struct rpl_trace *trace, const struct cli_whatif_answer *answer,
                     struct vs_text *out)
{
    const struct wif_cost *cost = &answer->cost;
    const char *why = rpl_trace_meta(trace, "cupti");

    if (!answer->sum.recompute_flops)
        return;
    if (!cost->is_measured) {
        if (why)
            vs_text_addf(
                out, "recomputation on the GPU: time not known: the recording has no times (%s)\n",
                why);
        return;
    }
    vs_text_addf(
        out,
        "recomputation on the GPU: %.3f ms per step in addition to %.3f (%.1f %% of both), from "
        "the recorded times of the first runs\n",
        cost->rerun_ns / 1e6, cost->first_ns / 1e6, 100.0 * wif_cost_share(cost));
    if (cost->unmeasured > 0)
        vs_text_addf(out, "  without %.3g of the %.3g ops: not recorded at these sizes\n",
                     cost->unmeasured, cost->rerun_ops);
}

static void add_refused(const struct cli_whatif_answer *answer, struct vs_text *out)
{
    const char *line = answer->refused;

    if (!line)
        return;
    vs_text_add(out, "not applied:\n");
    while (*line) {
        size_t len = strcspn(line, "\n");

        vs_text_addf(out, "  %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

void cli_whatif_answer_text(const struct rpl_trace *trace, const struct rpl_summary *baseline,
                            const struct rpl_trace *base, const struct rpl_trace *run,
                            const char *label, const struct cli_whatif_answer *answer,
                            struct vs_text *out)
{
    const struct rpl_peak *before = &baseline->peak;
    const struct rpl_peak *after = &answer->sum.peak;
    const bool is_cut = baseline->oom.event || answer->sum.oom.event;
    char events[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s\n\n  %-14s%14s%14s%s\n", label, "peak",
                 baseline->oom.event ? "until it ended"
                 : base != trace     ? "the whole run"
                                     : "as recorded",
                 answer->sum.oom.event ? "until it ends" : "what if",
                 is_cut ? "" : "        change");
    add_row(out, "allocated", before->allocated, after->allocated, is_cut);
    add_row(out, "requested", before->requested, after->requested, is_cut);
    add_row(out, "reserved", before->reserved, after->reserved, is_cut);
    vs_text_add(out, "\n");
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        if (before->by_category[i] || after->by_category[i])
            add_row(out, vs_category_name((enum vs_category)i), before->by_category[i],
                    after->by_category[i], is_cut);
    vs_text_add(out, "\n");
    if (base != trace)
        vs_text_add(out, "  both of the whole run: what was dropped of the recording ran again\n");
    add_where(base, before, "peak before", out);
    add_where(run, after, "peak after", out);
    if (baseline->oom.event)
        add_oom(base, &baseline->oom, "the recorded run ended out of memory", out);
    if (answer->sum.oom.event)
        add_oom(run, &answer->sum.oom, "this run ends out of memory", out);
    if (answer->why.len) {
        vs_text_add(out, "  why: ");
        vs_text_add_words(out, vs_text_get(&answer->why), answer->why.len, 7, 7, CLI_SWEEP_WIDTH);
        vs_text_add_char(out, '\n');
    }
    if (!answer->sum.uncertainty.is_tensors_only)
        rpl_uncertainty_text(run, &answer->sum.uncertainty, answer->sum.peak.allocated, out);
    rpl_by_values_text(run, out);
    vs_text_add(out, "\n");
    if (rpl_trace_has_arithmetic(run))
        add_arithmetic(answer, out);
    add_time(trace, answer, out);
    add_refused(answer, out);
    vs_text_addf(out, "%s events in ", vs_bytes_exact_text(answer->sum.events, events));
    if (answer->milliseconds < SECONDS_FROM_MS)
        vs_text_addf(out, "%.1f ms\n", answer->milliseconds);
    else
        vs_text_addf(out, "%.1f s\n", answer->milliseconds / 1e3);
    rpl_warnings_text(run, out);
}
