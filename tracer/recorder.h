/*
 * tracer/recorder.h - records what an engine does into a trace, without making it wait.
 *
 * For:            cli/ (the record command), whatif/whatif.c's tests, importers of live sources.
 * Must not know:  the engine, beyond engine/core/observer.h; SQL.
 * Invariant:      nothing that goes wrong here reaches the observed program: the first failure is kept, recording
 *                 stops, and trc_recorder_close reports it.
 *
 * The observer's callbacks and all functions below are called from one thread, that of the training. The callbacks
 * allocate only when a string or place is new, take no lock and do no I/O; a second thread, owned by the recorder,
 * writes.
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

/* Writes what goes into the file beside the events. A failure is the recording's. */
struct sto_writer;
typedef enum vs_status trc_beside_fn(void *user, struct sto_writer *w, struct vs_error *err);

/*
 * Zero-initialise for the defaults.
 *
 * force       replace a file that exists at the path
 * ring_slots  events that fit between the two threads, a power of two; 0: the default (262,144, 14 MiB)
 * commit_ms   at most this long between two commits while events come; 0: the default (500). What a kill can lose.
 * beside      called by the writer thread before each commit, and a last time by trc_recorder_close on its own; NULL: nothing else is written
 */
struct trc_recorder_options {
    bool force;
    size_t ring_slots;
    uint32_t commit_ms;
    trc_beside_fn *beside;
    void *beside_user;
};

/*
 * events     events emitted so far
 * waits      times the training thread found the ring full
 * wait_ns    how long it waited there, in all
 * failed     the writer thread met a failure; what comes now is thrown away
 */
struct trc_recorder_stats {
    uint64_t events;
    uint64_t waits;
    uint64_t wait_ns;
    bool failed;
};

/*
 * Create the trace at `path` and start the writer thread. `options` may be NULL. The clock of the trace starts here.
 *
 * Errors: those of sto_writer_open; VS_E_IO where no thread can be started (then no file is made).
 * The caller owns *out until trc_recorder_close; *out is NULL on failure.
 */
VS_MUST_USE enum vs_status trc_recorder_open(const char *path,
                                             const struct trc_recorder_options *options,
                                             struct trc_recorder **out, struct vs_error *err);

/* What to give the engine. Borrowed; lives as long as the recorder. */
const struct eng_observer *trc_recorder_observer(struct trc_recorder *rec);

/* As the functions of store/writer.h with the same ends. The texts are copied. They cannot fail here. */
void trc_recorder_meta_set(struct trc_recorder *rec, const char *key, const char *value);
void trc_recorder_source_add(struct trc_recorder *rec, const char *name, const char *text);
void trc_recorder_toggle_add(struct trc_recorder *rec, const char *name, const char *value,
                             bool is_default);
void trc_recorder_frame(struct trc_recorder *rec, uint32_t stack, uint32_t depth, uint32_t func,
                        uint32_t line);
void trc_recorder_stack(struct trc_recorder *rec, uint32_t stack);
void trc_recorder_step(struct trc_recorder *rec, int64_t step, double loss);

/*
 * The writer thread stands still, holding no lock and in the middle of nothing, from when the first returns until the second is called: for a
 * fork in between. Any thread.
 */
void trc_recorder_hold(struct trc_recorder *rec);
void trc_recorder_go_on(struct trc_recorder *rec);

/* Everything told so far is in the file when this returns, whatever becomes of the process. By whoever tells; costs some ms. */
void trc_recorder_commit(struct trc_recorder *rec);

void trc_recorder_stats(const struct trc_recorder *rec, struct trc_recorder_stats *out);

/*
 * Write what is left, join the writer thread, close the trace and free `rec`, also where the result is a failure.
 * NULL is VS_OK. `complete` as in sto_writer_close; a recording that failed is never marked complete.
 *
 * Returns the first failure of the whole recording. The trace then holds what was committed before it.
 */
VS_MUST_USE enum vs_status trc_recorder_close(struct trc_recorder *rec, bool complete,
                                              struct vs_error *err);

#endif
