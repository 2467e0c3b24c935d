/*
 * tests/e2e/test_sweep_ranks.c - `mpirun vramscope sweep`: two processes share a sweep, one of them keeps and prints
 * its results. Skipped where there is no Open MPI.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/grid/grid_ranks.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"

#define SWEEP                                                                                      \
    "$V sweep tests/nets/gpt_tiny.py --vary batch=2,4,8 --vary checkpoint=off,blocks --vary "      \
    "shard=off,fsdp --world 4 "
#define CONFIGURATIONS 12

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* The shares of all processes have each item once, and differ by one item at most. */
static void each_item_is_one_processs(void **state)
{
    (void)state;
    for (size_t count = 0; count < 20; count++)
        for (int processes = 1; processes < 6; processes++) {
            bool seen[20] = {false};
            size_t all = 0;

            for (int rank = 0; rank < processes; rank++) {
                size_t items[20], own;

                for (size_t i = 0; i < count; i++)
                    items[i] = i;
                own = cli_grid_share(items, count, rank, processes);
                assert_in_range(own, count / (size_t)processes, count / (size_t)processes + 1);
                for (size_t i = 0; i < own; i++) {
                    assert_false(seen[items[i]]);
                    seen[items[i]] = true;
                }
                all += own;
            }
            assert_int_equal(all, count);
        }
}

static const char *vramscope(void)
{
    const char *given = getenv("VRAMSCOPE");

    return given ? given : "build/vramscope";
}

static void need_mpi(void)
{
    char script[512];
    struct program p;
    int status;

    snprintf(script, sizeof(script),
             "command -v mpirun && test -r \"$(dirname '%s')\"/vramscope_mpi.so", vramscope());
    p = program_shell(script);
    status = p.status;
    program_release(&p);
    if (status)
        tests_skip("there is no Open MPI: mpirun, or vramscope_mpi.so beside the program");
}

/* Open MPI keeps memory of its own until the process has ended: leaks are not looked for. */
static struct program shell(const char *command)
{
    char script[2048];

    snprintf(script, sizeof(script),
             "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 V='%s' F='%s'\n"
             "export ASAN_OPTIONS=detect_leaks=0 M='mpirun --oversubscribe -n 2 --mca btl "
             "self,vader,tcp'\n%s",
             vramscope(), program_folder(), command);
    return program_shell(script);
}

/* What it prints on stdout, which the caller frees. */
static char *printed(const char *command)
{
    struct program p = shell(command);
    char *out = strdup(p.out);

    if (p.status)
        fail_msg("status %d:\n%s%s", p.status, p.out, p.err);
    program_release(&p);
    return out;
}

/* Rank 0 prints the same as one process, so it has the results of the other one; and its file has them, too. */
static void two_processes_find_what_one_finds(void **state)
{
    char *one, *two;

    (void)state;
    need_mpi();
    one = printed(SWEEP "--all");
    two = printed("exec $M " SWEEP "--all -o $F/two.db");
    assert_string_equal(two, one);
    free(two);
    two = printed("$V sweep $F/two.db --json");
    for (size_t i = 0; i < CONFIGURATIONS; i++) {
        char path[64];

        snprintf(path, sizeof(path), "$.configurations[%zu].allocated", i);
        assert_true(json_int(two, path) > 0);
    }
    free(one);
    free(two);
}

/* A file with a part of the results gets the others; then nothing is left to run. */
static void the_same_command_goes_on(void **state)
{
    char *part, *all, *again;

    (void)state;
    need_mpi();
    part = printed("$V sweep tests/nets/gpt_tiny.py --vary batch=2,4 --vary checkpoint=off --vary "
                   "shard=off,fsdp "
                   "--world 4 -o $F/on.db >$F/part.txt; tail -1 $F/part.txt");
    all = printed("exec $M " SWEEP "--all -o $F/on.db");
    again = printed("exec $M " SWEEP "--all -o $F/on.db");
    assert_string_equal(again, all);
    free(part);
    free(all);
    free(again);
}

/* A mistake is said, with the rank, and ends all processes. */
static void a_file_of_another_net_ends_all(void **state)
{
    struct program p;

    (void)state;
    need_mpi();
    p = shell("$V sweep tests/nets/mlp.py --vary batch=2 -o $F/other.db >/dev/null; exec $M " SWEEP
              "-o $F/other.db");
    assert_int_not_equal(p.status, 0);
    if (!strstr(p.err, "rank 0: ") || !strstr(p.err, "other.db"))
        fail_msg("%s%s", p.out, p.err);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_one_processs),
        cmocka_unit_test(two_processes_find_what_one_finds),
        cmocka_unit_test(the_same_command_goes_on),
        cmocka_unit_test(a_file_of_another_net_ends_all),
    };

    return cmocka_run_group_tests_name("sweep ranks", tests, NULL, cleanup);
}
