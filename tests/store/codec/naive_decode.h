/*
 * tests/store/codec/naive_decode.h - decodes a chunk as docs/formats/trace-format.md describes it.
 *
 * Must not know:  store/codec/: it shares no code with it.
 */
#ifndef TESTS_STORE_CODEC_NAIVE_DECODE_H
#define TESTS_STORE_CODEC_NAIVE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"

/*
 * Decode `len` bytes of event_chunk.data into `out`, which has space for the chunk's events; `reference`: the events of
 * the chunk that event_chunk.reference names. Returns their number. Fails the running test where they are no chunk.
 */
size_t naive_decode(const uint8_t *bytes, size_t len, const struct vs_event *reference,
                    size_t reference_count, struct vs_event *out);

#endif
