/*
 * whatif/price.h - what a change of toggles costs, as a class.
 *
 * For:            ranking of advice, the TUI's list of what helps.
 * Must not know:  how a run is made.
 * Invariant:      classes ascend: what is in a lower one is given up more readily.
 */
#ifndef WIF_PRICE_H
#define WIF_PRICE_H

#include <stdbool.h>

#include "base/toggle.h"
#include "replay/trace/trace.h"

/*
 * NONE      losses and gradients stay the same bit by bit, and nothing is run again
 * TIME      they stay the same; something is run again, or calls take longer
 * NUMBERS   the same is trained with other rounding or other statistics of batches
 * TRAINING  something else is trained
 */
enum wif_price {
    WIF_PRICE_NONE,
    WIF_PRICE_TIME,
    WIF_PRICE_NUMBERS,
    WIF_PRICE_TRAINING,
};

/*
 * The class of setting `set` over the toggles of `base`: that of its most expensive toggle whose value differs.
 * recomputes: a run with it does more than that of `base`.
 */
enum wif_price wif_price(const struct rpl_trace *base, const struct vs_toggles *set,
                         bool recomputes);

/* Whether the class of this toggle alone is above NONE, whatever a run with it shows. */
bool wif_price_is_known(const struct rpl_trace *base, enum vs_toggle toggle);

/*
 * The value of a toggle in the recording: that of its toggles, or of a program that can be run again what the script
 * itself says (`script_NAME` in `meta`), which may be a value that is not legal: "RMSprop". NULL: not known, because
 * nothing says what the script does. Borrowed.
 */
const char *wif_known(const struct rpl_trace *base, enum vs_toggle toggle);
/* The same; the toggle's default where it is not known. */
const char *wif_recorded(const struct rpl_trace *base, enum vs_toggle toggle);

/* Whether a run with this value of the toggle `amp` scales the loss dynamically, and so skips steps that overflow. */
bool wif_scales_loss(const char *amp);

/* Whether the recording trains: not `grad=eval` or `grad=no_grad`. */
bool wif_trains(const struct rpl_trace *base);

#endif
