/*
 * tests/tui/parts/test_config.c - the user's file: what it says, how it is written, and what the screen shows of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/parts/config.h"

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *path, const char *text)
{
    char got[1000];
    FILE *file = fopen(path, "r");
    size_t n;

    if (!file)
        fail_msg("%s does not exist", path);
    n = fread(got, 1, sizeof(got) - 1, file);
    got[n] = 0;
    fclose(file);
    assert_string_equal(got, text);
}

static void options_and_keys_are_read(void **state)
{
    struct tui_config config;

    (void)state;
    memset(&config, 0, sizeof(config));
    tui_config_parse(&config, "file",
                     "# mine\n\n  theme light \nglyphs\tletters\r\nkey op\t<C-n>  s\nmouse off");
    assert_string_equal(vs_text_get(&config.errors), "");
    assert_int_equal(config.values[TUI_OPTION_THEME], 2);
    assert_int_equal(config.values[TUI_OPTION_GLYPHS], 2);
    assert_int_equal(config.values[TUI_OPTION_UNIT], 0);
    assert_int_equal(config.values[TUI_OPTION_MOUSE], 1);
    assert_string_equal(tui_keys_of(&config.keys, TUI_OP_NEXT), "<C-n>  s");
    tui_config_release(&config);
}

/* The first block of the page on the file is a file. */
static void the_example_of_the_guide_has_no_error(void **state)
{
    struct tui_config config;
    char page[4000];
    FILE *file = fopen("docs/guide/tui.md", "r");
    char *example;
    char *end;
    size_t n;

    (void)state;
    assert_non_null(file);
    n = fread(page, 1, sizeof(page) - 1, file);
    page[n] = 0;
    fclose(file);
    example = strstr(page, "```\n");
    assert_non_null(example);
    example += strlen("```\n");
    end = strstr(example, "```\n");
    assert_non_null(end);
    *end = 0;
    memset(&config, 0, sizeof(config));
    tui_config_parse(&config, "file", example);
    assert_string_equal(vs_text_get(&config.errors), "");
    assert_int_equal(config.values[TUI_OPTION_THEME], 2);
    tui_config_release(&config);
}

static void errors_name_their_line(void **state)
{
    struct tui_config config;

    (void)state;
    memset(&config, 0, sizeof(config));
    tui_config_parse(&config, "/a/config",
                     "theme blue\n\nkey opp x\ncolour red\nkey step y\nkey op y\nunit peak\n");
    assert_string_equal(vs_text_get(&config.errors),
                        "/a/config:1: theme cannot be `blue`; it is one of: dark, light, mono\n"
                        "/a/config:3: there is no action `opp`; is `op` meant?\n"
                        "/a/config:4: there is no option `colour`; a line begins with key, theme, "
                        "glyphs, unit or mouse\n"
                        "/a/config:6: `y` is `step` already, by line 5\n");
    assert_int_equal(config.error_count, 4);
    /* the other lines are in force */
    assert_int_equal(config.values[TUI_OPTION_UNIT], 2);
    tui_config_release(&config);
}

static void a_file_that_cannot_be_read_is_an_error_and_a_missing_one_is_not(void **state)
{
    struct tui_config config;

    (void)state;
    memset(&config, 0, sizeof(config));
    tui_config_read(&config, program_path("missing/config"));
    assert_int_equal(config.error_count, 0);
    tui_config_read(&config, program_folder());
    assert_int_equal(config.error_count, 1);
    assert_non_null(strstr(vs_text_get(&config.errors), "directory"));
    tui_config_release(&config);
}

static void what_is_remembered_leaves_the_other_lines_as_they_are(void **state)
{
    static const int LIGHT[TUI_OPTION_COUNT] = {[TUI_OPTION_THEME] = 2, [TUI_OPTION_MOUSE] = 1};
    static const int MONO[TUI_OPTION_COUNT] = {[TUI_OPTION_THEME] = 3};
    const char *path = program_path("a/b/config");
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(tui_config_remember(path, LIGHT, &err), VS_OK);
    expect_file(path, "theme light\nmouse off\n");
    file_write(path, "# mine\nkey op s\n  theme dark\n# end");
    assert_int_equal(tui_config_remember(path, MONO, &err), VS_OK);
    expect_file(path, "# mine\nkey op s\ntheme mono\n# end\n");
}

