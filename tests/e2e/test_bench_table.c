/*
 * tests/e2e/test_bench_table.c - tools/bench-table.sh puts measured rows into a page, and leaves everything else alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/e2e/program.h"

/* Blanks and lines are odd where the tool must not touch them. */
static const char PAGE[] = "# A page  \n"
                           "Machine: old\n"
                           "A line with | bars | `bench_a` |\n"
                           "\n"
                           "| what | bound | now | peer | command |\n"
                           "|---|---|---|---|---|\n"
                           "| one,  `x` 100 % | 2 ms | 1 ms | 5 ms | `bench_a` |\n"
                           "| two |  | 2 ms |  3 ms | `bench_b all` |\n"
                           "| one,  `x` 100 % | 2 ms | 7 ms | 8 ms | by hand: `bench_a` |\n"
                           "|three|4 ms|2 ms|3 ms|`bench_a`|\n"
                           "\n"
                           "| what | now | first | second | command |\n"
                           "|---|---|---|---|---|\n"
                           "| two | 1 | 2 | 3 | `bench_a` |\n"
                           "| four | 1 | 2 | 3 | `bench_a` |\n";

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static char *page_read(void)
{
    static char text[8192];
    FILE *file = fopen(program_path("page.md"), "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return text;
}

static struct program table_put(const char *rows)
{
    struct vs_text script = {NULL, 0, 0};
    struct program p;

    program_file("page.md", PAGE);
    program_file("rows", rows);
    vs_text_addf(&script, "sh tools/bench-table.sh '%s' '%s'", program_path("page.md"),
                 program_path("rows"));
    p = program_shell(vs_text_get(&script));
    vs_text_release(&script);
    return p;
}

static void measured_rows_are_replaced_and_nothing_else(void **state)
{
    struct program p = table_put("bench_a\tone,  `x` 100 %\t0.9 ms & more \\1\t6 ms\n"
                                 "bench_b\ttwo\t1,000 ms\t\n"
                                 "bench_a\ttwo\t10\t\t30\n"
                                 "machine\tnew, 2 cores\n");

    (void)state;
    assert_int_equal(p.status, 0);
    assert_string_equal(page_read(),
                        "# A page  \n"
                        "Machine: new, 2 cores\n"
                        "A line with | bars | `bench_a` |\n"
                        "\n"
                        "| what | bound | now | peer | command |\n"
                        "|---|---|---|---|---|\n"
                        "| one,  `x` 100 % | 2 ms | 0.9 ms & more \\1 | 6 ms | `bench_a` |\n"
                        "| two |  | 1,000 ms |  3 ms | `bench_b all` |\n"
                        "| one,  `x` 100 % | 2 ms | 7 ms | 8 ms | by hand: `bench_a` |\n"
                        "|three|4 ms|2 ms|3 ms|`bench_a`|\n"
                        "\n"
                        "| what | now | first | second | command |\n"
                        "|---|---|---|---|---|\n"
                        "| two | 10 | 2 | 30 | `bench_a` |\n"
                        "| four | 1 | 2 | 3 | `bench_a` |\n");
    program_release(&p);
}

static void a_row_that_the_page_does_not_have_is_refused(void **state)
{
    static const char *const ROWS[][2] = {
        {"bench_a\tfour\t2\nbench_a\tfive\t2\n", "no row for bench_a: five"},
        {"bench_b\tfour\t2\n", "no row for bench_b: four"},
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct program p = table_put(ROWS[i][0]);

        assert_int_equal(p.status, 1);
        assert_non_null(strstr(p.err, ROWS[i][1]));
        assert_string_equal(page_read(), PAGE);
        program_release(&p);
    }
}

static void no_rows_leave_the_page_as_it_is(void **state)
{
    struct program p = table_put("");

    (void)state;
    assert_int_equal(p.status, 0);
    assert_string_equal(page_read(), PAGE);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_rows_are_replaced_and_nothing_else),
        cmocka_unit_test(a_row_that_the_page_does_not_have_is_refused),
        cmocka_unit_test(no_rows_leave_the_page_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
