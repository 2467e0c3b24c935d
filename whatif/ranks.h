/*
 * whatif/ranks.h - the memory of every rank of a net that is sharded.
 *
 * For:            `vramscope whatif --ranks`.
 * Must not know:  how the result is shown.
 * Invariant:      the ranges cover all ranks once, in order, and ranges beside each other differ.
 */
#ifndef WIF_RANKS_H
#define WIF_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/* More ranks are not compared. */
#define WIF_RANKS_MAX 1000000

/*
 * Ranks first to last: the same allocations and frees of the same bytes in the same order, so the same figures. alike:
 * the first range with the same ones, by its index; where no range before has them, its own.
 */
struct wif_rank_range {
    uint64_t first;
    uint64_t last;
    size_t alike;
    struct rpl_peak peak;
    bool is_oom;
};

/* items: `count` ranges; world: how many ranks there are; runs: how many runs it took; highest: the first range with
 * the highest peak; are_stages: of a pipeline, each with modules of its own; cp_size: how many ranks share a
 * sequence, 1: none */
struct wif_ranks {
    struct wif_rank_range *items;
    size_t count;
    size_t cap;
    uint64_t world;
    size_t runs;
    size_t highest;
    bool are_stages;
    uint64_t cp_size;
};

/*
 * Run the net of `base` with `set` over its toggles, for as many ranks as differ. The rows of a parameter that a rank
 * has never grow with the rank, so where two ranks are alike, those between them are: about log2(world) runs for each
 * range. With cp this holds of those with the same rank in their groups; with replicate the first replica is run, and
 * with tp one of the ranks beside each other, which are alike. With shard=tp all are alike; with shard=pp, whose stages
 * have no order, all are run. capacity as of wif_run_on. `next`, if not NULL, is called before each run.
 *
 * VS_E_UNSUPPORTED: more than WIF_RANKS_MAX; the net is not sharded by shard=fsdp, tp or pp; ddp is followed for rank
 * 0 alone, and with the others the ranks differ without an order. Others: as wif_run. `out` is zeroed or released
 * before; the caller releases it, also after a failure.
 */
typedef void wif_ranks_next_fn(void *user, uint64_t rank);
VS_MUST_USE enum vs_status wif_ranks_fill(struct wif_ranks *out, struct rpl_trace *base,
                                          const struct vs_toggles *set, uint64_t capacity,
                                          wif_ranks_next_fn *next, void *user,
                                          struct vs_error *err);
void wif_ranks_release(struct wif_ranks *ranks);

#endif
