/*
 * recording/pickle.h - reads pickled data: dicts, lists, tuples, texts, numbers. Never executes anything.
 *
 * For:            recording/snapshot.c (PyTorch's memory snapshots).
 * Must not know:  the meaning of the data.
 * Invariant:      for any input: no recursion; at most four times the input plus 64 MiB of memory (including the
 *                 input); what is not understood is refused, never guessed. An opcode that could import or call
 *                 something is refused with its offset.
 *
 * Protocols 0 to 5. The values are those that CPython's unpickler would create, with these differences: keys of a dict
 * must be texts; bytes and texts are one type (not decoded); a set is a list; strings of protocol 0 keep their escapes,
 * except \uXXXX and \UXXXXXXXX of UNICODE; texts of 4 GiB or more and integers of more than 16 bytes are refused, and
 * so are more than 2^29 containers, numbers that do not fit in 28 bits, or distinct texts.
 */
#ifndef REC_PICKLE_H
#define REC_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

struct rec_pickle;

/* A value, owned by its pickle. */
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
 * Read the first pickle in bytes[0 … len - 1]; bytes after its STOP opcode are ignored. The bytes are borrowed until
 * rec_pickle_free(). O(len). VS_E_FORMAT: not a pickle, truncated, contains more than data, or needs too much memory;
 * the text names opcode and offset.
 */
VS_MUST_USE enum vs_status rec_pickle_read(const char *bytes, size_t len, struct rec_pickle **out,
                                           struct vs_error *err);
void rec_pickle_free(struct rec_pickle *pickle);

struct rec_value rec_pickle_top(const struct rec_pickle *pickle);
enum rec_value_type rec_value_type(struct rec_value v);
/*
 * True for the same list or dict, equal texts, and equal integers from -2^28 to 2^28 - 1. Larger numbers that are equal
 * may compare as different. None is the zero word.
 */
static inline bool rec_value_same(struct rec_value a, struct rec_value b)
{
    return a.bits == b.bits;
}

/* Convert a value. False: it has another type, or the number is out of range. */
VS_MUST_USE bool rec_value_bool(struct rec_value v, bool *out);
/* From -2^63 to 2^64 - 1; negative numbers in two's complement. */
VS_MUST_USE bool rec_value_int(const struct rec_pickle *pickle, struct rec_value v, uint64_t *out);
VS_MUST_USE bool rec_value_float(const struct rec_pickle *pickle, struct rec_value v, double *out);
/* The bytes of a text, not NUL-terminated, valid as long as the pickle. NULL if the value is not a text. */
const char *rec_value_text(const struct rec_pickle *pickle, struct rec_value v, size_t *len);
bool rec_value_is_text(const struct rec_pickle *pickle, struct rec_value v, const char *text);

/* Number of items of a list or tuple, or of values of a dict; 0 for other types. */
size_t rec_value_count(const struct rec_pickle *pickle, struct rec_value v);
/* Item `i` of a list or tuple, or value `i` of a dict; i < rec_value_count() (asserted). */
struct rec_value rec_value_at(const struct rec_pickle *pickle, struct rec_value v, size_t i);
/* The text of key `i` of a dict. */
const char *rec_value_key(const struct rec_pickle *pickle, struct rec_value v, size_t i,
                          size_t *len);

/*
 * The id of a text in this pickle, for rec_value_get(). REC_NO_KEY: the pickle does not contain the text, so no dict
 * has this key.
 */
#define REC_NO_KEY UINT32_MAX
uint32_t rec_pickle_key(const struct rec_pickle *pickle, const char *name);
/*
 * The value of a key, the last one if the dict contains the key several times. False: it does not contain the key, or
 * `v` is not a dict.
 */
VS_MUST_USE bool rec_value_get(const struct rec_pickle *pickle, struct rec_value v, uint32_t key,
                               struct rec_value *out);

/*
 * Look up several keys of a dict at once. names: distinct, fewer than REC_COLUMNS_MAX. The columns are valid for this
 * pickle only. rec_value_row: if bit i of the result is set, out[i] is the value of names[i]; otherwise out[i] is
 * unchanged. Returns 0 if `v` is not a dict.
 */
#define REC_COLUMNS_MAX 64
struct rec_columns;
VS_MUST_USE struct rec_columns *rec_columns_new(const struct rec_pickle *pickle,
                                                const char *const *names, size_t count);
void rec_columns_free(struct rec_columns *columns);
uint64_t rec_value_row(const struct rec_pickle *pickle, struct rec_value v,
                       const struct rec_columns *columns, struct rec_value *out);

/*
 * A number that the caller may attach to a list, tuple or dict, so that shared values are processed once. Initially 0.
 * Lists and tuples with the same items share one mark, and so do all empty dicts. For other types it is always 0.
 */
uint32_t rec_value_mark(const struct rec_pickle *pickle, struct rec_value v);
void rec_value_mark_set(struct rec_pickle *pickle, struct rec_value v, uint32_t mark);

#endif
