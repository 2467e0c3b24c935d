/*
 * tests/replay/test_alive.c - the quick answers against those of replay/why.c and replay/kept.c, which read the whole trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "replay/alive.h"
#include "replay/index_internal.h"
#include "replay/lives.h"
#include "replay/trace_internal.h"
#include "tests/replay/net_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* The op that ran last for this node, in the whole trace. */
static uint32_t node_name(struct rpl_trace *trace, uint64_t node)
{
    const struct vs_event *events;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t count = rpl_trace_event_count(trace);
    uint32_t name = 0;

    ok(rpl_trace_span(trace, 1, (size_t)count, NULL, &events, &err), &err);
    for (uint64_t i = 0; node && i < count; i++)
        if (events[i].kind == VS_EV_OP_BEGIN && events[i].aux == 1 && events[i].b == node)
            name = (uint32_t)events[i].a;
    return name;
}

static void assert_why(struct rpl_cursor *cursor, struct rpl_trace *trace, uint64_t id)
{
    struct rpl_why quick = {.id = id};
    struct rpl_why slow = {.id = id};
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_alive_why(cursor, &quick, &err), &err);
    ok(rpl_why_fill(trace, rpl_cursor_seq(cursor), &slow, 1, &err), &err);
    assert_int_equal(quick.is_alive, slow.is_alive);
    assert_memory_equal(&quick.block, &slow.block, sizeof(quick.block));
    assert_int_equal(quick.name, slow.name);
    assert_int_equal(quick.next_use_seq, slow.next_use_seq);
    assert_int_equal(quick.next_use_place, slow.next_use_place);
    assert_int_equal(quick.free_seq, slow.free_seq);
    assert_int_equal(quick.free_place, slow.free_place);
    assert_int_equal(quick.holder_count, slow.holder_count);
    for (size_t i = 0; i < quick.holder_count; i++) {
        struct rpl_holder *a = &quick.holders[i];
        struct rpl_holder *b = &slow.holders[i];

        if (a->kind == VS_HOLD_SAVED && a->node) {
            assert_int_equal(a->name, node_name(trace, a->node));
            b->name = a->name; /* that one forgets what it saw before the save */
        }
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->since_seq, b->since_seq);
        assert_int_equal(a->tensor, b->tensor);
        assert_int_equal(a->name, b->name);
        assert_int_equal(a->scope, b->scope);
        assert_int_equal(a->place, b->place);
        assert_int_equal(a->node, b->node);
    }
    rpl_why_release(&quick);
    rpl_why_release(&slow);
}

static void assert_kept(struct rpl_cursor *cursor, struct rpl_trace *trace)
{
    struct rpl_kept_list *quick = vs_calloc(1, sizeof(*quick));
    struct rpl_kept_list *slow = vs_calloc(1, sizeof(*slow));
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_alive_kept(cursor, quick, &err), &err);
    ok(rpl_kept_fill(slow, trace, rpl_cursor_seq(cursor), &err), &err);
    assert_int_equal(quick->count, slow->count);
    assert_int_equal(quick->total, slow->total);
    assert_int_equal(quick->total_count, slow->total_count);
    for (size_t i = 0; i < quick->count; i++) {
        assert_memory_equal(&quick->items[i].block, &slow->items[i].block,
                            sizeof(quick->items[i].block));
        if (quick->items[i].gain != slow->items[i].gain)
            fail_msg("event %llu, item %zu of %zu: gain %llu, should be %llu",
                     (unsigned long long)rpl_cursor_seq(cursor), i, quick->count,
                     (unsigned long long)quick->items[i].gain,
                     (unsigned long long)slow->items[i].gain);
    }
    assert_int_equal(quick->gain, slow->gain);
    vs_free(quick);
    vs_free(slow);
}

/* At the highest moment and at some others: every live block up to some, two others, and what is kept. */
static void assert_answers(struct rpl_index *index, struct rpl_trace *trace, int moments,
                           size_t blocks)
{
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    uint64_t count = rpl_index_event_count(index);
    struct vs_error err = VS_ERROR_INIT;
    uint32_t random = 3;

    for (int i = 0; i < moments; i++) {
        uint64_t seq = i ? 1 + (random >> 3) % count : rpl_index_top(index).event;
        const struct rpl_live *live;

        random = random * 1664525 + 1013904223;
        ok(rpl_cursor_seek(cursor, seq, &err), &err);
        live = rpl_cursor_live(cursor);
        for (size_t k = 0; k < live->block_count; k += 1 + live->block_count / blocks)
            assert_why(cursor, trace, live->blocks[k].id);
        assert_why(cursor, trace, rpl_life_count(index) + 5);
        assert_why(cursor, trace, 1 + (random >> 3) % rpl_life_count(index));
        assert_kept(cursor, trace);
    }
    rpl_cursor_free(cursor);
}

static void answers_on_random_traces_are_those_of_a_full_reading(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (uint32_t seed = 51; seed <= 54; seed++) {
        struct rpl_trace *trace = random_trace(seed < 54 ? 3000 : 30000, seed);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_answers(index, trace, 12, 6);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void answers_on_nets_are_those_of_a_full_reading(void **state)
{
    static const char *const nets[] = {"tests/nets/mlp.py", "tests/nets/resnet_small.py",
                                       "tests/nets/gpt_tiny_ckpt.py", "tests/nets/lifetimes.py"};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        struct rpl_trace *trace = net_trace(nets[i], NULL);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_answers(index, trace, 6, 8);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void answers_from_what_was_stored_are_the_same(void **state)
{
    struct rpl_trace *memory = random_trace(RPL_STORE_EVENTS + 1000, 55);
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "alive.db", path, sizeof(path));
    random_trace_write(memory, rpl_trace_event_count(memory), path);
    for (int i = 0; i < 2; i++) {
        struct rpl_trace *trace;
        struct rpl_index *index;

        ok(rpl_trace_open(path, &trace, &err), &err);
        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_true(rpl_index_is_stored(index));
        assert_answers(index, memory, 4, 4);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    rpl_trace_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_on_random_traces_are_those_of_a_full_reading),
        cmocka_unit_test(answers_on_nets_are_those_of_a_full_reading),
        cmocka_unit_test(answers_from_what_was_stored_are_the_same),
    };

    return cmocka_run_group_tests_name("replay/alive", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
