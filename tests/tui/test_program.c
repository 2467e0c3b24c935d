/*
 * tests/tui/test_program.c - a recorded program that runs again in the background of a session.
 *
 * PyTorch is the one of tests/tracer/python, which has no modules: toggles are named as not applied. This program is
 * what `whatif` starts as /proc/self/exe; with the arguments of `record` it becomes vramscope.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/tui/session.h"
#include "tests/wait.h"
#include "tui/change.h"
#include "tui/program.h"

#define SNAPSHOT "tests/golden/snapshots/attention_3g.pickle.gz"
/* A file beside the script makes it wait for long, and write that it does, or not end at SIGTERM, or fail. */
#define SCRIPT                                                                                     \
    "import os, signal, time, torch\n"                                                             \
    "torch.cuda.init()\n"                                                                          \
    "here = os.path.dirname(os.path.abspath(__file__))\n"                                          \
    "if os.path.exists(here + '/deaf'):\n"                                                         \
    "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"                                          \
    "if os.path.exists(here + '/wait'):\n"                                                         \
    "    open(here + '/waiting', 'w').close()\n"                                                   \
    "    time.sleep(3600)\n"                                                                       \
    "if os.path.exists(here + '/fail'):\n"                                                         \
    "    raise ValueError('no more')\n"
#define ZEROS ":set zero-grad=zeros<enter>"

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

/* A session of a recorded program, as the loop has it. file: beside the script when it runs again, or NULL. */
static void begin(struct tui_app *app, const char *file)
{
    const char *script = program_file("train.py", SCRIPT);
    const char *trace = program_path("trace.db");
    struct program p;

    remove(program_path("wait"));
    remove(program_path("waiting"));
    remove(program_path("fail"));
    remove(program_path("deaf"));
    p = program_run("record", "-f", "-o", trace, "--", "python3", script, NULL);
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
    if (file)
        program_file(file, "");
    session_open(app, program_path("trace.db"), 200, 50);
    app->has_ticks = true;
}

static void await_end(struct tui_app *app)
{
    struct wait w = wait_for(0, "the program in the background to end");

    while (app->rerun.job) {
        (void)tui_program_poll(app);
        wait_more(&w);
    }
}

/* Until the script itself runs. */
static void await_script(void)
{
    struct wait w = wait_for(0, "the script to write the file waiting");

    while (access(program_path("waiting"), F_OK) != 0)
        wait_more(&w);
}

static void no_folder_is_left(void)
{
    if (program_count("vramscope-*") != 0)
        fail_msg("%d temporary folders are left", program_count("vramscope-*"));
}

/* The toggle's next value (by: 1 or -1) is `expected`, and is set, though not run. */
static void turn_check(struct tui_app *app, enum vs_toggle toggle, int by, const char *expected)
{
    char value[VS_TOGGLE_VALUE_MAX];
    struct vs_error err = VS_ERROR_INIT;

    assert_true(tui_change_next(app, toggle, by, value));
    assert_string_equal(value, expected);
    assert_int_equal(tui_change_set(app, toggle, value, &err), VS_OK);
}

/* Whether a value is one to run the program with. */
static void set_check(struct tui_app *app, enum vs_toggle toggle, const char *value, bool is_set)
{
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(tui_change_set(app, toggle, value, &err), VS_OK);
    assert_int_equal(vs_toggles_is_set(&app->change.set, toggle), is_set);
}

static void the_session_goes_on_while_the_program_runs_and_keeps_its_result(void **state)
{
    struct tui_app app;

    (void)state;
    begin(&app, NULL);
    session_type(&app, "gw" ZEROS);
    session_expect(&app, "to agree to run");
    assert_null(app.rerun.job);
    session_type(&app, ZEROS);
    assert_non_null(app.rerun.job);
    session_expect(&app, "the program runs in the background; <C-c> stops it");
    session_expect(&app, "zero-grad=zeros runs in the background, for 0 s");
    assert_false(app.change.is_run);
    session_type(&app, "j");
    session_expect(&app, "zero-grad=zeros runs in the background");
    await_end(&app);
    session_expect(&app, "zero-grad=zeros has run: peak");
    session_expect(&app, "what if zero-grad=zeros");
    session_expect(&app, "not applied: toggles: ");
    assert_true(app.change.is_shown);
    no_folder_is_left();
    /* back, and once more: it is kept */
    session_type(&app, ":set zero-grad=own<enter>");
    assert_false(app.change.is_run);
    session_type(&app, ZEROS);
    assert_null(app.rerun.job);
    assert_true(app.change.is_shown);
    tui_app_release(&app);
}

