/*
 * tests/test_filter.c - CMOCKA_TEST_FILTER runs only the tests whose names match: this program runs itself with one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void one_that_the_filter_names(void **state)
{
    (void)state;
    printf("named\n");
}

static void another_one(void **state)
{
    (void)state;
    printf("another\n");
}

/* What this program prints with the filter. */
static void with_filter(const char *filter, char *out, size_t size)
{
    char self[4096], command[4200];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    FILE *pipe;

    assert_true(len > 0);
    self[len] = '\0';
    snprintf(command, sizeof(command), "CMOCKA_TEST_FILTER='%s' FILTERED=1 '%s' 2>&1", filter,
             self);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

static void only_tests_that_match_run(void **state)
{
    char out[4096];

    (void)state;
    if (getenv("FILTERED"))
        return;
    with_filter("*_filter_*", out, sizeof(out));
    assert_non_null(strstr(out, "named\n"));
    assert_null(strstr(out, "another\n"));
    with_filter("", out, sizeof(out));
    assert_non_null(strstr(out, "another\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_the_filter_names),
        cmocka_unit_test(another_one),
        cmocka_unit_test(only_tests_that_match_run),
    };

    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
