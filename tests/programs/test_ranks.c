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

static const char *trace_of(int rank)
{
    char name[64];

    if (!rank)
        return program_path("trace.db");
    snprintf(name, sizeof(name), "trace.rank%d.db", rank);
    return program_path(name);
}

/*
 * The command follows the number of ranks: "4 fsdp1". The first and the last have alone the events that they have among
 * the others.
 */
static void a_rank_alone_has_the_events_that_it_has_among_others(void **state)
{
    const char *command = (const char *)*state + 2;
    const int world = *(const char *)*state - '0';
    struct program p = corpus_record(command, world, CORPUS_GPU);

    for (int rank = 0; rank < world; rank += world - 1) {
        struct program alone = corpus_record_alone(command, world, rank, CORPUS_GPU);

        corpus_peaks_check(&p, trace_of(rank), rank);
        corpus_peaks_check(&alone, program_path("alone.db"), rank);
        corpus_events_compare(command, trace_of(rank), program_path("alone.db"));
        program_release(&alone);
    }
    program_release(&p);
}

static void one_of_1024_ranks_runs_alone(void **state)
{
    struct program p = corpus_record_alone(*state, 1024, 777, CORPUS_GPU);

    corpus_peaks_check(&p, program_path("alone.db"), 777);
    program_release(&p);
}

/* Rank 0 keeps a copy of the weights, and broadcasts; the others have the same events as each other. */
static void the_summary_names_the_rank_that_peaks_and_the_line(void **state)
{
    struct program p = program_run("record", "--gpu", CORPUS_GPU, "--gpus", "3", "-f", "-o",
                                   program_path("trace.db"), "--", corpus_python(NULL),
                                   "tests/programs/spawn.py", "3", NULL);
    struct program json;

    (void)state;
    if (p.status != 0 ||
        !strstr(p.err, "vramscope: 3 ranks: peak allocated 14.2 MiB (14,838,784 bytes) in rank 0, "
                       "13.1 MiB in rank 1") ||
        !strstr(p.err,
                "rank 1 differs from rank 0 after 17 events of the allocator that are alike\n") ||
        !strstr(p.err,
                "  rank 0: segment_alloc of 2,097,152 bytes, spawn.py:train line 18 (event ") ||
        !strstr(p.err, "  ncclBroadcast: 8 of 1.0 MiB, and 8 of 8 B\n") ||
        !strstr(p.err, "-1.0 MiB  parameter   line 18 | spawn.py:train\n"))
        fail_msg("status %d: %s%s", p.status, p.out, p.err);
    for (int rank = 0; rank < 3; rank++)
        corpus_peaks_check(&p, trace_of(rank), rank);
    json = program_run("report", "--ranks", "--json", trace_of(2), NULL);
    assert_int_equal(json_int(json.out, "$.ranks[2].rank"), 2);
    assert_int_equal(json_int(json.out, "$.differences[0].rank_a"), 0);
    assert_int_equal(json_int(json.out, "$.differences[0].rank_b"), 1);
    assert_int_equal(json_int(json.out, "$.differences[0].allocated_delta"), -1050624);
    assert_null(strstr(json.out, "\"rank_b\": 2")); /* it is as rank 1 */
    program_release(&json);
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
        corpus_peaks_check(&p, trace_of(rank), rank);
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

/* Rank 1 never comes to a barrier of Gloo's, which would wait for half an hour. */
static void who_waits_for_long_in_which_collective_is_named(void **state)
{
    struct program p;

    (void)state;
    setenv("VRAMSCOPE_RANK_WAIT", "0.5", 1);
    p = corpus_record("late_rank", 2, CORPUS_GPU);
    unsetenv("VRAMSCOPE_RANK_WAIT");
    if (!strstr(p.err, "vramscope: rank 0 of 2 has waited 0.5 s in barrier of ranks 0 1 (gloo), "
                       "called at ") ||
        !strstr(p.err, "late_rank.py:27\n") ||
        strstr(p.err, "rank 1 of 2 has waited 0.5 s in barrier"))
        fail_msg("stderr is: %s", p.err);
    program_release(&p);
}

/* Rank 1 has no part in a group that rank 0 makes. PyTorch may end the program then: its status does not count. */
static void a_group_that_a_rank_does_not_make_is_named(void **state)
{
    static const char *const KINDS[][2] = {
        {"gloo", "rank 0 of 2 has waited 0.5 s in new_group of ranks 0 1 (gloo), called at "},
        {"nccl", "rank 0 of 2 waited 0.5 s for rank 1, which did not come: ncclCommSplit"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        struct program p;

        setenv("VRAMSCOPE_RANK_WAIT", "0.5", 1);
        p = program_run("record", "--gpu", CORPUS_GPU, "-f", "-o", program_path("trace.db"), "--",
                        corpus_python(NULL), "-m", "torch.distributed.run", "--standalone",
                        "--nproc-per-node", "2", "tests/programs/late_rank.py", KINDS[i][0], NULL);
        unsetenv("VRAMSCOPE_RANK_WAIT");
        if (!strstr(p.err, KINDS[i][1]) || strstr(p.out, "nobody was waited for"))
            fail_msg("%s: %s%s", KINDS[i][0], p.out, p.err);
        program_release(&p);
    }
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
        ALONE("4 ranks ddp"),
        ALONE("2 ranks zero"),
        ALONE("4 ranks mesh"),
        ALONE("4 fsdp1"),
        ALONE("4 fsdp2"),
        ALONE("4 tensor_parallel"),
        cmocka_unit_test(the_summary_names_the_rank_that_peaks_and_the_line),
        cmocka_unit_test(objects_come_as_they_were_sent),
        cmocka_unit_test(a_rank_that_has_ended_is_named_and_the_traces_are_valid),
        cmocka_unit_test(who_waits_for_long_in_which_collective_is_named),
        cmocka_unit_test(a_group_that_a_rank_does_not_make_is_named),
        ONE_OF_1024("ranks zero"),
        ONE_OF_1024("ranks mesh"),
    };

    return cmocka_run_group_tests(tests, corpus_setup, corpus_cleanup);
}
