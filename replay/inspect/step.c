/*
 * replay/inspect/step.c - see step.h.
 *
 * Must not know:  keys, cursors.
 * Invariant:      the stops of a verb are numbered from 1 in the order of events; a step changes that number.
 */
#include "replay/inspect/step.h"

#include "base/mem.h"
#include "base/search.h"
#include "replay/index/index_internal.h"
#include "replay/index/walk.h"

/* ---- stops by number ---- */

/*
 * The event kinds that are stops of the verb, as bits 1 << kind; 0: it depends on the preceding location as well.
 * Agrees with rpl_verb_stops.
 */
static uint32_t stop_kinds(enum rpl_verb verb)
{
    return verb == RPL_VERB_OP      ? UINT32_C(1) << VS_EV_OP_BEGIN
           : verb == RPL_VERB_PHASE ? UINT32_C(1) << VS_EV_PHASE
           : verb == RPL_VERB_STEP  ? UINT32_C(1) << VS_EV_STEP
                                    : 0;
}

/*
 * *count: the number of the chunk's stops with an offset below `end`; *nth: the offset of number n of them, if there
 * are as many. n 0: all are counted; else only up to that one.
 */
static enum vs_status chunk_count(struct rpl_index *index, enum rpl_verb verb, size_t chunk,
                                  size_t end, uint64_t n, uint64_t *count, size_t *nth,
                                  struct vs_error *err)
{
    uint32_t location = 0;
    uint32_t kinds = stop_kinds(verb);
    const uint64_t first = rpl_index_chunk_first(chunk);
    const struct vs_event *events = NULL;
    const struct rpl_chunk *c;
    uint64_t last = 0;
    enum vs_status st = rpl_index_chunk(index, chunk, &c, err);

    *count = 0;
    if (!st)
        location = c->location;
    for (size_t i = 0; !st && i < end; i++) {
        bool is_stop;

        if (first + i > last)
            st = rpl_index_span_to(index, n ? first + i : first + end - 1, &events, &last, err);
        if (st)
            break;
        is_stop = kinds ? kinds >> events[i].kind & 1
                        : rpl_verb_stops(index->trace, verb, location, &events[i]);
        location = events[i].location;
        if (is_stop && ++*count == n) {
            *nth = i;
            break;
        }
    }
    return st;
}

uint64_t rpl_step_total(const struct rpl_index *index, enum rpl_verb verb)
{
    const struct rpl_stops *stops;

    if (verb == RPL_VERB_EVENT)
        return index->event_count;
    if (verb == RPL_VERB_PEAK)
        return index->peak_count;
    if (!index->chunks.count)
        return 0;
    stops = &((const struct rpl_chunk *)index->chunks.items)[index->chunks.count - 1].stops[verb];
    return stops->before + stops->count;
}

/* Number of peaks at or before `seq`. */
static uint64_t peaks_until(const struct rpl_index *index, uint64_t seq)
{
    return vs_search_until(index->peaks, index->peak_count, sizeof(*index->peaks), 0, seq);
}

/* Those of a chunk. */
static enum vs_status stops_get(struct rpl_index *index, enum rpl_verb verb, size_t chunk,
                                struct rpl_stops *out, struct vs_error *err)
{
    const struct rpl_chunk *c;
    enum vs_status st = rpl_index_chunk(index, chunk, &c, err);

    *out = st ? (struct rpl_stops){.count = 0} : c->stops[verb];
    return st;
}

enum vs_status rpl_step_number(struct rpl_index *index, enum rpl_verb verb, uint64_t seq,
                               uint64_t *out, struct vs_error *err)
{
    struct rpl_stops stops;
    uint64_t offset;
    size_t ignored = 0;
    enum vs_status st;

    VS_ASSERT(seq <= index->event_count);
    *out = seq;
    if (verb == RPL_VERB_EVENT || !seq)
        return VS_OK;
    if (verb == RPL_VERB_PEAK) {
        st = rpl_index_peaks(index, err);
        *out = st ? 0 : peaks_until(index, seq);
        return st;
    }
    st = stops_get(index, verb, rpl_index_chunk_of(seq), &stops, err);
    if (st)
        return st;
    offset = (seq - 1) % RPL_CHUNK_EVENTS;
    *out = stops.before;
    if (!stops.count || offset < stops.first)
        return VS_OK;
    *out = stops.before + stops.count;
    if (offset >= stops.last)
        return VS_OK;
    st = chunk_count(index, verb, rpl_index_chunk_of(seq), (size_t)offset + 1, 0, out, &ignored,
                     err);
    *out += stops.before;
    return st;
}

