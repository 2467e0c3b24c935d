/*
 * tests/ranks/test_ranks.c - whether mpirun has started this process, and plug-ins that cannot be used. What a plug-in
 * does is in tests/e2e/test_record_ranks.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/ranks.h"

static bool started(const char *size, const char *rank, int *out_rank, int *out_count)
{
    if (size)
        setenv("OMPI_COMM_WORLD_SIZE", size, 1);
    else
        unsetenv("OMPI_COMM_WORLD_SIZE");
    if (rank)
        setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    else
        unsetenv("OMPI_COMM_WORLD_RANK");
    return vs_ranks_started(out_rank, out_count);
}

static void open_mpi_says_which_process_this_is(void **state)
{
    int rank = -1, count = -1;

    (void)state;
    assert_true(started("4", "3", &rank, &count));
    assert_int_equal(rank, 3);
    assert_int_equal(count, 4);
    assert_true(started("1", "0", &rank, &count));
    assert_int_equal(count, 1);
}

static void without_open_mpi_there_are_no_other_processes(void **state)
{
    int rank, count;

    (void)state;
    assert_false(started(NULL, NULL, &rank, &count));
    assert_false(started("4", NULL, &rank, &count));
    assert_false(started("4", "4", &rank, &count));
    assert_false(started("4", "-1", &rank, &count));
    assert_false(started("0", "0", &rank, &count));
    assert_false(started("four", "0", &rank, &count));
    assert_false(started("", "0", &rank, &count));
}

static bool goes_on(void)
{
    return true;
}

static void what_is_no_plug_in_is_refused(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_ranks ranks;

    (void)state;
    assert_int_equal(vs_ranks_open("none/vramscope_mpi.so", goes_on, &ranks, &err),
                     VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "none/vramscope_mpi.so"));
    err = (struct vs_error)VS_ERROR_INIT;
    assert_int_equal(vs_ranks_open("libm.so.6", goes_on, &ranks, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "is no plug-in of vramscope"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_mpi_says_which_process_this_is),
        cmocka_unit_test(without_open_mpi_there_are_no_other_processes),
        cmocka_unit_test(what_is_no_plug_in_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
