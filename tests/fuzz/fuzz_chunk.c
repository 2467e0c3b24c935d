/*
 * tests/fuzz/fuzz_chunk.c - decodes any columns as a chunk: they are refused, or the events are encoded and decoded
 * again as they are.
 *
 * Input: a byte that says how many events the chunk has, and one for its reference; then the columns, which are
 * compressed here, as zstd would refuse most of what is changed behind it. fuzz_trace.c does the same to the chunks of
 * a file, a hundred times slower.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS_MAX 256
#define BYTES_MAX (1 << 17)

/* Made once: making them takes longer than using them. The fuzzer gives no place for state. */
static struct sto_decoder *decoder;

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

/* What a match may refer to: events of several kinds, with ids that grow. */
static void reference_fill(struct vs_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        events[i] = (struct vs_event){
            .kind = (uint8_t)(i * 7 % VS_EVENT_KIND_COUNT),
            .location = (uint32_t)(i / 2),
            .alloc = {.block = 50 + i, .block_bytes = 512 * i, .address = 4096 * i, .tensor = 9}};
}

static bool can_be_encoded(const struct vs_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].kind >= VS_EVENT_KIND_COUNT && events[i].kind != STO_KIND_TENSOR)
            return false;
    return true;
}

/* Whether an event has the same fields: what is between them is not stored. */
static bool is_same(const struct vs_event *a, const struct vs_event *b)
{
    return a->time_ns == b->time_ns && a->location == b->location && a->kind == b->kind &&
           a->raw.a == b->raw.a && a->raw.b == b->raw.b && a->raw.c == b->raw.c &&
           a->raw.d == b->raw.d && a->raw.e == b->raw.e && a->raw.aux == b->raw.aux;
}

/* Twice, so that the second chunk has a reference. */
static void encode_again(const struct vs_event *events, size_t count)
{
    struct sto_encoder *encoder = sto_encoder_new();
    struct vs_event *got = vs_alloc(count * sizeof(*got));

    for (int64_t id = 0; id < 2; id++) {
        struct sto_encoded encoded;
        struct sto_chunk_in in;

        sto_encoder_chunk(encoder, events, count, id, true, &encoded);
        in = (struct sto_chunk_in){.bytes = encoded.bytes, .len = encoded.len};
        if (encoded.reference != STO_NO_REFERENCE) {
            in.reference = events;
            in.reference_count = count;
        }
        check(sto_decode(decoder, &in, got, count, count));
        for (size_t i = 0; i < count; i++)
            check(is_same(&got[i], &events[i]));
    }
    vs_free(got);
    sto_encoder_free(encoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t packed[BYTES_MAX];
    struct vs_event *reference;
    struct vs_event *events;
    struct sto_chunk_in in;
    struct sto_outline outline;
    size_t reference_count;
    size_t count;

    if (size < 2 || size > BYTES_MAX / 2)
        return 0;
    if (!decoder)
        decoder = sto_decoder_new();
    count = 1 + (size_t)data[0] % EVENTS_MAX;
    reference_count = data[1];
    /* each of its own, so that a read or write past its end is seen */
    reference = vs_calloc(reference_count + 1, sizeof(*reference));
    events = vs_calloc(count, sizeof(*events));
    reference_fill(reference, reference_count);
    in = (struct sto_chunk_in){.bytes = packed, .reference_count = reference_count};
    in.reference = reference_count ? reference : NULL;
    in.len = ZSTD_compress(packed, sizeof(packed), data + 2, size - 2, 1);
    check(!ZSTD_isError(in.len));
    if (sto_decode(decoder, &in, events, count, count)) {
        check(sto_outline(decoder, &in, count, &outline));
        /* making an encoder takes as long as a hundred other inputs: one in sixteen */
        if (size % 16 == 0 && can_be_encoded(events, count))
            encode_again(events, count);
    }
    vs_free(reference);
    vs_free(events);
    return 0;
}
