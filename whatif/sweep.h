/*
 * whatif/sweep.h - which toggles help most: each alone and a few together, with the largest batch that then fits.
 *
 * For:            the what-if table, `vramscope whatif --each`.
 * Must not know:  drawing. Runs through whatif/whatif.h.
 * Invariant:      each row is a run of the net, not an estimate; so is each batch that is said to fit, and the next
 *                 one does not.
 */
#ifndef WIF_SWEEP_H
#define WIF_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/diff/compare.h"
#include "replay/trace/trace.h"
#include "whatif/cache.h"

/*
 * A row. label: "checkpoint=blocks inplace=on"; "" is the run as recorded.
 *
 * is_same       losses and gradients stay what they are, bit by bit
 * failed        it cannot be run; reason says why. Nothing else is filled then
 * fits          it runs to its end on the device that was asked about
 * run           what it gives there; where it does not fit, what it gives on a device without a limit
 * refused       parts of the toggle that were not applied, a line each; "" for none
 * no_effect          of a toggle alone: why it changes nothing in this net; NULL: it does, or nobody knows
 * batch         largest batch that fits; 0: not asked for, or none fits
 * is_batch_max  the search ended at WIF_SWEEP_BATCH_MAX: more may fit
 */
struct wif_sweep_row {
    char *label;
    struct vs_toggles set;
    bool is_same;
    bool failed;
    char *reason;
    bool fits;
    struct rpl_run run;
    char *refused;
    char *no_effect;
    uint64_t batch;
    bool is_batch_max;
};
#define WIF_SWEEP_BATCH_MAX 65536

struct wif_sweep {
    struct wif_sweep_row *items;
    size_t count;
    size_t cap;
};

/* Called before each run with a word on what is next; false stops. `known`: rows that are complete. */
typedef bool wif_sweep_fn(void *user, const struct wif_sweep *known, const char *next);
/* Called with each row that is complete, while `memory` is still its run on the device that was asked about. */
typedef void wif_sweep_done_fn(void *user, const struct wif_sweep_row *row,
                               struct rpl_trace *memory);

/*
 * set         what all rows have; NULL: nothing
 * capacity    bytes of the device; 0: as much as is asked for, or what a target has
 * batches     of which rows to look for the largest batch; needs a capacity and a net
 * answers     of the same run: what they know is not run again, and they keep what is run; NULL: nothing is kept
 * next, done  may be NULL
 */
enum wif_sweep_batches {
    WIF_SWEEP_BATCHES_NONE,
    WIF_SWEEP_BATCHES_RECORDED,
    WIF_SWEEP_BATCHES_ALL
};
struct wif_sweep_options {
    const struct vs_toggles *set;
    uint64_t capacity;
    enum wif_sweep_batches batches;
    struct wif_cache *cache;
    wif_sweep_fn *next;
    wif_sweep_done_fn *done;
    void *user;
};

/*
 * Fill the table for the net of `base`: as recorded, every value that base/toggle.def tries, alone, and then
 * combinations of what helped most without changing results.
 *
 * `out` is zeroed; release it also after a failure, when it holds the rows so far. VS_E_STOPPED: `next` said so.
 * Of an imported trace, which carries no net, only settings of the allocator are tried, and no batch.
 * VS_E_UNSUPPORTED: the trace carries no net and was not imported. VS_E_VALUE: not even the run as recorded can be
 * had. One run a row, a second one where it does not fit, some ten for a batch.
 */
VS_MUST_USE enum vs_status wif_sweep_fill(struct wif_sweep *out, struct rpl_trace *base,
                                          const struct wif_sweep_options *options,
                                          struct vs_error *err);
void wif_sweep_release(struct wif_sweep *sweep);

#endif
