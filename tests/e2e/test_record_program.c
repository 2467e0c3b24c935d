/*
 * tests/e2e/test_record_program.c - `vramscope record -- PROGRAM`: which files count as programs, exit status, streams,
 * signals.
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
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/program.h"

static int setup(void **state)
{
    (void)state;
    return setenv("TMPDIR", program_folder(), 1);
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* It ended with `status`, printed just `out`, and says `err`. Nothing but what the test made is left in the folder. */
static void check(struct program p, int status, const char *out, const char *err)
{
    char command[256];

    if (p.status != status || strcmp(p.out, out) != 0 || !strstr(p.err, err))
        fail_msg("status %d (not %d), out: %s; err: %s; but should: %s%s", p.status, status, p.out,
                 p.err, out, err);
    program_release(&p);
    snprintf(command, sizeof(command), "ls -A '%s' | grep -q vramscope-record", program_folder());
    if (system(command) == 0)
        fail_msg("the recorder's folder was left behind");
}

/* A file that may be executed. */
static const char *script(const char *name, const char *text)
{
    const char *path = program_file(name, text);

    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static void record_returns_the_exit_status_of_the_program(void **state)
{
    const char *out = program_path("none.db");

    (void)state;
    check(program_run("record", "-o", out, "--", "sh", "-c", "echo heard; exit 3", NULL), 3,
          "heard\n", "there is no trace");
    check(program_run("record", "-o", out, "--", "true", NULL), 0, "", "there is no trace");
    check(program_run("record", "-o", out, "--", "sh", "-c", "kill -9 $$", NULL), 137, "",
          "sh was ended by signal 9 (Killed)");
    check(program_run("record", "-o", out, "--", "sh", "-c", "kill -SEGV $$", NULL), 139, "",
          "signal 11");
    assert_int_equal(access(out, F_OK), -1);
}

static void a_program_that_cannot_be_run_gives_the_exit_status_of_a_shell(void **state)
{
    const char *out = program_path("none.db");
    const char *plain = program_file("plain.txt", "text\n");
    const char *lost = script("lost", "#!/nowhere/at/all\n");

    (void)state;
    check(program_run("record", "-o", out, "--", "no-such-program-here", NULL), 127, "",
          "no-such-program-here: there is no such program in PATH");
    check(program_run("record", "-o", out, "--", "./no/such", NULL), 127, "",
          "./no/such: there is no such program");
    check(program_run("record", "-o", out, "--", plain, NULL), 126, "", "Permission denied");
    check(program_run("record", "-o", out, "--", program_folder(), NULL), 126, "", "cannot be run");
    check(program_run("record", "-o", out, "--", lost, NULL), 127, "", "does not exist");
    check(program_run("record", "-o", out, "--", NULL), 2, "", "after -- a program is missing");
    assert_int_equal(access(out, F_OK), -1);
}

static void unsearchable_folders_of_path_are_skipped(void **state)
{
    const char *out = program_path("searched.db");
    const char *loop = program_path("loop"); /* a link to itself, which even root cannot search */
    char *path;
    char folders[4096];

    (void)state;
    assert_non_null(getenv("PATH"));
    path = strdup(getenv("PATH"));
    assert_non_null(path);
    assert_int_equal(symlink(loop, loop), 0);
    snprintf(folders, sizeof(folders), "%s:%s", loop, path);
    setenv("PATH", folders, 1);
    check(program_run("record", "-o", out, "--", "no-such-program-here", NULL), 127, "",
          "no-such-program-here: there is no such program in PATH");
    setenv("PATH", path, 1);
    free(path);
    assert_int_equal(unlink(loop), 0);
}

static void an_executable_that_is_not_a_net_is_recorded_as_a_program(void **state)
{
    const char *out = program_path("decided.db");
    const char *program = script("prog", "#!/bin/sh\necho \"$1 $2\"\nexit 5\n");
    const char *net = program_path("net.py");
    char command[512];

    (void)state;
    check(program_run("record", program, "-o", out, "--", "a", "-b", NULL), 5, "a -b\n", "");
    check(program_run("record", "-o", out, program, NULL), 5, " \n", "");
    check(program_run("record", "-o", out, "/bin/true", NULL), 0, "", "there is no trace");
    /* a net file stays one, with or without the right to be executed; as a program it is none that is known */
    snprintf(command, sizeof(command),
             "(echo '#!/usr/bin/env python3'; cat sample_nets/lenet.py) > '%s' && chmod +x '%s'",
             net, net);
    assert_int_equal(system(command), 0);
    {
        struct program p = program_run("record", net, "-o", out, "--device", "meta", NULL);

        assert_int_equal(p.status, 0);
        assert_non_null(strstr(p.out, "decided.db: "));
        program_release(&p);
    }
    check(program_run("record", net, "-o", program_path("x.db"), "--", "a", NULL), 2, "",
          "is read as a net, which takes no arguments");
}

/* Only the requested program is run. */
static void a_python_program_that_is_no_net_gets_a_hint(void **state)
{
    const char *train = program_file("train.py", "import argparse\nprint('ran')\n");
    const char *net = program_file("wrong.py", "def model():\n    return 1 +\n");
    struct program p;

    (void)state;
    check(program_run("record", "-o", program_path("x.db"), train, NULL), 1, "",
          "vramscope record -- python3 ");
    p = program_run("record", "-o", program_path("x.db"), net, NULL);
    assert_null(strstr(p.err, "python3"));
    check(p, 1, "", "wrong.py:2:");
}

static void the_summary_of_record_is_available_as_json(void **state)
{
    struct program p = program_run("record", "--json", "-o", program_path("x.db"), "--", "sh", "-c",
                                   "echo out; exit 3", NULL);
    char *text = json_text(p.out, "$.program[2]");

    (void)state;
    assert_int_equal(p.status, 3);
    assert_int_equal(json_int(p.out, "$.status"), 3);
    assert_string_equal(text, "echo out; exit 3");
    json_expect(p.out, "$.traces", "array");
    assert_non_null(strstr(p.err, "out\n"));
    free(text);
    program_release(&p);
}

static void options_for_nets_are_refused_for_programs(void **state)
{
    const char *out = program_path("refused.db");

    (void)state;
    check(program_run("record", "-o", out, "--device", "cpu", "--", "true", NULL), 2, "",
          "--device is for net files");
    check(program_run("record", "-o", out, "--capacity", "8G", "--", "true", NULL), 2, "",
          "--gpu NAME simulates another one");
    check(program_run("record", "-o", out, "--steps", "4", "--", "true", NULL), 2, "",
          "--steps cannot be applied to a program");
    check(program_run("record", "-o", out, "--stacks", "some", "--", "true", NULL), 2, "",
          "legal: python, all");
    check(program_run("record", "-o", out, "--history", "-1", "--", "true", NULL), 2, "",
          "--history cannot be");
}

static void an_existing_trace_is_kept_without_force(void **state)
{
    const char *out = program_file("there.db", "mine");
    const char *ran = program_path("ran");
    char touch[256];

    (void)state;
    snprintf(touch, sizeof(touch), "touch '%s'", ran);
    check(program_run("record", "-o", out, "--", "sh", "-c", touch, NULL), 1, "",
          "there.db: it exists already");
    assert_int_equal(access(ran, F_OK), -1);
    check(program_run("record", "-o", out, "--force", "--", "no-such-program-here", NULL), 127, "",
          "no such program");
    assert_int_equal(access(out, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_returns_the_exit_status_of_the_program),
        cmocka_unit_test(a_program_that_cannot_be_run_gives_the_exit_status_of_a_shell),
        cmocka_unit_test(unsearchable_folders_of_path_are_skipped),
        cmocka_unit_test(an_executable_that_is_not_a_net_is_recorded_as_a_program),
        cmocka_unit_test(a_python_program_that_is_no_net_gets_a_hint),
        cmocka_unit_test(the_summary_of_record_is_available_as_json),
        cmocka_unit_test(options_for_nets_are_refused_for_programs),
        cmocka_unit_test(an_existing_trace_is_kept_without_force),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
