/*
 * store/writer.h - writes a trace: one SQLite file that is valid and whole up to the last commit at every moment.
 *
 * For:            tracer/recorder.c, store's importers, tests.
 * Must not know:  threads, rings, engines. One writer is used by one thread at a time.
 * Invariant:      at its final path the file is a valid database from the first moment on; `complete` in its meta table
 *                 is 1 only after a sto_writer_close that was told so and succeeded.
 *
 * After a function has failed the writer accepts no more (each call returns the first failure again); only
 * sto_writer_close is then useful. The file keeps everything up to the last successful commit.
 * Errors of all functions: VS_E_IO where the file cannot be written (a full disk is named as such).
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
 * force  replace a file that exists at the path. The old one stays until the new one is a valid trace.
 */
struct sto_writer_options {
    bool force;
};

/*
 * Create a trace at `path`. `options` may be NULL.
 *
 * VS_E_EXISTS: something is there and options->force is not set. VS_E_IO: cannot be created.
 * The caller owns *out until sto_writer_close; *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_writer_open(const char *path,
                                           const struct sto_writer_options *options,
                                           struct sto_writer **out, struct vs_error *err);

/* Set a key of the meta table, replacing an older value. The keys in use are listed in docs/formats/trace-format.md. */
VS_MUST_USE enum vs_status sto_writer_meta_set(struct sto_writer *w, const char *key,
                                               const char *value, struct vs_error *err);

/* Keep a source file of the net. `name` is unique in a trace; the first one added is the net file itself. */
VS_MUST_USE enum vs_status sto_writer_source_add(struct sto_writer *w, const char *name,
                                                 const char *text, struct vs_error *err);

/* Keep the value of a toggle, as the user would type it. A second call for the same name replaces the first. */
VS_MUST_USE enum vs_status sto_writer_toggle_add(struct sto_writer *w, const char *name,
                                                 const char *value, bool is_default,
                                                 struct vs_error *err);

/*
 * What follows is of device `number`, until the next call. Only for a trace of several, from its first event on; each has at least one
 * event (asserted). Steps, phases and figures begin anew. blocks_before: the highest number of a block so far; the device's own follow.
 */
VS_MUST_USE enum vs_status sto_writer_device(struct sto_writer *w, uint64_t number,
                                             uint64_t blocks_before, struct vs_error *err);

/*
 * Append `count` events. They are numbered from 1 in the order of the calls. The kinds are those of base/event.h.
 * The events are copied; they reach the disk at a commit.
 *
 * Step rows and the figures per phase are kept from what the events say: the caller writes none of them.
 */
VS_MUST_USE enum vs_status sto_writer_events(struct sto_writer *w, const struct vs_event *events,
                                             size_t count, struct vs_error *err);

/* Keep a string, a place, a tensor under the id that events use for it. An id is given once. */
VS_MUST_USE enum vs_status sto_writer_string(struct sto_writer *w, uint32_t id, const char *text,
                                             struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_location(struct sto_writer *w, uint32_t id,
                                               const struct vs_location *location,
                                               struct vs_error *err);
/* Places first_id, first_id + 1, …: at two thirds of what one by one costs. */
VS_MUST_USE enum vs_status sto_writer_locations(struct sto_writer *w, uint32_t first_id,
                                                const struct vs_location *locations, size_t count,
                                                struct vs_error *err);
VS_MUST_USE enum vs_status
sto_writer_tensor(struct sto_writer *w, const struct vs_tensor_desc *desc, struct vs_error *err);

#define STO_FRAMES_MAX 256u
/*
 * Keep a frame of call stack `stack`, from 1: depth, below STO_FRAMES_MAX, 0 is the innermost, func a string's id, line 0 where it is not known. Each is given once.
 * Then: the next event comes from that stack; at most once an event.
 */
VS_MUST_USE enum vs_status sto_writer_frame(struct sto_writer *w, uint32_t stack, uint32_t depth,
                                            uint32_t func, uint32_t line, struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_stack(struct sto_writer *w, uint32_t stack,
                                            struct vs_error *err);

/* The loss of step `step` (-1: setup), which has begun. NaN is kept as "no loss". */
VS_MUST_USE enum vs_status sto_writer_step(struct sto_writer *w, int64_t step, double loss,
                                           struct vs_error *err);

/* Set a mark, as sto_mark_set does later on. */
VS_MUST_USE enum vs_status sto_writer_mark(struct sto_writer *w, const char *key, uint64_t seq,
                                           const char *note, struct vs_error *err);

/* Everything given so far is on the disk when this returns VS_OK. Costs a disk flush: about one call a second is right. */
VS_MUST_USE enum vs_status sto_writer_commit(struct sto_writer *w, struct vs_error *err);

/* Events given so far. */
uint64_t sto_writer_event_count(const struct sto_writer *w);

/*
 * Commit, close the file and free `w`, also where the result is a failure. NULL is VS_OK.
 *
 * complete  the recording went to its end; false leaves meta.complete at 0 (the recorder was stopped early)
 */
VS_MUST_USE enum vs_status sto_writer_close(struct sto_writer *w, bool complete,
                                            struct vs_error *err);

#endif
