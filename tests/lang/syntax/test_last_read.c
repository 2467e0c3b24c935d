/*
 * tests/lang/syntax/test_last_read.c - after which statement a variable is not read again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "lang/syntax/last_read.h"
#include "lang/syntax/parser.h"

static const char TEXT[] = "class Net:\n"                      /* 1 */
                           "    def forward(self, x):\n"       /* 2 */
                           "        a = f(x)\n"                /* 3 */
                           "        b = g(a)\n"                /* 4 */
                           "        for i in range(3):\n"      /* 5 */
                           "            c = h(b)\n"            /* 6 */
                           "            d = h(c)\n"            /* 7 */
                           "            if i:\n"               /* 8 */
                           "                e = k(d)\n"        /* 9 */
                           "        a = [a,\n"                 /* 10 */
                           "             2]\n"                 /* 11 */
                           "        m = p(a,\n"                /* 12 */
                           "              m)\n"                /* 13 */
                           "        n = 1; o = n\n"            /* 14 */
                           "        q = 2\n"                   /* 15 */
                           "        def inner():\n"            /* 16 */
                           "            return q\n"            /* 17 */
                           "        z = 3\n"                   /* 18 */
                           "        u = [v for v in z if z]\n" /* 19 */
                           "        return m + o\n";           /* 20 */

static bool find(const char *function, const char *name, uint32_t bound, bool outermost,
                 struct lang_last_read *out)
{
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module = NULL;
    struct vs_error err = VS_ERROR_INIT;
    bool found;

    if (lang_parse("net.py", TEXT, strlen(TEXT), arena, &module, &err))
        fail_msg("%s", err.text);
    found = lang_last_read(module, function, name, bound, outermost, out);
    vs_arena_free(arena);
    return found;
}

static void check(const char *name, uint32_t bound, bool outermost, uint32_t last, uint32_t col)
{
    struct lang_last_read got = {0, 0, 0};

    if (!find("Net.forward", name, bound, outermost, &got))
        fail_msg("nothing is found for `%s` of line %u", name, (unsigned)bound);
    if (got.last_line != last || got.col != col)
        fail_msg("`%s` of line %u: line %u, column %u", name, (unsigned)bound,
                 (unsigned)got.last_line, (unsigned)got.col);
}

static void refused(const char *function, const char *name, uint32_t bound)
{
    struct lang_last_read got;

    assert_false(find(function, name, bound, false, &got));
}

static void the_last_read_in_the_same_block_is_found(void **state)
{
    (void)state;
    check("a", 10, false, 13, 9);
    check("z", 18, false, 19, 9);
}

static void an_argument_is_bound_at_the_start_of_the_function(void **state)
{
    (void)state;
    check("x", 40, false, 3, 9);
}

static void a_read_inside_a_loop_extends_to_the_end_of_the_loop(void **state)
{
    (void)state;
    check("b", 4, false, 9, 9);
    check("c", 6, false, 7, 13);
}

static void a_variable_is_released_inside_a_branch_only_on_request(void **state)
{
    (void)state;
    check("d", 7, false, 9, 17);
    check("d", 7, true, 9, 13);
}

static void a_variable_never_read_ends_at_its_binding(void **state)
{
    (void)state;
    check("e", 9, false, 9, 17);
    check("u", 19, false, 19, 9);
}

static void a_variable_that_cannot_be_released_there_is_refused(void **state)
{
    (void)state;
    refused("Net.forward", "a", 3);  /* the last read binds it again */
    refused("Net.forward", "m", 12); /* in the return */
    refused("Net.forward", "o", 14); /* likewise */
    refused("Net.forward", "q", 15); /* a nested function reads it */
    refused("Net.forward", "n", 13); /* no statement of that line binds it */
    refused("Net.forward", "nobody", 3);
    refused("Net.backward", "a", 3);
}

static void the_column_distinguishes_statements_on_one_line(void **state)
{
    struct lang_last_read got = {0, 0, 0};

    (void)state;
    /* `o = n` does not begin its line: its column shows it */
    assert_true(find("Net.forward", "n", 14, false, &got));
    assert_int_equal(got.first_line, 14);
    assert_true(got.col > 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_read_in_the_same_block_is_found),
        cmocka_unit_test(an_argument_is_bound_at_the_start_of_the_function),
        cmocka_unit_test(a_read_inside_a_loop_extends_to_the_end_of_the_loop),
        cmocka_unit_test(a_variable_is_released_inside_a_branch_only_on_request),
        cmocka_unit_test(a_variable_never_read_ends_at_its_binding),
        cmocka_unit_test(a_variable_that_cannot_be_released_there_is_refused),
        cmocka_unit_test(the_column_distinguishes_statements_on_one_line),
    };

    return cmocka_run_group_tests_name("lang/syntax/last_read", tests, NULL, NULL);
}
