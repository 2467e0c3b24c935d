/*
 * tests/store/codec/test_matches.c - what the encoder finds: no fewer events are matched than these, in no more pieces,
 * and what it writes is decoded as it was.
 *
 * A worse choice of matches is decoded as well as a better one, so only these figures tell one from the other.
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
#include "store/codec/codec_internal.h"
#include "tests/store/sample_events.h"

#define CHUNKS_MAX 160
#define CHUNK 2000
#define PLAIN_MAX ((size_t)4 << 20)

/* Sums over the chunks of a run. plain: bytes before they are compressed. references: chunks that have one. */
struct found {
    uint64_t matches;
    uint64_t patches;
    uint64_t literals;
    uint64_t plain;
    uint64_t references;
};

struct rig {
    struct sto_encoder *encoder;
    struct sto_decoder *decoder;
    struct vs_event *chunks[CHUNKS_MAX];
    size_t counts[CHUNKS_MAX];
    size_t chunk_count;
    uint8_t *plain;
    struct found found;
};

static struct rig rig_new(void)
{
    return (struct rig){
        .encoder = sto_encoder_new(), .decoder = sto_decoder_new(), .plain = vs_alloc(PLAIN_MAX)};
}

static void rig_release(struct rig *rig)
{
    for (size_t i = 0; i < rig->chunk_count; i++)
        vs_free(rig->chunks[i]);
    sto_encoder_free(rig->encoder);
    sto_decoder_free(rig->decoder);
    vs_free(rig->plain);
}

/* A column of the decompressed bytes. */
static void column(const uint8_t **at, size_t count, uint64_t *out)
{
    const size_t width = *(*at)++;

    for (size_t i = 0; i < count; i++) {
        uint64_t n = 0;

        for (size_t k = 0; k < width; k++)
            n |= (uint64_t)(*at)[k * count + i] << 8 * k;
        if (out)
            out[i] = n;
    }
    *at += width * count;
}

static void found_add(struct rig *rig, const struct sto_encoded *encoded)
{
    const size_t len = ZSTD_decompress(rig->plain, PLAIN_MAX, encoded->bytes, encoded->len);
    uint64_t *lens = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*lens));
    uint64_t head[STO_HEAD_COUNT];
    const uint8_t *at = rig->plain;
    uint64_t matched = 0;

    assert_false(ZSTD_isError(len));
    column(&at, STO_HEAD_COUNT, head);
    column(&at, (size_t)head[STO_HEAD_MATCHES], NULL);
    column(&at, (size_t)head[STO_HEAD_MATCHES], lens);
    for (uint64_t m = 0; m < head[STO_HEAD_MATCHES]; m++)
        matched += lens[m];
    vs_free(lens);
    rig->found.matches += head[STO_HEAD_MATCHES];
    rig->found.patches += head[STO_HEAD_PATCHES];
    rig->found.literals += head[STO_HEAD_EVENTS] - matched;
    rig->found.plain += len;
    rig->found.references += encoded->reference != STO_NO_REFERENCE;
}

/* Encode a complete chunk, from memory that ends with it, and decode it. */
static void chunk_add(struct rig *rig, const struct vs_event *events, size_t count)
{
    struct vs_event *got = vs_calloc(count, sizeof(*got));
    struct vs_event *alone = vs_alloc(count * sizeof(*alone));
    struct sto_encoded encoded;
    struct sto_chunk_in in;

    assert_true(rig->chunk_count < CHUNKS_MAX);
    memcpy(alone, events, count * sizeof(*alone));
    sto_encoder_chunk(rig->encoder, alone, count, (int64_t)rig->chunk_count, true, &encoded);
    vs_free(alone);
    in = (struct sto_chunk_in){.bytes = encoded.bytes, .len = encoded.len};
    if (encoded.reference != STO_NO_REFERENCE) {
        in.reference = rig->chunks[encoded.reference];
        in.reference_count = rig->counts[encoded.reference];
    }
    assert_true(sto_decode(rig->decoder, &in, got, count, count));
    assert_memory_equal(got, events, count * sizeof(*got));
    found_add(rig, &encoded);
    rig->counts[rig->chunk_count] = count;
    rig->chunks[rig->chunk_count++] = got;
}

static void at_most(const struct found *found, const struct found *limit)
{
    if (found->matches > limit->matches || found->patches > limit->patches ||
        found->literals > limit->literals || found->plain > limit->plain ||
        found->references < limit->references)
        fail_msg("{%llu, %llu, %llu, %llu, %llu}", (unsigned long long)found->matches,
                 (unsigned long long)found->patches, (unsigned long long)found->literals,
                 (unsigned long long)found->plain, (unsigned long long)found->references);
}

