/*
 * replay/tries.h - which toggles help most: each alone and a few together, with the largest batch that then fits.
 *
 * For:            the what-if table, `vramscope whatif --each`.
 * Must not know:  drawing. Runs through replay/whatif.h.
 * Invariant:      each row is a run of the net, not an estimate; so is each batch that is said to fit, and the next one does not.
 */
#ifndef RPL_TRIES_H
#define RPL_TRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/compare.h"
#include "replay/trace.h"

/*
 * A row. label: "checkpoint=blocks inplace=on"; "" is the run as recorded.
 *
 * is_same       losses and gradients stay what they are, bit by bit
 * failed        it cannot be run; reason says why. Nothing else is filled then
 * run           what it gives
 * refused       parts of the toggle that were not applied, a line each; "" for none
 * batch         largest batch that fits into the capacity; 0: not asked for, or none fits
 * is_batch_max  the search ended at RPL_TRY_BATCH_MAX: more may fit
 */
struct rpl_try {
    char *label;
    struct vs_toggles set;
    bool is_same;
    bool failed;
    char *reason;
    struct rpl_run run;
    char *refused;
    uint64_t batch;
    bool is_batch_max;
};
#define RPL_TRY_BATCH_MAX 65536

struct rpl_tries {
    struct rpl_try *items;
    size_t count;
    size_t cap;
};

/* The n-th setting of the allocator that is tried where there is no net; NULL: there are no more. */
const char *rpl_tries_conf(size_t n);

/* Called before each run with a word on what is next; false stops. `known`: rows that are complete. */
typedef bool rpl_tries_fn(void *user, const struct rpl_tries *known, const char *next);

/*
 * Fill the table for the net of `base`: as recorded, every value that base/toggle.def tries, alone, and then combinations of what helped
 * most without changing results. On top of `set` (may be NULL). `capacity` in bytes: find the largest batch, too; 0: do not. The rows
 * themselves are runs on a device without a limit.
 *
 * `out` is zeroed; release it also after a failure, when it holds the rows so far. VS_E_STOPPED: `next` said so (may be NULL).
 * Of an imported trace, which carries no net, only settings of the allocator are tried, and no batch.
 * VS_E_UNSUPPORTED: the trace carries no net and was not imported.
 */
VS_MUST_USE enum vs_status rpl_tries_fill(struct rpl_tries *out, struct rpl_trace *base,
                                          const struct vs_toggles *set, uint64_t capacity,
                                          rpl_tries_fn *next, void *user, struct vs_error *err);
void rpl_tries_release(struct rpl_tries *tries);

/*
 * The largest batch with which the net of `base`, with the toggles `set`, runs on a device of `capacity` bytes: *batch is 0 where not even one
 * sample fits. Found by halving between one that fits and one that does not, so some ten runs on `meta`.
 */
VS_MUST_USE enum vs_status rpl_tries_batch(struct rpl_trace *base, const struct vs_toggles *set,
                                           uint64_t capacity, uint64_t *batch, bool *is_max,
                                           struct vs_error *err);

#endif
