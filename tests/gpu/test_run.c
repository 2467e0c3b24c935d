/*
 * tests/gpu/test_run.c - tests/gpu/run.sh on a machine without a GPU: its parts on the host memory device, and its
 * output when a part fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/wait.h"

/* The folder the built program is in, from the root. */
static const char *built(void)
{
    static char folder[PATH_MAX];
    const char *program = getenv("VRAMSCOPE");
    char *slash;

    assert_non_null(realpath(program ? program : "build/vramscope", folder));
    slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = '\0';
    return folder;
}

/* Runs it with these files; its status, and what it printed. */
static int run(const char *build, const char *arguments, char **out)
{
    char command[3 * PATH_MAX];
    size_t used = 0;
    size_t got;
    FILE *f;
    int status;

    snprintf(command, sizeof(command),
             "env -u VRAMSCOPE -u VRAMSCOPE_PLUGINS BUILD='%s' PYTHON=/nonexistent sh "
             "tests/gpu/run.sh '%s' --stand-in --few %s 2>&1",
             build, program_path("out"), arguments);
    wait_begin(command);
    f = popen(command, "r");
    assert_non_null(f);
    *out = NULL;
    do {
        *out = vs_realloc(*out, used + 4097, 1);
        got = fread(*out + used, 1, 4096, f);
        used += got;
    } while (got > 0);
    (*out)[used] = '\0';
    status = pclose(f);
    wait_end();
    return WEXITSTATUS(status);
}

static char *read_back(const char *name)
{
    char path[4200];
    char *text = vs_calloc(1, 65536);
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", program_path("out"), name);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, 65535, f) > 0);
    fclose(f);
    return text;
}

static void outcome_is(const char *summary, int part, const char *expected)
{
    char path[64];
    char *outcome;

    snprintf(path, sizeof(path), "$.parts[%d].outcome", part);
    outcome = json_text(summary, path);
    assert_string_equal(outcome, expected);
    free(outcome);
}

static void each_part_runs_on_the_host_memory_device(void **state)
{
    char *out;
    char *summary;
    int status = run(built(), "--parts 'machine+kernels ops+events nets oom'", &out);

    (void)state;
    if (status)
        fail_msg("status %d:\n%s", status, out);
    assert_non_null(strstr(out, "6 parts, nothing differs"));
    vs_free(out);
    summary = read_back("summary.json");
    json_expect(summary, "$.parts", "array");
    for (int i = 0; i < 6; i++)
        outcome_is(summary, i, "same");
    vs_free(summary);
    vs_free(read_back("ops.jsonl"));
}

static void parts_that_need_pytorch_report_its_absence(void **state)
{
    char *out;
    int status = run(built(), "--parts torch", &out);

    (void)state;
    assert_int_equal(status, 1);
    assert_non_null(strstr(out, "has no PyTorch"));
    assert_non_null(strstr(out, "nothing was compared"));
    vs_free(out);
}

