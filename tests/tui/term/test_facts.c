/*
 * tests/tui/term/test_facts.c - the capabilities of a terminal, found by its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "tui/term/facts.h"

static struct tui_term_facts of(const char *name)
{
    struct tui_term_facts facts;

    if (name)
        setenv("TERM", name, 1);
    else
        unsetenv("TERM");
    tui_term_facts(&facts);
    return facts;
}

static void the_capabilities_of_a_terminal_follow_from_its_name(void **state)
{
    struct tui_term_facts facts = of("xterm");

    (void)state;
    assert_string_equal(facts.name, "xterm");
    assert_true(facts.is_known && facts.places);
    assert_int_equal(facts.colours, 8);
    facts = of("dumb");
    assert_true(facts.is_known);
    assert_false(facts.places);
    assert_int_equal(facts.colours, 0);
}

static void an_unknown_terminal_differs_from_a_missing_one(void **state)
{
    struct tui_term_facts facts = of("no-such-terminal");

    (void)state;
    assert_string_equal(facts.name, "no-such-terminal");
    assert_false(facts.is_known || facts.places);
    facts = of(NULL);
    assert_string_equal(facts.name, "");
    assert_false(facts.is_known || facts.places);
}

static void the_locale_decides_whether_utf8_is_written(void **state)
{
    (void)state;
    setenv("LC_ALL", "C.UTF-8", 1);
    assert_true(of("xterm").is_utf8);
    setenv("LC_ALL", "C", 1);
    assert_false(of("xterm").is_utf8);
    unsetenv("LC_ALL");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_capabilities_of_a_terminal_follow_from_its_name),
        cmocka_unit_test(an_unknown_terminal_differs_from_a_missing_one),
        cmocka_unit_test(the_locale_decides_whether_utf8_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
