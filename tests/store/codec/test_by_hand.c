/*
 * tests/store/codec/test_by_hand.c - chunks whose columns are written here: what is just within the limits is decoded,
 * what is just beyond them is refused.
 *
 * Each chunk is of 4 events, or of as many as its head says, and refers to another of 4.
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

#define EVENTS 4
#define NUMBERS_MAX 8
#define PLAIN_MAX 1024
/* What column() is given as a width: as many bytes as the numbers need. */
#define AS_NEEDED (-1)

/* The columns of a chunk, in the order of the format. more: bytes behind the last column; first_width: of the head. */
struct columns {
    uint64_t head[STO_HEAD_COUNT];
    uint64_t matches[STO_MATCH_COLUMNS][NUMBERS_MAX];
    uint64_t patches[STO_PATCH_COLUMNS][NUMBERS_MAX];
    uint64_t kinds[NUMBERS_MAX];
    uint64_t literals[STO_LITERAL_COLUMNS][NUMBERS_MAX];
    uint64_t times[NUMBERS_MAX];
    size_t literal_count;
    size_t more;
    int first_width;
};

struct plain {
    uint8_t bytes[PLAIN_MAX];
    size_t len;
};

static void column(struct plain *out, const uint64_t *numbers, size_t count, int width)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < count; i++)
        bits |= numbers[i];
    if (width == AS_NEEDED)
        for (width = 0; width < 8 && bits >> 8 * width;)
            width++;
    out->bytes[out->len++] = (uint8_t)width;
    for (int k = 0; k < width; k++)
        for (size_t i = 0; i < count; i++)
            out->bytes[out->len++] = (uint8_t)(k < 8 ? numbers[i] >> 8 * k : 0);
    assert_true(out->len < PLAIN_MAX - 64);
}

static struct plain plain_of(const struct columns *c)
{
    struct plain plain = {.len = 0};
    const size_t matches = (size_t)c->head[STO_HEAD_MATCHES];
    const size_t patches = (size_t)c->head[STO_HEAD_PATCHES];

    column(&plain, c->head, STO_HEAD_COUNT, c->first_width);
    for (int i = 0; i < STO_MATCH_COLUMNS; i++)
        column(&plain, c->matches[i], matches, AS_NEEDED);
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        column(&plain, c->patches[i], patches < NUMBERS_MAX ? patches : 0, AS_NEEDED);
    column(&plain, c->kinds, c->literal_count, AS_NEEDED);
    for (int i = 0; i < STO_LITERAL_COLUMNS; i++)
        column(&plain, c->literals[i], c->literal_count, AS_NEEDED);
    column(&plain, c->times, (size_t)c->head[STO_HEAD_EVENTS] - 1, AS_NEEDED);
    plain.len += c->more;
    return plain;
}

/* A decoder, the events of the reference, and what was decoded: memory of its own, so that no write goes past it. */
struct rig {
    struct sto_decoder *decoder;
    struct vs_event *reference;
    struct vs_event *out;
};

static struct rig rig_new(void)
{
    struct rig rig = {.decoder = sto_decoder_new()};

    rig.reference = vs_calloc(EVENTS, sizeof(*rig.reference));
    rig.out = vs_calloc(EVENTS, sizeof(*rig.out));
    for (uint64_t i = 0; i < EVENTS; i++)
        rig.reference[i] = (struct vs_event){
            .kind = VS_EV_ALLOC,
            .location = (uint32_t)(10 + i),
            .alloc = {.block = 100 + i, .block_bytes = 512 * (i + 1), .address = 4096 * i}};
    return rig;
}

static void rig_release(struct rig *rig)
{
    sto_decoder_free(rig->decoder);
    vs_free(rig->reference);
    vs_free(rig->out);
}

/* Compressed, and in memory that ends where it ends. */
static struct sto_chunk_in in_of(const struct rig *rig, const struct plain *plain)
{
    const size_t max = ZSTD_compressBound(plain->len);
    uint8_t *bytes = vs_alloc(max);

    return (struct sto_chunk_in){.bytes = bytes,
                                 .len = ZSTD_compress(bytes, max, plain->bytes, plain->len, 1),
                                 .reference = rig->reference,
                                 .reference_count = EVENTS};
}

