/*
 * replay/report/summary.c - see summary.h.
 *
 * Must not know:  how the figures are shown.
 * Invariant:      every event is read once, in order.
 */
#include "replay/report/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "replay/state/state.h"

/*
 * State of a pass over the events.
 *
 * phase       the current phase, within out->steps; NULL between a `step` event and the next phase
 * space       segments alone: adjacent parts of expandable segments count as one
 * has_parameters  whether they have been counted
 * is_saved_exact  out->saved was taken where backward began
 * is_ours     whether the engine made the run, so that its uncertainty is determined
 */
struct pass {
    struct rpl_summary *out;
    struct rpl_trace *trace;
    struct rpl_live live;
    struct rpl_state space;
    struct rpl_phase *phase;
    struct rpl_uncertainty_ops uncertainty_ops;
    bool has_parameters;
    bool is_saved_exact;
    bool is_ours;
};

static struct rpl_step_figures *step_add(struct rpl_summary *out, int64_t step)
{
    struct rpl_step_figures *figures;

    out->steps = vs_grow(out->steps, out->step_count, &out->step_cap, sizeof(*out->steps));
    figures = &out->steps[out->step_count++];
    memset(figures, 0, sizeof(*figures));
    figures->step = step;
    return figures;
}

static struct rpl_step_figures *step_now(struct pass *pass)
{
    struct rpl_summary *out = pass->out;

