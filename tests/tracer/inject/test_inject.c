/*
 * tests/tracer/inject/test_inject.c - programs that use CUDA leave traces that say what they did, however they end;
 * without CUPTI they run on.
 *
 * The driver and CUPTI are fakes (fake/fake.h), the library, NVTX and the traces are real. What the programs do stands
 * in fake/programs.c; the figures here are added up from there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/sanitizer.h"
#include "tests/skip.h"
#include "tests/wait.h"

#define TEXT_MAX 65536
#define PATH_SIZE 512

/* One run: its trace (a folder of its own each), what it printed, how it ended, what the status file says. */
struct run {
    char trace[PATH_SIZE];
    char out[TEXT_MAX];
    char status[TEXT_MAX];
    int exit_status;
    pid_t pid;
};

static char build[PATH_SIZE];
static unsigned runs;

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Beside the program under test lie the library and the fakes. */
static void build_find(void)
{
    const char *program = getenv("VRAMSCOPE");
    char *slash;

    assert_non_null(realpath(program ? program : "build/vramscope", build));
    slash = strrchr(build, '/');
    assert_non_null(slash);
    *slash = '\0';
}

static void text_read(const char *path, char *out)
{
    FILE *file = fopen(path, "r");
    size_t len = file ? fread(out, 1, TEXT_MAX - 1, file) : 0;

    out[len] = '\0';
    if (file)
        fclose(file);
}

static void folder_set(const char *variable, const char *below)
{
    char path[2 * PATH_SIZE];

    snprintf(path, sizeof(path), "%s%s", build, below);
    setenv(variable, path, 1);
}

/* In the child. settings: "NAME=VALUE". */
static void enter(const struct run *run, const char *const *settings)
{
    folder_set("LD_LIBRARY_PATH", "/fake");
    folder_set("VRAMSCOPE_CUDA_LIBS", "/fake/cupti");
    folder_set("CUDA_INJECTION64_PATH", "/vramscope_inject.so");
    folder_set("NVTX_INJECTION64_PATH", "/vramscope_inject.so");
    setenv("VRAMSCOPE_OUT", run->trace, 1);
    for (size_t i = 0; settings && settings[i]; i++)
        putenv(strdup(settings[i]));
}

/*
 * Where these tests run under the address sanitizer: a forked child leaves what its parent had where it is, which the
 * sanitizer takes for a leak, and python3 was not linked with it.
 */
static const char LENIENT[] = "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0";