/* Whoever looks at something else when it ends goes on looking at it. */
static void a_run_that_ends_elsewhere_does_not_move_the_view(void **state)
{
    struct tui_app app;
    uint64_t at;

    (void)state;
    begin(&app, NULL);
    app.may_rerun = true;
    session_type(&app, "gw" ZEROS "gt:goto 100<enter>");
    at = app.at;
    await_end(&app);
    assert_true(app.change.is_run);
    assert_false(app.change.is_shown);
    assert_int_equal(app.at, at);
    session_expect(&app, "D shows the other run");
    session_type(&app, "D");
    assert_true(app.change.is_shown);
    tui_app_release(&app);
}

static void ctrl_c_stops_it_and_nothing_changes(void **state)
{
    struct tui_app app;

    (void)state;
    begin(&app, "wait");
    app.may_rerun = true;
    session_type(&app, "gw" ZEROS);
    session_type(&app, ":set half=on<enter>"); /* one at a time */
    session_expect(&app, "zero-grad=zeros runs in the background");
    session_expect(&app, "already; <C-c> stops it");
    await_script();
    session_type(&app, "<C-c>");
    session_expect(&app, "the program was stopped");
    assert_null(app.rerun.job);
    assert_int_equal(app.wish, TUI_WISH_NOTHING);
    assert_false(app.change.is_run);
    no_folder_is_left();
    session_type(&app, "<C-c>");
    assert_int_equal(app.wish, TUI_WISH_QUIT);
    tui_app_release(&app);
}

/* It is killed, with its recorder, whose folder is removed all the same. */
static void a_program_that_does_not_end_leaves_nothing(void **state)
{
    struct tui_app app;

    (void)state;
    begin(&app, "wait");
    program_file("deaf", "");
    app.may_rerun = true;
    session_type(&app, ZEROS);
    await_script();
    assert_int_equal(program_count("vramscope-record-*"), 1);
    session_type(&app, "<C-c>");
    session_expect(&app, "the program was stopped");
    no_folder_is_left();
    tui_app_release(&app);
}

static void a_session_that_ends_ends_the_program(void **state)
{
    struct tui_app app;

    (void)state;
    begin(&app, "wait");
    app.may_rerun = true;
    session_type(&app, ZEROS);
    assert_non_null(app.rerun.job);
    await_script();
    tui_app_release(&app);
    no_folder_is_left();
}

static void a_program_that_fails_says_why_and_leaves_the_toggles(void **state)
{
    struct tui_app app;

    (void)state;
    begin(&app, "fail");
    app.may_rerun = true;
    session_type(&app, "gw" ZEROS);
    await_end(&app);
    session_expect(&app, "zero-grad=zeros: the program failed with status 1");
    session_expect(&app, "ValueError: no more");
    assert_false(app.change.is_run);
    session_type(&app, ":set steps=5<enter>");
    session_expect(&app, "steps=5: the loop is the script's own");
    assert_null(app.rerun.job);
    tui_app_release(&app);
}

/*
 * What the recording knows is shown, and what it does not know is the script's own, which comes back after the others.
 */
