/*
 * replay/report/figures.c - see figures.h.
 *
 * Must not know:  how the figures are computed or shown.
 * Invariant:      what is loaded is what was stored, but for what rpl_summary_complete() fills.
 */
#include "replay/report/figures.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/index_internal.h"
#include "replay/trace/pack.h"
#include "replay/trace/trace_internal.h"
#include "store/derived.h"

/* Behind all parts of the index, which ends with the levels of its pyramid. */
#define PART ((uint64_t)(RPL_PART_LEVEL + 64) << 32)
/* Incremented with every change of what is stored or of its meaning. */
#define VERSION 2

/* The trace may have stored figures: they are of a whole file. */
static bool is_stored(const struct rpl_trace *trace)
{
    return rpl_trace_reader(trace) && !rpl_trace_device_count(trace) &&
           rpl_trace_is_complete(trace) && rpl_trace_event_count(trace) >= RPL_STORE_EVENTS;
}

/* ---- the numbers of a summary, in the order in which they are stored ---- */

#define NUMBERS 30
#define NUMBERS_MAX (NUMBERS + VS_CATEGORY_COUNT)

/* Where they are. */
static void numbers_of(struct rpl_summary *s, uint64_t *out[NUMBERS_MAX])
{
    uint64_t *const numbers[] = {
        &s->peak.allocated,
        &s->peak.requested,
        &s->peak.active,
        &s->peak.reserved,
        &s->peak.event,
        &s->peak.requested_there,
        &s->peak.reserved_there,
        &s->uncertainty.allocs,
        &s->uncertainty.highest,
        &s->uncertainty.event,
        &s->saved.event,
        &s->saved.tensors,
        &s->saved.bytes,
        &s->saved.bytes_all,
        &s->oom.event,
        &s->oom.requested,
        &s->oom.segment,
        &s->oom.device_free,
        &s->oom.allocated,
        &s->oom.reserved,
        &s->events,
        &s->alloc_events,
        &s->device,
        &s->parameters,
        &s->end_allocated,
        &s->end_reserved,
        &s->end_segments,
        &s->end_blocks,
        &s->flops,
        &s->recompute_flops,
    };

    static_assert(sizeof(numbers) / sizeof(numbers[0]) == NUMBERS, "each has its place");
    memcpy(out, numbers, sizeof(numbers));
    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
        out[NUMBERS + c] = &s->peak.by_category[c];
}

static void phase_pack(const struct rpl_phase *phase, const struct rpl_phase *before,
                       struct rpl_pack *out)
{
    rpl_pack_uint(out, phase->phase);
    rpl_pack_int(out, (int64_t)(phase->first_seq - before->first_seq));
    rpl_pack_bytes(out, before->allocated_end, phase->allocated_end);
    rpl_pack_bytes(out, phase->allocated_end, phase->allocated_peak);
    rpl_pack_bytes(out, before->requested_end, phase->requested_end);
    rpl_pack_bytes(out, phase->requested_end, phase->requested_peak);
    rpl_pack_bytes(out, before->reserved_end, phase->reserved_end);
    rpl_pack_bytes(out, phase->reserved_end, phase->reserved_peak);
}

static enum vs_phase phase_take(struct rpl_unpack *in)
{
    const uint64_t number = rpl_unpack_uint(in);

    in->is_bad |= number >= VS_PHASE_COUNT;
    return (enum vs_phase)(number % VS_PHASE_COUNT);
}

static void phase_unpack(struct rpl_unpack *in, const struct rpl_phase *before,
                         struct rpl_phase *phase)
{
    phase->phase = phase_take(in);
    phase->first_seq = before->first_seq + (uint64_t)rpl_unpack_int(in);
    phase->allocated_end = rpl_unpack_bytes(in, before->allocated_end);
    phase->allocated_peak = rpl_unpack_bytes(in, phase->allocated_end);
    phase->requested_end = rpl_unpack_bytes(in, before->requested_end);
    phase->requested_peak = rpl_unpack_bytes(in, phase->requested_end);
    phase->reserved_end = rpl_unpack_bytes(in, before->reserved_end);
    phase->reserved_peak = rpl_unpack_bytes(in, phase->reserved_end);
}

