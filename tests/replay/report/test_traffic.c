/*
 * tests/replay/report/test_traffic.c - bytes that ops read and write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/traffic.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"

static void fill(struct rpl_traffic *out, struct rpl_trace *trace)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(out, 0, sizeof(*out));
    if (rpl_traffic_fill(out, trace, &err))
        fail_msg("%s", err.text);
}

/* hw(c1 + c2) + c1·c2 elements of four bytes, with h = w = 56 and c1 = c2 = 128; the ReLU reads and writes hw·c2. */
static void a_convolution_transfers_its_input_weights_and_output(void **state)
{
    struct rpl_trace *trace = net_trace("lessons/24_bytes_moved.py", "grad=no_grad");
    struct rpl_traffic t;

    (void)state;
    fill(&t, trace);
    assert_int_equal(rpl_traffic_of(&t, trace, "_convolution"),
                     4 * (56 * 56 * (128 + 128) + 128 * 128));
    assert_int_equal(rpl_traffic_of(&t, trace, "relu"), 4 * 2 * 56 * 56 * 128);
    assert_int_equal(rpl_traffic_of(&t, trace, "no such op"), 0);
    rpl_traffic_release(&t);
    rpl_trace_free(trace);
}

static void begin(struct make *m, const char *name, uint64_t overwritten)
{
    struct vs_event event = {.kind = VS_EV_OP_BEGIN};

    event.op.name = rpl_trace_add_string(m->trace, name);
    event.op.overwritten_bytes = overwritten;
    (void)make_event(m, event);
}

static void end(struct make *m, const char *name, uint64_t flops)
{
    struct vs_event event = {.kind = VS_EV_OP_END};

    event.op.name = rpl_trace_add_string(m->trace, name);
    event.op.flops = flops;
    (void)make_event(m, event);
}

/* Block 1 has 1000 bytes, 2 has 600, 3 has 400. */
static void an_op_counts_each_tensor_once_and_nested_ops_separately(void **state)
{
    struct rpl_traffic t;
    struct make m;

    (void)state;
    make_init(&m);
    make_step(&m, 0);
    (void)make_alloc(&m, 1000, VS_CAT_INPUT);
    begin(&m, "outer", 0);
    (void)make_use(&m, 1);
    (void)make_use(&m, 1);
    (void)make_alloc(&m, 600, VS_CAT_ACTIVATION);
    begin(&m, "inner", 0);
    (void)make_use(&m, 2);
    (void)make_alloc(&m, 400, VS_CAT_ACTIVATION);
    end(&m, "inner", 10);
    end(&m, "outer", 5);
    begin(&m, "view", 0);
    (void)make_use(&m, 1);
    end(&m, "view", 0);
    begin(&m, "in place", 1000);
    (void)make_use(&m, 1);
    end(&m, "in place", 0);
    fill(&t, m.trace);
    assert_int_equal(rpl_traffic_of(&t, m.trace, "outer"), 1600);
    assert_int_equal(rpl_traffic_of(&t, m.trace, "inner"), 1000);
    assert_int_equal(rpl_traffic_of(&t, m.trace, "view"), 0);
    assert_int_equal(rpl_traffic_of(&t, m.trace, "in place"), 2000);
    assert_int_equal(t.bytes, 1600 + 1000 + 2000);
    assert_int_equal(t.rows[0].bytes, 2000);
    assert_int_equal(t.rows[1].flops, 5);
    rpl_traffic_release(&t);
    rpl_trace_free(m.trace);
}

/* Nothing has been read before it either. */
static void an_op_that_reads_nothing_transfers_what_it_writes(void **state)
{
    struct rpl_traffic t;
    struct make m;

    (void)state;
    make_init(&m);
    make_step(&m, 0);
    begin(&m, "zeros", 0);
    (void)make_alloc(&m, 1000, VS_CAT_ACTIVATION);
    end(&m, "zeros", 0);
    fill(&t, m.trace);
    assert_int_equal(rpl_traffic_of(&t, m.trace, "zeros"), 1000);
    rpl_traffic_release(&t);
    rpl_trace_free(m.trace);
}

static void a_trace_without_ops_has_no_rows(void **state)
{
    struct rpl_traffic t;
    struct vs_text text = {NULL, 0, 0};
    struct make m;

    (void)state;
    make_init(&m);
    fill(&t, m.trace);
    rpl_traffic_text(&t, m.trace, &text);
    assert_int_equal(t.row_count, 0);
    assert_int_equal(text.len, 0);
    rpl_traffic_release(&t);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_transfers_its_input_weights_and_output),
        cmocka_unit_test(an_op_counts_each_tensor_once_and_nested_ops_separately),
        cmocka_unit_test(an_op_that_reads_nothing_transfers_what_it_writes),
        cmocka_unit_test(a_trace_without_ops_has_no_rows),
    };

    return cmocka_run_group_tests_name("replay/report/traffic", tests, NULL, NULL);
}
