/*
 * tests/e2e/python/test_record_killed.c - `vramscope record -- python3 …` of a program that is killed, or whose
 * recorder is: what was saved of its history while it ran is kept.
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
#include <unistd.h>

#include "tests/e2e/python/python.h"
#include "tests/skip.h"
#include "tests/wait.h"

static void a_killed_program_is_reported_as_ended_without_history(void **state)
{
    (void)state;
    python_check(
        python_run(PYTHON_BEGIN "print('hi', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"),
        137, "hi\n", "ended before PyTorch's history was written", 0);
}

/* ---- saved while it ran ---- */

/* It goes on until the history has been written so often. */
#define SAVED(times)                                                                               \
    "import glob, time\n"                                                                          \
    "folder = os.environ['PYTHONPATH'].split(':')[0]\n"                                            \
    "def saved():\n"                                                                               \
    "    return sum(open(f).read().count('dump interval') for f in "                               \
    "glob.glob(folder + '/*.status'))\n"                                                           \
    "while saved() < " times ":\n"                                                                 \
    "    time.sleep(0.01)\n"

static void a_killed_program_leaves_the_history_that_was_saved_while_it_ran(void **state)
{
    (void)state;
    setenv("VRAMSCOPE_SAVE_EVERY", "0.01", 1);
    python_check(python_run(PYTHON_BEGIN SAVED("2") "os.kill(os.getpid(), signal.SIGKILL)\n"), 137,
                 "", " s before the end, ", 1);
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
    python_check_trace("trace.db", "interval", 0);
}

/* The thread that saves is not one of threading's, and the last snapshot is that of the end. */
static void a_program_that_ends_has_its_whole_history_however_often_it_was_saved(void **state)
{
    static const char *const ENDS[] = {"", "os._exit(0)\n", "sys.exit(0)\n"};

    (void)state;
    setenv("VRAMSCOPE_SAVE_EVERY", "0.001", 1);
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        char text[1024];

        python_begin(NULL);
        snprintf(
            text, sizeof(text),
            PYTHON_BEGIN SAVED("3") "import gc, threading\n"
                                    "print(threading.enumerate() == [threading.main_thread()], "
                                    "gc.isenabled(), flush=True)\n%s",
            ENDS[i]);
        python_check(python_run(text), 0, "True True\n", "PyTorch's history", 1);
        python_check_trace("trace.db", "exit", 1);
    }
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
}

static void a_save_that_fails_is_no_harm(void **state)
{
    (void)state;
    setenv("VRAMSCOPE_SAVE_EVERY", "0.01", 1);
    python_check(python_run(PYTHON_BEGIN "import glob, time\n"
                                         "folder = os.environ['PYTHONPATH'].split(':')[0]\n"
                                         "os.environ['FAKE_TORCH_FAIL'] = '1'\n"
                                         "while not any('trouble save' in open(f).read() for f in "
                                         "glob.glob(folder + '/*.status')):\n"
                                         "    time.sleep(0.01)\n"
                                         "del os.environ['FAKE_TORCH_FAIL']\n"),
                 0, "", "PyTorch's history", 1);
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
    python_check_trace("trace.db", "exit", 1);
}

/* ---- out of memory ---- */

static void a_kill_after_an_out_of_memory_leaves_the_history_up_to_it(void **state)
{
    (void)state;
    python_check(python_run(PYTHON_BEGIN "try:\n    torch.cuda.run_out_of_memory()\n"
                                         "except torch.OutOfMemoryError:\n"
                                         "    os.kill(os.getpid(), signal.SIGKILL)\n"),
                 137, "", "up to its out-of-memory", 1);
    python_check_trace("trace.db", "oom", 0);
}

/* ---- the recorder ---- */

/* What was left beside trace.db by a recording whose recorder is gone is an ordinary snapshot. */
static void check_left(void)
{
    char command[1200];
    struct program p;

    assert_int_equal(program_count("trace.db.[0-9]*.pickle"), 1);
    assert_int_equal(program_count("*.part"), 0);
    snprintf(command, sizeof(command), "mv '%s'/trace.db.*.pickle '%s'/left.pickle",
             program_folder(), program_folder());
    assert_int_equal(system(command), 0);
    p = program_run("import", program_path("left.pickle"), "-o", program_path("left.db"), NULL);
    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    assert_int_equal(sql_int(program_path("left.db"),
                             "select value + 0 from meta where key = 'recorded_events'"),
                     SNAPSHOT_EVENTS);
}

/* The program runs on; when it ends it removes the folder, and leaves the history beside the trace. */
static void a_killed_recorder_leaves_no_temporary_files(void **state)
{
    pid_t pid = python_start(PYTHON_BEGIN "import time\nparent = os.getppid()\n" PYTHON_READY
                                          "while os.getppid() == parent:\n    time.sleep(0.01)\n");
    struct wait w;

    (void)state;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(python_status(pid), 137);
    w = wait_for(0, "the folder of the killed recorder to be removed by its program");
    while (program_count("vramscope-record-*"))
        wait_more(&w);
    assert_int_equal(program_count("*.db"), 0);
    check_left();
}

/* As a scheduler does it, or the kernel: all of a job at once. */
static void what_was_saved_is_there_where_the_recorder_is_killed_too(void **state)
{
    (void)state;
    setenv("VRAMSCOPE_SAVE_EVERY", "0.01", 1);
    assert_int_equal(python_status(python_start(PYTHON_BEGIN SAVED("1") PYTHON_READY
                                                "os.kill(os.getppid(), signal.SIGKILL)\n"
                                                "os.kill(os.getpid(), signal.SIGKILL)\n")),
                     137);
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
    check_left();
}

/* Replaces all tests of this file: a cmocka set-up function cannot skip a test. */
static void recording_python_needs_python_3_8(void **state)
{
    (void)state;
    tests_skip("there is no python3 from 3.8 on");
}

int main(void)
{
    const struct CMUnitTest none[] = {cmocka_unit_test(recording_python_needs_python_3_8)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_killed_program_is_reported_as_ended_without_history, python_begin),
        cmocka_unit_test_setup(a_killed_program_leaves_the_history_that_was_saved_while_it_ran,
                               python_begin),
        cmocka_unit_test_setup(a_program_that_ends_has_its_whole_history_however_often_it_was_saved,
                               python_begin),
        cmocka_unit_test_setup(a_save_that_fails_is_no_harm, python_begin),
        cmocka_unit_test_setup(a_kill_after_an_out_of_memory_leaves_the_history_up_to_it,
                               python_begin),
        cmocka_unit_test_setup(a_killed_recorder_leaves_no_temporary_files, python_begin),
        cmocka_unit_test_setup(what_was_saved_is_there_where_the_recorder_is_killed_too,
                               python_begin),
    };

    if (!python_is_there())
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, python_setup, python_cleanup);
}
