/*
 * replay/inspect/leak_owner.h - which name keeps alive what training steps leak.
 *
 * For:            the report, the difference of two traces.
 * Must not know:  how the result is shown.
 * Invariant:      a function of the trace.
 *
 * Autograd saves most of what leaks, and its nodes say only which op needs it. The owner is the name whose tensor has
 * these nodes in its history: `epoch_loss` after `epoch_loss += loss`. The history is rebuilt from the events: a node's
 * inputs are the nodes of what its op reads; a result is what the op allocates or, where it allocates nothing, what it
 * reads first (in-place ops and views). So for a view the history is that of its storage.
 */
#ifndef RPL_LEAK_OWNER_H
#define RPL_LEAK_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/inspect/alive.h"

/*
 * is_known   false: nothing leaks, or no name reaches what does
 * holder     the name; block: what it holds. All items of a list or dict are one owner, and this is the latest of them
 * bytes      leaked bytes that it keeps alive, by itself or through autograd's history
 */
struct rpl_leak_owner {
    bool is_known;
    struct rpl_holder holder;
    uint64_t block;
    uint64_t bytes;
};

/*
 * The name that keeps most of the leaked bytes alive at leak->at; of equal ones the first by name of scope and name.
 * Reads all events up to there once where something leaks, otherwise none. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_leak_owner(struct rpl_index *index, const struct rpl_leak *leak,
                                          struct rpl_leak_owner *out, struct vs_error *err);

#endif
