/*
 * tests/import/test_partial.c - impossible histories: the part that is imported is consistent, and the rest is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "import/partial.h"
#include "recording/memlist.h"
#include "tests/import/sense.h"

#define MIB UINT64_C(1048576)
#define AT UINT64_C(0x700000000000)

struct history {
    struct vs_memlist list;
    struct imp_import import;
};

static void history_end(struct history *h)
{
    imp_release(&h->import);
    vs_memlist_release(&h->list);
}

static void event(struct history *h, enum vs_mem_kind kind, uint64_t at, uint64_t bytes)
{
    vs_memlist_add_event(&h->list, kind, AT + at, bytes, 0);
}

static void segment(struct history *h, uint64_t at, uint64_t bytes)
{
    struct vs_mem_segment *segment = vs_memlist_add_segment(&h->list);

    segment->address = AT + at;
    segment->bytes = bytes;
}

static void block(struct history *h, uint64_t bytes, enum vs_mem_block_state state)
{
    vs_memlist_add_block(&h->list,
                         (struct vs_mem_block){.bytes = bytes, .requested = bytes, .state = state});
}

static void mend(struct history *h)
{
    imp_make_partial(&h->list, "a test", &h->import);
    assert_string_equal(h->import.partial, "a test");
    sense_check(&h->import);
}

static uint64_t total(const struct history *h)
{
    uint64_t sum = 0;

    for (int i = 0; i < IMP_LOSS_COUNT; i++)
        sum += h->import.losses[i];
    return sum;
}

static uint64_t kind_count(const struct history *h, enum vs_event_kind kind)
{
    uint64_t count = 0;

    for (size_t i = 0; i < h->import.event_count; i++)
        count += h->import.events[i].kind == kind;
    return count;
}

/* ---- one thing wrong at a time ---- */

static void a_free_without_an_allocation_is_a_pre_existing_block(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    segment(&h, 0, 2 * MIB);
    block(&h, 2 * MIB, VS_MEM_INACTIVE);
    event(&h, VS_MEM_FREE_REQUESTED, 0, 1000);
    event(&h, VS_MEM_FREE_COMPLETED, 0, 1000);
    mend(&h);
    assert_int_equal(h.import.blocks_before, 1);
    assert_int_equal(h.import.events[1].alloc.requested_bytes, 1000);
    assert_int_equal(h.import.events[1].alloc.block_bytes, 1024);
    assert_int_equal(total(&h), 0);
    history_end(&h);
}

static void a_second_free_is_left_out(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    segment(&h, 0, 2 * MIB);
    block(&h, 2 * MIB, VS_MEM_INACTIVE);
    event(&h, VS_MEM_ALLOC, 0, 512);
    event(&h, VS_MEM_FREE_REQUESTED, 0, 512);
    event(&h, VS_MEM_FREE_REQUESTED, 0, 512);
    mend(&h);
    assert_int_equal(h.import.losses[IMP_LOSS_FREE], 1);
    assert_int_equal(kind_count(&h, VS_EV_FREE), 1);
    history_end(&h);
}

static void overlapping_blocks_are_left_out(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    segment(&h, 0, 20 * MIB);
    block(&h, 20 * MIB, VS_MEM_INACTIVE);
    event(&h, VS_MEM_ALLOC, 0, 4 * MIB);
    event(&h, VS_MEM_ALLOC, 2 * MIB, 4 * MIB); /* begins in the first */
    event(&h, VS_MEM_ALLOC, 0, 4 * MIB);       /* where it is */
    event(&h, VS_MEM_FREE_REQUESTED, 2 * MIB, 4 * MIB);
    event(&h, VS_MEM_FREE_REQUESTED, 0, 4 * MIB);
    mend(&h);
    assert_int_equal(h.import.losses[IMP_LOSS_ALLOC_OVER], 1);
    assert_int_equal(h.import.losses[IMP_LOSS_ALLOC_THERE], 1);
    assert_int_equal(h.import.losses[IMP_LOSS_FREE], 1);
    assert_int_equal(kind_count(&h, VS_EV_ALLOC), 1);
    assert_int_equal(total(&h), 3);
    history_end(&h);
}

