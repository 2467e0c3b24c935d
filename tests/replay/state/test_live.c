/*
 * tests/replay/state/test_live.c - the set of live blocks compared with a plain table on random events, and the events
 * that it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/state/live.h"
#include "tests/replay/make_trace.h"

#define MODEL_BLOCKS 3000

/* The plain model: one row a block id. */
struct model {
    struct {
        bool is_live;
        uint64_t bytes;
        enum vs_category category;
    } block[MODEL_BLOCKS + 1];
    uint64_t next;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void assert_equals_model(const struct rpl_live *live, const struct model *model)
{
    uint64_t total = 0;
    uint64_t by_category[VS_CATEGORY_COUNT] = {0};
    size_t count = 0;

    for (uint64_t id = 1; id <= model->next; id++) {
        const struct rpl_block *block = rpl_live_block(live, id);

        assert_int_equal(block != NULL, model->block[id].is_live);
        if (!block)
            continue;
        assert_int_equal(block->bytes, model->block[id].bytes);
        assert_int_equal(block->category, model->block[id].category);
        count++;
        total += block->bytes;
        by_category[block->category] += block->bytes;
    }
    assert_int_equal(live->block_count, count);
    assert_int_equal(live->allocated, total);
    assert_memory_equal(live->by_category, by_category, sizeof(by_category));
}

static void live_blocks_of_random_events_agree_with_a_plain_table(void **state)
{
    static struct model model;
    struct rpl_live live;
    struct vs_error err = VS_ERROR_INIT;
    uint32_t random = 7;
    uint64_t seq = 0;

    (void)state;
    memset(&model, 0, sizeof(model));
    rpl_live_init(&live);
    while (model.next < MODEL_BLOCKS) {
        struct vs_event event = {0};
        uint64_t id = model.next ? 1 + next_random(&random) % model.next : 0;
        unsigned what = next_random(&random) % 100;

        if (what < 55 || !id) {
            id = ++model.next;
            event = (struct vs_event){
                .kind = VS_EV_ALLOC,
                .alloc = {.block = id,
                          .requested_bytes = 1 + next_random(&random) % 5000,
                          .category = (uint8_t)(next_random(&random) % VS_CATEGORY_COUNT)}};
            event.alloc.block_bytes = (event.alloc.requested_bytes + 511) / 512 * 512;
            model.block[id].is_live = true;
            model.block[id].bytes = event.alloc.block_bytes;
            model.block[id].category = (enum vs_category)event.alloc.category;
        } else if (!model.block[id].is_live) {
            continue;
        } else if (what < 90) {
            event = (struct vs_event){.kind = VS_EV_FREE, .free = {.block = id}};
            model.block[id].is_live = false;
        } else {
            event = (struct vs_event){
                .kind = VS_EV_CATEGORY,
                .category = {.block = id,
                             .category = (uint8_t)(next_random(&random) % VS_CATEGORY_COUNT)}};
            model.block[id].category = (enum vs_category)event.category.category;
        }
        assert_int_equal(rpl_live_apply(&live, ++seq, &event, &err), VS_OK);
        if (seq % 97 == 0)
            assert_equals_model(&live, &model);
    }
    assert_equals_model(&live, &model);
    rpl_live_release(&live);
}

static void reading_to_an_event_equals_applying_up_to_it(void **state)
{
    struct make m;
    struct rpl_live live;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t middle;

    (void)state;
    make_init(&m);
    make_phase(&m, VS_PHASE_FORWARD);
    make_step(&m, 4);
    make_alloc(&m, 1000, VS_CAT_ACTIVATION);
    make_op(&m, VS_EV_OP_BEGIN, "relu", 0, 0, 0);
    middle = make_use(&m, 1);
    make_op(&m, VS_EV_OP_END, "relu", 0, 0, 0);
    make_free(&m, 1, 1000);
    rpl_live_init(&live);
    assert_int_equal(rpl_live_read(&live, m.trace, middle, &err), VS_OK);
    assert_int_equal(live.allocated, 1024);
    assert_int_equal(live.requested, 1000);
    assert_int_equal(live.step, 4);
    assert_int_equal(live.phase, VS_PHASE_FORWARD);
    assert_int_equal(rpl_live_working_since(&live), middle - 1);
    assert_int_equal(rpl_live_block(&live, 1)->last_use_seq, middle);
    assert_int_equal(rpl_live_read(&live, m.trace, rpl_trace_event_count(m.trace), &err), VS_OK);
    assert_int_equal(live.allocated, 0);
    assert_true(rpl_live_working_since(&live) == UINT64_MAX);
    rpl_live_release(&live);
    rpl_trace_free(m.trace);
}

static void work_inside_a_recomputation_belongs_to_the_recomputed_op(void **state)
{
    struct make m;
    struct rpl_live live;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t begin;

    (void)state;
    make_init(&m);
    make_op(&m, VS_EV_OP_BEGIN, "ReluBackward0", 3, 1, 0);
    make_event(&m, (struct vs_event){.kind = VS_EV_RECOMPUTE_BEGIN});
    begin = make_op(&m, VS_EV_OP_BEGIN, "conv2d", 4, 2, 0);
    rpl_live_init(&live);
    assert_int_equal(rpl_live_read(&live, m.trace, begin, &err), VS_OK);
    assert_int_equal(rpl_live_working_since(&live), begin);
    assert_int_equal(live.recompute_depth, 1);
    /* the re-run is broken off inside the op: its end ends both */
    make_event(&m, (struct vs_event){.kind = VS_EV_RECOMPUTE_END});
    assert_int_equal(rpl_live_read(&live, m.trace, begin + 1, &err), VS_OK);
    assert_int_equal(rpl_live_working_since(&live), 1);
    assert_int_equal(live.recompute_depth, 0);
    rpl_live_release(&live);
    rpl_trace_free(m.trace);
}

/* A trace of one good alloc and then `event` must be refused with this in the text. */
static void assert_damaged(struct vs_event event, const char *text)
{
    struct rpl_live live;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event alloc = {.kind = VS_EV_ALLOC,
                             .alloc = {.block = 1, .requested_bytes = 4, .block_bytes = 512}};

    rpl_live_init(&live);
    assert_int_equal(rpl_live_apply(&live, 1, &alloc, &err), VS_OK);
    assert_int_equal(rpl_live_apply(&live, 2, &event, &err), VS_E_DAMAGED);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err.text);
    rpl_live_release(&live);
}

