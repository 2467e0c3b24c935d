/*
 * whatif/alloc.h - what an imported trace's requests would have come to under other settings of the allocator, or on
 * another device.
 *
 * For:            whatif/whatif.c; who asks whether a request fits.
 * Must not know:  the net language: such a trace carries no net.
 * Invariant:      with the recorded settings and device the answer is the trace, event for event.
 */
#ifndef WIF_ALLOC_H
#define WIF_ALLOC_H

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/index/index.h"
#include "replay/inspect/space.h"
#include "replay/trace/trace.h"

/*
 * As wif_run_observed of an imported trace. Of toggles only `alloc-conf` and `target` (its capacity) can be changed.
 * capacity: bytes that can be reserved; 0: the target's, else as far as the recording tells.
 *
 * VS_E_UNSUPPORTED: another toggle is set, or the history was imported in part; VS_E_VALUE: settings that PyTorch
 * refuses.
 */
VS_MUST_USE enum vs_status wif_alloc_run(struct rpl_trace *base, const struct vs_toggles *set,
                                         uint64_t capacity, rpl_progress_fn *progress, void *user,
                                         struct rpl_trace *out, struct vs_error *err);

/*
 * A request of `bytes` in the run of `trace`, with its allocator's settings. VS_E_VALUE: the trace has settings that
 * PyTorch refuses.
 */
VS_MUST_USE enum vs_status wif_request_of(const struct rpl_trace *trace, uint64_t bytes,
                                          struct rpl_request *out, struct vs_error *err);

#endif