static void sizes_that_no_device_has_are_left_out(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    event(&h, VS_MEM_ALLOC, 0, 0);
    event(&h, VS_MEM_ALLOC, 512, UINT64_MAX);
    event(&h, VS_MEM_ALLOC, 1024, UINT64_C(1) << 60);
    event(&h, VS_MEM_SEGMENT_ALLOC, 0, UINT64_MAX);
    event(&h, VS_MEM_SEGMENT_FREE, 0, UINT64_MAX - AT);
    mend(&h);
    assert_int_equal(h.import.losses[IMP_LOSS_ALLOC_SIZE], 3);
    assert_int_equal(h.import.losses[IMP_LOSS_SEGMENT_EVENT], 2);
    assert_int_equal(h.import.event_count, 0);
    history_end(&h);
}

/*
 * Of the two allocated blocks of the final state, the first has no event and so was there before, and the events free
 * the second. The events leave two other blocks allocated that the final state does not have.
 */
static void the_final_state_is_compared_with_the_events(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    segment(&h, 0, 4096);
    block(&h, 512, VS_MEM_ALLOCATED);
    block(&h, 512, VS_MEM_ALLOCATED);
    block(&h, 3072, VS_MEM_INACTIVE);
    segment(&h, 2048, 512); /* over the first */
    block(&h, 512, VS_MEM_INACTIVE);
    event(&h, VS_MEM_ALLOC, 512, 512);
    event(&h, VS_MEM_FREE_REQUESTED, 512, 512);
    event(&h, VS_MEM_ALLOC, 1024, 512);
    event(&h, VS_MEM_ALLOC, 1 * MIB, 512);
    mend(&h);
    assert_int_equal(h.import.blocks_before, 1);
    assert_int_equal(h.import.losses[IMP_LOSS_SEGMENT], 1);
    assert_int_equal(h.import.losses[IMP_LOSS_END], 1);
    assert_int_equal(h.import.losses[IMP_LOSS_OPEN], 2);
    assert_int_equal(h.import.losses[IMP_LOSS_STRAY], 1);
    assert_int_equal(h.import.end_blocks, 3);
    history_end(&h);
}

/* Two maps side by side, one unmap over both: 60 MiB come and go, and 20 are there before. */
static void ranges_are_clipped_to_mapped_memory(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    segment(&h, 0, 20 * MIB);
    block(&h, 20 * MIB, VS_MEM_INACTIVE);
    event(&h, VS_MEM_SEGMENT_MAP, 20 * MIB, 20 * MIB);
    event(&h, VS_MEM_SEGMENT_MAP, 40 * MIB, 40 * MIB);
    event(&h, VS_MEM_SEGMENT_UNMAP, 20 * MIB, 60 * MIB);
    mend(&h);
    assert_int_equal(total(&h), 0);
    assert_int_equal(sense_check(&h.import), 20 * MIB);
    assert_int_equal(h.import.events[0].segment.bytes, 20 * MIB);
    assert_int_equal(kind_count(&h, VS_EV_SEGMENT_MAP), 2);
    assert_int_equal(kind_count(&h, VS_EV_SEGMENT_UNMAP), 1);
    history_end(&h);
}

/* As torch.profiler's snapshots: 1000 bytes at 1000 reach up to the 300 at 2000. */
static void blocks_of_another_allocator_are_not_rounded(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    event(&h, VS_MEM_ALLOC, 1000, 1000);
    event(&h, VS_MEM_ALLOC, 2000, 300);
    mend(&h);
    assert_int_equal(kind_count(&h, VS_EV_ALLOC), 2);
    assert_int_equal(h.import.losses[IMP_LOSS_ALLOC_OVER], 0);
    history_end(&h);
}

