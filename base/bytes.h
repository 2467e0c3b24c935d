/*
 * base/bytes.h - checked arithmetic on byte counts, and how they are written for people.
 *
 * For:            sizes, addresses, offsets: everything that is a uint64_t of bytes.
 * Must not know:  what the bytes are for.
 * Invariant:      a result that does not fit is reported, never wrapped.
 */
#ifndef VS_BASE_BYTES_H
#define VS_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* *out = a + b, a * b. False, and *out untouched, where the result does not fit in 64 bits. */
VS_MUST_USE bool vs_bytes_add(uint64_t a, uint64_t b, uint64_t *out);
VS_MUST_USE bool vs_bytes_mul(uint64_t a, uint64_t b, uint64_t *out);

/* `n` rounded up to a multiple of `quantum` (not 0). The caller knows that it fits. */
uint64_t vs_bytes_round_up(uint64_t n, uint64_t quantum);

/*
 * `n` for people: "512 B", "8.1 MiB", "1.2 GiB" (binary units, one decimal from KiB on, rounded to nearest).
 * `buf` has at least VS_BYTES_TEXT_MAX bytes; returns buf.
 */
#define VS_BYTES_TEXT_MAX 32
const char *vs_bytes_text(uint64_t n, char *buf);
/* With a sign: "+8.1 MiB", "-512 B", "0 B". */
const char *vs_bytes_delta_text(int64_t n, char *buf);
/* With thousands separators: "1,229,753,640". */
const char *vs_bytes_exact_text(uint64_t n, char *buf);

/*
 * Read a size as a user types it: "8G", "512M", "20MiB", "1.5GB", "4096". K/M/G/T and KiB/MiB/GiB/TiB and KB/MB/GB/TB are
 * all powers of 1024, as CUDA's tools print them. False where `text` is nothing of the kind or does not fit.
 */
VS_MUST_USE bool vs_bytes_parse(const char *text, uint64_t *out);

#endif
