/*
 * base/bytes.h - checked arithmetic on byte counts, and byte counts as text.
 *
 * For:            sizes, addresses, offsets: everything that is a uint64_t of bytes.
 * Must not know:  what the bytes are for.
 * Invariant:      a result that does not fit is reported and never wraps around.
 */
#ifndef VS_BASE_BYTES_H
#define VS_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/*
 * Sets *out to a + b, or to a * b. Returns false, and leaves *out alone, if the result does not fit in 64 bits.
 */
VS_MUST_USE bool vs_bytes_add(uint64_t a, uint64_t b, uint64_t *out);
VS_MUST_USE bool vs_bytes_mul(uint64_t a, uint64_t b, uint64_t *out);

/*
 * Rounds `n` up to a multiple of `quantum` (not 0). The caller makes sure that the result fits in 64 bits.
 */
uint64_t vs_bytes_round_up(uint64_t n, uint64_t quantum);

/*
 * Formats `n` in binary units, rounded to nearest, with one decimal, from GiB on with two: "512 B", "8.1 MiB",
 * "1.23 GiB".
 * `buf` must have at least VS_BYTES_TEXT_MAX bytes. Returns buf.
 */
#define VS_BYTES_TEXT_MAX 32
const char *vs_bytes_text(uint64_t n, char *buf);
/* The same with a sign: "+8.1 MiB", "-512 B", "0 B". */
const char *vs_bytes_delta_text(int64_t n, char *buf);
/* All digits, with thousands separators: "1,229,753,640". */
const char *vs_bytes_exact_text(uint64_t n, char *buf);

/*
 * Formats by how much `after` is more than `before`, which is not 0, in percent, with one decimal: "+8.1 %", "-22.1 %".
 * A change that this would show as zero has two decimals, "-0.01 %", or is "<0.01 %"; "+0.0 %" is no change.
 * `buf` must have at least VS_CHANGE_TEXT_MAX bytes. Returns buf.
 */
#define VS_CHANGE_TEXT_MAX 32
const char *vs_change_text(double before, double after, char *buf);

/*
 * Parses a size as a user types it: "8G", "512M", "20MiB", "1.5GB", "4096". K/M/G/T, KiB/MiB/GiB/TiB and KB/MB/GB/TB
 * are all powers of 1024, as in the output of CUDA's tools. Returns false if `text` is no size, or if the size does
 * not fit in 64 bits.
 */
VS_MUST_USE bool vs_bytes_parse(const char *text, uint64_t *out);

/*
 * The distance of a scale's ticks that are at least `least` bytes apart, at round figures: 1, 2, 2.5 or 5 times a power
 * of ten of a binary unit. unit, letter: that unit in bytes, and as 'B', 'K', 'M'.
 */
double vs_bytes_tick(double least, double *unit, char *letter);

#endif
