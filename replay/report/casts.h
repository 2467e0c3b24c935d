/*
 * replay/report/casts.h - the copies that autocast makes of tensors in another dtype.
 *
 * For:            replay/report/summary.c, the report.
 * Must not know:  which ops need them.
 * Invariant:      each copy counts once, when it is made.
 */
#ifndef RPL_CASTS_H
#define RPL_CASTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/event.h"
#include "base/json.h"
#include "replay/state/live.h"

/*
 * From one dtype to another: how many copies, their requested bytes, and how many of them autocast put into its cache.
 */
struct rpl_cast {
    uint64_t count;
    uint64_t bytes;
    uint64_t cached;
};

/* Zero-initialised: none. by: [from][to]; last, last_from, last_to: block and dtypes of the last copy. */
struct rpl_casts {
    struct rpl_cast by[VS_DTYPE_COUNT][VS_DTYPE_COUNT];
    uint64_t last;
    uint8_t last_from, last_to;
};

/* Note a `cast` or `hold`; others are ignored. live: right after the event. O(1). */
void rpl_casts_note(struct rpl_casts *casts, const struct rpl_live *live,
                    const struct vs_event *event);

/* The JSON member "casts"; null where is_known is false. */
void rpl_casts_json(const struct rpl_casts *casts, bool is_known, struct vs_json *json);

#endif
