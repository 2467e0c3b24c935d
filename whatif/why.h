/*
 * whatif/why.h - why a what-if has no effect, less than expected, or a higher peak than the run it is compared
 * with.
 *
 * For:            the what-if command.
 * Must not know:  how the answer is shown.
 * Invariant:      a reason comes from the events of the run, never from what the toggle is known for.
 */
#ifndef WIF_WHY_H
#define WIF_WHY_H

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "base/toggle.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/*
 * Append the reason, a sentence without its full stop; nothing where no reason was found.
 *
 * before   figures of the run that is compared with
 * run      the what-if, in memory; after: its figures
 * set      what was changed
 *
 * The peak did not change: what the run says of a toggle without effect (wif_no_effect); or where the peak is, and what
 * changed elsewhere.
 * It rose: what an earlier step made that is still alive there, and the name that keeps it; or the category that grew.
 * It fell, with checkpoint=sqrt or segments=K: the one Sequential that is cut, where most of what is saved at the peak
 * is outside of it.
 *
 * Where it rose or fell so, builds the index of `run` and reads its events once. Errors: those of reading it.
 */
VS_MUST_USE enum vs_status wif_why(const struct rpl_summary *before, struct rpl_trace *run,
                                   const struct rpl_summary *after, const struct vs_toggles *set,
                                   struct vs_text *out, struct vs_error *err);

#endif
