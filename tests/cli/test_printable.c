/* tests/cli/test_printable.c - what a terminal would take for commands is not printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/printable.h"

static void check(const char *text, const char *expected)
{
    struct vs_text out = {NULL, 0, 0};

    cli_printable(text, strlen(text), &out);
    assert_string_equal(vs_text_get(&out), expected);
    vs_text_release(&out);
}

static void what_is_printable_stays(void **state)
{
    (void)state;
    check("", "");
    check("peak\t48.5 MiB\n", "peak\t48.5 MiB\n");
    check("─ Größe 中 \xF0\x9F\x98\x80 \xC2\xA0", "─ Größe 中 \xF0\x9F\x98\x80 \xC2\xA0");
}

static void control_characters_are_question_marks(void **state)
{
    (void)state;
    check("a\x1B[2Jb", "a?[2Jb");
    check("\x1B]0;title\x07", "?]0;title?");
    check("a\rb\x7F", "a?b?");
    check("a\xC2\x9B"
          "2Jb",
          "a??2Jb");
    check("a\x9B"
          "2Jb",
          "a?2Jb");
    check("\xC2\x80\xC2\x9F", "????");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printable_stays),
        cmocka_unit_test(control_characters_are_question_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
