/*
 * replay/trace/trace.h - a trace: in a file, or built in memory.
 *
 * For:            everything in replay/ and all commands and views above it.
 * Must not know:  SQL, the engine. A file is read only through store/reader.h.
 * Invariant:      the same events give the same results, wherever they are stored.
 *
 * Events are numbered 1 … rpl_trace_event_count. Returned strings and pointers are borrowed and valid as long as the
 * trace; of a trace in memory until the next rpl_trace_clear. A trace may be used by one thread at a time.
 */
#ifndef RPL_TRACE_H
#define RPL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"

/*
 * Events per chunk of an index: the same number as in a chunk of the store, so reading one of them decodes one of the
 * other.
 */
#ifdef VS_STRESS
#define RPL_CHUNK_EVENTS 64
#else
#define RPL_CHUNK_EVENTS 16384
#endif

struct rpl_trace;

/* A toggle in effect. is_default: the value was not set by the user. */
struct rpl_toggle {
    const char *name;
    const char *value;
    bool is_default;
};

/*
 * A training step; step -1 is the set-up. loss is NaN if there is none. first_seq and last_seq are both included.
 */
struct rpl_step {
    int64_t step;
    uint64_t first_seq;
    uint64_t last_seq;
    double loss;
};

/*
 * Open the trace file at `path`. The caller owns *out; NULL on failure. Errors: those of sto_reader_open.
 */
VS_MUST_USE enum vs_status rpl_trace_open(const char *path, struct rpl_trace **out,
                                          struct vs_error *err);
/*
 * From now on `watch` is called each time that some thousand events are read from the file; where it returns false,
 * reading fails with VS_E_STOPPED. NULL: no more. Traces opened from this one, and those in memory, are not watched.
 */
typedef bool rpl_watch_fn(void *user);
void rpl_trace_watch(struct rpl_trace *trace, rpl_watch_fn *watch, void *user);
/*
 * Read what a recorder has added to the file since: events, strings, locations, tensors, steps. Existing ones do not
 * change, except the end of the last step. Borrowed strings stay valid, borrowed locations do not. Does nothing for a
 * trace in memory. Errors: as rpl_trace_open.
 */
VS_MUST_USE enum vs_status rpl_trace_refresh(struct rpl_trace *trace, struct vs_error *err);
/* An empty trace in memory, to be filled with the functions below. The caller frees it. */
struct rpl_trace *rpl_trace_new(void) VS_MUST_USE;
/*
 * The same for some of the events of `of`, which must outlive it: strings, locations, meta, toggles and sources are
 * those of `of`, and it is complete if `of` is; events, tensors and steps are its own.
 */
struct rpl_trace *rpl_trace_new_part(const struct rpl_trace *of) VS_MUST_USE;
void rpl_trace_free(struct rpl_trace *trace);

/*
 * User data: a pointer that a caller attaches to the trace, for instance a parsed net. Freed with `user_data_free`
 * when the trace is freed or another pointer is set. NULL at first.
 */
void rpl_trace_set_user_data(struct rpl_trace *trace, void *user_data,
                             void (*user_data_free)(void *user_data));
void *rpl_trace_user_data(const struct rpl_trace *trace);

/* ---- building one in memory ---- */

/* Remove everything; the memory is kept for the next run. */
void rpl_trace_clear(struct rpl_trace *trace);
/* Ids count from 1; equal texts and equal locations get the same id. */
uint32_t rpl_trace_add_string(struct rpl_trace *trace, const char *text);
uint32_t rpl_trace_add_location(struct rpl_trace *trace, const struct vs_location *location);
/* Add a tensor. Ids must be added in order, each once, from 1. */
void rpl_trace_add_tensor(struct rpl_trace *trace, const struct vs_tensor_desc *desc);
void rpl_trace_add_event(struct rpl_trace *trace, const struct vs_event *event);
/*
 * Set the loss of a step that has begun. Only tests need it: a run on `meta` has no losses, and those of a file are
 * read from it.
 */
void rpl_trace_set_loss(struct rpl_trace *trace, int64_t step, double loss);
/*
 * Set a value of the meta table, of a toggle, or a source file; a second call for the same key replaces the first.
 */
void rpl_trace_set_meta(struct rpl_trace *trace, const char *key, const char *value);
void rpl_trace_set_toggle(struct rpl_trace *trace, const char *name, const char *value,
                          bool is_default);
void rpl_trace_set_source(struct rpl_trace *trace, const char *name, const char *text);

/* ---- reading ---- */

uint64_t rpl_trace_event_count(const struct rpl_trace *trace);
/* False if the recorder was stopped before the end. True for a trace in memory that is not a part of another. */
bool rpl_trace_is_complete(const struct rpl_trace *trace);

/*
 * Whether all that was read so far could be: of a file names, locations and steps are read when they are first needed,
 * and are empty where that fails. Errors: those of store/reader.h.
 */
VS_MUST_USE enum vs_status rpl_trace_check(const struct rpl_trace *trace, struct vs_error *err);

