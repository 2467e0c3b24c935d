/*
 * tests/e2e/test_bad_output.c - unwritable outputs and interrupted recordings: existing files are kept, and the trace
 * has all events until then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/e2e/bad_input.h"
#include "tests/wait.h"

static void an_output_that_cannot_be_written_is_reported_before_the_run(void **state)
{
    (void)state;
    ASSERT_MESSAGE(program_run("record", LENET, "-o", program_path("no/such/folder.db"), "--device",
                               "meta", NULL),
                   1, "no/such/folder.db: cannot be created: No such file or directory");
    ASSERT_MESSAGE(program_run("record", LENET, "-o", program_folder(), "--device", "meta", NULL),
                   1, "it exists already");
    ASSERT_MESSAGE(
        program_run("record", LENET, "-o", program_folder(), "--device", "meta", "--force", NULL),
        1, "not a regular file; choose another name");
    ASSERT_MESSAGE(program_run("record", LENET, "-o", LENET "/x.db", "--device", "meta", NULL), 1,
                   LENET "/x.db: ", "Not a directory");
}

static void a_run_that_fails_leaves_an_existing_trace_unchanged(void **state)
{
    static const struct program_world full = {.file_bytes = 65536};
    const char *trace = bad_input_trace("kept.db");
    const char *wrong = program_file("no_net.py", "x = 1\n");
    size_t count;
    size_t count_after;
    char *before = bad_input_bytes(trace, &count);
    char *after;

    (void)state;
    ASSERT_MESSAGE(program_run("record", LENET, "-o", trace, "--device", "meta", NULL), 1,
                   "kept.db: it exists already; --force replaces it");
    ASSERT_MESSAGE(program_run("record", wrong, "-o", trace, "--force", NULL), 1,
                   "no `def model():`");
    ASSERT_MESSAGE(program_run("record", LENET, "-o", trace, "--force", "--amp", "fp8", NULL), 2,
                   "fp8");
    ASSERT_MESSAGE(
        program_run_in(&full, "record", LENET, "-o", trace, "--force", "--device", "meta", NULL), 1,
        "kept.db: ");
    ASSERT_MESSAGE(program_run("sql", trace, "delete from event_block", NULL), 2,
                   "a trace can only be read");
    after = bad_input_bytes(trace, &count_after);
    assert_int_equal(count_after, count);
    assert_memory_equal(after, before, count);
    bad_input_assert_no_file("kept.db.");
    free(before);
    free(after);
}

static void a_disk_that_fills_up_ends_the_recording(void **state)
{
    static const struct program_world tiny = {.file_bytes = 65536};
    static const struct program_world small = {.file_bytes = 400 << 10};
    const char *trace = program_path("filled.db");
    struct program p =
        program_run_in(&tiny, "record", LENET, "-o", trace, "--device", "meta", NULL);

    (void)state;
    ASSERT_MESSAGE(p, 1, "filled.db: writing failed", "write to another folder");
    bad_input_assert_no_file("filled");
    /* later: the run stops, although a million steps were wanted, and says where it is */
    p = program_run_in(&small, "record", LENET, "-o", trace, "--device", "cpu", "--batch", "1",
                       "--steps", "1000000", NULL);
    assert_int_equal(p.status, 1);
    assert_string_equal(p.out, "");
    assert_non_null(strstr(p.err, "filled.db: writing failed"));
    assert_non_null(strstr(p.err, "filled.db holds what was written before that"));
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.complete"), 0);
    program_release(&p);
}

static void a_result_that_cannot_be_written_is_a_failure(void **state)
{
    static const struct program_world full = {.stdout_path = "/dev/full"};
    static const struct program_world unread = {.no_reader = true};
    const char *trace = bad_input_trace("unsaid.db");
    const char *again = program_path("again.db");
    struct program p;

    (void)state;
    ASSERT_MESSAGE(program_run_in(&full, "report", trace, NULL), 1,
                   "cannot write the result: No space left");
    ASSERT_MESSAGE(program_run_in(&full, "report", trace, "--json", NULL), 1,
                   "cannot write the result");
    ASSERT_MESSAGE(program_run_in(&full, "ops", NULL), 1, "cannot write the result");
    ASSERT_MESSAGE(program_run_in(&full, "sql", trace, "select * from event", NULL), 1,
                   "cannot write the result");
    /* as every program in a pipe, what only prints ends with its reader */
    p = program_run_in(&unread, "report", trace, NULL);
    assert_int_equal(p.status, 128 + SIGPIPE);
    program_release(&p);
    /* a recording does not: the trace is what it was for */
    p = program_run_in(&unread, "record", LENET, "-o", again, "--device", "meta", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "vramscope: cannot write the result: Broken pipe"));
    program_release(&p);
    p = program_run("report", again, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.complete"), 1);
    program_release(&p);
}

