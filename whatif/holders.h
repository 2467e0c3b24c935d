/*
 * whatif/holders.h - runs the program of a trace again up to an event, over a simulated GPU, where a run is
 * deterministic: to find who holds each block there, or to open a prompt of Python there.
 *
 * For:            `vramscope why`, `vramscope python`, the TUI.
 * Must not know:  how the user was asked.
 * Invariant:      as whatif/rerun.h: never called for a trace whose program the user has not agreed to run. Holders
 *                 are stored only if the program has the recorded blocks at that event.
 */
#ifndef WIF_HOLDERS_H
#define WIF_HOLDERS_H

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

/*
 * Whether the program can be run again to single events. VS_E_UNSUPPORTED: it cannot, and why: the trace is of no
 * program, of a real GPU, of several devices, or begins after the program's first events.
 */
VS_MUST_USE enum vs_status wif_holders_check(const struct rpl_trace *trace, struct vs_error *err);

/*
 * Run the program to event `seq`, 1 … the number of events, find the holders of all blocks that are alive right after
 * it, store them in the trace's file, and refresh the trace: a cursor that goes there has them. progress: as of
 * wif_rerun. A block that no object of Python holds and autograd did not save has the holder VS_HOLD_CPP.
 *
 * VS_E_VALUE: the program failed, ended before, or does other things than when it was recorded. VS_E_STOPPED: progress
 * returned false. Other errors: those of wif_holders_check, of reading the trace and writing its file.
 */
VS_MUST_USE enum vs_status wif_holders_find(struct rpl_index *index, uint64_t seq,
                                            rpl_progress_fn *progress, void *user,
                                            struct vs_error *err);

/*
 * Run the program to event `seq` at this process's terminal, with a prompt of Python's debugger there, and wait for its
 * end. Errors as above, but how the program ends is none of its errors.
 */
VS_MUST_USE enum vs_status wif_holders_prompt(struct rpl_index *index, uint64_t seq,
                                              rpl_progress_fn *progress, void *user,
                                              struct vs_error *err);

#endif
