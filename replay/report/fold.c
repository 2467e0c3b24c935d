/*
 * replay/report/fold.c - see fold.h.
 *
 * Must not know:  how chunks are encoded.
 * Invariant:      in the folded trace every block that is freed, used or held was allocated: ids of what was allocated
 *                 in the periods left out are those of the same objects of the last period before them.
 */
#include "replay/report/fold.h"

#include <string.h>

#include "base/mem.h"
#include "replay/report/report_internal.h"
#include "replay/state/live.h"
#include "replay/trace/trace_internal.h"
#include "store/repeat/repeat.h"

/* Periods that are kept at each end of those that repeat; shorter traces than FOLD_EVENTS are read as they are. */
#define KEPT 2
#define FOLD_EVENTS 200000
/* The events in memory: at most so many, and three quarters of all. */
#define KEPT_MAX 2000000

/*
 * trace    the folded trace
 * first    the first event that is left out, which is in `step`, an index among the steps of the whole trace
 * periods  how many are left out
 * newest   the highest ids before that event; above them ids of the folded trace are those of the whole less `by`
 */
struct fold {
    struct rpl_trace *whole;
    struct rpl_trace *trace;
    struct sto_repeat repeat;
    uint64_t first;
    size_t step;
    uint64_t periods;
    uint64_t newest[STO_IDS_SHIFTED];
    uint64_t by[STO_IDS_SHIFTED];
};

static uint64_t events_left_out(const struct fold *f)
{
    return f->periods * f->repeat.events;
}

/* ---- folding ---- */

static bool may_fold(struct rpl_trace *trace)
{
    return rpl_trace_reader(trace) && rpl_trace_event_count(trace) >= FOLD_EVENTS &&
           !rpl_trace_device_count(trace) && rpl_trace_source_text(trace) &&
           !rpl_trace_is_imported(trace) && !rpl_trace_meta(trace, "gpu") &&
           !rpl_trace_meta(trace, "start_events");
}

/* Add events first … last of the whole trace. */
static enum vs_status events_add(struct fold *f, struct rpl_scan *scan, uint64_t first,
                                 uint64_t last, bool is_behind, struct vs_error *err)
{
    const struct vs_event *event;

    if (last < first)
        return VS_OK;
    rpl_scan_init(scan, f->whole, first, last);
    while ((event = rpl_scan_next(scan, err)) != NULL) {
        struct vs_event copy = *event;

        if (is_behind)
            sto_repeat_shift(&copy, f->newest, f->by);
        else
            sto_repeat_newest(&copy, f->newest);
        rpl_trace_add_event(f->trace, &copy);
    }
    return scan->status;
}

/* Add the tensors of these events; false: one is not there. A damaged file may have any shift. */
static bool tensors_add(struct fold *f)
{
    const uint64_t newest = f->newest[STO_ID_TENSOR];
    const uint64_t count = rpl_trace_tensor_count(f->whole);

    if (newest < count && f->by[STO_ID_TENSOR] > count - newest)
        return false;
    for (uint64_t id = 1; id <= count; id++) {
        struct vs_tensor_desc desc;

        if (id == newest + 1)
            id += f->by[STO_ID_TENSOR];
        if (id > count || !rpl_trace_tensor(f->whole, (uint32_t)id, &desc))
            return false;
        if (id > newest)
            desc.id = (uint32_t)(id - f->by[STO_ID_TENSOR]);
        if (desc.block > f->newest[STO_ID_BLOCK])
            desc.block -= f->by[STO_ID_BLOCK];
        rpl_trace_add_tensor(f->trace, &desc);
    }
    return true;
}

/* Fold the trace, with `kept` periods before those that are left out; false: it cannot be. */
static bool fold_make(struct fold *f, uint64_t kept)
{
    const uint64_t count = rpl_trace_event_count(f->whole);
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error ignored = VS_ERROR_INIT;
    enum vs_status st;

    f->periods = f->repeat.count - kept - KEPT;
    f->first = f->repeat.first + kept * f->repeat.events;
    memset(f->newest, 0, sizeof(f->newest));
    for (size_t i = 0; i < STO_IDS_SHIFTED; i++)
        f->by[i] = f->periods * f->repeat.shift[i];
    f->step = 0;
    while (f->step < rpl_trace_step_count(f->whole) &&
           rpl_trace_step(f->whole, f->step).first_seq < f->first)
        f->step++;
    f->trace = rpl_trace_new_part(f->whole);
    st = events_add(f, scan, 1, f->first - 1, false, &ignored);
    if (!st)
        st = events_add(f, scan, f->first + events_left_out(f), count, true, &ignored);
    vs_free(scan);
    return !st && tensors_add(f);
}

