/*
 * tests/programs/test_ranks.c - programs of several ranks: one rank that runs alone has the memory that it has among
 * the others, event for event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/corpus.h"

/* Each of two ranks has alone the peaks and the events that it has with the other one. */
static void alone_check(const char *command)
{
    struct program p = corpus_record(command, 2, CORPUS_GPU);

    for (int rank = 0; rank < 2; rank++) {
        const char *trace = program_path(rank ? "trace.rank1.db" : "trace.db");
        struct program alone = corpus_record_alone(command, 2, rank, CORPUS_GPU);

        corpus_peaks_check(&p, trace, rank);
        corpus_peaks_check(&alone, program_path("alone.db"), rank);
        corpus_events_compare(command, trace, program_path("alone.db"));
        program_release(&alone);
    }
    program_release(&p);
}

static void a_rank_alone_has_the_events_that_it_has_among_others(void **state)
{
    alone_check(*state);
}

static void one_of_1024_ranks_runs_alone(void **state)
{
    struct program p = corpus_record_alone(*state, 1024, 777, CORPUS_GPU);

    corpus_peaks_check(&p, program_path("alone.db"), 777);
    program_release(&p);
}

/* What the ranks say to each other comes as it was said; a rank alone hears what it has itself. */
static void objects_come_as_they_were_sent(void **state)
{
    struct program p;

    (void)state;
    setenv("OBJECTS_FOLDER", program_folder(), 1);
    p = corpus_record("objects", 3, CORPUS_GPU);
    for (int rank = 0; rank < 3; rank++)
        corpus_peaks_check(&p,
                           program_path(rank == 0   ? "trace.db"
                                        : rank == 1 ? "trace.rank1.db"
                                                    : "trace.rank2.db"),
                           rank);
    program_release(&p);
    unsetenv("OBJECTS_FOLDER");
    setenv("ALONE", "1", 1);
    for (int rank = 0; rank < 2; rank++) {
        p = corpus_record_alone("objects", 2, rank, CORPUS_GPU);
        corpus_peaks_check(&p, program_path("alone.db"), rank);
        program_release(&p);
    }
    unsetenv("ALONE");
}

static void a_rank_that_has_ended_is_named_and_the_traces_are_valid(void **state)
{
    struct program p = program_run("record", "--gpu", CORPUS_GPU, "--gpus", "2", "-f", "-o",
                                   program_path("trace.db"), "--", corpus_python(NULL),
                                   "tests/programs/missing_rank.py", NULL);

    (void)state;
    if (p.status != 3 || !strstr(p.out, "the launch timed out") ||
        !strstr(p.err, "rank 0 of 2 waited for rank 1, whose process has ended: ncclAllReduce"))
        fail_msg("status %d: %s%s", p.status, p.out, p.err);
    free(corpus_report(program_path("trace.db")));
    free(corpus_report(program_path("trace.rank1.db")));
    program_release(&p);
}

#define ALONE(command)                                                                             \
    {                                                                                              \
        "alone: " command, a_rank_alone_has_the_events_that_it_has_among_others, NULL, NULL,       \
            (void *)(uintptr_t)command                                                             \
    }
#define ONE_OF_1024(command)                                                                       \
    {                                                                                              \
        "1024: " command, one_of_1024_ranks_runs_alone, NULL, NULL, (void *)(uintptr_t)command     \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE("ranks ddp"),
        ALONE("ranks zero"),
        ALONE("ranks mesh"),
        ALONE("fsdp1"),
        ALONE("fsdp2"),
        ALONE("tensor_parallel"),
        cmocka_unit_test(objects_come_as_they_were_sent),
        cmocka_unit_test(a_rank_that_has_ended_is_named_and_the_traces_are_valid),
        ONE_OF_1024("ranks zero"),
        ONE_OF_1024("ranks mesh"),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