enum vs_status rpl_step_nth(struct rpl_index *index, enum rpl_verb verb, uint64_t n, uint64_t *out,
                            struct vs_error *err)
{
    struct rpl_stops stops;
    uint64_t count;
    size_t offset = 0;
    size_t low = 0;
    size_t high = index->chunks.count;
    enum vs_status st = VS_OK;

    VS_ASSERT(n >= 1 && n <= rpl_step_total(index, verb));
    *out = n;
    if (verb == RPL_VERB_EVENT)
        return VS_OK;
    if (verb == RPL_VERB_PEAK) {
        st = rpl_index_peaks(index, err);
        *out = st ? 0 : index->peaks[n - 1];
        return st;
    }
    while (high - low > 1) { /* the last chunk with fewer than n stops before it */
        size_t middle = low + (high - low) / 2;

        st = stops_get(index, verb, middle, &stops, err);
        if (st)
            return st;
        if (stops.before < n)
            low = middle;
        else
            high = middle;
    }
    st = stops_get(index, verb, low, &stops, err);
    if (!st && n - stops.before == 1)
        offset = stops.first;
    else if (!st && n - stops.before == stops.count)
        offset = stops.last;
    else if (!st)
        st = chunk_count(index, verb, low, rpl_index_chunk_events(index, low), n - stops.before,
                         &count, &offset, err);
    *out = rpl_index_chunk_first(low) + offset;
    return st;
}

enum vs_status rpl_step(struct rpl_index *index, uint64_t seq, enum rpl_verb verb, int64_t count,
                        uint64_t *out, uint64_t *made, struct vs_error *err)
{
    uint64_t total = rpl_step_total(index, verb);
    uint64_t wanted = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    uint64_t number = 0;
    uint64_t can;
    enum vs_status st = VS_OK;

    *out = seq;
    if (made)
        *made = 0;
    /* forwards: from the last stop at or before seq; backwards: from the first at or after it */
    if (count > 0)
        st = rpl_step_number(index, verb, seq, &number, err);
    else if (seq)
        st = rpl_step_number(index, verb, seq - 1, &number, err);
    if (st)
        return st;
    can = count > 0 ? total - number : number;
    if (wanted > can)
        wanted = can;
    if (!wanted)
        return VS_OK;
    st = rpl_step_nth(index, verb, count > 0 ? number + wanted : number + 1 - wanted, out, err);
    if (!st && made)
        *made = wanted;
    return st;
}

/* ---- the list of ops ---- */

/* A running op, or a running recomputation. row: index in `out`; SIZE_MAX: it is not listed. */
struct running {
    size_t row;
    bool is_recompute;
};

struct listing {
    struct rpl_walk walk;
    struct running *running;
    size_t running_count;
    size_t running_cap;
    size_t ops;
    size_t open;
    struct rpl_op *out;
    size_t count;
    size_t filled;
};

static void push(struct listing *l, size_t row, bool is_recompute)
{
    l->running = vs_grow(l->running, l->running_count, &l->running_cap, sizeof(*l->running));
    l->running[l->running_count++] = (struct running){row, is_recompute};
    l->ops += !is_recompute;
}

static void pop(struct listing *l)
{
    const struct running *r = &l->running[--l->running_count];

    l->ops -= !r->is_recompute;
    if (r->row == SIZE_MAX)
        return;
    l->out[r->row].end_seq = l->walk.seq;
    l->open--;
}

