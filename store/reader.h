/*
 * store/reader.h - reads a trace: its metadata and any range of its events.
 *
 * For:            replay/, export/, cli/.
 * Must not know:  the meaning of events.
 * Invariant:      the file is never changed, except to upgrade an older format and to roll back a transaction of a
 *                 killed recorder. Events are returned exactly as they were written.
 *
 * Strings and pointers are borrowed and valid until sto_reader_close(); pointers to rows (steps, locations, toggles,
 * sources) until the next refresh. A reader sees the trace as of its opening or last refresh. The cost of opening does
 * not depend on the number of events, except for the list of blocks of tensors. A reader must be used by one thread at
 * a time; several readers of one file are allowed.
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
 * A training step. `step` is -1 for the set-up before the first one.
 *
 * first_seq, last_seq  its events, both included
 * loss                 NaN if none was recorded
 */
struct sto_step {
    int64_t step;
    uint64_t first_seq;
    uint64_t last_seq;
    double loss;
};

/* One device of a trace with several: its range of events, and the number of blocks numbered before its own. */
struct sto_device {
    uint64_t number;
    uint64_t first_seq;
    uint64_t last_seq;
    uint64_t blocks_before;
};

/*
 * An interval of a step in one phase, in order of first_seq (a step with gradient accumulation has several of the same
 * phase). Bytes at its end and at its peak: `allocated` counts block bytes, `requested` requested bytes, `reserved`
 * segments. peak_seq is the first event at which allocated_peak was reached (first_seq if it was never exceeded after
 * the start).
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
 * VS_E_NOT_FOUND: the file does not exist, or has no such device. VS_E_IO: it cannot be read. VS_E_FORMAT: it is not a
 * trace. VS_E_VERSION: its format is newer than this program supports. VS_E_DAMAGED: it is truncated or damaged. The
 * message names the file and says what to do. The caller owns *out until sto_reader_close(); *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_reader_open(const char *path, struct sto_reader **out,
                                           struct vs_error *err);
void sto_reader_close(struct sto_reader *r);

/*
 * The devices of a trace. A trace of several devices is read as if it contained only one of them, whose events and
 * blocks are numbered from 1. This is device N if the path ends in `@N` and no file has that name; otherwise the one
 * with the most events among those that ran out of memory, or among all if none did. 0: the trace has one device and
 * does not name it.
 */
size_t sto_reader_device_count(const struct sto_reader *r);
/* Devices in order of their events; the one that is read. */
const struct sto_device *sto_reader_device_at(const struct sto_reader *r, size_t i);
size_t sto_reader_device_now(const struct sto_reader *r);

/*
 * Read what a recorder has committed since. There may be more events, strings, locations, tensors, steps and meta rows;
 * existing ones do not change, except for the end of the last step. Errors: see sto_reader_open(); after an error the
 * reader can only be closed.
 */
VS_MUST_USE enum vs_status sto_reader_refresh(struct sto_reader *r, struct vs_error *err);

/*
 * A number that is almost certainly different for other events, computed from their count and, of 16 chunks from the
 * first to the last, where they begin and how many events of each kind they have. 0: the file cannot be read.
 */
uint64_t sto_reader_fingerprint(const struct sto_reader *r);

/* The path that was opened. */
const char *sto_reader_path(const struct sto_reader *r);

/* False if the recorder was killed, stopped early or is still running. */
bool sto_reader_is_complete(const struct sto_reader *r);

/*
 * The value of a meta key; NULL if missing. In a trace of several devices, the value of `key@N` is preferred to that of
 * `key`.
 */
const char *sto_reader_meta(const struct sto_reader *r, const char *key);

/* Toggles in the order in which they were added; 0 <= i < count. */
size_t sto_reader_toggle_count(const struct sto_reader *r);
const struct sto_toggle *sto_reader_toggle_at(const struct sto_reader *r, size_t i);

/* Source files in the order in which they were added; the net file is the first. An imported trace has none. */
size_t sto_reader_source_count(const struct sto_reader *r);
const struct sto_source *sto_reader_source_at(const struct sto_reader *r, size_t i);

/*
 * Strings and locations by id; ids are 1 to count. Id 0 and ids that are not in the trace return the empty string, or a
 * location with all members 0. Never NULL. They are read from the file when they are first needed; where that fails,
 * they are as those that are not in the trace, and sto_reader_events() and sto_reader_check() fail from then on.
 */
uint32_t sto_reader_string_count(const struct sto_reader *r);
const char *sto_reader_string(const struct sto_reader *r, uint32_t id);
uint32_t sto_reader_location_count(const struct sto_reader *r);
const struct vs_location *sto_reader_location(const struct sto_reader *r, uint32_t id);
/* Why something that is read when it is first needed could not be; VS_OK: all could. */
VS_MUST_USE enum vs_status sto_reader_check(const struct sto_reader *r, struct vs_error *err);

/* The tensor with id `id`; VS_E_NOT_FOUND if the trace does not have it. Ids range from 1 to about the count. O(1). */
uint32_t sto_reader_tensor_count(const struct sto_reader *r);
VS_MUST_USE enum vs_status sto_reader_tensor(struct sto_reader *r, uint32_t id,
                                             struct vs_tensor_desc *out, struct vs_error *err);
/* A number n >= id - 1 such that no tensor with an id from `id` to n has a name: they need not be read. `id` >= 1. */
uint32_t sto_reader_nameless_to(const struct sto_reader *r, uint32_t id);

/*
 * Steps in order of first_seq; 0 <= i < count. All are read from the file when the first one is needed, some 20 bytes
 * each; where that fails there are none, and sto_reader_events() fails from then on.
 */
size_t sto_reader_step_count(const struct sto_reader *r);
const struct sto_step *sto_reader_step_at(const struct sto_reader *r, size_t i);

/* The first training step, which is not the set-up, without reading the others. False: there is none. */
VS_MUST_USE bool sto_reader_step_first(const struct sto_reader *r, struct sto_step *out);

/* Number of events in the trace. They are numbered 1 … count. */
uint64_t sto_reader_event_count(const struct sto_reader *r);

/*
 * Read events first_seq … first_seq + count - 1 into out[0 … count - 1].
 *
 * The range must lie inside 1 … sto_reader_event_count(r) (asserted). Sequential reading is fast for any `count`, even
 * 1: the chunk that was read last stays decoded. A random access decodes some thousand events, in less than 1 ms.
 * VS_E_DAMAGED, VS_E_IO: the events cannot be read; `out` is undefined then.
 */
VS_MUST_USE enum vs_status sto_reader_events(struct sto_reader *r, uint64_t first_seq, size_t count,
                                             struct vs_event *out, struct vs_error *err);

/* A frame. func: a text like "train.py:step", borrowed until the reader is closed; line: 0 if not known. */
typedef void sto_frame_fn(void *user, const char *func, uint32_t line);

/*
 * Call `each` for the frames of event `seq` of the reader's device, the innermost first; not at all if it has no stack.
 * O(log events + frames). Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status sto_reader_stack_each(struct sto_reader *r, uint64_t seq,
                                                 sto_frame_fn *each, void *user,
                                                 struct vs_error *err);
/*
 * Set stacks[i] to the number of the call stack of event seqs[i] of the reader's device, for `count` of them; 0: it has
 * none. Events with the same number have the same frames. O(count log events).
 */
VS_MUST_USE enum vs_status sto_reader_stacks_of(struct sto_reader *r, const uint64_t *seqs,
                                                size_t count, uint32_t *stacks,
                                                struct vs_error *err);

#endif
