/*
 * tests/store/codec/test_codec.c - chunks are decoded as they were encoded, in few bytes, and damaged ones refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/mem.h"
#include "store/codec/codec.h"
#include "tests/store/codec/naive_decode.h"
#include "tests/store/sample_events.h"

/* An encoder and what it encoded, as a reader has it: chunks by id, decoded. */
#define CHUNKS_MAX 64

struct rig {
    struct sto_encoder *encoder;
    struct sto_decoder *decoder;
    struct vs_event *chunks[CHUNKS_MAX];
    size_t counts[CHUNKS_MAX];
    size_t chunk_count;
    size_t reference_count;
    size_t bytes;
};

static struct rig rig_new(void)
{
    return (struct rig){.encoder = sto_encoder_new(), .decoder = sto_decoder_new()};
}

static void rig_release(struct rig *rig)
{
    for (size_t i = 0; i < rig->chunk_count; i++)
        vs_free(rig->chunks[i]);
    sto_encoder_free(rig->encoder);
    sto_decoder_free(rig->decoder);
}

static struct sto_chunk_in in_of(const struct rig *rig, const struct sto_encoded *encoded)
{
    struct sto_chunk_in in = {.bytes = encoded->bytes, .len = encoded->len};

    if (encoded->reference != STO_NO_REFERENCE) {
        assert_in_range(encoded->reference, 0, rig->chunk_count - 1);
        in.reference = rig->chunks[encoded->reference];
        in.reference_count = rig->counts[encoded->reference];
    }
    return in;
}

static void events_compare(const struct vs_event *got, const struct vs_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &events[i], sizeof(got[i])) != 0)
            fail_msg("event %zu of %zu, of kind %d, differs", i, count, events[i].kind);
}

/* The first events of a chunk alone are those of the whole, and what is behind them is not written. */
static void beginnings_check(const struct rig *rig, const struct sto_chunk_in *in,
                             const struct vs_event *events, size_t count)
{
    const size_t wanted[] = {1, 1 + count / 3, count - count / 7};
    struct vs_event *got = vs_alloc(count * sizeof(*got));

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        memset(got, 0x5a, count * sizeof(*got));
        assert_true(sto_decode(rig->decoder, in, got, count, wanted[i]));
        events_compare(got, events, wanted[i]);
        for (size_t k = wanted[i] * sizeof(*got); k < count * sizeof(*got); k++)
            assert_int_equal(((const unsigned char *)got)[k], 0x5a);
    }
    vs_free(got);
}

/* Encode the next chunk, decode it in both ways, and compare. */
static void round_trip_check(struct rig *rig, const struct vs_event *events, size_t count)
{
    struct vs_event *got = vs_calloc(count, sizeof(*got));
    struct vs_event *naive = vs_calloc(count, sizeof(*naive));
    struct sto_encoded encoded;
    struct sto_chunk_in in;

    assert_true(rig->chunk_count < CHUNKS_MAX);
    /* as at a commit, before the chunk is complete */
    sto_encoder_chunk(rig->encoder, events, 1 + count / 2, (int64_t)rig->chunk_count, false,
                      &encoded);
    in = in_of(rig, &encoded);
    assert_true(sto_decode(rig->decoder, &in, got, 1 + count / 2, 1 + count / 2));
    events_compare(got, events, 1 + count / 2);
    sto_encoder_chunk(rig->encoder, events, count, (int64_t)rig->chunk_count, true, &encoded);
    in = in_of(rig, &encoded);
    assert_true(sto_decode(rig->decoder, &in, got, count, count));
    events_compare(got, events, count);
    assert_int_equal(naive_decode(in.bytes, in.len, in.reference, in.reference_count, naive),
                     count);
    events_compare(naive, events, count);
    beginnings_check(rig, &in, events, count);
    vs_free(naive);
    rig->bytes += encoded.len;
    rig->reference_count += encoded.reference != STO_NO_REFERENCE;
    rig->counts[rig->chunk_count] = count;
    rig->chunks[rig->chunk_count++] = got;
}

