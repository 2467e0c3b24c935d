/*
 * whatif/sweep.h - the what-if sweep: the effect of each toggle alone and of a few combinations, with the largest
 * batch that then fits.
 *
 * For:            the what-if table of the TUI, `vramscope whatif --each`.
 * Must not know:  drawing. Runs what-ifs through whatif/whatif.h.
 * Invariant:      each row is a run of the net or the program, not an estimate; so is each batch that is reported to
 *                 fit, and the next larger one does not.
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
#include "whatif/price.h"

/*
 * A row. label: "checkpoint=blocks inplace=on"; "" is the run as recorded.
 *
 * is_same       losses and gradients are bitwise the same as recorded
 * price         what it costs, as a class (whatif/price.h)
 * failed        it cannot be run; `reason` says why, and nothing else is set
 * fits          it runs to its end on the device in question
 * run           its figures there; if it does not fit, those on a device without a limit, and of a program until memory
 *               ran out
 * is_cut        the run is of a program and ended out of memory: its figures are those until then
 * refused       parts of the toggle that were not applied, a line each; "" for none
 * no_effect     of a toggle alone: why it changes nothing in this net; NULL: it changes something, or the reason is
 *               unknown
 * batch         largest batch that fits; 0: not searched, or none fits
 * is_batch_max  the search ended at WIF_BATCH_MAX: more may fit
 */
struct wif_sweep_row {
    char *label;
    struct vs_toggles set;
    bool is_same;
    enum wif_price price;
    bool failed;
    char *reason;
    bool fits;
    bool is_cut;
    struct rpl_run run;
    char *refused;
    char *no_effect;
    uint64_t batch;
    bool is_batch_max;
};

struct wif_sweep {
    struct wif_sweep_row *items;
    size_t count;
    size_t cap;
};

/* Called before each run with a description of it; returning false stops. `known`: the complete rows. */
typedef bool wif_sweep_fn(void *user, const struct wif_sweep *known, const char *next);
/* Called with each complete row, while `memory` still contains its run on the device in question. */
typedef void wif_sweep_done_fn(void *user, const struct wif_sweep_row *row,
                               struct rpl_trace *memory);

/* For which rows to search the largest batch: none, the run as recorded, or all. */
enum wif_sweep_batches {
    WIF_SWEEP_BATCHES_NONE,
    WIF_SWEEP_BATCHES_RECORDED,
    WIF_SWEEP_BATCHES_ALL
};
/*
 * set         toggles of all rows; NULL: none
 * capacity    of the device, in bytes; 0: unlimited, or that of a target
 * batches     for which rows to search the largest batch; needs a capacity and a net
 * must_train  leave `grad` alone in a run that trains
 * may_rerun   the user has agreed that the recorded program runs again (whatif/rerun.h)
 * cache       of the same trace: its results are used, and new ones are added; NULL: no cache
 * progress    called about twenty times a second while a program runs; false stops it. Needs may_rerun; NULL: none
 * next, done  may be NULL
 * user        passed to all of them
 */
struct wif_sweep_options {
    const struct vs_toggles *set;
    uint64_t capacity;
    enum wif_sweep_batches batches;
    bool must_train;
    bool may_rerun;
    struct wif_cache *cache;
    rpl_progress_fn *progress;
    wif_sweep_fn *next;
    wif_sweep_done_fn *done;
    void *user;
};

/*
 * Fill the table for the net of `base`: as recorded, each value that base/toggle.def lists for sweeps alone, and then
 * combinations of those that reduced the peak most without changing results. Of an imported trace, which carries no
 * net, settings of the allocator are changed, and with may_rerun the toggles that can be applied to a program; no batch
 * is searched. Takes one run per row, a second one of a net if it does not fit, and about ten for a batch.
 *
 * `out` is zeroed; release it also after a failure, when it has the rows so far. VS_E_STOPPED: `next` or `progress`
 * returned false.
 * VS_E_UNSUPPORTED: the trace carries no net and was not imported. VS_E_VALUE: not even the recorded run can be run
 * again.
 */
VS_MUST_USE enum vs_status wif_sweep_fill(struct wif_sweep *out, struct rpl_trace *base,
                                          const struct wif_sweep_options *options,
                                          struct vs_error *err);
void wif_sweep_release(struct wif_sweep *sweep);

/*
 * Value `n` of `alloc-conf` that is tried where there is no net, and the one in force is `now`; NULL: there are no
 * more. Static text.
 */
const char *wif_sweep_conf(const char *now, size_t n);
/*
 * Value `n` of `toggle` that is tried of a program, with `set` (NULL: nothing) over what was recorded; false: there are
 * no more. Of what the script itself says nothing is tried again, where that is known. `alloc-conf` has wif_sweep_conf.
 */
bool wif_sweep_program_value(const struct rpl_trace *base, const struct vs_toggles *set,
                             enum vs_toggle toggle, size_t n, char value[VS_TOGGLE_VALUE_MAX]);

#endif
