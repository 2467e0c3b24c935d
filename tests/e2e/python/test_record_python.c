/*
 * tests/e2e/python/test_record_python.c - `vramscope record -- python3 …`: PyTorch's history is turned on, written down
 * when the program ends, and nothing of the program changes.
 *
 * PyTorch is the one of tests/tracer/python: no GPU, no network, a published snapshot for a history.
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
#include <unistd.h>

#include "tests/e2e/python/python.h"
#include "tests/skip.h"
#include "tests/wait.h"

/* ---- ends ---- */

static void the_history_is_written_however_a_program_ends(void **state)
{
    static const struct {
        const char *text;
        int status;
        const char *err;
    } ENDS[] = {
        {"print('hi')\n", 0, "PyTorch's history of pid"},
        {"print('hi')\nsys.exit(3)\n", 3, "PyTorch's history of pid"},
        {"print('hi')\nraise ValueError('mine')\n", 1, "ValueError: mine"},
        {"print('hi', flush=True)\nos._exit(4)\n", 4, "PyTorch's history of pid"},
        {"print('hi')\nsys.stdout.flush()\nos.kill(os.getpid(), signal.SIGINT)\n", 130,
         "KeyboardInterrupt"},
        {"print('hi')\ntorch.cuda.run_out_of_memory()\n", 1, "CUDA out of memory."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        char text[512];

        python_begin(NULL);
        snprintf(text, sizeof(text), PYTHON_BEGIN "%s", ENDS[i].text);
        python_check(python_run(text), ENDS[i].status, "hi\n", ENDS[i].err, 1);
        python_check_trace("trace.db", "exit", 1);
        assert_int_equal(sql_int(program_path("trace.db"),
                                 "select value like '%train.py -x' from meta "
                                 "where key = 'source_name'"),
                         1);
    }
}

static void sigterm_ends_a_program_and_its_history_is_written(void **state)
{
    (void)state;
    python_check(
        python_run(PYTHON_BEGIN "os.kill(os.getpid(), signal.SIGTERM)\nprint('not reached')\n"),
        143, "", "up to SIGTERM", 1);
    python_check_trace("trace.db", "term", 1);
}

static void a_signal_handler_of_the_program_is_kept(void **state)
{
    (void)state;
    python_check(python_run("import os, signal, sys, torch\n"
                            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
                            "torch.cuda.init()\nos.kill(os.getpid(), signal.SIGTERM)\n"),
                 7, "", "PyTorch's history", 1);
    python_check_trace("trace.db", "exit", 1);
}

/* 1, 2, 4, 8, 16, 32 of forty, and the end */
static void of_many_out_of_memory_errors_only_some_are_written(void **state)
{
    (void)state;
    python_check(
        python_run(PYTHON_BEGIN
                   "for i in range(40):\n    try:\n        torch.cuda.run_out_of_memory()\n"
                   "    except torch.OutOfMemoryError:\n        pass\n"
                   "n = open(os.environ['FAKE_TORCH_SAY']).read().count('snapshot')\n"
                   "print(n)\n"),
        0, "6\n", "PyTorch's history", 1);
    python_check_trace("trace.db", "exit", 1);
}

static void a_thread_can_end_the_process_at_once(void **state)
{
    (void)state;
    python_check(python_run(PYTHON_BEGIN "import threading, time\n"
                                         "threading.Thread(target=lambda: os._exit(6)).start()\n"
                                         "time.sleep(60)\n"),
                 6, "", "ended before PyTorch's history was written", 0);
}

static void a_missing_history_is_reported_and_the_program_runs_on(void **state)
{
    (void)state;
    setenv("FAKE_TORCH_FAIL", "1", 1);
    python_check(python_run(PYTHON_BEGIN "print('hi')\nsys.exit(3)\n"), 3, "hi\n",
                 "exit: RuntimeError: the allocator has no history", 0);
    unsetenv("FAKE_TORCH_FAIL");
    python_check(
        python_run(PYTHON_BEGIN "torch.cuda.memory._record_memory_history(enabled=None)\n"), 0, "",
        "the program turned PyTorch's memory history off", 1);
}

/* ---- settings ---- */

static void the_history_is_enabled_with_the_arguments_of_each_pytorch_version(void **state)
{
    const char *train =
        program_file("train.py", PYTHON_BEGIN "print(open(os.environ['FAKE_TORCH_SAY'])"
                                              ".read(), end='')\n");
    const char *trace = program_path("trace.db");

    (void)state;
    python_check(program_run("record", "-o", trace, "--", "python3", train, NULL), 0,
                 "new all all python 1000000\n", "", 1);
    python_begin(NULL);
    train = program_file("train.py", PYTHON_BEGIN "print(open(os.environ['FAKE_TORCH_SAY'])"
                                                  ".read(), end='')\n");
    setenv("FAKE_TORCH_OLD", "1", 1);
    python_check(program_run("record", "-o", trace, "--stacks", "all", "--history", "5000", "--",
                             "python3", train, NULL),
                 0, "old True True 5000 True 0\nold True True 5000 True 1\n", "", 1);
    unsetenv("FAKE_TORCH_OLD");
    python_check_trace("trace.db", "exit", 1);
}

/* ---- processes ---- */

static void each_process_has_a_trace(void **state)
{
    (void)state;
    python_check(python_run("import os, sys, torch\n"
                            "if os.fork() == 0:\n"
                            "    torch.cuda.init()\n"
                            "    os._exit(0)\n"
                            "os.wait()\n"
                            "torch.cuda.init()\n"),
                 0, "", "trace.db: PyTorch's history", 2);
    python_check_trace("trace.db", "exit", 1);
    assert_int_equal(program_count("trace.[0-9]*.db"), 1);
    python_begin(NULL);
    python_check(python_run("import multiprocessing as m, torch\n"
                            "if __name__ == '__main__':\n"
                            "    for how in 'fork', 'spawn', 'forkserver':\n"
                            "        p = m.get_context(how).Process(target=torch.cuda.init)\n"
                            "        p.start()\n"
                            "        p.join()\n"
                            "        print(p.exitcode)\n"),
                 0, "0\n0\n0\n", "trace.db: PyTorch's history", 3);
    python_check_trace("trace.db", "exit", 1);
}

/* As a DataLoader's: forked when CUDA is there, of no use to it, and ended by a signal. */
static void a_worker_without_cuda_writes_no_trace(void **state)
{
    (void)state;
    python_check(python_run(PYTHON_BEGIN
                            "import time\n"
                            "for number in 0, signal.SIGTERM:\n"
                            "    pid = os.fork()\n"
                            "    if pid == 0:\n"
                            "        if number:\n"
                            "            time.sleep(60)\n"
                            "        os._exit(5)\n"
                            "    if number:\n"
                            "        os.kill(pid, number)\n"
                            "    status = os.waitpid(pid, 0)[1]\n"
                            "    print(status & 127, status >> 8)\n"
                            "print(open(os.environ['FAKE_TORCH_SAY']).read(), end='')\n"),
                 0, "0 5\n15 0\nnew all all python 1000000\n", "PyTorch's history", 1);
}

/* The summary over the three ranks of trace.db, which are alike: by --ranks, by their names, and of one of them. */
static void ranks_are_summed_up(void)
{
    struct program p = program_run("report", "--ranks", "--json", program_path("trace.db"), NULL);

    if (p.status != 0)
        fail_msg("report --ranks: %s", p.err);
    assert_int_equal(json_int(p.out, "$.ranks[0].rank"), 0);
    assert_int_equal(json_int(p.out, "$.ranks[2].rank"), 2);
    assert_true(json_int(p.out, "$.ranks[0].peak.allocated") > 0);
    assert_int_equal(json_int(p.out, "$.ranks[0].peak.allocated"),
                     json_int(p.out, "$.ranks[2].peak.allocated"));
    assert_null(strstr(p.out, "trace_a"));
    program_release(&p);
    p = program_run("report", "--ranks", program_path("trace.rank2.db"), NULL);
    assert_non_null(strstr(p.out, "3 ranks: peak allocated "));
    program_release(&p);
    p = program_run("report", program_path("trace.rank1.db"), program_path("trace.db"), NULL);
    if (p.status != 0 || !strstr(p.out, "2 ranks: peak allocated ") ||
        !strstr(p.out, "All ranks have the same events of the allocator."))
        fail_msg("status %d: %s%s", p.status, p.out, p.err);
    program_release(&p);
    assert_int_equal(
        sql_int(program_path("trace.rank1.db"), "select value = '1' from meta where key = 'rank'"),
        1);
}

static void ranks_name_the_traces_of_a_distributed_run(void **state)
{
    const char *train = program_file("train.py", PYTHON_BEGIN);
    char command[512];

    (void)state;
    snprintf(command, sizeof(command),
             "RANK=2 python3 '%s' && RANK=0 python3 '%s' && RANK=1 python3 '%s'", train, train,
             train);
    python_check(
        program_run("record", "-o", program_path("trace.db"), "--", "sh", "-c", command, NULL), 0,
        "", "trace.rank2.db: PyTorch's history", 3);
    assert_int_equal(program_count("trace.rank1.db"), 1);
    python_check_trace("trace.db", "exit", 1);
    python_check_trace("trace.rank1.db", "exit", 1);
    ranks_are_summed_up();
    /* what has such a name already stays */
    unlink(program_path("trace.db"));
    python_check(
        program_run("record", "-o", program_path("trace.db"), "--", "sh", "-c", command, NULL), 0,
        "", "PyTorch's history", 5);
    assert_int_equal(program_count("trace.[0-9]*.db"), 2);
}

/* ---- what is not changed ---- */

#define WORLD                                                                                      \
    "import os, signal, sys\n"                                                                     \
    "print(sys.path[1:], sys.argv[1:], 'sitecustomize' in sys.modules, os._exit.__name__,\n"       \
    "      signal.getsignal(signal.SIGTERM), sorted(k for k in sys.modules if 'vramscope' in "     \
    "k))\n"

static void a_recorded_program_sees_an_unchanged_python_environment(void **state)
{
    const char *text = WORLD "try:\n    import sitecustomize\nexcept ImportError as e:\n"
                             "    print(e.name)\n";
    const char *path = program_file("world.py", text);
    char command[1024];
    char alone[8192];
    FILE *pipe;
    size_t len;

    (void)state;
    snprintf(command, sizeof(command), "python3 '%s' -x", path);
    wait_begin("python3 to run world.py");
    pipe = popen(command, "r");
    assert_non_null(pipe);
    len = fread(alone, 1, sizeof(alone) - 1, pipe);
    alone[len] = '\0';
    assert_int_equal(pclose(pipe), 0);
    wait_end();
    python_check(
        program_run("record", "-o", program_path("trace.db"), "--", "python3", path, "-x", NULL), 0,
        alone, "there is no trace", 0);
    /* torch without CUDA changes nothing either */
    python_check(
        python_run("import os, signal, torch\nprint(os._exit.__name__ == os._exit.__qualname__,\n"
                   "  signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)\n"),
        0, "True True\n", "there is no trace", 0);
}

static void the_users_sitecustomize_is_loaded(void **state)
{
    char path[1024];

    (void)state;
    program_file("sitecustomize.py", "print('mine', __name__, __file__[-16:])\nvalue = 5\n");
    snprintf(path, sizeof(path), "%s:%s", program_folder(), python_tests_folder());
    setenv("PYTHONPATH", path, 1);
    python_check(python_run(PYTHON_BEGIN "import sitecustomize\nprint(sitecustomize.value)\n"), 0,
                 "mine sitecustomize sitecustomize.py\n5\n", "PyTorch's history", 1);
    python_begin(NULL);
    program_file("sitecustomize.py", "raise ValueError('mine')\n");
    python_check(python_run(PYTHON_BEGIN "print('hi')\n"), 0, "hi\n", "ValueError: mine", 1);
    python_begin(NULL);
    program_file("sitecustomize.py", "import torch\n");
    python_check(python_run(PYTHON_BEGIN "print('hi')\n"), 0, "hi\n", "PyTorch's history", 1);
    setenv("PYTHONPATH", python_tests_folder(), 1);
}

static void a_broken_torch_raises_the_usual_import_error(void **state)
{
    (void)state;
    setenv("FAKE_TORCH_BROKEN", "1", 1);
    python_check(
        python_run("import os\ntry:\n    import torch\nexcept ImportError as e:\n    print(e)\n"
                   "os.environ.pop('FAKE_TORCH_BROKEN')\nimport torch\ntorch.cuda.init()\n"
                   "print(type(torch.__spec__.loader).__name__, 'exec_module' in "
                   "vars(torch.__spec__.loader))\n"),
        0, "libcudart.so.13: cannot open shared object file\nSourceFileLoader False\n",
        "PyTorch's history", 1);
    unsetenv("FAKE_TORCH_BROKEN");
}

static void python_options_that_prevent_recording_are_reported(void **state)
{
    const char *trace = program_path("trace.db");

    (void)state;
    python_check(program_run("record", "-o", trace, "--", "python3", "-I", "-c", "print(1)", NULL),
                 0, "1\n", "with -I Python does not load", 0);
    python_check(program_run("record", "-o", trace, "--", "python3", "-X", "dev", "-bS", "-c",
                             "print(1)", NULL),
                 0, "1\n", "with -S Python does not load", 0);
    {
        struct program p =
            program_run("record", "-o", trace, "--", "python3", "-c", "print(1)", "-S", NULL);

        assert_null(strstr(p.err, "does not load"));
        python_check(p, 0, "1\n", "there is no trace", 0);
    }
}

/* ---- signals ---- */

static void a_signal_to_the_recorder_reaches_the_program(void **state)
{
    static const struct {
        int number;
        int status;
        const char *dumped;
    } SENT[] = {{SIGTERM, 143, "term"}, {SIGINT, 130, "exit"}, {SIGUSR1, 9, "exit"}};

    (void)state;
    for (size_t i = 0; i < sizeof(SENT) / sizeof(SENT[0]); i++) {
        pid_t pid;

        python_begin(NULL);
        pid = python_start(
            PYTHON_BEGIN
            "import time\nsignal.signal(signal.SIGUSR1, lambda *_: sys.exit(9))\n" PYTHON_READY
            "time.sleep(60)\n");
        assert_int_equal(kill(pid, SENT[i].number), 0);
        assert_int_equal(python_status(pid), SENT[i].status);
        python_check_trace("trace.db", SENT[i].dumped, 1);
        assert_int_equal(program_count("vramscope-record-*"), 0);
    }
}

static void leftovers_of_a_killed_recorder_are_removed_by_the_next(void **state)
{
    pid_t pid = python_start(
        PYTHON_BEGIN "import time\nfolder = os.environ['PYTHONPATH'].split(':')[0]\n" PYTHON_READY
                     "while os.path.exists(folder):\n    time.sleep(0.01)\n");

    (void)state;
    assert_int_equal(program_count("vramscope-record-*"), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(python_status(pid), 137);
    python_check(program_run("record", "-o", program_path("other.db"), "--", "true", NULL), 0, "",
                 "there is no trace", 0);
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
        cmocka_unit_test_setup(the_history_is_written_however_a_program_ends, python_begin),
        cmocka_unit_test_setup(sigterm_ends_a_program_and_its_history_is_written, python_begin),
        cmocka_unit_test_setup(a_signal_handler_of_the_program_is_kept, python_begin),
        cmocka_unit_test_setup(of_many_out_of_memory_errors_only_some_are_written, python_begin),
        cmocka_unit_test_setup(a_thread_can_end_the_process_at_once, python_begin),
        cmocka_unit_test_setup(a_missing_history_is_reported_and_the_program_runs_on, python_begin),
        cmocka_unit_test_setup(the_history_is_enabled_with_the_arguments_of_each_pytorch_version,
                               python_begin),
        cmocka_unit_test_setup(each_process_has_a_trace, python_begin),
        cmocka_unit_test_setup(a_worker_without_cuda_writes_no_trace, python_begin),
        cmocka_unit_test_setup(ranks_name_the_traces_of_a_distributed_run, python_begin),
        cmocka_unit_test_setup(a_recorded_program_sees_an_unchanged_python_environment,
                               python_begin),
        cmocka_unit_test_setup(the_users_sitecustomize_is_loaded, python_begin),
        cmocka_unit_test_setup(a_broken_torch_raises_the_usual_import_error, python_begin),
        cmocka_unit_test_setup(python_options_that_prevent_recording_are_reported, python_begin),
        cmocka_unit_test_setup(a_signal_to_the_recorder_reaches_the_program, python_begin),
        cmocka_unit_test_setup(leftovers_of_a_killed_recorder_are_removed_by_the_next,
                               python_begin),
    };

    if (!python_is_there())
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, python_setup, python_cleanup);
}
