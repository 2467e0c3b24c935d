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
 * by_history  some of them through the history
 */
struct rpl_leak_owner {
    bool is_known;
    bool by_history;
    struct rpl_holder holder;
    uint64_t block;
    uint64_t bytes;
};

/*
 * The name that keeps most of those blocks alive right after event `at` that were allocated from first_seq to last_seq,
 * without parameters, buffers, optimizer state and workspaces. by_category (VS_CATEGORY_COUNT of them): the bytes of
 * all these blocks. Reads all events up to `at` once.
 */
VS_MUST_USE enum vs_status rpl_owner_of(struct rpl_index *index, uint64_t at, uint64_t first_seq,
                                        uint64_t last_seq, struct rpl_leak_owner *out,
                                        uint64_t *by_category, struct vs_error *err);

/*
 * The name that keeps most of the leaked bytes alive at leak->at; of equal ones the first by name of scope and name.
 * Reads all events up to there once where something leaks, otherwise none. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_leak_owner(struct rpl_index *index, const struct rpl_leak *leak,
                                          struct rpl_leak_owner *out, struct vs_error *err);

#endif
