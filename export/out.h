/*
 * export/out.h - buffered output of an export: bytes, numbers and texts to a FILE; the first write error is kept.
 *
 * For:            every format.
 * Must not know:  formats.
 * Invariant:      after a failed write nothing more is written; loops over events check exp_out_is_failed now and then.
 */
#ifndef EXP_OUT_H
#define EXP_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attr.h"
#include "base/error.h"

#define EXP_OUT_BYTES 65536

/*
 * The buffer: `len` bytes are not yet written to `file`, which is borrowed. failure: errno of the first failed write;
 * 0: none.
 */
struct exp_out {
    FILE *file;
    size_t len;
    int failure;
    char bytes[EXP_OUT_BYTES];
};

/* The caller frees it with exp_out_free; call exp_out_finish before, or the data in the buffer is lost. */
struct exp_out *exp_out_new(FILE *file) VS_MUST_USE;
void exp_out_free(struct exp_out *out);

/* Has a write failed? */
bool exp_out_is_failed(const struct exp_out *out);
/* Write the rest of the buffer to the file. VS_E_IO: this or an earlier write failed; `err` says why. */
VS_MUST_USE enum vs_status exp_out_finish(struct exp_out *out, struct vs_error *err);

/* These append to the buffer; write errors are kept in `failure`. Numbers are decimal. */
void exp_put(struct exp_out *out, const void *bytes, size_t len);
void exp_put_char(struct exp_out *out, char c);
void exp_put_text(struct exp_out *out, const char *text);
void exp_put_uint(struct exp_out *out, uint64_t value);
void exp_put_int(struct exp_out *out, int64_t value);
/*
 * Append `text`, with each byte that is not valid UTF-8 replaced by U+FFFD. Returns the bytes written; `out` NULL:
 * only count.
 */
size_t exp_put_utf8(struct exp_out *out, const char *text);
/* The same for the first `len` bytes of `text`. */
size_t exp_put_utf8_n(struct exp_out *out, const char *text, size_t len);
/* Append `text` as a JSON string, likewise with U+FFFD; NULL is written as null. */
void exp_put_json(struct exp_out *out, const char *text);
/* Append a further member of a JSON object: `key` unchanged, which includes its punctuation, then the value. */
void exp_put_member(struct exp_out *out, const char *key, uint64_t value);

#endif
