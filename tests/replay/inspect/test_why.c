/*
 * tests/replay/inspect/test_why.c - the holders of a block, and unused blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/inspect/alive.h"
#include "replay/inspect/block_text.h"
#include "tests/replay/make_trace.h"

/* Fill `count` whys right after event `at`. */
static void whys_fill(struct rpl_trace *trace, uint64_t at, struct rpl_why *whys, size_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_index *index;
    struct rpl_cursor *cursor;

    assert_int_equal(rpl_index_open(trace, NULL, NULL, &index, &err), VS_OK);
    cursor = rpl_cursor_new(index);
    assert_int_equal(rpl_cursor_seek(cursor, at, &err), VS_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rpl_alive_why(cursor, &whys[i], &err), VS_OK);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
}

/* The unused blocks right after event `at`. */
static struct rpl_kept_list kept_at(struct rpl_trace *trace, uint64_t at)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_kept_list list;
    struct rpl_index *index;
    struct rpl_cursor *cursor;

    assert_int_equal(rpl_index_open(trace, NULL, NULL, &index, &err), VS_OK);
    cursor = rpl_cursor_new(index);
    assert_int_equal(rpl_cursor_seek(cursor, at, &err), VS_OK);
    assert_int_equal(rpl_alive_kept(cursor, &list, &err), VS_OK);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    return list;
}

/* The sentences for block `id` after event `at`, joined by "; ". */
static const char *holders(struct rpl_trace *trace, uint64_t at, uint64_t id, struct vs_text *text)
{
    struct rpl_why why = {.id = id};

    vs_text_clear(text);
    whys_fill(trace, at, &why, 1);
    for (size_t i = 0; i < why.holder_count; i++) {
        if (i)
            vs_text_add(text, "; ");
        rpl_holder_text(trace, &why.holders[i], text);
    }
    rpl_why_release(&why);
    return vs_text_get(text);
}

static void every_kind_of_holder_is_described(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    uint64_t at;

    (void)state;
    make_init(&m);
    m.line = 14;
    m.module = "layer1.0";
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "x0", "Net.forward");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_ATTR, "kept", "Net");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_ARGS, "Linear.forward", "");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_GRAD, "conv1.weight", "");
    make_op(&m, VS_EV_OP_BEGIN, "mul", 5, 0, 0);
    make_save(&m, VS_EV_SAVE, 1, 5, false);
    make_op(&m, VS_EV_OP_END, "mul", 0, 0, 0);
    at = make_save(&m, VS_EV_SAVE, 1, 6, true);
    m.line = 99;
    make_op(&m, VS_EV_OP_BEGIN, "MulBackward0", 5, 1, 0);
    assert_string_equal(holders(m.trace, at, 1, &text),
                        "local `x0` of `Net.forward`, line 14; attribute `kept` of `Net`, line 14; "
                        "arguments of the call of `Linear.forward`, line 14; "
                        "`.grad` of `conv1.weight`; saved by `MulBackward0` of line 14; "
                        "input kept by the checkpoint of `layer1.0`, line 14");
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

static void a_node_that_never_ran_is_named_by_its_op(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    make_op(&m, VS_EV_OP_BEGIN, "mul", 5, 0, 0);
    at = make_save(&m, VS_EV_SAVE, 1, 5, false);
    assert_string_equal(holders(m.trace, at, 1, &text), "saved for the backward of `mul`");
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

/* `relu(relu(x))` in place, or `h * h`: each op has its node, and the block is one. */
static void holders_that_read_the_same_are_listed_once(void **state)
{
    struct make m;
    struct rpl_why why = {.id = 1};
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    make_save(&m, VS_EV_SAVE, 1, 5, false);
    make_save(&m, VS_EV_SAVE, 1, 5, false);
    make_save(&m, VS_EV_SAVE, 1, 6, false);
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_CACHE, "", "");
    at = make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_CACHE, "", "");
    whys_fill(m.trace, at, &why, 1);
    assert_int_equal(why.holder_count, 5);
    rpl_why_distinct(m.trace, &why);
    assert_int_equal(why.holder_count, 2);
    assert_int_equal(why.holders[0].node, 5);
    assert_int_equal(why.holders[1].kind, VS_HOLD_CACHE);
    rpl_why_release(&why);
    rpl_trace_free(m.trace);
}

