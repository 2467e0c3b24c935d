/*
 * tests/tui/test_waiting.c - the view of freed blocks that wait for a stream, on a recording that has some.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/tui/session.h"

#define BASE UINT64_C(0x10000000)

/* A copy in a function whose name is long. */
static uint32_t copy_location(struct rpl_trace *trace)
{
    const struct vs_location location = {
        .op = rpl_trace_add_string(trace, "to"),
        .func = rpl_trace_add_string(trace, "train.py:batches_of_the_set"),
        .line = 18,
    };

    return rpl_trace_add_location(trace, &location);
}

static void event_add(struct rpl_trace *trace, enum vs_event_kind kind, uint64_t block,
                      uint32_t waits)
{
    struct vs_event event = {.kind = (uint8_t)kind,
                             .free = {.block = block,
                                      .requested_bytes = 4096 * block,
                                      .block_bytes = 4096 * block,
                                      .address = BASE + block * 65536,
                                      .waits_for_stream = waits}};

    if (kind == VS_EV_ALLOC && block == 3)
        event.location = copy_location(trace);

    rpl_trace_add_event(trace, &event);
}

/* Blocks 1 to 3 of stream 7; 1 waits from event 5 to 8, 3 from event 7 on. */
static struct rpl_trace *recording(void)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_event segment = {.kind = VS_EV_SEGMENT_ALLOC,
                               .segment = {.stream = 7, .bytes = 2097152, .address = BASE}};

    rpl_trace_set_meta(trace, "source_kind", "imported");
    rpl_trace_add_event(trace, &segment);
    for (uint64_t block = 1; block <= 3; block++)
        event_add(trace, VS_EV_ALLOC, block, 0);
    event_add(trace, VS_EV_FREE, 1, 1);
    event_add(trace, VS_EV_FREE, 2, 0);
    event_add(trace, VS_EV_FREE, 3, 1);
    event_add(trace, VS_EV_FREE_COMPLETED, 1, 0);
    return trace;
}

static void the_view_lists_the_blocks_that_wait_at_the_event(void **state)
{
    struct tui_app app = {.name = NULL};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    if (tui_app_take(&app, "waits.db", recording(), &err))
        fail_msg("%s", err.text);
    tui_app_resize(&app, 80, 24);
    session_type(&app, "gGM:goto 4<enter>");
    session_expect(&app, "no freed block waits for a stream here");
    session_expect(&app, "at most 16.0 KiB do, at event 7");
    session_type(&app, "<enter>");
    session_expect(&app, "2 freed blocks wait for a stream, 16.0 KiB");
    session_expect(&app, "12.0K        7          7           never");
    session_expect(&app, "4.0K        7          5               8  parameter");
    /* in few columns the line is whole, and what goes without saying is left out */
    session_expect(&app, "never  to, train.py:batches_of_the_set:18\n");
    tui_app_resize(&app, 120, 24);
    session_expect(&app, "never  allocated by to, train.py:batches_of_the_set:18\n");
    session_type(&app, "G");
    session_type(&app, ":goto 8<enter>");
    session_expect(&app, "1 freed block waits for a stream, 12.0 KiB");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_view_lists_the_blocks_that_wait_at_the_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
