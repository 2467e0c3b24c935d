/*
 * tests/lang/interp/test_interp.c - programs print what CPython prints, release values where CPython releases them,
 * and fail with a message that says where and why.
 *
 * cases.txt is made by tests/oracle/lang_cases.py under python3.12. failures.txt was written by this interpreter and
 * read by a person.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/device/kernels.h"
#include "tests/lang/programs.h"

static void programs_print_what_cpython_prints(void **state)
{
    int count;

    (void)state;
    assert_int_equal(
        lang_programs_check("tests/golden/lang/cases.txt", "--- prints\n", NULL, &count), 0);
    assert_true(count > 150);
}

static void failures_say_where_and_why(void **state)
{
    int count;

    (void)state;
    assert_int_equal(
        lang_programs_check("tests/golden/lang/failures.txt", "--- says\n", NULL, &count), 0);
    assert_true(count > 180);
}

static void tensors_follow_the_op_table(void **state)
{
    int count;

    (void)state;
    assert_int_equal(lang_programs_check("tests/golden/lang/tensors.txt", "--- prints\n",
                                         eng_kernels_cpu(), &count),
                     0);
    assert_true(count > 20);
}

/* warnings.txt is made by tests/oracle/lang_warnings.py: what PyTorch warns of, and at which line. */
static void warnings_equal_those_of_pytorch(void **state)
{
    int count;

    (void)state;
    assert_int_equal(lang_programs_check("tests/golden/lang/warnings.txt", "--- says\n",
                                         eng_kernels_cpu(), &count),
                     0);
    assert_true(count > 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_print_what_cpython_prints),
        cmocka_unit_test(failures_say_where_and_why),
        cmocka_unit_test(warnings_equal_those_of_pytorch),
        cmocka_unit_test(tensors_follow_the_op_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