/* Gradients and states have the name in a report that the TUI gives them. */
static void gradients_and_states_are_called_by_their_parameters(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_why whys[2] = {{.id = 1}, {.id = 2}};
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_GRADIENT);
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_GRAD, "fc1.weight", "");
    make_alloc(&m, 512, VS_CAT_OPTIMIZER);
    at = make_hold(&m, VS_EV_HOLD, 2, VS_HOLD_ITEM, "state[...]['exp_avg']", "Adam");
    whys_fill(m.trace, at, whys, 2);
    rpl_why_text(m.trace, &whys[0], &text);
    assert_string_equal(vs_text_get(&text), "grad of fc1.weight");
    assert_string_equal(rpl_why_name(m.trace, &whys[1]), "exp_avg");
    for (size_t i = 0; i < 2; i++)
        rpl_why_release(&whys[i]);
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

/* What ctx.save_for_backward saves is saved between ops, and no backward node says a name. */
static void a_function_that_never_ran_backward_is_no_empty_name(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    at = make_save(&m, VS_EV_SAVE, 1, 5, false);
    assert_string_equal(holders(m.trace, at, 1, &text),
                        "saved for the backward of an autograd.Function");
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

static void the_grad_of_a_non_parameter_is_named_so(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_GRADIENT);
    at = make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_GRAD, "", "");
    assert_string_equal(holders(m.trace, at, 1, &text),
                        "`.grad` of a tensor that is no parameter of the model");
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

static void only_references_held_now_are_holders(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    m.line = 3;
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "x", "f");
    m.line = 4;
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "x", "f");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "y", "f");
    make_hold(&m, VS_EV_DROP, 1, VS_HOLD_LOCAL, "x",
              "f"); /* rebound at line 4, so the binding of line 3 ends */
    make_hold(&m, VS_EV_DROP, 1, VS_HOLD_LOCAL, "never", "f");
    make_save(&m, VS_EV_SAVE, 1, 1, false);
    at = make_save(&m, VS_EV_UNSAVE, 1, 1, false);
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "z", "f");
    assert_string_equal(holders(m.trace, at, 1, &text),
                        "local `x` of `f`, line 4; local `y` of `f`, line 4");
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

static void the_next_use_and_free_of_a_block_are_found(void **state)
{
    struct make m;
    struct rpl_why whys[3] = {{.id = 1}, {.id = 2}, {.id = 77}};
    uint64_t at;
    uint64_t used;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    at = make_use(&m, 1);
    used = make_use(&m, 1);
    make_use(&m, 1);
    make_free(&m, 1, 512);
    whys_fill(m.trace, at, whys, 3);
    assert_true(whys[0].is_alive);
    assert_int_equal(whys[0].block.last_use_seq, at);
    assert_int_equal(whys[0].next_use_seq, used);
    assert_int_equal(whys[0].free_seq, used + 2);
    assert_true(whys[1].is_alive);
    assert_int_equal(whys[1].next_use_seq, 0);
    assert_int_equal(whys[1].free_seq, 0);
    assert_false(whys[2].is_alive);
    for (int i = 0; i < 3; i++)
        rpl_why_release(&whys[i]);
    rpl_trace_free(m.trace);
}

static void a_block_is_named_by_its_parameter_or_its_allocation_site(void **state)
{
    struct make m;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_why whys[2] = {{.id = 1}, {.id = 2}};
    struct vs_tensor_desc named;
    uint64_t at;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_PARAMETER);
    m.line = 25;
    m.module = "layer1.0.conv1";
    m.op = "conv2d";
    at = make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    assert_true(rpl_trace_tensor(m.trace, 1, &named));
    named.id = 3;
    named.name = rpl_trace_add_string(m.trace, "fc.weight");
    rpl_trace_add_tensor(m.trace, &named);
    whys_fill(m.trace, at, whys, 2);
    rpl_block_text(m.trace, &whys[0].block, whys[0].name, &text);
    vs_text_add(&text, " ");
    rpl_shape_text(m.trace, whys[0].block.tensor, &text);
    assert_string_equal(vs_text_get(&text), "fc.weight f32[128]");
    vs_text_clear(&text);
    rpl_block_text(m.trace, &whys[1].block, whys[1].name, &text);
    assert_string_equal(vs_text_get(&text), "allocated by conv2d in layer1.0.conv1, line 25");
    vs_text_release(&text);
    for (int i = 0; i < 2; i++)
        rpl_why_release(&whys[i]);
    rpl_trace_free(m.trace);
}

/*
 * 1  parameter 4096: never listed
 * 2  activation 8192: read in the first op, held until after the peak: kept
 * 3  activation 2048: never read, held: kept
 * 4  activation 1024: read after the peak: not kept
 * 5  activation 1024: read by the op that makes the peak: in use
 * 6  the peak: 4096 + 8192 + 2048 + 1024 + 1024 + 16384 = 32768
 * 7  later, when all of the above but the parameter have been freed: 4096 + 20480 = 24576
 */
