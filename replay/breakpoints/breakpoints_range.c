/*
 * replay/breakpoints/breakpoints_range.c - computes the range of events in which a breakpoint or watch can hit, from
 * the event classes of the trace.
 *
 * Must not know:  the language (breakpoints_parse.c), chunks (breakpoints_match.c).
 * Invariant:      no hit is outside the range.
 */
#include "replay/breakpoints/breakpoints_internal.h"
#include "replay/index/event_classes.h"

/*
 * True if a term can be true right after an event of the class. Terms about locations have been evaluated already;
 * terms that a class has no information about are assumed to be true.
 */
static bool term_can(const struct rpl_term *term, const struct rpl_event_class *sort)
{
    const struct rpl_node range = {.allocated_min = sort->allocated_min,
                                   .allocated_max = sort->allocated_max,
                                   .reserved_min = sort->reserved_min,
                                   .reserved_max = sort->reserved_max};

    switch (term->field) {
    case RPL_TERM_TOTAL:
    case RPL_TERM_RESERVED:
    case RPL_TERM_SLACK:
        return rpl_term_can(term, &range);
    case RPL_TERM_PHASE:
        return rpl_term_compares(term, sort->phase);
    case RPL_TERM_SIZE:
        return sort->kind == VS_EV_CATEGORY || rpl_term_compares(term, (int64_t)sort->size);
    case RPL_TERM_CATEGORY:
        return rpl_term_compares(term, sort->category);
    case RPL_TERM_STEP:
    case RPL_TERM_BLOCK:
    case RPL_TERM_OP:
    case RPL_TERM_MODULE:
    case RPL_TERM_FUNC:
    case RPL_TERM_LINE:
    case RPL_TERM_KIND:
        break;
    }
    return true;
}

static bool break_can(const struct rpl_entry *entry, const struct rpl_event_class *sort)
{
    const struct rpl_condition *c = &entry->condition;

    if (!(c->kinds >> sort->kind & 1) || !rpl_entry_has_location(entry, sort->location))
        return false;
    for (size_t i = 0; i < c->count; i++)
        if (!term_can(&c->terms[i], sort))
            return false;
    return true;
}

static void bound_take(struct rpl_entry *entry, uint64_t first, uint64_t last)
{
    entry->first_seq = first < entry->first_seq ? first : entry->first_seq;
    entry->last_seq = last > entry->last_seq ? last : entry->last_seq;
}

static void bound_break(struct rpl_entry *entry, const struct rpl_event_classes *sorts)
{
    for (size_t i = 0; i < sorts->count; i++)
        if (break_can(entry, &sorts->items[i]))
            bound_take(entry, sorts->items[i].first_seq, sorts->items[i].last_seq);
}

/*
 * The range of a watch, from the names of holders and the locations of allocations; a watch of a parameter's name can
 * hit wherever its block occurs.
 */
static void bound_watch(struct rpl_entry *entry, struct rpl_index *index,
                        const struct rpl_event_classes *sorts)
{
    for (size_t i = 0; i < index->name_count; i++)
        if (rpl_glob_matches(entry->glob, rpl_trace_string(index->trace, index->names[i])))
            bound_take(entry, 1, index->event_count);
    for (size_t i = 0; i < sorts->count; i++) {
        const struct rpl_event_class *sort = &sorts->items[i];

        if (sort->kind == VS_EV_ALLOC && rpl_entry_has_location(entry, sort->location))
            bound_take(entry, sort->first_seq, index->event_count);
        else if ((sort->kind == VS_EV_HOLD || sort->kind == VS_EV_DROP) &&
                 rpl_entry_has_name(entry, index->trace, sort->name, sort->scope))
            bound_take(entry, sort->first_seq, sort->last_seq);
    }
}

enum vs_status rpl_entry_range(struct rpl_entry *entry, struct rpl_index *index,
                               struct vs_error *err)
{
    const struct rpl_event_classes *sorts;
    enum vs_status st;

    if (entry->events == index->event_count)
        return VS_OK;
    st = rpl_event_classes_get(index, &sorts, err);
    if (st)
        return st;
    entry->events = index->event_count;
    entry->first_seq = UINT64_MAX;
    entry->last_seq = 0;
    if (!sorts)
        bound_take(entry, 1, index->event_count);
    else if (entry->glob)
        bound_watch(entry, index, sorts);
    else
        bound_break(entry, sorts);
    return VS_OK;
}