/*
 * A step of `count` events, number `step`. mode: which of several sequences of locations it has. noise: of so many
 * events one has a location of its own; 0: none. moved: of so many blocks one has another address than in other steps.
 */
struct shape {
    size_t count;
    uint64_t mode;
    uint64_t noise;
    uint64_t moved;
};

static void step_make(struct vs_event *out, const struct shape *shape, uint64_t step,
                      struct sample_random *rnd)
{
    const uint64_t base = 1000 + step * shape->count;

    memset(out, 0, shape->count * sizeof(*out));
    for (size_t i = 0; i < shape->count; i++) {
        struct vs_event *e = &out[i];

        e->time_ns = 1000 * (step * shape->count + i) + sample_random_below(rnd, 50);
        e->location = (uint32_t)(1 + shape->mode * 10000 + i % 701);
        if (i == 0) {
            e->kind = VS_EV_STEP;
            e->step.number_plus_one = step + 1;
        } else if (i % 4 == 1) {
            e->kind = VS_EV_USE; /* of a parameter */
            e->use.block = 1 + i % 90;
            e->use.tensor = 1 + i % 80;
        } else if (i % 4 == 2) {
            e->kind = VS_EV_SAVE;
            e->save.block = base + i - 1;
            e->save.tensor = base + i + 5000;
            e->save.node = base + i / 4;
        } else {
            const bool is_moved = shape->moved && sample_random_below(rnd, shape->moved) == 0;

            e->kind = i % 4 == 3 ? VS_EV_ALLOC : VS_EV_FREE;
            e->alloc.block = base + i - (i % 4 == 0);
            e->alloc.requested_bytes = 4096 * (i % 31);
            e->alloc.block_bytes = 4096 * (i % 31) + 512;
            e->alloc.address = 512 * i + (is_moved ? sample_random_below(rnd, 1 << 20) : 0);
        }
        if (shape->noise && sample_random_below(rnd, shape->noise) == 0)
            e->location = 500000 + (uint32_t)sample_random_below(rnd, 100000);
    }
}

/* Steps, of modes in turn, in chunks of CHUNK events. */
static struct found run(struct shape shape, uint64_t modes, uint64_t chunks)
{
    const size_t count = CHUNK * (size_t)chunks;
    struct vs_event *events = vs_alloc((count + shape.count) * sizeof(*events));
    struct sample_random rnd = {2718};
    struct rig rig = rig_new();
    struct found found;

    for (size_t at = 0, step = 0; at < count; at += shape.count, step++) {
        shape.mode = step % modes;
        step_make(events + at, &shape, step, &rnd);
    }
    for (size_t at = 0; at < count; at += CHUNK)
        chunk_add(&rig, events + at, CHUNK);
    found = rig.found;
    rig_release(&rig);
    vs_free(events);
    return found;
}

static void short_steps_match_within_their_chunk(void **state)
{
    const struct found found = run((struct shape){.count = 250}, 1, 12);

    (void)state;
    at_most(&found, &(struct found){87, 0, 2337, 61068, 10});
}

static void steps_of_several_chunks_match_those_of_earlier_ones(void **state)
{
    const struct found found = run((struct shape){.count = 3 * CHUNK}, 1, 40);

    (void)state;
    at_most(&found, &(struct found){30, 0, 20010, 394245, 30});
}

static void single_events_between_parts_of_a_match_are_literals(void **state)
{
    struct found found = run((struct shape){.count = CHUNK, .noise = 60}, 1, 20);

    (void)state;
    at_most(&found, &(struct found){858, 0, 9159, 196369, 16});
    found = run((struct shape){.count = 400, .noise = 12}, 1, 20);
    at_most(&found, &(struct found){2652, 0, 14603, 326612, 2});
}

static void blocks_at_other_addresses_are_patches(void **state)
{
    const struct found found = run((struct shape){.count = 700, .noise = 90, .moved = 5}, 1, 20);

    (void)state;
    at_most(&found, &(struct found){762, 6457, 3283, 131006, 18});
}

