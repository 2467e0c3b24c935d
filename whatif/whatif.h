/*
 * whatif/whatif.h - what would change if the net had been trained otherwise: runs it again, without data, with other
 * toggles.
 *
 * For:            `vramscope whatif`, the TUI's panel; notes of a run for the record command.
 * Must not know:  how the answer is shown.
 * Invariant:      the answer is a recording: event for event what recording again with these toggles would give.
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
 * The toggles of a recording that are not defaults, as they would be given again. VS_E_VALUE: the trace has a value
 * this program does not know. `out` is zeroed or released before; the caller releases it.
 */
VS_MUST_USE enum vs_status wif_toggles(const struct rpl_trace *base, struct vs_toggles *out,
                                       struct vs_error *err);

/*
 * Run the net of `base` on `meta`, with its toggles, seed and capacity and, over them, those of `set`. `out`, a trace
 * in memory, is cleared and then holds the run. A device that runs out of memory is an answer, not a failure: `out`
 * ends with an `oom` event.
 *
 * Of an imported trace, which carries no net, its requests are run through the allocator again: alloc-conf, target and
 * capacity can be changed (whatif/alloc.h). VS_E_UNSUPPORTED: another toggle was set. VS_E_VALUE: a toggle does not
 * fit this net. Others: as lang_run; the message speaks of the net's lines. `out` then holds nothing of use.
 */
VS_MUST_USE enum vs_status wif_run(struct rpl_trace *base, const struct vs_toggles *set,
                                   struct rpl_trace *out, struct vs_error *err);

/* More than any device has: also with a target, whose own capacity holds otherwise. */
#define WIF_NO_LIMIT (UINT64_C(1) << 62)

/* The same on a device of `capacity` bytes; 0: as much as is asked for, or what the target has. */
VS_MUST_USE enum vs_status wif_run_on(struct rpl_trace *base, const struct vs_toggles *set,
                                      uint64_t capacity, struct rpl_trace *out,
                                      struct vs_error *err);

/*
 * The same, telling `progress` (may be NULL) now and then how much of it is done; stopped where that says so:
 * VS_E_STOPPED.
 */
VS_MUST_USE enum vs_status wif_run_observed(struct rpl_trace *base, const struct vs_toggles *set,
                                            uint64_t capacity, rpl_progress_fn *progress,
                                            void *user, struct rpl_trace *out,
                                            struct vs_error *err);

/* The capacity that `base` was recorded with; 0: none. */
uint64_t wif_capacity(const struct rpl_trace *base);

/*
 * What the first run on `base` does before it begins, done now: the language's library is parsed, and kept with
 * `base`. Later calls do nothing. *did: there was something to do.
 */
VS_MUST_USE enum vs_status wif_prepare(struct rpl_trace *base, bool *did, struct vs_error *err);

/* The same, on a driver that puts the first `count` segments at these addresses; see struct lang_settings. */
VS_MUST_USE enum vs_status wif_run_placed(struct rpl_trace *base, const struct vs_toggles *set,
                                          const uint64_t *addresses, size_t count,
                                          struct rpl_trace *out, struct vs_error *err);

/*
 * Why this value of a toggle changes nothing in `out`, the run with it: a text up to its end or a newline, borrowed
 * from `out`. NULL: it does change something, or the run says nothing of it.
 */
const char *wif_unused(const struct rpl_trace *out, enum vs_toggle toggle, const char *value);

/*
 * What a run says of itself that its events do not: `note` is called with a key of the meta table and its value, for
 * each (docs/formats/trace-format.md lists them).
 */
typedef void wif_note_fn(void *user, const char *key, const char *value);
void wif_run_notes(const struct lang_result *result, wif_note_fn *note, void *user);

#endif