static bool decode(struct rig *rig, const struct plain *plain, size_t count)
{
    struct sto_chunk_in in = in_of(rig, plain);
    const bool is_good = sto_decode(rig->decoder, &in, rig->out, count, count);

    vs_free((void *)(uintptr_t)in.bytes);
    return is_good;
}

static bool is_decoded(struct rig *rig, const struct columns *c)
{
    const struct plain plain = plain_of(c);

    return decode(rig, &plain, (size_t)c->head[STO_HEAD_EVENTS]);
}

/* The events of the reference, all in one match; blocks above 101 are higher by 50. */
static struct columns one_match(void)
{
    return (struct columns){
        .head = {[STO_HEAD_EVENTS] = EVENTS, [STO_HEAD_MATCHES] = 1, [STO_HEAD_LIMITS] = 101},
        .matches = {[STO_MATCH_LEN] = {EVENTS}, [STO_MATCH_SHIFTS] = {sto_zigzag(50)}},
        .first_width = AS_NEEDED,
    };
}

/* Four literals: a step each. */
static struct columns literals(void)
{
    return (struct columns){
        .head = {[STO_HEAD_EVENTS] = EVENTS},
        .kinds = {VS_EV_STEP, VS_EV_STEP, VS_EV_STEP, VS_EV_STEP},
        .literals = {[STO_LITERAL_A] = {sto_zigzag(7), sto_zigzag(1), sto_zigzag(1),
                                        sto_zigzag(1)}},
        .literal_count = EVENTS,
        .first_width = AS_NEEDED,
    };
}

/* ---- columns ---- */

