/*
 * store/codec/codec.h - encodes the events of a chunk as a short byte string, and decodes it.
 *
 * For:            store/writer.c, store/chunk.c.
 * Must not know:  SQLite, files.
 * Invariant:      decoding returns exactly the encoded events (with zero padding). docs/formats/trace-format.md
 *                 describes the bytes exactly enough to write another decoder.
 *
 * A chunk is a sequence of consecutive events. The steps of a training run are the same events again, with ids of
 * blocks, tensors and nodes that are higher by the same amount. So most events are stored as matches: so many events
 * from a position on are those of an earlier position, the ids increased. The earlier position is in the same chunk or
 * in one other chunk, its reference. The remaining events, the literals, are stored by field. Times are stored as
 * differences of consecutive events. zstd compresses all of it.
 */
#ifndef STO_CODEC_H
#define STO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/* Events in a full chunk. Larger chunks compress better, smaller chunks make random access cheaper. */
#ifdef VS_STRESS
#define STO_CHUNK_EVENTS 64
#else
#define STO_CHUNK_EVENTS 16384
#endif

/* Maximum length of a chunk in any trace. */
#define STO_CHUNK_EVENTS_MAX 16384

/* Ids in the file: block = chunk * STO_BLOCK_IDS + kind. */
#define STO_BLOCK_IDS 64

/*
 * Tensors are encoded like events, in chunks of their own whose events all have this kind. Location is the shape, a the
 * block, c the name, d the offset, e the id.
 */
#define STO_KIND_TENSOR 63

/* The reference of a chunk that has none. */
#define STO_NO_REFERENCE (-1)

/*
 * An encoded chunk.
 *
 * reference  the id of its reference, as given to sto_encoder_chunk(); STO_NO_REFERENCE: it has none
 * bytes      borrowed from the encoder until its next call
 */
struct sto_encoded {
    int64_t reference;
    const uint8_t *bytes;
    size_t len;
};

struct sto_encoder;

/* An encoder keeps up to 16 chunks as possible references, 1.2 MiB each. */
struct sto_encoder *sto_encoder_new(void) VS_MUST_USE;
void sto_encoder_free(struct sto_encoder *encoder);

/*
 * Encode the `count` events that follow those of the last complete chunk, 1 <= count <= STO_CHUNK_EVENTS_MAX; their
 * kinds are below VS_EVENT_KIND_COUNT, or STO_KIND_TENSOR.
 *
 * id           what later chunks may name as their reference, >= 0
 * is_complete  false: the same events, with more behind them, will be encoded again
 *
 * Costs some 15 ns an event in a run whose steps repeat, 100 ns in others.
 */
void sto_encoder_chunk(struct sto_encoder *encoder, const struct vs_event *events, size_t count,
                       int64_t id, bool is_complete, struct sto_encoded *out);

struct sto_decoder;

struct sto_decoder *sto_decoder_new(void) VS_MUST_USE;
void sto_decoder_free(struct sto_decoder *decoder);

/* What a chunk is decoded from: its bytes, and the decoded events of its reference; NULL and 0 if it has none. */
struct sto_chunk_in {
    const uint8_t *bytes;
    size_t len;
    const struct vs_event *reference;
    size_t reference_count;
};

/*
 * Decode the first `wanted` events of a chunk of exactly `count`, 1 <= wanted <= count <= STO_CHUNK_EVENTS_MAX, into
 * `out`. Costs some 10 ns an event, and the decompression of all.
 *
 * False: the bytes are damaged, as far as these events are made of them; the contents of `out` are undefined then.
 * Kinds are not checked: they are below STO_BLOCK_IDS.
 */
VS_MUST_USE bool sto_decode(struct sto_decoder *decoder, const struct sto_chunk_in *in,
                            struct vs_event *out, size_t count, size_t wanted);

/* ---- what a chunk is, without its events ---- */

/* Sorts of ids that increase with time: of blocks, tensors and nodes. */
#define STO_IDS_SHIFTED 3

/*
 * is_copy   the chunk is that part of its reference that `hash` says, with other ids and times: all events follow from
 *           one match, except that the first may be a `step`
 * hash      which part, which sizes and addresses differ, the `step` but for its number, the limits; equal for equal
 *           ones of the same reference
 * limit, shift  ids above the limit are those of the reference plus the shift: of blocks, tensors, nodes
 */
struct sto_outline {
    bool is_copy;
    uint64_t hash;
    uint64_t limit[STO_IDS_SHIFTED];
    uint64_t shift[STO_IDS_SHIFTED];
};

/* Read the outline of a chunk of `count` events; its reference is not needed. False: the bytes are damaged. */
VS_MUST_USE bool sto_outline(struct sto_decoder *decoder, const struct sto_chunk_in *in,
                             size_t count, struct sto_outline *out);

/* Which ids the fields raw.a, raw.b, raw.c and raw.e are: 0: none, otherwise 1 plus the index of the sort. */
void sto_event_ids(const struct vs_event *event, uint8_t sorts[4]);

#endif
