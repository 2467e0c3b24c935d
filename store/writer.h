/*
 * store/writer.h - writes a trace: a SQLite file that is at any time valid and complete up to its last commit.
 *
 * For:            tracer/recorder.c, import/, tests.
 * Must not know:  threads, rings, the engine. A writer must be used by one thread at a time.
 * Invariant:      from its creation the file is a valid database. `complete` in its meta table is 1 only after a
 *                 successful sto_writer_close() with complete set.
 *
 * After a failure every further call returns the first error again; only sto_writer_close() is useful then. The file
 * keeps everything up to its last successful commit. All functions return VS_E_IO if the file cannot be written (a full
 * disk is named as the cause).
 */
#ifndef STO_WRITER_H
#define STO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"

struct sto_writer;

/*
 * Zero-initialise for the defaults.
 *
 * force  replace an existing file; the old file stays until the new one is a valid trace
 */
struct sto_writer_options {
    bool force;
};

/*
 * Create a trace at `path`. `options` may be NULL.
 *
 * VS_E_EXISTS: the file exists and options->force is not set. VS_E_IO: it cannot be created. The caller owns *out until
 * sto_writer_close(); *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_writer_open(const char *path,
                                           const struct sto_writer_options *options,
                                           struct sto_writer **out, struct vs_error *err);

/* Set a key of the meta table, replacing its previous value. docs/formats/trace-format.md lists the keys. */
VS_MUST_USE enum vs_status sto_writer_meta_set(struct sto_writer *w, const char *key,
                                               const char *value, struct vs_error *err);

/* Store a source file of the net. `name` is unique in a trace; the first file is the net file itself. */
VS_MUST_USE enum vs_status sto_writer_source_add(struct sto_writer *w, const char *name,
                                                 const char *text, struct vs_error *err);

/* Store the value of a toggle, as a user would type it. A second call with the same name replaces the value. */
VS_MUST_USE enum vs_status sto_writer_toggle_add(struct sto_writer *w, const char *name,
                                                 const char *value, bool is_default,
                                                 struct vs_error *err);

/*
 * All later rows belong to device `number`, until the next call. Only for a trace of several devices, before its first
 * event; each device must have at least one event (asserted). Steps, phases and byte counts start anew. blocks_before:
 * the highest block id so far; the device's block ids follow it.
 */
VS_MUST_USE enum vs_status sto_writer_device(struct sto_writer *w, uint64_t number,
                                             uint64_t blocks_before, struct vs_error *err);

/*
 * Append `count` events. They are numbered from 1 in the order of the calls; base/event.h defines the kinds. The events
 * are copied and reach the disk at a commit.
 *
 * The rows of steps and phases are computed from the events: the caller does not write them.
 */
VS_MUST_USE enum vs_status sto_writer_events(struct sto_writer *w, const struct vs_event *events,
                                             size_t count, struct vs_error *err);

/* Store a string, a location or a tensor under the id that events use. Each id must be written once. */
VS_MUST_USE enum vs_status sto_writer_string(struct sto_writer *w, uint32_t id, const char *text,
                                             struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_location(struct sto_writer *w, uint32_t id,
                                               const struct vs_location *location,
                                               struct vs_error *err);
/* Store locations first_id, first_id + 1, …; takes two thirds of the time of storing them one by one. */
VS_MUST_USE enum vs_status sto_writer_locations(struct sto_writer *w, uint32_t first_id,
                                                const struct vs_location *locations, size_t count,
                                                struct vs_error *err);
VS_MUST_USE enum vs_status
sto_writer_tensor(struct sto_writer *w, const struct vs_tensor_desc *desc, struct vs_error *err);

#define STO_FRAMES_MAX 256u
/*
 * sto_writer_frame: store a frame of call stack `stack` (from 1). depth 0 is the innermost, depth < STO_FRAMES_MAX;
 * func is a string id; line 0 means unknown. Each frame must be written once. The function below: the next event has
 * this call stack; at most once per event.
 */
VS_MUST_USE enum vs_status sto_writer_frame(struct sto_writer *w, uint32_t stack, uint32_t depth,
                                            uint32_t func, uint32_t line, struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_stack(struct sto_writer *w, uint32_t stack,
                                            struct vs_error *err);

/* Set the loss of step `step` (-1: set-up), which must have begun. NaN means no loss. */
VS_MUST_USE enum vs_status sto_writer_step(struct sto_writer *w, int64_t step, double loss,
                                           struct vs_error *err);

/* Set a mark, like sto_mark_set(). */
VS_MUST_USE enum vs_status sto_writer_mark(struct sto_writer *w, const char *key, uint64_t seq,
                                           const char *note, struct vs_error *err);

/* Everything written so far is on the disk when this returns VS_OK. Flushes the disk: call it about once a second. */
VS_MUST_USE enum vs_status sto_writer_commit(struct sto_writer *w, struct vs_error *err);

/*
 * Rename the trace to `path`, which it replaces, and go on writing it there. Commits before. VS_E_IO: it cannot be
 * renamed or opened again: the writer has failed then, and the trace is complete up to here under one of the names.
 */
VS_MUST_USE enum vs_status sto_writer_move(struct sto_writer *w, const char *path,
                                           struct vs_error *err);

/* Number of events written so far. */
uint64_t sto_writer_event_count(const struct sto_writer *w);

/*
 * Commit, close the file and free `w`, also on failure. NULL is accepted.
 *
 * complete  the recording reached its end; false leaves meta.complete at 0 (the recorder was stopped early)
 */
VS_MUST_USE enum vs_status sto_writer_close(struct sto_writer *w, bool complete,
                                            struct vs_error *err);

#endif
