/*
 * tests/replay/report/test_report.c - the report of a trace written by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "replay/report/by_value.h"
#include "replay/report/report.h"
#include "tests/replay/make_trace.h"

/*
 * A parameter of 4 MiB, a kept activation of 1 MiB, and a temporary of 3 MiB at the peak: 8 MiB in one segment of 20
 * MiB.
 */
static struct rpl_trace *example(bool is_oom)
{
    struct make m;

    make_init(&m);
    rpl_trace_set_meta(m.trace, "device", "meta");
    rpl_trace_set_source(m.trace, "net.py",
                         "import torch\n\n    y = self.conv(x)\n    z = y + 1\n");
    rpl_trace_set_toggle(m.trace, "batch", "4", false);
    rpl_trace_set_toggle(m.trace, "amp", "off", true);
    make_step(&m, -1);
    make_phase(&m, VS_PHASE_SETUP);
    make_segment(&m, VS_EV_SEGMENT_ALLOC, 20 << 20);
    make_alloc(&m, 4 << 20, VS_CAT_PARAMETER);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    m.func = "Net.forward";
    m.module = "conv";
    m.line = 3;
    make_op(&m, VS_EV_OP_BEGIN, "conv2d", 1, 0, 0);
    make_use(&m, 1);
    make_alloc(&m, 1 << 20, VS_CAT_ACTIVATION);
    make_op(&m, VS_EV_OP_END, "conv2d", 0, 0, 10);
    m.module = "";
    make_hold(&m, VS_EV_HOLD, 2, VS_HOLD_LOCAL, "y", "Net.forward");
    m.line = 4;
    make_op(&m, VS_EV_OP_BEGIN, "add", 2, 0, 0);
    make_alloc(&m, 3 << 20, VS_CAT_TEMPORARY);
    if (is_oom)
        make_event(&m, (struct vs_event){.kind = VS_EV_OOM,
                                         .oom = {.requested_bytes = 5 << 20,
                                                 .segment_bytes = 20 << 20,
                                                 .device_free_bytes = 1 << 20}});
    make_free(&m, 3, 3 << 20);
    make_op(&m, VS_EV_OP_END, "add", 0, 0, 0);
    return m.trace;
}

static void assert_line(const struct vs_text *text, const char *part)
{
    if (!strstr(vs_text_get(text), part))
        fail_msg("\"%s\" is not in:\n%s", part, vs_text_get(text));
}

