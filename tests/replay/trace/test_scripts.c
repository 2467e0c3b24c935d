/*
 * tests/replay/trace/test_scripts.c - the text of a recorded program's own files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/trace/scripts.h"

#define TRAIN "import nets\n\nfor step in range(3):\n    loss = nets.step()\n"

static struct rpl_trace *trace_new(void)
{
    struct rpl_trace *trace = rpl_trace_new();

    rpl_trace_set_meta(trace, "source_name", "train.py --epochs 2");
    rpl_trace_set_meta(trace, "rerun_scripts",
                       "/a/nets.py\n/a/old/twice.py\n/a/train.py\n/a/twice.py\n/a/no\\ntext.py\n");
    rpl_trace_set_meta(trace, "rerun_script /a/nets.py", "def step():\n\tpass");
    rpl_trace_set_meta(trace, "rerun_script /a/train.py", TRAIN);
    rpl_trace_set_meta(trace, "rerun_script /a/twice.py", "1\n");
    rpl_trace_set_meta(trace, "rerun_script /a/old/twice.py", "2\n");
    rpl_trace_set_meta(trace, "rerun_script /a/no\ntext.py", "3\n");
    return trace;
}

static void expect_line(const struct rpl_trace *trace, const char *func, uint32_t line,
                        const char *wanted)
{
    size_t len;
    const char *text = rpl_function_source(trace, func, line, &len);

    if (len != strlen(wanted) || strncmp(text, wanted, len) != 0)
        fail_msg("line %u of %s is `%.*s`, not `%s`", line, func, (int)len, text, wanted);
}

static void a_line_is_that_of_the_file_in_the_functions_name(void **state)
{
    struct rpl_trace *trace = trace_new();

    (void)state;
    expect_line(trace, "train.py:<module>", 4, "loss = nets.step()");
    expect_line(trace, "nets.py:step", 2, "pass");
    expect_line(trace, "nets.py:step", 0, "");
    expect_line(trace, "nets.py:step", 3, "");
    expect_line(trace, "nets.pyc:step", 2, "");
    expect_line(trace, "modeling.py:forward", 1, "");
    expect_line(trace, "text.py:f", 1, ""); /* that is not the name of the file */
    rpl_trace_free(trace);
}

static void of_two_files_of_one_name_none_is_shown(void **state)
{
    struct rpl_trace *trace = trace_new();
    struct rpl_script script = {.path = NULL};

    (void)state;
    expect_line(trace, "twice.py:f", 1, "");
    assert_false(rpl_script_of(trace, "twice.py:f", &script));
    assert_null(script.path);
    rpl_trace_free(trace);
}

static void the_main_file_is_the_one_that_was_started(void **state)
{
    struct rpl_trace *trace = trace_new();
    struct rpl_script script = {.path = NULL};

    (void)state;
    assert_true(rpl_script_main(trace, &script));
    assert_string_equal(script.path, "/a/train.py");
    assert_string_equal(script.text, TRAIN);
    assert_true(rpl_script_has(&script, "train.py:<module>"));
    assert_false(rpl_script_has(&script, "nets.py:step"));
    rpl_script_release(&script);
    rpl_trace_set_meta(trace, "source_name", "python -m pack");
    assert_true(rpl_script_main(trace, &script));
    assert_string_equal(script.path, "/a/nets.py"); /* else the first */
    rpl_script_release(&script);
    rpl_trace_free(trace);
    trace = rpl_trace_new();
    assert_false(rpl_script_main(trace, &script));
    rpl_trace_free(trace);
}

static void add(void *user, const struct rpl_script *script)
{
    strcat(user, script->path);
    strcat(user, " ");
}

static void every_file_with_a_text_is_given(void **state)
{
    struct rpl_trace *trace = trace_new();
    char found[200] = "";

    (void)state;
    rpl_scripts_each(trace, add, found);
    assert_string_equal(found,
                        "/a/nets.py /a/old/twice.py /a/train.py /a/twice.py /a/no\ntext.py ");
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_that_of_the_file_in_the_functions_name),
        cmocka_unit_test(of_two_files_of_one_name_none_is_shown),
        cmocka_unit_test(the_main_file_is_the_one_that_was_started),
        cmocka_unit_test(every_file_with_a_text_is_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
