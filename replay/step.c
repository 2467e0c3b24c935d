/*
 * replay/step.c - see step.h.
 *
 * Must not know:  keys, cursors.
 * Invariant:      the stops of a verb have numbers, from 1 in the order of the events; every step is a change of that number.
 */
#include "replay/step.h"

#include <string.h>

#include "base/mem.h"
#include "replay/index_internal.h"
#include "replay/lives.h"
#include "replay/walk.h"

/* ---- stops by number ---- */

/* Of the chunk's stops with an offset below `end`: how many; and in *nth the offset of number n, where they are as many. */
static enum vs_status chunk_count(struct rpl_index *index, enum rpl_verb verb, size_t chunk,
                                  size_t end, uint64_t n, uint64_t *count, size_t *nth,
                                  struct vs_error *err)
{
    uint32_t place = index->chunks[chunk].place;
    const struct vs_event *events;
    enum vs_status st = rpl_index_span(index, chunk, &events, err);

    *count = 0;
    for (size_t i = 0; !st && i < end; i++) {
        if (rpl_verb_stops(index->trace, verb, place, &events[i]) && ++*count == n)
            *nth = i;
        place = events[i].place;
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
    if (!index->chunk_count)
        return 0;
    stops = &index->chunks[index->chunk_count - 1].stops[verb];
    return stops->before + stops->count;
}

/* How many peaks are at or before `seq`. */
static uint64_t peaks_until(const struct rpl_index *index, uint64_t seq)
{
    size_t low = 0;
    size_t high = index->peak_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (index->peaks[middle] <= seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum vs_status rpl_step_number(struct rpl_index *index, enum rpl_verb verb, uint64_t seq,
                               uint64_t *out, struct vs_error *err)
{
    const struct rpl_stops *stops;
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
    stops = &index->chunks[rpl_index_chunk_of(seq)].stops[verb];
    offset = (seq - 1) % RPL_CHUNK_EVENTS;
    *out = stops->before;
    if (!stops->count || offset < stops->first)
        return VS_OK;
    *out = stops->before + stops->count;
    if (offset >= stops->last)
        return VS_OK;
    st = chunk_count(index, verb, rpl_index_chunk_of(seq), (size_t)offset + 1, 0, out, &ignored,
                     err);
    *out += index->chunks[rpl_index_chunk_of(seq)].stops[verb].before;
    return st;
}

enum vs_status rpl_step_nth(struct rpl_index *index, enum rpl_verb verb, uint64_t n, uint64_t *out,
                            struct vs_error *err)
{
    const struct rpl_stops *stops;
    uint64_t count;
    size_t offset = 0;
    size_t low = 0;
    size_t high = index->chunk_count;
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

        if (index->chunks[middle].stops[verb].before < n)
            low = middle;
        else
            high = middle;
    }
    stops = &index->chunks[low].stops[verb];
    if (n - stops->before == 1)
        offset = stops->first;
    else if (n - stops->before == stops->count)
        offset = stops->last;
    else
        st = chunk_count(index, verb, low, rpl_index_chunk_events(index, low), n - stops->before,
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
    /* forwards from the last stop up to here, backwards from the first from here on */
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

/* ---- searches ---- */

/*
 * What is looked for: may a chunk have it, and has an event. With what is common to both.
 *
 * module, len   the module to leave; is_outside: there is none, one is to be entered
 * line, func    of the allocation
 * block         the block
 * place, is_in  the place that was looked up last, and whether it is inside
 */
struct search {
    struct rpl_index *index;
    bool (*may)(struct search *s, size_t chunk);
    bool (*has)(struct search *s, const struct vs_event *event);
    const char *module;
    size_t len;
    bool is_outside;
    uint32_t line;
    uint32_t func;
    uint64_t block;
    uint64_t alloc_seq;
    uint32_t place;
    bool is_in;
    bool has_place;
    enum vs_status status;
    struct vs_error *err;
};

/* The first event after `seq`, or the last one before it, that has what is looked for; 0: none has. */
static enum vs_status search_run(struct search *s, uint64_t seq, bool is_backward, uint64_t *out)
{
    struct rpl_index *index = s->index;
    uint64_t at = is_backward ? seq : seq + 1; /* backwards: one past the next to look at */

    *out = 0;
    while (is_backward ? at > 1 : at <= index->event_count) {
        size_t chunk = rpl_index_chunk_of(is_backward ? at - 1 : at);
        uint64_t first = rpl_index_chunk_first(chunk);
        uint64_t end = first + rpl_index_chunk_events(index, chunk);
        const struct vs_event *events;

        if (s->may(s, chunk)) {
            s->status = rpl_index_span(index, chunk, &events, s->err);
            if (s->status)
                return s->status;
            for (uint64_t i = at; is_backward ? i > first : i < end;) {
                const struct vs_event *event = &events[(is_backward ? i - 1 : i) - first];

                if (s->has(s, event)) {
                    *out = is_backward ? i - 1 : i;
                    return VS_OK;
                }
                i = is_backward ? i - 1 : i + 1;
            }
        }
        if (s->status)
            return s->status;
        at = is_backward ? first : end;
    }
    return VS_OK;
}

/* A search that leads nowhere leaves one where one is. */
static enum vs_status search_or_stay(struct search *s, uint64_t seq, bool is_backward,
                                     uint64_t *out)
{
    enum vs_status st = search_run(s, seq, is_backward, out);

    if (!*out)
        *out = seq;
    return st;
}

/* May it have an event outside of the module, or, where that is asked, inside of any? */
static bool finish_may(struct search *s, size_t chunk)
{
    const struct rpl_chunk *c = &s->index->chunks[chunk];
    const char *common;

    if (s->is_outside)
        return c->is_inside;
    if (c->is_outside || c->module_len < s->len)
        return true;
    common = rpl_trace_string(s->index->trace, c->module);
    return !(s->len == 0 || (strncmp(common, s->module, s->len) == 0 &&
                             (c->module_len == s->len || common[s->len] == '.')));
}

static bool finish_has(struct search *s, const struct vs_event *event)
{
    if (!s->has_place || event->place != s->place) {
        uint32_t module = rpl_trace_place(s->index->trace, event->place)->module;
        const char *path = rpl_trace_string(s->index->trace, module);

        s->place = event->place;
        s->has_place = true;
        s->is_in = module && (s->is_outside || rpl_module_is_inside(path, s->module, s->len));
    }
    return s->is_outside ? s->is_in : !s->is_in;
}

enum vs_status rpl_step_finish(struct rpl_index *index, uint64_t seq, bool is_backward,
                               uint64_t *out, struct vs_error *err)
{
    struct search s = {.index = index, .may = finish_may, .has = finish_has, .err = err};
    struct vs_event event = {0};
    uint32_t module = 0;

    if (seq) {
        enum vs_status st = rpl_index_event(index, seq, &event, err);

        *out = seq;
        if (st)
            return st;
        module = rpl_trace_place(index->trace, event.place)->module;
    }
    s.module = rpl_trace_string(index->trace, module);
    s.len = strlen(s.module);
    s.is_outside = !module;
    return search_or_stay(&s, seq, is_backward, out);
}

static bool line_may(struct search *s, size_t chunk)
{
    const struct vs_place place = {.func = s->func, .line = s->line};
    uint32_t bits[3];

    rpl_line_bits(&place, bits);
    for (int i = 0; i < 3; i++)
        if (!(s->index->chunks[chunk].lines[bits[i] / 64] >> bits[i] % 64 & 1))
            return false;
    return true;
}

static bool line_has(struct search *s, const struct vs_event *event)
{
    const struct vs_place *place;

    if (event->kind != VS_EV_ALLOC)
        return false;
    place = rpl_trace_place(s->index->trace, event->place);
    return place->line == s->line && place->func == s->func;
}

enum vs_status rpl_step_same_line(struct rpl_index *index, uint64_t seq, bool is_backward,
                                  uint64_t *out, struct vs_error *err)
{
    struct search s = {.index = index, .may = line_may, .has = line_has, .err = err};
    struct vs_event event;
    enum vs_status st;

    *out = seq;
    if (!seq)
        return VS_OK;
    st = rpl_index_event(index, seq, &event, err);
    if (st)
        return st;
    s.line = rpl_trace_place(index->trace, event.place)->line;
    s.func = rpl_trace_place(index->trace, event.place)->func;
    return s.line ? search_or_stay(&s, seq, is_backward, out) : VS_OK;
}

static bool block_may(struct search *s, size_t chunk)
{
    bool does = false;

    s->status = rpl_index_touches(s->index, chunk, s->block, s->alloc_seq, &does, s->err);
    return does;
}

static bool block_has(struct search *s, const struct vs_event *event)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
    case VS_EV_FREE:
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
    case VS_EV_HOLD:
    case VS_EV_DROP:
    case VS_EV_CATEGORY:
    case VS_EV_USE:
    case VS_EV_FREE_COMPLETED:
        return event->a == s->block;
    case VS_EV_CAST:
        return event->a == s->block || event->b == s->block;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_MAP:
    case VS_EV_SEGMENT_UNMAP:
    case VS_EV_OOM:
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
    case VS_EV_PHASE:
    case VS_EV_STEP:
    case VS_EV_SCALE:
    case VS_EV_SKIP_STEP:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return false;
}

enum vs_status rpl_step_block(struct rpl_index *index, uint64_t id, uint64_t seq, bool is_backward,
                              uint64_t *out, struct vs_error *err)
{
    struct search s = {.index = index, .may = block_may, .has = block_has, .block = id, .err = err};
    struct rpl_life life;
    enum vs_status st = rpl_life_get(index, id, &life, err);

    *out = seq;
    if (st)
        return st == VS_E_NOT_FOUND ? VS_OK : st;
    s.alloc_seq = life.alloc_seq;
    /* nothing speaks of it before it is made, or after it is given back */
    if (is_backward ? seq <= life.alloc_seq : life.free_seq && seq >= life.free_seq)
        return VS_OK;
    if (!is_backward && seq < life.alloc_seq) {
        *out = life.alloc_seq;
        return VS_OK;
    }
    if (is_backward && life.free_seq && seq > life.free_seq) {
        *out = life.free_seq;
        return VS_OK;
    }
    return search_or_stay(&s, seq, is_backward, out);
}

static bool use_has(struct search *s, const struct vs_event *event)
{
    return event->kind == VS_EV_USE && event->a == s->block;
}

enum vs_status rpl_step_next_use(struct rpl_index *index, uint64_t id, uint64_t seq, uint64_t *out,
                                 struct vs_error *err)
{
    struct search s = {.index = index, .may = block_may, .has = use_has, .block = id, .err = err};
    struct rpl_life life;
    enum vs_status st = rpl_life_get(index, id, &life, err);

    *out = 0;
    if (st || life.last_use_seq <= seq)
        return st == VS_E_NOT_FOUND ? VS_OK : st;
    s.alloc_seq = life.alloc_seq;
    return search_run(&s, seq, false, out);
}

/* ---- the list of ops ---- */

/* An op or a re-run (is_recompute) that runs; row: number in `out`, SIZE_MAX: it is not listed. */
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

/* The end of a re-run also ends the ops inside that it broke off. */
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

static void on_begin(struct listing *l, uint64_t number, uint64_t before,
                     const struct vs_event *event)
{
    struct rpl_op *op;

    op = &l->out[l->filled];
    *op = (struct rpl_op){
        .seq = l->walk.seq,
        .number = number,
        .name = (uint32_t)event->a,
        .place = event->place,
        .role = event->aux,
        .depth = l->ops < UINT8_MAX ? (uint8_t)l->ops : UINT8_MAX,
        .flops = event->c,
        .before = before,
        .after = before,
        .highest = before,
    };
    push(l, l->filled++, false);
    l->open++;
}

/* What is allocated has changed: for every listed op that runs. */
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

enum vs_status rpl_step_ops(struct rpl_index *index, uint64_t first, size_t count,
                            struct rpl_op *out, size_t *filled, struct vs_error *err)
{
    struct listing l = {.out = out, .count = count};
    uint64_t total = rpl_step_total(index, RPL_VERB_OP);
    uint64_t number;
    uint64_t last = 0;
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
    seq = rpl_index_chunk_first(rpl_index_chunk_of(seq));
    number = index->chunks[rpl_index_chunk_of(seq)].stops[RPL_VERB_OP].before;
    st = rpl_walk_to(&l.walk, seq - 1, err);
    while (!st && l.walk.seq < index->event_count && (l.filled < count || l.open)) {
        uint64_t before = l.walk.allocated;
        const struct vs_event *event = rpl_walk_next(&l.walk, err);

        if (!event) {
            st = err->status;
            break;
        }
        if (event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE)
            on_change(&l);
        else if (event->kind == VS_EV_RECOMPUTE_BEGIN)
            push(&l, SIZE_MAX, true);
        else if (event->kind == VS_EV_OP_END || event->kind == VS_EV_RECOMPUTE_END)
            on_end(&l, event->kind == VS_EV_RECOMPUTE_END);
        else if (event->kind == VS_EV_OP_BEGIN && ++number >= first && l.filled < count)
            on_begin(&l, number, before, event);
        else if (event->kind == VS_EV_OP_BEGIN)
            push(&l, SIZE_MAX, false);
        if (l.filled == count && !last)
            last = l.walk.seq;
        if (last && l.walk.seq - last > RPL_CHUNK_EVENTS)
            break;
    }
    *filled = l.filled;
    vs_free(l.running);
    return st;
}
