/*
 * replay/squeeze.h - bytes that repeat themselves, in fewer bytes.
 *
 * For:            replay/trace/events_pack.c: layers and steps that are alike.
 * Must not know:  what the bytes mean; files.
 * Invariant:      what comes out is what went in. Nothing of this is stored: another version may do it otherwise.
 *
 * Pieces that occurred among the last 64 KiB before are told as how far back and how long; everything else as it is.
 */
#ifndef RPL_SQUEEZE_H
#define RPL_SQUEEZE_H

#include <stddef.h>
#include <stdint.h>

#include "replay/trace/pack.h"

/* Add what `len` bytes become to `out`: never more than by one byte in 200 longer, and a few. */
void rpl_squeeze(const uint8_t *bytes, size_t len, struct rpl_pack *out);
/* Back again: `len` is what went in, for which `out` has room. The bytes are those of rpl_squeeze (asserted). */
void rpl_unsqueeze(const uint8_t *bytes, size_t squeezed, uint8_t *out, size_t len);

#endif