static pid_t start(struct run *run, const char *const *argv, const char *const *settings,
                   const char *out)
{
    pid_t pid;

    snprintf(run->trace, sizeof(run->trace), "%s/%u.db", program_folder(), ++runs);
    pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    if (!freopen(out, "w", stdout))
        _exit(126);
    enter(run, settings);
    /* execvp takes char *const[] for historical reasons; it changes nothing */
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void end(struct run *run, const char *out)
{
    char path[PATH_SIZE + 16];
    int status = wait_child(run->pid, "the program that writes %s to end", run->trace);

    run->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    text_read(out, run->out);
    snprintf(path, sizeof(path), "%s.status", run->trace);
    text_read(path, run->status);
}

static struct run *run_args(const char *const *argv, const char *const *settings)
{
    static struct run run;
    char out[PATH_SIZE];

    memset(&run, 0, sizeof(run));
    snprintf(out, sizeof(out), "%s/out", program_folder());
    run.pid = start(&run, argv, settings, out);
    end(&run, out);
    return &run;
}

/* Run one of the programs. settings: NULL-terminated, or NULL. */
static struct run *run_with(const char *word, const char *const *settings)
{
    char path[PATH_SIZE + 16];
    const char *argv[] = {path, word, NULL};

    snprintf(path, sizeof(path), "%s/fake/programs", build);
    return run_args(argv, settings);
}

static struct run *run_word(const char *word, const char *setting)
{
    const char *settings[] = {setting, NULL};

    return run_with(word, settings);
}

static void ends_with(const struct run *run, int status)
{
    if (run->exit_status != status)
        fail_msg("exit status %d, not %d; status file:\n%s", run->exit_status, status, run->status);
}

static void says(const struct run *run, const char *fact)
{
    if (!strstr(run->status, fact))
        fail_msg("the status file does not say `%s`:\n%s", fact, run->status);
}

static void says_nothing_of(const struct run *run, const char *fact)
{
    if (strstr(run->status, fact))
        fail_msg("the status file says `%s`:\n%s", fact, run->status);
}

/* The lines of the status file with this key. */
static size_t said(const struct run *run, const char *key)
{
    size_t count = 0;

    for (const char *at = run->status; (at = strstr(at, key)) != NULL; at++)
        count++;
    return count;
}

/* The path of the n-th trace (from 0) that the status file names. */
static const char *trace_said(const struct run *run, size_t n)
{
    static char path[PATH_SIZE];
    const char *at = run->status;

    for (size_t i = 0; i <= n; i++) {
        at = strstr(at, " trace: ");
        assert_non_null(at);
        at += strlen(" trace: ");
    }
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
    return path;
}

static void asked(const char *trace, const char *sql, int64_t expected)
{
    const int64_t value = sql_int(trace, sql);

    if (value != expected)
        fail_msg("%s: %" PRId64 ", not %" PRId64, sql, value, expected);
}

/* Text at the first event of a kind. */
static void text_is(const char *trace, const char *sql, const char *expected)
{
    char test[1024];

    snprintf(test, sizeof(test), "SELECT (%s) = '%s'", sql, expected);
    if (sql_int(trace, test) != 1)
        fail_msg("%s is not %s", sql, expected);
}

/* What `vramscope report` makes of it: the peak, the event it is at, what is there at the end. */
static void reported(const char *trace, uint64_t peak, uint64_t at, uint64_t end_bytes)
{
    struct program p = program_run("report", trace, "--json", NULL);

    if (p.status != 0)
        fail_msg("report: %d: %s", p.status, p.err);
    assert_int_equal(json_int(p.out, "$.peak.allocated"), peak);
    assert_int_equal(json_int(p.out, "$.peak.requested"), peak);
    assert_int_equal(json_int(p.out, "$.peak.reserved"), peak);
    assert_int_equal(json_int(p.out, "$.peak.event"), at);
    assert_int_equal(json_int(p.out, "$.devices[0].allocated"), end_bytes);
    assert_int_equal(json_int(p.out, "$.devices[0].reserved"), end_bytes);
    program_release(&p);
}

static void complete(const char *trace, int64_t is_complete)
{
    asked(trace, "SELECT value FROM meta WHERE key = 'complete'", is_complete);
}

/* ---- what is recorded ---- */

static void a_program_leaves_its_blocks_and_keeps_its_exit_status(void **state)
{
    struct run *run = run_word("basic", NULL);

    (void)state;
    ends_with(run, 7);
    assert_string_equal(run->out, "basic is done\n");
    complete(run->trace, 1);
    reported(run->trace, 6000, 8, 6000);
    asked(run->trace, "SELECT count(*) FROM event", 8);
    asked(run->trace, "SELECT sum(size) FROM event WHERE kind = 'alloc'", 7000);
    asked(run->trace, "SELECT address FROM event WHERE seq = 2", INT64_C(0x7f0000000000));
    text_is(run->trace, "SELECT value FROM meta WHERE key = 'source_kind'", "program");
    text_is(run->trace, "SELECT value FROM meta WHERE key = 'source_name'", "programs");
    text_is(run->trace, "SELECT value FROM meta WHERE key = 'device_name'", "Fake GPU 0");
    text_is(run->trace, "SELECT value FROM meta WHERE key = 'outcome'", "done");
    asked(run->trace, "SELECT value FROM meta WHERE key = 'driver_version'", 13000);
    asked(run->trace, "SELECT value FROM meta WHERE key = 'device_bytes'", INT64_C(1) << 30);
    asked(run->trace, "SELECT value FROM meta WHERE key = 'pid'", run->pid);
    says(run, "cuda: initialized");
    says(run, "device: 0 Fake GPU 0");
    says(run, "closed: ");
}

static void an_allocation_has_its_function_and_the_kernel_before_it(void **state)
{
    struct run *run = run_word("basic", NULL);

    (void)state;
    text_is(run->trace, "SELECT func FROM event WHERE seq = 2", "programs!program_allocates");
    text_is(run->trace, "SELECT op FROM event WHERE seq = 2", "cuMemAlloc");
    text_is(run->trace, "SELECT op FROM event WHERE seq = 4", "cuMemAlloc after axpy_kernel");
    text_is(run->trace, "SELECT op FROM event WHERE seq = 5", "cuMemFree after axpy_kernel");
}

static void an_allocation_has_its_whole_call_stack(void **state)
{
    struct run *run = run_word("basic", NULL);

    (void)state;
    asked(run->trace, "SELECT count(DISTINCT seq) FROM call_stack", 3); /* of the allocations */
    asked(run->trace, "SELECT count(DISTINCT id / 256) FROM frame", 3); /* each from its own line */
    asked(
        run->trace,
        "SELECT count(*) FROM call_stack a JOIN call_stack b ON b.seq = a.seq AND b.depth > "
        "a.depth "
        "WHERE a.seq = 2 AND a.func = 'programs!program_allocates' AND b.func = 'programs!_start'",
        1);
    asked(run->trace, "SELECT count(*) FROM call_stack WHERE func LIKE '%vramscope_inject%'", 0);
    asked(run->trace, "SELECT min(depth) FROM call_stack WHERE seq = 2", 0);
}

static void calls_of_the_runtime_are_named_as_the_program_made_them(void **state)
{
    static const char *const SETTINGS[] = {NULL, "FAKE_CUDA_OPAQUE=1"};

    (void)state;
    for (size_t i = 0; i < 2;
         i++) { /* heard of by the driver's function, and by the runtime's alone */
        struct run *run = run_word("runtime", SETTINGS[i]);

        ends_with(run, 0);
        reported(run->trace, 8000, 4, 5000);
        asked(run->trace, "SELECT count(*) FROM event WHERE kind = 'alloc'", 2);
        text_is(run->trace, "SELECT op FROM event WHERE seq = 2", "cudaMalloc");
        text_is(run->trace, "SELECT op FROM event WHERE kind = 'free'", "cudaFree");
    }
}

/* 512 * 10 pitched, 7000 managed, 3000 on a stream, 1500 of a pool; pinned: 50000 + 20000 - 50000. */
static void every_kind_of_allocation_is_recorded(void **state)
{
    struct run *run = run_word("kinds", NULL);

    (void)state;
    ends_with(run, 0);
    reported(run->trace, 5120 + 7000 + 3000 + 1500, 8, 5120 + 7000 + 1500);
    asked(run->trace, "SELECT stream FROM event WHERE seq = 5", 12);
    asked(run->trace, "SELECT value FROM meta WHERE key = 'host_peak'", 70000);
    asked(run->trace, "SELECT value FROM meta WHERE key = 'host_allocated'", 20000);
}

static void physical_memory_lives_as_long_as_a_handle_or_a_mapping(void **state)
{
    struct run *run = run_word("physical", NULL);

    (void)state;
    ends_with(run, 0);
    reported(run->trace, 4194304, 4, 0);
    text_is(run->trace, "SELECT op FROM event WHERE kind = 'free' AND block = 2", "cuMemRelease");
    text_is(run->trace, "SELECT op FROM event WHERE kind = 'free' AND block = 1", "cuMemUnmap");
}

static void out_of_memory_is_an_event_and_the_outcome(void **state)
{
    struct run *run = run_word("oom", "FAKE_CUDA_BYTES=1000");

    (void)state;
    ends_with(run, 0);
    reported(run->trace, 900, 2, 900);
    asked(run->trace, "SELECT size FROM event WHERE kind = 'oom'", 200);
    asked(run->trace, "SELECT device_free FROM event WHERE kind = 'oom'", 100);
    text_is(run->trace, "SELECT value FROM meta WHERE key = 'outcome'", "oom");
    complete(run->trace, 1);
    says(run, "oom: 200 bytes requested, 100 free");
}

static void one_that_leaves_at_once_after_an_out_of_memory_has_it_in_its_trace(void **state)
{
    struct run *run = run_word("oom-leaves", "FAKE_CUDA_BYTES=1000");

    (void)state;
    ends_with(run, 6);
    reported(run->trace, 900, 2, 900);
    asked(run->trace, "SELECT size FROM event WHERE kind = 'oom'", 200);
    complete(run->trace, 0);
}

static void threads_do_not_get_into_each_others_way(void **state)
{
    struct run *run = run_word("threads", NULL);

    (void)state;
    ends_with(run, 0);
    /* 4 threads, 500 rounds, 4 blocks of 512, 1024, 1536, 2048 */
    asked(run->trace, "SELECT count(*) FROM event WHERE kind = 'alloc'", 8000);
    asked(run->trace, "SELECT count(*) FROM event WHERE kind = 'free'", 8000);
    asked(run->trace, "SELECT sum(size) FROM event WHERE kind = 'alloc'", 4 * 500 * 5120);
    asked(run->trace, "SELECT count(*) FROM block WHERE free_seq IS NULL", 0);
    /* no two blocks have an address at once */
    asked(run->trace,
          "SELECT count(*) FROM (SELECT alloc_seq, lag(free_seq) OVER (PARTITION BY address "
          "ORDER BY alloc_seq) AS before FROM block) WHERE before > alloc_seq",
          0);
}

static void a_reset_frees_what_was_in_the_context(void **state)
{
    struct run *run = run_word("resets", NULL);

    (void)state;
    ends_with(run, 0);
    reported(run->trace, 3000, 4, 500);
    asked(run->trace, "SELECT count(*) FROM event WHERE op = 'context destroyed' AND kind = 'free'",
          2);
}

static void each_device_has_a_trace(void **state)
{
    struct run *run = run_word("devices", NULL);
    const char *second;

    (void)state;
    ends_with(run, 0);
    reported(run->trace, 1000, 2, 1000);
    asked(run->trace, "SELECT value FROM meta WHERE key = 'device_number'", 1);
    second = trace_said(run, 1);
    assert_non_null(strstr(second, ".db.gpu0"));
    reported(second, 2000, 2, 2000);
    complete(second, 1);
}

static void ranges_are_steps_phases_and_modules(void **state)
{
    struct run *run = run_word("ranges", NULL);

    (void)state;
    ends_with(run, 0);
    text_is(run->trace,
            "SELECT group_concat(size || ' ' || step || ' ' || phase || ' ' || module, '; ') "
            "FROM (SELECT * FROM event WHERE kind = 'alloc' AND step < 1 ORDER BY seq)",
            "1000 -1 setup before; 2000 0 forward epoch 0.mine:loading; "
            "3000 0 forward epoch 0.mine:loading; 4000 0 backward epoch 0");
    asked(run->trace, "SELECT count(*) FROM step", 3);
    asked(run->trace, "SELECT allocated_peak FROM phase_stat WHERE step = 1 AND phase = 4",
          1000 + 2 * 9000 + 5000);
    text_is(run->trace,
            "SELECT coalesce(module, '') FROM event WHERE size = 5000 AND kind = 'alloc'", "");
}

static void the_trace_is_one_as_any_other_without_a_net(void **state)
{
    const struct run *run = run_word("basic", NULL);
    struct program p = program_run("report", run->trace, NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "programs on cuda, 8 events"));
    assert_non_null(strstr(p.out, "programs!program_allocates"));
    assert_non_null(strstr(p.out, "not recorded in calls of the driver"));
    assert_null(strstr(p.out, "parameters"));
    program_release(&p);
    p = program_run("whatif", run->trace, "--each", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "this trace has no net"));
    program_release(&p);
    p = program_run("whatif", run->trace, "--set", "alloc-conf=expandable_segments:True", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "this trace has no net"));
    program_release(&p);
    p = program_run("tui", run->trace, "--size", "160x48", "--keys", "gw", "--dump", NULL);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "requested from the driver, and what"));
    program_release(&p);
    p = program_run("diff", run->trace, run->trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.delta_allocated"), 0);
    program_release(&p);
}

