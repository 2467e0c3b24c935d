/*
 * cli/sweep.h - the table of what was tried, as text; and what to do about a run that ran out of memory.
 *
 * For:            `vramscope whatif --each`; the report after an out-of-memory.
 * Must not know:  how a row is computed; that is whatif/sweep.h.
 * Invariant:      every figure is that of a run of the net, on the device that is spoken of.
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "whatif/cost.h"
#include "whatif/sweep.h"

/* Sentences below a row are broken at this column. */
#define CLI_SWEEP_WIDTH 100

/*
 * sweep     borrowed, complete; costs: of its rows, or NULL if no times were recorded
 * whys      of its rows why the peak rose, each NULL where it is not said; NULL: of none
 * base      peak that changes are relative to
 * capacity  of the device; 0: none, and every row fits
 */
struct cli_sweep {
    const struct wif_sweep *sweep;
    const struct wif_cost *costs;
    char *const *whys;
    uint64_t base;
    uint64_t capacity;
};

/* Head and rows: those that fit, the lowest peak first, those that do not, those that change nothing. */
void cli_sweep_text(const struct cli_sweep *table, struct vs_text *out);

/*
 * What would have fitted, of a recording that ran out of memory: what the net needs without a limit and keeps too
 * long, the largest batch, and the toggles with which it runs on that device. Nothing is added where its runs cannot
 * be had again. `name` is what to call the trace. Runs the net some thirty times. Errors: those of reading the trace
 * and running it.
 */
VS_MUST_USE enum vs_status cli_advice_text(struct rpl_trace *trace, const char *name,
                                           struct vs_text *out, struct vs_error *err);
/*
 * The same for programs, as the value of a key that was written: null where the text says nothing. On failure it is
 * null, too.
 */
VS_MUST_USE enum vs_status cli_advice_json(struct rpl_trace *trace, struct vs_json *json,
                                           struct vs_error *err);

#endif
