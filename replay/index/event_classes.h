/*
 * replay/index/event_classes.h - what sorts of events a trace has: each once, with where it begins and ends and how
 * things stood at it.
 *
 * For:            breaks: what no sort of event fulfils never hits, and what none after this place does does not hit
 *                 any more.
 * Must not know:  conditions.
 * Invariant:      every event is of one of the sorts, or the list is full and says nothing.
 *
 * A program has as many sorts of events as it has lines, ops and phases, however long it runs.
 */
#ifndef RPL_EVENT_CLASSES_H
#define RPL_EVENT_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/table.h"
#include "replay/index/index.h"
#include "replay/trace/pack.h"

/*
 * Events are of one sort where these are the same: kind; category (of alloc, free, category); phase right after it;
 * place; size (of the allocator's events; else 0); name and scope (of hold and drop: string ids).
 *
 * first_seq, last_seq  the first and the last of them
 * allocated, reserved  the least and the most there was right after one of them
 */
struct rpl_event_class {
    uint8_t kind;
    uint8_t category;
    uint8_t phase;
    uint32_t location;
    uint64_t size;
    uint32_t name;
    uint32_t scope;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t allocated_min;
    uint64_t allocated_max;
    uint64_t reserved_min;
    uint64_t reserved_max;
};

/* is_full: there were more than anybody would look through; there are none then. by_hash: while they are made */
#define RPL_EVENT_CLASSES_MAX ((size_t)1 << 17)
struct rpl_event_classes {
    struct rpl_event_class *items;
    size_t count;
    size_t cap;
    struct vs_table by_hash;
    bool is_full;
};

struct rpl_event_classes *rpl_event_classes_new(void) VS_MUST_USE;
void rpl_event_classes_free(struct rpl_event_classes *classes);
/* One more event, after which things stand so. */
void rpl_event_classes_note(struct rpl_event_classes *classes, uint64_t seq,
                            const struct vs_event *event, uint8_t phase, uint64_t allocated,
                            uint64_t reserved);
void rpl_event_classes_pack(const struct rpl_event_classes *classes, struct rpl_pack *out);
/* NULL: the bytes are none of ours, or not of a trace of `count` events. The caller frees it. */
struct rpl_event_classes *rpl_event_classes_unpack(struct rpl_unpack *in,
                                                   uint64_t count) VS_MUST_USE;

/*
 * Those of an index; *out NULL: nothing is known (a trace in memory, or too many of them). Borrowed. Errors: those of
 * reading the file.
 */
VS_MUST_USE enum vs_status rpl_event_classes_get(struct rpl_index *index,
                                                 const struct rpl_event_classes **out,
                                                 struct vs_error *err);

#endif
