/*
 * store/held/held.h - who held the blocks of a program at single events, as found when the program was run again to
 * them.
 *
 * For:            replay/trace/found.c reads it, whatif/holders.c writes it.
 * Must not know:  how holders are found.
 * Invariant:      the rows of an event are written in one transaction: there are all of them or none.
 *
 * The tables are made with the first row, in a trace that is complete. Names are strings of the trace, lines are its
 * places, so queries join them as those of `hold` events.
 */
#ifndef STO_HELD_H
#define STO_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/reader.h"

/*
 * A holder of a block.
 *
 * kind         enum vs_holder
 * name, scope  as base/holder.def words them; "" for none
 * func, line   where the program was: the function as places name it, and the line in its file; "" and 0: not known
 * node         number of autograd's node + 1; 0: none
 */
struct sto_held {
    uint64_t block;
    uint32_t kind;
    const char *name;
    const char *scope;
    const char *func;
    uint32_t line;
    uint64_t node;
};

/*
 * Store the holders at event `seq` of the trace at `path`, instead of those that are stored. phase: enum vs_phase of
 * their places. Waits for locks. VS_E_IO: the file cannot be written.
 */
VS_MUST_USE enum vs_status sto_held_set(const char *path, uint64_t seq, uint32_t phase,
                                        const struct sto_held *rows, size_t count,
                                        struct vs_error *err);

/* Called for each row; ids of strings and of a place, 0 for none. */
typedef void sto_held_fn(void *user, uint64_t block, uint32_t kind, uint32_t name, uint32_t scope,
                         uint32_t place, uint64_t node);

/* Call `each` for the holders at event `seq` that are in the file now, in the order in which they were set. */
VS_MUST_USE enum vs_status sto_held_each(struct sto_reader *r, uint64_t seq, sto_held_fn *each,
                                         void *user, struct vs_error *err);
/* Call `each` with every event that has holders, in order. */
typedef void sto_held_seq_fn(void *user, uint64_t seq);
VS_MUST_USE enum vs_status sto_held_events(struct sto_reader *r, sto_held_seq_fn *each, void *user,
                                           struct vs_error *err);

#endif
