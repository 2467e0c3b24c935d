/*
 * whatif/cache.h - what-ifs that were run, kept: what was answered once is not run again.
 *
 * For:            the TUI's what-if, what it makes ahead of the next key, and the table of what helps.
 * Must not know:  drawing, which questions are worth asking.
 * Invariant:      what is kept is what running it again would give, event for event.
 *
 * A question is toggles over the recorded ones, and a capacity. Of an answer there are its figures, and the whole run:
 * trace, index, cursor. Figures are kept of the last WIF_FIGURES_MAX questions, whole runs as long as they are within
 * a number of bytes; those asked for longest ago go first.
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

/*
 * number   from 1, another one for each run that was made: what was found out about a whole run is good while this is
 *          the same
 * status   VS_OK, or why there is none, in the words of `failure`; nothing else is filled then
 * run      its figures; refused: parts of the toggles that were not applied, a line each, "" for none
 * bound    how sure its peak is
 * cost     what its second runs take on the GPU
 * trace, index, cursor   the whole run, in memory; NULL: only the figures were kept. Whoever looks at it moves the
 *                        cursor
 */
struct wif_result {
    uint64_t number;
    enum vs_status status;
    char *failure;
    struct rpl_run run;
    char *refused;
    struct rpl_uncertainty uncertainty;
    struct wif_cost cost;
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
};

/* Of the run in `base`, which is borrowed. bytes_max: of the whole runs. The caller frees it before `base`. */
struct wif_cache *wif_cache_new(struct rpl_trace *base, uint64_t bytes_max) VS_MUST_USE;
void wif_cache_free(struct wif_cache *cache);
/*
 * `base` has grown, so nothing that is known answers a question any more. The answer that wif_cache_get gave last
 * stays good until the next.
 */
void wif_cache_forget(struct wif_cache *cache);

/* Host memory of the whole runs. For tests and benchmarks. */
uint64_t wif_cache_bytes(const struct wif_cache *cache);
/* Runs made so far, those that failed or were stopped included. For tests and benchmarks. */
uint64_t wif_cache_runs(const struct wif_cache *cache);

/*
 * The answer to `set` (NULL: nothing) on a device of `capacity` bytes (0: without a limit), whole. It is kept, however
 * large, until another one is asked for with this function; all others may go when something is run. Run where it is
 * not known, telling `progress` (may be NULL) how far it is.
 *
 * Errors: those of wif_run, which are answers and kept, too, unless it was stopped or a file could not be read. *out
 * is borrowed; untouched on failure.
 */
VS_MUST_USE enum vs_status wif_cache_get(struct wif_cache *cache, const struct vs_toggles *set,
                                         uint64_t capacity, rpl_progress_fn *progress, void *user,
                                         const struct wif_result **out, struct vs_error *err);
/*
 * The same for later: nothing is given, and what wif_cache_get gave last stays. 
 * VS_E_OVERFLOW: the run became so large that few would fit beside it, and was given up; that is not remembered. Where
 * there is no room at all, bytes_max 0, only the figures are kept.
 */
VS_MUST_USE enum vs_status wif_cache_make(struct wif_cache *cache, const struct vs_toggles *set,
                                          uint64_t capacity, rpl_progress_fn *progress, void *user,
                                          struct vs_error *err);
/* The same for its figures alone: *out, borrowed until the next call, need not be whole. */
VS_MUST_USE enum vs_status wif_cache_figures(struct wif_cache *cache, const struct vs_toggles *set,
                                             uint64_t capacity, const struct wif_result **out,
                                             struct vs_error *err);

/*
 * While nobody waits: make the whole runs that are kept and not shown smaller, a millisecond of work a call. They
 * answer as before, a part of a millisecond later where events are asked for. False: nothing was left to do.
 */
VS_MUST_USE bool wif_cache_shrink(struct wif_cache *cache);

/*
 * What is known, without running anything; NULL: nothing. Borrowed until the next call; a whole run that is found here
 * goes last of those that have to go. *bytes is its memory, 0 where it is not whole; may be NULL.
 */
const struct wif_result *wif_cache_find(struct wif_cache *cache, const struct vs_toggles *set,
                                        uint64_t capacity, uint64_t *bytes);

#endif