/* Whether a period ends as it began: with as many blocks and bytes. */
static bool is_balanced(const struct fold *f)
{
    struct rpl_live live;
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error ignored = VS_ERROR_INIT;
    const struct vs_event *event;
    uint64_t before[4] = {0};
    enum vs_status st = VS_OK;
    bool is_equal = true;

    rpl_live_init(&live);
    rpl_scan_init(scan, f->trace, 1, f->first - 1);
    while (!st && (event = rpl_scan_next(scan, &ignored)) != NULL) {
        st = rpl_live_apply(&live, scan->seq, event, &ignored);
        if (scan->seq + 1 >= f->repeat.first &&
            (scan->seq + 1 - f->repeat.first) % f->repeat.events == 0) {
            const uint64_t now[4] = {live.allocated, live.requested, live.reserved,
                                     live.block_count};

            is_equal &= scan->seq + 1 == f->repeat.first || memcmp(now, before, sizeof(now)) == 0;
            memcpy(before, now, sizeof(before));
        }
    }
    rpl_live_release(&live);
    is_equal &= !st && !scan->status;
    vs_free(scan);
    return is_equal;
}

/* ---- counts over all events ---- */

static void add_left_out(uint64_t periods, uint64_t *count, uint64_t with_one_more)
{
    *count += periods * (with_one_more - *count);
}

static void casts_add(uint64_t periods, struct rpl_casts *casts, const struct rpl_casts *more)
{
    for (size_t from = 0; from < VS_DTYPE_COUNT; from++)
        for (size_t to = 0; to < VS_DTYPE_COUNT; to++) {
            add_left_out(periods, &casts->by[from][to].count, more->by[from][to].count);
            add_left_out(periods, &casts->by[from][to].bytes, more->by[from][to].bytes);
            add_left_out(periods, &casts->by[from][to].cached, more->by[from][to].cached);
        }
}

static void traffic_add(uint64_t periods, struct rpl_traffic *traffic,
                        const struct rpl_traffic *more)
{
    add_left_out(periods, &traffic->bytes, more->bytes);
    for (size_t i = 0; i < traffic->row_count; i++)
        for (size_t k = 0; k < more->row_count; k++) {
            struct rpl_traffic_row *row = &traffic->rows[i];

            if (row->name != more->rows[k].name || row->role != more->rows[k].role)
                continue;
            add_left_out(periods, &row->calls, more->rows[k].calls);
            add_left_out(periods, &row->bytes, more->rows[k].bytes);
            add_left_out(periods, &row->flops, more->rows[k].flops);
        }
    rpl_traffic_sort(traffic);
}

/*
 * Insert the steps that were left out: those of the last period before them, again and again. False: the steps of the
 * file are not those of its events.
 */
static bool steps_insert(const struct fold *f, struct rpl_summary *sum)
{
    const size_t per_period = (size_t)f->repeat.steps;
    const size_t missing = (size_t)f->periods * per_period;
    const size_t steps = rpl_trace_step_count(f->whole);
    int64_t next;
    size_t at = 0;

    if (f->step >= steps || missing >= steps - f->step)
        return false;
    next = rpl_trace_step(f->whole, f->step + missing).step;
    while (at < sum->step_count && sum->steps[at].step != next)
        at++;
    if (at == sum->step_count || at < per_period)
        return false;
    sum->steps =
        vs_reserve(sum->steps, sum->step_count + missing, &sum->step_cap, sizeof(*sum->steps));
    memmove(&sum->steps[at + missing], &sum->steps[at],
            (sum->step_count - at) * sizeof(*sum->steps));
    sum->step_count += missing;
    for (size_t i = at; i < sum->step_count; i++) {
        struct rpl_step_figures *step = &sum->steps[i];
        uint64_t later = events_left_out(f);

        if (i < at + missing) {
            *step = sum->steps[i - per_period];
            step->step = rpl_trace_step(f->whole, f->step + i - at).step;
            later = f->repeat.events;
        }
        for (size_t p = 0; p < step->phase_count; p++)
            step->phases[p].first_seq += later;
    }
    return true;
}

/* ---- numbers of the whole trace ---- */

static void seq_back(const struct fold *f, uint64_t *seq)
{
    if (*seq >= f->first)
        *seq += events_left_out(f);
}

static void id_back(const struct fold *f, enum sto_id_sort sort, uint64_t *id)
{
    if (*id > f->newest[sort])
        *id += f->by[sort];
}

