/*
 * whatif/batch.h - the search for the largest batch that fits on a device.
 *
 * For:            the what-if sweep, advice.
 * Must not know:  how a run is made.
 * Invariant:      the batch that is found was tried and fits; the next larger one was tried and does not, unless the
 *                 search ended at WIF_BATCH_MAX.
 */
#ifndef WIF_BATCH_H
#define WIF_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#define WIF_BATCH_MAX 65536

/* Whether this batch fits. One that cannot be run at all does not. */
typedef bool wif_batch_fn(void *user, uint64_t batch);

/*
 * The largest batch that fits, a multiple of `unit`; 0: none does. `now` is a batch of which `now_fits` says whether it
 * fits. From there the batch is doubled or halved until the limit is between two of them, and then bisected: about ten
 * calls of `fits`. *is_max: WIF_BATCH_MAX fits, so that more may. 0 where `now` is less than one unit or above
 * WIF_BATCH_MAX.
 */
uint64_t wif_batch_largest(uint64_t now, uint64_t unit, bool now_fits, wif_batch_fn *fits,
                           void *user, bool *is_max);

#endif