static void the_report_names_location_and_tensor_of_the_peak(void **state)
{
    struct rpl_trace *trace = example(false);
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(rpl_report_fill(&report, trace, 2, &err), VS_OK);
    rpl_report_text(&report, "t.db", &text);
    assert_line(&text, "t.db: net.py on meta, 1,048,576 parameters, 15 events\ntoggles: batch=4\n");
    assert_line(&text,
                "Peak: 8.0 MiB allocated (8,388,608 bytes) at event 13, step 0, forward\n"
                "  in add, line 4 in Net.forward\n"
                "    4 | z = y + 1\n"
                "  requested 8.0 MiB, reserved 20.0 MiB: 12.0 MiB of the segments not in use\n");
    assert_line(&text, "  parameter      4.0 MiB   50.0 %      1 block   ############\n"
                       "  temporary      3.0 MiB   37.5 %      1 block   #########\n"
                       "  activation     1.0 MiB   12.5 %      1 block   ###\n");
    assert_line(&text, "    4.0 MiB  parameter  f32[1048576]  parameter\n");
    assert_line(
        &text,
        "Kept past the last use: 1 tensor, 1.0 MiB; the peak would fall by 1.0 MiB without them\n"
        "    1.0 MiB  activation f32[262144]  allocated by conv2d in conv, line 3\n"
        "               never read\n"
        "               local `y` of `Net.forward`, line 3\n"
        "               if freed right after its last use, the peak falls by 1.0 MiB\n");
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void after_an_out_of_memory_the_text_describes_that_event(void **state)
{
    struct rpl_trace *trace = example(true);
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(rpl_report_fill(&report, trace, 3, &err), VS_OK);
    rpl_report_text(&report, "t.db", &text);
    assert_line(
        &text,
        "Out of memory: 5.0 MiB (5,242,880 bytes) were refused at event 14, step 0, forward\n");
    assert_line(&text, "  a segment of 20.0 MiB was requested with 1.0 MiB free on the device; "
                       "8.0 MiB were allocated, 20.0 MiB reserved\n");
    assert_null(strstr(vs_text_get(&text), "Peak: "));
    /* y might have been used later */
    assert_null(strstr(vs_text_get(&text), "never again"));
    assert_null(strstr(vs_text_get(&text), "never read"));
    assert_line(&text, "Tensors kept past their last use: not known, the recording ends there.");
    assert_line(&text, "  temporary      3.0 MiB");
    /* no loss was reached */
    assert_line(&text, "\nSaved by autograd when memory ran out: 0 tensors, 0 B");
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void the_same_trace_gives_the_same_text(void **state)
{
    struct vs_text text[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rpl_trace *trace = example(false);
        struct rpl_report report = {.trace = NULL};

        assert_int_equal(rpl_report_fill(&report, trace, 10, &err), VS_OK);
        rpl_report_json(&report, &text[i]);
        rpl_report_release(&report);
        rpl_trace_free(trace);
    }
    assert_string_equal(vs_text_get(&text[0]), vs_text_get(&text[1]));
    vs_text_release(&text[0]);
    vs_text_release(&text[1]);
}

static void a_trace_without_allocations_is_no_failure(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(rpl_report_fill(&report, trace, 10, &err), VS_OK);
    rpl_report_text(&report, "t.db", &text);
    assert_line(&text, "Nothing was allocated.");
    rpl_report_json(&report, &text);
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void a_double_free_inside_a_trace_is_reported_as_damage(void **state)
{
    struct rpl_report report = {.trace = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    (void)state;
    make_init(&m);
    make_alloc(&m, 512, VS_CAT_OTHER);
    make_free(&m, 1, 512);
    make_free(&m, 1, 512);
    assert_int_equal(rpl_report_fill(&report, m.trace, 10, &err), VS_E_DAMAGED);
    rpl_report_release(&report);
    rpl_trace_free(m.trace);
}

/* Only runs whose figures may differ from PyTorch's say so. */
static void dependence_on_values_is_reported_by_op_and_toggle(void **state)
{
    static const struct {
        const char *toggle, *refused, *op;
        const char *line; /* NULL: none */
    } rows[] = {
        {"off", NULL, "ProdBackward0", "  depends on values: ProdBackward0: "},
        {"on", "inplace a.m0: the old value is read again", "relu_",
         "  depends on values: inplace: "},
        {"on", NULL, "elu_", "  depends on values: elu_: "},
        {"off", NULL, "elu_", NULL},
        {"on", "inplace on: the net has no module", "relu_", NULL},
        {"on", "checkpoint a: no", "relu_", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vs_text text = {NULL, 0, 0};
        struct make m;

        make_init(&m);
        rpl_trace_set_source(m.trace, "net.py", "import torch\n");
        rpl_trace_set_toggle(m.trace, "inplace", rows[i].toggle, false);
        if (rows[i].refused)
            rpl_trace_set_meta(m.trace, "refused", rows[i].refused);
        make_op(&m, VS_EV_OP_BEGIN, rows[i].op, 1, 0, 0);
        make_op(&m, VS_EV_OP_END, rows[i].op, 0, 0, 0);
        rpl_by_values_text(m.trace, &text);
        if (rows[i].line)
            assert_line(&text, rows[i].line);
        else
            assert_int_equal(text.len, 0);
        vs_text_release(&text);
        rpl_trace_free(m.trace);
    }
}

static void what_leaks_is_listed_once_for_a_line_and_size(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct make m;
    const char *leak;

    (void)state;
    make_init(&m);
    make_step(&m, -1);
    make_alloc(&m, 4096, VS_CAT_PARAMETER);
    for (int64_t step = 0; step < 5; step++) {
        make_step(&m, step);
        m.line = 7;
        make_alloc(&m, 512, VS_CAT_SAVED);
        make_phase(&m, VS_PHASE_ZERO_GRAD);
    }
    assert_int_equal(rpl_report_fill(&report, m.trace, 3, &err), VS_OK);
    rpl_report_text(&report, "t.db", &text);
    leak = strstr(vs_text_get(&text), "\nLeak: 512 B a step; 3 blocks ");
    if (!leak || !strstr(leak, "2 more of the largest are of this line and size, too\n"))
        fail_msg("the leak is said to be: %s", vs_text_get(&text));
    leak = strstr(leak, "  512 B  saved");
    assert_non_null(leak);
    assert_null(strstr(leak + 1, "  512 B  saved"));
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_names_location_and_tensor_of_the_peak),
        cmocka_unit_test(after_an_out_of_memory_the_text_describes_that_event),
        cmocka_unit_test(the_same_trace_gives_the_same_text),
        cmocka_unit_test(a_trace_without_allocations_is_no_failure),
        cmocka_unit_test(a_double_free_inside_a_trace_is_reported_as_damage),
        cmocka_unit_test(dependence_on_values_is_reported_by_op_and_toggle),
        cmocka_unit_test(what_leaks_is_listed_once_for_a_line_and_size),
    };

    return cmocka_run_group_tests_name("replay/report", tests, NULL, NULL);
}
