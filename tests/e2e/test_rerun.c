/*
 * tests/e2e/test_rerun.c - a program that is run again from its trace: who may, what the trace keeps, what changed.
 *
 * PyTorch is the one of tests/tracer/python, which has no modules: toggles are named as not applied.
 * tests/programs/toggles has those that are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/wait.h"

#define SNAPSHOT "tests/golden/snapshots/attention_3g.pickle.gz"
#define LONG_PATH "a/long/path/of/folders:/and/another/one/that/is/long/too"
#define SCRIPT                                                                                     \
    "import os, sys, torch\ntorch.cuda.init()\nprint('ran', os.environ.get('OMP_NUM_THREADS'))\n"

static int setup(void **state)
{
    char path[1024];
    char here[400];

    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "%s/tests/tracer/python", here);
    setenv("PYTHONPATH", path, 1);
    snprintf(path, sizeof(path), "%s/" SNAPSHOT, here);
    setenv("FAKE_TORCH_SNAPSHOT", path, 1);
    setenv("FAKE_TORCH_SAY", program_path("said"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("TMPDIR", program_folder(), 1);
    setenv("OMP_NUM_THREADS", "3", 1);
    setenv("MY_TOKEN", "secret-of-mine", 1);
    unsetenv("RANK");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Record the script as trace.db. */
static void record(const char *text)
{
    const char *script = program_file("train.py", text);
    struct program p = program_run("record", "-f", "-o", program_path("trace.db"), "--", "python3",
                                   script, "--epochs", "2", NULL);

    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
}

static struct program whatif(const char *option)
{
    return program_run("whatif", program_path("trace.db"), "--set", "zero-grad=zeros", "--json",
                       option, NULL);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("`%s` is not in: %s", part, text);
}

static void a_trace_keeps_how_its_program_was_started_and_no_secret(void **state)
{
    const char *trace = program_path("trace.db");
    struct program p;

    (void)state;
    record(SCRIPT);
    assert_int_equal(sql_int(trace, "select value like 'python3' || char(10) || '%train.py' || "
                                    "char(10) || '--epochs' || char(10) || '2' || char(10) from "
                                    "meta where key = 'rerun_command'"),
                     1);
    assert_int_equal(sql_int(trace, "select value like '%OMP_NUM_THREADS=3%' from meta where key = "
                                    "'rerun_environment'"),
                     1);
    assert_int_equal(
        sql_int(trace, "select count(*) from meta where value like '%secret-of-mine%'"), 0);
    assert_int_equal(sql_int(trace, "select count(*) from meta where key like 'rerun_script "
                                    "%train.py' and value like '%torch.cuda.init%'"),
                     1);
    p = program_run("whatif", trace, "--set", "alloc-conf=expandable_segments:True", NULL);
    assert_int_equal(p.status, 0); /* the allocator's toggles need no program */
    program_release(&p);
}

static void without_a_terminal_nothing_runs_unless_rerun_says_so(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    p = whatif(NULL);
    assert_int_equal(p.status, 1);
    has(p.err, "no terminal to ask on; --rerun runs it");
    has(p.err, "python3");
    has(p.err, "train.py --epochs 2");
    program_release(&p);
    sql_run(program_path("trace.db"), "update meta set value = value || 'PATH=/" LONG_PATH
                                      "' || char(10) where key = 'rerun_environment'");
    p = whatif(NULL);
    has(p.err, " PATH=… ");
    program_release(&p);
    record(SCRIPT);
    p = whatif("--rerun");
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    assert_int_equal(json_int(p.out, "$.result.allocated"),
                     json_int(p.out, "$.baseline.allocated"));
    has(p.out, "\"changed\": null");
    has(p.out, "toggles: "); /* not applied */
    program_release(&p);
    if (program_count("vramscope-*") != 0)
        fail_msg("%d temporary folders are left", program_count("vramscope-*"));
}

static void the_trace_of_another_user_is_refused_unless_rerun_says_so(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    sql_run(program_path("trace.db"),
            "update meta set value = '99999 elsewhere 0' where key = 'rerun_recorded_by'");
    p = whatif(NULL);
    assert_int_equal(p.status, 1);
    has(p.err, "recorded by another user or on another machine (99999 elsewhere 0)");
    program_release(&p);
    p = whatif("--rerun");
    assert_int_equal(p.status, 0);
    program_release(&p);
}

static void a_script_that_changed_is_named_with_its_lines(void **state)
{
    struct program p;
    char *changed;

    (void)state;
    record(SCRIPT);
    program_file("train.py", "import os, sys, torch\ntorch.cuda.init()\nprint('new')\n");
    p = whatif("--rerun");
    assert_int_equal(p.status, 0);
    has(p.err, "train.py has changed since it was recorded:\n  -3 print('ran'");
    has(p.err, "\n  +3 print('new')\n");
    changed = json_text(p.out, "$.program.changed");
    assert_non_null(changed);
    has(changed, "+3 print('new')");
    free(changed);
    program_release(&p);
}

