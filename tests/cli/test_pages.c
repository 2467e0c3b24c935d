/*
 * tests/cli/test_pages.c - compares the man page, the page of commands and the completions with the tables, and tries
 * them.
 *
 * Under VRAMSCOPE_GOLDEN=write (`make golden`) the files are written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmds.h"
#include "tests/cli/pages.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/wait.h"

#define MAN "docs/vramscope.1"
#define BASH "completions/vramscope.bash"

static const struct page {
    const char *path;
    void (*make)(struct vs_text *out);
} PAGES[] = {
    {MAN, page_man},
    {"docs/guide/commands.md", page_commands},
    {BASH, page_bash},
    {"completions/_vramscope", page_zsh},
    {"completions/vramscope.fish", page_fish},
};
#define PAGE_COUNT (sizeof(PAGES) / sizeof(PAGES[0]))

static void read_all(FILE *file, struct vs_text *out)
{
    char part[4096];
    size_t n;

    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(out, part, n);
}

static void generated_files_are_up_to_date_with_their_tables(void **state)
{
    const char *wish = getenv("VRAMSCOPE_GOLDEN");
    bool is_writing = wish && strcmp(wish, "write") == 0;

    (void)state;
    for (size_t i = 0; i < PAGE_COUNT; i++) {
        struct vs_text want = {NULL, 0, 0};
        struct vs_text have = {NULL, 0, 0};
        FILE *file = fopen(PAGES[i].path, is_writing ? "w" : "r");

        if (!file)
            fail_msg("there is no %s; `make golden` writes it", PAGES[i].path);
        PAGES[i].make(&want);
        if (is_writing)
            fputs(vs_text_get(&want), file);
        else
            read_all(file, &have);
        fclose(file);
        if (!is_writing && strcmp(vs_text_get(&want), vs_text_get(&have)) != 0)
            fail_msg("%s is not what the tables make; `make golden` writes it", PAGES[i].path);
        vs_text_release(&want);
        vs_text_release(&have);
    }
}

/* What a command printed; it ended well. */
static char *said(const char *command)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *pipe;
    int status;

    wait_begin(command);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    read_all(pipe, &text);
    status = pclose(pipe);
    wait_end();
    if (status != 0)
        fail_msg("%s failed: %s", command, vs_text_get(&text));
    return vs_text_take(&text);
}

/* Does `text` contain `word`, not as part of a longer word? */
static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += len)
        if (!isalnum((unsigned char)at[len]) && at[len] != '-')
            return true;
    return false;
}

/* Every option that --help of the built program shows is in the formatted man page. */
static void the_man_page_has_every_command_and_option_of_the_help(void **state)
{
    char *page;
    size_t seen = 0;

    (void)state;
    if (system("command -v groff >/dev/null") != 0)
        tests_skip("there is no groff");
    page = said("groff -man -Tascii -P-cbou " MAN " 2>/dev/null");
    for (size_t i = 0; cli_cmd_at(i); i++) {
        struct program p = program_run(cli_cmd_at(i)->name, "--help", NULL);
        char word[64];

        snprintf(word, sizeof(word), "vramscope %s", cli_cmd_at(i)->name);
        if (!has_word(page, word))
            fail_msg("the page has no %s", word);
        for (const char *at = p.out; (at = strstr(at, "--")) != NULL; at += 2) {
            size_t len = strcspn(at, " =,\n]`:'");

            snprintf(word, sizeof(word), "%.*s", (int)len, at);
            if (len > 2 && !has_word(page, word))
                fail_msg("%s: the page has no %s", cli_cmd_at(i)->name, word);
            seen += len > 2;
        }
        program_release(&p);
    }
    assert_true(seen > VS_TOGGLE_COUNT);
    vs_free(page);
}

static void groff_accepts_the_man_page_without_warnings(void **state)
{
    char *warnings;

    (void)state;
    if (system("command -v groff >/dev/null") != 0)
        tests_skip("there is no groff");
    warnings = said("groff -man -Tutf8 -K utf8 -ww -z " MAN " 2>&1");
    assert_string_equal(warnings, "");
    vs_free(warnings);
}

/* `line` is what was typed, its words parted as bash parts them; the answers, each with a blank behind. */
static void check_bash(const char *line, const char *wanted)
{
    char command[1024];
    char *answer;

    snprintf(command, sizeof(command),
             "bash -c '. " BASH "; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
             "_vramscope; printf \"%%s \" \"${COMPREPLY[@]}\"'",
             line);
    answer = said(command);
    if (strcmp(answer, wanted) != 0)
        fail_msg("%s: bash offers %s, not %s", line, answer, wanted);
    vs_free(answer);
}

static void bash_completes_commands_options_and_values(void **state)
{
    (void)state;
    if (system("command -v bash >/dev/null") != 0)
        tests_skip("there is no bash");
    check_bash("vramscope re", "record report ");
    check_bash("vramscope record --che", "--checkpoint --checkpoint-impl ");
    check_bash("vramscope record net.py --amp \"\"", "off fp16 bf16 O0 O1 O2 O3 ");
    check_bash("vramscope record net.py --amp = b", "bf16 ");
    check_bash("vramscope record net.py --device m", "meta ");
    check_bash("vramscope whatif t.db --set in", "inplace= ");
    check_bash("vramscope whatif t.db --set inplace =", "off on ");
    check_bash("vramscope whatif t.db --set optimizer = ada", "adam adamw ");
    check_bash("vramscope whatif --amp", " ");
    check_bash("vramscope diff a.db b.db --by mod", "module ");
}

/* The other shells read their file without complaint, where they are here. */
static void zsh_and_fish_accept_their_completion_files(void **state)
{
    (void)state;
    if (system("command -v zsh >/dev/null") == 0)
        vs_free(said("zsh -n completions/_vramscope 2>&1"));
    if (system("command -v fish >/dev/null") == 0)
        vs_free(said("fish -n completions/vramscope.fish 2>&1"));
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_files_are_up_to_date_with_their_tables),
        cmocka_unit_test(the_man_page_has_every_command_and_option_of_the_help),
        cmocka_unit_test(groff_accepts_the_man_page_without_warnings),
        cmocka_unit_test(bash_completes_commands_options_and_values),
        cmocka_unit_test(zsh_and_fish_accept_their_completion_files),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
