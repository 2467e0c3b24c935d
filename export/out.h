/*
 * export/out.h - what an export writes through: bytes, numbers and texts into a FILE, whose first failure is kept.
 *
 * For:            every format.
 * Must not know:  formats.
 * Invariant:      after a failed write nothing more is written; whoever loops over events asks exp_out_is_failed now and then.
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

/* file: borrowed. failure: errno of the first write that failed. */
struct exp_out {
    FILE *file;
    size_t len;
    int failure;
    char bytes[EXP_OUT_BYTES];
};

/* The caller frees it; what is still in it is lost without exp_out_finish. */
struct exp_out *exp_out_new(FILE *file) VS_MUST_USE;
void exp_out_free(struct exp_out *out);

bool exp_out_is_failed(const struct exp_out *out);
/* Everything that was put is in the file. VS_E_IO: it is not; `err` says why. */
VS_MUST_USE enum vs_status exp_out_finish(struct exp_out *out, struct vs_error *err);

void exp_put(struct exp_out *out, const void *bytes, size_t len);
void exp_put_char(struct exp_out *out, char c);
void exp_put_text(struct exp_out *out, const char *text);
void exp_put_uint(struct exp_out *out, uint64_t value);
void exp_put_int(struct exp_out *out, int64_t value);
/* The text where it is UTF-8, U+FFFD for each byte that is not. Returns the bytes that it has become; `out` NULL: only counts. */
size_t exp_put_utf8(struct exp_out *out, const char *text);
/* The same of its first `len` bytes. */
size_t exp_put_utf8_n(struct exp_out *out, const char *text, size_t len);
/* The same in quotes, as JSON has it. NULL is null. */
void exp_put_json(struct exp_out *out, const char *text);
/* "…:digits", for members after another: `key` is written as it is. */
void exp_put_member(struct exp_out *out, const char *key, uint64_t value);

#endif
