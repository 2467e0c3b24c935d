/*
 * tests/standin/runtime/ranks/test_nccl.c - what ranks receive of each other: two processes with a communicator, a rank
 * that is not there, and a rank that runs alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/standin/runtime/simulated.h"
#include "tests/standin/shared.h"

#define INT64 4
#define UINT8 1
#define SUM 0
#define MAXIMUM 2

#define TO_DEVICE 1
#define TO_HOST 2
#define WITHIN_DEVICE 3
#define TIMED_OUT 702

struct id {
    char bytes[128];
};

typedef void comm;

static comm *comm_new(struct id id, int ranks, int rank)
{
    comm *c = NULL;

    assert_int_equal(
        SIMULATED(int (*)(comm **, int, struct id, int), "ncclCommInitRank")(&c, ranks, id, rank),
        0);
    return c;
}

static struct id id_new(void)
{
    struct id id;

    assert_int_equal(SIMULATED(int (*)(struct id *), "ncclGetUniqueId")(&id), 0);
    return id;
}

static int64_t *device_new(size_t bytes)
{
    void *at = NULL;

    assert_int_equal(SIMULATED(int (*)(void **, size_t), "cudaMalloc")(&at, bytes), 0);
    return at;
}

static int copy(void *to, const void *from, size_t bytes, int kind)
{
    return SIMULATED(int (*)(void *, const void *, size_t, int), "cudaMemcpy")(to, from, bytes,
                                                                               kind);
}

static int64_t *device_with(int64_t first, int64_t second)
{
    const int64_t values[] = {first, second};
    int64_t *at = device_new(sizeof(values));

    assert_int_equal(copy(at, values, sizeof(values), TO_DEVICE), 0);
    return at;
}

static int wait_for_device(void)
{
    return SIMULATED(int (*)(void *), "cudaStreamSynchronize")(NULL);
}

static void expect(const int64_t *device, size_t count, const int64_t *values)
{
    int64_t got[8] = {0};

    assert_int_equal(copy(got, device, count * sizeof(*got), TO_HOST), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(got[i], values[i]);
}

/* Run `as_rank` as rank 1 in another process, and as rank 0 in this one. */
static void two_ranks(void (*as_rank)(struct id id, int rank))
{
    const struct id id = id_new();
    int status = 0;
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid) {
        as_rank(id, 1);
        _exit(0); /* an assertion that fails ends otherwise */
    }
    as_rank(id, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void say_and_hear(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    const int64_t *own = device_with(rank + 1, 10 * rank);
    int64_t *to = device_new(64);

    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (own, to, 2, INT64, SUM, c, NULL);
    expect(to, 2, (const int64_t[]){3, 10});
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (own, to, 2, INT64, MAXIMUM, c, NULL);
    expect(to, 2, (const int64_t[]){2, 10});
    SIMULATED(int (*)(const void *, void *, size_t, int, comm *, void *), "ncclAllGather")
    (own, to, 2, INT64, c, NULL);
    expect(to, 4, (const int64_t[]){1, 0, 2, 10});
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclReduceScatter")
    (own, to, 1, INT64, SUM, c, NULL);
    expect(to, 1, rank ? (const int64_t[]){10} : (const int64_t[]){3});
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclBroadcast")
    (own, to, 2, INT64, 1, c, NULL);
    expect(to, 2, (const int64_t[]){2, 10});
    SIMULATED(int (*)(const void *, void *, size_t, int, comm *, void *), "ncclAlltoAll")
    (own, to, 1, INT64, c, NULL);
    expect(to, 2, rank ? (const int64_t[]){0, 10} : (const int64_t[]){1, 2});
}

static void ranks_receive_the_data_of_the_others(void **state)
{
    (void)state;
    two_ranks(say_and_hear);
}

/* Results are asked for in the other order. */
static void say_twice(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    int64_t *first = device_new(64);
    int64_t *second = device_new(64);
    int (*broadcast)(const void *, void *, size_t, int, int, comm *, void *) =
        SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclBroadcast");

    broadcast(device_with(5 + rank, 6), first, 2, INT64, 0, c, NULL);
    broadcast(device_with(7 + rank, 8), second, 2, INT64, 1, c, NULL);
    expect(second, 2, (const int64_t[]){8, 8});
    expect(first, 2, (const int64_t[]){5, 6});
}

static void results_may_be_read_in_any_order(void **state)
{
    (void)state;
    two_ranks(say_twice);
}

static void message(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    int64_t *to = device_new(64);

    if (rank == 0)
        for (int i = 0; i < 3; i++)
            SIMULATED(int (*)(const void *, size_t, int, int, comm *, void *), "ncclSend")
    (device_with(i, 4), 2, INT64, 1, c, NULL);
    for (int i = 0; rank == 1 && i < 3; i++) {
        SIMULATED(int (*)(void *, size_t, int, int, comm *, void *), "ncclRecv")
        (to, 2, INT64, 0, c, NULL);
        expect(to, 2, (const int64_t[]){i, 4});
    }
}

static void messages_are_received_in_order(void **state)
{
    (void)state;
    two_ranks(message);
}

static void send(comm *c, const void *from, int to)
{
    assert_int_equal(SIMULATED(int (*)(const void *, size_t, int, int, comm *, void *),
                               "ncclSend")(from, 2, INT64, to, c, NULL),
                     0);
}

static int64_t *receive(comm *c, int from)
{
    int64_t *to = device_new(16);

    assert_int_equal(SIMULATED(int (*)(void *, size_t, int, int, comm *, void *),
                               "ncclRecv")(to, 2, INT64, from, c, NULL),
                     0);
    return to;
}

/*
 * Each rank sends back, in one communicator, what it receives there, and only then sends in the other one what the
 * other rank sends back. On a GPU the two communicators have a stream each.
 */
static void send_back(struct id id, int rank)
{
    comm *in = comm_new(id, 2, rank);
    comm *out;
    int64_t *back;

    id.bytes[0] ^= 1;
    out = comm_new(id, 2, rank);
    if (rank) {
        comm *other = in;

        in = out;
        out = other;
    }
    back = receive(in, 1 - rank);
    send(in, back, 1 - rank);
    send(out, device_with(rank, 7), 1 - rank);
    expect(receive(out, 1 - rank), 2, (const int64_t[]){rank, 7});
    expect(back, 2, (const int64_t[]){1 - rank, 7});
}

static void a_rank_need_not_know_what_it_sends(void **state)
{
    (void)state;
    two_ranks(send_back);
}

/* What is received is copied, reduced and sent on, and its memory is used for something else, before it has come. */
static void send_on(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    int64_t *sum = device_new(16);
    int64_t *copied = device_new(16);
    int64_t *at;

    if (rank) {
        comm *other;

        id.bytes[0] ^= 1;
        other = comm_new(id, 2, rank);
        expect(receive(other, 0), 2,
               (const int64_t[]){1, 1}); /* rank 0 has put it all into its streams */
        send(c, device_with(30, 40), 0);
        at = device_with(1, 2);
    } else {
        comm *other;

        id.bytes[0] ^= 1;
        other = comm_new(id, 2, rank);
        at = receive(c, 1);
        assert_int_equal(copy(copied, at, 16, WITHIN_DEVICE), 0);
        assert_int_equal(copy(at, (const int64_t[]){5, 6}, 16, TO_DEVICE), 0);
        send(other, device_with(1, 1), 1);
    }
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (rank ? at : copied, sum, 2, INT64, SUM, c, NULL);
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (sum, sum, 2, INT64, MAXIMUM, c, NULL);
    expect(sum, 2, (const int64_t[]){31, 42});
    if (!rank)
        expect(at, 2, (const int64_t[]){5, 6});
}

static void what_has_not_come_yet_is_copied_reduced_and_sent_on(void **state)
{
    (void)state;
    two_ranks(send_on);
}

/* The program of rank 0 waits for something else than a rank: a file, which rank 1 writes when it has the data. */
static void send_behind_the_program(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    char *path = strdup(shared_path("received"));

    if (rank) {
        send(c, device_with(8, 9), 0);
        expect(receive(c, 0), 2, (const int64_t[]){8, 9});
        fclose(fopen(path, "w"));
    } else {
        send(c, receive(c, 1), 1);
        for (int i = 0; i < 10000 && access(path, F_OK) != 0; i++)
            usleep(1000);
        assert_int_equal(access(path, F_OK), 0);
    }
    free(path);
}

static void data_is_sent_on_while_the_program_waits_for_something_else(void **state)
{
    (void)state;
    two_ranks(send_behind_the_program);
}

/* Rank 0 ends, in order, when it has sent on what it may not have received yet. */
static void send_and_end(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);

    if (rank) {
        usleep(20000);
        send(c, device_with(3, 2), 0);
        expect(receive(c, 0), 2, (const int64_t[]){3, 2});
    } else {
        send(c, receive(c, 1), 1);
    }
    assert_int_equal(SIMULATED(int (*)(comm *), "ncclCommDestroy")(c), 0);
}

