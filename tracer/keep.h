/*
 * tracer/keep.h - writes a recording as a trace: all of it, or the last events, in a file that does not grow.
 *
 * For:            tracer/recorder.c.
 * Must not know:  threads, rings, SQL. Used by one thread at a time.
 * Invariant:      at any time the file at the path is a trace of its own: of the whole recording so far, or of its end,
 *                 which begins with a step and, before it, with the state at that step.
 *
 * With a bound, once the trace has that many events, a second one is begun at the next step, beside it: first the
 * events in force (tracer/in_force.h), then every event from there on, as in the first. When the second has that many
 * events of its own, it takes the place of the first. So the file has between one and two times as many events as
 * asked for, of whole steps. Ids of blocks, tensors and nodes count anew in each trace, from 1.
 */
#ifndef TRC_KEEP_H
#define TRC_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "store/writer.h"

struct trc_keep;

/*
 * Create the trace. events: how many of the last events to keep at least; 0: all. Errors: those of sto_writer_open().
 * The caller owns *out until trc_keep_close(); *out is NULL on failure.
 */
VS_MUST_USE enum vs_status trc_keep_open(const char *path, bool force, uint64_t events,
                                         struct trc_keep **out, struct vs_error *err);

/* The trace, for rows that only a recording without a bound has (asserted). */
struct sto_writer *trc_keep_writer(struct trc_keep *k);

/*
 * As the functions of store/writer.h of the same names. The texts of strings are borrowed until trc_keep_close().
 * trc_keep_frame() and trc_keep_stack(): only without a bound (asserted).
 */
VS_MUST_USE enum vs_status trc_keep_events(struct trc_keep *k, const struct vs_event *events,
                                           size_t count, struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_tensor(struct trc_keep *k, const struct vs_tensor_desc *desc,
                                           struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_string(struct trc_keep *k, uint32_t id, const char *text,
                                           struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_location(struct trc_keep *k, uint32_t id,
                                             const struct vs_location *location,
                                             struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_meta(struct trc_keep *k, const char *key, const char *value,
                                         struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_source(struct trc_keep *k, const char *name, const char *text,
                                           struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_toggle(struct trc_keep *k, const char *name, const char *value,
                                           bool is_default, struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_step(struct trc_keep *k, int64_t step, double loss,
                                         struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_frame(struct trc_keep *k, uint32_t stack, uint32_t depth,
                                          uint32_t func, uint32_t line, struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_stack(struct trc_keep *k, uint32_t stack, struct vs_error *err);
VS_MUST_USE enum vs_status trc_keep_commit(struct trc_keep *k, struct vs_error *err);

/* As sto_writer_close(). The second trace, where there is one, is deleted. NULL is accepted. */
VS_MUST_USE enum vs_status trc_keep_close(struct trc_keep *k, bool complete, struct vs_error *err);

#endif