static void casts_pack(const struct rpl_casts *casts, struct rpl_pack *out)
{
    for (size_t from = 0; from < VS_DTYPE_COUNT; from++)
        for (size_t to = 0; to < VS_DTYPE_COUNT; to++) {
            const struct rpl_cast *cast = &casts->by[from][to];

            rpl_pack_uint(out, cast->count);
            if (!cast->count)
                continue;
            rpl_pack_uint(out, cast->bytes);
            rpl_pack_uint(out, cast->cached);
        }
}

static void casts_unpack(struct rpl_unpack *in, struct rpl_casts *casts)
{
    for (size_t from = 0; from < VS_DTYPE_COUNT; from++)
        for (size_t to = 0; to < VS_DTYPE_COUNT; to++) {
            struct rpl_cast *cast = &casts->by[from][to];

            cast->count = rpl_unpack_uint(in);
            if (!cast->count)
                continue;
            cast->bytes = rpl_unpack_uint(in);
            cast->cached = rpl_unpack_uint(in);
        }
}

static void summary_pack(struct rpl_summary s, struct rpl_pack *out)
{
    uint64_t *numbers[NUMBERS_MAX];
    struct rpl_phase before = {.first_seq = 0};

    numbers_of(&s, numbers);
    for (size_t i = 0; i < NUMBERS_MAX; i++)
        rpl_pack_uint(out, *numbers[i]);
    rpl_pack_int(out, s.peak.step);
    rpl_pack_uint(out, s.peak.phase);
    rpl_pack_uint(out, s.peak.location);
    rpl_pack_uint(out, s.peak.is_recompute);
    rpl_pack_uint(out, s.uncertainty.is_tensors_only);
    rpl_pack_uint(out, s.uncertainty.location);
    rpl_pack_uint(out, s.saved.is_at_loss);
    rpl_pack_int(out, s.oom.step);
    rpl_pack_uint(out, s.oom.phase);
    rpl_pack_uint(out, s.oom.location);
    casts_pack(&s.casts, out);
    rpl_pack_uint(out, s.step_count);
    for (size_t i = 0; i < s.step_count; i++) {
        const struct rpl_step_figures *step = &s.steps[i];

        rpl_pack_int(out, step->step);
        rpl_pack_uint(out, step->recomputed_ops);
        rpl_pack_uint(out, step->phase_count);
        for (size_t k = 0; k < step->phase_count; k++) {
            phase_pack(&step->phases[k], &before, out);
            before = step->phases[k];
        }
    }
}

static void summary_unpack(struct rpl_unpack *in, uint64_t events, struct rpl_summary *s)
{
    uint64_t *numbers[NUMBERS_MAX];
    struct rpl_phase before = {.first_seq = 0};
    uint64_t steps;

    numbers_of(s, numbers);
    for (size_t i = 0; i < NUMBERS_MAX; i++)
        *numbers[i] = rpl_unpack_uint(in);
    s->peak.step = rpl_unpack_int(in);
    s->peak.phase = phase_take(in);
    s->peak.location = (uint32_t)rpl_unpack_uint(in);
    s->peak.is_recompute = rpl_unpack_uint(in) != 0;
    s->uncertainty.is_tensors_only = rpl_unpack_uint(in) != 0;
    s->uncertainty.location = (uint32_t)rpl_unpack_uint(in);
    s->saved.is_at_loss = rpl_unpack_uint(in) != 0;
    s->oom.step = rpl_unpack_int(in);
    s->oom.phase = phase_take(in);
    s->oom.location = (uint32_t)rpl_unpack_uint(in);
    casts_unpack(in, &s->casts);
    steps = rpl_unpack_uint(in);
    in->is_bad |= s->events != events || s->peak.event > events || s->oom.event > events ||
                  s->saved.event > events || s->uncertainty.event > events || steps > events + 1;
    for (uint64_t i = 0; !in->is_bad && i < steps; i++) {
        struct rpl_step_figures *step;
        uint64_t phases;

        s->steps = vs_grow(s->steps, s->step_count, &s->step_cap, sizeof(*s->steps));
        step = &s->steps[s->step_count++];
        memset(step, 0, sizeof(*step));
        step->step = rpl_unpack_int(in);
        step->recomputed_ops = rpl_unpack_uint(in);
        phases = rpl_unpack_uint(in);
        in->is_bad |= phases > VS_PHASE_COUNT;
        for (; !in->is_bad && step->phase_count < phases; step->phase_count++) {
            phase_unpack(in, &before, &step->phases[step->phase_count]);
            before = step->phases[step->phase_count];
        }
    }
}

