/*
 * replay/breakpoints/breakpoints_internal.h - a parsed condition, and what is known of it in a trace.
 *
 * For:            the files of replay/breakpoints.
 * Must not know:  command lines.
 * Invariant:      a condition has at least one term; some kind of event can fulfil all its terms.
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
 * What a term is about. Those up to LINE are about the location, TOTAL to STEP about the state, the others about one
 * event.
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
 * number   bytes, a line, a step, a phase, a category or a block
 * percent  of SLACK
 * text     a glob, or the source of `regex` if compare is LIKE
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
 * kinds         bit 1 << kind: an event of this kind can be a hit
 * is_event      some term is about one event
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
 * Parse `text` into `out`, which is zeroed; the caller releases it. VS_E_SYNTAX: see rpl_breakpoints_add; `out` is
 * then released.
 */
VS_MUST_USE enum vs_status rpl_condition_parse(struct rpl_condition *out, const char *text,
                                               struct vs_error *err);
void rpl_condition_release(struct rpl_condition *condition);

/* Match the whole `text` with `glob`, in which * is any text and ? any character. */
bool rpl_glob_matches(const char *glob, const char *text);
/* True if a term about a text matches `text`. A module's glob that ends in ".*" also matches the module itself. */
bool rpl_term_matches(const struct rpl_term *term, const char *text);
/* The comparison of a term about a number. */
bool rpl_term_compares(const struct rpl_term *term, int64_t number);

/* The kinds of events at which a watch can hit. */
#define RPL_WATCH_KINDS                                                                            \
    (UINT32_C(1) << VS_EV_ALLOC | UINT32_C(1) << VS_EV_FREE | UINT32_C(1) << VS_EV_CATEGORY |      \
     UINT32_C(1) << VS_EV_HOLD | UINT32_C(1) << VS_EV_DROP)

/*
 * A breakpoint or watch.
 *
 * glob           of a watch; otherwise condition is set
 * locations      by location id: all terms about locations are true there. Of a watch: "MODULE.OP" matches
 * names          of a watch, by string id: the name matches
 * location_bits  the bits of these locations, as in struct rpl_chunk
 * holds          the condition was true right after the event before
 * first_seq, last_seq  no event before or after this range can hit; computed when the trace had `events` events
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

/* Evaluate the locations that were added to the trace since the last call. */
void rpl_entry_update(struct rpl_entry *entry, const struct rpl_trace *trace);
/* Compute first_seq and last_seq. Errors: those of reading the trace. */
VS_MUST_USE enum vs_status rpl_entry_range(struct rpl_entry *entry, struct rpl_index *index,
                                           struct vs_error *err);
/*
 * True if the condition of a breakpoint is true right after the event that the walk is at.
 *
 * event  that event; NULL at the start of a chunk
 * size   requested bytes of the block that the event allocates, frees or moves to another category
 */
bool rpl_entry_holds(const struct rpl_entry *entry, const struct rpl_walk *walk,
                     const struct vs_event *event, uint64_t size);
/*
 * True if the terms about locations, if any, are true at this one; of a watch: if "MODULE.OP" matches. The location
 * has been evaluated by rpl_entry_update.
 */
bool rpl_entry_has_location(const struct rpl_entry *entry, uint32_t location);
/* True if a watch matches the name, or "SCOPE.NAME". Both are string ids. */
bool rpl_entry_has_name(struct rpl_entry *entry, const struct rpl_trace *trace, uint32_t name,
                        uint32_t scope);
/* True if a term about the total, the reserved bytes or the slack can be true somewhere in this range. */
bool rpl_term_can(const struct rpl_term *term, const struct rpl_node *range);
/* *out: whether a watch hits at the event. Errors: those of reading the index. */
VS_MUST_USE enum vs_status rpl_entry_watch_hits(struct rpl_entry *entry, struct rpl_index *index,
                                                const struct vs_event *event, bool *out,
                                                struct vs_error *err);
/* *out: whether it can hit in chunk `number`. Errors: those of reading the index. */
VS_MUST_USE enum vs_status rpl_entry_can_hit(struct rpl_index *index, const struct rpl_entry *entry,
                                             size_t number, bool *out, struct vs_error *err);

#endif
