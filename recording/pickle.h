/*
 * recording/pickle.h - reads pickled data: dicts, lists, tuples, texts, numbers. Nothing in a pickle is ever run.
 *
 * For:            recording/snapshot.c (memory snapshots of PyTorch).
 * Must not know:  what the data means.
 * Invariant:      whatever the bytes are: no recursion, no more memory than four times the input and a constant (the
 *                 input counted), a refusal instead of a guess. An opcode that could name or call something is
 *                 refused with its offset.
 *
 * Protocols 0 to 5. What CPython's unpickler makes of the same bytes is what comes out, with these differences: a
 * dict's keys must be texts; bytes and texts are one kind (not decoded); a set is a list; the strings of protocol 0
 * keep their escapes, but for \uXXXX and \UXXXXXXXX of UNICODE; texts from 4 GiB on and whole numbers of more than 16
 * bytes are refused, and so are more than 2^29 lists and dicts, numbers of more than 28 bits, or different texts.
 */
#ifndef REC_PICKLE_H
#define REC_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

struct rec_pickle;

/* One value; it belongs to its pickle. */
struct rec_value {
    uint32_t bits;
};

enum rec_value_type {
    REC_NONE,
    REC_BOOL,
    REC_INT,
    REC_FLOAT,
    REC_TEXT,
    REC_LIST,
    REC_TUPLE,
    REC_DICT,
};

/*
 * Read the first pickle in bytes[0 … len - 1], which are borrowed until the free; what stands after its STOP is not
 * looked at.
 * VS_E_FORMAT: it is no pickle, is cut off, holds something else than data, or wants too much memory; the text names
 * opcode and offset. O(len).
 */
VS_MUST_USE enum vs_status rec_pickle_read(const char *bytes, size_t len, struct rec_pickle **out,
                                           struct vs_error *err);
void rec_pickle_free(struct rec_pickle *pickle);

struct rec_value rec_pickle_top(const struct rec_pickle *pickle);
enum rec_value_type rec_value_type(struct rec_value v);
/*
 * Are they one list or dict, or equal texts, or equal numbers from -2^28 to 2^28 - 1? Larger numbers may differ. None
 * is the zero word.
 */
static inline bool rec_value_same(struct rec_value a, struct rec_value b)
{
    return a.bits == b.bits;
}

/* False where the value is something else, or the number does not fit. */
VS_MUST_USE bool rec_value_bool(struct rec_value v, bool *out);
/* From -2^63 to 2^64 - 1; what is below 0 comes as its two's complement. */
VS_MUST_USE bool rec_value_int(const struct rec_pickle *pickle, struct rec_value v, uint64_t *out);
VS_MUST_USE bool rec_value_float(const struct rec_pickle *pickle, struct rec_value v, double *out);
/* The bytes, not ended by a NUL; borrowed as long as the pickle. NULL where the value is no text. */
const char *rec_value_text(const struct rec_pickle *pickle, struct rec_value v, size_t *len);
bool rec_value_is_text(const struct rec_pickle *pickle, struct rec_value v, const char *text);

/* Of a list, tuple or dict; 0 of anything else. */
size_t rec_value_count(const struct rec_pickle *pickle, struct rec_value v);
/* Item `i` of a list or tuple, value `i` of a dict; i < rec_value_count (asserted). */
struct rec_value rec_value_at(const struct rec_pickle *pickle, struct rec_value v, size_t i);
/* The text of key `i` of a dict. */
const char *rec_value_key(const struct rec_pickle *pickle, struct rec_value v, size_t i,
                          size_t *len);

/* A text's number in this pickle, for rec_value_get; REC_NO_KEY: it is not in the pickle, so no dict has this key. */
#define REC_NO_KEY UINT32_MAX
uint32_t rec_pickle_key(const struct rec_pickle *pickle, const char *name);
/* The dict's value of a key, the last where it has several. False: it has none, or is no dict. */
VS_MUST_USE bool rec_value_get(const struct rec_pickle *pickle, struct rec_value v, uint32_t key,
                               struct rec_value *out);

/*
 * Several of a dict's values at once, each key named once. names: fewer than REC_COLUMNS_MAX. Good for this pickle
 * only. rec_value_row: out[i] is the value of names[i] where bit i of the answer is set; else it stays. 0 of what is
 * no dict.
 */
#define REC_COLUMNS_MAX 64
struct rec_columns;
VS_MUST_USE struct rec_columns *rec_columns_new(const struct rec_pickle *pickle,
                                                const char *const *names, size_t count);
void rec_columns_free(struct rec_columns *columns);
uint64_t rec_value_row(const struct rec_pickle *pickle, struct rec_value v,
                       const struct rec_columns *columns, struct rec_value *out);

/*
 * A number of the caller's own, kept with a list, tuple or dict, so that what is shared is looked at once. 0 at
 * first. Lists (and tuples) that hold the same items have one mark together, and so have all empty dicts. Of anything
 * else it is 0 and stays so.
 */
uint32_t rec_value_mark(const struct rec_pickle *pickle, struct rec_value v);
void rec_value_mark_set(struct rec_pickle *pickle, struct rec_value v, uint32_t mark);

#endif