static void a_communicator_ends_when_it_has_sent_all(void **state)
{
    (void)state;
    two_ranks(send_and_end);
}

/* The split's data does not make anybody forget that of the collective before it. */
static void reduce_and_split(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    comm *part = NULL;
    int64_t *sum = device_new(16);

    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (device_with(rank, 4), sum, 2, INT64, SUM, c, NULL);
    assert_int_equal(SIMULATED(int (*)(comm *, int, int, comm **, void *),
                               "ncclCommSplit")(c, 0, rank, &part, NULL),
                     0);
    expect(sum, 2, (const int64_t[]){1, 8});
}

static void a_result_may_be_read_after_a_split(void **state)
{
    (void)state;
    two_ranks(reduce_and_split);
}

static void split(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    comm *both = NULL;
    comm *own = NULL;
    int value = -1;
    int64_t *to = device_new(64);
    int (*split_of)(comm *, int, int, comm **, void *) =
        SIMULATED(int (*)(comm *, int, int, comm **, void *), "ncclCommSplit");

    assert_int_equal(split_of(c, 3, -rank, &both, NULL), 0); /* the other order */
    SIMULATED(int (*)(comm *, int *), "ncclCommUserRank")(both, &value);
    assert_int_equal(value, 1 - rank);
    SIMULATED(int (*)(const void *, void *, size_t, int, comm *, void *), "ncclAllGather")
    (device_with(rank, 0), to, 1, INT64, both, NULL);
    expect(to, 2, (const int64_t[]){1, 0});
    assert_int_equal(split_of(c, rank, 0, &own, NULL), 0);
    SIMULATED(int (*)(comm *, int *), "ncclCommCount")(own, &value);
    assert_int_equal(value, 1);
    assert_int_equal(split_of(c, rank ? 1 : -1, 0, &own, NULL), 0);
    assert_true((own != NULL) == (rank == 1));
}

