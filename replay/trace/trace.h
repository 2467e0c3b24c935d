/*
 * replay/trace/trace.h - a trace to look at: one in a file, or one that was built in memory.
 *
 * For:            everything in replay/, and who draws or prints it.
 * Must not know:  SQL, the engine. A file is seen only through store/reader.h.
 * Invariant:      the same events give the same answers, wherever they are kept.
 *
 * Events are numbered 1 … rpl_trace_event_count. Strings and pointers are borrowed and live as long as the trace, in
 * memory until the next rpl_trace_clear. One trace is used by one thread at a time.
 */
#ifndef RPL_TRACE_H
#define RPL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"

/* As many as the store has in a chunk of its own, so that reading one of ours decodes one of its. */
#ifdef VS_STRESS
#define RPL_CHUNK_EVENTS 64
#else
#define RPL_CHUNK_EVENTS 16384
#endif

struct rpl_trace;

/* A toggle in effect. is_default: nobody asked for the value. */
struct rpl_toggle {
    const char *name;
    const char *value;
    bool is_default;
};

/* A training step, -1 is the setup before the first. loss: NaN where there is none. Both event numbers included. */
struct rpl_step {
    int64_t step;
    uint64_t first_seq;
    uint64_t last_seq;
    double loss;
};

/* Open the trace file at `path`. Errors: those of sto_reader_open. The caller owns *out; NULL on failure. */
VS_MUST_USE enum vs_status rpl_trace_open(const char *path, struct rpl_trace **out,
                                          struct vs_error *err);
/*
 * Take in what a recorder has written to the file since: more events, strings, places, tensors, steps. None changes,
 * but for the end of the last step; borrowed strings stay good, borrowed places do not. In memory: nothing to do.
 * Errors as rpl_trace_open.
 */
VS_MUST_USE enum vs_status rpl_trace_refresh(struct rpl_trace *trace, struct vs_error *err);
/* An empty trace in memory, to be filled with the functions below. The caller owns it. */
struct rpl_trace *rpl_trace_new(void) VS_MUST_USE;
void rpl_trace_free(struct rpl_trace *trace);

/*
 * Something that whoever works on a trace keeps with it, so as not to make it again: goes with the trace, by
 * `user_data_free`, or when another is set. NULL at first.
 */
void rpl_trace_set_user_data(struct rpl_trace *trace, void *user_data,
                             void (*user_data_free)(void *user_data));
void *rpl_trace_user_data(const struct rpl_trace *trace);

/* ---- building one in memory ---- */

/* Nothing is left in it; the memory is kept for the next run. */
void rpl_trace_clear(struct rpl_trace *trace);
/* Ids from 1; equal texts and equal places get equal ids. */
uint32_t rpl_trace_add_string(struct rpl_trace *trace, const char *text);
uint32_t rpl_trace_add_location(struct rpl_trace *trace, const struct vs_location *location);
/* Ids come in order, each once, from 1. */
void rpl_trace_add_tensor(struct rpl_trace *trace, const struct vs_tensor_desc *desc);
void rpl_trace_add_event(struct rpl_trace *trace, const struct vs_event *event);
/* The loss of a step that has begun. For tests: a run on `meta` has no losses, and those of a file are read from it. */
void rpl_trace_set_loss(struct rpl_trace *trace, int64_t step, double loss);
/* A second call for the same key replaces the first. */
void rpl_trace_set_meta(struct rpl_trace *trace, const char *key, const char *value);
void rpl_trace_set_toggle(struct rpl_trace *trace, const char *name, const char *value,
                          bool is_default);
void rpl_trace_set_source(struct rpl_trace *trace, const char *name, const char *text);

/* ---- reading either ---- */

uint64_t rpl_trace_event_count(const struct rpl_trace *trace);
/* False where the recorder was stopped early. In memory always true. */
bool rpl_trace_is_complete(const struct rpl_trace *trace);

