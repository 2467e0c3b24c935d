/*
 * tests/filter.c - CMOCKA_TEST_FILTER=PATTERN: of a test program only the tests whose names match; `*` and `?` as in a
 * shell.
 *
 * For:            every test program: it is linked into each, and nothing calls it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void filter_set(void)
{
    const char *pattern = getenv("CMOCKA_TEST_FILTER");

    if (pattern && *pattern)
        cmocka_set_test_filter(pattern);
}
