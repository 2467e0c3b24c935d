/*
 * tests/facts/test_kill.c - kill -9 at any moment of a real recording leaves a valid trace with every event up to the last commit.
 *
 * Each round starts the program, waits a pseudo-random while, looks at what has been committed, kills, and compares what is
 * left with an uninterrupted run of the same net: it must be its beginning, event for event, and no shorter than what had been seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/facts/facts.h"

#define NET "sample_nets/lenet.py"
#define STEPS "800"
#define ROUNDS 12
#define BATCH "64"
#define LONGEST_MS 800

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void nap(uint32_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0)
        ;
}

/* Events that a reader sees now; 0 where there is no trace yet. */
static uint64_t committed(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    uint64_t events = 0;

    if (access(path, F_OK) == 0 && rpl_trace_open(path, &trace, &err) == VS_OK)
        events = rpl_trace_event_count(trace);
    rpl_trace_free(trace);
    return events;
}

/* Kill a recording to `path` `ms` after it started, or after its first commit; returns how many events had been committed by then. */
static uint64_t record_and_kill(const char *path, uint32_t ms, bool from_first_commit)
{
    pid_t pid = program_start("record", NET, "-o", path, "--device", "cpu", "--batch", BATCH,
                              "--steps", STEPS, "--force", NULL);
    int status = 0;
    uint64_t seen;

    while (from_first_commit && committed(path) == 0 && waitpid(pid, &status, WNOHANG) == 0)
        nap(5);
    nap(ms);
    seen = committed(path);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid); /* it had not ended before */
    assert_true(WIFSIGNALED(status));
    return seen;
}

static void assert_valid(const char *path)
{
    struct program p = program_run("sql", path, "pragma integrity_check", NULL);

    if (p.status != 0 || !strstr(p.out, "ok"))
        fail_msg("%s: %s%s", path, p.out, p.err);
    program_release(&p);
    p = program_run("report", path, "--json", NULL);
    if (p.status != 0)
        fail_msg("%s: %s", path, p.err);
    program_release(&p);
}

static void a_killed_recording_is_valid_up_to_the_last_commit(void **state)
{
    struct facts_net net = facts_net_read(NET);
    struct facts_run whole = facts_run_net(&net, "batch=" BATCH " steps=" STEPS, false, NULL);
    uint32_t seed = 20240607;
    unsigned cut = 0;
    unsigned none = 0;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        const char *path = program_path("killed.db");
        uint32_t ms = next_random(&seed) % LONGEST_MS;
        uint64_t seen = record_and_kill(path, ms, i % 3 != 0);
        struct vs_error err = VS_ERROR_INIT;
        struct rpl_trace *left = NULL;
        enum vs_status st = rpl_trace_open(path, &left, &err);
        uint64_t events = st ? 0 : rpl_trace_event_count(left);

        if (st && seen)
            fail_msg("killed after %u ms with %" PRIu64 " events committed: %s", ms, seen,
                     err.text);
        if (events < seen)
            fail_msg("killed after %u ms: %" PRIu64 " events left of %" PRIu64, ms, events, seen);
        if (events == 0) {
            none++; /* before the first commit: no trace, or an empty one */
        } else {
            assert_valid(path);
            facts_begins("killed", left, "what is left", whole.trace, "the whole");
            cut++;
        }
        rpl_trace_free(left);
        unlink(path);
    }
    print_message("%d killed: %u cut off, %u before the first commit\n", ROUNDS, cut, none);
    assert_true(cut >= ROUNDS * 2 / 3);
    facts_run_release(&whole);
    facts_net_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_recording_is_valid_up_to_the_last_commit),
    };

    return cmocka_run_group_tests_name("facts/kill", tests, NULL, cleanup);
}
