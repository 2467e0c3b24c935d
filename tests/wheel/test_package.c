/*
 * tests/wheel/test_package.c - the Python package of the wheel, and its plug-in for pytest: package_check.py.
 *
 * pandas and pytest are tried where python3 has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void the_package_says_what_the_commands_say(void **state)
{
    char command[2048];

    (void)state;
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 from 3.8 on");
    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    setenv("VRAMSCOPE", "build/vramscope", 0);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("TMPDIR", program_folder(), 1);
    snprintf(command, sizeof(command),
             "timeout 300 python3 tests/wheel/package_check.py '%s' >'%s' 2>&1", program_folder(),
             program_path("said"));
    if (system(command) != 0) {
        snprintf(command, sizeof(command), "cat '%s' >&2", program_path("said"));
        (void)!system(command);
        fail_msg("tests/wheel/package_check.py failed");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_package_says_what_the_commands_say),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
