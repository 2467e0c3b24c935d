/*
 * whatif/whatif.h - what-if: runs the recorded net again, without data, with other toggles.
 *
 * For:            `vramscope whatif`, the TUI's what-if panel; notes about a run for the record command.
 * Must not know:  how the result is shown.
 * Invariant:      the result is a recording: event for event what recording again with these toggles would give.
 */
#ifndef WIF_H
#define WIF_H

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/index/index.h"
#include "replay/trace/trace.h"

struct lang_result;

/*
 * The toggles of a recording that are not defaults. `out` is zeroed or released before; the caller releases it.
 * VS_E_VALUE: the trace has a value that this program does not know.
 */
VS_MUST_USE enum vs_status wif_toggles(const struct rpl_trace *base, struct vs_toggles *out,
                                       struct vs_error *err);

/*
 * Run the net of `base` on `meta`, with its toggles, seed and capacity, and those of `set` (NULL: none) over them.
 * `out`, a trace in memory, is cleared and then filled with the run. If the device runs out of memory, that is a
 * result, not an error: `out` ends with an `oom` event.
 *
 * Of an imported trace, which carries no net, the requests are run through the allocator again; alloc-conf, target and
 * capacity can be changed (whatif/alloc.h).
 *
 * VS_E_UNSUPPORTED: another toggle is set for an imported trace. VS_E_VALUE: a toggle does not fit this net. Other
 * errors: as lang_run, with lines of the net. After an error the contents of `out` are of no use.
 */
VS_MUST_USE enum vs_status wif_run(struct rpl_trace *base, const struct vs_toggles *set,
                                   struct rpl_trace *out, struct vs_error *err);

/* A capacity that no device has: unlimited, even for a target, whose own capacity applies otherwise. */
#define WIF_NO_LIMIT (UINT64_C(1) << 62)

/* The same on a device of `capacity` bytes; 0: unlimited, or the capacity of the target. */
VS_MUST_USE enum vs_status wif_run_on(struct rpl_trace *base, const struct vs_toggles *set,
                                      uint64_t capacity, struct rpl_trace *out,
                                      struct vs_error *err);

/* The same, reporting to `progress` (may be NULL) from time to time. VS_E_STOPPED: it returned false. */
VS_MUST_USE enum vs_status wif_run_observed(struct rpl_trace *base, const struct vs_toggles *set,
                                            uint64_t capacity, rpl_progress_fn *progress,
                                            void *user, struct rpl_trace *out,
                                            struct vs_error *err);

/* As wif_run; `print` is called with the text that the net prints, which the other functions discard. */
typedef void wif_print_fn(void *user, const char *text, size_t len);
VS_MUST_USE enum vs_status wif_run_printed(struct rpl_trace *base, const struct vs_toggles *set,
                                           wif_print_fn *print, void *user, struct rpl_trace *out,
                                           struct vs_error *err);

/* The capacity that `base` was recorded with, in bytes; 0: none. */
uint64_t wif_capacity(const struct rpl_trace *base);

/*
 * Do the preparation of the first run on `base` now: parse the prelude and keep it with `base`. Later calls do
 * nothing. *did: something was done.
 */
VS_MUST_USE enum vs_status wif_prepare(struct rpl_trace *base, bool *did, struct vs_error *err);

/* As wif_run, on a driver that puts the first `count` segments at these addresses; see struct lang_settings. */
VS_MUST_USE enum vs_status wif_run_placed(struct rpl_trace *base, const struct vs_toggles *set,
                                          const uint64_t *addresses, size_t count,
                                          struct rpl_trace *out, struct vs_error *err);

/*
 * A placement of checkpoints: what checkpoint=auto gives. peak: torch.cuda.max_memory_allocated() of a run with it, in
 * bytes; *_flops: of all its steps; regions: docs/formats/trace-format.md, key `placement`; owned.
 */
struct wif_placement {
    uint64_t peak;
    uint64_t recompute_flops;
    uint64_t total_flops;
    char *regions;
};
void wif_placement_release(struct wif_placement *placement);

/* The budgets of checkpoint=off and of checkpoint=auto, which has the least peak. */
#define WIF_BUDGET_ANY WIF_NO_LIMIT
#define WIF_BUDGET_LEAST 0

/*
 * The cheapest placement whose peak is at most `budget` bytes, for the net of `base` with its toggles and those of
 * `set` (NULL: none) over them. Runs the net about ten times when it is first called, and a few times later. progress
 * may be NULL.
 *
 * VS_E_VALUE: no placement has so small a peak; or a toggle does not fit this net or checkpoint=auto. VS_E_UNSUPPORTED:
 * the trace has no net. VS_E_STOPPED: progress returned false. The caller releases *out.
 */
VS_MUST_USE enum vs_status wif_place(struct rpl_trace *base, const struct vs_toggles *set,
                                     uint64_t budget, rpl_progress_fn *progress, void *user,
                                     struct wif_placement *out, struct vs_error *err);

/*
 * Why this value of a toggle has no effect in `out`, the run with it: a text that ends at its NUL or a newline,
 * borrowed from `out`. NULL: it has an effect, or the run does not report the reason.
 */
const char *wif_no_effect(const struct rpl_trace *out, enum vs_toggle toggle, const char *value);

/*
 * Call `note` with each key and value that the run adds to the meta table of a trace (docs/formats/trace-format.md
 * lists them).
 */
typedef void wif_note_fn(void *user, const char *key, const char *value);
void wif_run_notes(const struct lang_result *result, wif_note_fn *note, void *user);

#endif