/* Is `file` there beside the program? What needs CUPTI's headers to be built is not everywhere. */
static bool is_built(const char *file)
{
    char path[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", built(), file);
    return access(path, R_OK) == 0;
}

static void programs_are_recorded_with_the_simulated_driver(void **state)
{
    char *out;
    char *lines;
    int status;

    (void)state;
    if (!is_built("fake/programs"))
        tests_skip("the stand-ins for the driver and CUPTI need CUPTI's headers to be built");
    status = run(built(), "--parts programs", &out);
    if (status)
        fail_msg("status %d:\n%s", status, out);
    assert_non_null(strstr(out, "3 of 3 recorded as they should"));
    vs_free(out);
    lines = read_back("programs.jsonl");
    assert_non_null(strstr(lines, "\"case\": \"plain_kill\", \"same\": true, \"status\": 137, "
                                  "\"expected_bytes\": 117440512, "
                                  "\"recorded_bytes\": 117440512}"));
    vs_free(lines);
}

static void records_of_the_simulated_cupti_are_kept(void **state)
{
    char *out;
    char *text;
    int status;

    (void)state;
    if (!is_built("twin/libcupti.so.13"))
        tests_skip("the stand-in for CUPTI needs CUPTI's headers to be built");
    status = run(built(), "--parts cupti", &out);
    if (status)
        fail_msg("status %d:\n%s", status, out);
    assert_non_null(strstr(out, "records of 2 of 2 nets"));
    vs_free(out);
    text = read_back("cupti/lenet.txt");
    assert_memory_equal(text, "vramscope cupti records 1\n", 26);
    vs_free(text);
}

/* A sanitizer that finds a hazard in one program, dies of another, and ends the rest well; in a folder of its own. */
static const char *const SANITIZER = "#!/bin/sh\n"
                                     "case $2:$5 in\n"
                                     "racecheck:*_norm)\n"
                                     "    echo '========= Error: Race reported: 1 hazards'\n"
                                     "    echo '========= RACECHECK SUMMARY: 1 hazard displayed'\n"
                                     "    exit 9 ;;\n"
                                     "memcheck:*_pool) kill -11 $$ ;;\n"
                                     "*) echo '========= ERROR SUMMARY: 0 errors' ;;\n"
                                     "esac\n";

static void findings_of_compute_sanitizer_are_counted(void **state)
{
    const char *path = getenv("PATH");
    char saved[8192];
    char with[8192 + 512];
    char *lines;
    char *out;
    int status;

    (void)state;
    snprintf(saved, sizeof(saved), "%s", path ? path : "");
    assert_int_equal(mkdir(program_path("bin"), 0755), 0);
    assert_int_equal(chmod(program_file("bin/compute-sanitizer", SANITIZER), 0755), 0);
    snprintf(with, sizeof(with), "%s:%s", program_path("bin"), saved);
    setenv("PATH", with, 1);
    status = run(built(), "--parts sanitizer", &out);
    setenv("PATH", saved, 1);
    assert_int_equal(status, 1);
    assert_non_null(strstr(out, "16 runs without a finding, 2 with, 0 not finished"));
    vs_free(out);
    lines = read_back("sanitizer.jsonl");
    assert_non_null(strstr(lines, "{\"tool\": \"racecheck\", \"case\": \"norm\", \"outcome\": "
                                  "\"errors\", \"errors\": \"1 hazard displayed\"}"));
    assert_non_null(strstr(lines, "\"case\": \"pool\", \"outcome\": \"failed\""));
    vs_free(lines);
}

static void results_from_a_machine_without_a_gpu_are_not_kept(void **state)
{
    char command[2 * PATH_MAX];
    char *out;

    (void)state;
    assert_int_equal(run(built(), "--parts 'machine oom'", &out), 0);
    vs_free(out);
    snprintf(command, sizeof(command), "sh tests/gpu/keep.sh '%s' 2>/dev/null",
             program_path("out"));
    assert_int_equal(WEXITSTATUS(system(command)), 1);
}

/* In a tree of its own: it writes below tests/golden. */
static void kept_results_have_our_events_and_those_of_pytorch(void **state)
{
    char command[8 * PATH_MAX];
    const char *folder = program_path("keep");

    (void)state;
    snprintf(command, sizeof(command),
             "mkdir -p %s/tests/gpu %s/out && cp tests/gpu/keep.sh %s/tests/gpu && cd %s && "
             "echo '{\"machine\": {\"gpu\": \"A GPU 9\"}}' >out/machine.json && "
             "echo ours >out/events.jsonl && echo theirs | gzip >out/events.jsonl.gz && "
             "sh tests/gpu/keep.sh out >/dev/null && cd tests/golden/gpu/a_gpu_9 && "
             "test \"$(gzip -dc events.jsonl.gz)\" = theirs && "
             "test \"$(gzip -dc events_meta.jsonl.gz)\" = ours",
             folder, folder, folder, folder);
    assert_int_equal(system(command), 0);
}

/* A script that replaces the program check, in a folder that replaces build. */
static const char *folder_with_check(const char *script)
{
    static char folder[512];
    char command[3 * PATH_MAX];
    FILE *f;

    snprintf(folder, sizeof(folder), "%s", program_path("build"));
    snprintf(command, sizeof(command), "mkdir -p %s/tests/gpu && ln -s %s/vramscope %s/twin %s",
             folder, built(), built(), folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), "%s/tests/gpu/check", folder);
    f = fopen(command, "w");
    assert_non_null(f);
    fputs(script, f);
    fclose(f);
    assert_int_equal(chmod(command, 0755), 0);
    return folder;
}