/* ---- how processes begin and end ---- */

static void a_forked_child_has_a_trace_of_its_own(void **state)
{
    struct run *run;
    const char *child;

    (void)state;
    if (HAS_THREAD_SANITIZER)
        tests_skip(
            "the thread sanitizer knows no threads begun after a process with several was forked");
    run = run_word("forks", LENIENT);
    ends_with(run, 0);
    reported(run->trace, 5000, 4, 5000);
    child = trace_said(run, 1);
    reported(child, 2000, 2, 2000);
    complete(child, 1);
    asked(child,
          "SELECT count(*) FROM meta WHERE key = 'ppid' AND value = (SELECT value FROM meta "
          "WHERE key = 'ppid')",
          1);
    asked(child, "SELECT value FROM meta WHERE key = 'ppid'", run->pid);
}

static void children_may_be_forked_while_threads_allocate(void **state)
{
    struct run *run;

    (void)state;
    if (HAS_THREAD_SANITIZER)
        tests_skip(
            "the thread sanitizer knows no threads begun after a process with several was forked");
    run = run_word("fork-storm", LENIENT);
    ends_with(run, 0);
    asked(run->trace, "SELECT count(*) FROM event WHERE kind = 'alloc'", 8000);
    asked(run->trace, "SELECT count(*) FROM block WHERE free_seq IS NULL", 0);
    assert_int_equal(said(run, " trace: "), 21);
    assert_int_equal(said(run, " closed: "), 21);
    for (size_t i = 1; i < 21; i++)
        asked(trace_said(run, i), "SELECT sum(size) FROM event WHERE kind = 'alloc'", 100);
}