static void impossible_sequences_of_events_are_reported_as_damage(void **state)
{
    (void)state;
    assert_damaged((struct vs_event){.kind = VS_EV_FREE, .free = {.block = 2}},
                   "event 2 frees a block that is not alive: 2");
    assert_damaged(
        (struct vs_event){.kind = VS_EV_ALLOC, .alloc = {.block = 1, .block_bytes = 512}},
        "allocates a block that is alive: 1");
    assert_damaged(
        (struct vs_event){.kind = VS_EV_ALLOC, .alloc = {.block = 2, .block_bytes = UINT64_MAX}},
        "more than can be counted");
    assert_damaged((struct vs_event){.kind = VS_EV_ALLOC, .alloc = {.block = 2, .category = 200}},
                   "no such category");
    assert_damaged(
        (struct vs_event){.kind = VS_EV_CATEGORY, .category = {.block = 1, .category = 200}},
        "no such category");
    assert_damaged((struct vs_event){.kind = VS_EV_CATEGORY, .category = {.block = 9}},
                   "not alive: 9");
    assert_damaged((struct vs_event){.kind = VS_EV_SEGMENT_FREE, .segment = {.bytes = 1}},
                   "reserved bytes");
    assert_damaged((struct vs_event){.kind = VS_EV_PHASE, .phase = {.phase = 99}},
                   "no such phase: 99");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_blocks_of_random_events_agree_with_a_plain_table),
        cmocka_unit_test(reading_to_an_event_equals_applying_up_to_it),
        cmocka_unit_test(work_inside_a_recomputation_belongs_to_the_recomputed_op),
        cmocka_unit_test(impossible_sequences_of_events_are_reported_as_damage),
    };

    return cmocka_run_group_tests_name("replay/live", tests, NULL, NULL);
}