/* The end of a recomputation also ends the ops inside it that it cut short. */
static void on_end(struct listing *l, bool is_recompute)
{
    size_t i = l->running_count;

    if (!is_recompute) {
        if (i && !l->running[i - 1].is_recompute)
            pop(l);
        return;
    }
    while (i && !l->running[i - 1].is_recompute)
        i--;
    while (i && l->running_count >= i)
        pop(l);
}

static void on_begin(struct listing *l, uint64_t number, const struct vs_event *event)
{
    uint64_t before = l->walk.allocated;
    struct rpl_op *op;

    op = &l->out[l->filled];
    *op = (struct rpl_op){
        .seq = l->walk.seq,
        .number = number,
        .name = (uint32_t)event->op.name,
        .location = event->location,
        .role = event->op.role,
        .depth = l->ops < UINT8_MAX ? (uint8_t)l->ops : UINT8_MAX,
        .flops = event->op.flops,
        .before = before,
        .after = before,
        .highest = before,
    };
    push(l, l->filled++, false);
    l->open++;
}

/* The allocated bytes have changed: update all listed ops that run. */
static void on_change(struct listing *l)
{
    for (size_t i = 0; i < l->running_count; i++) {
        struct rpl_op *op;

        if (l->running[i].row == SIZE_MAX)
            continue;
        op = &l->out[l->running[i].row];
        op->after = l->walk.allocated;
        if (op->highest < l->walk.allocated)
            op->highest = l->walk.allocated;
    }
}

/* Event kinds that the list is computed from. */
#define OP_KINDS                                                                                   \
    (UINT32_C(1) << VS_EV_ALLOC | UINT32_C(1) << VS_EV_FREE | UINT32_C(1) << VS_EV_OP_BEGIN |      \
     UINT32_C(1) << VS_EV_OP_END | UINT32_C(1) << VS_EV_RECOMPUTE_BEGIN |                          \
     UINT32_C(1) << VS_EV_RECOMPUTE_END)

enum vs_status rpl_step_ops(struct rpl_index *index, uint64_t first, size_t count,
                            struct rpl_op *out, size_t *filled, struct vs_error *err)
{
    struct listing l = {.out = out, .count = count};
    uint64_t total = rpl_step_total(index, RPL_VERB_OP);
    uint64_t end = index->event_count;
    bool is_full = false;
    struct rpl_stops stops;
    uint64_t number;
    uint64_t seq;
    enum vs_status st;

    *filled = 0;
    if (first > total || !count)
        return VS_OK;
    if (count > total + 1 - first)
        l.count = count = (size_t)(total + 1 - first);
    st = rpl_step_nth(index, RPL_VERB_OP, first, &seq, err);
    if (st)
        return st;
    rpl_walk_init(&l.walk, index);
    st = stops_get(index, RPL_VERB_OP, rpl_index_chunk_of(seq), &stops, err);
    if (st)
        return st;
    seq = rpl_index_chunk_first(rpl_index_chunk_of(seq));
    number = stops.before;
    st = rpl_walk_to(&l.walk, seq - 1, err);
    while (!st && l.walk.seq < end && (l.filled < count || l.open)) {
        const struct vs_event *event;

        st = rpl_walk_until(&l.walk, OP_KINDS, end, &event, err);
        if (st || !event)
            break;
        if (event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE)
            on_change(&l);
        else if (event->kind == VS_EV_RECOMPUTE_BEGIN)
            push(&l, SIZE_MAX, true);
        else if (event->kind == VS_EV_OP_END || event->kind == VS_EV_RECOMPUTE_END)
            on_end(&l, event->kind == VS_EV_RECOMPUTE_END);
        else if (++number >= first && l.filled < count)
            on_begin(&l, number, event);
        else
            push(&l, SIZE_MAX, false);
        if (l.filled == count &&
            !is_full) /* ops that still run are followed no further than that */
            end = end - l.walk.seq > RPL_CHUNK_EVENTS ? l.walk.seq + RPL_CHUNK_EVENTS + 1 : end;
        is_full = l.filled == count;
    }
    *filled = l.filled;
    vs_free(l.running);
    return st;
}
