/*
 * tests/e2e/test_readme.c - runs the commands shown in README.md and in pages of docs/guide, and compares what they
 * print.
 *
 * A block is indented by four and begins with "$ command"; what follows is what the command prints. A line "…" stands
 * for any number of lines. A duration in milliseconds is not compared. Each page has a folder of its own, so it records
 * itself what it shows.
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/wait.h"

#define PROMPT "    $ "
#define INDENT 4
#define LINE_BYTES 1024

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Removes blanks at its end, and writes "39.5 ms" as "# ms". */
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

/* The next line that was printed, normalised; false at the end. */
static bool printed_next(FILE *out, char *line)
{
    if (!fgets(line, LINE_BYTES, out))
        return false;
    normalise(line);
    return true;
}

/* `want` is the next line that was printed or, with `skips`, one of the following lines. */
static void assert_printed(FILE *out, const char *command, const char *want, bool skips)
{
    char line[LINE_BYTES];

    while (printed_next(out, line)) {
        if (strcmp(line, want) == 0)
            return;
        if (!skips)
            fail_msg("%s\nthe page has: %s\nit prints:    %s", command, want, line);
    }
    fail_msg("%s\nthe page has: %s\nit prints no such line", command, want);
}

/* The end of a block: nothing more was printed, unless the block ends with "…" or shows the command alone. */
static void command_end(FILE *out, const char *command, bool skips)
{
    char line[LINE_BYTES];

    while (!skips && printed_next(out, line))
        if (*line)
            fail_msg("%s\nthe page has no more, but it prints: %s", command, line);
    while (fgets(line, sizeof(line), out)) {
        /* read it all, or a closed pipe would end the command */
    }
    pclose(out);
    wait_end();
}

/* Starts a command in `folder`, which has sample_nets and vramscope. command_end waits for it, within a bound. */
static FILE *command_start(const char *folder, const char *command)
{
    struct vs_text shell = {NULL, 0, 0};
    FILE *out;

    vs_text_addf(&shell, "cd '%s' && PATH=.:$PATH && { %s; } 2>messages", folder, command);
    wait_begin(command);
    out = popen(vs_text_get(&shell), "r");
    vs_text_release(&shell);
    assert_non_null(out);
    return out;
}

/* Links `target` of this folder as `name` in another one. */
static void link_into(const char *folder, const char *target, const char *name)
{
    char path[PATH_MAX];
    struct vs_text link = {NULL, 0, 0};

    assert_non_null(realpath(target, path));
    vs_text_addf(&link, "%s/%s", folder, name);
    assert_int_equal(symlink(path, vs_text_get(&link)), 0);
    vs_text_release(&link);
}

/* A folder for the commands of a page; release the text. */
static struct vs_text folder_make(const char *name)
{
    const char *program = getenv("VRAMSCOPE");
    struct vs_text folder = {NULL, 0, 0};

    vs_text_addf(&folder, "%s/%s", program_folder(), name);
    assert_int_equal(mkdir(vs_text_get(&folder), 0777), 0);
    link_into(vs_text_get(&folder), program ? program : "build/vramscope", "vramscope");
    link_into(vs_text_get(&folder), "sample_nets", "sample_nets");
    return folder;
}

/* Runs every command of `page` and compares; it shows at least `fewest`. */
static void check_page(const char *page_path, const char *name, int fewest)
{
    FILE *page = fopen(page_path, "r");
    struct vs_text folder = folder_make(name);
    FILE *out = NULL;
    char command[LINE_BYTES] = "";
    char line[LINE_BYTES];
    bool skips = false;
    bool is_first = false; /* nothing of what the command prints has been compared yet */
    bool is_blank = false; /* the preceding line was blank */
    int commands = 0;

    assert_non_null(page);
    while (fgets(line, sizeof(line), page)) {
        bool is_prompt = strncmp(line, PROMPT, strlen(PROMPT)) == 0;

        normalise(line);
        if (out && (is_prompt || (*line && strncmp(line, PROMPT, INDENT) != 0))) {
            command_end(out, command, skips);
            out = NULL;
        }
        if (is_prompt) {
            snprintf(command, sizeof(command), "%s", line + strlen(PROMPT));
            out = command_start(vs_text_get(&folder), command);
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
    vs_text_release(&folder);
    if (commands < fewest)
        fail_msg("%s shows %d commands, and %d were expected at least", page_path, commands,
                 fewest);
}

/* Columns of the timeline end at chunks of the pyramid (replay/), which are smaller in a stress build. */
#ifdef VS_STRESS
#define SKIP_UNDER_STRESS()                                                                        \
    tests_skip("screens differ with STRESS=1: the pieces of a timeline are smaller")
#else
#define SKIP_UNDER_STRESS() ((void)0)
#endif

static void commands_of_the_readme_print_what_it_shows(void **state)
{
    (void)state;
    SKIP_UNDER_STRESS();
    check_page("README.md", "readme", 5);
}

static void commands_of_the_tour_print_what_it_shows(void **state)
{
    (void)state;
    SKIP_UNDER_STRESS();
    check_page("docs/guide/tour.md", "tour", 14);
}

static void commands_of_the_sample_nets_print_what_the_page_shows(void **state)
{
    (void)state;
    SKIP_UNDER_STRESS();
    check_page("docs/guide/sample-nets.md", "sample_nets_page", 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_of_the_readme_print_what_it_shows),
        cmocka_unit_test(commands_of_the_tour_print_what_it_shows),
        cmocka_unit_test(commands_of_the_sample_nets_print_what_the_page_shows),
    };

    return cmocka_run_group_tests_name("e2e/readme", tests, NULL, cleanup);
}
