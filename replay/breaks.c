/*
 * replay/breaks.c - see breaks.h.
 *
 * Must not know:  command lines, cursors; the language is in breaks_parse.c.
 * Invariant:      a chunk is passed by only where what the index knows of it excludes every hit.
 */
#include "replay/breaks.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "replay/breaks_internal.h"
#include "replay/index_internal.h"
#include "replay/lives.h"
#include "replay/walk.h"

#define KIND(k) (UINT32_C(1) << (k))
#define WATCH_KINDS                                                                                \
    (KIND(VS_EV_ALLOC) | KIND(VS_EV_FREE) | KIND(VS_EV_CATEGORY) | KIND(VS_EV_HOLD) |              \
     KIND(VS_EV_DROP))

/* Levels of the pyramid up to the one whose nodes are chunks. */
#ifdef VS_STRESS
#define CHUNK_LEVEL 2
#else
#define CHUNK_LEVEL 4
#endif

/* What is known of an id: looked at, and whether it matches. */
enum { UNKNOWN, MATCHES, DIFFERS };

/*
 * A break or watch.
 *
 * glob      of a watch; else condition is what it says
 * places    by place id: do all terms about places hold there? Of a watch: does "MODULE.OP" match?
 * names     of a watch, by string id: does the name match?
 * place_bits  those of the places where it holds, as in struct rpl_chunk
 * holds     it held right after the event before
 */
struct entry {
    struct rpl_break shown;
    char *text;
    char *glob;
    struct rpl_condition condition;
    uint8_t *places;
    size_t place_count;
    uint8_t *names;
    size_t name_count;
    uint64_t place_bits[RPL_PLACE_BITS / 64];
    bool has_places;
    bool holds;
    bool is_looked_at;
};

struct rpl_breaks {
    struct rpl_index *index;
    struct entry **entries;
    size_t count;
    size_t cap;
    uint32_t last_number;
};

struct rpl_breaks *rpl_breaks_new(struct rpl_index *index)
{
    struct rpl_breaks *breaks = vs_calloc(1, sizeof(*breaks));

    breaks->index = index;
    return breaks;
}

static void entry_free(struct entry *entry)
{
    rpl_condition_release(&entry->condition);
    vs_free(entry->text);
    vs_free(entry->glob);
    vs_free(entry->places);
    vs_free(entry->names);
    vs_free(entry);
}

void rpl_breaks_free(struct rpl_breaks *breaks)
{
    if (!breaks)
        return;
    for (size_t i = 0; i < breaks->count; i++)
        entry_free(breaks->entries[i]);
    vs_free(breaks->entries);
    vs_free(breaks);
}

static bool is_place_term(const struct rpl_term *term)
{
    return term->field <= RPL_TERM_LINE;
}

static enum vs_status entry_add(struct rpl_breaks *breaks, struct entry *entry, const char *text,
                                uint32_t *number)
{
    entry->text = vs_strdup(text + strspn(text, " \t"));
    entry->shown.number = *number = ++breaks->last_number;
    entry->shown.text = entry->text;
    entry->shown.is_watch = entry->glob != NULL;
    entry->shown.is_on = true;
    for (size_t i = 0; i < entry->condition.count; i++)
        entry->has_places |= is_place_term(&entry->condition.terms[i]);
    breaks->entries = vs_grow(breaks->entries, breaks->count, &breaks->cap, sizeof(struct entry *));
    breaks->entries[breaks->count++] = entry;
    return VS_OK;
}

enum vs_status rpl_breaks_add(struct rpl_breaks *breaks, const char *condition, uint32_t *number,
                              struct vs_error *err)
{
    struct entry *entry = vs_calloc(1, sizeof(*entry));
    enum vs_status st = rpl_condition_parse(&entry->condition, condition, err);

    if (!st)
        return entry_add(breaks, entry, condition, number);
    entry_free(entry);
    return st;
}