static void a_program_that_is_executed_has_a_trace_of_its_own(void **state)
{
    struct run *run = run_word("executes", NULL);

    (void)state;
    ends_with(run, 0);
    reported(run->trace, 1000, 2, 1000);
    reported(trace_said(run, 1), 6000, 8, 6000);
    assert_int_equal(said(run, "cuda: initialized"), 2);
}

/* Run one of the programs until `allocations` of it are in its trace, and end it by a signal. */
static struct run *run_until(const char *word, int64_t allocations, int number)
{
    char path[PATH_SIZE + 16];
    char out[PATH_SIZE];
    const char *argv[] = {path, word, NULL};
    static struct run run;
    struct wait w;

    memset(&run, 0, sizeof(run));
    snprintf(path, sizeof(path), "%s/fake/programs", build);
    snprintf(out, sizeof(out), "%s/out", program_folder());
    run.pid = start(&run, argv, NULL, out);
    w = wait_for(run.pid, "%" PRId64 " committed allocations in %s", allocations, run.trace);
    while (sql_try_int(run.trace, "SELECT count(*) FROM event WHERE kind = 'alloc'") < allocations)
        wait_more(&w);
    assert_int_equal(kill(run.pid, number), 0);
    end(&run, out);
    return &run;
}

/* Soon after its last event everything has been written. */
static void a_killed_program_leaves_what_it_did(void **state)
{
    struct run *run = run_until("killed", 10, SIGKILL);

    (void)state;
    assert_int_equal(run->exit_status, 128 + SIGKILL);
    complete(run->trace, 0);
    reported(run->trace, 10000, 20, 10000);
    says_nothing_of(run, "closed");
}

