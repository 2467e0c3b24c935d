/*
 * tests/whatif/test_process.c - the process in which a recorded program runs again, and its end.
 *
 * The process is this program itself: wif_process_start runs the executable that calls it, with the command `record`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/store/trace_file.h"
#include "whatif/process.h"

#define POLLS_MAX 1200 /* of 50 ms: a minute */
#define PARENT "parent.db"
#define RANKS "ranks.db"
#define SILENT "silent.db"

/* What torchrun prints when a process that it started has failed. */
static const char LAUNCHER[] =
    "Traceback (most recent call last):\n"
    "  File \"/usr/bin/torchrun\", line 8, in <module>\n"
    "    sys.exit(main())\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "============================================================\n"
    "train.py FAILED\n"
    "  exitcode  : 1 (pid: 12)\n"
    "============================================================\n";

/* The word after --out. */
static const char *out_of(char **argv)
{
    while (*argv && strcmp(*argv, "--out") != 0)
        argv++;
    return *argv ? argv[1] : "";
}

/*
 * The recorded program. Where its trace is PARENT, it starts another one, which goes on after SIGTERM, and writes its
 * number into the trace. Both end by themselves some time after the test has failed.
 */
static int record(const char *path)
{
    FILE *file;
    pid_t child;

    if (strstr(path, RANKS))
        printf("[rank1]: Traceback (most recent call last):\n"
               "[rank1]:   File \"train.py\", line 3, in <module>\n"
               "[rank1]:     step()\n"
               "[rank1]: ValueError: no such batch\n");
    if (strstr(path, RANKS) || strstr(path, SILENT)) {
        printf("%s", LAUNCHER);
        return 1;
    }
    if (!strstr(path, PARENT)) {
        sleep(120);
        return 0;
    }
    signal(SIGTERM, SIG_IGN); /* as of a program that has something to put in order */
    child = fork();
    if (child == 0) {
        sleep(120);
        _exit(0);
    }
    signal(SIGTERM, SIG_DFL);
    file = fopen(path, "w");
    fprintf(file, "%ld\n", (long)child);
    fclose(file);
    sleep(120);
    return 0;
}

/* The number in the file; 0: it is not there yet. */
static long number_read(const char *path)
{
    FILE *file = fopen(path, "r");
    long number = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%ld", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

static void start(struct wif_process *process, const char *path, const char *folder)
{
    struct vs_toggles toggles = {{NULL}};
    struct wif_recipe recipe = {.folder = NULL};
    struct vs_error err = VS_ERROR_INIT;

    recipe.folder = vs_strdup(folder);
    if (wif_process_start(process, &recipe, &toggles, path, NULL, &err))
        fail_msg("%s", err.text);
    wif_recipe_release(&recipe);
}

static void what_a_stopped_program_started_ends_too(void **state)
{
    struct wif_process process = {.pid = 0};
    char path[4096];
    long child = 0;
    int status = 0;

    trace_path(state, PARENT, path, sizeof(path));
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* or its end could not be seen here */
    start(&process, path, *state);
    for (int i = 0; i < POLLS_MAX && !child; i++) {
        wif_process_pause();
        child = number_read(path);
    }
    if (!child)
        fail_msg("the program has not written %s", path);
    wif_process_stop(&process);
    assert_true(WIFSIGNALED(process.status) && WTERMSIG(process.status) == SIGTERM);
    assert_int_equal(waitpid((pid_t)child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    wif_process_release(&process);
}

static void ended_check(void **state, const char *name, const char *reason)
{
    struct wif_process process = {.pid = 0};
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, name, path, sizeof(path));
    start(&process, path, *state);
    for (int i = 0; i < POLLS_MAX && !wif_process_has_ended(&process); i++)
        wif_process_pause();
    assert_int_equal(wif_process_outcome(&process, &err), VS_E_VALUE);
    if (!strstr(err.text, reason))
        fail_msg("`%s` is not in: %s", reason, err.text);
    unlink(process.log_path);
    wif_process_release(&process);
}

/* Not torchrun's own exception, which has no text. */
static void the_reason_of_a_failure_is_that_of_the_rank(void **state)
{
    ended_check(state, RANKS, "run again: ValueError: no such batch");
    ended_check(state, SILENT, "run again: a process that torchrun started failed");
}

/* Its group is there as soon as it is started, so that a signal reaches it. */
static void a_program_can_be_stopped_at_once(void **state)
{
    struct wif_process process = {.pid = 0};
    char path[4096];

    trace_path(state, "whatif.db", path, sizeof(path));
    for (int i = 0; i < 20; i++) {
        start(&process, path, *state);
        wif_process_stop(&process);
        assert_true(WIFSIGNALED(process.status) && WTERMSIG(process.status) == SIGTERM);
        wif_process_release(&process);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_of_a_failure_is_that_of_the_rank),
        cmocka_unit_test(what_a_stopped_program_started_ends_too),
        cmocka_unit_test(a_program_can_be_stopped_at_once),
    };

    if (argc > 1 && strcmp(argv[1], "record") == 0)
        return record(out_of(argv));
    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}