enum vs_status rpl_breaks_watch(struct rpl_breaks *breaks, const char *what, uint32_t *number,
                                struct vs_error *err)
{
    const char *at = what + strspn(what, " \t");
    size_t len = strcspn(at, " \t");
    struct entry *entry;
    const char *end;

    if (len != strlen("tensor") || strncasecmp(at, "tensor", len) != 0)
        return vs_fail(err, VS_E_SYNTAX,
                       "column %d: `%.*s` is not what can be watched: tensor NAME",
                       (int)(at - what) + 1, (int)len, at);
    at += len;
    at += strspn(at, " \t");
    end = at + strlen(at);
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end - at >= 2 && (*at == '"' || *at == '\'') && end[-1] == *at) {
        at++;
        end--;
    }
    if (at == end)
        return vs_fail(err, VS_E_SYNTAX,
                       "column %zu: the name of a tensor is missing, such as fc.weight or "
                       "layers.11.attn.softmax",
                       strlen(what) + 1);
    entry = vs_calloc(1, sizeof(*entry));
    entry->glob = vs_strndup(at, (size_t)(end - at));
    entry->condition.kinds = WATCH_KINDS;
    entry->condition.is_event = true;
    return entry_add(breaks, entry, what, number);
}

size_t rpl_breaks_count(const struct rpl_breaks *breaks)
{
    return breaks->count;
}

const struct rpl_break *rpl_breaks_at(const struct rpl_breaks *breaks, size_t i)
{
    VS_ASSERT(i < breaks->count);
    return &breaks->entries[i]->shown;
}

struct rpl_break *rpl_breaks_get(struct rpl_breaks *breaks, uint32_t number)
{
    for (size_t i = 0; i < breaks->count; i++)
        if (breaks->entries[i]->shown.number == number)
            return &breaks->entries[i]->shown;
    return NULL;
}

bool rpl_breaks_remove(struct rpl_breaks *breaks, uint32_t number)
{
    for (size_t i = 0; i < breaks->count; i++) {
        if (breaks->entries[i]->shown.number != number)
            continue;
        entry_free(breaks->entries[i]);
        memmove(&breaks->entries[i], &breaks->entries[i + 1],
                (breaks->count - i - 1) * sizeof(struct entry *));
        breaks->count--;
        return true;
    }
    return false;
}

/* ---- places ---- */

/* Do all terms about places hold at this one? */
static bool place_matches(const struct entry *entry, const struct rpl_trace *trace,
                          const struct vs_place *place)
{
    for (size_t i = 0; i < entry->condition.count; i++) {
        const struct rpl_term *term = &entry->condition.terms[i];
        bool does = true;

        switch (term->field) {
        case RPL_TERM_OP:
            does = rpl_term_matches(term, rpl_trace_string(trace, place->op));
            break;
        case RPL_TERM_MODULE:
            does = place->module && rpl_term_matches(term, rpl_trace_string(trace, place->module));
            break;
        case RPL_TERM_FUNC:
            does = rpl_term_matches(term, rpl_trace_string(trace, place->func));
            break;
        case RPL_TERM_LINE:
            does = rpl_term_compares(term, place->line);
            break;
        case RPL_TERM_TOTAL:
        case RPL_TERM_RESERVED:
        case RPL_TERM_SLACK:
        case RPL_TERM_PHASE:
        case RPL_TERM_STEP:
        case RPL_TERM_SIZE:
        case RPL_TERM_CATEGORY:
        case RPL_TERM_BLOCK:
        case RPL_TERM_KIND:
            break;
        }
        if (!does)
            return false;
    }
    return true;
}

/* Of a watch: does "MODULE.OP" match? */
static bool origin_matches(const struct entry *entry, const struct rpl_trace *trace,
                           const struct vs_place *place)
{
    const char *module = rpl_trace_string(trace, place->module);
    const char *op = rpl_trace_string(trace, place->op);
    size_t len = strlen(module);
    bool does;
    char *text;

    if (!*op)
        return false;
    text = vs_alloc(len + strlen(op) + 2);
    strcpy(text, module);
    if (len)
        text[len++] = '.';
    strcpy(text + len, op);
    does = rpl_glob_matches(entry->glob, text);
    vs_free(text);
    return does;
}

