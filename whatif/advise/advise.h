/*
 * whatif/advise/advise.h - what would help the run of a trace: changes that were run, ranked, and what the trace shows.
 *
 * For:            `vramscope advise`.
 * Must not know:  how advice is shown.
 * Invariant:      the peak of a change is that of a run with it, in bytes. What was not run is a finding, with a gain
 *                 that follows from the events of the trace.
 */
#ifndef WIF_ADVISE_H
#define WIF_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/index/index.h"
#include "replay/report/mistakes.h"
#include "replay/trace/trace.h"
#include "whatif/cost.h"
#include "whatif/edit.h"
#include "whatif/price.h"

/*
 * Figures of a run. peak, reserved: the highest allocated and reserved bytes, without a limit if it does not fit;
 * moved: bytes that ops read and write; fits: on the device in question.
 */
struct wif_figures {
    uint64_t peak;
    uint64_t reserved;
    uint64_t flops;
    uint64_t recompute_flops;
    uint64_t moved;
    struct wif_cost cost;
    bool fits;
};

/*
 * A change that lowers the peak, or with which a run fits on the device that does not fit as recorded.
 *
 * set         toggles over the recorded ones
 * edits       lines of the net; line: the first of them, 0: none
 * label       "checkpoint=blocks", "del x1 after line 20"
 * text        a sentence without its full stop: what it does
 * costs       what it costs besides arithmetic, likewise; "" for nothing
 * is_headline   the cheapest that was found to fit on the device, where the recorded run does not
 * batch       of the headline: the largest batch that fits with it; 0: not searched
 * by          of a dominated one: the label of the advice that costs no more and lowers the peak as much; else NULL
 */
struct wif_advice {
    struct vs_toggles set;
    struct wif_edits edits;
    uint32_t line;
    char *label;
    char *text;
    char *costs;
    enum wif_price price;
    struct wif_figures run;
    bool is_headline;
    uint64_t batch;
    bool is_batch_max;
    char *by;
};

enum wif_finding_kind {
    WIF_FINDING_LEAK,
    WIF_FINDING_KEPT,
    WIF_FINDING_UNREAD,
};

/*
 * What the trace shows.
 *
 * LEAK    what steps allocate and later steps still hold
 * KEPT    a block that is alive at the peak though nothing reads it again; of a recording without reads: one that an
 *         earlier step allocated
 * UNREAD  parameters that no step reads
 *
 * text   a sentence without its full stop: what it is, and who holds it
 * line   of the net or program, 0: unknown
 * bytes  alive at the peak, or leaked in all
 * gain   by how much the peak falls without it
 */
struct wif_finding {
    enum wif_finding_kind kind;
    char *text;
    uint32_t line;
    uint64_t bytes;
    uint64_t gain;
};

/*
 * items      changes: the headline first, then by price, the lowest peak first
 * dominated  changes that lower the peak and are not in `items`, because another one there costs as little in every
 *            respect and has as low a peak; in the same order
 * findings   by gain
 * base       the recorded run, to its end; of a recording that ran out of memory (is_oom) what it would have needed
 * capacity   of the device in question; 0: none
 * batch, is_batch_max   the largest batch that fits as recorded; 0: none does, or it was not searched
 * mistakes   likely mistakes of a recorded program; none of a net
 * cannot     why changes could not be run on this trace; NULL: they were
 */
struct wif_advise {
    struct wif_advice *items;
    size_t count, cap;
    struct wif_advice *dominated;
    size_t dominated_count;
    struct wif_finding *findings;
    size_t finding_count, finding_cap;
    struct rpl_mistakes mistakes;
    struct wif_figures base;
    bool is_oom;
    uint64_t capacity;
    uint64_t batch;
    bool is_batch_max;
    char *cannot;
};

/* Called before each run with what it tries; returning false stops. */
typedef bool wif_advise_fn(void *user, size_t tried, const char *next);

/*
 * capacity   of the device in bytes; 0: that of the recording or of its target, if any
 * may_rerun  the user has agreed that the recorded program runs again (whatif/rerun.h), on its own GPU: without a
 *            capacity
 * progress   called about twenty times a second while a program runs; false stops it. Needs may_rerun; NULL: none
 * next       may be NULL
 * user       passed to both
 */
struct wif_advise_options {
    uint64_t capacity;
    bool may_rerun;
    rpl_progress_fn *progress;
    wif_advise_fn *next;
    void *user;
};

/*
 * Fill *out (zeroed or released) for the run of `base`. Takes some fifty runs of the net, and with a capacity up to
 * twice as many; with may_rerun some thirty runs of the program. The caller releases it, also after a failure.
 *
 * VS_E_STOPPED: `next` or `progress` returned false. Others: the recorded run cannot be run again, or the trace
 * cannot be read.
 */
VS_MUST_USE enum vs_status wif_advise_fill(struct wif_advise *out, struct rpl_trace *base,
                                           const struct wif_advise_options *options,
                                           struct vs_error *err);
void wif_advise_release(struct wif_advise *advise);

#endif
