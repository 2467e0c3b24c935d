/*
 * tests/facts/test_kill.c - kill -9 at any moment of a real recording leaves a valid trace with every event up to the
 * last commit.
 *
 * Each round starts a recording that does not end by itself, waits until it has committed a pseudo-random number of
 * events and then has used a pseudo-random amount of processor time more, looks at what has been committed, and kills
 * it. What is left must be the beginning of an uninterrupted run of the same net, event for event, and no shorter than
 * what had been seen.
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
#include "tests/wait.h"

#define NET "sample_nets/lenet.py"
#define ROUNDS 12
#define BATCH "64"
/* A step has 1,000 events. Commits are half a second apart: kills come at all points between two of them. */
#define MOST_EVENTS 30000
#define MOST_CPU_MS 500

/* A round: how it was killed and what was left. */
struct round {
    const char *path;
    uint64_t wanted; /* events */
    uint32_t cpu_ms;
    uint64_t seen; /* events committed just before the kill */
    struct rpl_trace *left;
};

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

/* Processor time that a program has used. */
static uint64_t cpu_ms_of(pid_t pid)
{
    struct timespec used = {0, 0};
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
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

static void record_and_kill(struct round *r)
{
    pid_t pid = program_start("record", NET, "-o", r->path, "--device", "cpu", "--batch", BATCH,
                              "--steps", "100000000", NULL);
    struct wait events = wait_for(pid, "%" PRIu64 " events in %s", r->wanted, r->path);
    struct wait cpu = wait_for(pid, "%u ms more of processor time", r->cpu_ms);
    uint64_t before;
    int status;

    while (committed(r->path) < r->wanted)
        wait_more(&events);
    before = cpu_ms_of(pid);
    while (cpu_ms_of(pid) < before + r->cpu_ms)
        wait_more(&cpu);
    r->seen = committed(r->path);
    assert_int_equal(kill(pid, SIGKILL), 0);
    status = wait_child(pid, "the killed recording to end");
    assert_true(WIFSIGNALED(status));
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

/* Every third round is killed soon after its start: the first commit may have come or not. */
static struct round round_of(unsigned i, uint32_t *random)
{
    static char paths[ROUNDS][200];
    char name[24];
    struct round r = {.path = paths[i]};

    snprintf(name, sizeof(name), "killed%u.db", i);
    snprintf(paths[i], sizeof(paths[i]), "%s", program_path(name));
    r.wanted = next_random(random) % MOST_EVENTS;
    r.cpu_ms = next_random(random) % MOST_CPU_MS;
    if (i % 3 == 0) {
        r.wanted = 0;
        r.cpu_ms /= 32;
    }
    return r;
}

/* Open what a kill left; the steps in it, 0 where there is no trace. */
static size_t round_open(struct round *r)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = rpl_trace_open(r->path, &r->left, &err);
    uint64_t events = st ? 0 : rpl_trace_event_count(r->left);

    if (st && r->seen)
        fail_msg("killed %u ms after %" PRIu64 " events, with %" PRIu64 " committed: %s", r->cpu_ms,
                 r->wanted, r->seen, err.text);
    if (events < r->seen)
        fail_msg("killed %u ms after %" PRIu64 " events: %" PRIu64 " left of %" PRIu64, r->cpu_ms,
                 r->wanted, events, r->seen);
    if (events)
        assert_valid(r->path);
    return st ? 0 : rpl_trace_step_count(r->left);
}

static void a_killed_recording_is_valid_up_to_the_last_commit(void **state)
{
    struct facts_net net = facts_net_read(NET);
    struct round rounds[ROUNDS];
    struct facts_run whole;
    char toggles[64];
    uint32_t random = 20240607;
    size_t steps = 0;
    unsigned cut = 0;

    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t n;

        rounds[i] = round_of(i, &random);
        record_and_kill(&rounds[i]);
        n = round_open(&rounds[i]);
        steps = n > steps ? n : steps;
    }
    snprintf(toggles, sizeof(toggles), "batch=" BATCH " steps=%zu", steps + 1);
    whole = facts_run_net(&net, toggles, false, NULL);
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (rounds[i].left && rpl_trace_event_count(rounds[i].left) > 0) {
            facts_begins("killed", rounds[i].left, "what is left", whole.trace, "the whole");
            cut++;
        }
        rpl_trace_free(rounds[i].left);
    }
    print_message("%d killed: %u cut off, %u before the first commit\n", ROUNDS, cut, ROUNDS - cut);
    assert_true(cut >= ROUNDS * 2 / 3); /* all that had committed events */
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