/* Look at places that were not there last time. Place 0 is none. */
static void places_look(struct entry *entry, const struct rpl_trace *trace)
{
    size_t count = (size_t)rpl_trace_place_count(trace) + 1;

    if (count <= entry->place_count)
        return;
    entry->places = vs_realloc(entry->places, count, sizeof(*entry->places));
    for (size_t i = entry->place_count; i < count; i++) {
        const struct vs_place *place = rpl_trace_place(trace, (uint32_t)i);
        bool does =
            entry->glob ? origin_matches(entry, trace, place) : place_matches(entry, trace, place);
        size_t bit = i % RPL_PLACE_BITS;

        entry->places[i] = does ? MATCHES : DIFFERS;
        if (does)
            entry->place_bits[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    entry->place_count = count;
}

static bool place_holds(const struct entry *entry, uint32_t place)
{
    return place < entry->place_count ? entry->places[place] == MATCHES
                                      : entry->places[0] == MATCHES;
}

/* ---- one event ---- */

static bool slack_compares(const struct rpl_term *term, uint64_t allocated, uint64_t reserved)
{
    double slack =
        reserved > allocated ? 100.0 * (double)(reserved - allocated) / (double)reserved : 0;

    switch (term->compare) {
    case RPL_TERM_MORE:
        return slack > term->percent;
    case RPL_TERM_MORE_OR_IS:
        return slack >= term->percent;
    case RPL_TERM_LESS:
        return slack < term->percent;
    case RPL_TERM_LESS_OR_IS:
        return slack <= term->percent;
    case RPL_TERM_IS:
    case RPL_TERM_IS_NOT:
    case RPL_TERM_LIKE:
        break;
    }
    return false;
}

/* A term that is about no place, right after the event that the walk stands after. event: that event, or NULL at a chunk's start. */
static bool term_holds(const struct rpl_term *term, const struct rpl_walk *walk,
                       const struct vs_event *event)
{
    switch (term->field) {
    case RPL_TERM_TOTAL:
        return rpl_term_compares(term, (int64_t)walk->allocated);
    case RPL_TERM_RESERVED:
        return rpl_term_compares(term, (int64_t)walk->reserved);
    case RPL_TERM_SLACK:
        return slack_compares(term, walk->allocated, walk->reserved);
    case RPL_TERM_PHASE:
        return rpl_term_compares(term, walk->phase);
    case RPL_TERM_STEP:
        return rpl_term_compares(term, walk->step);
    case RPL_TERM_SIZE:
        return event && rpl_term_compares(term, (int64_t)event->b);
    case RPL_TERM_CATEGORY:
        return event && rpl_term_compares(term, event->aux);
    case RPL_TERM_BLOCK:
        return event && event->a == (uint64_t)term->number;
    case RPL_TERM_OP:
    case RPL_TERM_MODULE:
    case RPL_TERM_FUNC:
    case RPL_TERM_LINE:
    case RPL_TERM_KIND:
        break;
    }
    return true;
}

static bool condition_holds(const struct entry *entry, const struct rpl_walk *walk,
                            const struct vs_event *event)
{
    const struct rpl_condition *c = &entry->condition;

    if (event && !(c->kinds >> event->kind & 1))
        return false;
    if (entry->has_places && !place_holds(entry, walk->place))
        return false;
    for (size_t i = 0; i < c->count; i++)
        if (!term_holds(&c->terms[i], walk, event))
            return false;
    return true;
}

/* Does the name with this id match the watch? */
static bool name_matches(struct entry *entry, const struct rpl_trace *trace, uint32_t name)
{
    size_t count = (size_t)rpl_trace_string_count(trace) + 1;

    if (name >= count || !name)
        return false;
    if (count > entry->name_count) {
        entry->names = vs_realloc(entry->names, count, sizeof(*entry->names));
        memset(entry->names + entry->name_count, UNKNOWN, count - entry->name_count);
        entry->name_count = count;
    }
    if (entry->names[name] == UNKNOWN)
        entry->names[name] =
            rpl_glob_matches(entry->glob, rpl_trace_string(trace, name)) ? MATCHES : DIFFERS;
    return entry->names[name] == MATCHES;
}

/* "FUNCTION.NAME" against the watch. */
static bool variable_matches(const struct entry *entry, const struct rpl_trace *trace,
                             const struct vs_event *event)
{
    const char *scope = rpl_trace_string(trace, (uint32_t)event->d);
    const char *name = rpl_trace_string(trace, (uint32_t)event->c);
    char text[512];
    size_t len = strlen(scope);

    if (!event->d || len + strlen(name) + 2 > sizeof(text))
        return false;
    memcpy(text, scope, len);
    text[len] = '.';
    strcpy(text + len + 1, name);
    return rpl_glob_matches(entry->glob, text);
}

static enum vs_status watch_hits(struct entry *entry, struct rpl_index *index,
                                 const struct vs_event *event, bool *out, struct vs_error *err)
{
    struct rpl_life life;
    enum vs_status st;

    *out = false;
    if (!(WATCH_KINDS >> event->kind & 1))
        return VS_OK;
    if (event->kind == VS_EV_HOLD || event->kind == VS_EV_DROP) {
        *out = name_matches(entry, index->trace, (uint32_t)event->c) ||
               variable_matches(entry, index->trace, event);
        return VS_OK;
    }
    st = rpl_life_get(index, event->a, &life, err);
    if (st)
        return st;
    *out = name_matches(entry, index->trace, life.name) || place_holds(entry, life.place);
    return VS_OK;
}

/* ---- one chunk ---- */

enum answer { NEVER, SOMETIMES, ALWAYS };

/* A comparison of a number that lies somewhere from `min` to `max`. */
static enum answer between(const struct rpl_term *term, uint64_t min, uint64_t max)
{
    bool at_min = rpl_term_compares(term, (int64_t)min);
    bool at_max = rpl_term_compares(term, (int64_t)max);
    int64_t n = term->number;

    if (term->compare == RPL_TERM_IS || term->compare == RPL_TERM_IS_NOT) {
        bool is_inside = n >= (int64_t)min && n <= (int64_t)max;

        if (!is_inside)
            return term->compare == RPL_TERM_IS ? NEVER : ALWAYS;
        return min == max && at_min ? ALWAYS : min == max ? NEVER : SOMETIMES;
    }
    if (at_min == at_max)
        return at_min ? ALWAYS : NEVER;
    return SOMETIMES;
}

static enum answer slack_between(const struct rpl_term *term, const struct rpl_node *node)
{
    /* the most and the least there could be, were the extremes at the same moment */
    bool at_most = slack_compares(term, node->allocated_min, node->reserved_max);
    bool at_least = slack_compares(term, node->allocated_max, node->reserved_min);

    if (at_most == at_least)
        return at_most ? ALWAYS : NEVER;
    return SOMETIMES;
}

/* A size: of allocs alone is something known. */
static enum answer size_between(const struct rpl_condition *c, const struct rpl_term *term,
                                const struct rpl_chunk *chunk)
{
    uint64_t most = 0;

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        most = chunk->alloc_max[i] > most ? chunk->alloc_max[i] : most;
    if (c->kinds != KIND(VS_EV_ALLOC) || term->compare == RPL_TERM_IS_NOT)
        return SOMETIMES;
    if (!most)
        return NEVER;
    return between(term, 0, most - 1) == NEVER ? NEVER : SOMETIMES;
}

static enum answer term_answer(const struct rpl_condition *c, const struct rpl_term *term,
                               const struct rpl_chunk *chunk, const struct rpl_node *node)
{
    switch (term->field) {
    case RPL_TERM_TOTAL:
        return between(term, node->allocated_min, node->allocated_max);
    case RPL_TERM_RESERVED:
        return between(term, node->reserved_min, node->reserved_max);
    case RPL_TERM_SLACK:
        return slack_between(term, node);
    case RPL_TERM_PHASE:
        if (chunk->stops[RPL_VERB_PHASE].count)
            return SOMETIMES;
        return rpl_term_compares(term, chunk->phase) ? ALWAYS : NEVER;
    case RPL_TERM_STEP:
        if (chunk->stops[RPL_VERB_STEP].count)
            return SOMETIMES;
        return rpl_term_compares(term, chunk->step) ? ALWAYS : NEVER;
    case RPL_TERM_SIZE:
        return size_between(c, term, chunk);
    case RPL_TERM_CATEGORY:
        return term->compare != RPL_TERM_IS || chunk->alloc_max[term->number] ? SOMETIMES : NEVER;
    case RPL_TERM_OP:
    case RPL_TERM_MODULE:
    case RPL_TERM_FUNC:
    case RPL_TERM_LINE:
    case RPL_TERM_BLOCK:
    case RPL_TERM_KIND:
        break;
    }
    return SOMETIMES;
}

static bool has_place(const struct entry *entry, const struct rpl_chunk *chunk)
{
    for (size_t i = 0; i < RPL_PLACE_BITS / 64; i++)
        if (entry->place_bits[i] & chunk->places[i])
            return true;
    return false;
}

/* A block is made and given back once, and the index knows which chunks speak of it. */
static enum vs_status block_may(struct rpl_index *index, const struct rpl_condition *c,
                                const struct rpl_term *term, size_t chunk, bool *out,
                                struct vs_error *err)
{
    struct rpl_life life;
    enum vs_status st = rpl_life_get(index, (uint64_t)term->number, &life, err);

    *out = false;
    if (st)
        return st == VS_E_NOT_FOUND ? VS_OK : st;
    if (life.free_seq && chunk > rpl_index_chunk_of(life.free_seq))
        return VS_OK;
    if (c->kinds == KIND(VS_EV_ALLOC))
        *out = chunk == rpl_index_chunk_of(life.alloc_seq);
    else if (c->kinds == KIND(VS_EV_FREE))
        *out = life.free_seq && chunk == rpl_index_chunk_of(life.free_seq);
    else
        st = rpl_index_touches(index, chunk, life.id, life.alloc_seq, out, err);
    return st;
}

/* Can the entry hit in this chunk? */
static enum vs_status entry_may(const struct rpl_breaks *breaks, const struct entry *entry,
                                size_t number, bool *out, struct vs_error *err)
{
    const struct rpl_condition *c = &entry->condition;
    struct rpl_index *index = breaks->index;
    const struct rpl_chunk *chunk = &index->chunks[number];
    const struct rpl_node *node;
    struct rpl_node seen;
    bool is_always = !c->is_event && !entry->has_places;
    enum vs_status st = VS_OK;

    *out = false;
    if (!(chunk->kinds & c->kinds) || (entry->has_places && !has_place(entry, chunk)))
        return VS_OK;
    /* a trace of one chunk has no such node: its extremes are not needed either */
    if (!index->levels[CHUNK_LEVEL].count) {
        *out = true;
        return VS_OK;
    }
    st = rpl_index_node(index, CHUNK_LEVEL, number, &node, err);
    if (st)
        return st;
    seen = *node;
    chunk = &index->chunks[number];
    for (size_t i = 0; !st && i < c->count; i++) {
        enum answer answer = term_answer(c, &c->terms[i], chunk, &seen);
        bool may = true;

        if (c->terms[i].field == RPL_TERM_BLOCK)
            st = block_may(index, c, &c->terms[i], number, &may, err);
        if (answer == NEVER || !may)
            return st;
        is_always &= answer == ALWAYS;
    }
    /* what holds all the time comes true at the chunk's first event, or not at all */
    if (is_always && number > 0) {
        struct rpl_walk before = {.allocated = chunk->allocated,
                                  .reserved = chunk->reserved,
                                  .step = chunk->step,
                                  .phase = chunk->phase,
                                  .place = chunk->place};

        *out = !condition_holds(entry, &before, NULL);
        return st;
    }
    *out = true;
    return st;
}

/* Which entries hit at the event that the walk stands after? */
static enum vs_status event_look(struct rpl_breaks *breaks, const struct rpl_walk *walk,
                                 const struct vs_event *event, struct rpl_hit *hit,
                                 struct vs_error *err)
{
    hit->seq = 0;
    hit->count = 0;
    for (size_t i = 0; i < breaks->count; i++) {
        struct entry *entry = breaks->entries[i];
        bool is_hit;

        if (!entry->is_looked_at)
            continue;
        if (entry->glob) {
            enum vs_status st = watch_hits(entry, breaks->index, event, &is_hit, err);

            if (st)
                return st;
        } else {
            bool holds = condition_holds(entry, walk, event);

            is_hit = holds && (entry->condition.is_event || !entry->holds);
            entry->holds = holds;
        }
        if (!is_hit)
            continue;
        hit->seq = walk->seq;
        if (hit->count < RPL_HIT_MAX)
            hit->numbers[hit->count] = entry->shown.number;
        hit->count++;
    }
    return VS_OK;
}

/* The hits of a chunk from event `from` to `to`, both included: the first, or the last. */
static enum vs_status chunk_run(struct rpl_breaks *breaks, size_t chunk, uint64_t from, uint64_t to,
                                bool is_backward, struct rpl_hit *out, struct vs_error *err)
{
    struct rpl_walk walk;
    enum vs_status st;

    rpl_walk_init(&walk, breaks->index);
    st = rpl_walk_enter(&walk, chunk, err);
    for (size_t i = 0; !st && i < breaks->count; i++)
        if (!breaks->entries[i]->glob)
            breaks->entries[i]->holds = condition_holds(breaks->entries[i], &walk, NULL);
    while (!st && walk.seq < to && (is_backward || !out->seq)) {
        const struct vs_event *event = rpl_walk_next(&walk, err);
        struct rpl_hit hit;

        if (!event)
            return err->status;
        st = event_look(breaks, &walk, event, &hit, err);
        if (!st && hit.seq && walk.seq >= from)
            *out = hit;
    }
    return st;
}

enum vs_status rpl_breaks_run(struct rpl_breaks *breaks, uint64_t seq, bool is_backward,
                              rpl_progress_fn *progress, void *user, struct rpl_hit *out,
                              struct vs_error *err)
{
    uint64_t count = breaks->index->event_count;
    uint64_t at = is_backward ? seq : seq + 1; /* backwards: one past the next to look at */
    enum vs_status st = VS_OK;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < breaks->count; i++)
        places_look(breaks->entries[i], breaks->index->trace);
    while (!st && !out->seq && (is_backward ? at > 1 : at <= count)) {
        size_t chunk = rpl_index_chunk_of(is_backward ? at - 1 : at);
        uint64_t first = rpl_index_chunk_first(chunk);
        uint64_t last = first + rpl_index_chunk_events(breaks->index, chunk) - 1;
        bool may_any = false;

        if (progress &&
            !progress(user, is_backward ? seq - at : at - seq, is_backward ? seq : count - seq))
            return vs_fail(err, VS_E_STOPPED, "stopped while looking for the next hit");
        for (size_t i = 0; !st && i < breaks->count; i++) {
            struct entry *entry = breaks->entries[i];

            entry->is_looked_at = false;
            if (entry->shown.is_on)
                st = entry_may(breaks, entry, chunk, &entry->is_looked_at, err);
            may_any |= entry->is_looked_at;
        }
        if (!st && may_any)
            st = is_backward ? chunk_run(breaks, chunk, first, at - 1, true, out, err)
                             : chunk_run(breaks, chunk, at, last, false, out, err);
        at = is_backward ? first : last + 1;
    }
    return st;
}