/* Id 0, or one the trace does not have: "" and the place of zeros. Never NULL. */
const char *rpl_trace_string(const struct rpl_trace *trace, uint32_t id);
const struct vs_location *rpl_trace_location(const struct rpl_trace *trace, uint32_t id);
/* Their ids are 1 … count. */
uint32_t rpl_trace_string_count(const struct rpl_trace *trace);
uint32_t rpl_trace_location_count(const struct rpl_trace *trace);
/* Tensor `id`, 1 … rpl_trace_tensor_count. False where the trace does not have it, or has nonsense there. */
uint32_t rpl_trace_tensor_count(const struct rpl_trace *trace);
VS_MUST_USE bool rpl_trace_tensor(const struct rpl_trace *trace, uint32_t id,
                                  struct vs_tensor_desc *out);

/* NULL where there is no such key. */
const char *rpl_trace_meta(const struct rpl_trace *trace, const char *key);
/* The same as a number; false where there is none. */
VS_MUST_USE bool rpl_trace_meta_uint(const struct rpl_trace *trace, const char *key, uint64_t *out);
size_t rpl_trace_toggle_count(const struct rpl_trace *trace);
struct rpl_toggle rpl_trace_toggle(const struct rpl_trace *trace, size_t i);
/* The net file's name and text; NULL where the trace carries no net (an imported one). */
const char *rpl_trace_source_name(const struct rpl_trace *trace);
const char *rpl_trace_source_text(const struct rpl_trace *trace);
/*
 * Was it made of what another program recorded? Then nobody knows who held a block, who read it, and what autograd
 * saved.
 */
bool rpl_trace_is_imported(const struct rpl_trace *trace);
/*
 * Is it one of those, of what a program asked the driver for? Then no allocator's requests are known either, and
 * nothing can be tried on it.
 */
bool rpl_trace_is_program(const struct rpl_trace *trace);
/*
 * A trace of several devices is looked at as if it had one: that of `PATH@N`, else the one with the most events. How
 * many there are (0: one, which has no name of its own), the number of device `i`, and which one is looked at.
 */
size_t rpl_trace_device_count(const struct rpl_trace *trace);
uint64_t rpl_trace_device(const struct rpl_trace *trace, size_t i);
size_t rpl_trace_device_now(const struct rpl_trace *trace);
/* The same file, for device `i`. Errors as rpl_trace_open. */
VS_MUST_USE enum vs_status rpl_trace_open_device(const struct rpl_trace *trace, size_t i,
                                                 struct rpl_trace **out, struct vs_error *err);
/* Line `line` (from 1) of the net file without indentation and line end; *len is 0 where there is none. */
const char *rpl_trace_source_line(const struct rpl_trace *trace, uint32_t line, size_t *len);
size_t rpl_trace_step_count(const struct rpl_trace *trace);
struct rpl_step rpl_trace_step(const struct rpl_trace *trace, size_t i);

/*
 * Read events in order. Of a trace in memory no event is copied, unless it was made small (replay/trace/mem_pack.h);
 * of a file a few thousand at a time are.
 *
 *     rpl_scan_init(&scan, trace, 1, rpl_trace_event_count(trace));
 *     while ((event = rpl_scan_next(&scan, err)) != NULL)
 *         … scan.seq is its number …
 *     if (scan.status) …
 */
#define RPL_SCAN_EVENTS 1024
struct rpl_scan {
    struct rpl_trace *trace;
    uint64_t seq;
    uint64_t last;
    const struct vs_event *at;
    size_t left;
    enum vs_status status;
    struct vs_event buffer[RPL_SCAN_EVENTS];
};

/* From `first` to `last`, both included; nothing where last < first. The range lies inside the trace (asserted). */
void rpl_scan_init(struct rpl_scan *scan, struct rpl_trace *trace, uint64_t first, uint64_t last);
/*
 * The next event, borrowed until the next call; NULL at the end, and on failure, which is then in scan->status and err.
 */
const struct vs_event *rpl_scan_next(struct rpl_scan *scan, struct vs_error *err);

#endif