static void a_split_has_the_ranks_of_its_color(void **state)
{
    (void)state;
    two_ranks(split);
}

static void wait_for_the_other(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);
    char *path = strdup(shared_path("written"));

    if (rank == 0) {
        usleep(50000);

        fclose(fopen(path, "w"));
    }
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (device_new(8), device_new(8), 1, UINT8, SUM, c, NULL);
    assert_int_equal(wait_for_device(), 0);
    assert_int_equal(access(path, F_OK), 0);
    free(path);
}

static void waiting_for_the_device_waits_for_the_other_ranks(void **state)
{
    (void)state;
    two_ranks(wait_for_the_other);
}

static void join_and_end(struct id id, int rank)
{
    comm *c = comm_new(id, 2, rank);

    if (rank == 1)
        return;
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclAllReduce")
    (device_with(1, 2), device_new(16), 2, INT64, SUM, c, NULL);
    assert_int_equal(wait_for_device(), TIMED_OUT);
    assert_int_equal(wait_for_device(), 0); /* once is enough */
    assert_non_null(strstr(
        simulated_log(), "rank 0 of 2 waited for rank 1, whose process has ended: ncclAllReduce"));
}

static void a_rank_that_has_ended_is_named(void **state)
{
    (void)state;
    two_ranks(join_and_end);
}

static void a_rank_that_never_joins_is_named(void **state)
{
    comm *c = comm_new(id_new(), 3, 2);

    (void)state;
    setenv("VRAMSCOPE_RANK_WAIT", "0.1", 1);
    SIMULATED(int (*)(const void *, void *, size_t, int, comm *, void *), "ncclAllGather")
    (device_with(1, 2), device_new(64), 1, INT64, c, NULL);
    assert_int_equal(wait_for_device(), TIMED_OUT);
    unsetenv("VRAMSCOPE_RANK_WAIT");
    assert_non_null(
        strstr(simulated_log(), "rank 2 of 3 waited 0.1 s for rank 0, which did not come"));
}

static void a_rank_alone_receives_its_own_data_or_what_is_set_for_the_others(void **state)
{
    const int64_t theirs[] = {41, 42};
    int64_t *to = device_new(64);
    comm *c;

    (void)state;
    simulated_open()->exchange_open("");
    c = comm_new(id_new(), 3, 1);
    SIMULATED(int (*)(const void *, void *, size_t, int, comm *, void *), "ncclAllGather")
    (device_with(9, 0), to, 1, INT64, c, NULL);
    expect(to, 3, (const int64_t[]){9, 9, 9});
    simulated_open()->hold_values(1);
    simulated_open()->send_for_others(&theirs[0], sizeof(theirs[0]), 0);
    simulated_open()->send_for_others(&theirs[1], sizeof(theirs[1]), 1);
    SIMULATED(int (*)(void *, size_t, int, int, comm *, void *), "ncclRecv")
    (to, 1, INT64, 0, c, NULL);
    expect(to, 1, &theirs[1]);
    SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *), "ncclBroadcast")
    (to, to, 1, INT64, 0, c, NULL);
    expect(to, 1, &theirs[0]);
    simulated_open()->hold_values(0);
    assert_int_equal(wait_for_device(), 0);
    assert_int_equal(SIMULATED(int (*)(comm *), "ncclCommDestroy")(c), 0);
}