static void one_that_leaves_by_underscore_exit_is_cut_off_where_it_was(void **state)
{
    struct run *run = run_until("leaves", 1, SIGTERM);

    (void)state;
    ends_with(run, 5);
    complete(run->trace, 0);
    reported(run->trace, 1000, 2, 1000);
    says_nothing_of(run, "closed");
}

static void one_that_never_calls_cuda_leaves_nothing(void **state)
{
    struct run *run = run_word("never", NULL);

    (void)state;
    ends_with(run, 9);
    assert_string_equal(run->out, "no CUDA here\n");
    assert_string_equal(run->status, "");
    assert_int_equal(access(run->trace, F_OK), -1);
}

static void without_a_path_the_library_does_nothing(void **state)
{
    struct run *run = run_word("basic", "VRAMSCOPE_OUT=");

    (void)state;
    ends_with(run, 7);
    assert_string_equal(run->status, "");
}

/* ---- what goes wrong ---- */

/* The program does what it does without us, and one line says why there is no trace. */
static void runs_on_unrecorded(const char *setting, const char *reason)
{
    struct run *run = run_word("basic", setting);

    ends_with(run, 7);
    assert_string_equal(run->out, "basic is done\n");
    says(run, reason);
    assert_int_equal(access(run->trace, F_OK), -1);
}

