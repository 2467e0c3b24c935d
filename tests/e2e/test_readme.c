/*
 * tests/e2e/test_readme.c - README.md says what the program says: every command shown there is run, and its text compared.
 *
 * A block is indented by four and begins with "$ command"; what follows is what the command prints. A line "…" stands for any
 * number of lines. The milliseconds something took are not compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/e2e/program.h"

#define PAGE "README.md"
#define PROMPT "    $ "
#define INDENT 4
#define LINE_BYTES 1024

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Without blanks at its end, and "39.5 ms" as "# ms". */
static void normalise(char *line)
{
    size_t len = strlen(line);
    char *ms;

    while (len && isspace((unsigned char)line[len - 1]))
        line[--len] = '\0';
    ms = len > 3 && strcmp(line + len - 3, " ms") == 0 ? line + len - 3 : NULL;
    if (ms) {
        char *from = ms;

        while (from > line && (isdigit((unsigned char)from[-1]) || from[-1] == '.'))
            from--;
        memmove(from + 1, ms, 4);
        *from = '#';
    }
}

/* Next line of what was printed, normalised; false at the end. */
static bool printed_next(FILE *out, char *line)
{
    if (!fgets(line, LINE_BYTES, out))
        return false;
    normalise(line);
    return true;
}

/* `want` is the next line that was printed, or where `skips` one of the next. */
static void assert_printed(FILE *out, const char *command, const char *want, bool skips)
{
    char line[LINE_BYTES];

    while (printed_next(out, line)) {
        if (strcmp(line, want) == 0)
            return;
        if (!skips)
            fail_msg("%s\nREADME has: %s\nit prints:  %s", command, want, line);
    }
    fail_msg("%s\nREADME has: %s\nit prints no such line", command, want);
}

/* The block is over: so is what was printed, unless the block ends with "…" or shows the command alone. */
static void command_end(FILE *out, const char *command, bool skips)
{
    char line[LINE_BYTES];

    while (!skips && printed_next(out, line))
        if (*line)
            fail_msg("%s\nREADME has no more, but it prints: %s", command, line);
    while (fgets(line, sizeof(line), out)) {
        /* or it would end by its pipe */
    }
    pclose(out);
}

/* Run a command in the folder of the test, where sample_nets and vramscope are at hand. */
static FILE *command_start(const char *command)
{
    struct vs_text shell = {NULL, 0, 0};
    FILE *out;

    vs_text_addf(&shell, "cd '%s' && PATH=.:$PATH && %s 2>messages", program_folder(), command);
    out = popen(vs_text_get(&shell), "r");
    vs_text_release(&shell);
    assert_non_null(out);
    return out;
}

static void folder_prepare(void)
{
    const char *program = getenv("VRAMSCOPE");
    char path[PATH_MAX];

    assert_non_null(realpath(program ? program : "build/vramscope", path));
    assert_int_equal(symlink(path, program_path("vramscope")), 0);
    assert_non_null(realpath("sample_nets", path));
    assert_int_equal(symlink(path, program_path("sample_nets")), 0);
}

static void every_command_prints_what_the_page_shows(void **state)
{
    FILE *page = fopen(PAGE, "r");
    FILE *out = NULL;
    char command[LINE_BYTES] = "";
    char line[LINE_BYTES];
    bool skips = false;
    bool is_first = false; /* nothing of what the command prints has been shown yet */
    bool is_blank = false; /* the line before was one */
    int commands = 0;

    (void)state;
#ifdef VS_STRESS
    skip(); /* columns of the timeline begin and end with pieces (replay/timeline.h), which are smaller there */
#endif
    assert_non_null(page);
    folder_prepare();
    while (fgets(line, sizeof(line), page)) {
        bool is_prompt = strncmp(line, PROMPT, strlen(PROMPT)) == 0;

        normalise(line);
        if (out && (is_prompt || (*line && strncmp(line, PROMPT, INDENT) != 0))) {
            command_end(out, command, skips);
            out = NULL;
        }
        if (is_prompt) {
            snprintf(command, sizeof(command), "%s", line + strlen(PROMPT));
            out = command_start(command);
            skips = true;
            is_first = true;
            commands++;
        } else if (out && strcmp(line, "    …") == 0) {
            skips = true;
            is_first = false;
        } else if (out && *line) {
            if (is_blank && !skips)
                assert_printed(out, command, "", false);
            assert_printed(out, command, line + INDENT, skips && !is_first);
            skips = is_first = false;
        }
        is_blank = !*line;
    }
    if (out)
        command_end(out, command, skips);
    fclose(page);
    assert_true(commands >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_prints_what_the_page_shows),
    };

    return cmocka_run_group_tests_name("e2e/readme", tests, NULL, cleanup);
}