/*
 * The string or location of an id. For id 0 and unknown ids: "", and a location whose fields are all 0. Never NULL.
 */
const char *rpl_trace_string(const struct rpl_trace *trace, uint32_t id);
const struct vs_location *rpl_trace_location(const struct rpl_trace *trace, uint32_t id);
/* The numbers of strings and of locations; their ids are 1 … count. */
uint32_t rpl_trace_string_count(const struct rpl_trace *trace);
uint32_t rpl_trace_location_count(const struct rpl_trace *trace);
/*
 * Tensor `id`, 1 … rpl_trace_tensor_count. False if the trace does not have it or its description is damaged.
 */
uint32_t rpl_trace_tensor_count(const struct rpl_trace *trace);
VS_MUST_USE bool rpl_trace_tensor(const struct rpl_trace *trace, uint32_t id,
                                  struct vs_tensor_desc *out);

/* The value of `key` in the meta table; NULL if there is none. */
const char *rpl_trace_meta(const struct rpl_trace *trace, const char *key);
/* The same as a number; false if there is none or it is not a number. */
VS_MUST_USE bool rpl_trace_meta_uint(const struct rpl_trace *trace, const char *key, uint64_t *out);
size_t rpl_trace_toggle_count(const struct rpl_trace *trace);
struct rpl_toggle rpl_trace_toggle(const struct rpl_trace *trace, size_t i);
/* Name and text of the net file; NULL if the trace has no net (an imported one). */
const char *rpl_trace_source_name(const struct rpl_trace *trace);
const char *rpl_trace_source_text(const struct rpl_trace *trace);
/*
 * True for a trace imported from a memory snapshot of PyTorch or another recording. Such a trace has no names that
 * hold tensors, and uses and saves only where the program was observed.
 */
bool rpl_trace_is_imported(const struct rpl_trace *trace);
/*
 * Whether the trace has ops with what they use, and whether it has what autograd saves. Traces of nets have both; an
 * imported trace has them where the program was observed to its end.
 */
bool rpl_trace_has_uses(const struct rpl_trace *trace);
bool rpl_trace_has_saves(const struct rpl_trace *trace);
/*
 * Whether ops have their arithmetic. Of some ops of an imported trace it may not be known (key `arithmetic_unknown`).
 */
bool rpl_trace_has_arithmetic(const struct rpl_trace *trace);
/*
 * True for an imported recording of what a program requested from the driver. Such a trace does not have the requests
 * to an allocator either, so no what-if can be run on it.
 */
bool rpl_trace_is_program(const struct rpl_trace *trace);
/*
 * A trace of several devices is read as one of a single device: N in `PATH@N`, otherwise the one with the most events.
 *
 * rpl_trace_device_count  number of devices; 0: there is one, without a name
 * rpl_trace_device        number of device `i`
 * rpl_trace_device_now    index of the device being read
 */
size_t rpl_trace_device_count(const struct rpl_trace *trace);
uint64_t rpl_trace_device(const struct rpl_trace *trace, size_t i);
size_t rpl_trace_device_now(const struct rpl_trace *trace);
/* Open the same file for device `i`. The caller owns *out. Errors: as rpl_trace_open. */
VS_MUST_USE enum vs_status rpl_trace_open_device(const struct rpl_trace *trace, size_t i,
                                                 struct rpl_trace **out, struct vs_error *err);
/*
 * Line `line` (from 1) of the net file without indentation and line end; *len is 0 if there is no such line.
 */
const char *rpl_trace_source_line(const struct rpl_trace *trace, uint32_t line, size_t *len);
/* The same of any text; NULL has no lines. */
const char *rpl_source_line(const char *text, uint32_t line, size_t *len);
size_t rpl_trace_step_count(const struct rpl_trace *trace);
struct rpl_step rpl_trace_step(const struct rpl_trace *trace, size_t i);
/* The first training step, which is not the set-up; false: there is none. Of a file the others are not read for it. */
VS_MUST_USE bool rpl_trace_step_first(const struct rpl_trace *trace, struct rpl_step *out);

/*
 * Read events in order. Events of a trace in memory are not copied unless it was compressed (replay/trace/mem_pack.h);
 * those of a file are read RPL_SCAN_EVENTS at a time.
 *
 *     rpl_scan_init(&scan, trace, 1, rpl_trace_event_count(trace));
 *     while ((event = rpl_scan_next(&scan, err)) != NULL)
 *         … scan.seq is its number …
 *     if (scan.status)
 *         … reading failed …
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

/*
 * Begin to read events `first` … `last`, both included, which the trace must have (asserted); none if last < first.
 */
void rpl_scan_init(struct rpl_scan *scan, struct rpl_trace *trace, uint64_t first, uint64_t last);
/*
 * The next event, borrowed until the next call. NULL at the end and on failure, which is then in scan->status and err.
 */
const struct vs_event *rpl_scan_next(struct rpl_scan *scan, struct vs_error *err);

#endif
