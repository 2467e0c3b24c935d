/*
 * replay/match/match.c - see match.h.
 *
 * Must not know:  where the events come from.
 */
#include "replay/match/match.h"

#include <string.h>

#include "base/mem.h"
#include "replay/match/match_internal.h"

#define UNBOUND SIZE_MAX

/*
 * Numbers of blocks or segments of the recording and of the trace that correspond: to[i] is the trace's number for the
 * recording's i, back[] the reverse; UNBOUND until an event pairs it.
 */
struct pairing {
    size_t *to;
    size_t *back;
};

static struct pairing pairing_new(size_t real, size_t ours)
{
    struct pairing p = {vs_alloc((real + 1) * sizeof(size_t)),
                        vs_alloc((ours + 1) * sizeof(size_t))};

    memset(p.to, 0xff, (real + 1) * sizeof(size_t));
    memset(p.back, 0xff, (ours + 1) * sizeof(size_t));
    return p;
}

static void pairing_release(struct pairing *p)
{
    vs_free(p->to);
    vs_free(p->back);
}

/* True if the two numbers correspond. Two that are both unbound are paired by the call. */
static bool pair_is(struct pairing *p, size_t real, size_t ours)
{
    if (real == SIZE_MAX || ours == SIZE_MAX)
        return real == ours;
    if (p->to[real] == UNBOUND && p->back[ours] == UNBOUND) {
        p->to[real] = ours;
        p->back[ours] = real;
    }
    return p->to[real] == ours && p->back[ours] == real;
}

const char *rpl_match_scope_name(enum rpl_match_scope scope)
{
    static const char *const NAMES[] = {"tensors", "allocations", "all"};

    VS_ASSERT(scope <= RPL_MATCH_ALL);
    return NAMES[scope];
}

static bool is_where_same(const struct rpl_match *match, struct pairing *segments,
                          const struct rpl_match_item *real, const struct rpl_match_item *ours)
{
    if (real->segment == SIZE_MAX || ours->segment == SIZE_MAX)
        return real->segment == ours->segment;
    return real->offset == ours->offset &&
           match->real.segment_bytes[real->segment] == match->ours.segment_bytes[ours->segment] &&
           pair_is(segments, real->segment, ours->segment);
}

static enum rpl_match_why compare(const struct rpl_match *match, struct pairing *allocs,
                                  struct pairing *segments, const struct rpl_match_item *real,
                                  const struct rpl_match_item *ours)
{
    bool is_segment = real->kind == VS_MEM_SEGMENT_ALLOC || real->kind == VS_MEM_SEGMENT_FREE;

    if (real->kind != ours->kind)
        return RPL_MATCH_KIND;
    if (real->bytes != ours->bytes)
        return RPL_MATCH_BYTES;
    if (!pair_is(is_segment ? segments : allocs, real->which, ours->which))
        return RPL_MATCH_WHICH;
    if (match->scope == RPL_MATCH_ALL && real->kind == VS_MEM_ALLOC &&
        !is_where_same(match, segments, real, ours))
        return RPL_MATCH_WHERE;
    return RPL_MATCH_SAME;
}

static bool is_free(const struct rpl_match_side *side, size_t i)
{
    return i < side->count && side->items[i].kind == VS_MEM_FREE_REQUESTED;
}

/* True if the two frees can correspond. Pairs nothing. */
static bool may_pair(const struct pairing *p, const struct rpl_match_item *real,
                     const struct rpl_match_item *ours)
{
    return real->bytes == ours->bytes &&
           (p->to[real->which] == ours->which ||
            (p->to[real->which] == UNBOUND && p->back[ours->which] == UNBOUND));
}

/*
 * The number of consecutive frees from `from` on that free the same blocks on both sides, in any order. 0: none, or
 * not all those of the recording.
 */
static size_t run_of_frees(const struct rpl_match *match, struct pairing *allocs, size_t from)
{
    size_t end = from;
    bool *taken;
    bool all = true;

    while (is_free(&match->real, end) && is_free(&match->ours, end))
        end++;
    taken = vs_calloc(end - from + 1, sizeof(*taken));
    for (size_t i = from; i < end && all; i++) {
        size_t k = from;

        while (k < end &&
               (taken[k - from] || !may_pair(allocs, &match->real.items[i], &match->ours.items[k])))
            k++;
        all = k < end;
        if (!all)
            break;
        taken[k - from] = true;
        all = pair_is(allocs, match->real.items[i].which, match->ours.items[k].which);
    }
    vs_free(taken);
    return all ? end - from : 0;
}

static void sides_compare(struct rpl_match *match, bool any_free_order)
{
    const struct rpl_match_side *real = &match->real;
    const struct rpl_match_side *ours = &match->ours;
    struct pairing allocs = pairing_new(real->which_count, ours->which_count);
    struct pairing segments = pairing_new(real->segment_count, ours->segment_count);
    size_t i;

    for (i = 0; i < real->count && i < ours->count && !match->why; i++) {
        size_t run = 1;

        match->why = compare(match, &allocs, &segments, &real->items[i], &ours->items[i]);
        if (match->why && any_free_order) {
            run = run_of_frees(match, &allocs, i);
            match->reordered += run;
            match->why = run ? RPL_MATCH_SAME : match->why;
        }
        if (match->why)
            break;
        for (size_t k = i; k < i + run; k++)
            match->same_events += real->items[k].events;
        i += run - 1;
    }
    match->same_items = i;
    if (!match->why && i < real->count)
        match->why = RPL_MATCH_END;
    for (size_t k = real->count; k < ours->count; k++)
        match->more_allocs += ours->items[k].kind == VS_MEM_ALLOC;
    if (!match->why && match->more_allocs)
        match->why = RPL_MATCH_END;
    pairing_release(&allocs);
    pairing_release(&segments);
}

enum vs_status rpl_match_fill(struct rpl_match *out, const struct vs_memlist *list,
                              struct rpl_trace *trace, const struct rpl_match_options *options,
                              struct vs_error *err)
{
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    out->list = list;
    out->trace = trace;
    out->scope = options->scope;
    st = rpl_match_read_list(out, err);
    if (!st)
        st = rpl_match_read_trace(out, options->first_seq, err);
    if (!st)
        sides_compare(out, options->any_free_order);
    return st;
}

void rpl_match_release(struct rpl_match *match)
{
    vs_free(match->real.items);
    vs_free(match->real.segment_bytes);
    vs_free(match->ours.items);
    vs_free(match->ours.segment_bytes);
    memset(match, 0, sizeof(*match));
}

bool rpl_match_is_equal(const struct rpl_match *match)
{
    return match->why == RPL_MATCH_SAME;
}

enum vs_status rpl_match_first_event(struct rpl_trace *trace, int64_t step, enum vs_phase phase,
                                     uint64_t *out, struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;
    bool is_there = false;

    *out = 0;
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while (!*out && (event = rpl_scan_next(scan, err)) != NULL) {
        if (event->kind == VS_EV_STEP)
            is_there = vs_event_step(event) == step;
        if (is_there &&
            (phase == VS_PHASE_COUNT ? event->kind == VS_EV_STEP
                                     : event->kind == VS_EV_PHASE && event->phase.phase == phase))
            *out = scan->seq;
    }
    st = scan->status;
    vs_free(scan);
    return st;
}
