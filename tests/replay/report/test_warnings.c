/*
 * tests/replay/report/test_warnings.c - the warnings of a trace, in the report as text and JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/report.h"
#include "replay/report/warnings.h"
#include "tests/replay/make_trace.h"

/* The report on a trace with one block and this note. */
static void report_of(const char *note, struct vs_text *text, struct vs_text *json)
{
    struct rpl_report report = {.trace = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    make_init(&m);
    if (note)
        rpl_trace_set_meta(m.trace, "warnings", note);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    assert_int_equal(rpl_report_fill(&report, m.trace, 1, &err), VS_OK);
    rpl_report_text(&report, "t.db", text);
    rpl_report_json(&report, json);
    rpl_report_release(&report);
    rpl_trace_free(m.trace);
}

static void a_report_lists_warnings_with_line_and_advice(void **state)
{
    struct vs_text text = {NULL, 0, 0}, json = {NULL, 0, 0};

    (void)state;
    report_of(
        "pytorch\t12\tGradients will be None\t\none_segment\t0\tnothing is checkpointed\tgive two",
        &text, &json);
    assert_non_null(strstr(vs_text_get(&text), "\nWarnings\n"
                                               "  Gradients will be None (line 12)\n"
                                               "  nothing is checkpointed; give two\n\n"));
    assert_non_null(strstr(vs_text_get(&json), "\"kind\": \"pytorch\""));
    assert_non_null(strstr(vs_text_get(&json), "\"line\": 12"));
    assert_non_null(strstr(vs_text_get(&json), "\"text\": \"nothing is checkpointed\""));
    assert_non_null(strstr(vs_text_get(&json), "\"advice\": \"give two\""));
    vs_text_release(&text);
    vs_text_release(&json);
}

static void a_report_without_warnings_has_no_heading_and_an_empty_list(void **state)
{
    struct vs_text text = {NULL, 0, 0}, json = {NULL, 0, 0};

    (void)state;
    report_of(NULL, &text, &json);
    assert_null(strstr(vs_text_get(&text), "Warnings"));
    assert_non_null(strstr(vs_text_get(&json), "\"warnings\": []"));
    vs_text_release(&text);
    vs_text_release(&json);
}

/* The note of a file may be anything. */
static void incomplete_warning_lines_are_read(void **state)
{
    static const char *const NOTES[] = {"\n",     "a",          "a\tb",
                                        "a\t1\t", "\t\t\t\t\t", "a\t1\tt\ta\textra\nb"};
    static const size_t COUNTS[] = {1, 1, 1, 1, 1, 2};

    (void)state;
    for (size_t i = 0; i < sizeof(NOTES) / sizeof(NOTES[0]); i++) {
        struct rpl_trace *trace = rpl_trace_new();
        struct rpl_warning warning;
        const char *at = NULL;
        size_t count = 0;

        rpl_trace_set_meta(trace, "warnings", NOTES[i]);
        while (rpl_warning_next(trace, &at, &warning))
            count++;
        assert_int_equal(count, COUNTS[i]);
        rpl_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_lists_warnings_with_line_and_advice),
        cmocka_unit_test(a_report_without_warnings_has_no_heading_and_an_empty_list),
        cmocka_unit_test(incomplete_warning_lines_are_read),
    };

    return cmocka_run_group_tests_name("replay/warnings", tests, NULL, NULL);
}