/* The first: none is found, or NVIDIA's own, which finds no driver of its own. */
static void without_cupti_the_program_runs_on(void **state)
{
    (void)state;
    runs_on_unrecorded("VRAMSCOPE_CUDA_LIBS=/nowhere", "cupti: ");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiGetVersion:999", "cupti: ");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiSubscribe:35",
                       "cupti: not permitted (CUPTI_ERROR_35)");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiSubscribe:39",
                       "cupti: another profiler is attached to this program");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiSubscribe:1", "cupti: it cannot be listened to");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiEnableCallback:35",
                       "cupti: none of CUDA's functions can be listened to");
}

/* Each function that only adds to what is known may fail: the bytes stay right. */
static void what_cupti_cannot_say_is_left_out(void **state)
{
    static const char *const FAILS[] = {
        "FAKE_CUPTI_FAIL=cuptiGetDeviceId:3",
        "FAKE_CUPTI_FAIL=cuptiGetStreamIdEx:3",
        "FAKE_CUPTI_FAIL=cuptiGetContextId:3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(FAILS) / sizeof(FAILS[0]); i++) {
        struct run *run = run_word("kinds", FAILS[i]);

        ends_with(run, 0);
        reported(run->trace, 5120 + 7000 + 3000 + 1500, 8, 5120 + 7000 + 1500);
    }
}

/* The third call fails: each function once. What it was to do did not happen. */
static void a_call_that_fails_changes_nothing(void **state)
{
    struct run *run = run_word("basic", "FAKE_CUDA_FAIL=cuMemFree_v2:1:1");

    (void)state;
    ends_with(run, 3); /* the program ends at the first failure */
    reported(run->trace, 3000, 4, 3000);
    run = run_word("basic", "FAKE_CUDA_FAIL=cuMemAlloc_v2:2:1");
    ends_with(run, 3);
    reported(run->trace, 1000, 2, 1000);
    run = run_word("physical", "FAKE_CUDA_FAIL=cuMemMap:1:1");
    ends_with(run, 3);
    reported(run->trace, 4194304, 4, 4194304);
    run = run_word("physical", "FAKE_CUDA_FAIL=cuMemRelease:2:1");
    ends_with(run, 3);
    reported(run->trace, 4194304, 4, 4194304);
    run = run_word("physical", "FAKE_CUDA_FAIL=cuMemUnmap:1:1");
    ends_with(run, 3);
    reported(run->trace, 4194304, 4, 2097152);
    run = run_word("kinds", "FAKE_CUDA_FAIL=cuMemAllocHost_v2:1:2");
    ends_with(run, 3);
    asked(run->trace, "SELECT count(*) FROM event WHERE kind = 'oom'", 0); /* the host's */
}

static void a_free_of_what_is_not_there_is_no_event(void **state)
{
    struct run *run = run_word("fails", NULL);

    (void)state;
    ends_with(run, 0);
    asked(run->trace, "SELECT count(*) FROM event WHERE kind = 'free'", 1);
}

static void a_lost_gpu_is_noted_once(void **state)
{
    struct run *run = run_word("fails", "FAKE_CUDA_FAIL=cuStreamSynchronize:1:700");

    (void)state;
    ends_with(run, 0);
    says(run, "gpu: lost: CUDA_ERROR_ILLEGAL_ADDRESS, said by cuStreamSynchronize");
    assert_int_equal(said(run, "gpu: "), 1);
    text_is(run->trace, "SELECT value FROM meta WHERE key = 'device_error'",
            "CUDA_ERROR_ILLEGAL_ADDRESS, said by cuStreamSynchronize");
    complete(run->trace, 1);
}

static void a_path_that_cannot_be_written_is_said_and_the_program_runs_on(void **state)
{
    struct run *run = run_word("basic", "VRAMSCOPE_OUT=/proc/nowhere/t.db");

    (void)state;
    ends_with(run, 7);
    assert_string_equal(run->out, "basic is done\n");
}

/* ---- Python ---- */

