/*
 * tests/e2e/test_security.c - the sentences of docs/guide/security.md: no file starts a program, whatever it says.
 *
 * PyTorch is the one of tests/tracer/python. The hostile trace says that it was recorded by this user on this machine,
 * which its author may know.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"

#define SNAPSHOT "tests/golden/snapshots/attention_3g.pickle.gz"

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
    unsetenv("RANK");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Run a statement on the trace: `before`, `value`, `after`. */
static void statement(const char *before, const char *value, const char *after)
{
    char sql[2048];

    snprintf(sql, sizeof(sql), "%s%s%s", before, value, after);
    sql_run(program_path("trace.db"), sql);
}

/* A trace whose program is `sh -c 'touch STARTED'`. */
static void hostile_record(void)
{
    const char *script = program_file("train.py", "import torch\ntorch.cuda.init()\n");
    struct program p =
        program_run("record", "-f", "-o", program_path("trace.db"), "--", "python3", script, NULL);

    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
    statement("update meta set value = 'sh' || char(10) || '-c' || char(10) || 'touch ",
              program_path("STARTED"), "' || char(10) where key = 'rerun_command'");
}

static bool is_started(void)
{
    return access(program_path("STARTED"), F_OK) == 0;
}

static void no_command_starts_the_program_of_a_trace(void **state)
{
    char *trace = strdup(program_path("trace.db"));
    const char *program = getenv("VRAMSCOPE");
    const char *const COMMANDS[][5] = {
        {"report"},
        {"report", "--json"},
        {"report", "--ranks"},
        {"why"},
        {"why", "--at", "5", "--json"},
        {"whatif", "--set", "zero-grad=zeros"},
        {"whatif", "--set", "alloc-conf=expandable_segments:True"},
        {"whatif", "--each"},
        {"advise"},
        {"check", "--max-peak", "1T"},
        {"export", "--format", "json"},
        {"tui", "--dump", "--keys", "gw:set zero-grad=zeros<enter>"},
        {"tui", "--dump", "--keys", "gH"},
        {"tui", "--dump", "--keys", "e"},
        {"python", "--at", "5"},
    };
    const char *given = program_file(
        "in.txt", "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": "
                  "{\"name\": \"whatif\", \"arguments\": {\"set\": {\"zero-grad\": \"zeros\"}}}}\n"
                  "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": "
                  "{\"name\": \"advise\"}}\n"
                  "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"tools/call\", \"params\": "
                  "{\"name\": \"holders\"}}\n");
    char *in = strdup(given); /* program_path's buffers are used in turn */
    char command[4096];

    (void)state;
    hostile_record();
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        const char *const *words = COMMANDS[i];
        struct program p =
            program_run(words[0], trace, words[1], words[2], words[3], words[4], NULL);

        if (is_started())
            fail_msg("%s %s started the program: %s%s", words[0], words[1] ? words[1] : "", p.out,
                     p.err);
        program_release(&p);
    }
    snprintf(command, sizeof(command), "timeout 100 '%s' mcp '%s' <'%s' >'%s'",
             program && *program ? program : "build/vramscope", trace, in, program_path("out.txt"));
    assert_int_equal(system(command), 0);
    assert_false(is_started());
    free(trace);
    free(in);
}

static void expect_refused(void)
{
    struct program p = program_run("whatif", program_path("trace.db"), "--set", "zero-grad=zeros",
                                   "--rerun", NULL);

    assert_int_equal(p.status, 1);
    if (!strstr(p.err, "does not record") || is_started())
        fail_msg("not refused: %s", p.err);
    program_release(&p);
}

static void options_and_variables_that_hide_another_program_are_refused(void **state)
{
    (void)state;
    hostile_record();
    statement("update meta set value = 'true' || char(10) where key = 'rerun_command'", "", "");
    statement("insert or replace into meta (key, value) values ('rerun_options', '--' || char(10) "
              "|| 'sh' || char(10) || '-c' || char(10) || 'touch ",
              program_path("STARTED"), "' || char(10))");
    expect_refused();
    statement("delete from meta where key = 'rerun_options'", "", "");
    statement("insert or replace into meta (key, value) values ('rerun_environment', 'BASH_ENV=",
              program_path("STARTED"), "' || char(10))");
    expect_refused();
}

static void a_query_reads_one_trace_and_loads_nothing(void **state)
{
    static const char *const REFUSED[] = {
        "delete from meta",
        "insert into meta values ('a', 'b')",
        "select load_extension('/lib/x86_64-linux-gnu/libm.so.6')",
        "select readfile('/etc/passwd')",
        "pragma query_only = 0; delete from meta",
        "vacuum into '/tmp/vramscope-other.db'",
    };

    (void)state;
    hostile_record();
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        struct program p = program_run("sql", program_path("trace.db"), REFUSED[i], NULL);

        if (!p.status)
            fail_msg("accepted: %s: %s", REFUSED[i], p.out);
        program_release(&p);
    }
    assert_int_equal(sql_int(program_path("trace.db"), "select count(*) > 0 from meta"), 1);
}

static void a_net_reaches_neither_files_nor_programs(void **state)
{
    static const char *const LINES[] = {
        "import os\nos.system('touch STARTED')",
        "import subprocess\nsubprocess.run(['touch', 'STARTED'])",
        "open('STARTED', 'w').write('x')",
        "__import__('os').system('touch STARTED')",
        "eval('1')",
        "exec('x = 1')",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
        char text[1024];
        struct program p;

        snprintf(text, sizeof(text),
                 "import torch\nfrom torch import nn\n\n%s\n\n\ndef model():\n    return "
                 "nn.Linear(2, 2)\n\n\ndef batch(n):\n    return torch.zeros(n, 2), torch.zeros(n, "
                 "2)\n",
                 LINES[i]);
        p = program_run("record", program_file("net.py", text), "--device", "meta", "-f", "-o",
                        program_path("net.db"), NULL);
        if (!p.status || is_started() || access("STARTED", F_OK) == 0)
            fail_msg("accepted: %s: %s%s", LINES[i], p.out, p.err);
        program_release(&p);
    }
}

static void python_is_missing(void **state)
{
    (void)state;
    tests_skip("there is no python3 from 3.8 on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_command_starts_the_program_of_a_trace),
        cmocka_unit_test(options_and_variables_that_hide_another_program_are_refused),
        cmocka_unit_test(a_query_reads_one_trace_and_loads_nothing),
        cmocka_unit_test(a_net_reaches_neither_files_nor_programs),
    };
    const struct CMUnitTest skipped[] = {cmocka_unit_test(python_is_missing)};

    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        return cmocka_run_group_tests(skipped, NULL, NULL);
    return cmocka_run_group_tests(tests, setup, cleanup);
}
