/*
 * store/reader.h - reads a trace: what was recorded, and any range of its events, fast.
 *
 * For:            replay/, exporters, cli.
 * Must not know:  what the events mean to a user.
 * Invariant:      the file is never changed, but for bringing one of an older version up to date and for undoing what
 *                 a killed recorder left half done. Events come out exactly as they went into the writer.
 *
 * Strings and pointers are borrowed and live until sto_reader_close; those to rows (steps, places, toggles, sources) until the next
 * refresh. A reader sees the trace as it was when opened, or at the last refresh. What an open costs does not grow with the events, but
 * for their list of chunks and the steps.
 * One reader is used by one thread at a time; several readers of one file are fine.
 */
#ifndef STO_READER_H
#define STO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"

struct sto_reader;

struct sto_toggle {
    const char *name;
    const char *value;
    bool is_default;
};

struct sto_source {
    const char *name;
    const char *text;
};

/*
 * A training step. `step` is -1 for the setup before the first one.
 *
 * first_seq, last_seq  its events, both included
 * loss                 NaN where none was given
 */
struct sto_step {
    int64_t step;
    uint64_t first_seq;
    uint64_t last_seq;
    double loss;
};

/* A device's part of a trace that has several: its events, and how many blocks are numbered before its own. */
struct sto_device {
    uint64_t number;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t blocks_before;
};

/*
 * A stretch of a step in one phase, in order of first_seq (a step with accumulation has several of the same phase).
 * Bytes at its end and at their highest inside it; `allocated` counts block bytes, `requested` the bytes asked for,
 * `reserved` segments. peak_seq is the first event at which allocated_peak was reached (first_seq where it was
 * never exceeded after the start).
 */
struct sto_phase_stat {
    int64_t step;
    enum vs_phase phase;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t allocated_end;
    uint64_t allocated_peak;
    uint64_t requested_end;
    uint64_t requested_peak;
    uint64_t reserved_end;
    uint64_t reserved_peak;
    uint64_t peak_seq;
};

/*
 * Open the trace at `path`.
 *
 * VS_E_NOT_FOUND: no file there, or no such device in it. VS_E_IO: cannot be read. VS_E_FORMAT: not a trace. VS_E_VERSION: of a newer format
 * than this program knows. VS_E_DAMAGED: cut off or broken. The message names the file and says what to do.
 * The caller owns *out until sto_reader_close; *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_reader_open(const char *path, struct sto_reader **out,
                                           struct vs_error *err);
void sto_reader_close(struct sto_reader *r);

/*
 * A trace of several devices is read as if it had only one of them, whose events and blocks are then numbered from 1: that of `PATH@N`
 * where the path ends so and no file is called that, else of those that ran out of memory the one with the most events, and of all where none did. 0: it has
 * one, and does not say which.
 */
size_t sto_reader_device_count(const struct sto_reader *r);
/* In the order of their events; which one is read. */
const struct sto_device *sto_reader_device_at(const struct sto_reader *r, size_t i);
size_t sto_reader_device_now(const struct sto_reader *r);

/*
 * Take in what a recorder has committed since. Events, strings, places, tensors, steps and what is told in meta may then be more; none
 * changes, but for the end of the last step. Errors as sto_reader_open; the reader is then of no more use than to be closed.
 */
VS_MUST_USE enum vs_status sto_reader_refresh(struct sto_reader *r, struct vs_error *err);

/* A number that other events would hardly have: of their count, how they are cut into chunks, and how many of which kind are in each. */
uint64_t sto_reader_fingerprint(const struct sto_reader *r);

/* The path it was opened with. */
const char *sto_reader_path(const struct sto_reader *r);

/* False where the recorder was killed, stopped early, or is still at work. */
bool sto_reader_is_complete(const struct sto_reader *r);

/* The value of a meta key; NULL where there is none. Where there are several devices, of `key@N` before that of `key`. */
const char *sto_reader_meta(const struct sto_reader *r, const char *key);

/* Toggles in the order they were added; 0 <= i < count. */
size_t sto_reader_toggle_count(const struct sto_reader *r);
const struct sto_toggle *sto_reader_toggle_at(const struct sto_reader *r, size_t i);

/* Source files in the order they were added: the net file first. An imported trace has none. */
size_t sto_reader_source_count(const struct sto_reader *r);
const struct sto_source *sto_reader_source_at(const struct sto_reader *r, size_t i);

/*
 * Strings and places by id; ids run from 1 to count. Id 0, or one that the trace does not have, is the empty string,
 * and the place whose members are all 0. Never NULL.
 */
uint32_t sto_reader_string_count(const struct sto_reader *r);
const char *sto_reader_string(const struct sto_reader *r, uint32_t id);
uint32_t sto_reader_location_count(const struct sto_reader *r);
const struct vs_location *sto_reader_location(const struct sto_reader *r, uint32_t id);

/* The tensor with id `id`; VS_E_NOT_FOUND where the trace does not have it. ids run from 1 to about count. O(1). */
uint32_t sto_reader_tensor_count(const struct sto_reader *r);
VS_MUST_USE enum vs_status sto_reader_tensor(struct sto_reader *r, uint32_t id,
                                             struct vs_tensor_desc *out, struct vs_error *err);

/* Steps in order of first_seq; 0 <= i < count. */
size_t sto_reader_step_count(const struct sto_reader *r);
const struct sto_step *sto_reader_step_at(const struct sto_reader *r, size_t i);

/* How many events the trace holds. They are numbered 1 … count. */
uint64_t sto_reader_event_count(const struct sto_reader *r);

/*
 * Events first_seq … first_seq + count - 1 into out[0 … count - 1].
 *
 * The range lies inside 1 … sto_reader_event_count(r) (asserted). Sequential reading is fast for any `count`, also 1:
 * the part of the file that was read last stays decoded. A jump costs decoding some thousand events, well below 1 ms.
 * VS_E_DAMAGED, VS_E_IO: the file cannot be read there; `out` is then undefined.
 */
VS_MUST_USE enum vs_status sto_reader_events(struct sto_reader *r, uint64_t first_seq, size_t count,
                                             struct vs_event *out, struct vs_error *err);

#endif