static void held_values_are_not_replaced(void **state)
{
    enum { MANY = 300, BYTES = 100000 };
    char *large = calloc(1, BYTES);
    void *kept = device_new(BYTES);
    int64_t *small = device_new(MANY * sizeof(*small));
    int64_t value;

    (void)state;
    large[BYTES - 1] = 7;
    simulated_open()->hold_values(1);
    assert_int_equal(copy(kept, large, BYTES, TO_DEVICE), 0);
    for (int64_t i = 0; i < MANY; i++)
        assert_int_equal(copy(small + i, &i, sizeof(i), TO_DEVICE), 0);
    assert_int_equal(simulated_open()->value_at(small, &value, sizeof(value)), 1);
    assert_int_equal(value, 0);
    assert_int_equal(simulated_open()->value_at(kept, large, BYTES), 1);
    assert_int_equal(large[BYTES - 1], 7);
    simulated_open()->hold_values(0);
    assert_int_equal(simulated_open()->value_at(kept, large, BYTES), 0);
    free(large);
}

static int setup(void **state)
{
    const int status = simulated_setup(state);

    simulated_open()->exchange_open(shared_path(""));
    return status;
}

/* Calls and bytes of a collective so far; other tests may have called it. */
static void counted(const char *name, long *count, long *bytes)
{
    char text[1024];
    char after[64];
    const char *at;

    simulated_open()->collectives(text, sizeof(text));
    *count = *bytes = 0;
    snprintf(after, sizeof(after), " %s", name);
    for (at = text; at && *at; at = strstr(at, " | ") ? strstr(at, " | ") + 3 : NULL) {
        char *rest;
        const long calls = strtol(at, &rest, 10);
        const long given = strtol(rest, &rest, 10);

        if (strncmp(rest, after, strlen(after)) == 0 && strcspn(rest + 1, " ") == strlen(name)) {
            *count = calls;
            *bytes = given;
        }
    }
}

static void collectives_are_counted_by_name(void **state)
{
    comm *c = comm_new(id_new(), 4, 0);
    int64_t *at = device_new(64);
    char text[8];
    long count[2];
    long bytes[2];
    long sent[2];
    long unused;

    (void)state;
    counted("ncclAllReduce", &count[0], &bytes[0]);
    counted("ncclSend", &sent[0], &unused);
    for (int i = 0; i < 3; i++)
        assert_int_equal(SIMULATED(int (*)(const void *, void *, size_t, int, int, comm *, void *),
                                   "ncclAllReduce")(at, at, 4, INT64, SUM, c, NULL),
                         0);
    assert_int_equal(SIMULATED(int (*)(const void *, size_t, int, int, comm *, void *),
                               "ncclSend")(at, 4, INT64, 1, c, NULL),
                     0);
    counted("ncclAllReduce", &count[1], &bytes[1]);
    counted("ncclSend", &sent[1], &unused);
    assert_int_equal(count[1] - count[0], 3);
    assert_int_equal(bytes[1] - bytes[0], 3 * 32);
    assert_int_equal(sent[1] - sent[0], 1);
    simulated_open()->collectives(text, sizeof(text));
    assert_true(strlen(text) < sizeof(text));
    assert_int_equal(SIMULATED(int (*)(comm *), "ncclCommDestroy")(c), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_receive_the_data_of_the_others),
        cmocka_unit_test(results_may_be_read_in_any_order),
        cmocka_unit_test(messages_are_received_in_order),
        cmocka_unit_test(a_rank_need_not_know_what_it_sends),
        cmocka_unit_test(what_has_not_come_yet_is_copied_reduced_and_sent_on),
        cmocka_unit_test(data_is_sent_on_while_the_program_waits_for_something_else),
        cmocka_unit_test(a_communicator_ends_when_it_has_sent_all),
        cmocka_unit_test(a_result_may_be_read_after_a_split),
        cmocka_unit_test(a_split_has_the_ranks_of_its_color),
        cmocka_unit_test(waiting_for_the_device_waits_for_the_other_ranks),
        cmocka_unit_test(a_rank_that_has_ended_is_named),
        cmocka_unit_test(a_rank_that_never_joins_is_named),
        cmocka_unit_test(held_values_are_not_replaced),
        cmocka_unit_test(a_rank_alone_receives_its_own_data_or_what_is_set_for_the_others),
        cmocka_unit_test(collectives_are_counted_by_name),
    };

    return cmocka_run_group_tests(tests, setup, shared_cleanup);
}