static const char SCRIPT[] =
    "import ctypes, sys\n"
    "hold = len(sys.argv) > 1\n"
    "cuda = (ctypes.PyDLL if hold else ctypes.CDLL)('libcuda.so.1')\n"
    "context = ctypes.c_void_p()\n"
    "cuda.cuInit(0)\n"
    "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
    "cuda.cuCtxSetCurrent(context)\n"
    "class Net:\n"
    "    def build(self):\n"
    "        p = ctypes.c_uint64()\n"
    "        assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096)) == 0\n"
    "try:\n"
    "    raise ValueError('one on its way')\n"
    "except ValueError:\n"
    "    Net().build()\n";

/* ctypes.PyDLL keeps the interpreter's lock, ctypes.CDLL lets it go. */
static void python_frames_are_there_where_the_lock_is_held(void **state)
{
    const char *script = program_file("train.py", SCRIPT);
    const char *held[] = {"python3", script, "hold", NULL};
    const char *free_lock[] = {"python3", script, NULL};
    const char *settings[] = {LENIENT, NULL};
    struct run *run;

    (void)state;
    if (HAS_THREAD_SANITIZER)
        tests_skip(
            "python3 was not built with the thread sanitizer and cannot load a library that was");
    if (system("python3 -c 'import ctypes' >/dev/null 2>&1") != 0)
        tests_skip("there is no python3 with ctypes");
    run = run_args(held, settings);
    ends_with(run, 0);
    reported(run->trace, 4096, 2, 4096);
    asked(run->trace,
          "SELECT func IN ('train.py:Net.build', 'train.py:build') FROM event "
          "WHERE kind = 'alloc'",
          1); /* qualified names are known from 3.11 on */
    asked(run->trace, "SELECT line FROM event WHERE kind = 'alloc'", 11);
    run = run_args(free_lock, settings);
    ends_with(run, 0);
    reported(run->trace, 4096, 2, 4096);
    asked(run->trace, "SELECT line IS NULL OR line = 0 FROM event WHERE kind = 'alloc'", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_leaves_its_blocks_and_keeps_its_exit_status),
        cmocka_unit_test(an_allocation_has_its_function_and_the_kernel_before_it),
        cmocka_unit_test(an_allocation_has_its_whole_call_stack),
        cmocka_unit_test(calls_of_the_runtime_are_named_as_the_program_made_them),
        cmocka_unit_test(every_kind_of_allocation_is_recorded),
        cmocka_unit_test(physical_memory_lives_as_long_as_a_handle_or_a_mapping),
        cmocka_unit_test(out_of_memory_is_an_event_and_the_outcome),
        cmocka_unit_test(one_that_leaves_at_once_after_an_out_of_memory_has_it_in_its_trace),
        cmocka_unit_test(threads_do_not_get_into_each_others_way),
        cmocka_unit_test(a_reset_frees_what_was_in_the_context),
        cmocka_unit_test(each_device_has_a_trace),
        cmocka_unit_test(ranges_are_steps_phases_and_modules),
        cmocka_unit_test(the_trace_is_one_as_any_other_without_a_net),
        cmocka_unit_test(a_forked_child_has_a_trace_of_its_own),
        cmocka_unit_test(children_may_be_forked_while_threads_allocate),
        cmocka_unit_test(a_program_that_is_executed_has_a_trace_of_its_own),
        cmocka_unit_test(a_killed_program_leaves_what_it_did),
        cmocka_unit_test(one_that_leaves_by_underscore_exit_is_cut_off_where_it_was),
        cmocka_unit_test(one_that_never_calls_cuda_leaves_nothing),
        cmocka_unit_test(without_a_path_the_library_does_nothing),
        cmocka_unit_test(without_cupti_the_program_runs_on),
        cmocka_unit_test(what_cupti_cannot_say_is_left_out),
        cmocka_unit_test(a_call_that_fails_changes_nothing),
        cmocka_unit_test(a_free_of_what_is_not_there_is_no_event),
        cmocka_unit_test(a_lost_gpu_is_noted_once),
        cmocka_unit_test(a_path_that_cannot_be_written_is_said_and_the_program_runs_on),
        cmocka_unit_test(python_frames_are_there_where_the_lock_is_held),
    };

    build_find();
    return cmocka_run_group_tests(tests, NULL, cleanup);
}
