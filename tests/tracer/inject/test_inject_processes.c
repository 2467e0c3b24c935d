/*
 * tests/tracer/inject/test_inject_processes.c - each process has its own trace, however it starts and ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/sanitizer.h"
#include "tests/skip.h"
#include "tests/tracer/inject/injected.h"
#include "tests/wait.h"

static void a_forked_child_has_its_own_trace(void **state)
{
    struct injected *run;
    const char *child;

    (void)state;
    if (HAS_THREAD_SANITIZER)
        tests_skip(
            "the thread sanitizer knows no threads begun after a process with several was forked");
    run = injected_run("forks", INJECTED_LENIENT);
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 5000, 4, 5000);
    child = injected_trace(run, 1);
    injected_assert_report(child, 2000, 2, 2000);
    injected_assert_complete(child, 1);
    injected_assert_sql(
        child,
        "SELECT count(*) FROM meta WHERE key = 'ppid' AND value = (SELECT value FROM meta "
        "WHERE key = 'ppid')",
        1);
    injected_assert_sql(child, "SELECT value FROM meta WHERE key = 'ppid'", run->pid);
}

static void children_may_be_forked_while_threads_allocate(void **state)
{
    struct injected *run;

    (void)state;
    if (HAS_THREAD_SANITIZER)
        tests_skip(
            "the thread sanitizer knows no threads begun after a process with several was forked");
    if (HAS_SANITIZER)
        tests_skip("the address sanitizer's malloc may be locked in a child forked while threads "
                   "allocate");
    run = injected_run("fork-storm", INJECTED_LENIENT);
    injected_assert_exit(run, 0);
    injected_assert_sql(run->trace, "SELECT count(*) FROM event WHERE kind = 'alloc'", 8000);
    injected_assert_sql(run->trace, "SELECT count(*) FROM block WHERE free_seq IS NULL", 0);
    assert_int_equal(injected_count(run, " trace: "), 21);
    assert_int_equal(injected_count(run, " closed: "), 21);
    for (size_t i = 1; i < 21; i++)
        injected_assert_sql(injected_trace(run, i),
                            "SELECT sum(size) FROM event WHERE kind = 'alloc'", 100);
}

static void a_program_started_with_exec_has_its_own_trace(void **state)
{
    struct injected *run = injected_run("executes", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 1000, 2, 1000);
    injected_assert_report(injected_trace(run, 1), 6000, 8, 6000);
    assert_int_equal(injected_count(run, "cuda: initialized"), 2);
}

/* Run one of the programs until `allocations` of it are in its trace, and end it by a signal. */
static struct injected *run_until(const char *word, int64_t allocations, int number)
{
    const char *argv[] = {injected_programs(), word, NULL};
    static struct injected run;
    struct wait w;

    injected_start(&run, argv, NULL);
    w = wait_for(run.pid, "%" PRId64 " committed allocations in %s", allocations, run.trace);
    while (sql_try_int(run.trace, "SELECT count(*) FROM event WHERE kind = 'alloc'") < allocations)
        wait_more(&w);
    assert_int_equal(kill(run.pid, number), 0);
    injected_end(&run);
    return &run;
}

/* Soon after its last event everything has been written. */
static void a_killed_program_leaves_a_trace_of_what_it_did(void **state)
{
    struct injected *run = run_until("killed", 10, SIGKILL);

    (void)state;
    assert_int_equal(run->exit_status, 128 + SIGKILL);
    injected_assert_complete(run->trace, 0);
    injected_assert_report(run->trace, 10000, 20, 10000);
    injected_assert_not_in_status(run, "closed");
}

static void a_program_that_calls_underscore_exit_leaves_an_incomplete_trace(void **state)
{
    struct injected *run = run_until("leaves", 1, SIGTERM);

    (void)state;
    injected_assert_exit(run, 5);
    injected_assert_complete(run->trace, 0);
    injected_assert_report(run->trace, 1000, 2, 1000);
    injected_assert_not_in_status(run, "closed");
}

static void a_program_that_never_calls_cuda_leaves_no_trace(void **state)
{
    struct injected *run = injected_run("never", NULL);

    (void)state;
    injected_assert_exit(run, 9);
    assert_string_equal(run->out, "no CUDA here\n");
    assert_string_equal(run->status, "");
    assert_int_equal(access(run->trace, F_OK), -1);
}

static void without_a_trace_path_the_library_does_nothing(void **state)
{
    struct injected *run = injected_run("basic", "VRAMSCOPE_OUT=");

    (void)state;
    injected_assert_exit(run, 7);
    assert_string_equal(run->status, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_has_its_own_trace),
        cmocka_unit_test(children_may_be_forked_while_threads_allocate),
        cmocka_unit_test(a_program_started_with_exec_has_its_own_trace),
        cmocka_unit_test(a_killed_program_leaves_a_trace_of_what_it_did),
        cmocka_unit_test(a_program_that_calls_underscore_exit_leaves_an_incomplete_trace),
        cmocka_unit_test(a_program_that_never_calls_cuda_leaves_no_trace),
        cmocka_unit_test(without_a_trace_path_the_library_does_nothing),
    };

    injected_setup();
    return cmocka_run_group_tests(tests, NULL, injected_cleanup);
}