static void random_events_are_decoded_as_they_were_encoded(void **state)
{
    static const size_t counts[] = {1, 2, 3, 17, 127, 129, 1000, 5000, STO_CHUNK_EVENTS_MAX};
    struct sample_random rnd = {20250101};
    struct vs_event *events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*events));

    (void)state;
    for (int round = 0; round < 8; round++) {
        struct rig rig = rig_new();

        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) - (round > 2); i++) {
            sample_events_wild(&rnd, events, counts[i]);
            round_trip_check(&rig, events, counts[i]);
        }
        rig_release(&rig);
    }
    vs_free(events);
}

/* Steps of `per_step` events each; the ids of a step are higher than those before, the parameters stay. */
static void steps_make(struct vs_event *events, size_t count, size_t per_step, uint64_t jitter)
{
    memset(events, 0, count * sizeof(*events));
    for (size_t i = 0; i < count; i++) {
        struct vs_event *e = &events[i];
        uint64_t step = i / per_step;
        uint64_t in_step = i % per_step;
        uint64_t block = 100 + step * per_step + in_step;

        e->time_ns = 1000 * i + i * i % 100;
        e->location = 1 + (uint32_t)(in_step % 3001);
        if (in_step == 0) {
            e->kind = VS_EV_STEP;
            e->step.number_plus_one = step + 1;
        } else if (in_step % 4 == 1) {
            e->kind = VS_EV_USE;
            e->use.block = 1 + in_step % 90; /* a parameter */
            e->use.tensor = 1 + in_step % 80;
            e->use.op = in_step % 7;
        } else if (in_step % 4 == 2) {
            e->kind = VS_EV_SAVE;
            e->save.block = block - 1;
            e->save.tensor = block + 1000;
            e->save.node = step * 50 + in_step % 50 + 1;
        } else {
            e->kind = in_step % 4 == 3 ? VS_EV_ALLOC : VS_EV_FREE;
            e->alloc.block = block - (in_step % 4 == 0);
            e->alloc.requested_bytes = 4096 * (in_step % 31);
            e->alloc.block_bytes = 4096 * (in_step % 31) + 512;
            e->alloc.address = 512 * (in_step + jitter * (i * i % 977));
        }
    }
}

static void repeated_steps_refer_to_an_earlier_chunk(void **state)
{
    const size_t per_step = 2 * (size_t)STO_CHUNK_EVENTS_MAX;
    const size_t count = 20 * per_step;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct rig rig = rig_new();

    (void)state;
    steps_make(events, count, per_step, 0);
    for (size_t i = 0; i < count; i += STO_CHUNK_EVENTS_MAX)
        round_trip_check(&rig, events + i, STO_CHUNK_EVENTS_MAX);
    /* the set-up ids settle in the first steps */
    if (rig.reference_count < rig.chunk_count - 8)
        fail_msg("%zu of %zu chunks have a reference", rig.reference_count, rig.chunk_count);
    /* about a byte is the time */
    if (rig.bytes > 2 * count)
        fail_msg("%zu bytes for %zu events", rig.bytes, count);
    rig_release(&rig);
    vs_free(events);
}

static void blocks_at_other_addresses_are_patches(void **state)
{
    const size_t per_step = STO_CHUNK_EVENTS_MAX;
    const size_t count = 10 * per_step;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct rig rig = rig_new();

    (void)state;
    steps_make(events, count, per_step, 1);
    for (size_t i = 0; i < count; i += STO_CHUNK_EVENTS_MAX)
        round_trip_check(&rig, events + i, STO_CHUNK_EVENTS_MAX);
    if (rig.reference_count < rig.chunk_count - 5)
        fail_msg("%zu of %zu chunks have a reference", rig.reference_count, rig.chunk_count);
    rig_release(&rig);
    vs_free(events);
}

static void a_training_run_takes_few_bytes_per_event(void **state)
{
    struct sample_random rnd = {7};
    size_t count = STO_CHUNK_EVENTS_MAX;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct rig rig = rig_new();

    (void)state;
    sample_events_training(&rnd, events, count);
    round_trip_check(&rig, events, count);
    if (rig.bytes > 7 * count)
        fail_msg("%zu bytes for %zu events", rig.bytes, count);
    rig_release(&rig);
    vs_free(events);
}