static void tensor_back(const struct fold *f, uint32_t *id)
{
    uint64_t wide = *id;

    id_back(f, STO_ID_TENSOR, &wide);
    *id = (uint32_t)wide;
}

static void block_back(const struct fold *f, struct rpl_block *block)
{
    id_back(f, STO_ID_BLOCK, &block->id);
    tensor_back(f, &block->tensor);
    seq_back(f, &block->alloc_seq);
    seq_back(f, &block->last_use_seq);
}

static void whys_back(const struct fold *f, struct rpl_why *whys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rpl_why *why = &whys[i];

        id_back(f, STO_ID_BLOCK, &why->id);
        block_back(f, &why->block);
        seq_back(f, &why->next_use_seq);
        seq_back(f, &why->free_seq);
        for (size_t k = 0; k < why->holder_count; k++) {
            seq_back(f, &why->holders[k].since_seq);
            tensor_back(f, &why->holders[k].tensor);
            id_back(f, STO_ID_NODE, &why->holders[k].node);
        }
    }
}

/* Parameters are those of the set-up. Of work, account and mistakes there is nothing: no device was recorded. */
static void report_back(const struct fold *f, struct rpl_report *report)
{
    seq_back(f, &report->at);
    seq_back(f, &report->sum.peak.event);
    seq_back(f, &report->sum.uncertainty.event);
    seq_back(f, &report->sum.saved.event);
    whys_back(f, report->largest, report->largest_count);
    if (report->kept_why)
        whys_back(f, report->kept_why, report->kept.count);
    for (size_t i = 0; i < report->kept.count; i++)
        block_back(f, &report->kept.items[i].block);
    seq_back(f, &report->leak.at);
    seq_back(f, &report->leak.first_seq);
    seq_back(f, &report->leak.last_seq);
    if (report->leak.at)
        report->leak.steps += f->periods * f->repeat.steps;
}

/* ---- the report ---- */

/* Of the folded trace with one more period: what is counted over all events. */
static bool more_fill(const struct fold *folded, struct rpl_report *more)
{
    struct fold f = {.whole = folded->whole, .repeat = folded->repeat};
    struct vs_error ignored = VS_ERROR_INIT;
    bool is_done = fold_make(&f, KEPT + 1) &&
                   rpl_summary_fill(&more->sum, f.trace, &ignored) == VS_OK &&
                   rpl_traffic_fill(&more->traffic, f.trace, &ignored) == VS_OK;

    rpl_trace_free(f.trace);
    return is_done;
}

static bool counts_fill(const struct fold *f, struct rpl_report *report)
{
    struct rpl_report more = {.trace = NULL};
    struct rpl_summary *sum = &report->sum;
    const uint64_t periods = f->periods;
    bool is_done = more_fill(f, &more) && steps_insert(f, sum);

    if (is_done) {
        sum->events = rpl_trace_event_count(f->whole);
        add_left_out(periods, &sum->alloc_events, more.sum.alloc_events);
        add_left_out(periods, &sum->flops, more.sum.flops);
        add_left_out(periods, &sum->recompute_flops, more.sum.recompute_flops);
        add_left_out(periods, &sum->uncertainty.allocs, more.sum.uncertainty.allocs);
        casts_add(periods, &sum->casts, &more.sum.casts);
        traffic_add(periods, &report->traffic, &more.traffic);
    }
    rpl_report_release(&more);
    return is_done;
}

bool rpl_fold_report(struct rpl_report *out, struct rpl_trace *trace, size_t top)
{
    struct fold f = {.whole = trace};
    struct vs_error ignored = VS_ERROR_INIT;
    const uint64_t count = rpl_trace_event_count(trace);
    bool is_done = false;

    if (!may_fold(trace) || sto_repeat_find(rpl_trace_reader(trace), &f.repeat, &ignored) ||
        f.repeat.count < 2 * KEPT + 2)
        return false;
    if (count - (f.repeat.count - 2 * KEPT) * f.repeat.events > KEPT_MAX ||
        count - (f.repeat.count - 2 * KEPT) * f.repeat.events > count / 4 * 3)
        return false;
    is_done = fold_make(&f, KEPT) && is_balanced(&f) &&
              rpl_report_read(out, f.trace, top, false, &ignored) == VS_OK && !out->sum.oom.event &&
              !out->leak.count;
    rpl_trace_free(f.trace); /* before the next one is in memory */
    f.trace = NULL;
    is_done = is_done && counts_fill(&f, out);
    if (is_done) {
        report_back(&f, out);
        out->trace = trace;
        rpl_summary_complete(&out->sum, trace);
    } else {
        rpl_report_release(out);
    }
    return is_done;
}
