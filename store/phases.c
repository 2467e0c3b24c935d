/*
 * store/phases.c - see phases.h.
 *
 * Must not know:  SQLite, files.
 * Invariant:      allocated, requested and reserved are the sums over the events so far. In a trace that frees more
 *                 than it allocated (an imported one that began in the middle) they stop at 0.
 */
#include "store/phases.h"

#include <math.h>

#include "base/error.h"

static uint64_t without(uint64_t sum, uint64_t bytes)
{
    return sum > bytes ? sum - bytes : 0;
}

static void stat_begin(struct sto_phases *p, uint64_t seq, enum vs_phase phase)
{
    p->stat = (struct sto_phase_stat){
        .step = p->step.step,
        .phase = phase,
        .first_seq = seq,
        .last_seq = seq,
        .allocated_end = p->allocated,
        .allocated_peak = p->allocated,
        .requested_end = p->requested,
        .requested_peak = p->requested,
        .reserved_end = p->reserved,
        .reserved_peak = p->reserved,
        .peak_seq = seq,
    };
}

void sto_phases_init(struct sto_phases *p, uint64_t first_seq)
{
    *p = (struct sto_phases){0};
    p->step = (struct sto_step){.step = -1, .first_seq = first_seq, .loss = (double)NAN};
    stat_begin(p, first_seq, VS_PHASE_SETUP);
    p->stat.last_seq = 0;
}

bool sto_phases_is_border(enum vs_event_kind kind)
{
    return kind == VS_EV_PHASE || kind == VS_EV_STEP;
}

static void blocks_taken(struct sto_phases *p, uint64_t seq, const struct vs_event *event)
{
    p->requested += event->alloc.requested_bytes;
    p->allocated += event->alloc.block_bytes;
    if (p->requested > p->stat.requested_peak)
        p->stat.requested_peak = p->requested;
    if (p->allocated > p->stat.allocated_peak) {
        p->stat.allocated_peak = p->allocated;
        p->stat.peak_seq = seq;
    }
}

void sto_phases_count(struct sto_phases *p, uint64_t seq, const struct vs_event *event)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        blocks_taken(p, seq, event);
        break;
    case VS_EV_FREE:
        p->requested = without(p->requested, event->free.requested_bytes);
        p->allocated = without(p->allocated, event->free.block_bytes);
        break;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_MAP:
        p->reserved += event->segment.bytes;
        if (p->reserved > p->stat.reserved_peak)
            p->stat.reserved_peak = p->reserved;
        break;
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_UNMAP:
        p->reserved = without(p->reserved, event->segment.bytes);
        break;
    case VS_EV_OOM:
    case VS_EV_ANY_OF_PROGRAM:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    p->stat.allocated_end = p->allocated;
    p->stat.requested_end = p->requested;
    p->stat.reserved_end = p->reserved;
    p->stat.last_seq = seq;
    p->step.last_seq = seq;
    p->is_bare = false;
}

void sto_phases_border(struct sto_phases *p, uint64_t seq, const struct vs_event *event,
                       struct sto_phases_ended *out)
{
    VS_ASSERT(sto_phases_is_border((enum vs_event_kind)event->kind));
    *out = (struct sto_phases_ended){.stat = p->stat, .step = p->step};
    if (event->kind == VS_EV_STEP) {
        out->has_stat = p->stat.last_seq > 0;
        out->has_step = p->step.last_seq > 0;
        p->step =
            (struct sto_step){.step = vs_event_step(event), .first_seq = seq, .loss = (double)NAN};
        stat_begin(p, seq, p->stat.phase);
    } else if (p->is_bare) {
        stat_begin(p, p->stat.first_seq, (enum vs_phase)event->phase.phase);
    } else {
        out->has_stat = p->stat.last_seq > 0;
        stat_begin(p, seq, (enum vs_phase)event->phase.phase);
    }
    p->is_bare = event->kind == VS_EV_STEP;
    p->stat.last_seq = seq;
    p->step.last_seq = seq;
}