static void the_last_column_ends_the_chunk(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    c.head[STO_HEAD_TIME] = 1000;
    c.head[STO_HEAD_TIME_STEP] = 10;
    c.times[2] = 5;
    assert_true(is_decoded(&rig, &c));
    assert_int_equal(rig.out[3].time_ns, 1035);
    assert_int_equal(rig.out[1].raw.a, 101);
    assert_int_equal(rig.out[2].raw.a, 152);
    c.more = 1;
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

static void a_number_has_eight_bytes_at_most(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    c.first_width = 8;
    assert_true(is_decoded(&rig, &c));
    c.first_width = 9;
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

/* A head of 3 events and a column of 4 - 1 numbers: every byte is read, though they are no chunk of 4. */
static void the_number_of_events_is_that_of_the_head(void **state)
{
    const uint64_t head[STO_HEAD_COUNT] = {[STO_HEAD_EVENTS] = 3};
    const uint64_t times[3] = {1, 2, 3};
    struct rig rig = rig_new();
    struct plain plain = {.len = 0};

    (void)state;
    column(&plain, head, STO_HEAD_COUNT, AS_NEEDED);
    column(&plain, times, 3, AS_NEEDED);
    assert_false(decode(&rig, &plain, EVENTS));
    rig_release(&rig);
}

/* What was decoded before is not taken for what could not be decompressed. */
static void bytes_that_zstd_refuses_are_refused(void **state)
{
    static const uint8_t junk[] = {0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff};
    struct rig rig = rig_new();
    struct columns c = one_match();
    struct sto_chunk_in in = {.bytes = junk, .len = sizeof(junk)};
    struct sto_outline outline;

    (void)state;
    in.reference = rig.reference;
    in.reference_count = EVENTS;
    assert_true(is_decoded(&rig, &c));
    assert_false(sto_decode(rig.decoder, &in, rig.out, EVENTS, EVENTS));
    assert_true(is_decoded(&rig, &c));
    assert_false(sto_outline(rig.decoder, &in, EVENTS, &outline));
    rig_release(&rig);
}

static void no_more_matches_or_patches_than_events(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    /* as many of both as there are events: one event a match, each patched */
    c.head[STO_HEAD_MATCHES] = EVENTS;
    c.head[STO_HEAD_PATCHES] = EVENTS;
    for (uint64_t i = 0; i < EVENTS; i++) {
        c.matches[STO_MATCH_LEN][i] = 1;
        c.patches[STO_PATCH_ADDRESS][i] = sto_zigzag(1 + i);
    }
    assert_true(is_decoded(&rig, &c));
    for (uint64_t i = 0; i < EVENTS; i++)
        assert_int_equal(rig.out[i].raw.d, 4096 * i + 1 + i);
    c.head[STO_HEAD_MATCHES] = EVENTS + 1;
    assert_false(is_decoded(&rig, &c));
    c.head[STO_HEAD_MATCHES] = EVENTS;
    c.head[STO_HEAD_PATCHES] = EVENTS + 1;
    assert_false(is_decoded(&rig, &c));
    /* columns of zeros take no bytes, however long they are */
    c.head[STO_HEAD_PATCHES] = 64 * (uint64_t)STO_CHUNK_EVENTS_MAX;
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

static void matches_have_no_more_events_than_the_chunk(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    c.matches[STO_MATCH_LEN][0] = EVENTS + 1;
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

/* ---- literals ---- */

static void a_literal_has_a_kind_that_a_block_id_has_space_for(void **state)
{
    struct rig rig = rig_new();
    struct columns c = literals();

    (void)state;
    assert_true(is_decoded(&rig, &c));
    assert_int_equal(rig.out[0].raw.a, 7);
    assert_int_equal(rig.out[3].raw.a, 10);
    c.kinds[3] = STO_BLOCK_IDS - 1;
    assert_true(is_decoded(&rig, &c));
    c.kinds[3] = STO_BLOCK_IDS;
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

static void no_more_literals_before_a_match_than_there_are(void **state)
{
    struct rig rig = rig_new();
    struct columns c = literals();

    (void)state;
    c.head[STO_HEAD_MATCHES] = 2;
    c.literal_count = 2;
    c.matches[STO_MATCH_LEN][0] = 1;
    c.matches[STO_MATCH_LEN][1] = 1;
    c.matches[STO_MATCH_LITERALS][0] = 1;
    c.matches[STO_MATCH_LITERALS][1] = 1;
    assert_true(is_decoded(&rig, &c));
    /* with the one that is taken already there are two, but not two left */
    c.matches[STO_MATCH_LITERALS][1] = 2;
    assert_false(is_decoded(&rig, &c));
    c.matches[STO_MATCH_LITERALS][1] = 3;
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

/* ---- matches ---- */

static void a_match_ends_with_its_reference(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    c.literal_count = 1;
    c.matches[STO_MATCH_LITERALS][0] = 1;
    c.matches[STO_MATCH_LEN][0] = EVENTS - 1; /* from event 1 of the reference, to its last */
    assert_true(is_decoded(&rig, &c));
    assert_int_equal(rig.out[3].location, 13);
    c.matches[STO_MATCH_FROM][0] = sto_zigzag(1);
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

/* Position 4 is the chunk's own first event, which is there when it is decoded, not before. */
static void a_match_is_of_events_that_are_decoded(void **state)
{
    struct rig rig = rig_new();
    struct columns c = literals();

    (void)state;
    c.head[STO_HEAD_MATCHES] = 1;
    c.literal_count = 1;
    c.literals[STO_LITERAL_LOCATION][0] = sto_zigzag(77);
    c.matches[STO_MATCH_LITERALS][0] = 1;
    c.matches[STO_MATCH_LEN][0] = EVENTS - 1;
    c.matches[STO_MATCH_FROM][0] = sto_zigzag(EVENTS - 1);
    assert_true(is_decoded(&rig, &c));
    for (int i = 0; i < EVENTS; i++)
        assert_int_equal(rig.out[i].location, 77);
    c.matches[STO_MATCH_FROM][0] = sto_zigzag(EVENTS);
    assert_false(is_decoded(&rig, &c));
    /* the second of two literals */
    c.literal_count = 2;
    c.literals[STO_LITERAL_LOCATION][1] = sto_zigzag(1);
    c.matches[STO_MATCH_LITERALS][0] = 2;
    c.matches[STO_MATCH_LEN][0] = EVENTS - 2;
    c.matches[STO_MATCH_FROM][0] = sto_zigzag(EVENTS - 1);
    assert_true(is_decoded(&rig, &c));
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(rig.out[i].location, i ? 78 : 77);
    rig_release(&rig);
}

static void every_patch_has_its_event(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    c.head[STO_HEAD_PATCHES] = 2;
    c.patches[STO_PATCH_BEFORE][0] = 1;
    c.patches[STO_PATCH_BEFORE][1] = 1;
    c.patches[STO_PATCH_BLOCK_BYTES][0] = sto_zigzag(512);
    c.patches[STO_PATCH_BLOCK_BYTES][1] = sto_zigzag(1024);
    assert_true(is_decoded(&rig, &c));
    assert_int_equal(rig.out[1].raw.c, 1536);
    assert_int_equal(rig.out[2].raw.c, 1536);
    assert_int_equal(rig.out[3].raw.c, 3072);
    c.patches[STO_PATCH_BEFORE][1] = 2; /* behind the last event */
    assert_false(is_decoded(&rig, &c));
    rig_release(&rig);
}

/* What an earlier chunk left in the columns is no patch of a later one. */
static void patches_are_those_of_the_chunk(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();

    (void)state;
    c.head[STO_HEAD_PATCHES] = 2;
    c.patches[STO_PATCH_BLOCK_BYTES][0] = sto_zigzag(512);
    c.patches[STO_PATCH_BLOCK_BYTES][1] = sto_zigzag(512);
    assert_true(is_decoded(&rig, &c));
    assert_int_equal(rig.out[1].raw.c, 1536);
    c.head[STO_HEAD_PATCHES] = 1;
    assert_true(is_decoded(&rig, &c));
    assert_int_equal(rig.out[0].raw.c, 1024);
    assert_int_equal(rig.out[1].raw.c, 1024);
    rig_release(&rig);
}

/* ---- outlines ---- */

static struct sto_outline outline_of(struct rig *rig, const struct columns *c)
{
    const struct plain plain = plain_of(c);
    struct sto_chunk_in in = in_of(rig, &plain);
    struct sto_outline outline;

    assert_true(sto_outline(rig->decoder, &in, (size_t)c->head[STO_HEAD_EVENTS], &outline));
    vs_free((void *)(uintptr_t)in.bytes);
    return outline;
}

static void a_copy_is_one_match_with_a_step_before_it_or_nothing(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();
    struct sto_outline outline;

    (void)state;
    outline = outline_of(&rig, &c);
    assert_true(outline.is_copy);
    assert_int_equal(outline.limit[0], 101);
    assert_int_equal(outline.shift[0], 50);
    assert_int_equal(outline.shift[1], 0);
    for (int i = 0; i < STO_IDS_SHIFTED; i++) {
        c.head[STO_HEAD_LIMITS + i] = 200 + (uint64_t)i;
        c.matches[STO_MATCH_SHIFTS + i][0] = sto_zigzag(60 + (uint64_t)i);
    }
    outline = outline_of(&rig, &c);
    for (int i = 0; i < STO_IDS_SHIFTED; i++) {
        assert_int_equal(outline.limit[i], 200 + i);
        assert_int_equal(outline.shift[i], 60 + i);
    }
    c.matches[STO_MATCH_LITERALS][0] = 1;
    c.matches[STO_MATCH_LEN][0] = EVENTS - 1;
    c.literal_count = 1;
    c.kinds[0] = VS_EV_STEP;
    assert_true(outline_of(&rig, &c).is_copy);
    c.kinds[0] = VS_EV_ALLOC;
    assert_false(outline_of(&rig, &c).is_copy);
    c.kinds[0] = c.kinds[1] = VS_EV_STEP;
    c.matches[STO_MATCH_LEN][0] = EVENTS - 2;
    c.literal_count = 2;
    assert_false(outline_of(&rig, &c).is_copy);
    c = one_match();
    c.head[STO_HEAD_MATCHES] = 2;
    c.matches[STO_MATCH_LEN][0] = c.matches[STO_MATCH_LEN][1] = EVENTS / 2;
    assert_false(outline_of(&rig, &c).is_copy);
    c = literals();
    assert_false(outline_of(&rig, &c).is_copy);
    rig_release(&rig);
}

/* Other ids and times are the same part; another part, another size, another address or another limit is not. */
static void equal_outlines_are_the_same_part_of_the_reference(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();
    uint64_t hashes[8];
    size_t count = 0;
    uint64_t same;

    (void)state;
    hashes[count++] = outline_of(&rig, &c).hash;
    c.matches[STO_MATCH_SHIFTS][0] = sto_zigzag(90);
    c.head[STO_HEAD_TIME] = 12345;
    c.times[1] = 3;
    same = outline_of(&rig, &c).hash;
    assert_int_equal(same, hashes[0]);
    c.matches[STO_MATCH_FROM][0] = sto_zigzag(1);
    hashes[count++] = outline_of(&rig, &c).hash;
    c = one_match();
    c.head[STO_HEAD_LIMITS + 1] = 3;
    hashes[count++] = outline_of(&rig, &c).hash;
    c.head[STO_HEAD_LIMITS + 1] = 0;
    c.head[STO_HEAD_LIMITS + 2] = 3;
    hashes[count++] = outline_of(&rig, &c).hash;
    c = one_match();
    c.head[STO_HEAD_PATCHES] = 1;
    c.patches[STO_PATCH_ADDRESS][0] = sto_zigzag(512);
    hashes[count++] = outline_of(&rig, &c).hash;
    c.patches[STO_PATCH_BLOCK_BYTES][0] = sto_zigzag(512);
    hashes[count++] = outline_of(&rig, &c).hash;
    c.patches[STO_PATCH_BEFORE][0] = 1;
    hashes[count++] = outline_of(&rig, &c).hash;
    c = one_match();
    c.matches[STO_MATCH_LITERALS][0] = 1;
    c.matches[STO_MATCH_LEN][0] = EVENTS - 1;
    c.literal_count = 1;
    c.kinds[0] = VS_EV_STEP;
    hashes[count++] = outline_of(&rig, &c).hash;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            assert_int_not_equal(hashes[i], hashes[k]);
    rig_release(&rig);
}

/* Whatever another chunk left in the columns. */
static void an_outline_is_of_its_chunk_alone(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();
    uint64_t hash;

    (void)state;
    c.head[STO_HEAD_PATCHES] = 2;
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        c.patches[i][0] = c.patches[i][1] = 0;
    (void)outline_of(&rig, &c);
    c.head[STO_HEAD_PATCHES] = 1;
    hash = outline_of(&rig, &c).hash;
    c.head[STO_HEAD_PATCHES] = 2;
    for (int i = 0; i < STO_PATCH_COLUMNS; i++)
        c.patches[i][1] = 77;
    (void)outline_of(&rig, &c);
    c.head[STO_HEAD_PATCHES] = 1;
    assert_int_equal(outline_of(&rig, &c).hash, hash);
    rig_release(&rig);
}

static void the_ids_of_an_event_are_those_of_its_kind(void **state)
{
    const struct vs_event save = {.kind = VS_EV_SAVE};
    const struct vs_event step = {.kind = VS_EV_STEP};
    uint8_t sorts[4];

    (void)state;
    sto_event_ids(&save, sorts); /* block, tensor, node */
    assert_memory_equal(sorts, ((uint8_t[]){1, 2, 3, 0}), 4);
    sto_event_ids(&step, sorts);
    assert_memory_equal(sorts, ((uint8_t[]){0, 0, 0, 0}), 4);
}

static void an_outline_of_another_number_of_events_is_refused(void **state)
{
    struct rig rig = rig_new();
    struct columns c = one_match();
    const struct plain plain = plain_of(&c);
    struct sto_chunk_in in = in_of(&rig, &plain);
    struct sto_outline outline;

    (void)state;
    assert_true(sto_outline(rig.decoder, &in, EVENTS, &outline));
    assert_false(sto_outline(rig.decoder, &in, EVENTS + 1, &outline));
    assert_false(outline.is_copy);
    vs_free((void *)(uintptr_t)in.bytes);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_column_ends_the_chunk),
        cmocka_unit_test(a_number_has_eight_bytes_at_most),
        cmocka_unit_test(the_number_of_events_is_that_of_the_head),
        cmocka_unit_test(bytes_that_zstd_refuses_are_refused),
        cmocka_unit_test(no_more_matches_or_patches_than_events),
        cmocka_unit_test(matches_have_no_more_events_than_the_chunk),
        cmocka_unit_test(a_literal_has_a_kind_that_a_block_id_has_space_for),
        cmocka_unit_test(no_more_literals_before_a_match_than_there_are),
        cmocka_unit_test(a_match_ends_with_its_reference),
        cmocka_unit_test(a_match_is_of_events_that_are_decoded),
        cmocka_unit_test(every_patch_has_its_event),
        cmocka_unit_test(patches_are_those_of_the_chunk),
        cmocka_unit_test(a_copy_is_one_match_with_a_step_before_it_or_nothing),
        cmocka_unit_test(equal_outlines_are_the_same_part_of_the_reference),
        cmocka_unit_test(an_outline_is_of_its_chunk_alone),
        cmocka_unit_test(the_ids_of_an_event_are_those_of_its_kind),
        cmocka_unit_test(an_outline_of_another_number_of_events_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