/* More modes than an encoder keeps, some of them often enough that a key is used up. */
static void several_kinds_of_steps_have_a_key_each(void **state)
{
    struct found found = run((struct shape){.count = CHUNK}, 5, 150);

    (void)state;
    at_most(&found, &(struct found){142, 0, 16142, 551671, 142});
    found = run((struct shape){.count = CHUNK, .noise = 200}, 17, 60);
    at_most(&found, &(struct found){0, 0, 120000, 2226920, 0});
    found = run((struct shape){.count = CHUNK + 77, .moved = 40}, 3, 60);
    at_most(&found, &(struct found){58, 1360, 65487, 1269889, 30});
}

static void a_run_that_repeats_little_takes_literals(void **state)
{
    const size_t count = 8 * CHUNK;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct sample_random rnd = {31};
    struct rig rig = rig_new();

    (void)state;
    sample_events_training(&rnd, events, count);
    for (size_t at = 0; at < count; at += CHUNK)
        chunk_add(&rig, events + at, CHUNK);
    at_most(&rig.found, &(struct found){0, 0, 16000, 302344, 0});
    rig_release(&rig);
    vs_free(events);
}

/* Of four events that follow from earlier ones the last differs in one field: it is no part of the match. */
static void an_event_that_differs_in_any_field_is_not_matched(void **state)
{
    struct vs_event first = {.kind = VS_EV_SAVE, .location = 7};
    struct vs_event others[7];
    struct vs_event events[64];

    (void)state;
    first.save.block = first.save.tensor = first.save.node = 5;
    for (int i = 0; i < 7; i++)
        others[i] = first;
    others[0].location++;
    others[1].raw.a++;
    others[2].raw.b++;
    others[3].raw.c++;
    others[4].raw.d++;
    others[5].raw.e++;
    others[6].raw.aux++;
    for (int i = 0; i < 7; i++) {
        struct rig rig = rig_new();

        for (int k = 0; k < 64; k++)
            events[k] = k % 8 == 7 && k > 40 ? others[i] : first;
        chunk_add(&rig, events, 64);
        chunk_add(&rig, events, 64);
        rig_release(&rig);
    }
}

/* Events that follow from each other as they are, each with a location of its own. */
static void located(struct vs_event *out, size_t count, uint32_t first)
{
    memset(out, 0, count * sizeof(*out));
    for (size_t i = 0; i < count; i++)
        out[i] = (struct vs_event){.kind = VS_EV_HOLD, .location = first + (uint32_t)i};
}

/* A key takes the place of a longer one, whose last events are still in memory behind it: no match goes on there. */
static void a_match_ends_where_its_key_ends(void **state)
{
    enum { LONG = 4000, SHORT = 2000, OTHERS = 15, FROM = 500, MORE = 100 };
    struct vs_event *first = vs_alloc(LONG * sizeof(*first));
    struct vs_event *events = vs_alloc(LONG * sizeof(*events));
    struct rig rig = rig_new();

    (void)state;
    located(first, LONG, 1);
    chunk_add(&rig, first, LONG);
    for (uint32_t i = 1; i <= OTHERS; i++) {
        located(events, 64, 100000 * i);
        chunk_add(&rig, events, 64);
    }
    located(events, SHORT, 50000);
    chunk_add(&rig, events, SHORT);
    memmove(events, events + FROM, (SHORT - FROM) * sizeof(*events));
    memcpy(events + SHORT - FROM, first + SHORT, MORE * sizeof(*events));
    chunk_add(&rig, events, SHORT - FROM + MORE);
    assert_int_equal(rig.found.references, 1);
    rig_release(&rig);
    vs_free(first);
    vs_free(events);
}

/* The head has numbers of a byte, and the columns none: a step of 0 has no byte. */
static void an_event_alone_takes_a_few_bytes(void **state)
{
    const struct vs_event event = {.kind = VS_EV_STEP};
    struct rig rig = rig_new();

    (void)state;
    chunk_add(&rig, &event, 1);
    at_most(&rig.found, &(struct found){0, 0, 1, 28, 0});
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_steps_match_within_their_chunk),
        cmocka_unit_test(steps_of_several_chunks_match_those_of_earlier_ones),
        cmocka_unit_test(single_events_between_parts_of_a_match_are_literals),
        cmocka_unit_test(blocks_at_other_addresses_are_patches),
        cmocka_unit_test(several_kinds_of_steps_have_a_key_each),
        cmocka_unit_test(a_run_that_repeats_little_takes_literals),
        cmocka_unit_test(an_event_that_differs_in_any_field_is_not_matched),
        cmocka_unit_test(a_match_ends_where_its_key_ends),
        cmocka_unit_test(an_event_alone_takes_a_few_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