    return out->step_count ? &out->steps[out->step_count - 1] : step_add(out, pass->live.step);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Take the current totals into the current phase. */
static void phase_note(struct pass *pass)
{
    const struct rpl_live *live = &pass->live;
    struct rpl_phase *phase = pass->phase;

    phase->allocated_end = live->allocated;
    phase->requested_end = live->requested;
    phase->reserved_end = live->reserved;
    phase->allocated_peak = larger(phase->allocated_peak, live->allocated);
    phase->requested_peak = larger(phase->requested_peak, live->requested);
    phase->reserved_peak = larger(phase->reserved_peak, live->reserved);
}

/* From event `seq` on the phase of `live` runs: a new phase, or a further part of one that this step already has. */
static void phase_begin(struct pass *pass, uint64_t seq)
{
    struct rpl_step_figures *step = step_now(pass);

    pass->phase = NULL;
    for (size_t i = 0; i < step->phase_count; i++)
        if (step->phases[i].phase == pass->live.phase)
            pass->phase = &step->phases[i];
    if (!pass->phase) {
        pass->phase = &step->phases[step->phase_count++];
        memset(pass->phase, 0, sizeof(*pass->phase));
        pass->phase->phase = pass->live.phase;
        pass->phase->first_seq = seq;
    }
    phase_note(pass);
}

bool rpl_counts_as_saved(const struct rpl_block *block)
{
    return block->category != VS_CAT_PARAMETER && block->category != VS_CAT_BUFFER &&
           block->category != VS_CAT_INPUT;
}

static void saved_note(struct pass *pass, uint64_t seq)
{
    struct rpl_saved *saved = &pass->out->saved;

    *saved = (struct rpl_saved){.event = seq, .is_at_loss = true};
    for (size_t i = 0; i < pass->live.block_count; i++) {
        const struct rpl_block *block = &pass->live.blocks[i];

        if (!block->saves)
            continue;
        saved->bytes_all += block->requested;
        if (rpl_counts_as_saved(block)) {
            saved->tensors++;
            saved->bytes += block->requested;
        }
    }
}

/*
 * The current phase ends; at the end of the loss, count what autograd saves. A loss that backward follows counts more
 * than one that is only looked at, such as that of an evaluation at the end of a step.
 */
static void phase_end(struct pass *pass, uint64_t seq, enum vs_phase next)
{
    enum vs_phase ended = pass->phase ? pass->phase->phase : VS_PHASE_SETUP;
    bool is_before_backward = next == VS_PHASE_BACKWARD;

    if (ended != VS_PHASE_LOSS && (ended != VS_PHASE_FORWARD || next == VS_PHASE_LOSS))
        return;
    if (pass->is_saved_exact && !is_before_backward)
        return;
    pass->is_saved_exact = is_before_backward;
    saved_note(pass, seq);
}

/* Elements of all parameters that are alive. */
static uint64_t parameters_count(struct pass *pass)
{
    uint64_t count = 0;

    for (size_t i = 0; i < pass->live.block_count; i++) {
        const struct rpl_block *block = &pass->live.blocks[i];
        struct vs_tensor_desc desc;

        if (block->category == VS_CAT_PARAMETER &&
            rpl_trace_tensor(pass->trace, block->tensor, &desc))
            count += block->requested / vs_dtype_bytes((enum vs_dtype)desc.dtype);
    }
    return count;
}

static void peak_note(struct pass *pass, uint64_t seq, const struct vs_event *event)
{
    const struct rpl_live *live = &pass->live;
    struct rpl_peak *peak = &pass->out->peak;

    peak->requested = larger(peak->requested, live->requested);
    peak->reserved = larger(peak->reserved, live->reserved);
    if (live->allocated <= peak->allocated)
        return;
    peak->allocated = peak->active = live->allocated;
    peak->event = seq;
    peak->requested_there = live->requested;
    peak->reserved_there = live->reserved;
    peak->step = live->step;
    peak->phase = live->phase;
    peak->location = event->location;
    peak->is_recompute = live->recompute_depth > 0;
    memcpy(peak->by_category, live->by_category, sizeof(peak->by_category));
}

static void oom_note(struct pass *pass, uint64_t seq, const struct vs_event *event)
{
    struct rpl_oom *oom = &pass->out->oom;

    if (oom->event)
        return;
    *oom = (struct rpl_oom){
        .event = seq,
        .requested = event->oom.requested_bytes,
        .segment = event->oom.segment_bytes,
        .device_free = event->oom.device_free_bytes,
        .allocated = pass->live.allocated,
        .reserved = pass->live.reserved,
        .step = pass->live.step,
        .phase = pass->live.phase,
        .location = event->location,
    };
}

/* Whether the op that ends was recomputed and PyTorch counts it as such. */
static bool counts_as_recomputed(const struct pass *pass, const struct vs_event *event)
{
    return event->op.role == VS_OP_RECOMPUTE &&
           strcmp(rpl_trace_string(pass->trace, (uint32_t)event->op.name), "detach") != 0;
}

/* An event that changes totals. */
static void allocator_note(struct pass *pass, uint64_t seq, const struct vs_event *event)
{
    pass->out->alloc_events++;
    if (!pass->phase)
        phase_begin(pass, seq);
    peak_note(pass, seq, event);
    phase_note(pass);
}

static void note(struct pass *pass, uint64_t seq, const struct vs_event *event)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        if (pass->is_ours)
            rpl_uncertainty_note(&pass->out->uncertainty, &pass->uncertainty_ops, pass->trace, seq,
                                 event->location, pass->live.allocated);
        /* fall through */
    case VS_EV_FREE:
        allocator_note(pass, seq, event);
        break;
    case VS_EV_ANY_SEGMENT:
        rpl_state_segment(&pass->space, event);
        allocator_note(pass, seq, event);
        break;
    case VS_EV_OOM:
        pass->out->alloc_events++;
        oom_note(pass, seq, event);
        break;
    case VS_EV_PHASE:
        phase_end(pass, seq, pass->live.phase);
        phase_begin(pass, seq);
        break;
    case VS_EV_STEP:
        phase_end(pass, seq, VS_PHASE_DATA);
        if (!pass->has_parameters && pass->live.step >= 0) {
            pass->out->parameters = parameters_count(pass);
            pass->has_parameters = true;
        }
        if (!pass->out->step_count || step_now(pass)->step != pass->live.step)
            step_add(pass->out, pass->live.step);
        pass->phase = NULL;
        break;
    case VS_EV_OP_END:
        pass->out->flops += event->op.flops;
        if (event->op.role == VS_OP_RECOMPUTE)
            pass->out->recompute_flops += event->op.flops;
        if (counts_as_recomputed(pass, event))
            step_now(pass)->recomputed_ops++;
        break;
    case VS_EV_CAST:
    case VS_EV_HOLD:
        rpl_casts_note(&pass->out->casts, &pass->live, event);
        break;
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
    case VS_EV_DROP:
    case VS_EV_SCALE:
    case VS_EV_SKIP_STEP:
    case VS_EV_CATEGORY:
    case VS_EV_OP_BEGIN:
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
    case VS_EV_USE:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

static void losses_fill(struct rpl_summary *out, const struct rpl_trace *trace)
{
    size_t count = rpl_trace_step_count(trace);
    size_t k = 0;

    /* both lists are in the order of the events */
    for (size_t i = 0; i < out->step_count; i++) {
        while (k < count && rpl_trace_step(trace, k).step < out->steps[i].step)
            k++;
        out->steps[i].loss = k < count && rpl_trace_step(trace, k).step == out->steps[i].step
                                 ? rpl_trace_step(trace, k).loss
                                 : (double)NAN;
    }
}

/*
 * Figures that the run stored in the trace replace those computed from events, as they include what events do not
 * show, such as at which op the loss was complete, or an op whose result was empty.
 */
static void notes_take(struct rpl_summary *out, const struct rpl_trace *trace)
{
    const char *ops = rpl_trace_meta(trace, "recomputed_ops");
    int64_t at = 0;
    uint64_t n;

    if (rpl_trace_meta_uint(trace, "parameters", &n))
        out->parameters = n;
    if (rpl_trace_meta_uint(trace, "saved_tensors", &n))
        out->saved.tensors = n;
    if (rpl_trace_meta_uint(trace, "saved_bytes", &n))
        out->saved.bytes = n;
    if (rpl_trace_meta_uint(trace, "saved_bytes_all", &n))
        out->saved.bytes_all = n;
    if (rpl_trace_meta_uint(trace, "device_number", &n))
        out->device = n;
    if (rpl_trace_meta_uint(trace, "recorded_events", &n))
        out->alloc_events = n;
    if (rpl_trace_meta_uint(trace, "end_segments", &n))
        out->end_segments = n;
    if (rpl_trace_meta_uint(trace, "end_blocks", &n))
        out->end_blocks = n;
    for (size_t i = 0; ops && i < out->step_count; i++) {
        if (out->steps[i].step < 0)
            continue;
        for (; at < out->steps[i].step; at++) { /* the first steps may have been dropped */
            const char *comma = strchr(ops, ',');

            if (!comma)
                break; /* the last one is that of all later steps */
            ops = comma + 1;
        }
        out->steps[i].recomputed_ops = strtoull(ops, NULL, 10);
    }
}

void rpl_summary_complete(struct rpl_summary *out, const struct rpl_trace *trace)
{
    losses_fill(out, trace);
    notes_take(out, trace);
    rpl_uncertainty_explain(&out->uncertainty, trace);
}

enum vs_status rpl_summary_fill(struct rpl_summary *out, struct rpl_trace *trace,
                                struct vs_error *err)
{
    return rpl_summary_fill_each(out, trace, NULL, NULL, err);
}

enum vs_status rpl_summary_fill_each(struct rpl_summary *out, struct rpl_trace *trace,
                                     rpl_summary_each_fn *each, void *user, struct vs_error *err)
{
    struct pass pass = {
        .out = out, .trace = trace, .is_ours = rpl_trace_source_text(trace) != NULL};
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct rpl_step_figures *steps = out->steps;
    size_t step_cap = out->step_cap;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    memset(out, 0, sizeof(*out));
    out->step_cap = step_cap;
    out->steps =
        vs_reserve(steps, rpl_trace_step_count(trace) + 1, &out->step_cap, sizeof(*out->steps));
    out->events = rpl_trace_event_count(trace);
    out->uncertainty.is_tensors_only =
        pass.is_ours && !rpl_target(trace) && !rpl_is_measured(trace);
    rpl_live_init(&pass.live);
    rpl_state_init(&pass.space);
    if (out->events)
        rpl_scan_init(scan, trace, 1, out->events);
    while (out->events && !st && (event = rpl_scan_next(scan, err)) != NULL) {
        st = rpl_live_apply(&pass.live, scan->seq, event, err);
        if (!st)
            note(&pass, scan->seq, event);
        if (!st && each)
            each(user, scan->seq, event);
    }
    if (!st && out->events)
        st = scan->status;
    if (st)
        goto out;
    phase_end(&pass, out->events, VS_PHASE_DATA);
    if (out->oom.event || !rpl_trace_is_complete(trace))
        out->saved.is_at_loss = out->saved.event < out->events;
    out->end_allocated = pass.live.allocated;
    out->end_reserved = pass.live.reserved;
    out->end_segments = pass.space.segment_count;
    out->end_blocks = pass.live.block_count;
    rpl_summary_complete(out, trace);
out:
    rpl_uncertainty_ops_release(&pass.uncertainty_ops);
    rpl_live_release(&pass.live);
    rpl_state_release(&pass.space);
    vs_free(scan);
    return st;
}

void rpl_summary_release(struct rpl_summary *summary)
{
    vs_free(summary->steps);
    memset(summary, 0, sizeof(*summary));
}
