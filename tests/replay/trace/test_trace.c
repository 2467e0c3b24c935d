/*
 * tests/replay/trace/test_trace.c - a trace in memory and the same trace in a file give the same results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/writer.h"
#include "tests/replay/make_trace.h"

static void equal_texts_and_locations_get_equal_ids(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_location location = {.line = 3};

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 3000; i++) {
            char text[16];

            snprintf(text, sizeof(text), "t%u", i);
            assert_int_equal(rpl_trace_add_string(trace, text), i + 1);
            location.line = i;
            assert_int_equal(rpl_trace_add_location(trace, &location), i + 1);
        }
    }
    assert_string_equal(rpl_trace_string(trace, 2001), "t2000");
    assert_string_equal(rpl_trace_string(trace, 0), "");
    assert_string_equal(rpl_trace_string(trace, 3001), "");
    assert_int_equal(rpl_trace_location(trace, 2001)->line, 2000);
    assert_int_equal(rpl_trace_location(trace, 99999)->line, 0);
    rpl_trace_free(trace);
}

static void a_cleared_trace_is_empty_and_can_be_filled_again(void **state)
{
    struct make m;

    (void)state;
    make_init(&m);
    make_step(&m, -1);
    make_alloc(&m, 100, VS_CAT_OTHER);
    rpl_trace_set_meta(m.trace, "device", "meta");
    rpl_trace_clear(m.trace);
    assert_int_equal(rpl_trace_event_count(m.trace), 0);
    assert_int_equal(rpl_trace_tensor_count(m.trace), 0);
    assert_int_equal(rpl_trace_step_count(m.trace), 0);
    assert_null(rpl_trace_meta(m.trace, "device"));
    assert_int_equal(rpl_trace_add_string(m.trace, "first"), 1);
    rpl_trace_free(m.trace);
}

static void lines_of_the_source_come_without_indentation(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    size_t len = 7;

    (void)state;
    assert_string_equal(rpl_trace_source_line(trace, 1, &len), "");
    assert_int_equal(len, 0);
    rpl_trace_set_source(trace, "net.py", "import torch\n    x = 1\r\nlast");
    assert_memory_equal(rpl_trace_source_line(trace, 2, &len), "x = 1", 5);
    assert_int_equal(len, 5);
    assert_memory_equal(rpl_trace_source_line(trace, 3, &len), "last", 4);
    assert_int_equal(len, 4);
    assert_string_equal(rpl_trace_source_line(trace, 4, &len), "");
    assert_int_equal(len, 0);
    rpl_trace_free(trace);
}

static void malformed_numbers_in_meta_are_not_read(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    uint64_t n = 0;

    (void)state;
    rpl_trace_set_meta(trace, "a", "18446744073709551615");
    rpl_trace_set_meta(trace, "b", "18446744073709551616");
    rpl_trace_set_meta(trace, "c", "12x");
    rpl_trace_set_meta(trace, "d", "");
    rpl_trace_set_meta(trace, "e", "-1");
    assert_true(rpl_trace_meta_uint(trace, "a", &n));
    assert_true(n == UINT64_MAX);
    assert_false(rpl_trace_meta_uint(trace, "b", &n));
    assert_false(rpl_trace_meta_uint(trace, "c", &n));
    assert_false(rpl_trace_meta_uint(trace, "d", &n));
    assert_false(rpl_trace_meta_uint(trace, "e", &n));
    assert_false(rpl_trace_meta_uint(trace, "f", &n));
    rpl_trace_free(trace);
}

/* Something with every table in it; long enough for several stretches of a scan. */
static void make_example(struct make *m)
{
    make_step(m, -1);
    make_phase(m, VS_PHASE_SETUP);
    make_alloc(m, 4000, VS_CAT_PARAMETER);
    for (int64_t step = 0; step < 3; step++) {
        make_step(m, step);
        make_phase(m, VS_PHASE_FORWARD);
        m->module = "layer1";
        m->line = 12;
        for (int i = 0; i < 700; i++) {
            make_alloc(m, 400, VS_CAT_ACTIVATION);
            make_hold(m, VS_EV_HOLD, m->blocks, VS_HOLD_LOCAL, "x", "Net.forward");
            make_free(m, m->blocks, 400);
        }
        rpl_trace_set_loss(m->trace, step, 0.5 * (double)step);
    }
    rpl_trace_set_toggle(m->trace, "batch", "4", false);
    rpl_trace_set_toggle(m->trace, "amp", "off", true);
    rpl_trace_set_meta(m->trace, "device", "cpu");
    rpl_trace_set_source(m->trace, "net.py", "one\ntwo\n");
}

