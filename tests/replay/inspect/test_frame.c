/*
 * tests/replay/inspect/test_frame.c - the names that hold tensors, by the function or object they belong to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/inspect/frame.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static const char *word(const struct make *m, uint32_t id)
{
    return rpl_trace_string(m->trace, id);
}

static void names_are_listed_by_frame_the_current_frame_first(void **state)
{
    struct rpl_frames frames = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_cursor *cursor;
    struct rpl_index *index;
    struct make m;

    (void)state;
    make_init(&m);
    make_alloc(&m, 1000, VS_CAT_ACTIVATION);
    make_alloc(&m, 3000, VS_CAT_ACTIVATION);
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "x", "Net.forward");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "out", "train_step");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_ITEM, "kept", "Net.forward");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_GRAD, "fc.weight", "");
    make_hold(&m, VS_EV_HOLD, 2, VS_HOLD_LOCAL, "gone", "Net.forward");
    make_hold(&m, VS_EV_DROP, 2, VS_HOLD_LOCAL, "gone", "Net.forward");
    make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "y", "Net.forward");
    make_save(&m, VS_EV_SAVE, 2, 7, false);
    make_hold(&m, VS_EV_HOLD, 2, VS_HOLD_ARGS, "relu", "Net.forward");
    make_event(&m,
               (struct vs_event){.kind = VS_EV_HOLD, /* on the host */
                                 .hold = {.name = rpl_trace_add_string(m.trace, "labels"),
                                          .scope = rpl_trace_add_string(m.trace, "train_step")}});
    m.func = "Net.forward";
    make_use(&m, 1);
    ok(rpl_index_open(m.trace, NULL, NULL, &index, &err), &err);
    cursor = rpl_cursor_new(index);
    for (int round = 0; round < 2; round++) { /* filled twice: the memory is used again */
        ok(rpl_cursor_seek(cursor, rpl_index_event_count(index), &err), &err);
        rpl_frames_fill(&frames, cursor);
        assert_int_equal(frames.count, 3);
        assert_true(frames.frames[0].is_current && frames.frames[0].is_function);
        assert_string_equal(word(&m, frames.frames[0].scope), "Net.forward");
        assert_int_equal(frames.frames[0].count, 3);
        assert_string_equal(word(&m, frames.frames[0].variables[0].name), "x");
        assert_string_equal(word(&m, frames.frames[0].variables[1].name), "y");
        assert_string_equal(word(&m, frames.frames[0].variables[2].name), "relu");
        assert_int_equal(frames.frames[0].variables[0].bytes, 1024);
        assert_int_equal(frames.frames[0].variables[0].sharers, 5);
        assert_int_equal(frames.frames[0].variables[2].sharers, 2);
        assert_int_equal(frames.frames[0].bytes, 1024 + 3072);
        assert_string_equal(word(&m, frames.frames[1].scope), "train_step");
        assert_int_equal(frames.frames[1].count, 2);
        assert_int_equal(frames.frames[1].variables[1].block, 0);
        assert_int_equal(frames.frames[1].bytes, 1024);
        assert_false(frames.frames[2].is_function);
        assert_string_equal(word(&m, frames.frames[2].variables[0].name), "kept");
        ok(rpl_cursor_seek(cursor, 0, &err), &err);
        rpl_frames_fill(&frames, cursor);
        assert_int_equal(frames.count, 0);
    }
    rpl_frames_release(&frames);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(m.trace);
}

static void after_the_last_step_only_the_training_loop_holds_tensors(void **state)
{
    struct rpl_trace *trace = net_trace("tests/nets/mlp.py", NULL);
    struct rpl_frames frames = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_cursor *cursor;
    struct rpl_index *index;

    (void)state;
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    cursor = rpl_cursor_new(index);
    ok(rpl_cursor_seek(cursor, rpl_index_event_count(index), &err), &err);
    rpl_frames_fill(&frames, cursor);
    for (size_t i = 0; i < frames.count; i++)
        if (frames.frames[i].is_function)
            assert_string_equal(rpl_trace_string(trace, frames.frames[i].scope), "training loop");
    rpl_frames_release(&frames);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_listed_by_frame_the_current_frame_first),
        cmocka_unit_test(after_the_last_step_only_the_training_loop_holds_tensors),
    };

    return cmocka_run_group_tests_name("replay/frame", tests, NULL, NULL);
}