static void no_control_characters_are_printed_without_a_terminal(void **state)
{
    const char *trace = program_path("plain.db");
    struct program p =
        program_run("record", LENET, "-o", trace, "--device", "cpu", "--batch", "1", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.err, "step 1/3, loss "));
    assert_non_null(strstr(p.err, "step 3/3, loss "));
    assert_null(strpbrk(p.err, "\r\033"));
    assert_null(strpbrk(p.out, "\r\033"));
    program_release(&p);
    p = program_run("report", trace, NULL);
    assert_null(strpbrk(p.out, "\r\033"));
    program_release(&p);
}

/* Events that are on the disk now: those of the committed blocks, of which kind 63 holds tensors. */
static int64_t events_in(const char *trace)
{
    return sql_try_int(trace, "select sum(count) from event_block where kind <> 63");
}

static void every_terminating_signal_leaves_a_readable_trace(void **state)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGKILL};

    (void)state;
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++) {
        const char *trace = program_path("ended.db");
        pid_t pid = program_start("record", LENET, "-o", trace, "--device", "cpu", "--batch", "1",
                                  "--steps", "100000000", "--force", NULL);
        struct wait events = wait_for(pid, "5,000 committed events in %s", trace);
        struct wait losses = wait_for(pid, "2 committed losses in %s", trace);
        struct program p;
        int64_t before;
        int status;

        while ((before = events_in(trace)) < 5000)
            wait_more(&events);
        /* losses come with the blocks of events, which are small under STRESS */
        while (sql_try_int(trace, "select count(loss) from step") < 2)
            wait_more(&losses);
        assert_int_equal(kill(pid, SIGNALS[i]), 0);
        status = wait_child(pid, "the recorder to end after signal %d", SIGNALS[i]);
        if (SIGNALS[i] == SIGKILL)
            assert_true(WIFSIGNALED(status));
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
        p = program_run("report", trace, "--json", NULL);
        assert_int_equal(p.status, 0);
        assert_int_equal(json_int(p.out, "$.complete"), 0);
        assert_true(json_int(p.out, "$.events") >= before);
        assert_int_equal(json_int(p.out, "$.events"), events_in(trace));
        assert_int_equal(json_int(p.out, "$.parameters"), 61706);
        /* what was computed is there too */
        assert_true(sql_int(trace, "select count(loss) from step") > 1);
        program_release(&p);
        remove(trace);
    }
}

static void a_device_too_small_for_the_model_is_an_out_of_memory(void **state)
{
    const char *trace = program_path("tiny.db");
    struct program p =
        program_run("record", LENET, "-o", trace, "--device", "meta", "--capacity", "1M", NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "Out of memory: 600 B were refused at event "));
    assert_non_null(strstr(p.out, ", setup\n"));
    assert_non_null(strstr(p.out, "Nothing was allocated."));
    assert_non_null(strstr(p.err, "lenet.py: device out of memory: tried to allocate 2.0 MiB"));
    assert_non_null(strstr(p.err, "in the training loop, at `model.to(\"cuda\")`"));
    program_release(&p);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.oom.requested"), 600);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_that_cannot_be_written_is_reported_before_the_run),
        cmocka_unit_test(a_run_that_fails_leaves_an_existing_trace_unchanged),
        cmocka_unit_test(a_disk_that_fills_up_ends_the_recording),
        cmocka_unit_test(a_result_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(no_control_characters_are_printed_without_a_terminal),
        cmocka_unit_test(every_terminating_signal_leaves_a_readable_trace),
        cmocka_unit_test(a_device_too_small_for_the_model_is_an_out_of_memory),
    };

    return cmocka_run_group_tests_name("e2e/bad output", tests, NULL, bad_input_cleanup);
}