/* ---- traffic ---- */

static void traffic_pack(const struct rpl_traffic *traffic, struct rpl_pack *out)
{
    rpl_pack_uint(out, traffic->bytes);
    rpl_pack_uint(out, traffic->row_count);
    for (size_t i = 0; i < traffic->row_count; i++) {
        rpl_pack_uint(out, traffic->rows[i].name);
        rpl_pack_uint(out, traffic->rows[i].role);
        rpl_pack_uint(out, traffic->rows[i].calls);
        rpl_pack_uint(out, traffic->rows[i].bytes);
        rpl_pack_uint(out, traffic->rows[i].flops);
    }
}

static void traffic_unpack(struct rpl_unpack *in, struct rpl_traffic *traffic)
{
    uint64_t count;

    traffic->bytes = rpl_unpack_uint(in);
    count = rpl_unpack_uint(in);
    for (uint64_t i = 0; !in->is_bad && i < count; i++) {
        struct rpl_traffic_row *row;

        traffic->rows =
            vs_grow(traffic->rows, traffic->row_count, &traffic->row_cap, sizeof(*traffic->rows));
        row = &traffic->rows[traffic->row_count++];
        row->name = (uint32_t)rpl_unpack_uint(in);
        row->role = (uint8_t)rpl_unpack_uint(in);
        row->calls = rpl_unpack_uint(in);
        row->bytes = rpl_unpack_uint(in);
        row->flops = rpl_unpack_uint(in);
        in->is_bad |= row->role > VS_OP_RECOMPUTE;
    }
}

/* ---- both ---- */

enum vs_status rpl_figures_load(struct rpl_trace *trace, struct rpl_summary *summary,
                                struct rpl_traffic *traffic, struct vs_error *err)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    size_t cap = 0;
    struct rpl_unpack in = {.is_bad = true};
    enum vs_status st;

    if (!is_stored(trace))
        return vs_fail(err, VS_E_NOT_FOUND, "the trace has no stored figures");
    st = sto_derived_get(rpl_trace_reader(trace), PART, &bytes, &len, &cap, err);
    if (!st && rpl_unpack_init(&in, bytes, len) && rpl_unpack_uint(&in) == VERSION &&
        rpl_unpack_uint(&in) == rpl_trace_event_count(trace) &&
        rpl_unpack_uint(&in) == sto_reader_fingerprint(rpl_trace_reader(trace))) {
        summary_unpack(&in, rpl_trace_event_count(trace), summary);
        traffic_unpack(&in, traffic);
    } else {
        in.is_bad = true;
    }
    if (!st && (in.is_bad || !rpl_unpack_is_done(&in))) {
        rpl_summary_release(summary);
        rpl_traffic_release(traffic);
        st = vs_fail(err, VS_E_NOT_FOUND, "the stored figures are of other events");
    }
    vs_free(bytes);
    if (!st)
        rpl_summary_complete(summary, trace);
    return st;
}

enum vs_status rpl_figures_summary(struct rpl_trace *trace, struct rpl_summary *out,
                                   struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct rpl_traffic traffic = {NULL, 0, 0, 0};
    enum vs_status st = rpl_figures_load(trace, out, &traffic, &ignored);

    rpl_traffic_release(&traffic);
    return st ? rpl_summary_fill(out, trace, err) : VS_OK;
}

void rpl_figures_save(struct rpl_trace *trace, const struct rpl_summary *summary,
                      const struct rpl_traffic *traffic)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct rpl_pack pack = {NULL, 0, 0};
    const struct sto_reader *reader = rpl_trace_reader(trace);

    if (!is_stored(trace))
        return;
    rpl_pack_uint(&pack, VERSION);
    rpl_pack_uint(&pack, rpl_trace_event_count(trace));
    rpl_pack_uint(&pack, sto_reader_fingerprint(reader));
    summary_pack(*summary, &pack);
    traffic_pack(traffic, &pack);
    rpl_pack_seal(&pack);
    /* the next report computes them again */
    (void)!sto_derived_add(sto_reader_path(reader), PART, pack.bytes, pack.len, &ignored);
    rpl_pack_release(&pack);
}
