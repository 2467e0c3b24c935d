/*
 * replay/report/report_text.c - the report as text; see report.h.
 *
 * Must not know:  terminals, where the text goes. No colour: the text is the same in a file.
 * Invariant:      every figure has its unit; the main ones are printed in exact bytes as well.
 */
#include "replay/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "replay/report/by_value.h"
#include "replay/report/dropped.h"
#include "replay/report/report_internal.h"
#include "replay/report/simulated.h"
#include "replay/report/warnings.h"
#include "replay/trace/scripts.h"

#define BAR_WIDTH 24
#define STEPS_SHOWN 6
#define SITES_SHOWN 8
#define SHORTAGES_SHOWN 3
/* Unused blocks are listed as advice if freeing them lowers the peak by at least one part in this many. */
#define KEPT_SHARE_MIN 100

static void add_exact(struct vs_text *out, uint64_t n)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_add(out, vs_bytes_exact_text(n, buf));
}

/* "48.5 MiB (50,856,960 bytes)", or "600 B", which is exact already. `word` follows the first figure. */
static void add_bytes_and_exact(struct vs_text *out, const char *word, uint64_t bytes)
{
    rpl_report_add_bytes(out, 0, bytes);
    vs_text_add(out, word);
    if (bytes < 1024)
        return;
    vs_text_add(out, " (");
    add_exact(out, bytes);
    vs_text_add(out, " bytes)");
}

/* "at event 917, step 1, backward", or "at event 45, setup" */
static void add_event(struct vs_text *out, uint64_t event, int64_t step, enum vs_phase phase)
{
    vs_text_add(out, " at event ");
    add_exact(out, event);
    if (step >= 0)
        vs_text_addf(out, ", step %" PRId64, step);
    vs_text_addf(out, ", %s", vs_phase_name(phase));
}

/* "derived from Python and C++ frames: …; steps by the optimizer's, 99.8 % alike" */
static void add_derived(const struct rpl_trace *trace, struct vs_text *out)
{
    const char *from = rpl_trace_meta(trace, "derived_from");
    const char *by = rpl_trace_meta(trace, "steps_by");
    const char *alike = rpl_trace_meta(trace, "steps_alike");

    if (!by)
        return;
    if (from)
        vs_text_addf(out, "derived from %s frames: phases, categories%s; ", from,
                     strstr(rpl_trace_meta(trace, "derived"), "module") ? ", modules" : "");
    vs_text_addf(out, "steps %s%s", strcmp(by, "not found") == 0 ? "" : "by ", by);
    if (alike)
        vs_text_addf(out, ", %.1f %% alike", strtod(alike, NULL) / 10);
    vs_text_add_char(out, '\n');
}

/* "observed: op, module, shape and names of 7,272 of 7,272 allocations; …" */
static void add_observed(const struct rpl_trace *trace, struct vs_text *out)
{
    const char *matched = rpl_trace_meta(trace, "observed");
    const char *total = rpl_trace_meta(trace, "observed_of");
    const char *own = rpl_trace_meta(trace, "observed_own");
    const char *collected = rpl_trace_meta(trace, "observed_collected");
    const char *unknown = rpl_trace_meta(trace, "arithmetic_unknown");
    const char *saves = rpl_trace_meta(trace, "observed_saves_unknown");
    const char *ended = rpl_trace_meta(trace, "observed_ended");

    if (!matched || !total)
        return;
    vs_text_add(out, "observed: op, module, shape and names of ");
    add_exact(out, strtoull(matched, NULL, 10));
    vs_text_add(out, " of ");
    add_exact(out, strtoull(total, NULL, 10));
    vs_text_add(out, " allocations");
    if (own && strcmp(own, "0") != 0)
        vs_text_addf(out, "; %s events are not the program's, but the observer's", own);
    if (collected && strcmp(collected, "0") != 0)
        vs_text_addf(out,
                     "; %s blocks were freed by Python's collector of reference cycles, whose time "
                     "the observer may shift",
                     collected);
    vs_text_add_char(out, '\n');
    if (unknown && strcmp(unknown, "0") != 0)
        vs_text_addf(out, "arithmetic: not known of %s of %s ops: %s\n", unknown,
                     rpl_trace_meta(trace, "arithmetic_ops"),
                     rpl_trace_meta(trace, "arithmetic_unknown_ops"));
    if (saves)
        vs_text_addf(out, "what autograd saved is not known: %s\n", saves);
    if (ended)
        vs_text_addf(out, "not observed throughout: %s\n", ended);
}

