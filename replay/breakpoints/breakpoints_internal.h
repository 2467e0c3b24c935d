/*
 * replay/breakpoints/breakpoints_internal.h - a condition, taken apart, and what is known of it in a trace.
 *
 * For:            replay/breakpoints/breakpoints.c, replay/breakpoints/breakpoints_parse.c,
 *                 replay/breakpoints/breakpoints_match.c, replay/breakpoints/breakpoints_range.c.
 * Must not know:  command lines.
 * Invariant:      a condition has at least one term; some kind of event can fulfil all of them.
 */
#ifndef RPL_BREAKPOINTS_INTERNAL_H
#define RPL_BREAKPOINTS_INTERNAL_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/breakpoints/breakpoints.h"
#include "replay/index/index_internal.h"
#include "replay/index/walk.h"
#include "replay/trace/trace.h"

/*
 * What a term is about. Those up to LINE are about the place, from TOTAL to STEP about how things stand, the others
 * about one event.
 */
enum rpl_term_field {
    RPL_TERM_OP,
    RPL_TERM_MODULE,
    RPL_TERM_FUNC,
    RPL_TERM_LINE,
    RPL_TERM_TOTAL,
    RPL_TERM_RESERVED,
    RPL_TERM_SLACK,
    RPL_TERM_PHASE,
    RPL_TERM_STEP,
    RPL_TERM_SIZE,
    RPL_TERM_CATEGORY,
    RPL_TERM_BLOCK,
    RPL_TERM_KIND,
};

enum rpl_term_compare {
    RPL_TERM_IS,
    RPL_TERM_IS_NOT,
    RPL_TERM_MORE,
    RPL_TERM_MORE_OR_IS,
    RPL_TERM_LESS,
    RPL_TERM_LESS_OR_IS,
    RPL_TERM_LIKE /* ~ */
};

/*
 * number   bytes, a line, a step, a phase, a category, a block
 * percent  of SLACK
 * text     a glob, or the source of `regex` where compare is LIKE
 */
struct rpl_term {
    enum rpl_term_field field;
    enum rpl_term_compare compare;
    int64_t number;
    double percent;
    char *text;
    regex_t regex;
    bool has_regex;
};

/*
 * kinds     bit 1 << kind: an event of this kind can be a hit
 * is_event  some term is about one event
 * has_size, has_category  some term is about a size, about a category
 */
#define RPL_TERMS_MAX 16
struct rpl_condition {
    struct rpl_term terms[RPL_TERMS_MAX];
    size_t count;
    uint32_t kinds;
    bool is_event;
    bool has_size;
    bool has_category;
};

/*
 * Take `text` apart. VS_E_SYNTAX: see rpl_breakpoints_add; `out` is then released. It is zeroed; the caller releases
 * it.
 */
VS_MUST_USE enum vs_status rpl_condition_parse(struct rpl_condition *out, const char *text,
                                               struct vs_error *err);
void rpl_condition_release(struct rpl_condition *condition);

/* As `*` and `?` say. */
bool rpl_glob_matches(const char *glob, const char *text);
/* Does the text of a term about a text match? A module's glob that ends in ".*" also means the module itself. */
bool rpl_term_matches(const struct rpl_term *term, const char *text);
/* The comparison of a term about a number. */
bool rpl_term_compares(const struct rpl_term *term, int64_t number);

/* The events that a watch looks at. */
#define RPL_WATCH_KINDS                                                                            \
    (UINT32_C(1) << VS_EV_ALLOC | UINT32_C(1) << VS_EV_FREE | UINT32_C(1) << VS_EV_CATEGORY |      \
     UINT32_C(1) << VS_EV_HOLD | UINT32_C(1) << VS_EV_DROP)

/*
 * A break or watch.
 *
 * glob      of a watch; else condition is what it says
 * places    by place id: do all terms about places hold there? Of a watch: does "MODULE.OP" match?
 * names     of a watch, by string id: does the name match?
 * location_bits  those of the places where it holds, as in struct rpl_chunk
 * holds     it held right after the event before
 * first_seq, last_seq   no event before or after can hit; looked up when the trace had `events` events
 */
struct rpl_entry {
    struct rpl_breakpoint shown;
    char *text;
    char *glob;
    struct rpl_condition condition;
    uint8_t *locations;
    size_t location_count;
    uint8_t *names;
    size_t name_count;
    uint64_t location_bits[RPL_LOCATION_BITS / 64];
    bool has_locations;
    bool holds;
    bool is_looked_at;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t events;
};

/* Look at the places that were not there last time. */
void rpl_entry_update(struct rpl_entry *entry, const struct rpl_trace *trace);
/* Find out between which events it can hit at all. */
VS_MUST_USE enum vs_status rpl_entry_range(struct rpl_entry *entry, struct rpl_index *index,
                                           struct vs_error *err);
/*
 * Of a break: does its condition hold right after the event that the walk stands after?
 *
 * event  that event; NULL at a chunk's start
 * size   requested bytes of the block that the event allocates, frees or moves to another category
 */
bool rpl_entry_holds(const struct rpl_entry *entry, const struct rpl_walk *walk,
                     const struct vs_event *event, uint64_t size);
/*
 * Do the terms about places hold at this one? There may be none. Of a watch: does "MODULE.OP" match? The place has
 * been looked at.
 */
bool rpl_entry_has_location(const struct rpl_entry *entry, uint32_t location);
/* Of a watch: does the name, or "SCOPE.NAME", match? Both are string ids. */
bool rpl_entry_has_name(struct rpl_entry *entry, const struct rpl_trace *trace, uint32_t name,
                        uint32_t scope);
/* A term about the total, what is reserved, or the slack: can it hold where these lie in such a range? */
bool rpl_term_can(const struct rpl_term *term, const struct rpl_node *range);
/* Of a watch: does the event hit? */
VS_MUST_USE enum vs_status rpl_entry_watch_hits(struct rpl_entry *entry, struct rpl_index *index,
                                                const struct vs_event *event, bool *out,
                                                struct vs_error *err);
/* Can it hit in chunk `number`? */
VS_MUST_USE enum vs_status rpl_entry_can_hit(struct rpl_index *index, const struct rpl_entry *entry,
                                             size_t number, bool *out, struct vs_error *err);

#endif
