/*
 * whatif/rerun.h - runs the program of a trace again, with other toggles, and records it.
 *
 * For:            what-ifs of a program.
 * Must not know:  how the user was asked; how a program is recorded: this executable's command `record` does that.
 * Invariant:      never called for a trace whose program the user has not agreed to run.
 */
#ifndef WIF_RERUN_H
#define WIF_RERUN_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "replay/index/index.h"
#include "replay/trace/trace.h"

/*
 * Whether the what-if of `set` needs the program: its trace says which it is, and some toggle is more than the
 * allocator's settings and capacity, which whatif/alloc.h changes without it.
 */
bool wif_rerun_is_needed(const struct rpl_trace *base, const struct vs_toggles *set);

/* VS_E_UNSUPPORTED: a toggle of `set` cannot be applied to a program; the text says why. */
VS_MUST_USE enum vs_status wif_rerun_check(const struct vs_toggles *set, struct vs_error *err);

/*
 * Run the program of `base` again with its toggles and those of `set` (NULL: none) over them, and record it into the
 * file `path`, which is replaced. What it prints goes into `path`.log, which is removed if it ends well. `progress`
 * (may be NULL) is called with zeros about twenty times a second; when it returns false the program is ended.
 *
 * Running out of memory is a result. VS_E_VALUE: the program failed; the text has the line that says why. VS_E_STOPPED:
 * progress returned false. VS_E_IO: it could not be started. VS_E_UNSUPPORTED: as wif_rerun_check, or the trace does
 * not say which program it is of.
 */
VS_MUST_USE enum vs_status wif_rerun(const struct rpl_trace *base, const struct vs_toggles *set,
                                     const char *path, rpl_progress_fn *progress, void *user,
                                     struct vs_error *err);

/*
 * The same without a file that stays: `out`, a trace in memory, is cleared and filled with the run, without call
 * stacks. Further errors: those of rpl_trace_open, and VS_E_IO: no temporary folder can be made.
 */
VS_MUST_USE enum vs_status wif_rerun_load(const struct rpl_trace *base,
                                          const struct vs_toggles *set, rpl_progress_fn *progress,
                                          void *user, struct rpl_trace *out, struct vs_error *err);

/*
 * The same in the background, while the caller does something else.
 *
 * wif_rerun_begin      start it; errors: those of wif_rerun before the program runs
 * wif_rerun_has_ended  returns at once
 * wif_rerun_take       wait for its end, with progress as above, and fill `out`; VS_E_STOPPED: it still runs
 * wif_rerun_job_free   end it if it still runs, and remove what it has written; NULL is none
 */
struct wif_rerun_job;
VS_MUST_USE enum vs_status wif_rerun_begin(const struct rpl_trace *base,
                                           const struct vs_toggles *set, struct wif_rerun_job **out,
                                           struct vs_error *err);
VS_MUST_USE bool wif_rerun_has_ended(struct wif_rerun_job *job);
VS_MUST_USE enum vs_status wif_rerun_take(struct wif_rerun_job *job, rpl_progress_fn *progress,
                                          void *user, struct rpl_trace *out, struct vs_error *err);
void wif_rerun_job_free(struct wif_rerun_job *job);

/*
 * Where the program is to stop is passed to `record` in this variable of its environment, as
 * tracer/python/vramscope_stop.py reads it: "KIND ADDRESS NUMBER RANK FILE".
 */
#define WIF_STOP_VARIABLE "VRAMSCOPE_STOP"

/*
 * Run the program of `base` again, as it was recorded, until it has written `file`, which is absolute and in `folder`;
 * then it is ended. stop: as above. Nothing is recorded. VS_E_VALUE: the program ended without writing it, or failed.
 * Other errors: as wif_rerun.
 */
VS_MUST_USE enum vs_status wif_rerun_until(const struct rpl_trace *base, const char *stop,
                                           const char *folder, const char *file,
                                           rpl_progress_fn *progress, void *user,
                                           struct vs_error *err);
/*
 * The same at this process's terminal, to its end: what it prints is seen, what is typed is its input. ^C does not end
 * this process meanwhile. VS_E_STOPPED: progress returned false, and the program has ended, by force after 5 s; or ^C
 * ended it before it came to the event.
 */
VS_MUST_USE enum vs_status wif_rerun_here(const struct rpl_trace *base, const char *stop,
                                          const char *folder, rpl_progress_fn *progress, void *user,
                                          struct vs_error *err);

/* In a temporary folder (base/temporary/folder.h): the trace of a run; what wif_rerun_until waits for. */
#define WIF_RERUN_TRACE "whatif.db"
#define WIF_RERUN_FOUND "found"

#endif