/* Which of several devices this is about. */
static void add_devices(const struct rpl_trace *trace, struct vs_text *out)
{
    const size_t count = rpl_trace_device_count(trace);

    if (!count)
        return;
    vs_text_addf(out, "\ndevice %" PRIu64 " of",
                 rpl_trace_device(trace, rpl_trace_device_now(trace)));
    for (size_t i = 0; i < count; i++)
        vs_text_addf(out, "%s %" PRIu64, i ? "," : "", rpl_trace_device(trace, i));
    vs_text_add(out, "; TRACE@N is device N");
}

/* Of an imported history that is not consistent: why, and which events were left out. */
static void add_partial(const struct rpl_trace *trace, struct vs_text *out)
{
    static const char *const KEYS[] = {"dropped", "unsure"};
    const char *reason = rpl_trace_meta(trace, "partial");

    if (!reason)
        return;
    vs_text_addf(out, "\nimported in part: %s", reason);
    for (int i = 0; i < 2; i++) {
        const char *line = rpl_trace_meta(trace, KEYS[i]);

        while (line && *line) {
            size_t len = strcspn(line, "\n");

            vs_text_addf(out, "\n  %s %.*s", i ? "not sure:" : "left out:", (int)len, line);
            line += len + (line[len] == '\n');
        }
    }
}

/* Of a recording with a bound: what is not in the trace any more. */
static void add_dropped(const struct rpl_trace *trace, struct vs_text *out)
{
    uint64_t dropped = 0;
    uint64_t start = 0;

    if (!rpl_trace_meta_uint(trace, "dropped_events", &dropped) ||
        !rpl_trace_meta_uint(trace, "start_events", &start))
        return;
    vs_text_add(out, "\nonly the last events were kept: the first ");
    add_exact(out, dropped);
    vs_text_add(out, " were dropped; what they left alive is here as the first ");
    add_exact(out, start);
    vs_text_add(out, " events");
}

static void add_head(const struct rpl_report *report, const char *name, struct vs_text *out)
{
    struct rpl_trace *trace = report->trace;
    const char *net = rpl_trace_source_name(trace);
    const char *program = rpl_trace_meta(trace, "source_name");
    const char *device = rpl_trace_meta(trace, "device");
    size_t given = 0;

    vs_text_addf(out, "%s: %s on %s, ", name,
                 net       ? net
                 : program ? program
                           : "no net",
                 device ? device : "an unknown device");
    if (!rpl_trace_is_imported(trace)) {
        add_exact(out, report->sum.parameters);
        vs_text_add(out, " parameters, ");
    }
    add_exact(out, report->sum.events);
    vs_text_add(out, " events");
    if (rpl_trace_meta(trace, "torch"))
        vs_text_addf(out, ", PyTorch %s", rpl_trace_meta(trace, "torch"));
    if (!rpl_trace_is_complete(trace))
        vs_text_add(out, "; the recording was cut off, this report covers what was recorded");
    add_devices(trace, out);
    add_partial(trace, out);
    add_dropped(trace, out);
    if (rpl_trace_meta(trace, "why_cpu"))
        vs_text_addf(out, "\non the CPU, because the GPU could not be used: %s",
                     rpl_trace_meta(trace, "why_cpu"));
    if (rpl_trace_meta(trace, "failure"))
        vs_text_addf(out, "\nthe run failed there: %s", rpl_trace_meta(trace, "failure"));
    if (!rpl_trace_is_imported(trace))
        vs_text_add(out, "\ntoggles:");
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        if (toggle.is_default)
            continue;
        if (!given && rpl_trace_is_imported(trace))
            vs_text_add(out, "\ntoggles:");
        vs_text_addf(out, " %s=%s", toggle.name, toggle.value);
        given++;
    }
    vs_text_add(out, given || rpl_trace_is_imported(trace) ? "\n" : " none set\n");
    add_derived(trace, out);
    add_observed(trace, out);
    rpl_simulated_text(trace, out);
}

const char *rpl_no_op_text(const struct rpl_trace *trace)
{
    return rpl_trace_is_imported(trace) ? "op not known" : "between ops";
}