static void a_failing_part_does_not_stop_the_others(void **state)
{
    const char *folder = folder_with_check("#!/bin/sh\n"
                                           "[ $1 = ops ] && kill -9 $$\n"
                                           "[ $1 = nets ] && exit 3\n"
                                           "echo '\"it\" differs\\'\n"
                                           "exit 1\n");
    char *out;
    char *summary;
    char *words;
    int status = run(folder, "--parts 'ops events nets oom'", &out);

    (void)state;
    assert_int_equal(status, 1);
    assert_non_null(strstr(out, "2 of 4 parts differ or failed"));
    vs_free(out);
    summary = read_back("summary.json");
    words = json_text(summary, "$.parts[1].words");
    assert_string_equal(words, "\"it\" differs\\");
    free(words);
    outcome_is(summary, 2, "skipped");
    outcome_is(summary, 3, "same");
    vs_free(summary);
}

/* All parts, one after another where they are no group, in what --minutes gives them. */
static void the_time_limits_of_all_parts_fit_into_nine_and_a_half_minutes(void **state)
{
    char *out;
    char *last;

    (void)state;
    assert_int_equal(run(built(), "--plan", &out), 0);
    last = strstr(out, " seconds\n");
    assert_non_null(last);
    *last = '\0';
    last = strrchr(out, '\n');
    assert_non_null(last);
    assert_in_range(strtoul(last, NULL, 10), 300, 570);
    for (const char *const *part =
             (const char *const[]){"machine", "kernels", "ops", "events", "steps", "torch", "nets",
                                   "programs", "cupti", "smi", "oom", "sanitizer", NULL};
         *part; part++)
        assert_non_null(strstr(out, *part));
    vs_free(out);
}

static void a_machine_without_a_gpu_is_skipped(void **state)
{
    (void)state;
    if (access("/dev/nvidia0", F_OK) == 0)
        tests_skip("there is a GPU");
    assert_int_equal(WEXITSTATUS(system("sh tests/gpu/run.sh /nonexistent/out >/dev/null")), 3);
    assert_int_equal(WEXITSTATUS(system("sh tests/gpu/run.sh --parts nosuch 2>/dev/null")), 2);
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_runs_on_the_host_memory_device),
        cmocka_unit_test(parts_that_need_pytorch_report_its_absence),
        cmocka_unit_test(programs_are_recorded_with_the_simulated_driver),
        cmocka_unit_test(records_of_the_simulated_cupti_are_kept),
        cmocka_unit_test(findings_of_compute_sanitizer_are_counted),
        cmocka_unit_test(results_from_a_machine_without_a_gpu_are_not_kept),
        cmocka_unit_test(kept_results_have_our_events_and_those_of_pytorch),
        cmocka_unit_test(a_failing_part_does_not_stop_the_others),
        cmocka_unit_test(the_time_limits_of_all_parts_fit_into_nine_and_a_half_minutes),
        cmocka_unit_test(a_machine_without_a_gpu_is_skipped),
    };

    return cmocka_run_group_tests_name("gpu/run", tests, NULL, cleanup);
}
