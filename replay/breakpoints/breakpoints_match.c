/*
 * replay/breakpoints/breakpoints_match.c - whether a condition is true at an event, and whether it can be true within
 * a chunk.
 *
 * Must not know:  the language (breakpoints_parse.c), the direction of the search (breakpoints.c).
 * Invariant:      a chunk is skipped only if its entry in the index excludes every hit.
 */
#include <string.h>

#include "base/mem.h"
#include "replay/breakpoints/breakpoints_internal.h"
#include "replay/index/lifetimes.h"

#define KIND(k) (UINT32_C(1) << (k))

/* The level of the pyramid whose nodes are chunks. */
#ifdef VS_STRESS
#define CHUNK_LEVEL 2
#else
#define CHUNK_LEVEL 4
#endif

/* What is known of an id: not evaluated yet, or whether it matches. */
enum { UNKNOWN, MATCHES, DIFFERS };

/* ---- locations ---- */

/* True if all terms about locations are true at this one. */
static bool location_matches(const struct rpl_entry *entry, const struct rpl_trace *trace,
                             const struct vs_location *location)
{
    for (size_t i = 0; i < entry->condition.count; i++) {
        const struct rpl_term *term = &entry->condition.terms[i];
        bool does = true;

        switch (term->field) {
        case RPL_TERM_OP:
            does = rpl_term_matches(term, rpl_trace_string(trace, location->op));
            break;
        case RPL_TERM_MODULE:
            does = location->module &&
                   rpl_term_matches(term, rpl_trace_string(trace, location->module));
            break;
        case RPL_TERM_FUNC:
            does = rpl_term_matches(term, rpl_trace_string(trace, location->func));
            break;
        case RPL_TERM_LINE:
            does = rpl_term_compares(term, location->line);
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

/* True if "MODULE.OP" of the location matches a watch. */
static bool origin_matches(const struct rpl_entry *entry, const struct rpl_trace *trace,
                           const struct vs_location *location)
{
    const char *module = rpl_trace_string(trace, location->module);
    const char *op = rpl_trace_string(trace, location->op);
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

/* Evaluate the locations that were added since the last call. Location 0 is none. */
void rpl_entry_update(struct rpl_entry *entry, const struct rpl_trace *trace)
{
    size_t count = (size_t)rpl_trace_location_count(trace) + 1;

    if (count <= entry->location_count)
        return;
    entry->locations = vs_realloc(entry->locations, count, sizeof(*entry->locations));
    for (size_t i = entry->location_count; i < count; i++) {
        const struct vs_location *location = rpl_trace_location(trace, (uint32_t)i);
        bool does = entry->glob ? origin_matches(entry, trace, location)
                                : location_matches(entry, trace, location);
        size_t bit = i % RPL_LOCATION_BITS;

        entry->locations[i] = does ? MATCHES : DIFFERS;
        if (does)
            entry->location_bits[bit / 64] |= UINT64_C(1) << bit % 64;
    }
    entry->location_count = count;
}

static bool location_holds(const struct rpl_entry *entry, uint32_t location)
{
    return location < entry->location_count ? entry->locations[location] == MATCHES
                                            : entry->locations[0] == MATCHES;
}

bool rpl_entry_has_location(const struct rpl_entry *entry, uint32_t location)
{
    return (!entry->has_locations && !entry->glob) || location_holds(entry, location);
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

/*
 * True if a term that is not about a location is true right after the event that the walk is at. event: that event, or
 * NULL at the start of a chunk.
 */
static bool term_holds(const struct rpl_term *term, const struct rpl_walk *walk,
                       const struct vs_event *event, uint64_t size)
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
        return event && rpl_term_compares(term, (int64_t)size);
    case RPL_TERM_CATEGORY:
        return event &&
               rpl_term_compares(term, event->kind == VS_EV_ALLOC ? event->alloc.category
                                                                  : event->category.category);
    case RPL_TERM_BLOCK:
        return event && vs_event_block(event) == (uint64_t)term->number;
    case RPL_TERM_OP:
    case RPL_TERM_MODULE:
    case RPL_TERM_FUNC:
    case RPL_TERM_LINE:
    case RPL_TERM_KIND:
        break;
    }
    return true;
}

bool rpl_entry_holds(const struct rpl_entry *entry, const struct rpl_walk *walk,
                     const struct vs_event *event, uint64_t size)
{
    const struct rpl_condition *c = &entry->condition;

    if (event && !(c->kinds >> event->kind & 1))
        return false;
    if (entry->has_locations && !location_holds(entry, walk->location))
        return false;
    for (size_t i = 0; i < c->count; i++)
        if (!term_holds(&c->terms[i], walk, event, size))
            return false;
    return true;
}

/* True if the name with this string id matches the watch. */
static bool name_matches(struct rpl_entry *entry, const struct rpl_trace *trace, uint32_t name)
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

/* True if "FUNCTION.NAME" matches the watch. */
static bool variable_matches(const struct rpl_entry *entry, const struct rpl_trace *trace,
                             uint32_t name_id, uint32_t scope_id)
{
    const char *scope = rpl_trace_string(trace, scope_id);
    const char *name = rpl_trace_string(trace, name_id);
    char text[512];
    size_t len = strlen(scope);

    if (!scope_id || len + strlen(name) + 2 > sizeof(text))
        return false;
    memcpy(text, scope, len);
    text[len] = '.';
    strcpy(text + len + 1, name);
    return rpl_glob_matches(entry->glob, text);
}

bool rpl_entry_has_name(struct rpl_entry *entry, const struct rpl_trace *trace, uint32_t name,
                        uint32_t scope)
{
    return name_matches(entry, trace, name) || variable_matches(entry, trace, name, scope);
}

enum vs_status rpl_entry_watch_hits(struct rpl_entry *entry, struct rpl_index *index,
                                    const struct vs_event *event, bool *out, struct vs_error *err)
{
    struct rpl_lifetime life;
    enum vs_status st;

    *out = false;
    if (!(RPL_WATCH_KINDS >> event->kind & 1))
        return VS_OK;
    if (event->kind == VS_EV_HOLD || event->kind == VS_EV_DROP) {
        *out = rpl_entry_has_name(entry, index->trace, (uint32_t)event->hold.name,
                                  (uint32_t)event->hold.scope);
        return VS_OK;
    }
    st = rpl_lifetime_get(index, vs_event_block(event), &life, err);
    if (st)
        return st;
    *out = name_matches(entry, index->trace, life.name) || location_holds(entry, life.location);
    return VS_OK;
}

/* ---- one chunk ---- */

enum answer { NEVER, SOMETIMES, ALWAYS };

/* The result of comparing a number that lies somewhere from `min` to `max`. */
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
    /* Bounds for the slack, as if the extremes were at the same event. */
    bool at_most = slack_compares(term, node->allocated_min, node->reserved_max);
    bool at_least = slack_compares(term, node->allocated_max, node->reserved_min);

    if (at_most == at_least)
        return at_most ? ALWAYS : NEVER;
    return SOMETIMES;
}

bool rpl_term_can(const struct rpl_term *term, const struct rpl_node *range)
{
    if (term->field == RPL_TERM_TOTAL)
        return between(term, range->allocated_min, range->allocated_max) != NEVER;
    if (term->field == RPL_TERM_RESERVED)
        return between(term, range->reserved_min, range->reserved_max) != NEVER;
    return slack_between(term, range) != NEVER;
}

/* The result of comparing a size; the index has sizes of allocs only. */
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
        if (c->kinds & chunk->kinds & KIND(VS_EV_CATEGORY))
            return SOMETIMES;
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

static bool has_location(const struct rpl_entry *entry, const struct rpl_chunk *chunk)
{
    for (size_t i = 0; i < RPL_LOCATION_BITS / 64; i++)
        if (entry->location_bits[i] & chunk->locations[i])
            return true;
    return false;
}

/* A block is allocated and freed once, and the index knows which chunks refer to it. */
static enum vs_status block_may(struct rpl_index *index, const struct rpl_condition *c,
                                const struct rpl_term *term, size_t chunk, bool *out,
                                struct vs_error *err)
{
    struct rpl_lifetime life;
    enum vs_status st = rpl_lifetime_get(index, (uint64_t)term->number, &life, err);

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

enum vs_status rpl_entry_can_hit(struct rpl_index *index, const struct rpl_entry *entry,
                                 size_t number, bool *out, struct vs_error *err)
{
    const struct rpl_condition *c = &entry->condition;
    const struct rpl_chunk *chunk;
    const struct rpl_node *node;
    struct rpl_node seen;
    bool is_always = !c->is_event && !entry->has_locations;
    enum vs_status st = rpl_index_chunk(index, number, &chunk, err);

    *out = false;
    if (st || !(chunk->kinds & c->kinds))
        return st;
    if (entry->has_locations) {
        st = rpl_index_filters(index, number, &chunk, err);
        if (st || !has_location(entry, chunk))
            return st;
    }
    /* A trace of one chunk has no such node, and does not need its extremes. */
    if (!index->levels[CHUNK_LEVEL].count) {
        *out = true;
        return VS_OK;
    }
    st = rpl_index_node(index, CHUNK_LEVEL, number, &node, err);
    if (st)
        return st;
    seen = *node;
    st = rpl_index_chunk(index, number, &chunk, err);
    for (size_t i = 0; !st && i < c->count; i++) {
        enum answer answer = term_answer(c, &c->terms[i], chunk, &seen);
        bool may = true;

        if (c->terms[i].field == RPL_TERM_BLOCK)
            st = block_may(index, c, &c->terms[i], number, &may, err);
        if (!st)
            st = rpl_index_chunk(index, number, &chunk, err);
        if (answer == NEVER || !may)
            return st;
        is_always &= answer == ALWAYS;
    }
    /* A condition that is true throughout the chunk can become true only at its first event. */
    if (is_always && number > 0) {
        struct rpl_walk before = {.allocated = chunk->allocated,
                                  .reserved = chunk->reserved,
                                  .step = chunk->step,
                                  .phase = chunk->phase,
                                  .location = chunk->location};

        *out = !rpl_entry_holds(entry, &before, NULL, 0);
        return st;
    }
    *out = true;
    return st;
}
