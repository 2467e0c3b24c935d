/*
 * tests/replay/inspect/test_calltree.c - live blocks by the calls that allocated them, against a plain sum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/inspect/calltree.h"
#include "store/writer.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

struct session {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_cursor *cursor;
    struct rpl_calltree *tree;
};

static void session_begin(struct session *s, struct rpl_trace *trace)
{
    struct vs_error err = VS_ERROR_INIT;

    s->trace = trace;
    ok(rpl_index_open(trace, NULL, NULL, &s->index, &err), &err);
    s->cursor = rpl_cursor_new(s->index);
    s->tree = rpl_calltree_new(trace);
}

static void session_go(struct session *s, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_cursor_seek(s->cursor, seq, &err), &err);
    ok(rpl_calltree_fill(s->tree, s->cursor, &err), &err);
}

static void session_end(struct session *s)
{
    rpl_calltree_free(s->tree);
    rpl_cursor_free(s->cursor);
    rpl_index_free(s->index);
    rpl_trace_free(s->trace);
}

/* The tree as text: "name:line bytes" for each node, the callers above, one blank a level. */
static void expect_tree(const struct session *s, const char *expected)
{
    size_t count;
    size_t order_count;
    const struct rpl_call *calls = rpl_calltree_all(s->tree, &count);
    const uint32_t *order = rpl_calltree_order(s->tree, &order_count);
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < order_count; i++) {
        const struct rpl_call *call = &calls[order[i]];

        vs_text_addf(&text, "%*s%s:%" PRIu32 " %" PRIu64 " in %" PRIu64 "%s\n",
                     (int)call->depth - 1, "", call->name, call->line, call->bytes, call->blocks,
                     call->is_here ? " <" : "");
    }
    assert_string_equal(vs_text_get(&text), expected);
    vs_text_release(&text);
}

static void a_net_has_modules_functions_and_lines(void **state)
{
    struct session s;
    struct make m;

    (void)state;
    make_init(&m);
    m.module = "layer1.conv";
    m.func = "Net.forward";
    m.line = 7;
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    m.line = 9;
    make_alloc(&m, 4096, VS_CAT_ACTIVATION);
    m.module = "layer1.relu";
    make_alloc(&m, 2048, VS_CAT_ACTIVATION);
    m.module = m.func = "";
    m.line = 0;
    make_alloc(&m, 512, VS_CAT_INPUT);
    make_free(&m, 1, 1024);
    session_begin(&s, m.trace);
    session_go(&s, 4);
    expect_tree(&s, "layer1:0 7168 in 3\n"
                    " conv:0 5120 in 2\n"
                    "  Net.forward:9 4096 in 1\n"
                    "  Net.forward:7 1024 in 1\n"
                    " relu:0 2048 in 1\n"
                    "  Net.forward:9 2048 in 1\n"
                    ":0 512 in 1 <\n");
    /* a node without bytes is not listed, and another one can be the first */
    session_go(&s, 5);
    expect_tree(&s, "layer1:0 6144 in 2\n"
                    " conv:0 4096 in 1\n"
                    "  Net.forward:9 4096 in 1\n"
                    " relu:0 2048 in 1\n"
                    "  Net.forward:9 2048 in 1\n"
                    ":0 512 in 1 <\n");
    session_end(&s);
}

/* Stack 1: main, step, forward; stack 2: main, step. An event without a stack has its location. */
static void a_program_has_its_call_stacks(void **state)
{
    const struct vs_event allocs[] = {
        {.kind = VS_EV_ALLOC, .alloc = {.block = 1, .requested_bytes = 512, .block_bytes = 512}},
        {.kind = VS_EV_ALLOC, .alloc = {.block = 2, .requested_bytes = 1024, .block_bytes = 1024}},
        {.kind = VS_EV_ALLOC, .alloc = {.block = 3, .requested_bytes = 2048, .block_bytes = 2048}},
    };
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w = NULL;
    struct rpl_trace *trace = NULL;
    struct session s;
    char path[512];

    trace_path(state, "trace.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    ok(sto_writer_string(w, 1, "net.py:forward", &err), &err);
    ok(sto_writer_string(w, 2, "train.py:step", &err), &err);
    ok(sto_writer_string(w, 3, "train.py:main", &err), &err);
    ok(sto_writer_frame(w, 1, 0, 1, 10, &err), &err);
    ok(sto_writer_frame(w, 1, 1, 2, 20, &err), &err);
    ok(sto_writer_frame(w, 1, 2, 3, 30, &err), &err);
    ok(sto_writer_frame(w, 2, 0, 2, 21, &err), &err);
    ok(sto_writer_frame(w, 2, 1, 3, 30, &err), &err);
    ok(sto_writer_stack(w, 1, &err), &err);
    ok(sto_writer_events(w, &allocs[0], 1, &err), &err);
    ok(sto_writer_stack(w, 2, &err), &err);
    ok(sto_writer_events(w, &allocs[1], 1, &err), &err);
    ok(sto_writer_events(w, &allocs[2], 1, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);
    ok(rpl_trace_open(path, &trace, &err), &err);
    session_begin(&s, trace);
    session_go(&s, 1);
    expect_tree(&s, "train.py:main:30 512 in 1 <\n"
                    " train.py:step:20 512 in 1 <\n"
                    "  net.py:forward:10 512 in 1 <\n");
    session_go(&s, 3);
    expect_tree(&s, ":0 2048 in 1 <\n"
                    "train.py:main:30 1536 in 2\n"
                    " train.py:step:21 1024 in 1\n"
                    " train.py:step:20 512 in 1\n"
                    "  net.py:forward:10 512 in 1\n");
    session_end(&s);
}

static void every_live_block_is_counted_once(void **state)
{
    struct session s;
    uint64_t events;

    (void)state;
    session_begin(&s, random_trace(4000, 11));
    events = rpl_index_event_count(s.index);
    for (uint64_t i = 1; i <= 40; i++) {
        const struct rpl_live *live;
        size_t count;
        const struct rpl_call *calls;
        uint64_t top = 0;
        uint64_t blocks = 0;

        session_go(&s, 1 + i * 7919 % events);
        live = rpl_cursor_live(s.cursor);
        calls = rpl_calltree_all(s.tree, &count);
        for (size_t k = 1; k < count; k++) {
            top += calls[k].depth == 1 ? calls[k].bytes : 0;
            blocks += calls[k].depth == 1 ? calls[k].blocks : 0;
        }
        assert_int_equal(top, live->allocated);
        assert_int_equal(blocks, live->block_count);
        assert_int_equal(calls[0].bytes, live->allocated);
    }
    session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_net_has_modules_functions_and_lines),
        cmocka_unit_test_setup_teardown(a_program_has_its_call_stacks, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test(every_live_block_is_counted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