/* "  in `op` of module, line 24 of Net.forward" and the line itself. */
static void add_location(const struct rpl_trace *trace, uint32_t id, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, id);
    const char *op = rpl_trace_string(trace, location->op);
    const char *module = rpl_trace_string(trace, location->module);
    const char *func = rpl_trace_string(trace, location->func);
    const char *line;
    size_t len;

    if (*op || *module || location->line) {
        vs_text_addf(out, "  %s%s", *op ? "in " : rpl_no_op_text(trace), op);
        if (*module)
            vs_text_addf(out, " of %s", module);
        if (location->line)
            vs_text_addf(out, ", line %" PRIu32, location->line);
        if (*func)
            vs_text_addf(out, " in %s", func);
        vs_text_add_char(out, '\n');
    }
    line = rpl_location_source(trace, location, &len);
    if (len) {
        vs_text_addf(out, "    %" PRIu32 " | ", location->line);
        vs_text_add_n(out, line, len);
        vs_text_add_char(out, '\n');
    }
}

void rpl_uncertainty_text(const struct rpl_trace *trace, const struct rpl_uncertainty *uncertainty,
                          uint64_t peak, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, uncertainty->location);
    uint64_t margin = peak - uncertainty->highest;

    if (uncertainty->is_tensors_only) {
        vs_text_add(out,
                    "  excludes library workspaces and scratch memory of kernels (use --target "
                    "GPU)\n");
        return;
    }
    if (!uncertainty->allocs)
        return;
    vs_text_addf(out, "  lower bound: %s in %s", uncertainty->what,
                 rpl_trace_string(trace, location->op));
    if (location->line)
        vs_text_addf(out, " of line %" PRIu32, location->line);
    vs_text_add(out, " is not known without the device; ");
    if (margin) {
        vs_text_add(out, "above ");
        rpl_report_add_bytes(out, 0, margin);
        vs_text_add(out, " the peak would be at that op\n");
    } else {
        vs_text_add(out, "it is not included\n");
    }
}

/* Ops that had to use a slower algorithm because its workspace did not fit. */
static void add_shortages(const struct rpl_report *report, struct vs_text *out)
{
    const char *line = rpl_trace_meta(report->trace, "shortages");
    int shown = 0;
    int more = 0;

    while (line && *line) {
        size_t len = strcspn(line, "\n");

        if (shown < SHORTAGES_SHOWN) {
            vs_text_add(out, "  short of memory: ");
            vs_text_add_n(out, line, len);
            vs_text_add_char(out, '\n');
            shown++;
        } else {
            more++;
        }
        line += len + (line[len] == '\n');
    }
    if (more)
        vs_text_addf(out, "  short of memory: and at %d more ops\n", more);
}

static void add_peak(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_peak *peak = &report->sum.peak;

    vs_text_add(out, rpl_has_dropped(report->trace) ? "\nPeak of what was kept: " : "\nPeak: ");
    add_bytes_and_exact(out, " allocated", peak->allocated);
    add_event(out, peak->event, peak->step, peak->phase);
    vs_text_add(out, peak->is_recompute ? ", recomputed for a checkpoint\n" : "\n");
    if (rpl_has_dropped(report->trace)) {
        vs_text_add(out, "  ");
        rpl_run_peak_text(report->trace, out);
        vs_text_add_char(out, '\n');
    }
    add_location(report->trace, peak->location, out);
    vs_text_add(out, "  requested ");
    rpl_report_add_bytes(out, 0, peak->requested_there);
    vs_text_add(out, ", reserved ");
    rpl_report_add_bytes(out, 0, peak->reserved_there);
    vs_text_add(out, ": ");
    rpl_report_add_bytes(out, 0, peak->reserved_there - peak->allocated);
    vs_text_add(out, " of the segments not in use\n");
    rpl_uncertainty_text(report->trace, &report->sum.uncertainty, report->sum.peak.allocated, out);
    rpl_by_values_text(report->trace, out);
    add_shortages(report, out);
}

/* Whether the run fits the target GPU. */
static void add_fit(const struct rpl_report *report, struct vs_text *out)
{
    const struct vs_target *target = rpl_target(report->trace);

    if (!target)
        return;
    vs_text_addf(out, "\n%s the %s: ", report->sum.oom.event ? "Does not fit" : "Fits",
                 target->title);
    rpl_report_add_bytes(out, 0, report->sum.peak.reserved);
    vs_text_add(out, " reserved at most of ");
    rpl_report_add_bytes(out, 0, rpl_capacity(report->trace));
    vs_text_add(out, ", of which the CUDA context takes some hundred MiB\n");
}

