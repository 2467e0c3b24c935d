/*
 * tests/tui/test_names.c - blocks are named by what they are, and events by what happened, on every screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tui/session.h"

/* The first event of this kind whose holder has this name; 0: there is none. */
static uint64_t hold_find(struct tui_app *app, enum vs_event_kind kind, const char *name)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event event;

    for (uint64_t seq = 1; seq <= app->base.events; seq++) {
        assert_int_equal(rpl_index_event(app->base.index, seq, &event, &err), VS_OK);
        if (event.kind == kind &&
            strcmp(rpl_trace_string(app->base.trace, (uint32_t)event.hold.name), name) == 0)
            return seq;
    }
    return 0;
}

static void a_block_is_named_by_its_variable_parameter_or_state(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", "optimizer=adamw"), 110, 40);
    session_type(&app, "GgbM");
    session_expect(&app, "fc1.weight ");
    session_expect(&app, "exp_avg of fc1.weight");
    session_expect(&app, "exp_avg_sq of conv2.weight");
    session_expect(&app, "inputs  _to_copy");
    session_type(&app, "gk");
    session_expect(&app, "exp_avg of fc1.weight, allocated by zeros_like");
    tui_app_release(&app);
}

static void a_gradient_is_named_by_its_parameter(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 110, 40);
    /* the end of backward in step 0 */
    session_type(&app, ":goto step 1<enter>((IIgbM");
    session_expect(&app, "grad of fc1.weight");
    session_expect(&app, "grad of conv2.weight");
    tui_app_release(&app);
}

static void a_segment_names_its_blocks_as_the_list_does(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", "optimizer=adamw"), 110, 40);
    session_type(&app, "Ggbjjgs");
    session_expect(&app, "exp_avg of fc1.weight");
    tui_app_release(&app);
}

static void an_event_says_what_happened(void **state)
{
    struct tui_app app;
    uint64_t seq;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 110, 40);
    seq = hold_find(&app, VS_EV_HOLD, "x");
    assert_true(seq > 0);
    tui_app_go(&app, seq, false);
    session_expect(&app, "`x` of LeNet.forward takes block ");
    seq = hold_find(&app, VS_EV_DROP, "x");
    assert_true(seq > 0);
    tui_app_go(&app, seq, false);
    session_expect(&app, "`x` of LeNet.forward releases block ");
    tui_app_release(&app);
}

/* The first event of this kind, and of at least so many bytes, after `seq`. */
static uint64_t kind_find(struct tui_app *app, enum vs_event_kind kind, uint64_t seq,
                          uint64_t bytes)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event event;

    while (++seq <= app->base.events) {
        assert_int_equal(rpl_index_event(app->base.index, seq, &event, &err), VS_OK);
        if (event.kind == (uint8_t)kind && (!bytes || event.free.block_bytes >= bytes))
            return seq;
    }
    return 0;
}

static void what_is_allocated_and_freed_is_named(void **state)
{
    struct tui_app app;
    uint64_t seq;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 110, 40);
    /* the first parameter: three input channels, 16 filters of 3 x 3 floats, rounded up to 512 bytes */
    tui_app_go(&app, kind_find(&app, VS_EV_ALLOC, 0, 0), false);
    session_expect(&app, "alloc +2.0 KiB, `conv1.weight`");
    /* what the names of forward held goes when it returns */
    seq = hold_find(&app, VS_EV_DROP, "x1");
    seq = kind_find(&app, VS_EV_FREE, seq, 1 << 20);
    tui_app_go(&app, seq, false);
    session_expect(&app, "free -17.0 MiB, block ");
    session_expect(&app, " (`x1`)");
    /* what no name ever held is called by its op */
    seq = kind_find(&app, VS_EV_FREE, seq + 200, 1 << 20);
    tui_app_go(&app, seq, false);
    session_expect(&app, "Backward");
    session_type(&app, ":op-back<enter>");
    session_expect_not(&app, "op_begin");
    tui_app_release(&app);
}

/* Also where the block is not alive, and in the list of what is watched. */
static void a_watched_or_freed_block_is_named(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 110, 40);
    session_type(&app, "gb/x1<enter>WgBM");
    session_expect(&app, "breakpoint block ");
    session_expect(&app, "  x1, allocated by _convolution in conv1, line 19");
    session_type(&app, ":goto 600<enter>gy");
    session_expect(&app, " is not alive here");
    session_expect(&app, "\n allocated by _convolution in conv1, line 19\n");
    session_type(&app, "gB");
    session_expect(&app, "  allocated by _convolution in conv1, line 19");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_named_by_its_variable_parameter_or_state),
        cmocka_unit_test(a_gradient_is_named_by_its_parameter),
        cmocka_unit_test(a_segment_names_its_blocks_as_the_list_does),
        cmocka_unit_test(an_event_says_what_happened),
        cmocka_unit_test(what_is_allocated_and_freed_is_named),
        cmocka_unit_test(a_watched_or_freed_block_is_named),
    };

    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
