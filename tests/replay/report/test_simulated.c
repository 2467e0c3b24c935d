/*
 * tests/replay/report/test_simulated.c - the report says which GPU was simulated, and where values were read first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/simulated.h"
#include "tests/replay/make_trace.h"

/* Text and JSON of a trace with these rows of meta; NULL: without the row. */
static void texts_of(const char *gpu, const char *reads, const char *first, struct vs_text *text,
                     struct vs_text *json_text)
{
    struct vs_json json;
    struct make m;

    make_init(&m);
    if (gpu)
        rpl_trace_set_meta(m.trace, "gpu_played", gpu);
    if (reads)
        rpl_trace_set_meta(m.trace, "host_reads", reads);
    if (first)
        rpl_trace_set_meta(m.trace, "host_read_first", first);
    rpl_simulated_text(m.trace, text);
    vs_json_init(&json, json_text);
    vs_json_object(&json);
    rpl_simulated_json(m.trace, &json);
    vs_json_end(&json);
    rpl_trace_free(m.trace);
}

static void check(const char *gpu, const char *reads, const char *first, const char *line,
                  const char *member)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_text json = {NULL, 0, 0};

    texts_of(gpu, reads, first, &text, &json);
    if (!strstr(vs_text_get(&text), line) || !strstr(vs_text_get(&json), member))
        fail_msg("%s%s: without `%s` or `%s`", vs_text_get(&text), vs_text_get(&json), line,
                 member);
    vs_text_release(&text);
    vs_text_release(&json);
}

static void the_gpu_and_the_first_read_are_named(void **state)
{
    (void)state;
    check("A100", "3 12", "train.py:5 main", "simulated GPU: A100;", "\"gpu\": \"A100\"");
    check("A100", "3 12", "train.py:5 main",
          "host reads of device values: 3 (12 B), first at train.py:5 main;",
          "\"first_read\": \"train.py:5 main\"");
    check("A100", "1 4", NULL, "sizes are PyTorch's, values are zeros\n", "\"host_reads\": 1");
    check("A100, --values uniform", "1 4", NULL, "integers are computed, floats are not\n",
          "\"gpu\": \"A100, --values uniform\"");
    check("A100", "1 4", NULL, "host reads of device values: 1 (4 B);", "\"host_read_bytes\": 4");
}

static void each_operator_that_reads_values_is_named_with_its_first_line(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_text out = {NULL, 0, 0};
    struct vs_json json;
    struct make m;

    (void)state;
    make_init(&m);
    rpl_trace_set_meta(m.trace, "gpu_played", "A100");
    rpl_trace_set_meta(m.trace, "host_reads", "4 20");
    rpl_trace_set_meta(m.trace, "gpu_unknown", "cuDNN (sizes) | libcuda.so.1 cuFoo");
    rpl_trace_set_meta(m.trace, "host_read_kinds", "3 item a b.py:5 main | 1 nonzero m.py:7 f | x");
    rpl_simulated_text(m.trace, &text);
    assert_non_null(strstr(vs_text_get(&text), "\n  item: 3, first at a b.py:5 main\n"
                                               "  nonzero: 1, first at m.py:7 f\n"));
    vs_json_init(&json, &out);
    vs_json_object(&json);
    rpl_simulated_json(m.trace, &json);
    vs_json_end(&json);
    assert_non_null(strstr(vs_text_get(&out), "\"operator\": \"nonzero\""));
    assert_non_null(strstr(vs_text_get(&out), "\"first\": \"a b.py:5 main\""));
    assert_null(strstr(vs_text_get(&out), "\"x\""));
    assert_non_null(strstr(vs_text_get(&text),
                           "unknown to the simulated GPU: cuDNN (sizes)\n"
                           "unknown to the simulated GPU: libcuda.so.1 cuFoo\n"));
    assert_non_null(strstr(vs_text_get(&out), "\"libcuda.so.1 cuFoo\""));
    rpl_trace_free(m.trace);
    vs_text_release(&text);
    vs_text_release(&out);
}

static void a_run_without_host_reads_reports_none(void **state)
{
    (void)state;
    check("A100", "0 0", NULL, "host reads of device values: none\n", "\"host_reads\": 0");
    check("A100", "damaged", NULL, "host reads of device values: none\n", "\"host_reads\": 0");
}

static void a_trace_of_a_real_gpu_has_no_note_on_simulation(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_text json = {NULL, 0, 0};

    (void)state;
    texts_of(NULL, NULL, NULL, &text, &json);
    assert_string_equal(vs_text_get(&text), "");
    assert_null(strstr(vs_text_get(&json), "played"));
    vs_text_release(&text);
    vs_text_release(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpu_and_the_first_read_are_named),
        cmocka_unit_test(each_operator_that_reads_values_is_named_with_its_first_line),
        cmocka_unit_test(a_run_without_host_reads_reports_none),
        cmocka_unit_test(a_trace_of_a_real_gpu_has_no_note_on_simulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
