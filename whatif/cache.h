/*
 * whatif/cache.h - the what-if cache: keeps the results of what-ifs, so that none is run twice.
 *
 * For:            the TUI's what-if panel, its speculative runs, and the what-if sweep.
 * Must not know:  drawing, which what-ifs are worth running.
 * Invariant:      a cached result is what running the what-if again would give, event for event.
 *
 * The key of an entry is the toggles set over the recorded ones, and a capacity. A result consists of figures and of
 * the complete run: trace, index, cursor. The figures of the last WIF_FIGURES_MAX what-ifs are kept, and complete runs
 * up to a number of bytes; the least recently used are freed first.
 */
#ifndef WIF_CACHE_H
#define WIF_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/diff/compare.h"
#include "replay/index/cursor.h"
#include "replay/index/index.h"
#include "replay/report/uncertainty.h"
#include "replay/trace/trace.h"
#include "whatif/cost.h"

#define WIF_FIGURES_MAX 1024

struct wif_cache;
struct wif_rerun_job; /* whatif/rerun.h */

/*
 * number     from 1, different for each run: whatever a caller derived from a complete run is valid while this is the
 *            same
 * status     VS_OK, or why the what-if failed, explained in `failure`; the other fields are then not set
 * run        its figures
 * refused    parts of the toggles that were not applied, a line each; "" for none
 * uncertainty  how certain its peak is
 * cost       what its recomputation takes on the GPU
 * moved      bytes that its ops read and write, in all (replay/report/traffic.h)
 * trace, index, cursor   the complete run in memory; NULL: only the figures are kept. Callers may move the cursor
 */
struct wif_result {
    uint64_t number;
    enum vs_status status;
    char *failure;
    struct rpl_run run;
    char *refused;
    struct rpl_uncertainty uncertainty;
    struct wif_cost cost;
    uint64_t moved;
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
};

/*
 * An empty cache for what-ifs of `base`, which is borrowed. bytes_max: limit for the complete runs, in bytes. The
 * caller frees it before `base`.
 */
struct wif_cache *wif_cache_new(struct rpl_trace *base, uint64_t bytes_max) VS_MUST_USE;
void wif_cache_free(struct wif_cache *cache);
/*
 * Allow runs of the recorded program, where a what-if needs it (whatif/rerun.h). Before that they fail as
 * VS_E_UNSUPPORTED, and that is not cached.
 */
void wif_cache_allow_rerun(struct wif_cache *cache);
/*
 * The next wif_cache_get that has to run something takes the result of `job` instead, whose toggles are those of that
 * call. It is borrowed until then. NULL: what was offered and not taken is not there any more.
 */
void wif_cache_offer(struct wif_cache *cache, struct wif_rerun_job *job);
/*
 * Invalidate all results, because `base` has grown. The result that wif_cache_get returned last stays valid until its
 * next call.
 */
void wif_cache_forget(struct wif_cache *cache);

/* Host memory of the complete runs in bytes. For tests and benchmarks. */
uint64_t wif_cache_bytes(const struct wif_cache *cache);
/* The part of the result that wif_cache_get returned last: it is not freed for the sake of others. */
uint64_t wif_cache_shown_bytes(const struct wif_cache *cache);
/* Number of runs so far, including failed and stopped ones. For tests and benchmarks. */
uint64_t wif_cache_runs(const struct wif_cache *cache);

/*
 * The complete result for `set` (NULL: no changes) on a device of `capacity` bytes (0: without a limit), run unless it
 * is cached. It is kept, whatever its size, until the next call of this function; all others may be freed by any run.
 * `progress` may be NULL.
 *
 * Errors: those of wif_run. They are cached as well, unless the run was stopped or a file could not be read. *out is
 * borrowed; untouched on failure.
 */
VS_MUST_USE enum vs_status wif_cache_get(struct wif_cache *cache, const struct vs_toggles *set,
                                         uint64_t capacity, rpl_progress_fn *progress, void *user,
                                         const struct wif_result **out, struct vs_error *err);
/*
 * Run a what-if speculatively: as wif_cache_get, but nothing is returned, and the result that wif_cache_get returned
 * last stays valid. Only its figures are kept if `whole` is false, or bytes_max is 0.
 *
 * VS_E_OVERFLOW: the run was stopped because it needs so much of bytes_max that few others would fit; this is not
 * cached.
 */
VS_MUST_USE enum vs_status wif_cache_make(struct wif_cache *cache, const struct vs_toggles *set,
                                          uint64_t capacity, bool whole, rpl_progress_fn *progress,
                                          void *user, struct vs_error *err);
/* The same for the figures alone: *out, borrowed until the next call, may have no complete run. */
VS_MUST_USE enum vs_status wif_cache_figures(struct wif_cache *cache, const struct vs_toggles *set,
                                             uint64_t capacity, const struct wif_result **out,
                                             struct vs_error *err);

/*
 * Do about a millisecond of compressing the complete runs that are cached and not shown; for use while the event loop
 * is idle. Compressed runs give the same results; reading events of one takes a part of a millisecond longer. Returns
 * false when nothing was left to do.
 */
VS_MUST_USE bool wif_cache_shrink(struct wif_cache *cache);

/*
 * The cached result, without running anything; NULL: there is none. Borrowed until the next call. A complete run that
 * is found becomes the most recently used.
 *
 * bytes  may be NULL; set to the memory of the complete run in bytes, 0 if it is not kept
 */
const struct wif_result *wif_cache_find(struct wif_cache *cache, const struct vs_toggles *set,
                                        uint64_t capacity, uint64_t *bytes);

#endif
