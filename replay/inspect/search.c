/*
 * replay/inspect/search.c - see step.h: searches for an event, skipping the chunks that cannot contain it.
 *
 * Must not know:  keys, cursors.
 * Invariant:      a chunk is skipped only if its entry in the index excludes a match.
 */
#include <string.h>

#include "base/mem.h"
#include "replay/index/index_internal.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/step.h"

/*
 * A search: `may` says whether a chunk can contain a match, `has` whether an event is one.
 *
 * module, len     the module to leave; no_module: none runs, and the search is for an event within any
 * line, func      source line and function of the wanted allocation
 * block           the block whose uses are searched for; alloc_seq: the event of its allocation
 * location, is_in the location that was looked up last, if has_location, and whether it is inside the module
 * wanted          wanted_count flags by location id; bits: the same as a filter, as in struct rpl_chunk
 */
struct search {
    struct rpl_index *index;
    bool (*may)(struct search *s, size_t chunk);
    bool (*has)(struct search *s, const struct vs_event *event);
    const char *module;
    size_t len;
    bool no_module;
    uint32_t line;
    uint32_t func;
    uint64_t block;
    uint64_t alloc_seq;
    uint32_t location;
    bool is_in;
    bool has_location;
    const bool *wanted;
    size_t wanted_count;
    uint64_t bits[RPL_LOCATION_BITS / 64];
    enum vs_status status;
    struct vs_error *err;
};

/* *out: the first match after `seq`, or the last one before it; 0: there is none. */
static enum vs_status search_run(struct search *s, uint64_t seq, bool is_backward, uint64_t *out)
{
    struct rpl_index *index = s->index;
    uint64_t at = is_backward ? seq : seq + 1; /* backwards: one past the next event to examine */

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

/* As search_run, with *out `seq` where there is no match. */
static enum vs_status search_or_stay(struct search *s, uint64_t seq, bool is_backward,
                                     uint64_t *out)
{
    enum vs_status st = search_run(s, seq, is_backward, out);

    if (!*out)
        *out = seq;
    return st;
}

/* Whether the chunk may have an event outside the module or, with no_module, inside any module. */
static bool finish_may(struct search *s, size_t chunk)
{
    const struct rpl_chunk *c;
    const char *common;

    s->status = rpl_index_chunk(s->index, chunk, &c, s->err);
    if (s->status)
        return false;
    if (s->no_module)
        return c->is_inside;
    if (c->is_outside_modules || c->module_len < s->len)
        return true;
    common = rpl_trace_string(s->index->trace, c->module);
    return !(s->len == 0 || (strncmp(common, s->module, s->len) == 0 &&
                             (c->module_len == s->len || common[s->len] == '.')));
}

static bool finish_has(struct search *s, const struct vs_event *event)
{
    if (!s->has_location || event->location != s->location) {
        uint32_t module = rpl_trace_location(s->index->trace, event->location)->module;
        const char *path = rpl_trace_string(s->index->trace, module);

        s->location = event->location;
        s->has_location = true;
        s->is_in = module && (s->no_module || rpl_module_is_inside(path, s->module, s->len));
    }
    return s->no_module ? s->is_in : !s->is_in;
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
        module = rpl_trace_location(index->trace, event.location)->module;
    }
    s.module = rpl_trace_string(index->trace, module);
    s.len = strlen(s.module);
    s.no_module = !module;
    return search_or_stay(&s, seq, is_backward, out);
}

static bool line_may(struct search *s, size_t chunk)
{
    const struct vs_location location = {.func = s->func, .line = s->line};
    const struct rpl_chunk *c;
    uint32_t bits[3];

    s->status = rpl_index_filters(s->index, chunk, &c, s->err);
    if (s->status)
        return false;
    rpl_line_bits(&location, bits);
    for (int i = 0; i < 3; i++)
        if (!(c->lines[bits[i] / 64] >> bits[i] % 64 & 1))
            return false;
    return true;
}

static bool line_has(struct search *s, const struct vs_event *event)
{
    const struct vs_location *location;

    if (event->kind != VS_EV_ALLOC)
        return false;
    location = rpl_trace_location(s->index->trace, event->location);
    return location->line == s->line && location->func == s->func;
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
    s.line = rpl_trace_location(index->trace, event.location)->line;
    s.func = rpl_trace_location(index->trace, event.location)->func;
    return s.line ? search_or_stay(&s, seq, is_backward, out) : VS_OK;
}