/* Chunks with the same hash are taken for the same events, but for times, numbers of steps, and ids. */
static void the_outline_of_a_copy_depends_on_its_step(void **state)
{
    static const uint32_t LOCATIONS[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7};
    const size_t count = STO_CHUNK_EVENTS_MAX;
    const size_t steps = sizeof(LOCATIONS) / sizeof(LOCATIONS[0]);
    struct vs_event *events = vs_alloc(steps * count * sizeof(*events));
    struct sto_outline outlines[sizeof(LOCATIONS) / sizeof(LOCATIONS[0])];
    struct rig rig = rig_new();

    (void)state;
    steps_make(events, steps * count, count, 0);
    for (size_t i = 0; i < steps; i++) {
        struct sto_encoded encoded;
        struct sto_chunk_in in;

        events[i * count].location = LOCATIONS[i];
        sto_encoder_chunk(rig.encoder, events + i * count, count, (int64_t)i, true, &encoded);
        in = (struct sto_chunk_in){.bytes = encoded.bytes, .len = encoded.len};
        assert_true(sto_outline(rig.decoder, &in, count, &outlines[i]));
    }
    for (size_t i = steps - 3; i < steps; i++)
        if (!outlines[i].is_copy)
            fail_msg("chunk %zu is no copy", i);
    assert_true(outlines[steps - 2].hash == outlines[steps - 3].hash);
    assert_true(outlines[steps - 1].hash != outlines[steps - 2].hash);
    rig_release(&rig);
    vs_free(events);
}

/* Change a byte of what was compressed, as no checksum finds it, or the length, or the reference. */
static void damaged_chunks_are_refused_or_decoded_within_bounds(void **state)
{
    struct sample_random rnd = {99};
    const size_t plain_max = 1 << 20;
    const size_t count = 600;
    struct vs_event *events = vs_alloc(3 * count * sizeof(*events));
    struct vs_event *got = vs_alloc(count * sizeof(*got));
    uint8_t *plain = vs_alloc(plain_max);
    uint8_t *bytes = vs_alloc(plain_max);
    struct rig rig = rig_new();
    struct sto_encoded encoded;
    struct sto_chunk_in in;
    size_t len;
    int refused = 0;

    (void)state;
    steps_make(events, 3 * count, count, 1);
    round_trip_check(&rig, events, count);
    round_trip_check(&rig, events + count, count);
    sto_encoder_chunk(rig.encoder, events + 2 * count, count, 2, false, &encoded);
    in = in_of(&rig, &encoded);
    assert_non_null(in.reference);
    len = ZSTD_decompress(plain, plain_max, in.bytes, in.len);
    assert_false(ZSTD_isError(len));
    for (int round = 0; round < 20000; round++) {
        size_t at = (size_t)sample_random_below(&rnd, round % 2 ? len : 120);
        uint8_t old = plain[at];
        struct sto_chunk_in changed = in;
        size_t cut = round % 16 ? len : (size_t)sample_random_below(&rnd, len);

        plain[at] = (uint8_t)sample_random_next(&rnd);
        changed.len = ZSTD_compress(bytes, plain_max, plain, cut, 1);
        changed.bytes = bytes;
        if (round % 32 == 1)
            changed.reference_count = (size_t)sample_random_below(&rnd, count);
        if (round % 32 == 3)
            changed.len = (size_t)sample_random_below(&rnd, changed.len);
        refused += !sto_decode(rig.decoder, &changed, got, count, count);
        plain[at] = old;
    }
    if (refused < 4000 || refused > 18000)
        fail_msg("%d of 20000 refused", refused);
    assert_false(sto_decode(rig.decoder, &in, got, count - 1, count - 1));
    assert_false(sto_decode(rig.decoder, &in, got, count + 1, count + 1));
    rig_release(&rig);
    vs_free(bytes);
    vs_free(plain);
    vs_free(got);
    vs_free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_are_decoded_as_they_were_encoded),
        cmocka_unit_test(repeated_steps_refer_to_an_earlier_chunk),
        cmocka_unit_test(blocks_at_other_addresses_are_patches),
        cmocka_unit_test(a_training_run_takes_few_bytes_per_event),
        cmocka_unit_test(the_outline_of_a_copy_depends_on_its_step),
        cmocka_unit_test(damaged_chunks_are_refused_or_decoded_within_bounds),
    };

    return cmocka_run_group_tests_name("store/codec", tests, NULL, NULL);
}
