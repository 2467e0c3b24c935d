/*
 * tracer/recorder.h - records the engine's events into a trace without blocking the engine.
 *
 * For:            cli/ (the record command), tracer/inject/, tests of whatif/whatif.c.
 * Must not know:  the engine beyond engine/core/observer.h; SQL.
 * Invariant:      errors do not affect the observed program: the first one is stored, recording stops, and
 *                 trc_recorder_close() returns it.
 *
 * The observer's callbacks and the functions below must be called from one thread, the training thread, except where
 * stated. The callbacks allocate only for new strings and locations, take no lock and do no I/O; a second thread, owned
 * by the recorder, writes the file.
 */
#ifndef TRC_RECORDER_H
#define TRC_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/core/observer.h"

struct trc_recorder;

/* Writes additional rows into the trace. A failure is handled like one of the recording. */
struct sto_writer;
typedef enum vs_status trc_beside_fn(void *user, struct sto_writer *w, struct vs_error *err);

/*
 * Zero-initialise for the defaults.
 *
 * force       replace an existing file
 * ring_slots  capacity of the ring between the threads in events, a power of two; 0: the default (262,144 events, 14
 *             MiB)
 * commit_ms   maximum time between two commits while events arrive, in ms; 0: the default (500). A killed process loses
 *             at most this much.
 * beside      called by the writer thread before each commit, and finally by trc_recorder_close() on its caller's
 *             thread; NULL: no additional rows
 * keep_events  how many of the last events to keep at least, see tracer/keep.h; 0: all. Without `beside`, frames and
 *             stacks (asserted)
 */
struct trc_recorder_options {
    bool force;
    size_t ring_slots;
    uint32_t commit_ms;
    trc_beside_fn *beside;
    void *beside_user;
    uint64_t keep_events;
};

/*
 * events     events emitted so far
 * waits      how often the training thread found the ring full
 * wait_ns    total time it waited for the ring
 * failed     the writer thread failed; later events are discarded
 */
struct trc_recorder_stats {
    uint64_t events;
    uint64_t waits;
    uint64_t wait_ns;
    bool failed;
};

/*
 * Create the trace at `path` and start the writer thread. `options` may be NULL. The trace's clock starts here.
 *
 * Errors: see sto_writer_open(); VS_E_IO if no thread can be started (no file is created then). The caller owns *out
 * until trc_recorder_close(); *out is NULL on failure.
 */
VS_MUST_USE enum vs_status trc_recorder_open(const char *path,
                                             const struct trc_recorder_options *options,
                                             struct trc_recorder **out, struct vs_error *err);

/* The observer to pass to the engine. Borrowed; valid as long as the recorder. */
const struct eng_observer *trc_recorder_observer(struct trc_recorder *rec);

/*
 * Like the functions of store/writer.h of the same names. The texts are copied. They report no errors: see
 * trc_recorder_close().
 */
void trc_recorder_meta_set(struct trc_recorder *rec, const char *key, const char *value);
void trc_recorder_source_add(struct trc_recorder *rec, const char *name, const char *text);
void trc_recorder_toggle_add(struct trc_recorder *rec, const char *name, const char *value,
                             bool is_default);
void trc_recorder_frame(struct trc_recorder *rec, uint32_t stack, uint32_t depth, uint32_t func,
                        uint32_t line);
void trc_recorder_stack(struct trc_recorder *rec, uint32_t stack);
void trc_recorder_step(struct trc_recorder *rec, int64_t step, double loss);

/*
 * The writer thread is paused, without holding a lock or an operation in progress, from the return of the first
 * function to the call of the second: for a fork in between. May be called from any thread.
 */
void trc_recorder_hold(struct trc_recorder *rec);
void trc_recorder_go_on(struct trc_recorder *rec);

/*
 * When this returns, all events emitted so far are in the file, even if the process is killed. Call it from the thread
 * that emits; takes some ms.
 */
void trc_recorder_commit(struct trc_recorder *rec);

void trc_recorder_stats(const struct trc_recorder *rec, struct trc_recorder_stats *out);

/*
 * Write the remaining events, join the writer thread, close the trace and free `rec`, also on failure. NULL is
 * accepted. `complete`: see sto_writer_close(); a recording that failed is never marked as complete.
 *
 * Returns the first failure of the recording. The trace then contains what was committed before it.
 */
VS_MUST_USE enum vs_status trc_recorder_close(struct trc_recorder *rec, bool complete,
                                              struct vs_error *err);

#endif
