/*
 * replay/index/event_classes.h - the event classes of a trace: each once, with its first and last event and the range
 * of the totals.
 *
 * For:            breakpoints: a condition that no event class can fulfil never hits, and none hits after the last
 *                 event of the classes that can.
 * Must not know:  conditions.
 * Invariant:      every event belongs to one of the classes; with more classes than the list can hold, it has none.
 *
 * A program has as many event classes as it has combinations of lines, ops and phases, however long it runs.
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
 * Events are of the same class if they agree in: kind; category (of alloc, free, category); phase right after the
 * event; location; size (of the allocator's events, otherwise 0); name and scope (of hold and drop: string ids).
 *
 * first_seq, last_seq               the first and the last event of the class
 * allocated_min … reserved_max      the range of the totals right after its events, in bytes
 * next                              while the list is built: the class of the event after its last one, + 1
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
    uint32_t next;
};

/*
 * items    `count` classes
 * by_hash  finds a class while the list is built
 * last     the class of the last event, + 1
 * is_full  there were more than RPL_EVENT_CLASSES_MAX; the list is then empty
 */
#define RPL_EVENT_CLASSES_MAX ((size_t)1 << 17)
struct rpl_event_classes {
    struct rpl_event_class *items;
    size_t count;
    size_t cap;
    struct vs_table by_hash;
    uint32_t last;
    bool is_full;
};

struct rpl_event_classes *rpl_event_classes_new(void) VS_MUST_USE;
void rpl_event_classes_free(struct rpl_event_classes *classes);
/* Add event `seq`; phase, allocated and reserved are those right after it. */
void rpl_event_classes_note(struct rpl_event_classes *classes, uint64_t seq,
                            const struct vs_event *event, uint8_t phase, uint64_t allocated,
                            uint64_t reserved);
void rpl_event_classes_pack(const struct rpl_event_classes *classes, struct rpl_pack *out);
/*
 * The classes that rpl_event_classes_pack wrote, of a trace of `count` events; the caller frees them. NULL: the bytes
 * are damaged or of another trace.
 */
struct rpl_event_classes *rpl_event_classes_unpack(struct rpl_unpack *in,
                                                   uint64_t count) VS_MUST_USE;

/*
 * The event classes of an index, borrowed; *out is NULL if there are none (a trace in memory, or too many classes).
 * Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_event_classes_get(struct rpl_index *index,
                                                 const struct rpl_event_classes **out,
                                                 struct vs_error *err);

#endif