static struct rpl_trace *kept_example(uint64_t *peak)
{
    struct make m;

    make_init(&m);
    make_alloc(&m, 4096, VS_CAT_PARAMETER);
    make_alloc(&m, 8192, VS_CAT_ACTIVATION);
    make_alloc(&m, 2048, VS_CAT_ACTIVATION);
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    make_op(&m, VS_EV_OP_BEGIN, "a", 0, 0, 0);
    make_use(&m, 1);
    make_use(&m, 2);
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    make_op(&m, VS_EV_OP_END, "a", 0, 0, 0);
    make_op(&m, VS_EV_OP_BEGIN, "b", 0, 0, 0);
    make_use(&m, 5);
    *peak = make_alloc(&m, 16384, VS_CAT_TEMPORARY);
    make_free(&m, 6, 16384);
    make_op(&m, VS_EV_OP_END, "b", 0, 0, 0);
    make_use(&m, 4);
    for (uint64_t id = 2; id <= 5; id++)
        make_free(&m, id, id == 2 ? 8192 : id == 3 ? 2048 : 1024);
    make_alloc(&m, 20480, VS_CAT_TEMPORARY);
    return m.trace;
}

static void blocks_without_a_later_use_are_listed(void **state)
{
    struct rpl_kept_list list;
    uint64_t peak;
    struct rpl_trace *trace = kept_example(&peak);

    (void)state;
    list = kept_at(trace, peak);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].block.id, 2);
    assert_int_equal(list.items[1].block.id, 3);
    assert_int_equal(list.items[1].block.last_use_seq, 0);
    assert_int_equal(list.total, 8192 + 2048);
    assert_int_equal(list.total_count, 2);
    rpl_trace_free(trace);
}

static void the_gain_of_a_free_is_limited_by_the_next_peak(void **state)
{
    struct rpl_kept_list list;
    uint64_t peak;
    struct rpl_trace *trace = kept_example(&peak);

    (void)state;
    list = kept_at(trace, peak);
    /* without block 2 the peak is 24576, as high as the later one */
    assert_int_equal(list.items[0].gain, 32768 - 24576);
    assert_int_equal(list.items[1].gain, 2048);
    /* without both it would be 22528, but the later peak remains */
    assert_int_equal(list.gain, 32768 - 24576);
    rpl_trace_free(trace);
}

static void a_gain_includes_the_same_block_of_every_step(void **state)
{
    struct rpl_kept_list list;
    struct make m;
    uint64_t peak = 0;

    (void)state;
    make_init(&m);
    /* each step: y of 2048 is read and held while z of 4096 is allocated: 6144, the same peak twice */
    for (int64_t step = 0; step < 2; step++) {
        make_step(&m, step);
        m.line = 10;
        make_alloc(&m, 2048, VS_CAT_ACTIVATION);
        make_op(&m, VS_EV_OP_BEGIN, "a", 0, 0, 0);
        make_use(&m, m.blocks);
        make_op(&m, VS_EV_OP_END, "a", 0, 0, 0);
        m.line = 11;
        make_op(&m, VS_EV_OP_BEGIN, "b", 0, 0, 0);
        make_alloc(&m, 4096, VS_CAT_ACTIVATION);
        if (!step)
            peak = rpl_trace_event_count(m.trace);
        make_free(&m, m.blocks, 4096);
        make_op(&m, VS_EV_OP_END, "b", 0, 0, 0);
        make_free(&m, m.blocks - 1, 2048);
    }
    list = kept_at(m.trace, peak);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].block.id, 1);
    assert_int_equal(list.items[0].gain, 2048);
    assert_int_equal(list.gain, 2048);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_holder_is_described),
        cmocka_unit_test(a_node_that_never_ran_is_named_by_its_op),
        cmocka_unit_test(holders_that_read_the_same_are_listed_once),
        cmocka_unit_test(gradients_and_states_are_called_by_their_parameters),
        cmocka_unit_test(a_function_that_never_ran_backward_is_no_empty_name),
        cmocka_unit_test(the_grad_of_a_non_parameter_is_named_so),
        cmocka_unit_test(only_references_held_now_are_holders),
        cmocka_unit_test(the_next_use_and_free_of_a_block_are_found),
        cmocka_unit_test(a_block_is_named_by_its_parameter_or_its_allocation_site),
        cmocka_unit_test(blocks_without_a_later_use_are_listed),
        cmocka_unit_test(the_gain_of_a_free_is_limited_by_the_next_peak),
        cmocka_unit_test(a_gain_includes_the_same_block_of_every_step),
    };

    return cmocka_run_group_tests_name("replay/why", tests, NULL, NULL);
}
