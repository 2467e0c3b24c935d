/*
 * store/pickle.h - reads pickled data: dicts, lists, tuples, texts, numbers. Nothing in a pickle is ever run.
 *
 * For:            store/snapshot.c (memory snapshots of PyTorch).
 * Must not know:  what the data means.
 * Invariant:      whatever the bytes are: no recursion, no more memory than four times the input and a constant (the input
 *                 counted), a refusal instead of a guess. An opcode that could name or call something is refused with its offset.
 *
 * Protocols 0 to 5. What CPython's unpickler makes of the same bytes is what comes out, with these differences: a dict's keys must be
 * texts; bytes and texts are one kind (not decoded); a set is a list; the strings of protocol 0 keep their escapes, but for \uXXXX
 * and \UXXXXXXXX of UNICODE; texts from 2 MiB on and whole numbers of more than 16 bytes are refused.
 */
#ifndef STO_PICKLE_H
#define STO_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

struct sto_pickle;

/* One value; it belongs to its pickle. */
struct sto_value {
    uint64_t bits;
};

enum sto_value_type {
    STO_NONE,
    STO_BOOL,
    STO_INT,
    STO_FLOAT,
    STO_TEXT,
    STO_LIST,
    STO_TUPLE,
    STO_DICT,
};

/*
 * Read the first pickle in bytes[0 … len - 1], which are borrowed until the free; what stands after its STOP is not looked at.
 * VS_E_FORMAT: it is no pickle, is cut off, holds something else than data, or wants too much memory; the text names opcode and offset.
 * O(len).
 */
VS_MUST_USE enum vs_status sto_pickle_read(const char *bytes, size_t len, struct sto_pickle **out,
                                           struct vs_error *err);
void sto_pickle_free(struct sto_pickle *pickle);

struct sto_value sto_pickle_top(const struct sto_pickle *pickle);
enum sto_value_type sto_value_type(struct sto_value v);
/* Are they one object, or the same text at the same place, or the same number? Equal ones may be told apart; None is the zero word. */
static inline bool sto_value_same(struct sto_value a, struct sto_value b)
{
    return a.bits == b.bits;
}

/* False where the value is something else, or the number does not fit. */
VS_MUST_USE bool sto_value_bool(struct sto_value v, bool *out);
/* From -2^63 to 2^64 - 1; what is below 0 comes as its two's complement. */
VS_MUST_USE bool sto_value_int(const struct sto_pickle *pickle, struct sto_value v, uint64_t *out);
VS_MUST_USE bool sto_value_float(const struct sto_pickle *pickle, struct sto_value v, double *out);
/* The bytes, not ended by a NUL; borrowed as long as the pickle. NULL where the value is no text. */
const char *sto_value_text(const struct sto_pickle *pickle, struct sto_value v, size_t *len);
bool sto_value_is_text(const struct sto_pickle *pickle, struct sto_value v, const char *text);

/* Of a list, tuple or dict; 0 of anything else. */
size_t sto_value_count(const struct sto_pickle *pickle, struct sto_value v);
/* Item `i` of a list or tuple, value `i` of a dict; i < sto_value_count (asserted). */
struct sto_value sto_value_at(const struct sto_pickle *pickle, struct sto_value v, size_t i);
/* Items `from`, `from` + 1, … of a list or tuple, `max` at most; how many. 0 behind the last, and of anything else. */
size_t sto_value_items(const struct sto_pickle *pickle, struct sto_value v, size_t from,
                       struct sto_value *out, size_t max);
/* The text of key `i` of a dict. */
const char *sto_value_key(const struct sto_pickle *pickle, struct sto_value v, size_t i,
                          size_t *len);

/* A key's number in this pickle; STO_NO_KEY: no dict has it. Looked up once, asked for often. */
#define STO_NO_KEY UINT32_MAX
uint32_t sto_pickle_key(const struct sto_pickle *pickle, const char *name);
/* The dict's value of a key, the last where it has several. False: it has none, or is no dict. */
VS_MUST_USE bool sto_value_get(const struct sto_pickle *pickle, struct sto_value v, uint32_t key,
                               struct sto_value *out);

/*
 * Several of a dict's values at once, each key named once. names: fewer than STO_COLUMNS_MAX. Good for this pickle only.
 * sto_value_row: out[i] is the value of names[i] where bit i of the answer is set; else it stays. 0 of what is no dict.
 */
#define STO_COLUMNS_MAX 64
struct sto_columns;
VS_MUST_USE struct sto_columns *sto_columns_new(const struct sto_pickle *pickle,
                                                const char *const *names, size_t count);
void sto_columns_free(struct sto_columns *columns);
uint64_t sto_value_row(const struct sto_pickle *pickle, struct sto_value v,
                       const struct sto_columns *columns, struct sto_value *out);

/*
 * A number of the caller's own, kept with a list, tuple or dict, so that what is shared is looked at once. 0 at first.
 * Lists that are written the same may have one together. Of anything else it is 0 and stays so, and so does one that is too large to keep (from 2^27 on).
 */
uint32_t sto_value_mark(const struct sto_pickle *pickle, struct sto_value v);
void sto_value_mark_set(struct sto_pickle *pickle, struct sto_value v, uint32_t mark);

#endif
