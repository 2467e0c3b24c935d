/*
 * tests/base/test_log.c - the log domains and levels that VRAMSCOPE_DEBUG enables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static char path[64];

static int make_file(void **state)
{
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/vramscope-log-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    vs_log_close();
    return unlink(path);
}

static void only_enabled_domains_and_levels_are_logged(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char text[512] = "";
    FILE *file;

    (void)state;
    assert_int_equal(vs_log_open("store,replay:2", path, &err), VS_OK);
    VS_LOG(VS_LOG_STORE, 1, "seen %d", 1);
    VS_LOG(VS_LOG_STORE, 2, "hidden");
    VS_LOG(VS_LOG_REPLAY, 2, "seen too");
    VS_LOG(VS_LOG_TUI, 1, "hidden");
    vs_log_close();
    VS_LOG(VS_LOG_STORE, 1, "hidden");
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, " store  seen 1\n"));
    assert_non_null(strstr(text, " replay seen too\n"));
    assert_null(strstr(text, "hidden"));
}

static void an_unknown_domain_is_refused(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(vs_log_open("store,net", path, &err), VS_E_VALUE);
    assert_non_null(strstr(err.text, "`net` is no domain"));
    assert_false(vs_log_is_on(VS_LOG_STORE, 1));
    assert_int_equal(vs_log_open("store:x", path, &err), VS_E_VALUE);
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(vs_log_open("all:3", "/nowhere/at/all", &err), VS_E_IO);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

static void without_a_log_file_logging_is_off(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(vs_log_open("all", NULL, &err), VS_OK);
    assert_false(vs_log_is_on(VS_LOG_CLI, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_enabled_domains_and_levels_are_logged, make_file,
                                        remove_file),
        cmocka_unit_test_setup_teardown(an_unknown_domain_is_refused, make_file, remove_file),
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error),
        cmocka_unit_test(without_a_log_file_logging_is_off),
    };

    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