/* The same trace through the writer, into a file at `path`. */
static void write_example(struct rpl_trace *trace, const char *path)
{
    struct sto_writer *w = NULL;
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    uint32_t strings = 0;
    uint32_t locations = 0;

    assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_OK);
    while (*rpl_trace_string(trace, strings + 1)) {
        strings++;
        assert_int_equal(sto_writer_string(w, strings, rpl_trace_string(trace, strings), &err),
                         VS_OK);
    }
    for (uint32_t id = 1; id <= rpl_trace_tensor_count(trace); id++) {
        struct vs_tensor_desc desc;

        assert_true(rpl_trace_tensor(trace, id, &desc));
        assert_int_equal(sto_writer_tensor(w, &desc, &err), VS_OK);
    }
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, &err)) != NULL) {
        for (; locations < event->location; locations++)
            assert_int_equal(sto_writer_location(w, locations + 1,
                                                 rpl_trace_location(trace, locations + 1), &err),
                             VS_OK);
        assert_int_equal(sto_writer_events(w, event, 1, &err), VS_OK);
    }
    for (size_t i = 0; i < rpl_trace_step_count(trace); i++) {
        struct rpl_step step = rpl_trace_step(trace, i);

        assert_int_equal(sto_writer_step(w, step.step, step.loss, &err), VS_OK);
    }
    for (size_t i = 0; i < rpl_trace_toggle_count(trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(trace, i);

        assert_int_equal(
            sto_writer_toggle_add(w, toggle.name, toggle.value, toggle.is_default, &err), VS_OK);
    }
    assert_int_equal(sto_writer_meta_set(w, "device", rpl_trace_meta(trace, "device"), &err),
                     VS_OK);
    assert_int_equal(
        sto_writer_source_add(w, rpl_trace_source_name(trace), rpl_trace_source_text(trace), &err),
        VS_OK);
    assert_int_equal(sto_writer_close(w, true, &err), VS_OK);
    vs_free(scan);
}

static void assert_same_events(struct rpl_trace *a, struct rpl_trace *b, uint64_t first)
{
    struct rpl_scan *x = vs_alloc(sizeof(*x));
    struct rpl_scan *y = vs_alloc(sizeof(*y));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *ex;

    rpl_scan_init(x, a, first, rpl_trace_event_count(a));
    rpl_scan_init(y, b, first, rpl_trace_event_count(b));
    while ((ex = rpl_scan_next(x, &err)) != NULL) {
        const struct vs_event *ey = rpl_scan_next(y, &err);

        assert_non_null(ey);
        assert_int_equal(x->seq, y->seq);
        assert_memory_equal(ex, ey, sizeof(*ex));
    }
    assert_null(rpl_scan_next(y, &err));
    assert_int_equal(x->status, VS_OK);
    assert_int_equal(y->status, VS_OK);
    vs_free(x);
    vs_free(y);
}

static void assert_same_steps(struct rpl_trace *a, struct rpl_trace *b)
{
    assert_int_equal(rpl_trace_step_count(a), rpl_trace_step_count(b));
    for (size_t i = 0; i < rpl_trace_step_count(a); i++) {
        struct rpl_step x = rpl_trace_step(a, i);
        struct rpl_step y = rpl_trace_step(b, i);

        assert_int_equal(x.step, y.step);
        assert_int_equal(x.first_seq, y.first_seq);
        assert_int_equal(x.last_seq, y.last_seq);
        assert_true(x.loss == y.loss || (isnan(x.loss) && isnan(y.loss)));
    }
}

static void a_file_reads_as_the_memory_it_was_written_from(void **state)
{
    char path[] = "/tmp/vramscope-trace-XXXXXX.db";
    struct rpl_trace *file = NULL;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_tensor_desc x;
    struct vs_tensor_desc y;
    struct make m;
    int fd = mkstemps(path, 3);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    make_init(&m);
    make_example(&m);
    write_example(m.trace, path);
    assert_int_equal(rpl_trace_open(path, &file, &err), VS_OK);
    assert_int_equal(rpl_trace_event_count(file), rpl_trace_event_count(m.trace));
    assert_same_events(m.trace, file, 1);
    assert_same_events(m.trace, file, 1500);
    assert_same_steps(m.trace, file);
    assert_true(rpl_trace_tensor(m.trace, 700, &x) && rpl_trace_tensor(file, 700, &y));
    assert_memory_equal(&x, &y, sizeof(x));
    assert_false(rpl_trace_tensor(file, rpl_trace_tensor_count(file) + 1, &y));
    assert_string_equal(rpl_trace_toggle(file, 0).value, "4");
    assert_true(rpl_trace_toggle(file, 1).is_default);
    assert_string_equal(rpl_trace_meta(file, "device"), "cpu");
    assert_string_equal(rpl_trace_source_name(file), "net.py");
    assert_string_equal(rpl_trace_source_text(file), "one\ntwo\n");
    assert_true(rpl_trace_is_complete(file));
    rpl_trace_free(file);
    rpl_trace_free(m.trace);
    unlink(path);
}

static void a_tensor_of_unknown_dtype_or_rank_is_not_returned(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_tensor_desc desc = {.id = 1, .dtype = 152};
    struct vs_tensor_desc out;

    (void)state;
    rpl_trace_add_tensor(trace, &desc);
    desc = (struct vs_tensor_desc){.id = 2, .ndim = VS_MAX_DIMS + 1};
    rpl_trace_add_tensor(trace, &desc);
    assert_false(rpl_trace_tensor(trace, 1, &out));
    assert_false(rpl_trace_tensor(trace, 2, &out));
    rpl_trace_free(trace);
}

static void a_missing_file_is_named(void **state)
{
    struct rpl_trace *file = NULL;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(rpl_trace_open("/nowhere/t.db", &file, &err), VS_E_NOT_FOUND);
    assert_null(file);
    assert_non_null(strstr(err.text, "/nowhere/t.db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_and_locations_get_equal_ids),
        cmocka_unit_test(a_cleared_trace_is_empty_and_can_be_filled_again),
        cmocka_unit_test(lines_of_the_source_come_without_indentation),
        cmocka_unit_test(malformed_numbers_in_meta_are_not_read),
        cmocka_unit_test(a_file_reads_as_the_memory_it_was_written_from),
        cmocka_unit_test(a_tensor_of_unknown_dtype_or_rank_is_not_returned),
        cmocka_unit_test(a_missing_file_is_named),
    };

    return cmocka_run_group_tests_name("replay/trace", tests, NULL, NULL);
}
