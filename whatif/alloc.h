/*
 * whatif/alloc.h - what-ifs of imported traces: runs their requests through the allocator again, with other settings
 * or on another device.
 *
 * For:            whatif/whatif.c; the question whether a request fits.
 * Must not know:  the net language: such a trace carries no net.
 * Invariant:      with the recorded settings and device the result is the trace, event for event.
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
 * As wif_run_observed, for an imported trace. Only the toggles `alloc-conf` and `target` (its capacity) can be
 * changed.
 *
 * capacity  bytes that can be reserved; 0: the target's, otherwise the recorded one if known
 *
 * VS_E_UNSUPPORTED: another toggle is set, or the history was imported in part. VS_E_VALUE: settings that PyTorch
 * refuses.
 */
VS_MUST_USE enum vs_status wif_alloc_run(struct rpl_trace *base, const struct vs_toggles *set,
                                         uint64_t capacity, rpl_progress_fn *progress, void *user,
                                         struct rpl_trace *out, struct vs_error *err);

/*
 * Fill *out with a request of `bytes` in the run of `trace`, with the settings of its allocator. VS_E_VALUE: the trace
 * has settings that PyTorch refuses.
 */
VS_MUST_USE enum vs_status wif_request_of(const struct rpl_trace *trace, uint64_t bytes,
                                          struct rpl_request *out, struct vs_error *err);

/*
 * Key number `i` of the toggle `alloc-conf`, from 0: its name, what its value may be and what it does, in words. NULL:
 * there are no more.
 */
const char *wif_conf_key(unsigned i, const char **legal, const char **text);

#endif