static void add_oom(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_oom *oom = &report->sum.oom;

    vs_text_add(out, "\nOut of memory: ");
    add_bytes_and_exact(out, "", oom->requested);
    vs_text_add(out, " were refused");
    add_event(out, oom->event, oom->step, oom->phase);
    vs_text_add_char(out, '\n');
    add_location(report->trace, oom->location, out);
    vs_text_add(out, "  a segment of ");
    rpl_report_add_bytes(out, 0, oom->segment);
    vs_text_add(out, " was requested with ");
    rpl_report_add_bytes(out, 0, oom->device_free);
    vs_text_add(out, " free on the device; ");
    rpl_report_add_bytes(out, 0, oom->allocated);
    vs_text_add(out, " were allocated, ");
    rpl_report_add_bytes(out, 0, oom->reserved);
    vs_text_add(out, " reserved\n");
}

/* The categories, the largest first, with their shares. */
static void add_categories(const struct rpl_report *report, struct vs_text *out)
{
    uint64_t total = 0;
    bool is_done[VS_CATEGORY_COUNT] = {false};

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        total += report->by_category[i];
    vs_text_add(out,
                report->sum.oom.event ? "\nWhat fills the device\n" : "\nWhat fills the peak\n");
    for (;;) {
        size_t next = VS_CATEGORY_COUNT;
        double share;
        int bar;

        for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
            if (!is_done[i] && report->by_category[i] &&
                (next == VS_CATEGORY_COUNT || report->by_category[i] > report->by_category[next]))
                next = i;
        if (next == VS_CATEGORY_COUNT)
            return;
        is_done[next] = true;
        share = (double)report->by_category[next] / (double)total;
        bar = (int)lround(BAR_WIDTH * share);
        vs_text_addf(out, "  %-11s", vs_category_name((enum vs_category)next));
        rpl_report_add_bytes(out, 11, report->by_category[next]);
        vs_text_addf(out, "  %5.1f %%  %5" PRIu64 " block%s", 100.0 * share,
                     report->blocks_by_category[next],
                     report->blocks_by_category[next] == 1 ? "" : "s");
        if (bar)
            vs_text_add(out, report->blocks_by_category[next] == 1 ? "   " : "  ");
        vs_text_add_fill(out, '#', bar);
        vs_text_add_char(out, '\n');
    }
}

/* The allocation sites, of imported traces only: with a net file the list of tensors names them more precisely. */
static void add_alloc_sites(const struct rpl_report *report, struct vs_text *out)
{
    if (!rpl_trace_is_imported(report->trace))
        return;
    vs_text_add(out, "\nAllocated by these lines\n");
    rpl_alloc_sites_text(&report->lines, report->trace, SITES_SHOWN, out);
    if (report->layers.count < 2)
        return;
    vs_text_add(out, "\nAllocated in these modules, * for all layers together\n");
    rpl_alloc_sites_text(&report->layers, report->trace, SITES_SHOWN, out);
}

static void add_step_rows(const struct rpl_trace *trace, const struct rpl_step_figures *step,
                          struct vs_text *out)
{
    for (size_t i = 0; i < step->phase_count; i++) {
        const struct rpl_phase *phase = &step->phases[i];

        if (step->step < 0)
            vs_text_add(out, "     -");
        else
            vs_text_addf(out, "%6" PRId64, step->step);
        vs_text_addf(out, "  %-10s", rpl_phase_name(trace, step->step, phase->phase));
        rpl_report_add_bytes(out, 12, phase->allocated_end);
        rpl_report_add_bytes(out, 12, phase->allocated_peak);
        rpl_report_add_bytes(out, 12, phase->requested_end);
        rpl_report_add_bytes(out, 12, phase->reserved_end);
        if (phase->phase == VS_PHASE_LOSS && !isnan(step->loss))
            vs_text_addf(out, "   %.6g", step->loss);
        vs_text_add_char(out, '\n');
    }
}

/* All steps if they are few, otherwise the first ones and the last. */
static void add_steps(const struct rpl_trace *trace, const struct rpl_summary *sum,
                      struct vs_text *out)
{
    size_t head = sum->step_count <= STEPS_SHOWN ? sum->step_count : STEPS_SHOWN - 1;

    vs_text_add(
        out,
        "\n  step  phase      allocated:   at end     highest   requested    reserved   loss\n");
    for (size_t i = 0; i < head; i++)
        add_step_rows(trace, &sum->steps[i], out);
    if (head == sum->step_count)
        goto out;
    vs_text_addf(out, "   ...  %zu more step%s\n", sum->step_count - head - 1,
                 sum->step_count - head - 1 == 1 ? "" : "s");
    add_step_rows(trace, &sum->steps[sum->step_count - 1], out);
out:
    if (rpl_has_dropped(trace))
        vs_text_add(out, "  at start: what was alive at the start of what was kept\n");
}

