/*
 * tests/store/old/test_columns.c - events that are stored as columns, as in traces of versions 1 to 5, are read as they
 * were written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/old/columns.h"
#include "tests/store/old/old_encode.h"
#include "tests/store/sample_events.h"

static void round_trip_check(struct old_encoder *codec, const struct vs_event *events, size_t count)
{
    struct sto_block blocks[VS_EVENT_KIND_COUNT];
    struct sto_columns *decoder = sto_columns_new();
    struct vs_event *got = vs_calloc(count, sizeof(*got));
    bool *is_filled = vs_calloc(count, sizeof(*is_filled));
    size_t block_count = old_encode(codec, events, count, blocks);
    size_t total = 0;

    for (size_t i = 0; i < block_count; i++) {
        assert_true(sto_columns_decode(decoder, &blocks[i], got, is_filled, count));
        total += blocks[i].count;
    }
    assert_int_equal(total, count);
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(&got[i], &events[i], sizeof(got[i]));
    vs_free(got);
    vs_free(is_filled);
    sto_columns_free(decoder);
}

static void random_events_are_decoded_as_they_were_encoded(void **state)
{
    static const size_t counts[] = {1, 2, 3, 17, 127, 129, 1000, 5000, STO_CHUNK_EVENTS_MAX};
    struct sample_random rnd = {20250101};
    struct vs_event *events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*events));
    struct old_encoder *codec = old_encoder_new();

    (void)state;
    for (int round = 0; round < 30; round++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) - (round > 2); i++) {
            sample_events_wild(&rnd, events, counts[i]);
            round_trip_check(codec, events, counts[i]);
        }
    old_encoder_free(codec);
    vs_free(events);
}

/* One event field by field: what counts up by the same amount needs no byte an event. */
static void a_regular_counter_needs_no_data(void **state)
{
    struct vs_event events[100] = {{0}};
    struct old_encoder *codec = old_encoder_new();
    struct sto_block blocks[VS_EVENT_KIND_COUNT];

    (void)state;
    for (size_t i = 0; i < 100; i++)
        events[i] =
            (struct vs_event){.kind = VS_EV_ALLOC, .alloc = {.block = 1000 + 3 * i}, .time_ns = 5};
    assert_int_equal(old_encode(codec, events, 100, blocks), 1);
    assert_int_equal(blocks[0].count, 100);
    assert_int_equal(blocks[0].columns[STO_FIELD_A].base, 1000);
    assert_int_equal(blocks[0].columns[STO_FIELD_A].step, 3);
    assert_int_equal(blocks[0].columns[STO_FIELD_A].width, 0);
    assert_int_equal(blocks[0].columns[STO_FIELD_TIME].base, 5);
    assert_false(blocks[0].columns[STO_FIELD_B].is_stored);
    old_encoder_free(codec);
}

/* Change a block in every way a damaged file could: the decoder refuses or gives something, and stays inside. */
static void damaged_blocks_are_refused_or_decoded_within_bounds(void **state)
{
    struct sample_random rnd = {99};
    size_t count = 600;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    bool *is_filled = vs_calloc(count, sizeof(*is_filled));
    struct old_encoder *codec = old_encoder_new();
    struct sto_columns *decoder = sto_columns_new();
    int refused = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct sto_block blocks[VS_EVENT_KIND_COUNT];
        size_t block_count;
        struct sto_block *block;
        struct sto_column *col;

        sample_events_training(&rnd, events, count);
        block_count = old_encode(codec, events, count, blocks);
        block = &blocks[sample_random_below(&rnd, block_count)];
        col = &block->columns[sample_random_below(&rnd, STO_FIELD_COUNT)];
        switch (sample_random_below(&rnd, 9)) {
        case 0:
            block->count = (uint32_t)sample_random_below(&rnd, 2 * count);
            break;
        case 1:
            col->width = (uint32_t)sample_random_below(&rnd, 14);
            break;
        case 2:
            col->dict_width = (uint32_t)sample_random_below(&rnd, 14);
            break;
        case 3:
            col->data_bytes /= 2;
            break;
        case 4:
            col->dict_bytes /= 2;
            break;
        case 5:
            col->data = NULL;
            break;
        case 6:
            col->dict = NULL;
            break;
        case 7:
            col->base = (int64_t)sample_random_next(&rnd);
            col->step = (int64_t)sample_random_next(&rnd);
            col->unit = (int64_t)sample_random_next(&rnd);
            break;
        default:
            col->is_stored = !col->is_stored;
            break;
        }
        memset(is_filled, 0, count * sizeof(*is_filled));
        refused += !sto_columns_decode(decoder, block, events, is_filled, count);
    }
    assert_true(refused > 500);
    sto_columns_free(decoder);
    old_encoder_free(codec);
    vs_free(is_filled);
    vs_free(events);
}

static void a_block_with_a_duplicate_event_is_refused(void **state)
{
    struct vs_event events[4] = {{0}};
    bool is_filled[4] = {false};
    struct sto_columns *codec = sto_columns_new();
    struct sto_block block = {.kind = VS_EV_FREE, .count = 2};

    (void)state;
    /* column SEQ is not stored: both events say that they are number 0 */
    assert_false(sto_columns_decode(codec, &block, events, is_filled, 4));
    sto_columns_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_are_decoded_as_they_were_encoded),
        cmocka_unit_test(a_regular_counter_needs_no_data),
        cmocka_unit_test(damaged_blocks_are_refused_or_decoded_within_bounds),
        cmocka_unit_test(a_block_with_a_duplicate_event_is_refused),
    };

    return cmocka_run_group_tests_name("store/old/columns", tests, NULL, NULL);
}