static void toggles_show_what_the_script_says(void **state)
{
    struct tui_app app;

    (void)state;
    begin(&app, NULL);
    tui_app_release(&app);
    sql_run(program_path("trace.db"),
            "insert into meta values ('script_batch', '32'), ('script_amp', 'bf16'), "
            "('script_optimizer', 'RMSprop')");
    session_open(&app, program_path("trace.db"), 200, 50);
    session_type(&app, "gw");
    session_expect(&app, "batch              32 ");
    session_expect(&app, "amp                bf16 ");
    session_expect(&app, "optimizer          RMSprop ");
    session_expect(&app, "inplace            script's own ");
    session_expect(&app, "accumulate         script's own ");
    assert_false(tui_change_is_own(&app, VS_TOGGLE_BATCH));
    assert_true(tui_change_is_own(&app, VS_TOGGLE_INPLACE));
    turn_check(&app, VS_TOGGLE_BATCH, 1, "64");
    turn_check(&app, VS_TOGGLE_BATCH, 1, "128");
    turn_check(&app, VS_TOGGLE_BATCH, -1, "64");
    turn_check(&app, VS_TOGGLE_BATCH, -1, "32");
    assert_false(vs_toggles_is_set(&app.change.set, VS_TOGGLE_BATCH));
    turn_check(&app, VS_TOGGLE_INPLACE, 1, "on");
    turn_check(&app, VS_TOGGLE_INPLACE, 1, "own");
    assert_false(vs_toggles_is_set(&app.change.set, VS_TOGGLE_INPLACE));
    turn_check(&app, VS_TOGGLE_ACCUMULATE, 1, "2");
    turn_check(&app, VS_TOGGLE_ACCUMULATE, -1, "own");
    /* off is not what this script says, nor known to be what it says */
    set_check(&app, VS_TOGGLE_AMP, "off", true);
    set_check(&app, VS_TOGGLE_AMP, "bf16", false);
    set_check(&app, VS_TOGGLE_INPLACE, "off", true);
    set_check(&app, VS_TOGGLE_INPLACE, "own", false);
    tui_app_release(&app);
}

/* As the terminal: a key is typed when the script runs. */
static bool typed_when_the_script_runs(struct tui_input *out)
{
    memset(out, 0, sizeof(*out));
    return access(program_path("waiting"), F_OK) == 0;
}

static void the_table_of_what_helps_runs_the_program_once_the_user_has_agreed(void **state)
{
    struct tui_app app;
    uint64_t runs;

    (void)state;
    begin(&app, "wait");
    session_type(&app, "gW");
    session_expect(&app, "alloc-conf=expandable_segments:True");
    session_expect(&app, "space runs the recorded program with the other toggles");
    runs = wif_cache_runs(app.change.cache);
    session_type(&app, "<space>");
    session_expect(&app, "to agree to run");
    assert_int_equal(access(program_path("waiting"), F_OK), -1);
    app.typed = typed_when_the_script_runs;
    session_type(&app, "<space>");
    assert_int_equal(access(program_path("waiting"), F_OK), 0);
    session_expect(&app, "stopped; space tries again");
    assert_int_equal(wif_cache_runs(app.change.cache), runs + 1); /* the others are kept */
    no_folder_is_left();
    app.typed = NULL;
    tui_app_release(&app);
}

static void python_is_missing(void **state)
{
    (void)state;
    tests_skip("there is no python3 from 3.8 on");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_session_goes_on_while_the_program_runs_and_keeps_its_result),
        cmocka_unit_test(a_run_that_ends_elsewhere_does_not_move_the_view),
        cmocka_unit_test(ctrl_c_stops_it_and_nothing_changes),
        cmocka_unit_test(a_program_that_does_not_end_leaves_nothing),
        cmocka_unit_test(a_session_that_ends_ends_the_program),
        cmocka_unit_test(a_program_that_fails_says_why_and_leaves_the_toggles),
        cmocka_unit_test(toggles_show_what_the_script_says),
        cmocka_unit_test(the_table_of_what_helps_runs_the_program_once_the_user_has_agreed),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(python_is_missing)};
    const char *program = getenv("VRAMSCOPE");

    if (argc > 1 && strcmp(argv[1], "record") == 0) {
        execv(program ? program : "build/vramscope", argv);
        return 126;
    }
    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        return cmocka_run_group_tests(without, NULL, NULL);
    return cmocka_run_group_tests(tests, setup, cleanup);
}
