/*
 * tests/cli/test_args.c - parsing the command line: accepted forms, and the errors for all others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cmds.h"

static const struct cli_option OPTIONS[] = {
    {"out", 'o', "FILE", false, "where to"},
    {"set", 0, "TOGGLE=VALUE", true, "more than once"},
    {"json", 'j', NULL, false, "a flag"},
    {NULL, 0, NULL, false, NULL},
};

static const struct cli_cmd CMD = {
    .name = "cmd",
    .usage = "FILE [FILE]",
    .summary = "Does something",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 2,
    .toggles = true,
};

#define PARSE(args, err, ...)                                                                      \
    cli_args_parse(&CMD, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),            \
                   (char *const *)(uintptr_t)(const char *const[]){__VA_ARGS__}, args, err)

static void every_form_of_an_option_is_read(void **state)
{
    struct cli_args args;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(PARSE(&args, &err, "a", "-o", "x", "--set", "p", "--set=q", "-j", "b"), VS_OK);
    assert_int_equal(args.positional_count, 2);
    assert_string_equal(args.positionals[0], "a");
    assert_string_equal(args.positionals[1], "b");
    assert_string_equal(cli_args_value(&args, "out"), "x");
    assert_string_equal(cli_args_value_at(&args, "set", 0), "p");
    assert_string_equal(cli_args_value_at(&args, "set", 1), "q");
    assert_null(cli_args_value_at(&args, "set", 2));
    assert_true(cli_args_has(&args, "json"));
    cli_args_release(&args);
    assert_int_equal(PARSE(&args, &err, "-oy", "--", "-o"), VS_OK);
    assert_string_equal(cli_args_value(&args, "out"), "y");
    assert_string_equal(args.positionals[0], "-o");
    assert_false(cli_args_has(&args, "json"));
    cli_args_release(&args);
    assert_int_equal(PARSE(&args, &err, "-jo", "y", "a"), VS_OK);
    assert_string_equal(cli_args_value(&args, "out"), "y");
    assert_true(cli_args_has(&args, "json"));
    cli_args_release(&args);
    assert_int_equal(PARSE(&args, &err, "--out=", "-"), VS_OK);
    assert_string_equal(cli_args_value(&args, "out"), "");
    assert_string_equal(args.positionals[0], "-");
    cli_args_release(&args);
}

static void every_toggle_is_an_option(void **state)
{
    struct cli_args args;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(PARSE(&args, &err, "a", "--batch", "32", "--checkpoint=segments=4"), VS_OK);
    assert_string_equal(vs_toggles_get(&args.toggles, VS_TOGGLE_BATCH), "32");
    assert_string_equal(vs_toggles_get(&args.toggles, VS_TOGGLE_CHECKPOINT), "segments=4");
    assert_false(vs_toggles_is_set(&args.toggles, VS_TOGGLE_AMP));
    cli_args_release(&args);
}

static void help_is_shown_even_if_arguments_are_missing(void **state)
{
    struct cli_args args;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(PARSE(&args, &err, "--help"), VS_OK);
    assert_true(args.wants_help);
    cli_args_release(&args);
}

#define ASSERT_REFUSED(want_status, message, ...)                                                  \
    do {                                                                                           \
        struct cli_args args;                                                                      \
        struct vs_error err = VS_ERROR_INIT;                                                       \
        assert_int_equal(PARSE(&args, &err, __VA_ARGS__), want_status);                            \
        assert_string_equal(err.text, message);                                                    \
        cli_args_release(&args);                                                                   \
    } while (0)

static void wrong_arguments_are_refused_with_the_legal_ones(void **state)
{
    (void)state;
    ASSERT_REFUSED(VS_E_USAGE, "cmd: there is no option --chekpoint; did you mean --checkpoint?",
                   "a", "--chekpoint", "blocks");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: there is no option --jsn; did you mean --json?", "a", "--jsn");
    ASSERT_REFUSED(VS_E_USAGE,
                   "cmd: there is no option --quite-other; `vramscope cmd --help` lists them", "a",
                   "--quite-other");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: there is no option -x; `vramscope cmd --help` lists them", "a",
                   "-x");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: -o needs a value: FILE", "a", "-o");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: --out needs a value", "a", "--out");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: --batch needs a value", "a", "--batch");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: --json takes no value", "a", "--json=1");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: there is no option -j1; `vramscope cmd --help` lists them",
                   "a", "-j1");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: --out is given twice", "a", "-o", "x", "--out", "y");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: --amp is given twice", "a", "--amp", "off", "--amp", "off");
    ASSERT_REFUSED(VS_E_USAGE, "cmd: an argument is missing; usage: vramscope cmd FILE [FILE]",
                   "-j");
    ASSERT_REFUSED(VS_E_USAGE,
                   "cmd: `c` is one argument too many; usage: vramscope cmd FILE [FILE]", "a", "b",
                   "c");
    ASSERT_REFUSED(VS_E_VALUE,
                   "toggle `amp` cannot be `fp8`; legal: off, fp16, bf16, O0, O1, O2 or O3", "a",
                   "--amp", "fp8");
}

static void help_has_every_option_and_every_toggle(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    cli_args_help(&CMD, &text);
    assert_non_null(strstr(vs_text_get(&text), "usage: vramscope cmd FILE [FILE]\n"));
    assert_non_null(strstr(vs_text_get(&text), "  -o, --out FILE            where to\n"));
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        struct vs_text want = {NULL, 0, 0};

        vs_text_addf(&want, "      --%s VALUE", vs_toggle_info((enum vs_toggle)i)->name);
        assert_non_null(strstr(vs_text_get(&text), vs_text_get(&want)));
        vs_text_release(&want);
    }
    for (const char *line = vs_text_get(&text); line; line = strchr(line, '\n')) {
        line += *line == '\n';
        assert_true(strcspn(line, "\n") <= 100);
    }
    vs_text_release(&text);
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;

    for (const char *line = text; line; line = strchr(line, '\n')) {
        size_t len;

        line += *line == '\n';
        len = strcspn(line, "\n");
        longest = len > longest ? len : longest;
    }
    return longest;
}

static void no_line_of_a_command_s_help_is_longer_than_100_columns(void **state)
{
    (void)state;
    for (size_t i = 0; cli_cmd_at(i); i++) {
        struct vs_text text = {NULL, 0, 0};

        cli_args_help(cli_cmd_at(i), &text);
        if (longest_line(vs_text_get(&text)) > 100)
            fail_msg("%s --help has a line of %zu columns", cli_cmd_at(i)->name,
                     longest_line(vs_text_get(&text)));
        vs_text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_option_is_read),
        cmocka_unit_test(every_toggle_is_an_option),
        cmocka_unit_test(help_is_shown_even_if_arguments_are_missing),
        cmocka_unit_test(wrong_arguments_are_refused_with_the_legal_ones),
        cmocka_unit_test(help_has_every_option_and_every_toggle),
        cmocka_unit_test(no_line_of_a_command_s_help_is_longer_than_100_columns),
    };

    return cmocka_run_group_tests_name("cli/args", tests, NULL, NULL);
}