static void a_link_to_the_file_stays_a_link(void **state)
{
    static const int LIGHT[TUI_OPTION_COUNT] = {[TUI_OPTION_THEME] = 2};
    const char *path = program_path("linked");
    struct vs_error err = VS_ERROR_INIT;
    struct stat st;

    (void)state;
    file_write(program_path("target"), "unit peak\n");
    assert_int_equal(symlink("target", path), 0);
    assert_int_equal(tui_config_remember(path, LIGHT, &err), VS_OK);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect_file(program_path("target"), "unit peak\ntheme light\n");
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    static const int LIGHT[TUI_OPTION_COUNT] = {[TUI_OPTION_THEME] = 2};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(tui_config_remember("/dev/null/vramscope/config", LIGHT, &err), VS_E_IO);
    assert_non_null(strstr(err.text, "/dev/null/vramscope/config"));
}

static void help_and_the_last_row_show_bound_keys_and_help_the_errors(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 120, 30);
    tui_config_parse(&app.config, "config", "key op <C-n>\nkey pane <f2>\nkey opp x\n");
    session_expect(&app, "<f2> pane");
    session_expect(&app, "<C-n>/S op");
    session_type(&app, "?");
    session_expect(&app, "config:3: there is no action `opp`; is `op` meant?");
    /* in a small terminal, too, in full */
    session_type(&app, "q");
    tui_app_resize(&app, 80, 24);
    tui_config_parse(&app.config, "a/long/path/to/the/users/own/config", "key opp x\n");
    session_type(&app, "?");
    session_expect(&app, "there is no action `opp`; is `op`\n   meant?");
    session_type(&app, "/next op<enter>");
    session_expect(&app, "<C-n>         :op                the next op (without the file: s)");
    tui_app_release(&app);
}

static void a_bound_key_acts_in_a_session(void **state)
{
    struct tui_app app;
    uint64_t at;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "5s");
    at = app.at;
    session_type(&app, "gg");
    tui_config_parse(&app.config, "config", "key op <C-n>\n");
    session_type(&app, ":goto 1<enter>s");
    session_expect(&app, "no such key here");
    session_type(&app, "gp5<C-n>");
    assert_int_equal(app.at, at);
    tui_app_release(&app);
}

/* The printed screen has the keys of the file that XDG_CONFIG_HOME names, and says where it is wrong. */
static void the_program_reads_the_file(void **state)
{
    const char *trace = session_trace("variables", NULL);
    struct program p;

    (void)state;
    mkdir(program_path("home"), 0700);
    mkdir(program_path("home/vramscope"), 0700);
    file_write(program_path("home/vramscope/config"), "key blocks gx\nkey top\nkey nothing k\n");
    setenv("XDG_CONFIG_HOME", program_path("home"), 1);
    p = program_run("tui", trace, "--dump", "--keys", "gx", NULL);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "by size"));
    program_release(&p);
    p = program_run("tui", trace, "--dump", "--size", "160x24", NULL);
    assert_non_null(strstr(p.out, "vramscope/config:3: there is no action `nothing`"));
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_keys_are_read),
        cmocka_unit_test(the_example_of_the_guide_has_no_error),
        cmocka_unit_test(errors_name_their_line),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error_and_a_missing_one_is_not),
        cmocka_unit_test(what_is_remembered_leaves_the_other_lines_as_they_are),
        cmocka_unit_test(a_link_to_the_file_stays_a_link),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(help_and_the_last_row_show_bound_keys_and_help_the_errors),
        cmocka_unit_test(a_bound_key_acts_in_a_session),
        cmocka_unit_test(the_program_reads_the_file),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