static void a_program_that_fails_when_it_runs_again_is_an_error_with_its_last_line(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    program_file("train.py", "import torch\ntorch.cuda.init()\nraise ValueError('no more')\n");
    p = whatif("--rerun");
    assert_int_equal(p.status, 1);
    has(p.err, "the program failed with status 1 when it was run again: ValueError: no more");
    program_release(&p);
    /* the line of the exception, whatever follows it */
    program_file("train.py",
                 "import torch\ntorch.cuda.init()\nraise ValueError('no more\\n\\nSet IT=1')\n");
    p = whatif("--rerun");
    assert_int_equal(p.status, 1);
    has(p.err, "when it was run again: ValueError: no more");
    program_release(&p);
    program_file("train.py", "import os, sys, torch\ntorch.cuda.init()\nprint('a\\n  b\\nlast')\n"
                             "sys.stdout.flush()\nos._exit(3)\n");
    p = whatif("--rerun");
    has(p.err, "the program failed with status 3 when it was run again: last");
    program_release(&p);
}

static void a_toggle_of_the_loop_is_refused_before_anything_runs(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    p = program_run("whatif", program_path("trace.db"), "--rerun", "--set", "steps=5", NULL);
    assert_int_equal(p.status, 1);
    has(p.err, "steps=5: the loop is the script's own");
    program_release(&p);
    p = program_run("record", "--steps", "5", "-f", "-o", program_path("none.db"), "--", "true",
                    NULL);
    assert_int_equal(p.status, 2);
    has(p.err, "--steps cannot be applied to a program");
    program_release(&p);
}

/* How often the script, which adds a line to this file, has run. */
#define COUNTING                                                                                   \
    "import os, torch\ntorch.cuda.init()\n"                                                        \
    "open(os.path.join(os.path.dirname(__file__), 'runs'), 'a').write('.')\n"

static long runs(void)
{
    FILE *file = fopen(program_path("runs"), "r");
    long count = 0;

    while (file && fgetc(file) != EOF)
        count++;
    if (file)
        fclose(file);
    return count;
}

/* Where nobody agrees, advise runs settings of the allocator alone, and says the command that runs the program. */
static void advise_runs_the_program_again_once_it_may(void **state)
{
    char *const trace = strdup(program_path("trace.db"));
    struct program p;

    (void)state;
    record(COUNTING);
    assert_int_equal(runs(), 1);
    p = program_run("advise", trace, NULL);
    assert_int_equal(p.status, 0);
    has(p.out, "`vramscope advise TRACE --rerun`");
    has(p.err, "no terminal to ask on; --rerun runs it");
    program_release(&p);
    p = program_run("advise", trace, "--rerun", "--capacity", "24G", NULL);
    assert_int_equal(p.status, 0);
    has(p.err, "a program has the memory of its GPU, not --capacity");
    program_release(&p);
    assert_int_equal(runs(), 1);
    p = program_run("advise", trace, "--rerun", "--json", NULL);
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    has(p.out, "\"cannot\": null");
    has(p.out, "\"command\": ");
    program_release(&p);
    if (runs() < 10)
        fail_msg("the program ran %ld times", runs());
    free(trace);
}

static void events_are_numbered_from_1(void **state)
{
    static const char *const EVENTS[] = {"0", "99999999", "x"};

    (void)state;
    record(SCRIPT);
    for (size_t i = 0; i < sizeof(EVENTS) / sizeof(*EVENTS); i++) {
        struct program p = program_run("why", program_path("trace.db"), "--at", EVENTS[i], NULL);

        assert_int_equal(p.status, 2);
        has(p.err, "give a number from 1 to ");
        program_release(&p);
    }
}

/* --each asks once and tries what can be applied to a program; where nobody agrees, the allocator's settings alone. */
static void each_runs_the_toggles_of_programs(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    p = program_run("whatif", program_path("trace.db"), "--each", "--json", NULL);
    assert_int_equal(p.status, 0);
    has(p.err, "only settings of the allocator are tried: ");
    has(p.out, "\"toggle\": \"alloc-conf=expandable_segments:True\"");
    assert_null(strstr(p.out, "amp=bf16"));
    program_release(&p);
    sql_run(program_path("trace.db"),
            "insert into meta values ('script_batch', '32'), ('script_amp', 'fp16')");
    p = program_run("whatif", program_path("trace.db"), "--each", "--rerun", "--json", NULL);
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    has(p.out, "\"toggle\": \"amp=bf16\"");
    assert_null(strstr(p.out, "\"toggle\": \"amp=fp16\"")); /* the script says it itself */
    has(p.out, "\"toggle\": \"batch=16\"");
    has(p.out, "\"toggle\": \"batch=64\"");
    has(p.out, "\"toggle\": \"offload=activations\"");
    has(p.out, "\"toggle\": \"compile=on\"");
    has(p.out, "\"toggle\": \"optimizer=sgd\""); /* the script's own is not known */
    has(p.out, "\"command\": ");
    assert_null(strstr(p.out, "\"toggle\": \"grad=")); /* refused for all programs */
    has(p.out,
        "\"toggle\": \"detach-loss\", \"reason\": \"the sum of the losses is the script's own");
    program_release(&p);
    p = program_run("whatif", program_path("trace.db"), "--each", "--set", "steps=5", "--rerun",
                    NULL);
    assert_int_equal(p.status, 1);
    has(p.err, "steps=5: the loop is the script's own");
    program_release(&p);
}