static bool block_may(struct search *s, size_t chunk)
{
    bool does = false;

    s->status = rpl_index_touches(s->index, chunk, s->block, s->alloc_seq, &does, s->err);
    return does;
}

static bool use_has(struct search *s, const struct vs_event *event)
{
    return event->kind == VS_EV_USE && event->use.block == s->block;
}

enum vs_status rpl_step_next_use(struct rpl_index *index, uint64_t id, uint64_t seq, uint64_t *out,
                                 struct vs_error *err)
{
    struct search s = {.index = index, .may = block_may, .has = use_has, .block = id, .err = err};
    struct rpl_lifetime life;
    enum vs_status st = rpl_lifetime_get(index, id, &life, err);

    *out = 0;
    if (st || life.last_use_seq <= seq)
        return st == VS_E_NOT_FOUND ? VS_OK : st;
    s.alloc_seq = life.alloc_seq;
    return search_run(&s, seq, false, out);
}

static bool location_may(struct search *s, size_t chunk)
{
    const struct rpl_chunk *c;

    s->status = rpl_index_filters(s->index, chunk, &c, s->err);
    if (s->status)
        return false;
    for (size_t i = 0; i < RPL_LOCATION_BITS / 64; i++)
        if (c->locations[i] & s->bits[i])
            return true;
    return false;
}

static bool location_has(struct search *s, const struct vs_event *event)
{
    return event->location < s->wanted_count && s->wanted[event->location];
}

enum vs_status rpl_step_location_back(struct rpl_index *index, uint64_t seq, const bool *wanted,
                                      size_t count, uint64_t *out, struct vs_error *err)
{
    struct search s = {.index = index,
                       .may = location_may,
                       .has = location_has,
                       .wanted = wanted,
                       .wanted_count = count,
                       .err = err};

    VS_ASSERT(seq <= index->event_count);
    for (size_t i = 0; i < count; i++)
        if (wanted[i])
            s.bits[i % RPL_LOCATION_BITS / 64] |= UINT64_C(1) << i % 64;
    return search_run(&s, seq + 1, true, out);
}

/* ---- ops ---- */

/* *out: the number of the chunk's first wanted op after `from`, or of the last one before it; unchanged: none. */
static enum vs_status ops_read(struct rpl_index *index, size_t chunk, uint64_t from,
                               bool is_backward, rpl_op_is_wanted_fn *is_wanted, void *user,
                               uint64_t *out, struct vs_error *err)
{
    const size_t count = rpl_index_chunk_events(index, chunk);
    const struct vs_event *events;
    const struct rpl_chunk *c;
    uint64_t number;
    enum vs_status st = rpl_index_chunk(index, chunk, &c, err);

    if (st || !c->stops[RPL_VERB_OP].count)
        return st;
    number = c->stops[RPL_VERB_OP].before + (is_backward ? c->stops[RPL_VERB_OP].count + 1 : 0);
    st = rpl_index_span(index, chunk, &events, err);
    for (size_t i = 0; !st && !*out && i < count; i++) {
        const struct vs_event *event = &events[is_backward ? count - 1 - i : i];

        if (event->kind != VS_EV_OP_BEGIN)
            continue;
        number = is_backward ? number - 1 : number + 1;
        if ((is_backward ? number < from : number > from) && is_wanted(user, number, event))
            *out = number;
    }
    return st;
}

enum vs_status rpl_step_op_find(struct rpl_index *index, uint64_t from, bool is_backward,
                                rpl_op_is_wanted_fn *is_wanted, void *user,
                                rpl_progress_fn *progress, void *progress_user, uint64_t *out,
                                struct vs_error *err)
{
    const uint64_t total = rpl_step_total(index, RPL_VERB_OP);
    uint64_t seq;
    enum vs_status st;
    size_t chunk;

    VS_ASSERT(from <= total + is_backward);
    *out = 0;
    if (is_backward ? from <= 1 : from >= total)
        return VS_OK;
    st = rpl_step_nth(index, RPL_VERB_OP, is_backward ? from - 1 : from + 1, &seq, err);
    if (st)
        return st;
    chunk = rpl_index_chunk_of(seq);
    for (size_t done = 0; !st; done++) {
        st = ops_read(index, chunk, from, is_backward, is_wanted, user, out, err);
        if (st || *out || (is_backward ? chunk == 0 : chunk + 1 >= index->chunks.count))
            break;
        chunk = is_backward ? chunk - 1 : chunk + 1;
        if (progress && !progress(progress_user, done, index->chunks.count))
            st = vs_fail(err, VS_E_STOPPED, "stopped while reading the ops");
    }
    return st;
}