/* Nothing of it is in the state at the end; the one at the same place is left out. */
static void segments_missing_from_the_final_state_are_kept(void **state)
{
    struct history h = {.list = {.events = NULL}};

    (void)state;
    event(&h, VS_MEM_SEGMENT_ALLOC, 0, 2 * MIB);
    event(&h, VS_MEM_ALLOC, 0, 512);
    event(&h, VS_MEM_SEGMENT_ALLOC, MIB, 2 * MIB);
    mend(&h);
    assert_int_equal(sense_check(&h.import), 2 * MIB);
    assert_int_equal(h.import.losses[IMP_LOSS_SEGMENT_OPEN], 2);
    assert_int_equal(h.import.losses[IMP_LOSS_SEGMENT_EVENT], 1);
    assert_int_equal(h.import.losses[IMP_LOSS_STRAY], 0);
    history_end(&h);
}

static void times_never_go_back(void **state)
{
    static const uint64_t TIMES[] = {1000, 3000, 2000, UINT64_MAX, 4000};
    static const uint64_t NS[] = {0, 2000000, 2000000, 2000000, 3000000};
    struct history h = {.list = {.events = NULL}};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        event(&h, VS_MEM_ALLOC, i * 512, 512);
        h.list.events[i].time_us = TIMES[i];
    }
    mend(&h);
    assert_int_equal(kind_count(&h, VS_EV_ALLOC), 5);
    for (size_t i = 0; i < h.import.event_count; i++) /* steps are put in between */
        if (h.import.events[i].kind == VS_EV_ALLOC)
            assert_int_equal(h.import.events[i].time_ns, NS[h.import.events[i].alloc.block - 1]);
    history_end(&h);
}

/* ---- all of it at once ---- */

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* A few addresses and sizes, so that they meet, and now and then an absurd one. */
static uint64_t address_of(uint64_t *seed)
{
    return next(seed) % 50 ? next(seed) % 12 * 256 : UINT64_MAX - AT - next(seed) % 4096;
}

static uint64_t size_of(uint64_t *seed)
{
    static const uint64_t ABSURD[] = {0, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 60};

    return next(seed) % 50 ? next(seed) % 6 * 256 + next(seed) % 3 : ABSURD[next(seed) % 4];
}

static void random_histories_give_consistent_traces(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= 3000; run++) {
        struct history h = {.list = {.events = NULL}};
        uint64_t seed = run;
        size_t count = next(&seed) % 60;

        for (size_t i = next(&seed) % 4; i > 0; i--) {
            segment(&h, address_of(&seed), size_of(&seed));
            for (size_t k = next(&seed) % 4; k > 0; k--)
                block(&h, size_of(&seed), (enum vs_mem_block_state)(next(&seed) % 3));
        }
        for (size_t i = 0; i < count; i++) {
            event(&h, (enum vs_mem_kind)(next(&seed) % VS_MEM_KIND_COUNT), address_of(&seed),
                  size_of(&seed));
            h.list.events[i].time_us = next(&seed);
        }
        mend(&h);
        history_end(&h);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_without_an_allocation_is_a_pre_existing_block),
        cmocka_unit_test(a_second_free_is_left_out),
        cmocka_unit_test(overlapping_blocks_are_left_out),
        cmocka_unit_test(sizes_that_no_device_has_are_left_out),
        cmocka_unit_test(the_final_state_is_compared_with_the_events),
        cmocka_unit_test(ranges_are_clipped_to_mapped_memory),
        cmocka_unit_test(blocks_of_another_allocator_are_not_rounded),
        cmocka_unit_test(segments_missing_from_the_final_state_are_kept),
        cmocka_unit_test(times_never_go_back),
        cmocka_unit_test(random_histories_give_consistent_traces),
    };

    return cmocka_run_group_tests_name("import/partial", tests, NULL, NULL);
}