/* The what-if pane, after `keys`. */
static struct program panel(const char *option, const char *keys)
{
    return program_run("tui", program_path("trace.db"), "--dump", "--size", "200x60", "--keys",
                       keys, option, NULL);
}

#define SET ":set zero-grad=zeros<enter>"

static void the_panel_shows_the_command_first_and_runs_the_second_time(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    p = panel(NULL, "gw" SET);
    has(p.out, "to agree to run");
    program_release(&p);
    p = panel(NULL, "gw" SET SET);
    has(p.out, "what if zero-grad=zeros");
    has(p.out, "not applied: toggles: ");
    program_release(&p);
    p = panel("--rerun", "gw" SET);
    has(p.out, "what if zero-grad=zeros");
    program_release(&p);
    sql_run(program_path("trace.db"),
            "update meta set value = '99999 elsewhere 0' where key = 'rerun_recorded_by'");
    p = panel(NULL, "gw" SET SET);
    has(p.out, "another user or another machine recorded");
    program_release(&p);
    if (program_count("vramscope-*") != 0)
        fail_msg("%d temporary folders are left", program_count("vramscope-*"));
}

/* Writes its number into the file `number`, if there is one, and waits; it ends by itself after the test has failed. */
#define WAITING                                                                                    \
    "import os, time, torch\ntorch.cuda.init()\n"                                                  \
    "path = os.path.join(os.path.dirname(__file__), 'number')\n"                                   \
    "if os.path.exists(path):\n"                                                                   \
    "    open(path + '.part', 'w').write('%d' % os.getpid())\n"                                    \
    "    os.rename(path + '.part', path)\n"                                                        \
    "    time.sleep(1200)\n"

/* Wait for the program's number. */
static pid_t number_wait(pid_t command)
{
    struct wait w = wait_for(command, "the number of the program that runs again");
    long number = 0;

    for (;;) {
        FILE *file = fopen(program_path("number"), "r");
        const bool is_there = file && fscanf(file, "%ld", &number) == 1;

        if (file)
            fclose(file);
        if (is_there)
            return (pid_t)number;
        wait_more(&w);
    }
}

/* Whoever its parent was: this process is the next one. */
static void end_wait(pid_t number)
{
    struct wait w = wait_for(0, "the end of the program that ran again");

    while (waitpid(number, NULL, WNOHANG) != number && !(kill(number, 0) != 0 && errno == ESRCH))
        wait_more(&w);
}

static void a_signal_ends_the_program_that_runs_again_and_leaves_no_folder(void **state)
{
    static const int SIGNALS[] = {SIGTERM, SIGHUP, SIGINT};

    (void)state;
    record(WAITING);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(*SIGNALS); i++) {
        pid_t command, number;
        int status;

        program_file("number", "");
        command = program_start("whatif", program_path("trace.db"), "--set", "zero-grad=zeros",
                                "--rerun", NULL);
        number = number_wait(command);
        kill(command, SIGNALS[i]);
        status = wait_child(command, "the end of whatif after signal %d", SIGNALS[i]);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGNALS[i])
            fail_msg("after signal %d its status is %x", SIGNALS[i], (unsigned)status);
        end_wait(number);
        if (program_count("vramscope-whatif-*") != 0)
            fail_msg("%d folders are left", program_count("vramscope-whatif-*"));
    }
    unlink(program_path("number"));
}

static void what_runs_is_said_in_a_line_without_a_terminal(void **state)
{
    struct program p;

    (void)state;
    record(SCRIPT);
    p = whatif("--rerun");
    has(p.err, "vramscope: the program is running again\n");
    program_release(&p);
}

static void python_is_missing(void **state)
{
    (void)state;
    tests_skip("there is no python3 from 3.8 on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_keeps_how_its_program_was_started_and_no_secret),
        cmocka_unit_test(without_a_terminal_nothing_runs_unless_rerun_says_so),
        cmocka_unit_test(the_trace_of_another_user_is_refused_unless_rerun_says_so),
        cmocka_unit_test(a_script_that_changed_is_named_with_its_lines),
        cmocka_unit_test(a_program_that_fails_when_it_runs_again_is_an_error_with_its_last_line),
        cmocka_unit_test(the_panel_shows_the_command_first_and_runs_the_second_time),
        cmocka_unit_test(a_toggle_of_the_loop_is_refused_before_anything_runs),
        cmocka_unit_test(advise_runs_the_program_again_once_it_may),
        cmocka_unit_test(events_are_numbered_from_1),
        cmocka_unit_test(each_runs_the_toggles_of_programs),
        cmocka_unit_test(a_signal_ends_the_program_that_runs_again_and_leaves_no_folder),
        cmocka_unit_test(what_runs_is_said_in_a_line_without_a_terminal),
    };

    const struct CMUnitTest skipped[] = {cmocka_unit_test(python_is_missing)};

    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        return cmocka_run_group_tests(skipped, NULL, NULL);
    return cmocka_run_group_tests(tests, setup, cleanup);
}