static void add_tail(const struct rpl_summary *sum, bool has_dropped, struct vs_text *out)
{
    uint64_t recomputed = 0;

    vs_text_addf(out, "\nSaved by autograd when %s: ",
                 sum->saved.is_at_loss ? "the last loss ends"
                 : sum->oom.event      ? "memory ran out"
                                       : "the recording ends");
    add_exact(out, sum->saved.tensors);
    vs_text_add(out, sum->saved.tensors == 1 ? " tensor, " : " tensors, ");
    rpl_report_add_bytes(out, 0, sum->saved.bytes);
    vs_text_add(out, " (");
    rpl_report_add_bytes(out, 0, sum->saved.bytes_all);
    vs_text_add(out, " with parameters, buffers and batch)\n");
    for (size_t i = 0; i < sum->step_count; i++)
        recomputed += sum->steps[i].recomputed_ops;
    if (!recomputed)
        return;
    vs_text_add(out, "Recomputed ops a step:");
    for (size_t i = 0; i < sum->step_count; i++)
        if (sum->steps[i].step >= 0)
            vs_text_addf(out, " %" PRIu64, sum->steps[i].recomputed_ops);
    if (sum->flops) /* of a program it is not known */
        vs_text_addf(out, " (%.1f %% of %s)",
                     100.0 * (double)sum->recompute_flops / (double)sum->flops,
                     has_dropped ? "the arithmetic of what was kept" : "all arithmetic");
    vs_text_add_char(out, '\n');
}

void rpl_report_need_text(const struct rpl_report *free, uint64_t capacity, struct vs_text *out)
{
    const struct rpl_peak *peak = &free->sum.peak;
    const bool is_imported = rpl_trace_is_imported(free->trace);

    vs_text_add(out, is_imported ? "\nWith the refused bytes its peak would have been "
                                 : "\nWithout a limit its peak would be ");
    add_bytes_and_exact(out, " allocated", peak->allocated);
    add_event(out, peak->event, peak->step, peak->phase);
    vs_text_add(out, peak->is_recompute ? ", recomputed for a checkpoint\n" : "\n");
    add_location(free->trace, peak->location, out);
    vs_text_add(out, "  reserved ");
    rpl_report_add_bytes(out, 0, free->sum.peak.reserved);
    vs_text_add(out, " at most; the device has ");
    rpl_report_add_bytes(out, 0, capacity);
    vs_text_add(out, is_imported
                         ? "; what the program would have requested afterwards is not known\n"
                         : "\n");
    if (!is_imported && free->kept.count && free->kept.gain >= peak->allocated / KEPT_SHARE_MIN)
        rpl_report_kept_text(free, out);
}

void rpl_report_text(const struct rpl_report *report, const char *name, struct vs_text *out)
{
    add_head(report, name, out);
    if (!report->at) {
        vs_text_add(out, "\nNothing was allocated.\n");
        return;
    }
    if (report->sum.oom.event)
        add_oom(report, out);
    else
        add_peak(report, out);
    add_fit(report, out);
    rpl_warnings_text(report->trace, out);
    rpl_account_text(&report->account, out);
    if (!report->sum.peak.allocated) {
        vs_text_add(out, "\nNothing was allocated.\n");
        return;
    }
    rpl_mistakes_text(&report->mistakes, out);
    add_categories(report, out);
    add_alloc_sites(report, out);
    if (report->largest_count)
        vs_text_add(out, "\nLargest tensors there\n");
    for (size_t i = 0; i < report->largest_count; i++)
        rpl_report_tensor_text(report, &report->largest[i], out);
    rpl_report_kept_text(report, out);
    rpl_report_leak_text(report, out);
    add_steps(report->trace, &report->sum, out);
    if (report->non_pytorch && report->non_pytorch->at)
        rpl_non_pytorch_text(report->non_pytorch, report->top, out);
    if (rpl_trace_has_saves(report->trace))
        add_tail(&report->sum, rpl_has_dropped(report->trace), out);
    rpl_parameters_text(&report->parameters, out);
    rpl_traffic_text(&report->traffic, report->trace, out);
    rpl_report_work_text(report, out);
}
